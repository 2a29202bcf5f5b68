//! `event`: something is ready for a scheduler.

use serde::{Deserialize, Serialize};

use crate::names::named_enum;
use crate::{AzollaId, EventId, Timestamp};

/// A durable signal, processed exactly once (W-6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Its id.
    pub event_id: EventId,
    /// What is ready.
    #[serde(rename = "type")]
    pub event_type: EventType,
    /// The objective, the capture or the azolla that is ready, by type.
    pub resource_id: String,
    /// The azolla that stores it.
    pub azolla_id: AzollaId,
    /// When it was emitted.
    pub created_at: Timestamp,
    /// Whether a scheduler is done with it.
    pub processed: bool,
    /// With what outcome; null while unprocessed.
    #[serde(default)]
    pub processed_reason: Option<ProcessedReason>,
    /// When; null while unprocessed.
    #[serde(default)]
    pub processed_at: Option<Timestamp>,
}

named_enum! {
    /// What an event says is ready.
    pub enum EventType {
        /// An objective entered TODO; `resource_id` is its id.
        TicketReady = "TICKET_READY",
        /// A capture waits for triage; `resource_id` is its id.
        CaptureReady = "CAPTURE_READY",
        /// A manifest was asked for; `resource_id` is the azolla's id.
        ManifestRequested = "MANIFEST_REQUESTED",
    }
}

named_enum! {
    /// With what outcome an event was processed.
    pub enum ProcessedReason {
        /// A workorder was created.
        Scheduled = "SCHEDULED",
        /// There is no such objective.
        MissingTicket = "MISSING_TICKET",
        /// The objective is not TODO, or has entered TODO again since.
        NonExecutableStatus = "NON_EXECUTABLE_STATUS",
        /// The objective became BLOCKED instead.
        Blocked = "BLOCKED",
        /// No capture was left to triage.
        NoPendingCaptures = "NO_PENDING_CAPTURES",
        /// No other azolla answered.
        NoReachableAzollas = "NO_REACHABLE_AZOLLAS",
    }
}
