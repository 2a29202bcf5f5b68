//! Refs: an attempt kept in the mirror (G-1), and the one ref that the operator's repository gets on PASS (G-2).
//!
//! Publishing is a fetch of objects alone, run in the operator's repository, then one compare-and-swap of one ref. A
//! push would run the operator's hooks, and `git fetch` itself follows settings that write more than a ref.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use azolla_protocol::ObjectiveId;

use super::{
    Attempt, CommitSha, GitRepository, Published, RepositoryError, branch_of,
    git::{Call, FETCH_TIME, Output, unavailable},
    mirror::is_object_id,
    reference::RepoRef,
    refs::ATTEMPTS,
    source::{self, Source},
};

/// Time for a list of our branches: it is also asked for where there is nothing else to do.
const LIST_TIME: Duration = Duration::from_secs(60);
/// Time for a first sign of the repository where nobody has asked for it, or the process may be about to end.
const ANSWER_TIME: Duration = Duration::from_secs(20);
/// Time for a look at a few files of the operator's: a server may be starting, or a disk be busy.
pub(super) const LOOK_TIME: Duration = Duration::from_secs(300);
/// Time for the disk to have what git wrote.
const FLUSH_TIME: Duration = Duration::from_secs(60);

/// Times that a ref is set against another process that sets it too.
const TRIES: usize = 3;

/// In the operator's repository git syncs each object and ref by itself; there are few.
const SYNCED: &str = "core.fsyncMethod=fsync";

/// Why the operator's branch moved, as its log says; and how each of these begins.
const OURS: &str = "azolla: ";
const PUBLISH: &str = "azolla: publish";
const WITHDRAW: &str = "azolla: withdraw";

impl GitRepository {
    pub(super) async fn keep(&self, attempt: &Attempt, commit: &str) -> Result<(), RepositoryError> {
        if !is_object_id(commit) {
            return Err(unavailable("the attempt is not a commit id"));
        }
        self.mirror.prepare()?;
        let branch_ref = format!("refs/heads/{}", attempt.branch());
        let mut tries = 0;
        loop {
            tries += 1;
            // Read before the attempts: whoever moves the branch after this makes the swap fail.
            let present = self.mirror.read_ref(&branch_ref);
            let is_kept = self.mirror.keeps(attempt, commit);
            // G-1: an attempt is kept no later than the branch is at it.
            let is_late = self.mirror.latest_entry(&attempt.objective_id) > Some(attempt.entry());
            let moves = !is_late && present.as_deref() != Some(commit);
            // The gate repairs what the runner may have left undone; mostly there is nothing to do.
            if is_kept && !moves {
                return Ok(());
            }
            let mut input =
                format!("update {ATTEMPTS}/{}/{} {commit}\n", attempt.work_order_id, attempt.claim_version);
            if moves {
                let old = present.unwrap_or_else(|| zeros(commit));
                input.push_str(&format!("update {branch_ref} {commit} {old}\n"));
            }
            let call = Call::new(self.mirror.git_dir(), ["update-ref", "--no-deref", "--stdin"]).input(input);
            let output = self.git.run(call).await?;
            if output.code == Some(0) {
                return Ok(());
            }
            let is_lock = output.stderr.contains("lock");
            if tries == TRIES || !is_lock || !self.mirror.may_try_again(&output.stderr) {
                return Err(unavailable(format!("git update-ref: {}", output.complaint())));
            }
        }
    }

    pub(super) async fn publish_branch(
        &self,
        attempt: &Attempt,
        commit: &str,
        earlier: &[String],
    ) -> Result<Published, RepositoryError> {
        if !is_object_id(commit) {
            return Err(unavailable("the attempt is not a commit id"));
        }
        self.mirror.prepare()?;
        let publishing = Publishing { branch: self.branch(&attempt.objective_id), attempt, commit };
        match &self.repo {
            RepoRef::Url { url, .. } => Ok(publishing.to_url(url)),
            // The patch passed: whatever keeps the branch from going there is for the operator to settle.
            RepoRef::Path(path) => Ok(match publishing.to_path(path, earlier).await {
                Ok(published) => published,
                Err(RepositoryError::Unavailable(reason)) => publishing.by_hand(path, reason),
                Err(RepositoryError::Unusable { what, action }) => {
                    publishing.by_hand(path, format!("{what}; {action}"))
                }
            }),
        }
    }

    pub(super) async fn withdraw_branch(
        &self,
        objective: &ObjectiveId,
        failed: &[String],
        passed: &[String],
    ) -> Result<bool, RepositoryError> {
        // Nothing was pushed to a URL.
        let RepoRef::Path(path) = &self.repo else { return Ok(false) };
        self.mirror.prepare()?;
        self.branch(objective).take_away(path, failed, passed).await
    }

    pub(super) async fn list_branches(&self) -> Result<Vec<(ObjectiveId, CommitSha)>, RepositoryError> {
        let RepoRef::Path(path) = &self.repo else { return Ok(Vec::new()) };
        let source = self.source(path, ANSWER_TIME).await?;
        self.mirror.prepare()?;
        let mut ours = Vec::new();
        for listed in self.listed(&source).await? {
            let id = listed.name.strip_prefix("refs/heads/azolla/").and_then(|id| ObjectiveId::new(id).ok());
            // What nobody can tell is left alone.
            if let Some(id) = id.filter(|_| listed.symbolic.is_empty())
                && self.branch(&id).is_ours(&source).await.unwrap_or(false)
            {
                ours.push((id, listed.id));
            }
        }
        Ok(ours)
    }

    /// Finds the operator's repository.
    pub(super) async fn source(&self, path: &Path, time: Duration) -> Result<Source, RepositoryError> {
        let path = path.to_owned();
        self.aside.run(time, move || source::find(&path)).await?
    }

    fn branch(&self, objective: &ObjectiveId) -> Branch<'_> {
        Branch { repository: self, branch_ref: format!("refs/heads/{}", branch_of(objective)) }
    }

    /// Returns what the operator's repository has where our branches are.
    async fn listed(&self, source: &Source) -> Result<Vec<Listed>, RepositoryError> {
        let arguments = ["for-each-ref", "--format=%(objectname) %(refname) %(symref)", "refs/heads/azolla"];
        let answer = self.git.answer(Call::new(&source.common_dir, arguments).time(LIST_TIME)).await?;
        let line = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            let mut word = || words.next().unwrap_or_default();
            Listed { id: word(), name: word(), symbolic: word() }
        };
        Ok(String::from_utf8_lossy(&answer).lines().map(line).collect())
    }
}

/// A ref of the operator's repository.
struct Listed {
    id: String,
    name: String,
    /// What it stands for, if it is a symbolic one.
    symbolic: String,
}

/// The one branch of an objective, in the operator's repository.
struct Branch<'a> {
    repository: &'a GitRepository,
    branch_ref: String,
}

struct Publishing<'a> {
    branch: Branch<'a>,
    attempt: &'a Attempt,
    commit: &'a str,
}

/// What the operator's repository has where the branch goes.
#[derive(Debug, PartialEq, Eq)]
enum Present {
    Nothing,
    Branch(String),
    /// A symbolic ref: setting it would move another branch.
    Symbolic(String),
    /// Another branch whose name cannot be beside this one.
    InTheWay(String),
}

/// How one look at the operator's repository, and the step that followed, ended.
enum Round {
    Over(Published),
    /// git says why not; somebody else may have been there between the look and the step.
    Again(String),
}

impl Branch<'_> {
    /// Takes it away, if it is at what failed and nobody but us put it there; what passed and was published before that comes
    /// back.
    async fn take_away(
        &self,
        path: &Path,
        failed: &[String],
        passed: &[String],
    ) -> Result<bool, RepositoryError> {
        let source = self.repository.source(path, ANSWER_TIME).await?;
        let Present::Branch(commit) = self.present(&source).await? else { return Ok(false) };
        let is_left = failed.contains(&commit) && self.is_ours(&source).await?;
        if !is_left || self.holder(&source).await?.is_some() {
            return Ok(false);
        }
        let branch_ref = &self.branch_ref;
        let before = self.before(&source).await?.filter(|before| passed.contains(before));
        let (step, back) = match &before {
            Some(before) => (
                format!("update {branch_ref} {before} {commit}\n"),
                format!("update {branch_ref} {commit} {before}\n"),
            ),
            None => (format!("delete {branch_ref} {commit}\n"), format!("create {branch_ref} {commit}\n")),
        };
        let output = self.set(&source, WITHDRAW, &step).await?;
        if output.code != Some(0) {
            return Err(unavailable(format!("git update-ref: {}", output.complaint())));
        }
        let held = self.holder(&source).await;
        if !matches!(held, Ok(None)) {
            // The operator went there between the look and the step, or nobody can say: what is checked out stays as it was.
            self.set(&source, PUBLISH, &back).await?;
            return held.map(|_| false);
        }
        Ok(true)
    }

    /// Returns what it was at before, as the ref's own log has it. Without a log nothing comes back: the branch may not
    /// have been there.
    async fn before(&self, source: &Source) -> Result<Option<String>, RepositoryError> {
        let name = format!("{}@{{1}}", self.branch_ref);
        let call = Call::new(&source.common_dir, ["rev-parse", "--verify", "--quiet", &name]);
        let output = self.repository.git.run(call).await?;
        let before = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok((output.code == Some(0)).then_some(before))
    }

    /// Tells whether its last step was one of ours, by its log: an operator who sets it keeps it. Where git keeps no log nobody
    /// can say, and it is taken for ours.
    async fn is_ours(&self, source: &Source) -> Result<bool, RepositoryError> {
        let last = if source.reftable {
            let arguments = ["log", "-g", "-1", "--format=%gs", &self.branch_ref, "--"];
            let call = Call::new(&source.common_dir, arguments).time(LIST_TIME);
            let said = self.repository.git.answer(call).await?;
            // Where there is no log, it says nothing.
            (!said.is_empty()).then(|| String::from_utf8_lossy(&said).into_owned())
        } else {
            let (source, branch_ref) = (source.clone(), self.branch_ref.clone());
            let look = move || source::last_step(&source, &branch_ref);
            let last = self.repository.aside.run(LOOK_TIME, look).await?;
            last.map_err(|error| unavailable(format!("the log of a branch cannot be read: {error}")))?
        };
        Ok(last.is_none_or(|last| last.starts_with(OURS)))
    }

    async fn holder(&self, source: &Source) -> Result<Option<String>, RepositoryError> {
        let (looked, branch_ref) = (source.clone(), self.branch_ref.clone());
        let held = self.repository.aside.run(LOOK_TIME, move || source::holder(&looked, &branch_ref)).await?;
        if let Some(held) = held {
            return Ok(Some(format!("{} {}", held.work_tree.display(), held.how)));
        }
        if !source.reftable {
            return Ok(None);
        }
        let call = Call::new(&source.common_dir, ["worktree", "list", "--porcelain"]);
        let answer = self.repository.git.answer(call).await?;
        let line = format!("branch {}", self.branch_ref);
        let is_held = String::from_utf8_lossy(&answer).lines().any(|listed| listed == line);
        Ok(is_held.then(|| "a working tree has it checked out".to_owned()))
    }

    async fn set(&self, source: &Source, why: &str, input: &str) -> Result<Output, RepositoryError> {
        let arguments = ["update-ref", "--no-deref", "-m", why, "--stdin"];
        let call = Call::new(&source.common_dir, arguments).config(SYNCED).input(input);
        self.repository.git.run(call).await
    }

    /// Makes the names durable that lead to the ref, as git has made what it says and the objects: the store is told of it next. What
    /// was named before, such as an object, is on disk with it wherever a file system writes names in their order.
    async fn flush(&self, source: &Source) -> Result<(), RepositoryError> {
        let file = if source.reftable { "reftable/tables.list" } else { &self.branch_ref };
        let file = source.common_dir.join(file);
        let flushed = match self.repository.aside.run(FLUSH_TIME, move || sync_names(&file)).await {
            Ok(flushed) => flushed.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        flushed.map_err(|error| {
            let branch = self.branch_ref.trim_start_matches("refs/heads/");
            unavailable(format!("{branch} is set, and a power cut may take it: {error}"))
        })
    }

    async fn present(&self, source: &Source) -> Result<Present, RepositoryError> {
        for Listed { id, name, symbolic } in self.repository.listed(source).await? {
            if name == self.branch_ref {
                let is_symbolic = !symbolic.is_empty();
                return Ok(if is_symbolic { Present::Symbolic(symbolic) } else { Present::Branch(id) });
            }
            let is_below = name.strip_prefix(&self.branch_ref).is_some_and(|rest| rest.starts_with('/'));
            if is_below || name == "refs/heads/azolla" {
                return Ok(Present::InTheWay(name.trim_start_matches("refs/heads/").to_owned()));
            }
        }
        Ok(Present::Nothing)
    }
}

impl Publishing<'_> {
    fn to_url(&self, url: &str) -> Published {
        let command = format!(
            "git --git-dir={} push {} {}:{}",
            shell(self.branch.repository.mirror.git_dir()),
            quoted(url),
            self.commit,
            self.branch.branch_ref
        );
        Published::ByHand {
            reason: "the repository is a URL, and nothing is pushed unasked".to_owned(),
            command,
        }
    }

    /// Sets the branch. Where another gate was faster, such as one that takes an earlier attempt away, it looks again.
    async fn to_path(&self, path: &Path, earlier: &[String]) -> Result<Published, RepositoryError> {
        let source = self.branch.repository.source(path, LOOK_TIME).await?;
        let mut tries = 0;
        loop {
            tries += 1;
            match self.round(path, &source, earlier).await? {
                Round::Over(Published::Done) => {
                    // Also where somebody else set it, who may have died right after that.
                    self.branch.flush(&source).await?;
                    return Ok(Published::Done);
                }
                Round::Over(published) => return Ok(published),
                Round::Again(reason) if tries == TRIES => return Ok(self.by_hand(path, reason)),
                Round::Again(_) => {}
            }
        }
    }

    async fn round(
        &self,
        path: &Path,
        source: &Source,
        earlier: &[String],
    ) -> Result<Round, RepositoryError> {
        if self.branch.repository.mirror.latest_entry(&self.attempt.objective_id) > Some(self.attempt.entry())
        {
            return Ok(Round::Over(match self.branch.present(source).await? {
                Present::Branch(there) if there == self.commit => Published::Done,
                Present::Branch(there) if self.is_later(&there) => self.later(path),
                _ => self.by_hand(path, "a later attempt has been made".to_owned()),
            }));
        }
        if let Some(held) = self.branch.holder(source).await? {
            return Ok(Round::Over(match self.branch.present(source).await? {
                Present::Branch(there) if there == self.commit => Published::Done,
                _ => self.held(path, &held),
            }));
        }
        self.fetch_objects(source).await?;
        let step = format!("create {} {}\n", self.branch.branch_ref, self.commit);
        let output = self.branch.set(source, PUBLISH, &step).await?;
        if output.code == Some(0) {
            return Ok(Round::Over(Published::Done));
        }
        self.replace(path, source, earlier, &output).await
    }

    /// Handles a branch that is there already, or whatever else was in the way of making it.
    async fn replace(
        &self,
        path: &Path,
        source: &Source,
        earlier: &[String],
        first: &Output,
    ) -> Result<Round, RepositoryError> {
        let branch = self.attempt.branch();
        Ok(Round::Over(match self.branch.present(source).await? {
            Present::Branch(there) if there == self.commit => Published::Done,
            Present::Branch(there) if self.is_later(&there) => self.later(path),
            Present::Branch(there) if self.entry_of(&there).is_some() || earlier.contains(&there) => {
                if !self.branch.is_ours(source).await? {
                    // The operator's, also where it is at an attempt of ours (G-2).
                    return Ok(Round::Over(self.by_hand(path, format!("{branch} was set by somebody else"))));
                }
                return self.move_on(path, source, &there).await;
            }
            Present::Branch(there) => {
                self.by_hand(path, format!("{branch} is at {there}, which is no attempt of ours"))
            }
            Present::Symbolic(target) => self.by_hand(path, format!("{branch} stands for {target}")),
            Present::InTheWay(other) => {
                self.by_hand(path, format!("branch {other} is in the way of the name {branch}"))
            }
            Present::Nothing => return Ok(self.refused(path, "made", first)),
        }))
    }

    /// Moves the branch on from an earlier attempt.
    async fn move_on(&self, path: &Path, source: &Source, there: &str) -> Result<Round, RepositoryError> {
        let (branch_ref, commit) = (&self.branch.branch_ref, self.commit);
        let output =
            self.branch.set(source, PUBLISH, &format!("update {branch_ref} {commit} {there}\n")).await?;
        if output.code != Some(0) {
            return Ok(self.refused(path, "set", &output));
        }
        let held = match self.branch.holder(source).await {
            Ok(None) => return Ok(Round::Over(Published::Done)),
            held => held,
        };
        // The operator went there between the look and the step, or nobody can say: what is checked out stays as it was.
        self.branch.set(source, WITHDRAW, &format!("update {branch_ref} {there} {commit}\n")).await?;
        Ok(Round::Over(self.held(path, &held?.unwrap_or_default())))
    }

    /// What becomes of a step that git did not take.
    fn refused(&self, path: &Path, what: &str, output: &Output) -> Round {
        let reason = format!("{} could not be {what}: {}", self.attempt.branch(), output.complaint());
        // Of a lock, which it names: git has waited for it already.
        let is_locked = output.stderr.contains("File exists");
        if is_locked { Round::Over(self.by_hand(path, reason)) } else { Round::Again(reason) }
    }

    async fn fetch_objects(&self, source: &Source) -> Result<(), RepositoryError> {
        let mirror = self.branch.repository.mirror.git_dir().as_os_str().to_owned();
        // Always as single objects: a pack that fetch-pack keeps has a `.keep` file beside it, which nobody removes,
        // and git 2.39 crashes when the operator has such packs checked (transfer.fsckObjects).
        let arguments =
            ["fetch-pack".into(), "--quiet".into(), "--no-progress".into(), mirror, self.commit.into()];
        let call = Call::new(&source.common_dir, arguments)
            .config("fetch.unpackLimit=1000000")
            .config(SYNCED)
            .time(FETCH_TIME);
        let output = self.branch.repository.git.run(call).await?;
        if output.code == Some(0) {
            return Ok(());
        }
        let is_refused = ["Permission denied", "insufficient permission", "Read-only file system"];
        if is_refused.iter().any(|sign| output.stderr.contains(sign)) {
            return Err(RepositoryError::Unusable {
                what: format!("{} cannot be written: {}", source.common_dir.display(), output.complaint()),
                action: "make it writable for this user".to_owned(),
            });
        }
        Err(unavailable(format!("git fetch-pack: {}", output.complaint())))
    }

    /// Returns the entry of this objective of which a commit is an attempt that the mirror keeps: nothing is lost when
    /// the branch moves on from there.
    fn entry_of(&self, commit: &str) -> Option<u64> {
        self.branch.repository.mirror.entry_of(&self.attempt.objective_id, commit)
    }

    /// Tells whether a commit is an attempt of a later entry (G-1).
    fn is_later(&self, commit: &str) -> bool {
        self.entry_of(commit) > Some(self.attempt.entry())
    }

    fn held(&self, path: &Path, held: &str) -> Published {
        self.by_hand(path, format!("{} is not moved: {held}", self.attempt.branch()))
    }

    fn later(&self, path: &Path) -> Published {
        self.by_hand(path, "a later attempt is published".to_owned())
    }

    fn by_hand(&self, path: &Path, reason: String) -> Published {
        // A name that is free whatever is checked out, so that the command works as it stands; and the commit itself,
        // because the mirror's branch may be at a later attempt by then.
        let command = format!(
            "git -C {} fetch {} {}:refs/heads/azolla-{}",
            shell(path),
            shell(self.branch.repository.mirror.git_dir()),
            self.commit,
            self.attempt.work_order_id
        );
        Published::ByHand { reason, command }
    }
}

/// Syncs the directory of a ref and the one above it, which may both be new.
fn sync_names(file: &Path) -> io::Result<()> {
    for directory in file.ancestors().skip(1).take(2) {
        let synced = File::open(directory).and_then(|directory| directory.sync_all());
        match synced {
            // git removes a directory with the last ref in it.
            Err(error) if error.kind() != io::ErrorKind::NotFound && !cannot_be_synced(&error) => {
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Tells whether an error is that of a file system on which a directory cannot be synced.
fn cannot_be_synced(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

fn zeros(like: &str) -> String {
    "0".repeat(like.len())
}

fn shell(path: &Path) -> String {
    quoted(&PathBuf::from(path).to_string_lossy())
}

/// Returns a word that a shell reads as it stands.
fn quoted(word: &str) -> String {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | ':' | '@' | '+' | '=');
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
