//! The steps of a triage cycle as commits, each as a worker would put it together, and the artifacts in them.

use azolla_protocol::{
    Actor, CandidateOutcome, CandidateResolution, CaptureBuffer, CaptureId, CaptureStatus, DiazotrophType,
    EventId, EventType, GateResult, IdSource, JsonObject, Objective, ObjectiveId, ObjectiveStatus,
    ObjectiveType, OutputBundle, OutputId, PauseReason, ProcessedReason, Timestamp, WorkOrderId, Workorder,
    content::{Candidate, Confidence, TriageContent},
    lifecycle::ObjectiveStep,
};
use azolla_substrate::{Commit, CommitOutcome, PauseKey, StreamRoom, SubstrateError, Write};

use crate::{
    cycle::{ROOM, event, objective, output_bundle, pause_state, run_record, snapshot, valid, workorder},
    store::{TestStore, azolla_id},
};

/// A standing objective and the triage that goes through it.
pub struct TriageCycle<'a> {
    /// The store that it goes through.
    pub world: &'a TestStore,
    /// The standing objective.
    pub standing: ObjectiveId,
}

impl<'a> TriageCycle<'a> {
    /// Opens a standing objective.
    pub async fn new(world: &'a TestStore) -> Self {
        let id = ObjectiveId::from_body(&world.ids.body());
        let objective = valid(standing(&id, world.now().await));
        let step = ObjectiveStep::OpenStanding;
        world.done(Actor::Init, Write::InsertObjective { objective, step }).await;
        Self { world, standing: id }
    }

    /// Stores a capture.
    pub async fn captured(&self) -> CaptureId {
        let capture_id = CaptureId::from_body(&self.world.ids.body());
        let write = Write::InsertCapture(valid(capture(&capture_id, self.world.now().await)));
        self.world.done(Actor::Operator, write).await;
        capture_id
    }

    /// Emits the event with this entry number for a capture.
    pub async fn emitted(&self, capture_id: &CaptureId, entry: u64) -> EventId {
        let event_id = EventId::for_attempt(capture_id, entry).expect("a short id");
        let now = self.world.now().await;
        let event = valid(event(event_id.clone(), EventType::CaptureReady, capture_id.as_str(), now));
        self.world.done(Actor::CaptureReadiness, Write::EmitEvent { event, entry: Some(entry) }).await;
        event_id
    }

    /// The Scheduler's commit: snapshot, workorder, one attempt more of every capture, the event (TF-3, TF-4).
    pub async fn schedule(
        &self,
        event_id: &EventId,
        captures: &[CaptureId],
        room: StreamRoom,
    ) -> Result<CommitOutcome, SubstrateError> {
        let now = self.world.now().await;
        let commit = Commit::new(self.world.ids.commit_id(), Actor::Scheduler);
        let mut batch = Vec::new();
        for id in captures {
            let stored = self.world.read().capture(id).await?.expect("it is stored");
            batch.push((id.clone(), stored.attempts));
        }
        let commit = scheduling(&self.standing, event_id, &batch, room, now)
            .into_iter()
            .fold(commit, Commit::with)
            .claiming(event_id.into(), self.world.ids.owner_id());
        self.world.store.commit(commit).await
    }

    /// The Runner's commit, with a bundle of this many candidates.
    pub async fn execute(&self, work_order_id: &WorkOrderId, captures: &[CaptureId], candidates: usize) {
        let bundle =
            triage_bundle(work_order_id, &self.standing, captures, candidates, self.world.now().await);
        let fence = self.world.granted(&work_order_id.into()).await.fence;
        let commit =
            Commit::new(self.world.ids.commit_id(), Actor::Runner).with(Write::Execute(valid(bundle)));
        let outcome = self.world.store.commit(commit.fenced(fence)).await;
        assert_eq!(outcome.expect("the fence holds"), CommitOutcome::Done);
    }

    /// The Gate's commit, with whatever else the verdict leads to.
    pub async fn gate(
        &self,
        work_order_id: &WorkOrderId,
        result: GateResult,
        more: Vec<Write>,
    ) -> Result<CommitOutcome, SubstrateError> {
        let now = self.world.now().await;
        let fence = self.world.granted(&work_order_id.into()).await.fence;
        let commit = gating(&self.standing, work_order_id, result, more, now)
            .into_iter()
            .fold(Commit::new(self.world.ids.commit_id(), Actor::Gate), Commit::with);
        self.world.store.commit(commit.fenced(fence)).await
    }

    /// Runs one new capture through to a PASS with this many candidates.
    pub async fn passed(&self, candidates: u64) -> (CaptureId, WorkOrderId) {
        let capture_id = self.captured().await;
        let event_id = self.emitted(&capture_id, 1).await;
        let captures = [capture_id.clone()];
        let outcome = self.schedule(&event_id, &captures, ROOM).await;
        assert_eq!(outcome.expect("scheduling is not refused"), CommitOutcome::Done);
        let work_order_id = WorkOrderId::of(&event_id);
        self.execute(&work_order_id, &captures, usize::try_from(candidates).expect("a few")).await;
        let more = passing(&work_order_id, &captures, candidates, self.world.now().await);
        let outcome = self.gate(&work_order_id, GateResult::Pass, more).await;
        assert_eq!(outcome.expect("the fence holds"), CommitOutcome::Done);
        (capture_id, work_order_id)
    }

    /// The operator's word on a candidate.
    pub async fn resolve(
        &self,
        output_id: &OutputId,
        candidate_index: u64,
        outcome: CandidateOutcome,
    ) -> Result<CommitOutcome, SubstrateError> {
        let resolution = resolution(output_id, candidate_index, outcome, self.world.now().await);
        self.world.try_write(Actor::Operator, resolving(resolution)).await
    }
}

/// A STANDING objective.
pub fn standing(id: &ObjectiveId, now: Timestamp) -> Objective {
    let mut metadata = JsonObject::new();
    metadata.insert("scope_description".into(), "Everything captured".into());
    Objective {
        objective_type: ObjectiveType::Standing,
        metadata,
        ..objective(id, ObjectiveStatus::InProgress, now)
    }
}

/// A PENDING capture.
pub fn capture(capture_id: &CaptureId, now: Timestamp) -> CaptureBuffer {
    CaptureBuffer {
        capture_id: capture_id.clone(),
        azolla_id: azolla_id(),
        raw_content: "Rounding is off by one half.".into(),
        source_label: "operator".into(),
        status: CaptureStatus::Pending,
        created_at: now,
        updated_at: now,
    }
}

/// What the Scheduler writes for a batch, each capture with its attempts so far.
pub fn scheduling(
    standing: &ObjectiveId,
    event_id: &EventId,
    captures: &[(CaptureId, u64)],
    room: StreamRoom,
    now: Timestamp,
) -> Vec<Write> {
    let workorder = Workorder {
        diazotroph_type: DiazotrophType::Triage,
        branch_name: None,
        ..workorder(event_id, standing, now)
    };
    let mut writes = vec![
        Write::InsertSnapshot { snapshot: valid(snapshot(event_id, standing, now)), objective_version: 1 },
        Write::CreateWorkorder { workorder: valid(workorder), event_id: event_id.clone(), room },
    ];
    let count = |(capture_id, attempts)| Write::CountAttempt { capture_id, attempts };
    writes.extend(captures.iter().cloned().map(count));
    writes.push(Write::ProcessEvent { event_id: event_id.clone(), reason: ProcessedReason::Scheduled });
    writes
}

/// What the Gate writes, with `more` between the run_record and the pause_state.
pub fn gating(
    standing: &ObjectiveId,
    work_order_id: &WorkOrderId,
    result: GateResult,
    more: Vec<Write>,
    now: Timestamp,
) -> Vec<Write> {
    let reason = match result {
        GateResult::Pass => PauseReason::RunComplete,
        GateResult::Fail => PauseReason::GateFailed,
    };
    let mut writes = vec![Write::Gate(valid(run_record(work_order_id, standing, result, now)))];
    writes.extend(more);
    writes.push(Write::Pause {
        key: PauseKey::Workorder(work_order_id.clone()),
        pause: valid(pause_state(standing, reason, now)),
    });
    writes
}

/// What a PASS leads to: the captures PROCESSED, the candidates open (TF-7).
pub fn passing(work_order_id: &WorkOrderId, captures: &[CaptureId], count: u64, at: Timestamp) -> Vec<Write> {
    let process = |capture_id: &CaptureId| Write::ProcessCapture {
        capture_id: capture_id.clone(),
        at,
        no_action: None,
    };
    let mut writes: Vec<_> = captures.iter().map(process).collect();
    writes.push(Write::OpenCandidates {
        output_id: OutputId::of(work_order_id),
        work_order_id: work_order_id.clone(),
        count,
    });
    writes
}

/// The bundle of a triage, with this many candidates.
pub fn triage_bundle(
    work_order_id: &WorkOrderId,
    standing: &ObjectiveId,
    captures: &[CaptureId],
    candidates: usize,
    now: Timestamp,
) -> OutputBundle {
    let candidate = Candidate {
        title: "Round half up".into(),
        acceptance_criteria: "- 0.5 rounds to 1".into(),
        rationale: "A total is off by a cent.".into(),
        capture_ids: captures.to_vec(),
        suggested_target_azolla_type: None,
        suggested_azolla_id: None,
        urgency: None,
        importance: None,
        due: None,
        confidence: Confidence::High,
        ambiguities: Vec::new(),
    };
    let content = TriageContent {
        candidates: vec![candidate; candidates],
        no_action: Vec::new(),
        notes: String::new(),
    };
    let mut bundle = output_bundle(work_order_id, standing, now);
    bundle.content = serde_json::to_string(&content).expect("a content is JSON");
    bundle.metadata.more.insert("capture_ids".into(), serde_json::json!(captures));
    bundle
}

/// The operator's write for an outcome.
pub fn resolving(resolution: CandidateResolution) -> Write {
    Write::ResolveCandidate { resolution: valid(resolution), target: None }
}

/// The operator's write that takes an outcome back.
pub fn reopening(output_id: &OutputId, candidate_index: u64, outcome: CandidateOutcome) -> Write {
    Write::ReopenCandidate { output_id: output_id.clone(), candidate_index, outcome, by: "operator".into() }
}

/// What became of a candidate.
pub fn resolution(
    output_id: &OutputId,
    candidate_index: u64,
    outcome: CandidateOutcome,
    created_at: Timestamp,
) -> CandidateResolution {
    let names_one = matches!(outcome, CandidateOutcome::Promoted | CandidateOutcome::Duplicate);
    let made = || ObjectiveId::promoted(output_id, candidate_index).expect("a short id");
    CandidateResolution {
        output_id: output_id.clone(),
        candidate_index,
        outcome,
        objective_id: names_one.then(made),
        resolved_by: "operator".into(),
        created_at,
    }
}
