//! `gate_evidence`: the checks that a gate ran, as they came out.

use serde::{Deserialize, Serialize};

use crate::names::named_enum;
use crate::{RunId, Timestamp, WorkOrderId};

/// What a run record rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateEvidence {
    /// The run record it belongs to.
    pub run_id: RunId,
    /// The workorder that was gated.
    pub work_order_id: WorkOrderId,
    /// The base that the patch was applied to at the gate; null where there is no repository.
    pub base_commit_sha: Option<String>,
    /// Every check that ran, in order.
    pub checks: Vec<CheckEvidence>,
    /// When it was recorded.
    pub created_at: Timestamp,
}

/// One check, run once on one tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckEvidence {
    /// Its configured name.
    pub name: String,
    /// Whether it ran on the patched tree or on the base.
    pub subject: CheckSubject,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Its exit code; null if it was ended by a signal or never started.
    pub exit_code: Option<i64>,
    /// Whether its time limit ended it.
    pub timed_out: bool,
    /// How long it ran.
    pub duration_ms: u64,
    /// The end of what it printed.
    pub output_tail: String,
    /// The tree it ran on.
    pub tree: Option<String>,
    /// How it was confined.
    pub sandbox_mode: String,
}

named_enum! {
    /// What a check ran on.
    pub enum CheckSubject {
        /// The tree of the bundle's commit.
        Patched = "PATCHED",
        /// The base, so that an old failure is not put down to the patch.
        Base = "BASE",
    }
}
