//! Capture Readiness Worker: every PENDING capture with attempts left gets one CAPTURE_READY (PROTOCOL.md 6, W-2). No
//! claim.

use azolla_protocol::{Actor, CaptureId, EventId, EventType};

use crate::{
    context::{Tick, WorkerContext, WorkerError},
    workers::emit,
};

/// How many captures a tick emits for; the next tick goes on.
const CAPTURES: u64 = 50;

/// Emits what is missing. A capture whose event cannot be stored does not stop the ones behind it (W-3).
pub async fn tick(ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    let mut tick = Tick::Idle;
    let mut fault = None;
    for (capture_id, entry) in ctx.read().captures_awaiting_event(ctx.settings.attempts_max, CAPTURES).await?
    {
        match emit_for(ctx, &capture_id, entry).await {
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
async fn emit_for(ctx: &WorkerContext, capture_id: &CaptureId, entry: u64) -> Result<bool, WorkerError> {
    let Ok(event_id) = EventId::for_attempt(capture_id, entry) else {
        // An id that came by import and is too long to have events; nothing that we make is.
        return Ok(false);
    };
    let about = (EventType::CaptureReady, capture_id.as_str());
    emit(ctx, Actor::CaptureReadiness, event_id, about, entry).await
}
