//! Readiness Worker: every entry of a ticket into TODO gets one TICKET_READY (PROTOCOL.md 6, W-1). No claim.

use azolla_protocol::{Actor, Event, EventId, EventType, ResourceRef, Timestamp, Validated};
use azolla_substrate::{Commit, StoredObjective, Write};

use crate::{
    context::{Tick, WorkerContext, WorkerError},
    workers::CANDIDATES,
};

/// Emits what is missing.
pub async fn tick(ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    let mut tick = Tick::Idle;
    for stored in ctx.read().objectives_awaiting_event(CANDIDATES).await? {
        let Ok(event_id) = EventId::for_entry(&stored.objective.objective_id, stored.todo_entry) else {
            // An id that came by import and is too long to have events; nothing that we make is.
            continue;
        };
        let resource = ResourceRef::from(&event_id);
        let write = ticket_ready(ctx, &stored, event_id, ctx.read().now().await?)?;
        match ctx.substrate.commit(Commit::new(ctx.commit_id(), Actor::Readiness).with(write)).await {
            Ok(_) => {
                ctx.backoff.know(&resource);
                tick = Tick::Advanced;
            }
            // Another Readiness was first: the unique key held (W-1).
            Err(error) if error.is_refused_by("W-1") => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(tick)
}

fn ticket_ready(
    ctx: &WorkerContext,
    stored: &StoredObjective,
    event_id: EventId,
    now: Timestamp,
) -> Result<Write, WorkerError> {
    let event = Event {
        event_id,
        event_type: EventType::TicketReady,
        resource_id: stored.objective.objective_id.as_str().to_owned(),
        azolla_id: ctx.identity.azolla_id.clone(),
        created_at: now,
        processed: false,
        processed_reason: None,
        processed_at: None,
    };
    Ok(Write::EmitEvent { event: Validated::new(event)?, entry: Some(stored.todo_entry) })
}
