//! The Repository seam: what the workers need of a repository, and its one implementation on git.
//!
//! An azolla has one repository and a bare mirror of it that belongs to azolla alone. Everything happens in the
//! mirror; the operator's repository gets exactly one ref, on PASS (G-1, G-2).

mod aside;
mod cat_file;
mod edit;
mod engine;
mod facts;
mod fetch;
#[cfg(test)]
mod fuzz;
mod git;
mod mirror;
mod normal;
mod patch;
mod policy;
mod protected;
mod publish;
mod reference;
mod refs;
mod refusal;
mod rewrite;
mod scratch;
mod source;
mod take;
mod worktree;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use azolla_protocol::{GateResult, ObjectiveId, RunRecord, Timestamp, WorkOrderId};
use azolla_substrate::BoxFuture;

pub use edit::edit_schema;
pub use engine::{GitRepository, GitSettings, PatchLimits};
pub use patch::paths_of;
pub use protected::{Protected, protected};
pub use reference::{RepoRef, check_branch, check_repo_ref};

/// A commit id: 40 or 64 hexadecimal digits.
pub type CommitSha = String;

/// What the workers need of a repository.
pub trait Repository: Send + Sync {
    /// Brings the base branch as it is now into the mirror.
    fn base<'a>(&'a self, branch: &'a str) -> BoxFuture<'a, Result<CommitSha, RepositoryError>>;

    /// Returns some of the branches that are there now, those first that work is most likely to start from.
    fn bases(&self) -> BoxFuture<'_, Result<Vec<String>, RepositoryError>>;

    /// Returns what a prompt says about a commit that is in the mirror, with the texts of the files that `pick` picks
    /// from its tree.
    fn describe<'a>(
        &'a self,
        commit: &'a str,
        pick: &'a Pick<'a>,
    ) -> BoxFuture<'a, Result<Description, RepositoryError>>;

    /// Returns a file of a commit, links inside the tree followed; none only if the commit has no such path.
    ///
    /// What is there and cannot be read whole is [`RepositoryError::Unusable`]: a file larger than `bytes_max`, a
    /// directory, a link that leads out or to nothing, a submodule. Nobody takes settings that are there for none.
    fn file<'a>(
        &'a self,
        commit: &'a str,
        path: &'a str,
        bytes_max: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, RepositoryError>>;

    /// Makes a directory with the files of the attempt's base, for a worker that edits files. It has a `.git` of its
    /// own, so that nothing that is written there is ever read by us.
    fn worktree<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Result<Worktree, RepositoryError>>;

    /// Turns a candidate into a commit on the attempt's base, all or nothing. Nothing points to it yet.
    fn take<'a>(
        &'a self,
        attempt: &'a Attempt,
        candidate: Candidate<'a>,
    ) -> BoxFuture<'a, Result<Taken, TakeError>>;

    /// Rebuilds base + stored patch (G-1): the same commit on every machine.
    fn rebuild<'a>(
        &'a self,
        attempt: &'a Attempt,
        content: &'a str,
    ) -> BoxFuture<'a, Result<Taken, TakeError>>;

    /// Keeps an attempt whose bundle is durable, and sets the mirror's branch to it (G-1). Idempotent. The branch stays
    /// where it is if an attempt of a later entry is kept: nobody who was paused moves it back.
    fn project<'a>(
        &'a self,
        attempt: &'a Attempt,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<(), RepositoryError>>;

    /// Tells whether a patch applies to another commit than the one it was made for.
    fn applies<'a>(
        &'a self,
        commit: &'a str,
        content: &'a str,
    ) -> BoxFuture<'a, Result<bool, RepositoryError>>;

    /// Makes a directory with the files of a commit, for checks.
    fn checkout<'a>(
        &'a self,
        attempt: &'a Attempt,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<Worktree, RepositoryError>>;

    /// Gives the operator's repository the branch of a passed attempt, and nothing else (G-2). A branch that is at
    /// anything but an attempt of this objective that is not later than this one stays where it is; `earlier` has those
    /// that another machine may have made.
    fn publish<'a>(
        &'a self,
        attempt: &'a Attempt,
        commit: &'a str,
        earlier: &'a [String],
    ) -> BoxFuture<'a, Result<Published, RepositoryError>>;

    /// Takes the branch of an objective away if it is at a commit that failed; an earlier one that it replaced comes back if
    /// it is among those that passed. A branch that is anywhere else, or checked out, stays as it is (G-2). Tells whether
    /// it was taken away.
    fn withdraw<'a>(
        &'a self,
        objective: &'a ObjectiveId,
        failed: &'a [String],
        passed: &'a [String],
    ) -> BoxFuture<'a, Result<bool, RepositoryError>>;

    /// Returns the branches of objectives that the operator's repository has, and where they are. Of a URL nothing is
    /// known: nothing is pushed there.
    fn branches(&self) -> BoxFuture<'_, Result<Vec<(ObjectiveId, CommitSha)>, RepositoryError>>;
}

/// One attempt at an objective: what its commit is made of, so that any machine makes the same (G-1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The objective: the branch is `azolla/<objective_id>`.
    pub objective_id: ObjectiveId,
    /// The workorder.
    pub work_order_id: WorkOrderId,
    /// The claim under which files are touched; no part of the commit.
    pub claim_version: u64,
    /// The commit's parent.
    pub base: CommitSha,
    /// The first line of the commit's message.
    pub title: String,
    /// The commit's date: that of the workorder.
    pub created_at: Timestamp,
}

impl Attempt {
    /// Returns the branch's name, without `refs/heads/`.
    pub fn branch(&self) -> String {
        branch_of(&self.objective_id)
    }
}

/// Returns the name of an objective's branch, without `refs/heads/`.
pub fn branch_of(objective: &ObjectiveId) -> String {
    format!("azolla/{objective}")
}

/// The commits of an objective that have a run: a branch that is at none of them is being gated, or not ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// Those that failed. A commit names its workorder, and a workorder has one run: none of them passes later.
    pub failed: Vec<CommitSha>,
    /// Those that passed.
    pub passed: Vec<CommitSha>,
}

impl Tried {
    /// Sorts the runs of an objective. What passed once has not failed, whatever else is recorded of it.
    pub fn of(runs: Vec<RunRecord>) -> Self {
        let mut tried = Self::default();
        for run in runs {
            let commits = match run.gate_result {
                GateResult::Pass => &mut tried.passed,
                GateResult::Fail => &mut tried.failed,
            };
            commits.extend(run.commit_sha);
        }
        tried.failed.retain(|commit| !tried.passed.contains(commit));
        tried
    }
}

/// What came back from a diazotroph.
#[derive(Clone, Copy, Debug)]
pub enum Candidate<'a> {
    /// Text with a change in it, in one of the formats that are understood.
    Text(&'a str),
    /// Edits in the attempt's worktree.
    Edits(&'a Worktree),
}

/// A directory of files, removed when it is dropped.
#[derive(Debug)]
pub struct Worktree {
    path: PathBuf,
    /// The tree that was checked out.
    tree: String,
    /// Removed with it: the files, and what we keep beside them.
    place: scratch::Place,
}

impl Worktree {
    /// Returns where the files are.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the id of the tree that was checked out.
    pub fn tree(&self) -> &str {
        &self.tree
    }
}

/// A candidate that became a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The commit.
    pub commit: CommitSha,
    /// Its tree.
    pub tree: String,
    /// The normalized diff from the base, computed by git (PF-6c).
    pub diff: String,
    /// The paths that changed, in order.
    pub paths: Vec<String>,
    /// What of the worker's edits could not be read and is not in it, in words.
    pub left_out: Option<String>,
}

/// What a prompt says about a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Everything in the tree but directories, in git's order.
    pub entries: Arc<[Entry]>,
    /// AGENTS.md, or CLAUDE.md where there is none: its name, blob and text.
    pub guide: Option<Guide>,
    /// The texts of the files that were picked, by their place in `entries`; those that are no text are left out.
    pub texts: BTreeMap<usize, String>,
}

/// Picks the entries of a tree whose texts are read, by their places. What is no file is not read, whoever picks it.
pub type Pick<'a> = dyn Fn(&[Entry]) -> Vec<usize> + Send + Sync + 'a;

/// What a tree has at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its path. What could begin a new line or hide text is written as an escape (T21).
    pub path: String,
    /// Its object id.
    pub blob: String,
    /// Its size in bytes; none of a submodule, or of an object that the mirror does not have.
    pub size: u64,
    /// Its mode, as git has it.
    pub mode: u32,
}

impl Entry {
    /// Tells whether it is a file: no link, no submodule.
    pub fn is_file(&self) -> bool {
        matches!(self.mode, 0o100_644 | 0o100_755 | 0o100_664)
    }
}

/// The repository's own words to a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guide {
    /// Its path.
    pub path: String,
    /// Its blob id.
    pub blob: String,
    /// Its text, up to a limit.
    pub text: String,
}

/// What became of publishing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Published {
    /// The branch is in the operator's repository, at the attempt's commit, and stays there whatever happens to the machine.
    Done,
    /// That is not so, or not for sure, and only the operator makes it so: the repository is a URL or does not answer, or the
    /// branch is checked out, somebody else's, or at a later attempt.
    ByHand {
        /// Why not.
        reason: String,
        /// The command that does it.
        command: String,
    },
}

/// Why a candidate did not become a commit.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// It is refused, or does not apply: PATCH_APPLY_FAILED. The text says why, with the path.
    #[error("{reason}")]
    Refused {
        /// Why, with the path.
        reason: String,
        /// What edits in a worktree came to; empty for a text, which the caller has.
        attempted: Attempted,
    },
    /// It changes nothing: GENERATION_FAILED, a reason of its own.
    #[error("the answer changes nothing")]
    NoChange,
    /// The repository itself failed.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
}

/// A change that was refused, as far as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempted {
    /// The beginning of it, as text.
    pub text: String,
    /// Whether there was more.
    pub is_cut: bool,
    /// Every path that it touches, where it is cut: what is left out is looked at first all the same (T17).
    pub paths: Vec<String>,
}

impl Attempted {
    /// The most bytes of the text.
    pub(crate) const BYTES_MAX: usize = 1_000_000;

    /// Keeps the beginning of an answer.
    pub(crate) fn of(text: &str) -> Self {
        let is_cut = text.len() > Self::BYTES_MAX;
        let paths = if is_cut { paths_of(text) } else { Vec::new() };
        Self { text: text[..text.floor_char_boundary(Self::BYTES_MAX)].to_owned(), is_cut, paths }
    }
}

/// What can go wrong with a repository, split by what the caller does next.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// The operator has to act: the repository or the base is missing, or of a kind that is refused (PF-3b).
    #[error("{what}; {action}")]
    Unusable {
        /// What is wrong.
        what: String,
        /// What to do.
        action: String,
    },
    /// It may work later: back off.
    #[error("the repository is unavailable: {0}")]
    Unavailable(String),
}
