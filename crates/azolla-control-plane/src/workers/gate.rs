//! Gate Worker: one EXECUTED workorder gets its one run_record, what follows from it, and its pause_state (PF-7 and PF-8,
//! TF-6 and TF-7, MF-6 and MF-7).

mod manifest;
mod patch;
mod triage;

use std::time::Duration;

use azolla_protocol::{Actor, DiazotrophType, ResourceRef, WorkOrderId, WorkerRole, WorkorderStatus};
use azolla_substrate::{Commit, CommitOutcome, Release, StoredWorkorder, SubstrateError};

use crate::{
    caught::caught,
    context::{Tick, WorkerContext, WorkerError},
    flow::{Flow, TaskMgmtFlow},
    lease,
    workers::{
        CANDIDATES,
        claimed::{self, Claimed},
    },
};

/// How often branches are looked for that nobody lived to take away, besides once at the start.
const BRANCHES_EVERY: Duration = Duration::from_secs(600);

/// Gates the oldest executed workorder that can be claimed.
pub async fn tick(ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    let mut tick = Tick::Idle;
    for stored in ctx.read().ungated_workorders(CANDIDATES).await? {
        let resource = ResourceRef::from(&stored.workorder.work_order_id);
        let objective_id = stored.workorder.objective_id.clone();
        // A cancel ends it without a look at what failed (S-m).
        if let Some(wait) = ctx.backs_off(&resource, stored.claim_count).await?
            && !(ctx.may_end_at_once(stored.claim_count) && lease::is_cancelled(ctx, &objective_id).await)
        {
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
                if let Some(left) = ctx.refused_for(&resource, Some(&objective_id)).await? {
                    tick = tick.or_wait(left);
                }
            }
        }
    }
    if let Flow::Patch(flow) = &ctx.flow
        && tick == Tick::Idle
        && ctx.backoff.is_due(WorkerRole::Gate, BRANCHES_EVERY)
    {
        ctx.backoff.looked(WorkerRole::Gate);
        patch::clear(ctx, flow).await;
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

async fn gate(
    ctx: &WorkerContext,
    resource: &ResourceRef,
    stored: StoredWorkorder,
) -> Result<Gated, WorkerError> {
    // Somebody may have died of it, or has failed with it (W-7).
    let claim_first = stored.claim_count > 0 || !ctx.backoff.knows(resource);
    match &ctx.flow {
        Flow::Patch(flow) if claim_first => patch::gate_claimed(ctx, flow, resource, stored).await,
        Flow::Patch(flow) => patch::gate(ctx, flow, resource, stored).await,
        Flow::TaskMgmt(flow) if claim_first => {
            let subject = stored.workorder.objective_id.clone();
            let work = Box::pin(async {
                match ungated_again(ctx, &stored.workorder.work_order_id).await? {
                    Some(again) => evaluate(ctx, flow, again).await.map(Some),
                    None => Ok(None),
                }
            });
            Ok(match claimed::commit(ctx, resource, Actor::Gate, &subject, work).await? {
                Claimed::Moved | Claimed::Stays | Claimed::Full => Gated::Moved,
                Claimed::Held => Gated::Held,
                Claimed::Failed(error) => {
                    ctx.show(&subject, format!("waiting: {error}"), None);
                    Gated::Failed
                }
                Claimed::Stopping => Gated::Stopping,
            })
        }
        // Nothing to look at but what is stored: load, then claim, commit and release in one transaction.
        Flow::TaskMgmt(flow) => match caught(Box::pin(evaluate(ctx, flow, stored))).await {
            Ok(commit) => {
                let commit = commit.claiming(resource.clone(), ctx.owner_id.clone());
                judged(ctx, resource, ctx.substrate.commit(commit).await).await
            }
            Err(error) if error.is_of_one_resource() => count_failure(ctx, resource, &error).await,
            Err(error) => Err(error),
        },
    }
}

/// Reads a workorder again under a claim, which its count is without: none if it no longer waits for its gate (C-1).
async fn ungated_again(
    ctx: &WorkerContext,
    id: &WorkOrderId,
) -> Result<Option<StoredWorkorder>, SubstrateError> {
    let again = ctx.read().workorder(id).await?;
    Ok(again.filter(waits).map(|mut again| {
        again.claim_count = again.claim_count.saturating_sub(1);
        again
    }))
}

/// Tells whether a workorder waits for its gate: it is executed, and has its place in the stream until it is gated.
fn waits(stored: &StoredWorkorder) -> bool {
    stored.workorder.status == WorkorderStatus::Executed && stored.stream_slot.is_some()
}

async fn evaluate(
    ctx: &WorkerContext,
    flow: &TaskMgmtFlow,
    stored: StoredWorkorder,
) -> Result<Commit, WorkerError> {
    match stored.workorder.diazotroph_type {
        DiazotrophType::Triage => triage::evaluate(ctx, stored).await,
        DiazotrophType::ManifestBuilder => manifest::evaluate(ctx, flow, stored).await,
        DiazotrophType::Patch => {
            Err(WorkerError::Broken(format!("{} is no work of this azolla", stored.workorder.work_order_id)))
        }
    }
}

/// What became of a commit that claimed for itself.
async fn judged(
    ctx: &WorkerContext,
    resource: &ResourceRef,
    outcome: Result<CommitOutcome, SubstrateError>,
) -> Result<Gated, WorkerError> {
    match outcome {
        Ok(CommitOutcome::Held) => Ok(Gated::Held),
        // Done, or changed since it was read, or nobody can say: look again (C-9).
        Ok(_) | Err(SubstrateError::Changed { .. } | SubstrateError::OutcomeUnknown { .. }) => {
            Ok(Gated::Moved)
        }
        Err(error) => {
            if let SubstrateError::Unavailable(_) = error {
                ctx.backoff.never_got_through(resource);
            }
            let error = WorkerError::from(error);
            if error.is_of_one_resource() { count_failure(ctx, resource, &error).await } else { Err(error) }
        }
    }
}

/// A fault that may pass, before anything was claimed: a claim without an outcome is counted all the same (W-7).
async fn count_failure(
    ctx: &WorkerContext,
    resource: &ResourceRef,
    error: &WorkerError,
) -> Result<Gated, WorkerError> {
    let Some(claim) = lease::acquire(ctx, resource, Actor::Gate).await? else { return Ok(Gated::Held) };
    lease::release(ctx, &claim, Release::Failed).await?;
    let id = WorkOrderId::new(resource.resource_id.as_str());
    if let Ok(id) = id
        && let Some(stored) = ctx.read().workorder(&id).await?
    {
        ctx.show(&stored.workorder.objective_id, format!("waiting: {error}"), None);
    }
    Ok(Gated::Failed)
}

#[cfg(test)]
mod tests;
