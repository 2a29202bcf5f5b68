//! `output_bundle`: what a diazotroph returned, or why it returned nothing. Immutable.

use serde::{Deserialize, Serialize};

use crate::names::named_enum;
use crate::{JsonObject, ObjectiveId, OutputId, Timestamp, WorkOrderId};

/// The one yield of one workorder (B-3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputBundle {
    /// Its id.
    pub output_id: OutputId,
    /// The objective it is for.
    pub objective_id: ObjectiveId,
    /// One line.
    pub title: String,
    /// How the run went, and what its type adds.
    pub metadata: OutputMetadata,
    /// The diff, the candidates or the orientation; empty if there is none.
    pub content: String,
    /// Confidence, ambiguities, failures, in words.
    pub notes: String,
    /// When it was recorded.
    pub created_at: Timestamp,
}

/// What every bundle says about its run; further keys depend on the diazotroph's type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputMetadata {
    /// The workorder that yielded it.
    pub work_order_id: WorkOrderId,
    /// How the run ended.
    pub runner_status: RunnerStatus,
    /// Budget consumed.
    pub elapsed_ms: u64,
    /// Tokens, requests, money, as far as the provider says.
    pub usage: JsonObject,
    /// Keys by type, such as `branch_name`, `commit_sha`, `capture_ids`. None of the names above.
    #[serde(flatten)]
    pub more: JsonObject,
}

named_enum! {
    /// How a run ended.
    pub enum RunnerStatus {
        /// There is an output for the gate.
        Completed = "COMPLETED",
        /// The change that came back does not apply.
        PatchApplyFailed = "PATCH_APPLY_FAILED",
        /// The budget was over first.
        BudgetExhausted = "BUDGET_EXHAUSTED",
        /// The provider failed for good, or the workorder was poison (W-7).
        GenerationFailed = "GENERATION_FAILED",
    }
}
