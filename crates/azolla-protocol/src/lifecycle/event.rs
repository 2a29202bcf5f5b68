//! The one change of an event: unprocessed to processed, once, with its reason and time (W-6).

use super::AlreadyDone;
use crate::{ArtifactKind, Event, ProcessedReason, Timestamp};

/// Returns the event as processed, or refuses one that already is.
pub fn process(event: Event, reason: ProcessedReason, at: Timestamp) -> Result<Event, AlreadyDone> {
    if event.processed {
        return Err(AlreadyDone {
            artifact: ArtifactKind::Event,
            status: "processed",
            step: "process",
            needs: "an unprocessed one",
        });
    }
    Ok(Event { processed: true, processed_reason: Some(reason), processed_at: Some(at), ..event })
}
