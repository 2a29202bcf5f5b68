//! What one transaction writes, as a plain value.

use azolla_protocol::{
    Actor, AzollaId, CandidateOutcome, CandidateResolution, CaptureBuffer, CaptureId, CommitId,
    ContextSnapshot, Event, EventId, GateEvidence, Objective, ObjectiveId, ObjectiveStatus, OutputBundle,
    OutputId, OwnerId, PauseState, ProcessedReason, ResourceRef, RunRecord, SessionManifest, Timestamp,
    UsageRecord, Validated, WorkOrderId, Workorder,
    lifecycle::{ObjectiveStep, is_archived},
};

use crate::{
    claim::{Fence, Release},
    read::StoredObjective,
};

/// A whole write: applied at once or not at all, with one journal row per change.
///
/// Its id is made before the transaction. After a broken connection the store is asked for that id, and nothing
/// is written again (C-9, R6).
#[derive(Clone, Debug)]
pub struct Commit {
    pub(crate) commit_id: CommitId,
    pub(crate) actor: Actor,
    pub(crate) claim: ClaimUse,
    pub(crate) writes: Vec<Write>,
    pub(crate) reason: Option<String>,
}

/// How a commit stands to a claim.
#[derive(Clone, Debug)]
pub(crate) enum ClaimUse {
    /// No claim protects these writes.
    None,
    /// The claim is acquired and released by this very transaction.
    Claiming { resource: ResourceRef, owner_id: OwnerId },
    /// The claim is held; the transaction checks it first and releases it (C-4, C-5).
    Fenced(Fence),
}

impl ClaimUse {
    /// Returns what is claimed.
    pub(crate) fn resource(&self) -> Option<&ResourceRef> {
        match self {
            Self::None => None,
            Self::Claiming { resource, .. } => Some(resource),
            Self::Fenced(fence) => Some(&fence.resource),
        }
    }
}

impl Commit {
    /// Starts an empty commit by `actor`.
    pub fn new(commit_id: CommitId, actor: Actor) -> Self {
        Self { commit_id, actor, claim: ClaimUse::None, writes: Vec::new(), reason: None }
    }

    /// Returns its id, by which it is found again after a lost answer (R6).
    pub fn commit_id(&self) -> &CommitId {
        &self.commit_id
    }

    /// Returns who commits.
    pub fn actor(&self) -> Actor {
        self.actor
    }

    /// Returns its writes, in the order in which they happen.
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Adds a write. Writes happen in the order in which they were added.
    #[must_use]
    pub fn with(mut self, write: Write) -> Self {
        self.writes.push(write);
        self
    }

    /// Says why, in words: the journal keeps it with the first change.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Claims, commits and releases in one transaction, for work that was loaded before it: every write compares
    /// what it was built on, so that it is as if it had been loaded under the claim.
    #[must_use]
    pub fn claiming(mut self, resource: ResourceRef, owner_id: OwnerId) -> Self {
        self.claim = ClaimUse::Claiming { resource, owner_id };
        self
    }

    /// Puts the writes behind a claim that is held, which ends with them.
    #[must_use]
    pub fn fenced(mut self, fence: Fence) -> Self {
        self.claim = ClaimUse::Fenced(fence);
        self
    }
}

/// One change.
#[derive(Clone, Debug)]
pub enum Write {
    /// A new objective: `Create` (S-a) or `OpenStanding` (S-n).
    InsertObjective {
        /// The first version.
        objective: Validated<Objective>,
        /// The row of the transition table.
        step: ObjectiveStep,
    },
    /// A step of the transition table.
    AdvanceObjective {
        /// What was read: its version and status are compared (S-3).
        was: ObjectiveMark,
        /// The row of the transition table.
        step: ObjectiveStep,
        /// The next version.
        next: Validated<Objective>,
    },
    /// A change that leaves the status alone.
    EditObjective {
        /// What was read: its version and status are compared (S-3).
        was: ObjectiveMark,
        /// The next version.
        next: Validated<Objective>,
    },
    /// A new capture.
    InsertCapture(Validated<CaptureBuffer>),
    /// PENDING -> PROCESSED (S-4): by the gate under its claim, or by the operator by hand.
    ProcessCapture {
        /// The capture.
        capture_id: CaptureId,
        /// The `updated_at` that it gets.
        at: Timestamp,
        /// Why nothing comes of it, where its triage says so: the journal keeps it.
        no_action: Option<String>,
    },
    /// One more triage attempt on a PENDING capture that is not held (W-2), by the Scheduler under an event's claim.
    CountAttempt {
        /// The capture.
        capture_id: CaptureId,
        /// The attempts that were read: they are compared, so that none is made on what another one has changed.
        attempts: u64,
    },
    /// A PENDING capture waits for the operator (O-1). By the gate under a workorder's claim, or by the Scheduler
    /// under an event's.
    HoldCapture(CaptureId),
    /// The operator asks for further attempts on a PENDING capture: it is no longer held, and what was used up so far
    /// does not count (W-2).
    RetryCapture {
        /// The capture.
        capture_id: CaptureId,
        /// The attempts that were read: they are compared, so that one that begins meanwhile still counts.
        attempts: u64,
    },
    /// A new event. A second one for the same entry or attempt is refused under W-1 or W-2.
    EmitEvent {
        /// The event, unprocessed.
        event: Validated<Event>,
        /// The TODO entry number, or which event of its capture this is; none for MANIFEST_REQUESTED.
        entry: Option<u64>,
    },
    /// `processed` from false to true (W-6). Needs the event's claim. In a TASK_MGMT azolla, BLOCKED is
    /// refused as long as the capture that the event is about could be tried: it is held first, so that no further event
    /// follows until the operator asks for it (O-1, W-2).
    ProcessEvent {
        /// The event.
        event_id: EventId,
        /// The reason that is recorded on it.
        reason: ProcessedReason,
    },
    /// A snapshot, bound to the version of the objective that it was built from.
    InsertSnapshot {
        /// The snapshot.
        snapshot: Validated<ContextSnapshot>,
        /// The version of its objective.
        objective_version: u64,
    },
    /// A workorder, if the work stream and the attention limit have room (W-4, O-3). Needs the event's claim.
    CreateWorkorder {
        /// The workorder, CREATED.
        workorder: Validated<Workorder>,
        /// The event that it answers: one workorder each (W-5).
        event_id: EventId,
        /// How much room there is.
        room: StreamRoom,
    },
    /// Gives the place that a workorder has just taken to a triage that could begin now, if there is one: nothing is
    /// written then, as if the stream were full (W-4). A triage that came to nothing before does not count: it backs off,
    /// and nothing waits for it (W-3). Changes nothing itself; after the workorder, under its event's claim.
    TriageFirst {
        /// How often a capture is tried.
        attempts_max: u64,
        /// Waiting results at most for a triage to begin (O-3); 0 = no limit.
        review_limit: u64,
    },
    /// The one output_bundle of a workorder, which becomes EXECUTED (B-3). Needs the workorder's claim.
    Execute(Validated<OutputBundle>),
    /// What a claim cost.
    RecordUsage(Validated<UsageRecord>),
    /// The workorder's claim ends without an outcome, as in a release: charged, and counted or not (B-2, W-7).
    GiveBack(Release),
    /// The one run_record of a workorder, which leaves the work stream (W-5). Needs the workorder's claim.
    Gate(Validated<RunRecord>),
    /// The checks behind a run_record.
    RecordEvidence(Validated<GateEvidence>),
    /// A pause_state: the current one of its objective from here on.
    Pause {
        /// What it ends: at most one pause_state each.
        key: PauseKey,
        /// The pause_state.
        pause: Validated<PauseState>,
    },
    /// The manifest of a manifest workorder.
    InsertManifest {
        /// The manifest.
        manifest: Validated<SessionManifest>,
        /// The workorder that yielded it.
        work_order_id: WorkOrderId,
    },
    /// The operator moves the deadline of an objective, here or in another azolla; the last word counts (D-1).
    Snooze {
        /// Whose objective it is.
        azolla_id: AzollaId,
        /// The objective.
        objective_id: ObjectiveId,
        /// The deadline is not before this.
        until: Timestamp,
    },
    /// The candidates of a triage bundle, in the commit of the gate that passed it and after its run_record: from
    /// here on the bundle waits for the operator (O-3). Needs the workorder's claim.
    OpenCandidates {
        /// The bundle.
        output_id: OutputId,
        /// Its workorder.
        work_order_id: WorkOrderId,
        /// How many there are; a bundle with none does not wait.
        count: u64,
    },
    /// What became of a triage candidate, which is no longer open (TF-8). PROMOTED, DISCARDED and DUPLICATE stand until
    /// they are taken back, DEFERRED can become anything.
    ResolveCandidate {
        /// The outcome.
        resolution: Validated<CandidateResolution>,
        /// The azolla that a promotion goes to, which the journal keeps: the objective's id is the same in every one.
        target: Option<AzollaId>,
    },
    /// The operator takes back what became of a candidate, which is open again (TF-8). The journal keeps what it was.
    ReopenCandidate {
        /// The bundle.
        output_id: OutputId,
        /// The candidate.
        candidate_index: u64,
        /// The outcome that was read: it is compared.
        outcome: CandidateOutcome,
        /// Who takes it back.
        by: String,
    },
    /// Nothing is written unless just as many other candidates of a bundle are open as were read, so that one of two
    /// that close the last two at once notices. Changes nothing itself.
    OthersOpen {
        /// The bundle.
        output_id: OutputId,
        /// The candidate that does not count.
        candidate_index: u64,
        /// How many others were open.
        count: u64,
    },
}

/// The limits that a new workorder is checked against, inside its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRoom {
    /// Open workorders at most (W-4).
    pub max_concurrent: u64,
    /// Open workorders and waiting results at most (O-3); 0 = no limit.
    pub review_limit: u64,
}

/// The state of an objective that a write was built on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectiveMark {
    /// The version that was read.
    pub version: u64,
    /// The status that was read.
    pub status: ObjectiveStatus,
    /// Whether it was archived.
    pub archived: bool,
}

impl From<&StoredObjective> for ObjectiveMark {
    fn from(stored: &StoredObjective) -> Self {
        let archived = is_archived(&stored.objective);
        Self { version: stored.version, status: stored.objective.status, archived }
    }
}

/// What a pause_state ends; its text is the store's unique `pause_key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseKey {
    /// A gated workorder.
    Workorder(WorkOrderId),
    /// An event that yielded no workorder.
    Event(EventId),
    /// A deadline that passed (D-1), by the Deadline Monitor alone. The pause_state names the azolla and the objective.
    Deadline {
        /// The deadline.
        at: Timestamp,
        /// How urgent the objective was: within 24 hours only a more urgent one is recorded, with a lower number.
        urgency: u8,
    },
}

/// What became of a commit that no error stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// All of it is durable.
    Done,
    /// `claiming`: somebody else holds the claim, or the resource is closed. Nothing was written (C-8).
    Held,
    /// The work stream has no free place, or a triage goes first. Nothing was written (W-4).
    StreamFull,
    /// Enough results wait for the operator. Nothing was written (O-3).
    ReviewLimit,
}
