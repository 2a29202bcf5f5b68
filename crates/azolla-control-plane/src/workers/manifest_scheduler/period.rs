//! Orientation that nobody asked for: one MANIFEST_REQUESTED per configured period (MF-1).

use azolla_protocol::{Actor, Event, EventId, EventType, GateResult, RunRecord, Validated, WorkOrderId};
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
    if ctx.read().event(&event_id).await?.is_some() || is_held(ctx, every_ms).await? {
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

/// Tells whether a period's orientation that failed for `reason` did so the period before too: another one by itself
/// would only cost more (O-1).
pub(in crate::workers) async fn is_overwhelmed(
    ctx: &WorkerContext,
    event_id: &EventId,
    reason: &str,
) -> Result<bool, WorkerError> {
    let Some(every_ms) = every_ms(ctx) else { return Ok(false) };
    Ok(failure_before(ctx, event_id, every_ms).await?.is_some_and(|before| before.gate_reason == reason))
}

/// Tells whether nothing is emitted until the operator asks: the last two periods failed alike (O-1).
async fn is_held(ctx: &WorkerContext, every_ms: i64) -> Result<bool, WorkerError> {
    let Some(latest) = ctx.read().latest_manifest_event().await? else { return Ok(false) };
    let latest = latest.event.event_id;
    let Some(failed) = failure(ctx, &latest).await? else { return Ok(false) };
    let before = failure_before(ctx, &latest, every_ms).await?;
    Ok(before.is_some_and(|before| before.gate_reason == failed.gate_reason))
}

/// Returns the FAIL of the period before that of `event_id`; none if that is no period's.
async fn failure_before(
    ctx: &WorkerContext,
    event_id: &EventId,
    every_ms: i64,
) -> Result<Option<RunRecord>, WorkerError> {
    let Some(start) = event_id.as_str().strip_prefix(PREFIX).and_then(|start| start.parse::<i64>().ok())
    else {
        return Ok(None);
    };
    failure(ctx, &event_of(start - every_ms)?).await
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
