//! `workorder`: one bounded piece of work for one diazotroph.

use serde::{Deserialize, Serialize};

use crate::names::named_enum;
use crate::{ObjectiveId, SnapshotId, Timestamp, WorkOrderId};

/// What a runner claims, executes once and hands to the gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workorder {
    /// Its id.
    pub work_order_id: WorkOrderId,
    /// The objective it serves.
    pub objective_id: ObjectiveId,
    /// Which diazotroph runs it.
    pub diazotroph_type: DiazotrophType,
    /// The snapshot that the diazotroph sees.
    pub context_snapshot_id: SnapshotId,
    /// Patch: `azolla/<objective_id>`. Triage and manifest: null.
    pub branch_name: Option<String>,
    /// Time under claim before the work is ended (B-2); 1 to 86,400,000.
    pub budget_ms: u64,
    /// CREATED until its output bundle is durable (W-6).
    pub status: WorkorderStatus,
    /// When it was created.
    pub created_at: Timestamp,
}

named_enum! {
    /// Whether a workorder has its output.
    pub enum WorkorderStatus {
        /// Waits for a runner, or is claimed by one.
        Created = "CREATED",
        /// Has its one output bundle.
        Executed = "EXECUTED",
    }
}

named_enum! {
    /// The stateless workers outside an azolla.
    pub enum DiazotrophType {
        /// Returns a change to a repository.
        Patch = "PATCH_DIAZOTROPH",
        /// Returns candidates for objectives.
        Triage = "TRIAGE_DIAZOTROPH",
        /// Returns an orientation.
        ManifestBuilder = "MANIFEST_BUILDER_DIAZOTROPH",
    }
}
