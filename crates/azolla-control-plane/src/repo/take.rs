//! A candidate becomes a commit on its base, without a checkout: a temporary index, apply, tree, commit.

use std::{collections::BTreeSet, path::Path};

use super::{
    Attempt, GitRepository, RepositoryError, TakeError, Taken,
    edit::{self, Answer, FileEdit, Format},
    engine::STORED_LIMITS,
    git::{Call, Output, STDERR_BYTES, unavailable},
    mirror::is_object_id,
    patch::{self, Binary, Body, FilePatch, Patch},
    policy,
    refusal::{Refusal, is_hidden},
    scratch::TemporaryIndex,
};

/// Bytes that git needs beside what it reads and makes.
const ROOM_MIN: u64 = 16 << 20;

/// Deltas that one call of git makes. Each may get as large as the limit for one file before that is seen.
const DELTAS_AT_ONCE: usize = 4;

/// The longest chain of differences that git makes unless it is told to make longer ones.
const CHAIN_MAX: usize = 50;

impl GitRepository {
    pub(super) async fn take_text(&self, attempt: &Attempt, text: &str) -> Result<Taken, TakeError> {
        // An answer may have prose around its change, but not without end (T13).
        if text.len() as u64 > self.limits.bytes.saturating_mul(2) {
            return Err(self.limits.too_large().into());
        }
        let text = &*edit::plain(text);
        let known = self.known_of(&attempt.base, &edit::bare_names(text)).await?;
        let Answer { format, edits } = edit::read(text, self.limits.files, &known)?;
        if edits.is_empty() {
            return Err(TakeError::NoChange);
        }
        if edits.iter().map(FileEdit::bytes).sum::<u64>() > self.limits.bytes {
            return Err(self.limits.too_large().into());
        }
        let mut why = None;
        if format == Format::Diff {
            match self.take_exactly(attempt, text, &edits).await? {
                Exactly::Taken(taken) => return Ok(taken),
                Exactly::No(reason) => why = reason,
            }
        }
        let checked = policy::check_edits(&edits, &self.limits);
        // What only git can do, and did not, is git's to explain.
        checked.map_err(|refusal| why.unwrap_or(refusal))?;
        self.rewrite(attempt, edits).await
    }

    /// Takes a diff as git applies it, if it is well-formed and belongs exactly where it says.
    async fn take_exactly(
        &self,
        attempt: &Attempt,
        text: &str,
        edits: &[FileEdit],
    ) -> Result<Exactly, TakeError> {
        let Ok(Some(diff)) = patch::find(text) else { return Ok(Exactly::No(None)) };
        if diff.len() as u64 > self.limits.bytes {
            return Err(self.limits.too_large().into());
        }
        let patch = Patch::read(diff, Binary::Refused, self.limits.files);
        // Both readings have to see the same files, or one of them would drop a part of the answer.
        let is_whole = |patch: &Patch<'_>| {
            let paths = patch.paths();
            patch.files.len() == edits.len()
                && edits.iter().all(|edit| paths.contains(edit.path.as_str()))
                && !policy::changes_twice(patch)
        };
        let Some(patch) = patch.ok().filter(is_whole) else { return Ok(Exactly::No(None)) };
        policy::check(&patch, &self.limits)?;
        if patch.changes_nothing() {
            return Err(TakeError::NoChange);
        }
        let index = self.index_of(&attempt.base).await?;
        let call = self.apply_call(index.path(), patch.render(), &["apply", "--cached", "--verbose"]);
        let output = self.git.run(call).await?;
        // git takes the nearest of several places; which one was meant is then for us to find out or to refuse.
        let is_moved = output.stderr.contains("(offset ") || output.stderr.len() >= STDERR_BYTES;
        if output.code == Some(0) && is_moved {
            return Ok(Exactly::No(None));
        }
        match applied(&output) {
            Ok(()) => {
                let taken = self.commit_index(attempt, index.path(), Some(&patch.paths())).await?;
                Ok(Exactly::Taken(taken))
            }
            Err(Applied::Fault(error)) => Err(error.into()),
            Err(Applied::ThroughLink(refusal)) => Err(refusal.into()),
            Err(Applied::Not(refusal)) => Ok(Exactly::No(Some(refusal))),
        }
    }

    pub(super) async fn rebuild_attempt(&self, attempt: &Attempt, content: &str) -> Result<Taken, TakeError> {
        if content.len() as u64 > STORED_LIMITS.bytes {
            return Err(STORED_LIMITS.too_large().into());
        }
        let patch = Patch::read(content, Binary::Allowed, STORED_LIMITS.parts())?;
        if patch.files.is_empty() {
            return Err(TakeError::NoChange);
        }
        policy::check(&patch, &STORED_LIMITS)?;
        let paths = patch.paths().into_iter().map(str::to_owned).collect();
        let index = self.index_of(&attempt.base).await?;
        self.apply_stored(&attempt.base, patch, index.path(), Apply::Make).await?;
        let tree = self.write_tree(index.path()).await?;
        let commit = self.commit_tree(attempt, &tree).await?;
        Ok(Taken { commit, tree, diff: content.to_owned(), paths, left_out: None })
    }

    pub(super) async fn applies_to(&self, commit: &str, content: &str) -> Result<bool, RepositoryError> {
        let Ok(patch) = Patch::read(content, Binary::Allowed, STORED_LIMITS.parts()) else {
            return Ok(false);
        };
        if patch.files.is_empty() {
            return Ok(false);
        }
        let index = self.index_of(commit).await?;
        match self.apply_stored(commit, patch, index.path(), Apply::Try).await {
            Ok(()) => Ok(true),
            Err(TakeError::Repository(error)) => Err(error),
            Err(TakeError::Refused { .. } | TakeError::NoChange) => Ok(false),
        }
    }

    /// Commits an index that holds the whole result. `said` are the only paths that may have changed.
    pub(super) async fn commit_index(
        &self,
        attempt: &Attempt,
        index: &Path,
        said: Option<&BTreeSet<&str>>,
    ) -> Result<Taken, TakeError> {
        let tree = self.write_tree(index).await?;
        let change = self.normalize(&attempt.base, &tree).await?;
        if let Some(more) =
            change.paths.iter().find(|path| said.is_some_and(|said| !said.contains(path.as_str())))
        {
            return Err(Refusal::of(more, "would change too, and the patch does not name it").into());
        }
        let commit = self.commit_tree(attempt, &tree).await?;
        // Before a bundle names it.
        self.mirror.flush().await?;
        Ok(Taken { commit, tree, diff: change.diff, paths: change.paths, left_out: None })
    }

    /// Returns an index with the files of a commit.
    pub(super) async fn index_of(&self, commit: &str) -> Result<TemporaryIndex, RepositoryError> {
        if !is_object_id(commit) {
            return Err(unavailable("the base is not a commit id"));
        }
        self.mirror.prepare()?;
        let index = self.scratch.index()?;
        if self.scratch.copy_kept(commit, index.path()) {
            return Ok(index);
        }
        let call = || {
            Call::new(self.mirror.git_dir(), ["read-tree", "--end-of-options", commit]).index(index.path())
        };
        let output = self.run_on(commit, call).await?;
        match output.code {
            Some(0) => {
                self.scratch.keep(commit, index.path());
                Ok(index)
            }
            _ if is_fault(&output) => Err(unavailable(output.complaint())),
            _ => Err(RepositoryError::Unusable {
                what: format!("commit {commit} cannot be used: {}", output.complaint()),
                action: "a name in it is refused by git, or objects are missing: see `git fsck`".to_owned(),
            }),
        }
    }

    /// Applies a diff to an index, whole or not at all.
    pub(super) async fn apply(&self, index: &Path, diff: impl Into<Vec<u8>>) -> Result<(), TakeError> {
        settled(&self.git.run(self.apply_call(index, diff, &["apply", "--cached"])).await?)
    }

    /// Applies a stored patch. git has all that a call makes in memory until its end, so that what binary parts become
    /// is held to a limit together too: where it is known before git is called, and a few deltas at a time where it is
    /// not (T12).
    async fn apply_stored(
        &self,
        commit: &str,
        patch: Patch<'_>,
        index: &Path,
        apply: Apply,
    ) -> Result<(), TakeError> {
        let made = |file: &FilePatch<'_>| match (&file.body, &file.blobs) {
            (Body::Binary(_), Some((_, made))) => made.clone(),
            _ => String::new(),
        };
        let ids: Vec<String> = patch.files.iter().map(made).collect();
        let sizes = self.sizes(&ids).await?;
        let (mut first, mut deltas, mut total) = (Vec::new(), Vec::new(), Total::default());
        for (file, size) in patch.files.into_iter().zip(sizes) {
            let file = file.one_way();
            match (&file.body, size) {
                (Body::Hunks(_), _) => first.push(file),
                // Whatever the part has in it, git takes the file that is there.
                (Body::Binary(_), Some(size)) => {
                    total.add(file.path(), size)?;
                    first.push(file);
                }
                (Body::Binary(text), None) if text.starts_with("delta ") => deltas.push(file),
                (Body::Binary(_), None) => {
                    total.add(file.path(), file.added_bytes())?;
                    first.push(file);
                }
            }
        }
        if !first.is_empty() {
            settled(&self.apply_group(commit, &Patch { files: first }, index, apply).await?)?;
        }
        while !deltas.is_empty() {
            let group = Patch { files: deltas.drain(..deltas.len().min(DELTAS_AT_ONCE)).collect() };
            settled(&self.apply_group(commit, &group, index, apply).await?)?;
            if apply == Apply::Make {
                let ids: Vec<String> = group.files.iter().map(made).collect();
                for (file, size) in group.files.iter().zip(self.sizes(&ids).await?) {
                    total.add(file.path(), size.unwrap_or(u64::MAX))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the sizes of objects; none of what the mirror does not have.
    async fn sizes(&self, ids: &[String]) -> Result<Vec<Option<u64>>, RepositoryError> {
        let asked: Vec<&str> = ids.iter().map(String::as_str).filter(|id| is_object_id(id)).collect();
        if asked.is_empty() {
            return Ok(vec![None; ids.len()]);
        }
        let input: String = asked.iter().map(|id| format!("{id}\n")).collect();
        let arguments = ["cat-file", "--batch-check=%(objectsize)"];
        let answer = self.git.answer(Call::new(self.mirror.git_dir(), arguments).input(input)).await?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let mut sizes = answer.lines().map(|line| line.parse().ok());
        Ok(ids.iter().map(|id| if is_object_id(id) { sizes.next().flatten() } else { None }).collect())
    }

    /// Applies some parts of a stored patch in one call. What a binary part becomes is known only once git has made it,
    /// so git itself is held to a bound for each where there is one (T12).
    async fn apply_group(
        &self,
        commit: &str,
        patch: &Patch<'_>,
        index: &Path,
        apply: Apply,
    ) -> Result<Output, RepositoryError> {
        let call = || self.apply_call(index, patch.render(), apply.command());
        if !patch.files.iter().any(|file| matches!(file.body, Body::Binary(_))) {
            return self.git.run(call()).await;
        }
        let names = patch.files.iter().filter_map(|file| file.old.as_deref());
        let mut stored = self.stored(names.map(|name| format!("{commit}:{name}")).collect()).await?;
        // In memory an entry takes up to a few times what it takes in the file.
        let entries = std::fs::metadata(index).map_or(0, |metadata| metadata.len().saturating_mul(4));
        let room = STORED_LIMITS.file_bytes.max(stored.largest).max(entries).saturating_add(ROOM_MIN);
        let output = self.git.run(call().room(room)).await?;
        if !asked_for_more(&output) {
            return Ok(output);
        }
        // It may have been for what is there: in a pack, a file can be kept as its difference from a much larger one.
        let mut largest = 0;
        for _ in 0..CHAIN_MAX {
            if stored.bases.is_empty() {
                break;
            }
            stored = self.stored(stored.bases).await?;
            largest = largest.max(stored.largest);
        }
        if largest <= room {
            return Ok(output);
        }
        self.git.run(call().room(largest.saturating_add(ROOM_MIN))).await
    }

    /// Looks up how objects are kept; what is not there is left out.
    async fn stored(&self, names: Vec<String>) -> Result<Stored, RepositoryError> {
        let input: String = names.iter().map(|name| format!("{name}\n")).collect();
        let arguments = ["cat-file", "--batch-check=%(objectsize) %(deltabase)"];
        let lines = self.git.answer(Call::new(self.mirror.git_dir(), arguments).input(input)).await?;
        let mut stored = Stored { largest: 0, bases: Vec::new() };
        for line in String::from_utf8_lossy(&lines).lines() {
            let Some((size, base)) = line.split_once(' ') else { continue };
            let Ok(size) = size.parse::<u64>() else { continue };
            stored.largest = stored.largest.max(size);
            if is_object_id(base) && base.bytes().any(|digit| digit != b'0') {
                stored.bases.push(base.to_owned());
            }
        }
        Ok(stored)
    }

    // Never --reject or --unsafe-paths (T5), and nothing but exact context.
    fn apply_call(&self, index: &Path, diff: impl Into<Vec<u8>>, command: &[&str]) -> Call<'_> {
        let arguments = command.iter().chain(&["--whitespace=nowarn", "-p1", "--end-of-options", "-"]);
        Call::new(self.mirror.git_dir(), arguments).index(index).input(diff)
    }

    /// Returns the tree of an index.
    pub(super) async fn write_tree(&self, index: &Path) -> Result<String, RepositoryError> {
        let call = Call::new(self.mirror.git_dir(), ["write-tree"]).index(index);
        object_id(self.git.answer(call).await?)
    }

    async fn commit_tree(&self, attempt: &Attempt, tree: &str) -> Result<String, RepositoryError> {
        let arguments = ["commit-tree", "-p", &attempt.base, "-F", "-", "--end-of-options", tree];
        // Seconds before 1970 cannot be in a commit.
        let seconds = attempt.created_at.as_millisecond().div_euclid(1_000).max(0);
        let call = Call::new(self.mirror.git_dir(), arguments).dated(seconds).input(message(attempt));
        object_id(self.git.answer(call).await?)
    }
}

/// What becomes of a stored patch that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Apply {
    /// Its files are made.
    Make,
    /// Nothing.
    Try,
}

impl Apply {
    fn command(self) -> &'static [&'static str] {
        match self {
            Self::Make => &["apply", "--cached"],
            Self::Try => &["apply", "--cached", "--check"],
        }
    }
}

/// The bytes of the binary files that a stored patch makes.
#[derive(Debug, Default)]
struct Total(u64);

impl Total {
    /// Counts one more, or refuses it (T12).
    fn add(&mut self, path: &str, bytes: u64) -> Result<(), Refusal> {
        if bytes > STORED_LIMITS.file_bytes {
            return Err(Refusal::of(path, "gets larger than the limit for one file"));
        }
        self.0 += bytes;
        if self.0 > STORED_LIMITS.total() {
            return Err(Refusal::whole("the files that the patch makes are too large together"));
        }
        Ok(())
    }
}

/// How objects are kept.
struct Stored {
    /// The size of the largest.
    largest: u64,
    /// What they are kept as differences from.
    bases: Vec<String>,
}

/// What became of a diff that is taken as it is.
enum Exactly {
    Taken(Taken),
    /// It is read more loosely, on the files themselves; git's reason if git was asked.
    No(Option<Refusal>),
}

/// Why git did not apply a diff.
enum Applied {
    Fault(RepositoryError),
    ThroughLink(Refusal),
    Not(Refusal),
}

/// Returns why a diff was not applied, if it was not.
fn settled(output: &Output) -> Result<(), TakeError> {
    applied(output).map_err(|not| match not {
        Applied::Fault(error) => error.into(),
        Applied::ThroughLink(refusal) | Applied::Not(refusal) => refusal.into(),
    })
}

fn applied(output: &Output) -> Result<(), Applied> {
    if output.code == Some(0) {
        return Ok(());
    }
    if asked_for_more(output) {
        let reason = "the patch has a binary part that gets larger than the limit for one file";
        return Err(Applied::Not(Refusal::whole(reason)));
    }
    if is_fault(output) {
        return Err(Applied::Fault(unavailable(output.complaint())));
    }
    // T4: git's index knows the links of the base.
    if let Some((_, rest)) = output.stderr.split_once("affected file '")
        && let Some((path, _)) = rest.split_once("' is beyond a symbolic link")
    {
        return Err(Applied::ThroughLink(Refusal::of(path, "is written through a link of the base")));
    }
    Err(Applied::Not(Refusal::whole(format!("the patch does not apply: {}", output.complaint()))))
}

/// Tells whether git asked for more memory at once than it is given.
fn asked_for_more(output: &Output) -> bool {
    output.code != Some(0) && output.stderr.contains("attempting to allocate")
}

/// Returns the message of an attempt's commit: the title on one line, then what it belongs to.
fn message(attempt: &Attempt) -> String {
    let title: String = attempt.title.chars().map(|c| if is_hidden(c) { ' ' } else { c }).collect();
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let title: String = title.chars().take(200).collect();
    let title = if title.is_empty() { "Patch".to_owned() } else { title };
    format!("{title}\n\nObjective: {}\nWorkorder: {}\n", attempt.objective_id, attempt.work_order_id)
}

fn object_id(answer: Vec<u8>) -> Result<String, RepositoryError> {
    let text = String::from_utf8_lossy(&answer).trim_end().to_owned();
    if is_object_id(&text) {
        Ok(text)
    } else {
        Err(unavailable("git printed something that is no object id"))
    }
}

/// Tells whether a complaint is about the machine, not about the patch.
pub(super) fn is_fault(output: &Output) -> bool {
    let signs = [
        "No space left",
        "Out of diskspace",
        "Disk quota exceeded",
        "unable to write",
        "unable to create",
        "Read-only file system",
        "Input/output error",
        // A part of git that something ended.
        "died of signal",
        "Out of memory, ",
        "out of memory (",
        "Cannot allocate memory",
        "Too many open files",
    ];
    output.code != Some(0) && signs.iter().any(|sign| output.stderr.contains(sign))
}

/// Tells whether a complaint is about a commit that the mirror does not have.
pub(super) fn is_missing(output: &Output) -> bool {
    let signs =
        ["failed to unpack tree object", "not a tree object", "Not a valid object name", "bad object"];
    signs.iter().any(|sign| output.stderr.contains(sign))
}

#[cfg(test)]
mod tests;
