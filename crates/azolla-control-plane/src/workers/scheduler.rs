//! Scheduler Worker: one event becomes one workorder, or a reason why not: TICKET_READY (PF-1 to PF-5) and CAPTURE_READY
//! (TF-1 to TF-4).

pub(super) mod patch;
mod triage;

pub use self::triage::has_schedulable_triage;

use std::time::Duration;

use azolla_protocol::{Actor, EventType, ObjectiveId, ProcessedReason, ResourceRef};
use azolla_substrate::{Commit, CommitOutcome, Release, StoredEvent, StreamRoom, SubstrateError, Write};

use crate::{
    caught::caught,
    context::{Tick, WorkerContext, WorkerError},
    flow::{Flow, PatchFlow},
    lease,
    workers::{
        CANDIDATES,
        claimed::{self, Claimed},
    },
};

/// Schedules the oldest event that can move.
pub async fn tick(ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    let mut tick = Tick::Idle;
    let (event_type, provider) = match &ctx.flow {
        Flow::Patch(flow) => (EventType::TicketReady, flow.diazotroph.provider()),
        Flow::TaskMgmt(flow) => (EventType::CaptureReady, flow.triage.provider()),
    };
    let events = ctx.read().unprocessed_events(event_type, CANDIDATES).await?;
    if events.is_empty() || !has_room(ctx).await? {
        // W-4, O-3: while there is no room, events wait unprocessed and unclaimed.
        return Ok(tick);
    }
    if let Some(wait) = ctx.ledger.waits(provider) {
        // A quota or a cap of the day: events wait the same way, and are looked at again by the clock.
        if let Some(id) = events.first().and_then(|event| ctx.flow.subject(&event.event.resource_id)) {
            ctx.show(&id, format!("waiting: {}", wait.reason), Some(wait.time));
        }
        return Ok(tick);
    }
    for event in events {
        let resource = ResourceRef::from(&event.event.event_id);
        if let Some(wait) = ctx.backs_off(&resource, event.claim_count).await? {
            tick = tick.or_wait(wait);
            continue;
        }
        let claimed = match &ctx.flow {
            Flow::Patch(flow) if event.claim_count > 0 || !ctx.backoff.knows(&resource) => {
                claimed_first(ctx, flow, &resource, &event).await?
            }
            // A triage that is held while it is looked at would lose its place to an orientation (W-4).
            _ => at_once(ctx, &resource, &event).await?,
        };
        match claimed {
            Claimed::Moved => return Ok(Tick::Advanced),
            Claimed::Stays => {}
            // Somebody else was faster, or took the last place.
            Claimed::Full => return Ok(tick),
            // C-8: on to the next candidate.
            Claimed::Held => {
                if let Some(left) = ctx.refused_for(&resource, None).await? {
                    tick = tick.or_wait(left);
                }
            }
            Claimed::Failed(error) => tick = tick.or_wait(back_off(ctx, &resource, &event, &error)),
            Claimed::Stopping => return Ok(Tick::Idle),
        }
    }
    Ok(tick)
}

/// One transaction: claim, artifacts, transition, event, release (C-1, C-4, C-5).
async fn at_once(
    ctx: &WorkerContext,
    resource: &ResourceRef,
    event: &StoredEvent,
) -> Result<Claimed, WorkerError> {
    let evaluated = ctx.unless_stopping(caught(Box::pin(evaluate(ctx, event)))).await;
    let committed = match evaluated {
        None => return Ok(Claimed::Stopping),
        Some(Ok(None)) => return Ok(Claimed::Stays),
        Some(Ok(Some(commit))) => {
            let commit = commit.claiming(resource.clone(), ctx.owner_id.clone());
            let committed = match &ctx.flow {
                Flow::Patch(_) => Some(ctx.substrate.commit(commit).await),
                Flow::TaskMgmt(_) => ctx.unless_stopping(lease::commit_claiming(ctx, commit)).await,
            };
            let Some(committed) = committed else { return Ok(Claimed::Stopping) };
            if let Err(SubstrateError::OutcomeUnknown { .. } | SubstrateError::Unavailable(_)) = committed {
                never_got_through(ctx, resource).await;
            }
            committed.map_err(WorkerError::from)
        }
        Some(Err(error)) => Err(error),
    };
    match committed {
        Ok(CommitOutcome::Done) => {
            ctx.backoff.moved(resource);
            Ok(Claimed::Moved)
        }
        Ok(CommitOutcome::Held) => Ok(Claimed::Held),
        Ok(CommitOutcome::StreamFull | CommitOutcome::ReviewLimit) => Ok(Claimed::Full),
        // What it was built on has changed since: look again.
        Err(WorkerError::Store(SubstrateError::Changed { .. })) => Ok(Claimed::Moved),
        Err(error) if error.is_of_one_resource() => {
            // A fault that may pass: the event's claim is counted as one without an outcome (W-7).
            if let Some(claim) = lease::acquire(ctx, resource, Actor::Scheduler).await? {
                lease::release(ctx, &claim, Release::Failed).await?;
            }
            Ok(Claimed::Failed(error))
        }
        Err(error) => Err(error),
    }
}

/// A commit whose answer was lost, or that the store did not take, may never get through: from here on its event is claimed first, which counts each try
/// (W-7). That of a triage, which never is, is counted here, if the store answers.
async fn never_got_through(ctx: &WorkerContext, resource: &ResourceRef) {
    ctx.backoff.never_got_through(resource);
    if let Flow::TaskMgmt(_) = ctx.flow
        && let Ok(Some(claim)) = lease::acquire(ctx, resource, Actor::Scheduler).await
    {
        let _ = lease::release(ctx, &claim, Release::Failed).await;
    }
}

/// The same under a claim that is held meanwhile.
async fn claimed_first(
    ctx: &WorkerContext,
    flow: &PatchFlow,
    resource: &ResourceRef,
    event: &StoredEvent,
) -> Result<Claimed, WorkerError> {
    let Ok(objective_id) = ObjectiveId::new(event.event.resource_id.clone()) else {
        return at_once(ctx, resource, event).await;
    };
    let work = async {
        // C-1: eligibility is read again under the claim.
        match ctx.read().event(&event.event.event_id).await? {
            Some(mut again) if !again.event.processed => {
                // Without the claim of this look.
                again.claim_count = again.claim_count.saturating_sub(1);
                patch::evaluate(ctx, flow, &again).await
            }
            _ => Ok(None),
        }
    };
    claimed::commit(ctx, resource, Actor::Scheduler, &objective_id, Box::pin(work)).await
}

/// Tells whether the work stream and the operator's desk have room for what is scheduled here.
pub(super) async fn has_room(ctx: &WorkerContext) -> Result<bool, SubstrateError> {
    let stream = ctx.read().stream().await?;
    let room = room(ctx);
    Ok(stream.open < room.max_concurrent
        && (room.review_limit == 0 || stream.open + stream.waiting < room.review_limit))
}

/// How much room there is: the work stream of a TASK_MGMT azolla is exactly one wide (W-4).
pub(crate) fn room(ctx: &WorkerContext) -> StreamRoom {
    match &ctx.flow {
        Flow::Patch(_) => ctx.settings.room,
        Flow::TaskMgmt(_) => StreamRoom { max_concurrent: 1, ..ctx.settings.room },
    }
}

/// Lets an event that failed in passing wait a little, and says so.
fn back_off(
    ctx: &WorkerContext,
    resource: &ResourceRef,
    event: &StoredEvent,
    error: &WorkerError,
) -> Duration {
    let wait = ctx.backoff.failed(resource);
    if let Some(id) = ctx.flow.subject(&event.event.resource_id) {
        ctx.show(&id, format!("waiting: {error}"), Some(wait));
    }
    wait
}

/// What one event comes to: what to commit. None if the event stays as it is.
async fn evaluate(ctx: &WorkerContext, event: &StoredEvent) -> Result<Option<Commit>, WorkerError> {
    match &ctx.flow {
        Flow::Patch(flow) => patch::evaluate(ctx, flow, event).await,
        Flow::TaskMgmt(flow) => triage::evaluate(ctx, flow, event).await,
    }
}

/// Ends an event without a workorder.
pub(super) fn processed(ctx: &WorkerContext, event: &StoredEvent, reason: ProcessedReason) -> Commit {
    let event_id = event.event.event_id.clone();
    Commit::new(ctx.commit_id(), Actor::Scheduler).with(Write::ProcessEvent { event_id, reason })
}
