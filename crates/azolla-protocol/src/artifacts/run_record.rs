//! `run_record`: the verdict of the gate on one workorder. Immutable.

use serde::{Deserialize, Serialize};

use crate::names::named_enum;
use crate::{ObjectiveId, OutputId, RunId, Timestamp, WorkOrderId};

/// One workorder, one run record (W-5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// Its id.
    pub run_id: RunId,
    /// The workorder that was gated.
    pub work_order_id: WorkOrderId,
    /// The objective it serves.
    pub objective_id: ObjectiveId,
    /// The bundle that was gated.
    pub output_id: OutputId,
    /// PASS or FAIL.
    pub gate_result: GateResult,
    /// Why, in words.
    pub gate_reason: String,
    /// The commit that the checks ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_sha: Option<String>,
    /// When it was recorded.
    pub created_at: Timestamp,
}

named_enum! {
    /// The verdict of a gate.
    pub enum GateResult {
        /// Every condition held.
        Pass = "PASS",
        /// One did not; the reason says which.
        Fail = "FAIL",
    }
}
