//! Capture Readiness Worker: every PENDING capture with attempts left gets one CAPTURE_READY (PROTOCOL.md 6, W-2). No
//! claim.

use azolla_protocol::{Actor, Event, EventId, EventType, Validated};
use azolla_substrate::{Commit, Write};

use crate::context::{Tick, WorkerContext, WorkerError};

/// How many captures a tick emits for: they come with their texts, and the next tick goes on.
const CAPTURES: u64 = 50;

/// Emits what is missing.
pub async fn tick(ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    let mut tick = Tick::Idle;
    for (stored, entry) in ctx.read().captures_awaiting_event(ctx.settings.attempts_max, CAPTURES).await? {
        let Ok(event_id) = EventId::for_attempt(&stored.capture.capture_id, entry) else {
            // An id that came by import and is too long to have events; nothing that we make is.
            continue;
        };
        let event = Event {
            event_id,
            event_type: EventType::CaptureReady,
            resource_id: stored.capture.capture_id.as_str().to_owned(),
            azolla_id: ctx.identity.azolla_id.clone(),
            created_at: ctx.read().now().await?,
            processed: false,
            processed_reason: None,
            processed_at: None,
        };
        let write = Write::EmitEvent { event: Validated::new(event)?, entry: Some(entry) };
        let commit = Commit::new(ctx.commit_id(), Actor::CaptureReadiness).with(write);
        match ctx.substrate.commit(commit).await {
            Ok(_) => tick = Tick::Advanced,
            // Another one was first: the unique keys held.
            Err(error) if error.is_refused_by("W-1") || error.is_refused_by("W-2") => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(tick)
}
