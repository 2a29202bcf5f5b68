//! `capture_buffer`: a note of the operator, kept as it came.

use serde::{Deserialize, Serialize};

use crate::names::named_enum;
use crate::{AzollaId, CaptureId, Timestamp};

/// Raw text that waits for triage, then stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureBuffer {
    /// Its id.
    pub capture_id: CaptureId,
    /// The azolla that stores it.
    pub azolla_id: AzollaId,
    /// The text, not empty and at most 1 MiB.
    pub raw_content: String,
    /// Where it came from.
    pub source_label: String,
    /// PENDING until triaged (S-4).
    pub status: CaptureStatus,
    /// When it was captured.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

named_enum! {
    /// Whether a capture still waits.
    pub enum CaptureStatus {
        /// Waits for triage.
        Pending = "PENDING",
        /// Triaged, or set aside by hand.
        Processed = "PROCESSED",
    }
}
