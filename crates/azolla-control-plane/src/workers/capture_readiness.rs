//! Capture Readiness Worker: every PENDING capture with attempts left gets one CAPTURE_READY (PROTOCOL.md 6, W-2). No
//! claim.

use azolla_protocol::{Actor, CaptureId, Event, EventId, EventType, Validated};
use azolla_substrate::{Commit, Write};

use crate::context::{Tick, WorkerContext, WorkerError};

/// How many captures a tick emits for; the next tick goes on.
const CAPTURES: u64 = 50;

/// Emits what is missing. A capture whose event cannot be stored does not stop the ones behind it (W-3).
pub async fn tick(ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    let mut tick = Tick::Idle;
    let mut fault = None;
    for (capture_id, entry) in ctx.read().captures_awaiting_event(ctx.settings.attempts_max, CAPTURES).await?
    {
        match emit(ctx, &capture_id, entry).await {
            Ok(true) => tick = Tick::Advanced,
            Ok(false) => {}
            Err(error) if error.is_of_one_resource() => fault = fault.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match fault {
        Some(fault) if tick == Tick::Idle => Err(fault),
        _ => Ok(tick),
    }
}

/// Emits one event; false if there is nothing to emit.
async fn emit(ctx: &WorkerContext, capture_id: &CaptureId, entry: u64) -> Result<bool, WorkerError> {
    let Ok(event_id) = EventId::for_attempt(capture_id, entry) else {
        // An id that came by import and is too long to have events; nothing that we make is.
        return Ok(false);
    };
    let event = Event {
        event_id,
        event_type: EventType::CaptureReady,
        resource_id: capture_id.as_str().to_owned(),
        azolla_id: ctx.identity.azolla_id.clone(),
        created_at: ctx.read().now().await?,
        processed: false,
        processed_reason: None,
        processed_at: None,
    };
    let write = Write::EmitEvent { event: Validated::new(event)?, entry: Some(entry) };
    match ctx.substrate.commit(Commit::new(ctx.commit_id(), Actor::CaptureReadiness).with(write)).await {
        Ok(_) => Ok(true),
        // Another one was first: the unique keys held.
        Err(error) if error.is_refused_by("W-1") || error.is_refused_by("W-2") => Ok(false),
        Err(error) => Err(error.into()),
    }
}
