//! `journal`: one row per change, written in the transaction of that change.

use serde::{Deserialize, Serialize};

use crate::lifecycle::{ObjectiveStep, Party};
use crate::names::named_enum;
use crate::{JsonObject, OwnerId, Timestamp};

/// What changed, by whose step, when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalEntry {
    /// Its place in the order of commits.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// Which role wrote it.
    pub actor: Actor,
    /// Under whose claim, if under one.
    pub owner_id: Option<OwnerId>,
    /// Under which fence, if under a claim.
    pub claim_version: Option<u64>,
    /// Which step.
    pub step: JournalStep,
    /// What sort of artifact changed, such as `objective`.
    pub resource_type: String,
    /// Which one.
    pub resource_id: String,
    /// Its status before, if it has one.
    pub from_status: Option<String>,
    /// Its status after, if it has one.
    pub to_status: Option<String>,
    /// What else is worth keeping.
    pub detail: Option<JsonObject>,
}

named_enum! {
    /// Who can change anything.
    pub enum Actor {
        /// The operator, on the command line or the dashboard.
        Operator = "OPERATOR",
        /// The setup of an azolla.
        Init = "INIT",
        /// The Readiness worker.
        Readiness = "READINESS",
        /// The Capture Readiness worker.
        CaptureReadiness = "CAPTURE_READINESS",
        /// The Scheduler.
        Scheduler = "SCHEDULER",
        /// The Manifest Scheduler.
        ManifestScheduler = "MANIFEST_SCHEDULER",
        /// The Runner.
        Runner = "RUNNER",
        /// The Gate.
        Gate = "GATE",
        /// The Deadline Monitor.
        DeadlineMonitor = "DEADLINE_MONITOR",
        /// A program that speaks MCP or HTTP.
        Client = "CLIENT",
    }
}

named_enum! {
    /// A row of the transition table, or a change that moves no objective.
    pub enum JournalStep {
        /// Objective created.
        Sa = "S-a",
        /// Objective approved.
        Sb = "S-b",
        /// Objective scheduled.
        Sc = "S-c",
        /// Objective blocked by the Scheduler.
        Sd = "S-d",
        /// Gate passed.
        Se = "S-e",
        /// Gate failed, objective blocked.
        Sf = "S-f",
        /// Gate failed, another attempt follows.
        Sg = "S-g",
        /// Objective unblocked, or retried.
        Sh = "S-h",
        /// Result rejected.
        Si = "S-i",
        /// Result confirmed.
        Sj = "S-j",
        /// Objective blocked by the operator.
        Sk = "S-k",
        /// Approval withdrawn.
        Sl = "S-l",
        /// Run cancelled.
        Sm = "S-m",
        /// Standing objective opened.
        Sn = "S-n",
        /// Objective archived, or brought back.
        So = "S-o",
        /// A claim was granted.
        Grant = "GRANT",
        /// A claim was released.
        Release = "RELEASE",
        /// An artifact without a status was written.
        Insert = "INSERT",
        /// An event was emitted.
        Emit = "EMIT",
        /// An event or a capture was processed.
        Process = "PROCESS",
        /// A workorder was executed.
        Execute = "EXECUTE",
        /// A workorder was gated.
        Gate = "GATE",
        /// Fields of an objective changed, not its status.
        Edit = "EDIT",
        /// An attempt was counted.
        Attempt = "ATTEMPT",
        /// A capture was held for the operator.
        Hold = "HOLD",
        /// The operator asked for further attempts on a capture.
        Retry = "RETRY",
        /// The operator took back what became of a candidate.
        Undo = "UNDO",
    }
}

impl From<Party> for Actor {
    fn from(party: Party) -> Self {
        match party {
            Party::Operator => Self::Operator,
            Party::Scheduler => Self::Scheduler,
            Party::Gate => Self::Gate,
            Party::Init => Self::Init,
        }
    }
}

impl From<ObjectiveStep> for JournalStep {
    #[rustfmt::skip] // A table: it reads line by line against PROTOCOL.md section 4.
    fn from(step: ObjectiveStep) -> Self {
        match step {
            ObjectiveStep::Create           => Self::Sa,
            ObjectiveStep::Approve          => Self::Sb,
            ObjectiveStep::Schedule         => Self::Sc,
            ObjectiveStep::BlockByScheduler => Self::Sd,
            ObjectiveStep::GatePass         => Self::Se,
            ObjectiveStep::GateFailBlock    => Self::Sf,
            ObjectiveStep::GateFailRetry    => Self::Sg,
            ObjectiveStep::Unblock          => Self::Sh,
            ObjectiveStep::Reject           => Self::Si,
            ObjectiveStep::Confirm          => Self::Sj,
            ObjectiveStep::Block            => Self::Sk,
            ObjectiveStep::WithdrawApproval => Self::Sl,
            ObjectiveStep::Cancel           => Self::Sm,
            ObjectiveStep::OpenStanding     => Self::Sn,
            ObjectiveStep::Archive          => Self::So,
            ObjectiveStep::Unarchive        => Self::So,
        }
    }
}
