//! `session_manifest`: an orientation across azollas. Immutable.

use serde::{Deserialize, Serialize};

use crate::{AzollaId, ManifestId, ObjectiveId, PauseReason, Timestamp};

/// Where all azollas that answered stand, with one to five next actions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionManifest {
    /// Its id.
    pub manifest_id: ManifestId,
    /// The azolla that built it.
    pub azolla_id: AzollaId,
    /// The azollas that answered OK.
    pub queried_azolla_ids: Vec<AzollaId>,
    /// Their current pause states, from the snapshot and never from the diazotroph.
    pub pause_state_summary: Vec<PauseStateSummary>,
    /// One to five next actions, the first one first.
    pub prioritized_orientation: Vec<String>,
    /// When it was recorded.
    pub created_at: Timestamp,
}

/// A pause_state of another azolla, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseStateSummary {
    /// The azolla it comes from.
    pub source_azolla_id: AzollaId,
    /// The objective that paused.
    pub objective_id: ObjectiveId,
    /// Why it paused.
    pub reason: PauseReason,
    /// Its next actions.
    pub prioritized_actions: Vec<String>,
}
