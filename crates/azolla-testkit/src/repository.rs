//! A Repository in memory, for flows and benchmarks where git itself is not the subject. A commit is a checksum of
//! what it is made of, so that rebuilding gives the same one.

use std::{
    collections::{BTreeMap, VecDeque},
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use azolla_control_plane::repo::{
    Attempt, Attempted, Candidate, Description, Entry, Pick, Published, Repository, RepositoryError,
    TakeError, Taken, Worktree, branch_of,
};
use azolla_protocol::ObjectiveId;
use azolla_substrate::BoxFuture;
use tokio::sync::Notify;

/// How the patch of a test begins that applies nowhere.
pub const BROKEN_PATCH: &str = "BROKEN";

/// One branch, no files.
#[derive(Default)]
pub struct MemoryRepository {
    state: Mutex<State>,
    hung: Notify,
}

#[derive(Default)]
struct State {
    base: Option<String>,
    files: BTreeMap<String, Vec<u8>>,
    troubles: VecDeque<Trouble>,
    failing_takes: VecDeque<RepositoryError>,
    failing_publications: VecDeque<RepositoryError>,
    conflicts: bool,
    publish: Option<Published>,
    branches: BTreeMap<String, String>,
    /// What was published under each name, the latest at the end.
    published: BTreeMap<String, Vec<(u64, String)>>,
}

/// What a look at the base meets.
enum Trouble {
    Fails(RepositoryError),
    Hangs,
    Panics,
}

impl MemoryRepository {
    /// The commit that the base branch is at, unless a test moves it.
    pub const BASE: &str = "1111111111111111111111111111111111111111";

    /// Moves the base branch; with `conflicts`, no patch applies to it there.
    pub fn move_base(&self, commit: &str, conflicts: bool) {
        let mut state = self.state();
        state.base = Some(commit.to_owned());
        state.conflicts = conflicts;
    }

    /// Puts a file into every commit.
    pub fn put(&self, path: &str, bytes: &[u8]) {
        self.state().files.insert(path.to_owned(), bytes.to_owned());
    }

    /// Makes the next looks at the base fail, one each.
    pub fn fail_next(&self, faults: impl IntoIterator<Item = RepositoryError>) {
        self.state().troubles.extend(faults.into_iter().map(Trouble::Fails));
    }

    /// Makes the next answers fail to be taken, one each.
    pub fn fail_takes(&self, faults: impl IntoIterator<Item = RepositoryError>) {
        self.state().failing_takes.extend(faults);
    }

    /// Makes the next tries to publish fail, one each.
    pub fn fail_publishing(&self, faults: impl IntoIterator<Item = RepositoryError>) {
        self.state().failing_publications.extend(faults);
    }

    /// Makes the next look at the base never come back: whoever looks can only be ended.
    pub fn hang_next(&self) {
        self.state().troubles.push_back(Trouble::Hangs);
    }

    /// Returns once a look hangs.
    pub async fn hung(&self) {
        self.hung.notified().await;
    }

    /// Dies while a look hangs: drops `work` there. None, unless it came to an end before that.
    pub async fn died<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.hung() => None,
        }
    }

    /// Makes the next look at the base panic.
    pub fn panic_next(&self) {
        self.state().troubles.push_back(Trouble::Panics);
    }

    /// Makes publishing come out like this.
    pub fn publish_as(&self, published: Published) {
        self.state().publish = Some(published);
    }

    /// Returns where the mirror's branch of an objective stands.
    pub fn branch(&self, name: &str) -> Option<String> {
        self.state().branches.get(name).cloned()
    }

    /// Returns where the operator's branch of an objective stands.
    pub fn published(&self, name: &str) -> Option<String> {
        self.state().published.get(name)?.last().map(|(_, commit)| commit.clone())
    }

    /// Takes a branch away, as the operator may.
    pub fn forget(&self, name: &str) {
        self.state().published.remove(name);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Repository for MemoryRepository {
    fn base<'a>(&'a self, _branch: &'a str) -> BoxFuture<'a, Result<String, RepositoryError>> {
        Box::pin(async {
            let trouble = self.state().troubles.pop_front();
            match trouble {
                Some(Trouble::Fails(fault)) => Err(fault),
                Some(Trouble::Hangs) => {
                    self.hung.notify_one();
                    pending().await
                }
                Some(Trouble::Panics) => panic!("a repository that a test makes panic"),
                None => Ok(self.state().base.clone().unwrap_or_else(|| Self::BASE.to_owned())),
            }
        })
    }

    /// Every branch is there, and none by name.
    fn bases(&self) -> BoxFuture<'_, Result<Vec<String>, RepositoryError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn describe<'a>(
        &'a self,
        _commit: &'a str,
        pick: &'a Pick<'a>,
    ) -> BoxFuture<'a, Result<Description, RepositoryError>> {
        Box::pin(async {
            let files = self.state().files.clone();
            let entries: Arc<[Entry]> = files
                .iter()
                .map(|(path, bytes)| Entry {
                    path: path.clone(),
                    blob: checksum(&String::from_utf8_lossy(bytes)),
                    size: bytes.len() as u64,
                    mode: 0o100_644,
                })
                .collect();
            let text = |n: usize| String::from_utf8_lossy(&files[&entries[n].path]).into_owned();
            let texts = pick(&entries).into_iter().map(|n| (n, text(n))).collect();
            Ok(Description { entries, guide: None, texts })
        })
    }

    fn file<'a>(
        &'a self,
        _commit: &'a str,
        path: &'a str,
        _bytes_max: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, RepositoryError>> {
        Box::pin(async { Ok(self.state().files.get(path).cloned()) })
    }

    fn worktree<'a>(&'a self, _attempt: &'a Attempt) -> BoxFuture<'a, Result<Worktree, RepositoryError>> {
        Box::pin(async { Err(no_files()) })
    }

    fn take<'a>(
        &'a self,
        attempt: &'a Attempt,
        candidate: Candidate<'a>,
    ) -> BoxFuture<'a, Result<Taken, TakeError>> {
        Box::pin(async move {
            if let Some(fault) = self.state().failing_takes.pop_front() {
                return Err(fault.into());
            }
            match candidate {
                Candidate::Text(text) => taken(attempt, text),
                Candidate::Edits(_) => Err(no_files().into()),
            }
        })
    }

    fn rebuild<'a>(
        &'a self,
        attempt: &'a Attempt,
        content: &'a str,
    ) -> BoxFuture<'a, Result<Taken, TakeError>> {
        Box::pin(async move { taken(attempt, content) })
    }

    fn project<'a>(
        &'a self,
        attempt: &'a Attempt,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<(), RepositoryError>> {
        Box::pin(async {
            self.state().branches.insert(attempt.branch(), commit.to_owned());
            Ok(())
        })
    }

    fn applies<'a>(
        &'a self,
        _commit: &'a str,
        _content: &'a str,
    ) -> BoxFuture<'a, Result<bool, RepositoryError>> {
        Box::pin(async { Ok(!self.state().conflicts) })
    }

    fn checkout<'a>(
        &'a self,
        _attempt: &'a Attempt,
        _commit: &'a str,
    ) -> BoxFuture<'a, Result<Worktree, RepositoryError>> {
        Box::pin(async { Err(no_files()) })
    }

    fn publish<'a>(
        &'a self,
        attempt: &'a Attempt,
        commit: &'a str,
        earlier: &'a [String],
    ) -> BoxFuture<'a, Result<Published, RepositoryError>> {
        Box::pin(async move {
            let mut state = self.state();
            if let Some(fault) = state.failing_publications.pop_front() {
                return Err(fault);
            }
            if let Some(published) = &state.publish {
                return Ok(published.clone());
            }
            let there = state.published.entry(attempt.branch()).or_default();
            let by_hand = |reason: &str| Published::ByHand {
                reason: reason.to_owned(),
                command: "git fetch".to_owned(),
            };
            Ok(match there.last() {
                Some((_, last)) if last == commit => Published::Done,
                Some((entry, _)) if *entry > attempt.entry() => by_hand("a later attempt is published"),
                // As for a mirror that has made none of them.
                Some((_, last)) if !earlier.contains(last) => by_hand("it is at no attempt of ours"),
                _ => {
                    there.push((attempt.entry(), commit.to_owned()));
                    Published::Done
                }
            })
        })
    }

    fn withdraw<'a>(
        &'a self,
        objective: &'a ObjectiveId,
        failed: &'a [String],
        passed: &'a [String],
    ) -> BoxFuture<'a, Result<bool, RepositoryError>> {
        Box::pin(async move {
            let mut state = self.state();
            let there = state.published.entry(branch_of(objective)).or_default();
            let is_taken = there.pop_if(|(_, last)| failed.contains(last)).is_some();
            if is_taken && !there.last().is_some_and(|(_, last)| passed.contains(last)) {
                there.clear();
            }
            Ok(is_taken)
        })
    }

    fn branches(&self) -> BoxFuture<'_, Result<Vec<(ObjectiveId, String)>, RepositoryError>> {
        Box::pin(async {
            let state = self.state();
            let at = |(name, there): (&String, &Vec<(u64, String)>)| {
                let id = ObjectiveId::new(name.strip_prefix("azolla/")?).ok()?;
                Some((id, there.last()?.1.clone()))
            };
            Ok(state.published.iter().filter_map(at).collect())
        })
    }
}

fn taken(attempt: &Attempt, text: &str) -> Result<Taken, TakeError> {
    if text.is_empty() {
        return Err(TakeError::NoChange);
    }
    if text.starts_with(BROKEN_PATCH) {
        let reason = "src/lib.rs: the patch does not apply".to_owned();
        return Err(TakeError::Refused { reason, attempted: Attempted::default() });
    }
    let identity = format!("{} {} {} {text}", attempt.base, attempt.work_order_id, attempt.created_at);
    Ok(Taken {
        commit: checksum(&identity),
        tree: checksum(text),
        diff: text.to_owned(),
        paths: vec!["src/lib.rs".to_owned()],
        left_out: None,
    })
}

/// Forty digits that depend on every byte (FNV-1a, three times over).
fn checksum(text: &str) -> String {
    let word = |seed: u64| {
        text.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    format!("{:016x}{:016x}{:08x}", word(0), word(1), word(2) as u32)
}

fn no_files() -> RepositoryError {
    RepositoryError::Unusable { what: "there are no files in memory".into(), action: "use git".into() }
}
