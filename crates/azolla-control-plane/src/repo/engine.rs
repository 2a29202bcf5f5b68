//! `GitRepository`: the Repository seam on the git program and a mirror of our own.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use azolla_protocol::{
    DOCUMENT_BYTES_MAX, ObjectiveId,
    limits::{self, Limit},
};
use azolla_substrate::BoxFuture;

use super::{
    Attempt, Candidate, CommitSha, Description, Pick, Published, Repository, RepositoryError, TakeError,
    Taken, Worktree,
    aside::Aside,
    facts::Facts,
    git::{Git, unavailable},
    mirror::Mirror,
    reference::{RepoRef, check_repo_ref},
    refusal::Refusal,
    scratch::Scratch,
};

/// Where a repository is and what a patch of it may have.
#[derive(Clone, Debug)]
pub struct GitSettings {
    /// A path or URL, as the operator gave it.
    pub repo: String,
    /// The bare mirror; made at the first use.
    pub mirror: PathBuf,
    /// Where worktrees go.
    pub scratch: PathBuf,
    /// Absolute path of the git program; see `azolla_process::find`.
    pub git: PathBuf,
    /// What a patch may have.
    pub limits: PatchLimits,
}

/// What a patch may have (PROTOCOL.md section 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatchLimits {
    /// Bytes of the diff; never more than a document has room for, whatever is set here.
    pub bytes: u64,
    /// Files that it touches.
    pub files: u64,
    /// Bytes that it puts into one file; for edits in a worktree, bytes of a changed file.
    pub file_bytes: u64,
}

impl Default for PatchLimits {
    fn default() -> Self {
        Self {
            bytes: limits::PATCH_BYTES.default,
            files: limits::PATCH_FILES.default,
            file_bytes: limits::PATCH_FILE_BYTES.default,
        }
    }
}

impl PatchLimits {
    /// Returns how many parts a diff of git's may have: a file that becomes a link has two.
    pub(super) fn parts(&self) -> u64 {
        self.files.saturating_mul(2)
    }

    /// Returns how many bytes all files that it changes may have together: most of them is context.
    pub(super) fn total(&self) -> u64 {
        self.bytes.saturating_mul(20)
    }

    /// Returns the refusal of a patch that is too large.
    pub(super) fn too_large(&self) -> Refusal {
        Refusal::whole(format!("the patch is larger than {} bytes", self.bytes))
    }
}

/// Bytes of a diff that a document has room for beside everything else in it.
pub(super) const STORED_BYTES_MAX: u64 = DOCUMENT_BYTES_MAX as u64 - (1 << 20);

/// What a stored patch may have, whatever is configured now and here: all that may ever have been let in.
pub(super) const STORED_LIMITS: PatchLimits = PatchLimits {
    bytes: STORED_BYTES_MAX,
    files: maximum(limits::PATCH_FILES),
    file_bytes: maximum(limits::PATCH_FILE_BYTES),
};

/// The Repository seam on git.
///
/// It may be shared by tasks, and several processes may use one mirror.
#[derive(Debug)]
pub struct GitRepository {
    pub(super) repo: RepoRef,
    pub(super) mirror: Mirror,
    pub(super) git: Git,
    pub(super) scratch: Scratch,
    pub(super) limits: PatchLimits,
    // One fetch at a time: two of one branch would only wait for each other's lock.
    pub(super) fetching: tokio::sync::Mutex<()>,
    pub(super) aside: Aside,
    pub(super) facts: Mutex<HashMap<CommitSha, Arc<Facts>>>,
}

impl GitRepository {
    /// Returns the repository. Its name is checked; nothing is read, made or fetched before the first use.
    pub fn open(settings: GitSettings) -> Result<Self, RepositoryError> {
        let repo = match check_repo_ref(&settings.repo)? {
            RepoRef::Path(path) => RepoRef::Path(absolute(&path)?),
            url => url,
        };
        let mirror = Mirror::new(absolute(&settings.mirror)?);
        let git = Git::new(settings.git, &mirror, repo.protocol());
        Ok(Self {
            repo,
            git,
            mirror,
            scratch: Scratch::new(absolute(&settings.scratch)?),
            limits: PatchLimits { bytes: settings.limits.bytes.min(STORED_BYTES_MAX), ..settings.limits },
            fetching: tokio::sync::Mutex::new(()),
            aside: Aside::default(),
            facts: Mutex::default(),
        })
    }

    /// Returns how many processes it has started.
    pub fn spawns(&self) -> u64 {
        self.git.spawns()
    }

    /// Removes directories that a process which is gone left in the scratch place; returns how many.
    pub fn sweep(&self) -> usize {
        self.scratch.sweep().len()
    }

    /// Returns what processes that are gone left: directories of the scratch place, and locks of git's in the mirror.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let mut left = self.scratch.abandoned();
        left.extend(self.mirror.stale_locks());
        left
    }

    /// Removes what [`GitRepository::leftovers`] returns; returns what it removed.
    pub fn remove_leftovers(&self) -> Vec<PathBuf> {
        let mut removed = self.scratch.sweep();
        removed.extend(self.mirror.remove_stale_locks());
        removed
    }
}

impl Repository for GitRepository {
    fn base<'a>(&'a self, branch: &'a str) -> BoxFuture<'a, Result<CommitSha, RepositoryError>> {
        Box::pin(self.fetch_base(branch))
    }

    fn bases(&self) -> BoxFuture<'_, Result<Vec<String>, RepositoryError>> {
        Box::pin(self.heads())
    }

    fn describe<'a>(
        &'a self,
        commit: &'a str,
        pick: &'a Pick<'a>,
    ) -> BoxFuture<'a, Result<Description, RepositoryError>> {
        Box::pin(self.describe_commit(commit, pick))
    }

    fn file<'a>(
        &'a self,
        commit: &'a str,
        path: &'a str,
        bytes_max: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, RepositoryError>> {
        Box::pin(self.read_file(commit, path, bytes_max))
    }

    fn worktree<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Result<Worktree, RepositoryError>> {
        let name = format!("{}-{}", attempt.work_order_id, attempt.claim_version);
        Box::pin(self.files_of(attempt, &attempt.base, name))
    }

    fn take<'a>(
        &'a self,
        attempt: &'a Attempt,
        candidate: Candidate<'a>,
    ) -> BoxFuture<'a, Result<Taken, TakeError>> {
        match candidate {
            Candidate::Text(text) => Box::pin(self.take_text(attempt, text)),
            Candidate::Edits(worktree) => Box::pin(self.take_edits(attempt, worktree)),
        }
    }

    fn rebuild<'a>(
        &'a self,
        attempt: &'a Attempt,
        content: &'a str,
    ) -> BoxFuture<'a, Result<Taken, TakeError>> {
        Box::pin(self.rebuild_attempt(attempt, content))
    }

    fn project<'a>(
        &'a self,
        attempt: &'a Attempt,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<(), RepositoryError>> {
        Box::pin(self.keep(attempt, commit))
    }

    fn applies<'a>(
        &'a self,
        commit: &'a str,
        content: &'a str,
    ) -> BoxFuture<'a, Result<bool, RepositoryError>> {
        Box::pin(self.applies_to(commit, content))
    }

    fn checkout<'a>(
        &'a self,
        attempt: &'a Attempt,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<Worktree, RepositoryError>> {
        let short = commit.get(..12).unwrap_or(commit);
        let name = format!("{}-{}-{short}", attempt.work_order_id, attempt.claim_version);
        Box::pin(self.files_of(attempt, commit, name))
    }

    fn publish<'a>(
        &'a self,
        attempt: &'a Attempt,
        commit: &'a str,
        earlier: &'a [String],
    ) -> BoxFuture<'a, Result<Published, RepositoryError>> {
        Box::pin(self.publish_branch(attempt, commit, earlier))
    }

    fn withdraw<'a>(
        &'a self,
        objective: &'a ObjectiveId,
        failed: &'a [String],
        passed: &'a [String],
    ) -> BoxFuture<'a, Result<bool, RepositoryError>> {
        Box::pin(self.withdraw_branch(objective, failed, passed))
    }

    fn branches(&self) -> BoxFuture<'_, Result<Vec<(ObjectiveId, CommitSha)>, RepositoryError>> {
        Box::pin(self.list_branches())
    }
}

const fn maximum(limit: Limit) -> u64 {
    match limit.maximum {
        Some(maximum) => maximum,
        None => u64::MAX,
    }
}

fn absolute(path: &Path) -> Result<PathBuf, RepositoryError> {
    std::path::absolute(path).map_err(|error| unavailable(format!("{}: {error}", path.display())))
}
