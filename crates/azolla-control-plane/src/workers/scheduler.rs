//! Scheduler Worker: one event becomes one workorder, or a reason why not: TICKET_READY (PF-1 to PF-5) and CAPTURE_READY
//! (TF-1 to TF-4).

pub(super) mod patch;
mod triage;

pub use self::triage::has_schedulable_triage;

use std::time::Duration;

use azolla_protocol::{Actor, EventType, ProcessedReason, ResourceRef};
use azolla_substrate::{Commit, CommitOutcome, Release, StoredEvent, StreamRoom, SubstrateError, Write};

use crate::{
    context::{Tick, WorkerContext, WorkerError},
    flow::Flow,
    lease,
    workers::CANDIDATES,
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
        if let Some(wait) = ctx.backoff.wait(&resource) {
            tick = tick.or_wait(wait);
            continue;
        }
        let Some(evaluated) = ctx.unless_stopping(evaluate(ctx, &event)).await else { return Ok(Tick::Idle) };
        let commit = match evaluated {
            Ok(Some(commit)) => commit.claiming(resource.clone(), ctx.owner_id.clone()),
            Ok(None) => continue,
            Err(error) if error.is_of_one_resource() => {
                tick = tick.or_wait(give_up_for_now(ctx, &event, &error).await?);
                continue;
            }
            Err(error) => return Err(error),
        };
        // One transaction: claim, artifacts, transition, event, release (C-1, C-4, C-5).
        match ctx.substrate.commit(commit).await {
            Ok(CommitOutcome::Done) => {
                ctx.backoff.moved(&resource);
                return Ok(Tick::Advanced);
            }
            // C-8: on to the next candidate.
            Ok(CommitOutcome::Held) => {
                if let Some(left) = ctx.held_for(&resource, None).await? {
                    tick = tick.or_wait(left);
                }
            }
            // Somebody else was faster, or took the last place.
            Ok(CommitOutcome::StreamFull | CommitOutcome::ReviewLimit) => return Ok(tick),
            // What it was built on has changed since: look again.
            Err(SubstrateError::Changed { .. }) => return Ok(Tick::Advanced),
            Err(error) => {
                let error = WorkerError::from(error);
                if !error.is_of_one_resource() {
                    return Err(error);
                }
                tick = tick.or_wait(give_up_for_now(ctx, &event, &error).await?);
            }
        }
    }
    Ok(tick)
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

/// A fault that may pass: the event's claim is counted as one without an outcome (W-7), and it waits a little.
pub(super) async fn give_up_for_now(
    ctx: &WorkerContext,
    event: &StoredEvent,
    error: &WorkerError,
) -> Result<Duration, WorkerError> {
    let resource = ResourceRef::from(&event.event.event_id);
    if let Some(claim) = lease::acquire(ctx, &resource, Actor::Scheduler).await? {
        lease::release(ctx, &claim, Release::Failed).await?;
    }
    let wait = ctx.backoff.failed(&resource);
    if let Some(id) = ctx.flow.subject(&event.event.resource_id) {
        ctx.show(&id, format!("waiting: {error}"), Some(wait));
    }
    Ok(wait)
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
