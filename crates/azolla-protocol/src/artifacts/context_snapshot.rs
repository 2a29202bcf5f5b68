//! `context_snapshot`: all that a diazotroph sees (B-1). Immutable.

use serde::{Deserialize, Serialize};

use crate::{JsonObject, ObjectiveId, OutputId, SnapshotId, Timestamp};

/// The frozen input of one workorder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextSnapshot {
    /// Its id.
    pub snapshot_id: SnapshotId,
    /// The objective it was built for.
    pub objective_id: ObjectiveId,
    /// Patch: `commit_sha`, `base_branch`, the objective's version, what the prompt includes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    /// Patch: the same commit as in `metadata`. Triage and manifest: null.
    pub repo_commit_sha: Option<String>,
    /// The outputs of earlier attempts, on a retry.
    pub related_yield_refs: Vec<OutputId>,
    /// The whole prompt.
    pub full_prompt_text: String,
    /// When it was built.
    pub created_at: Timestamp,
}
