//! Gate Worker: one EXECUTED workorder gets its one run_record, its transition and its pause_state (PF-7, PF-8).

mod evidence;
mod outcome;

use azolla_exchange_membrane::gates::patch::{self, AfterFailure, ChecksRefused, Failure, Verdict};
use azolla_protocol::{Actor, OutputBundle, ResourceRef, RunnerStatus, WorkorderStatus};
use azolla_substrate::{Commit, CommitOutcome, Release, StoredObjective, StoredWorkorder, SubstrateError};

use crate::{
    checks::Check,
    context::{RepositoryFile, Tick, WorkerContext, WorkerError},
    lease::{self, Held},
    repo::{Attempt, Published, RepositoryError},
    workers::{CANDIDATES, repository_file},
};

/// Gates the oldest executed workorder that can be claimed.
pub async fn tick(ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    let mut tick = Tick::Idle;
    for stored in ctx.read().ungated_workorders(CANDIDATES).await? {
        let resource = ResourceRef::from(&stored.workorder.work_order_id);
        if let Some(wait) = ctx.backoff.wait(&resource) {
            tick = tick.or_wait(wait);
            continue;
        }
        match gate(ctx, &resource, stored).await? {
            Gated::Moved => {
                ctx.backoff.moved(&resource);
                return Ok(Tick::Advanced);
            }
            Gated::Stopping => return Ok(Tick::Idle),
            Gated::Failed => tick = tick.or_wait(ctx.backoff.failed(&resource)),
            // C-8: on to the next candidate.
            Gated::Held => {
                if let Some(left) = ctx.held_for(&resource).await? {
                    tick = tick.or_wait(left);
                }
            }
        }
    }
    Ok(tick)
}

/// What became of one candidate.
enum Gated {
    /// It is gated, or something about it changed: look again.
    Moved,
    /// Somebody else has it.
    Held,
    /// It failed in passing, and that is counted (W-7).
    Failed,
    /// The process ends; the claim was given back.
    Stopping,
}

/// Everything about a workorder that its gate reads.
struct Case {
    stored: StoredWorkorder,
    bundle: OutputBundle,
    objective: StoredObjective,
    attempt: Attempt,
    base_branch: String,
}

/// How a case is judged.
enum Route {
    /// By what is there, and these checks; or by why they cannot be run.
    Evaluate(Result<Vec<Check>, ChecksRefused>),
    /// Without a look at it.
    Fail(Failure),
}

async fn gate(
    ctx: &WorkerContext,
    resource: &ResourceRef,
    stored: StoredWorkorder,
) -> Result<Gated, WorkerError> {
    let case = load(ctx, stored).await?;
    let route = match route(ctx, &case).await {
        Ok(route) => route,
        Err(error) => return count_failure(ctx, resource, &case, &error).await,
    };
    if !matches!(&route, Route::Evaluate(Ok(checks)) if !checks.is_empty()) {
        // Short work, loaded first: claim, commit and release are one transaction.
        return match judge(ctx, &case, route).await {
            Ok(commit) => {
                let commit = commit.claiming(resource.clone(), ctx.owner_id.clone());
                committed(ctx.substrate.commit(commit).await)
            }
            Err(WorkerError::Repository(error)) => count_failure(ctx, resource, &case, &error).await,
            Err(error) => Err(error),
        };
    }
    let Some(claim) = lease::acquire(ctx, resource, Actor::Gate).await? else { return Ok(Gated::Held) };
    // C-1: eligibility is read again under the claim.
    if !is_ungated(ctx.read().workorder(&case.stored.workorder.work_order_id).await?.as_ref()) {
        lease::release(ctx, &claim, Release::Unused).await?;
        return Ok(Gated::Moved);
    }
    match lease::hold(ctx, &claim, &case.attempt.objective_id, judge(ctx, &case, route)).await {
        Held::Done(Ok(commit)) => {
            committed(ctx.substrate.commit(commit.fenced(claim.grant.fence.clone())).await)
        }
        Held::Done(Err(WorkerError::Repository(error))) => {
            lease::release(ctx, &claim, Release::Failed).await?;
            ctx.show(&case.attempt.objective_id, format!("waiting: {error}"), None);
            Ok(Gated::Failed)
        }
        Held::Done(Err(error)) => Err(error),
        // The checks were ended; the next look finds the request and writes the FAIL (S-m).
        Held::Cancelled => {
            lease::release(ctx, &claim, Release::Unused).await?;
            Ok(Gated::Moved)
        }
        Held::Stopping => {
            lease::release(ctx, &claim, Release::Unused).await?;
            Ok(Gated::Stopping)
        }
        Held::Lost => Ok(Gated::Moved),
    }
}

async fn load(ctx: &WorkerContext, stored: StoredWorkorder) -> Result<Case, WorkerError> {
    let id = &stored.workorder.work_order_id;
    let missing = |what: &str| WorkerError::Broken(format!("{id} has no {what}"));
    let bundle = ctx.read().output_of(id).await?.ok_or_else(|| missing("output_bundle"))?;
    let objective = ctx.read().objective(&stored.workorder.objective_id).await?;
    let objective = objective.ok_or_else(|| missing("objective"))?;
    let snapshot = ctx.read().context_snapshot(&stored.workorder.context_snapshot_id).await?;
    let snapshot = snapshot.ok_or_else(|| missing("context_snapshot"))?;
    let metadata = snapshot.metadata.unwrap_or_default();
    let base_branch =
        metadata.get("base_branch").and_then(|value| value.as_str()).unwrap_or_default().to_owned();
    let attempt = Attempt {
        objective_id: stored.workorder.objective_id.clone(),
        work_order_id: id.clone(),
        claim_version: 0,
        base: snapshot.repo_commit_sha.unwrap_or_default(),
        title: bundle.title.clone(),
        created_at: stored.workorder.created_at,
    };
    Ok(Case { bundle, objective, attempt, base_branch, stored })
}

async fn route(ctx: &WorkerContext, case: &Case) -> Result<Route, RepositoryError> {
    if case.objective.objective.metadata.contains_key("cancel") {
        return Ok(fail_at_once("the operator cancelled the run"));
    }
    if case.stored.claim_count >= ctx.settings.claims_without_outcome_max {
        let reason = format!("{} gate runs ended without a result", case.stored.claim_count);
        return Ok(fail_at_once(reason));
    }
    if case.bundle.metadata.runner_status != RunnerStatus::Completed {
        return Ok(Route::Evaluate(Ok(Vec::new())));
    }
    if !ctx.settings.checks.is_empty() {
        return Ok(Route::Evaluate(Ok(ctx.settings.checks.clone())));
    }
    // The repository's own checks, from the base commit and only if they are pinned (R13).
    Ok(match repository_file(ctx, &case.attempt.base).await {
        Ok(None) => Route::Evaluate(Ok(Vec::new())),
        Ok(Some(RepositoryFile::Trusted(settings))) => Route::Evaluate(Ok(settings.checks)),
        Ok(Some(RepositoryFile::Untrusted { action })) => {
            let reason =
                "the repository's .azolla.toml is not trusted, so its checks were not run".to_owned();
            Route::Evaluate(Err(ChecksRefused { reason, action }))
        }
        Ok(Some(RepositoryFile::Invalid { reason })) => {
            let action = "Correct .azolla.toml in the repository, then: azolla trust".to_owned();
            Route::Evaluate(Err(ChecksRefused { reason: format!(".azolla.toml: {reason}"), action }))
        }
        Err(RepositoryError::Unusable { what, action }) => {
            Route::Fail(Failure { reason: what, next: AfterFailure::Block(Some(action)) })
        }
        Err(error) => return Err(error),
    })
}

fn fail_at_once(reason: impl Into<String>) -> Route {
    Route::Fail(Failure { reason: reason.into(), next: AfterFailure::Block(None) })
}

/// Looks at the evidence, and puts together what to commit. A repository that cannot be used is a FAIL; one that
/// may come back is an error.
async fn judge(ctx: &WorkerContext, case: &Case, route: Route) -> Result<Commit, WorkerError> {
    let (verdict, evidence) = match route {
        Route::Fail(failure) => (Verdict::Fail(failure), None),
        Route::Evaluate(checks) => match evidence::collect(ctx, case, checks).await {
            Ok(evidence) => {
                (patch::evaluate(&case.stored.workorder, &case.bundle, &evidence.patch), Some(evidence))
            }
            Err(error) => (Verdict::Fail(unusable(error)?), None),
        },
    };
    let published = match verdict {
        Verdict::Pass(_) => Some(publish(ctx, case).await?),
        Verdict::Fail(_) => None,
    };
    outcome::commit(ctx, case, &verdict, evidence, published).await
}

/// The FAIL of a repository that the operator has to look at; what may pass by itself stays an error.
fn unusable(error: RepositoryError) -> Result<Failure, RepositoryError> {
    match error {
        RepositoryError::Unusable { what, action } => {
            Ok(Failure { reason: what, next: AfterFailure::Block(Some(action)) })
        }
        error => Err(error),
    }
}

/// Gives the operator the branch, before the commit that says so: the pause_state tells whether it is there. It is the
/// same commit whoever publishes it, so a gate that is cut off here leaves nothing wrong behind (G-1).
async fn publish(ctx: &WorkerContext, case: &Case) -> Result<Published, RepositoryError> {
    let commit = case.bundle.metadata.more.get("commit_sha").and_then(|sha| sha.as_str()).unwrap_or_default();
    ctx.show(&case.attempt.objective_id, "publishing the branch", None);
    match ctx.repository.publish(&case.attempt, commit).await {
        // The patch passed; where it goes is for the operator to settle.
        Err(RepositoryError::Unusable { what, action }) => {
            Ok(Published::ByHand { reason: what, command: action })
        }
        published => published,
    }
}

fn committed(outcome: Result<CommitOutcome, SubstrateError>) -> Result<Gated, WorkerError> {
    match outcome {
        Ok(CommitOutcome::Held) => Ok(Gated::Held),
        // Done, or changed since it was read, or taken over, or nobody can say: look again (C-9).
        Ok(_)
        | Err(
            SubstrateError::Changed { .. }
            | SubstrateError::FenceLost { .. }
            | SubstrateError::OutcomeUnknown { .. },
        ) => Ok(Gated::Moved),
        Err(error) => Err(error.into()),
    }
}

/// A fault that may pass, before anything was claimed: a claim without an outcome is counted all the same (W-7).
async fn count_failure(
    ctx: &WorkerContext,
    resource: &ResourceRef,
    case: &Case,
    error: &RepositoryError,
) -> Result<Gated, WorkerError> {
    ctx.show(&case.attempt.objective_id, format!("waiting: {error}"), None);
    let Some(claim) = lease::acquire(ctx, resource, Actor::Gate).await? else { return Ok(Gated::Held) };
    lease::release(ctx, &claim, Release::Failed).await?;
    Ok(Gated::Failed)
}

fn is_ungated(stored: Option<&StoredWorkorder>) -> bool {
    stored.is_some_and(|stored| {
        stored.workorder.status == WorkorderStatus::Executed && stored.stream_slot.is_some()
    })
}
