//! The gate of a patch: rebuilt, checked, recorded, published (PF-7, PF-8).

mod evidence;
mod outcome;

use azolla_exchange_membrane::gates::patch::{self, AfterFailure, ChecksRefused, Failure, Verdict};
use azolla_protocol::{Actor, ObjectiveId, ObjectiveStatus, OutputBundle, ResourceRef, RunnerStatus};
use azolla_substrate::{Commit, CommitOutcome, Release, StoredObjective, StoredWorkorder, SubstrateError};

use self::evidence::Evidence;
use super::{Gated, count_failure, judged, ungated_again};
use crate::{
    caught::caught,
    checks::Check,
    context::{RepositoryFile, WorkerContext, WorkerError},
    flow::PatchFlow,
    lease::{self, Claim, Held},
    pause::patch::then_retry,
    repo::{Attempt, Published, RepositoryError, Tried},
    snapshot::patch as patch_snapshot,
    verify::left_branch,
    workers::{claimed, repository_file},
};

/// Everything about a workorder that its gate reads.
struct Case<'a> {
    flow: &'a PatchFlow,
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

/// Gates one patch.
pub(super) async fn gate(
    ctx: &WorkerContext,
    flow: &PatchFlow,
    resource: &ResourceRef,
    stored: StoredWorkorder,
) -> Result<Gated, WorkerError> {
    let short = caught(Box::pin(without_claim(ctx, flow, resource, stored)));
    let (case, route) = match ctx.unless_stopping(short).await {
        None => return Ok(Gated::Stopping),
        Some(Ok(Short::Committed(case, passes, outcome))) => {
            let is_recorded = matches!(outcome, Ok(CommitOutcome::Done));
            let gated = judged(ctx, resource, outcome).await;
            if !(passes && is_recorded) {
                let settled = settle(ctx, &case).await;
                // What failed is counted and waits, whatever else does.
                settled
                    .or_else(|error| if matches!(gated, Ok(Gated::Failed)) { Ok(()) } else { Err(error) })?;
            }
            return gated;
        }
        Some(Ok(Short::HasChecks(case, route))) => (case, route),
        Some(Err(error)) if error.is_of_one_resource() => return count_failure(ctx, resource, &error).await,
        Some(Err(error)) => return Err(error),
    };
    let Some(claim) = lease::acquire(ctx, resource, Actor::Gate).await? else { return Ok(Gated::Held) };
    gate_under(ctx, &claim, *case, route).await
}

/// Gates one that this process has not made itself: claimed before it is looked at (W-7).
pub(super) async fn gate_claimed(
    ctx: &WorkerContext,
    flow: &PatchFlow,
    resource: &ResourceRef,
    stored: StoredWorkorder,
) -> Result<Gated, WorkerError> {
    let Some(claim) = lease::acquire(ctx, resource, Actor::Gate).await? else { return Ok(Gated::Held) };
    let objective_id = stored.workorder.objective_id;
    let work = async {
        let Some(again) = ungated_again(ctx, &stored.workorder.work_order_id).await? else { return Ok(None) };
        let case = load(ctx, flow, again).await?;
        let route = route(ctx, &case).await?;
        Ok(Some((case, route)))
    };
    let gated = match lease::hold(ctx, &claim, &objective_id, caught(Box::pin(work))).await {
        Held::Done(Ok(Some((case, route)))) => return gate_under(ctx, &claim, case, route).await,
        Held::Done(Err(error)) => {
            return give_up_for_now(ctx, &claim, &objective_id, error, Release::Unused).await;
        }
        Held::Done(Ok(None)) | Held::Cancelled => Gated::Moved,
        Held::Stopping => Gated::Stopping,
        Held::Lost => return Ok(Gated::Moved),
    };
    lease::release(ctx, &claim, Release::Unused).await?;
    Ok(gated)
}

/// Gates one under a claim, and settles its branch.
async fn gate_under(
    ctx: &WorkerContext,
    claim: &Claim,
    mut case: Case<'_>,
    route: Route,
) -> Result<Gated, WorkerError> {
    match under_claim(ctx, claim, &mut case, route).await {
        Ok(None) => Ok(Gated::Moved),
        // Whoever gates it next settles the branch.
        Ok(Some(Gated::Stopping)) => Ok(Gated::Stopping),
        otherwise => {
            let settled = settle(ctx, &case).await;
            let gated = otherwise?.unwrap_or(Gated::Moved);
            // What failed is counted and waits, whatever else does.
            settled.or_else(|error| if matches!(gated, Gated::Failed) { Ok(()) } else { Err(error) })?;
            Ok(gated)
        }
    }
}

/// What there was to do without holding a claim.
enum Short<'a> {
    /// All of it: whether it is a PASS, and what came of its record.
    Committed(Box<Case<'a>>, bool, Result<CommitOutcome, SubstrateError>),
    /// Checks come first, and those take long.
    HasChecks(Box<Case<'a>>, Route),
}

/// Short work is loaded first: claim, commit and release are one transaction.
async fn without_claim<'a>(
    ctx: &WorkerContext,
    flow: &'a PatchFlow,
    resource: &ResourceRef,
    stored: StoredWorkorder,
) -> Result<Short<'a>, WorkerError> {
    let case = load(ctx, flow, stored).await?;
    let route = route(ctx, &case).await?;
    if matches!(&route, Route::Evaluate(Ok(checks)) if !checks.is_empty()) {
        return Ok(Short::HasChecks(Box::new(case), route));
    }
    let found = judge(ctx, &case, route).await?;
    let Conclusion { commit, passes } = conclude(ctx, &case, &found).await?;
    let commit = commit.claiming(resource.clone(), ctx.owner_id.clone());
    let outcome = ctx.substrate.commit(commit).await;
    Ok(Short::Committed(Box::new(case), passes, outcome))
}

/// What takes long, or may end in a death, happens under a claim that is held meanwhile. None is a PASS that is recorded.
async fn under_claim(
    ctx: &WorkerContext,
    claim: &Claim,
    case: &mut Case<'_>,
    route: Route,
) -> Result<Option<Gated>, WorkerError> {
    let id = case.attempt.objective_id.clone();
    // C-1: eligibility is read again under the claim.
    match ungated_again(ctx, &case.stored.workorder.work_order_id).await {
        Ok(Some(_)) => {}
        Ok(None) => {
            lease::release(ctx, claim, Release::Unused).await?;
            return Ok(Some(Gated::Moved));
        }
        Err(error) => {
            return give_up_for_now(ctx, claim, &id, error.into(), Release::Unused).await.map(Some);
        }
    }
    // G-1: files are named by the claim, so that a gate that was paused and its successor share none.
    case.attempt.claim_version = claim.grant.fence.claim_version;
    let case = &*case;
    let work = async {
        let found = judge(ctx, case, route).await?;
        let conclusion = conclude(ctx, case, &found).await?;
        Ok((found, conclusion))
    };
    let work = caught(Box::pin(work));
    let (found, mut conclusion) = match lease::hold(ctx, claim, &id, work).await {
        Held::Done(Ok(done)) => done,
        Held::Done(Err(error)) => {
            return give_up_for_now(ctx, claim, &id, error, Release::Unused).await.map(Some);
        }
        // The checks were ended; the next look finds the request and writes the FAIL (S-m).
        Held::Cancelled => {
            lease::release(ctx, claim, Release::Unused).await?;
            return Ok(Some(Gated::Moved));
        }
        Held::Stopping => {
            lease::release(ctx, claim, Release::Unused).await?;
            return Ok(Some(Gated::Stopping));
        }
        Held::Lost => return Ok(Some(Gated::Moved)),
    };
    loop {
        match lease::commit(ctx, claim, conclusion.commit).await {
            // The operator wrote meanwhile: what was found out still holds, only where it leads is looked at again.
            Err(SubstrateError::Changed { .. }) => {
                match caught(Box::pin(conclude(ctx, case, &found))).await {
                    Ok(again) => conclusion = again,
                    Err(error) => {
                        return give_up_for_now(ctx, claim, &id, error, Release::Unused).await.map(Some);
                    }
                }
            }
            Ok(_) if conclusion.passes => return Ok(None),
            // A FAIL, or taken over, or nobody can say: whoever looks next finds out (C-9).
            Ok(_) | Err(SubstrateError::FenceLost { .. } | SubstrateError::OutcomeUnknown { .. }) => {
                return Ok(Some(Gated::Moved));
            }
            Err(error) => {
                return give_up_for_now(ctx, claim, &id, error.into(), Release::Failed).await.map(Some);
            }
        }
    }
}

/// A fault of this one resource is counted and waits; any other ends the tick.
async fn give_up_for_now(
    ctx: &WorkerContext,
    claim: &Claim,
    objective_id: &ObjectiveId,
    error: WorkerError,
    otherwise: Release,
) -> Result<Gated, WorkerError> {
    let error = claimed::failed(ctx, claim, error, otherwise).await?;
    ctx.show(objective_id, format!("waiting: {error}"), None);
    Ok(Gated::Failed)
}

async fn load<'a>(
    ctx: &WorkerContext,
    flow: &'a PatchFlow,
    stored: StoredWorkorder,
) -> Result<Case<'a>, WorkerError> {
    let id = &stored.workorder.work_order_id;
    let missing = |what: &str| WorkerError::Broken(format!("{id} has no {what}"));
    let bundle = ctx.read().output_of(id).await?.ok_or_else(|| missing("output_bundle"))?;
    let objective = ctx.read().objective(&stored.workorder.objective_id).await?;
    let objective = objective.ok_or_else(|| missing("objective"))?;
    let snapshot = ctx.read().context_snapshot(&stored.workorder.context_snapshot_id).await?;
    let snapshot = snapshot.ok_or_else(|| missing("context_snapshot"))?;
    let attempt = patch_snapshot::attempt(&stored.workorder, &snapshot, &bundle.title);
    let attempt = attempt.ok_or_else(|| missing("base commit"))?;
    let base_branch = patch_snapshot::base_branch(&snapshot).to_owned();
    Ok(Case { flow, bundle, objective, attempt, base_branch, stored })
}

async fn route(ctx: &WorkerContext, case: &Case<'_>) -> Result<Route, WorkerError> {
    if is_cancelled(&case.objective) {
        return Ok(Route::Fail(cancelled()));
    }
    if case.stored.claim_count >= ctx.settings.claims_without_outcome_max {
        let reason = format!("{} gate runs ended without a result", case.stored.claim_count);
        return Ok(Route::Fail(Failure { reason, next: AfterFailure::Block(None) }));
    }
    if case.bundle.metadata.runner_status != RunnerStatus::Completed {
        return Ok(Route::Evaluate(Ok(Vec::new())));
    }
    if !ctx.settings.checks.is_empty() {
        return Ok(Route::Evaluate(Ok(ctx.settings.checks.clone())));
    }
    // The repository's own checks, from the base commit and only if they are pinned (R13).
    Ok(match repository_file(case.flow, &case.attempt.base, &case.base_branch).await {
        Ok(None) => Route::Evaluate(Ok(Vec::new())),
        Ok(Some(RepositoryFile::Trusted(settings))) => Route::Evaluate(Ok(settings.checks)),
        Ok(Some(RepositoryFile::Untrusted { action })) => {
            let reason =
                "the repository's .azolla.toml is not trusted, so its checks were not run".to_owned();
            let action = then_retry(&action, &case.attempt.objective_id);
            Route::Evaluate(Err(ChecksRefused { reason, action }))
        }
        Ok(Some(RepositoryFile::Invalid { reason })) => {
            let action = "Correct .azolla.toml in the repository and trust it again".to_owned();
            let action = then_retry(&action, &case.attempt.objective_id);
            Route::Evaluate(Err(ChecksRefused { reason: format!(".azolla.toml: {reason}"), action }))
        }
        Err(error) => Route::Fail(unusable(case, error)?),
    })
}

/// What the gate found out: all that its verdict rests on.
struct Found {
    verdict: Verdict,
    evidence: Option<Evidence>,
}

/// Looks at everything and gives the verdict. A repository that cannot be used is a FAIL; one that may come back is an
/// error.
async fn judge(ctx: &WorkerContext, case: &Case<'_>, route: Route) -> Result<Found, WorkerError> {
    let (verdict, evidence) = match route {
        Route::Fail(failure) => (Verdict::Fail(failure), None),
        Route::Evaluate(checks) => match evidence::collect(ctx, case, checks).await {
            Ok(evidence) => {
                (patch::evaluate(&case.stored.workorder, &case.bundle, &evidence.patch), Some(evidence))
            }
            Err(error) => (Verdict::Fail(unusable(case, error)?), None),
        },
    };
    Ok(Found { verdict, evidence })
}

/// What to record.
struct Conclusion {
    commit: Commit,
    passes: bool,
}

/// Puts together what to commit, for the objective as it is now. On PASS the branch is published first: the pause_state
/// tells whether it is there. A cancel that came in meanwhile is a FAIL, and publishes nothing.
async fn conclude(ctx: &WorkerContext, case: &Case<'_>, found: &Found) -> Result<Conclusion, WorkerError> {
    let objective = ctx.read().objective(&case.attempt.objective_id).await?;
    let objective = objective.ok_or_else(|| WorkerError::Broken("the objective is gone".to_owned()))?;
    let cancelled = Verdict::Fail(cancelled());
    let (verdict, evidence) = match is_cancelled(&objective) {
        true => (&cancelled, None),
        false => (&found.verdict, found.evidence.as_ref()),
    };
    let passes = !matches!(verdict, Verdict::Fail(_));
    // Before anything leaves this program: what cannot be recorded is not published either.
    let commit = outcome::commit(ctx, case, &objective, verdict, evidence, &Published::Done).await?;
    // What somebody else gated meanwhile is settled: the commit will be refused.
    if !passes || !is_under_way(case, &objective) {
        return Ok(Conclusion { commit, passes });
    }
    let commit = match publish(ctx, case).await? {
        Published::Done => commit,
        by_hand => outcome::commit(ctx, case, &objective, verdict, evidence, &by_hand).await?,
    };
    Ok(Conclusion { commit, passes })
}

/// The FAIL of a repository that the operator has to look at; what may pass by itself stays an error.
fn unusable(case: &Case<'_>, error: RepositoryError) -> Result<Failure, RepositoryError> {
    match error {
        RepositoryError::Unusable { what, action } => Ok(Failure {
            reason: what,
            next: AfterFailure::Block(Some(then_retry(&action, &case.attempt.objective_id))),
        }),
        error => Err(error),
    }
}

/// Gives the operator the branch. It is the same commit whoever publishes it (G-1). The patch passed: whatever keeps it
/// from going there is for the operator to settle, unless our own mirror cannot be put right: then it is gated again.
async fn publish(ctx: &WorkerContext, case: &Case<'_>) -> Result<Published, WorkerError> {
    let commit = commit_of(&case.bundle).unwrap_or_default();
    ctx.show(&case.attempt.objective_id, "publishing the branch", None);
    let earlier = match case.attempt.entry() {
        1 => Vec::new(),
        _ => case.attempt.earlier(ctx.read().runs_of(&case.attempt.objective_id).await?),
    };
    match case.flow.repository.publish(&case.attempt, commit, &earlier).await {
        Err(RepositoryError::Unusable { what, action }) => {
            Ok(Published::ByHand { reason: what, command: action })
        }
        published => Ok(published?),
    }
}

/// What did not pass is not left with the operator: a gate that passed the patch may have published it and been cut off or
/// overtaken before its record, and whoever recorded the FAIL cut off before this, also in an earlier attempt. Only what is
/// recorded counts, so that nobody who is late takes away what passed.
async fn settle(ctx: &WorkerContext, case: &Case<'_>) -> Result<(), WorkerError> {
    let id = &case.attempt.objective_id;
    let tried = Tried::of(ctx.read().runs_of(id).await?);
    if !tried.failed.is_empty() {
        withdraw(ctx, case.flow, id, &tried).await;
    }
    Ok(())
}

/// Takes the branches away of what failed: who gated it last died right after its FAIL, or published it late and died of that,
/// and no attempt came after it. What does not answer is asked the next time. A step that has begun is ended also when the
/// process is asked to stop: it looks again at what the operator has checked out (G-2).
pub(super) async fn clear(ctx: &WorkerContext, flow: &PatchFlow) {
    let Some(Ok(branches)) = ctx.unless_stopping(flow.repository.branches()).await else { return };
    for (id, commit) in branches {
        if *ctx.stopping.borrow() {
            return;
        }
        match left_branch(ctx.read(), id, commit).await {
            Ok(Some(left)) => withdraw(ctx, flow, &left.objective_id, &left.tried).await,
            Err(SubstrateError::Unavailable(_)) => return,
            // One row that cannot be read is no reason to leave the others (W-3).
            Ok(None) | Err(_) => {}
        }
    }
}

async fn withdraw(ctx: &WorkerContext, flow: &PatchFlow, id: &ObjectiveId, tried: &Tried) {
    match flow.repository.withdraw(id, &tried.failed, &tried.passed).await {
        Ok(true) => ctx.show(id, "the branch of a failed patch is taken away", None),
        Ok(false) => {}
        Err(error) => ctx.show(id, format!("the branch of a failed patch may be left: {error}"), None),
    }
}

/// Tells whether an objective still waits for what becomes of this workorder.
fn is_under_way(case: &Case<'_>, objective: &StoredObjective) -> bool {
    objective.objective.status == ObjectiveStatus::InProgress && objective.todo_entry == case.attempt.entry()
}

fn commit_of(bundle: &OutputBundle) -> Option<&str> {
    bundle.metadata.more.get("commit_sha").and_then(|sha| sha.as_str())
}

fn is_cancelled(objective: &StoredObjective) -> bool {
    objective.objective.metadata.contains_key("cancel")
}

fn cancelled() -> Failure {
    Failure { reason: "the operator cancelled the run".to_owned(), next: AfterFailure::Block(None) }
}
