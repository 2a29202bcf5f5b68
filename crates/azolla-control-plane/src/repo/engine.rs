//! `GitRepository`: the Repository seam on the git program and a mirror of our own.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Mutex,
};

use azolla_process::Capture;
use azolla_protocol::limits;
use azolla_substrate::BoxFuture;

use super::{
    Attempt, Candidate, CommitSha, Description, Guide, Published, Repository, RepositoryError, TakeError,
    Taken, Worktree,
    cat_file::{self, Blob},
    git::{Call, Git, unavailable},
    mirror::Mirror,
    reference::{RepoRef, check_repo_ref},
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
    /// Bytes of the diff.
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

/// Paths that [`Description`] lists.
const PATHS_MAX: usize = 10_000;
/// Bytes of all paths of a commit that are read to count them.
const PATHS_BYTES: usize = 64 << 20;
/// Bytes of a guide that a prompt may get.
const GUIDE_BYTES: usize = 64 << 10;
/// Files that nearly every run asks for, so that one call reads them all.
const KNOWN_FILES: [&str; 3] = [".azolla.toml", "AGENTS.md", "CLAUDE.md"];
/// Commits whose known files are kept.
const KNOWN_COMMITS: usize = 16;

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
    known: Mutex<HashMap<CommitSha, Vec<Option<Blob>>>>,
}

impl GitRepository {
    /// Returns the repository. Its name is checked; nothing is read, made or fetched before the first use.
    pub fn open(settings: GitSettings) -> Result<Self, RepositoryError> {
        let repo = match check_repo_ref(&settings.repo)? {
            RepoRef::Path(path) => RepoRef::Path(absolute(&path)?),
            url => url,
        };
        let mirror = Mirror::new(absolute(&settings.mirror)?);
        let git = Git::new(settings.git, &mirror.global_config(), repo.protocol());
        Ok(Self {
            repo,
            git,
            mirror,
            scratch: Scratch::new(absolute(&settings.scratch)?),
            limits: settings.limits,
            fetching: tokio::sync::Mutex::new(()),
            known: Mutex::default(),
        })
    }

    /// Returns how many processes it has started.
    pub fn spawns(&self) -> u64 {
        self.git.spawns()
    }

    /// Removes directories that a process which is gone left in the scratch place; returns how many.
    pub fn sweep(&self) -> usize {
        self.scratch.sweep()
    }

    async fn describe_commit(&self, commit: &str) -> Result<Description, RepositoryError> {
        self.mirror.prepare()?;
        let names = Call::new(
            self.mirror.git_dir(),
            ["ls-tree", "-r", "-z", "--name-only", "--end-of-options", commit],
        )
        .stdout(Capture::Head(PATHS_BYTES));
        let (names, known) = tokio::join!(self.git.answer(names), self.known_files(commit));
        let (names, known) = (names?, known?);
        let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let files = names.clone().count() as u64;
        let paths = names.take(PATHS_MAX).map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        let guide = KNOWN_FILES.into_iter().zip(known).skip(1).find_map(|(path, blob)| Some((path, blob?)));
        let guide = guide.map(|(path, blob)| Guide {
            path: path.to_owned(),
            text: blob.text(GUIDE_BYTES),
            blob: blob.id,
        });
        Ok(Description { paths, files, guide })
    }

    async fn read_file(
        &self,
        commit: &str,
        path: &str,
        bytes_max: usize,
    ) -> Result<Option<Vec<u8>>, RepositoryError> {
        if let Some(n) = KNOWN_FILES.iter().position(|known| *known == path) {
            let blob = self.known_files(commit).await?.swap_remove(n);
            match blob {
                None => return Ok(None),
                Some(blob) if blob.size > bytes_max as u64 => return Ok(None),
                Some(blob) if blob.is_whole() => return Ok(Some(blob.bytes)),
                Some(_) => {}
            }
        }
        self.mirror.prepare()?;
        let blob =
            cat_file::read(&self.git, self.mirror.git_dir(), commit, &[path], bytes_max).await?.remove(0);
        Ok(blob.filter(|blob| blob.size <= bytes_max as u64 && blob.is_whole()).map(|blob| blob.bytes))
    }

    /// Returns the files that nearly every run asks for. A commit never changes, so they are read once.
    async fn known_files(&self, commit: &str) -> Result<Vec<Option<Blob>>, RepositoryError> {
        if let Some(known) = self.known.lock().expect("no holder of this lock panics").get(commit) {
            return Ok(known.clone());
        }
        self.mirror.prepare()?;
        let files =
            cat_file::read(&self.git, self.mirror.git_dir(), commit, &KNOWN_FILES, GUIDE_BYTES).await?;
        let mut known = self.known.lock().expect("no holder of this lock panics");
        if known.len() >= KNOWN_COMMITS {
            known.clear();
        }
        known.insert(commit.to_owned(), files.clone());
        Ok(files)
    }
}

impl Repository for GitRepository {
    fn base<'a>(&'a self, branch: &'a str) -> BoxFuture<'a, Result<CommitSha, RepositoryError>> {
        Box::pin(self.fetch_base(branch))
    }

    fn describe<'a>(&'a self, commit: &'a str) -> BoxFuture<'a, Result<Description, RepositoryError>> {
        Box::pin(self.describe_commit(commit))
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
    ) -> BoxFuture<'a, Result<Published, RepositoryError>> {
        Box::pin(self.publish_branch(attempt, commit))
    }
}

fn absolute(path: &Path) -> Result<PathBuf, RepositoryError> {
    std::path::absolute(path).map_err(|error| unavailable(format!("{}: {error}", path.display())))
}
