//! Orientation that nobody asked for: one MANIFEST_REQUESTED per configured period (MF-1).

use azolla_protocol::{
    Actor, Event, EventId, EventType, GateResult, ProcessedReason, RunRecord, Timestamp, Validated,
    WorkOrderId,
};
use azolla_substrate::{Commit, Write};

use crate::context::{Tick, WorkerContext, WorkerError};

/// The beginning of the id of an event that a period emitted. What an operator asks for has a fresh id, without a `-`.
const PREFIX: &str = "evt-manifest-";

/// Emits the event of the period that this moment is in, unless it was emitted, by whoever: its id is that of the
/// period's first moment, so that two machines emit one. Periods that passed unseen are not made up for.
pub(super) async fn emit_due(ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    let Some(every_ms) = every_ms(ctx) else { return Ok(Tick::Idle) };
    let now = ctx.read().now().await?;
    let event_id = event_of(now.as_millisecond().div_euclid(every_ms) * every_ms)?;
    if ctx.read().event(&event_id).await?.is_some() || is_held(ctx, now).await? {
        return Ok(Tick::Idle);
    }
    let event = Event {
        event_id,
        event_type: EventType::ManifestRequested,
        resource_id: ctx.identity.azolla_id.to_string(),
        azolla_id: ctx.identity.azolla_id.clone(),
        created_at: now,
        processed: false,
        processed_reason: None,
        processed_at: None,
    };
    let write = Write::EmitEvent { event: Validated::new(event)?, entry: None };
    match ctx.substrate.commit(Commit::new(ctx.commit_id(), Actor::ManifestScheduler).with(write)).await {
        Ok(_) => Ok(Tick::Advanced),
        // Another one was first, or one that was asked for is still open.
        Err(error) if error.is_refused_by("W-1") || error.is_refused_by("W-2") => Ok(Tick::Idle),
        Err(error) => Err(error.into()),
    }
}

/// Tells whether a period's orientation that failed for `reason` did so the time before too: another one by itself
/// would only cost more (O-1).
pub(in crate::workers) async fn is_overwhelmed(
    ctx: &WorkerContext,
    event_id: &EventId,
    reason: &str,
) -> Result<bool, WorkerError> {
    let Some(stored) = ctx.read().event(event_id).await? else { return Ok(false) };
    is_same_as_before(ctx, &stored.event, reason).await
}

/// Tells whether nothing is emitted until the operator asks: the last orientation came to no workorder that could be
/// run, or the last two failed alike (O-1).
async fn is_held(ctx: &WorkerContext, now: Timestamp) -> Result<bool, WorkerError> {
    // The last by emission: what a clock ahead emitted would otherwise be the last, whatever the operator asks for.
    let Some(latest) = ctx.read().manifest_event_by(now).await? else { return Ok(false) };
    if latest.event.processed_reason == Some(ProcessedReason::Blocked) {
        // The prompt is too large, or scheduling is poison: its one action ends with the operator's request.
        return Ok(true);
    }
    let Some(failed) = failure(ctx, &latest.event.event_id).await? else { return Ok(false) };
    is_same_as_before(ctx, &latest.event, &failed.gate_reason).await
}

/// Tells whether the request before one that a period emitted failed for `reason` too, however long ago that was and
/// whoever emitted it. What the operator asked for begins a new count.
async fn is_same_as_before(ctx: &WorkerContext, event: &Event, reason: &str) -> Result<bool, WorkerError> {
    if !event.event_id.as_str().starts_with(PREFIX) {
        return Ok(false);
    }
    let Some(before) = ctx.read().manifest_event_before(event).await? else { return Ok(false) };
    let failed = failure(ctx, &before.event.event_id).await?;
    Ok(failed.is_some_and(|failed| failed.gate_reason == reason))
}

async fn failure(ctx: &WorkerContext, event_id: &EventId) -> Result<Option<RunRecord>, WorkerError> {
    let run = ctx.read().run_of(&WorkOrderId::of(event_id)).await?;
    Ok(run.filter(|run| run.gate_result == GateResult::Fail))
}

fn event_of(start_ms: i64) -> Result<EventId, WorkerError> {
    // No clock of ours is before 1970.
    EventId::new(format!("{PREFIX}{}", start_ms.max(0)))
        .map_err(|error| WorkerError::Broken(format!("a period has no event: {error}")))
}

/// The configured period; none if there is none.
fn every_ms(ctx: &WorkerContext) -> Option<i64> {
    let every = i64::try_from(ctx.settings.manifest_every?.as_millis()).ok()?;
    (every > 0).then_some(every)
}
