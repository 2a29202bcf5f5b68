//! `pause_state`: where things stand, with one to three next actions. Immutable.

use serde::{Deserialize, Serialize};

use crate::names::named_enum;
use crate::{AzollaId, ObjectiveId, Timestamp};

/// What the operator finds on return.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseState {
    /// The objective that paused.
    pub objective_id: ObjectiveId,
    /// The azolla that stores it.
    pub azolla_id: AzollaId,
    /// Why it paused.
    pub reason: PauseReason,
    /// One to three next actions, the first one first.
    pub prioritized_actions: Vec<String>,
    /// When it paused.
    pub created_at: Timestamp,
}

named_enum! {
    /// Why an objective paused.
    pub enum PauseReason {
        /// A run passed its gate, or a deadline passed.
        RunComplete = "RUN_COMPLETE",
        /// A run failed its gate.
        GateFailed = "GATE_FAILED",
        /// A run had no budget left.
        BudgetExhausted = "BUDGET_EXHAUSTED",
        /// Something is missing.
        Blocked = "BLOCKED",
    }
}
