//! What `azolla verify` cannot see in the store alone: every stored patch still gives its commit, no branch is at one that
//! failed (invariant 11), and nothing is left to do but what a limit holds back (12).

mod idle;

use azolla_protocol::{ObjectiveId, OutputBundle, RunnerStatus, SnapshotId, Workorder};
use azolla_substrate::{Finding, ObjectiveFilter, SubstrateError, SubstrateRead};

use crate::{
    context::WorkerError,
    repo::{CommitSha, Repository, TakeError, Tried, branch_of},
    snapshot::patch,
};

pub use self::idle::{Limits, left_to_do};

/// The branch of a patch that failed, in the operator's repository: whoever gated it was ended between the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftBranch {
    /// The objective, which gives the branch its name.
    pub objective_id: ObjectiveId,
    /// Where the branch is.
    pub commit: CommitSha,
    /// What has a run of this objective.
    pub tried: Tried,
}

impl LeftBranch {
    /// Returns what is wrong with it.
    pub fn finding(&self) -> Finding {
        let branch = branch_of(&self.objective_id);
        let what = format!("failed its gate and is at {branch} all the same: azolla doctor --repair");
        Finding { invariant: 11, resource: self.commit.clone(), what }
    }
}

/// Returns the branches that are at a patch that failed (G-1). One whose commit has no run is being gated, or of somebody
/// else.
pub async fn branches(
    read: &dyn SubstrateRead,
    repository: &dyn Repository,
) -> Result<Vec<LeftBranch>, WorkerError> {
    let mut left = Vec::new();
    for (objective_id, commit) in repository.branches().await? {
        left.extend(left_branch(read, objective_id, commit).await?);
    }
    Ok(left)
}

/// Returns a branch if it is at a patch that failed.
pub(crate) async fn left_branch(
    read: &dyn SubstrateRead,
    objective_id: ObjectiveId,
    commit: CommitSha,
) -> Result<Option<LeftBranch>, SubstrateError> {
    let tried = Tried::of(read.runs_of(&objective_id).await?);
    Ok(tried.failed.contains(&commit).then_some(LeftBranch { objective_id, commit, tried }))
}

/// Rebuilds base + stored patch of every completed workorder, and returns those that come to something else.
pub async fn patches(
    read: &dyn SubstrateRead,
    repository: &dyn Repository,
    mut progress: impl FnMut(u64),
) -> Result<Vec<Finding>, WorkerError> {
    let mut findings = Vec::new();
    let mut filter = ObjectiveFilter { status: None, max_urgency: 4, after: None, limit: 100 };
    let mut done = 0;
    loop {
        let page = read.objectives(&filter).await?;
        let Some(last) = page.last() else { return Ok(findings) };
        filter.after = Some(Box::new(last.objective.clone()));
        for stored in &page {
            for stored in read.workorders_of(&stored.objective.objective_id).await? {
                let Some(bundle) = read.output_of(&stored.workorder.work_order_id).await? else { continue };
                if bundle.metadata.runner_status == RunnerStatus::Completed {
                    findings.extend(check(read, repository, &stored.workorder, &bundle).await?);
                    done += 1;
                    progress(done);
                }
            }
        }
    }
}

async fn check(
    read: &dyn SubstrateRead,
    repository: &dyn Repository,
    workorder: &Workorder,
    bundle: &OutputBundle,
) -> Result<Option<Finding>, WorkerError> {
    let snapshot: &SnapshotId = &workorder.context_snapshot_id;
    let Some(snapshot) = read.context_snapshot(snapshot).await? else { return Ok(None) };
    let Some(attempt) = patch::attempt(workorder, &snapshot, &bundle.title) else { return Ok(None) };
    let recorded = bundle.metadata.more.get("commit_sha").and_then(|sha| sha.as_str()).unwrap_or_default();
    let what = match repository.rebuild(&attempt, &bundle.content).await {
        Ok(taken) if taken.commit == recorded => return Ok(None),
        Ok(taken) => format!("gives commit {}, not {recorded}", taken.commit),
        Err(TakeError::Repository(error)) => return Err(error.into()),
        Err(error) => format!("does not apply to its base: {error}"),
    };
    Ok(Some(Finding { invariant: 11, resource: bundle.output_id.to_string(), what }))
}
