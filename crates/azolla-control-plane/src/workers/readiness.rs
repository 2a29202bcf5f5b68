//! Readiness Worker: every entry of a ticket into TODO gets one TICKET_READY (PROTOCOL.md 6, W-1). No claim.

use azolla_protocol::{Actor, EventId, EventType, ResourceRef};
use azolla_substrate::{StoredObjective, SubstrateError};

use crate::{
    context::{Tick, WorkerContext, WorkerError},
    workers::{CANDIDATES, emit},
};

/// Emits what is missing. What is wrong with one objective does not keep the others from their events (W-3).
pub async fn tick(ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    let mut tick = Tick::Idle;
    let mut fault = None;
    for stored in ctx.read().objectives_awaiting_event(CANDIDATES).await? {
        match emit_for(ctx, stored).await {
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
async fn emit_for(
    ctx: &WorkerContext,
    stored: Result<StoredObjective, SubstrateError>,
) -> Result<bool, WorkerError> {
    let StoredObjective { objective, todo_entry, .. } = stored?;
    let Ok(event_id) = EventId::for_entry(&objective.objective_id, todo_entry) else {
        // An id that came by import and is too long to have events; nothing that we make is.
        return Ok(false);
    };
    let resource = ResourceRef::from(&event_id);
    let about = (EventType::TicketReady, objective.objective_id.as_str());
    let emitted = emit(ctx, Actor::Readiness, event_id, about, todo_entry).await?;
    if emitted {
        ctx.backoff.know(&resource);
    }
    Ok(emitted)
}
