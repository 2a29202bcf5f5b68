//! The steps of a patch cycle as commits, each as a worker would put it together, and the artifacts in them.

use azolla_protocol::{
    Actor, ContextSnapshot, DiazotrophType, Event, EventId, EventType, GateResult, IdSource, JsonObject,
    LeaseLength, Objective, ObjectiveId, ObjectiveStatus, ObjectiveType, OutputBundle, OutputId,
    OutputMetadata, OwnerId, PauseReason, PauseState, ProcessedReason, ResourceRef, RunId, RunRecord,
    RunnerStatus, SnapshotId, Timestamp, Validated, WorkOrderId, Workorder, WorkorderStatus,
    lifecycle::ObjectiveStep,
};
use azolla_substrate::{
    ClaimOutcome, Commit, CommitOutcome, Fence, Grant, ObjectiveMark, PauseKey, StoredObjective, StreamRoom,
    SubstrateError, Write,
};

use crate::store::{TestStore, azolla_id};

/// A lease for tests; their clock moves by hand.
pub const LEASE_MS: i64 = 60_000;

/// Longer than anything that failed in passing waits.
pub const LATER_MS: i64 = 300_000;

/// Room for one workorder at a time and no attention limit.
pub const ROOM: StreamRoom = StreamRoom { max_concurrent: 1, review_limit: 0 };

/// Returns the lease of `LEASE_MS`.
pub fn lease() -> LeaseLength {
    LeaseLength::new(60_000).expect("a lease")
}

/// One objective on its way through the patch flow.
pub struct PatchCycle<'a> {
    /// The store that it goes through.
    pub world: &'a TestStore,
    /// The objective.
    pub objective_id: ObjectiveId,
}

impl<'a> PatchCycle<'a> {
    /// Creates and approves an objective: it stands at TODO.
    pub async fn todo(world: &'a TestStore) -> Self {
        let cycle = Self::created(world).await;
        cycle.advance(Actor::Operator, ObjectiveStep::Approve, ObjectiveStatus::Todo).await;
        cycle
    }

    /// Creates an objective: it stands at NEW.
    pub async fn created(world: &'a TestStore) -> Self {
        let objective_id = ObjectiveId::from_body(&world.ids.body());
        let objective = objective(&objective_id, ObjectiveStatus::New, world.now().await);
        let write = Write::InsertObjective { objective: valid(objective), step: ObjectiveStep::Create };
        world.done(Actor::Operator, write).await;
        Self { world, objective_id }
    }

    /// Emits the event of the current entry into TODO.
    pub async fn emitted(&self) -> EventId {
        let entry = self.stored().await.todo_entry;
        let event = self.event(entry).await;
        let event_id = event.event_id.clone();
        self.world.done(Actor::Readiness, Write::EmitEvent { event: valid(event), entry: Some(entry) }).await;
        event_id
    }

    /// Emits and schedules: claim, snapshot, workorder, transition and event in one commit.
    pub async fn scheduled(&self) -> WorkOrderId {
        let event_id = self.emitted().await;
        let outcome = self.schedule(&event_id, &self.world.ids.owner_id(), ROOM).await;
        assert_eq!(outcome.expect("scheduling is not refused"), CommitOutcome::Done);
        WorkOrderId::of(&event_id)
    }

    /// The Scheduler's commit for an event.
    pub async fn schedule(
        &self,
        event_id: &EventId,
        owner_id: &OwnerId,
        room: StreamRoom,
    ) -> Result<CommitOutcome, SubstrateError> {
        let commit = self.schedule_commit(event_id, room).await.claiming(event_id.into(), owner_id.clone());
        self.world.store.commit(commit).await
    }

    /// The writes of the Scheduler's commit, without a claim.
    pub async fn schedule_commit(&self, event_id: &EventId, room: StreamRoom) -> Commit {
        let stored = self.stored().await;
        let now = self.world.now().await;
        let next =
            Objective { status: ObjectiveStatus::InProgress, updated_at: now, ..stored.objective.clone() };
        Commit::new(self.world.ids.commit_id(), Actor::Scheduler)
            .with(Write::InsertSnapshot {
                snapshot: valid(snapshot(event_id, &self.objective_id, now)),
                objective_version: stored.version,
            })
            .with(Write::CreateWorkorder {
                workorder: valid(workorder(event_id, &self.objective_id, now)),
                event_id: event_id.clone(),
                room,
            })
            .with(Write::AdvanceObjective {
                was: ObjectiveMark::from(&stored),
                step: ObjectiveStep::Schedule,
                next: valid(next),
            })
            .with(Write::ProcessEvent { event_id: event_id.clone(), reason: ProcessedReason::Scheduled })
    }

    /// The Runner's commit: the bundle, EXECUTED, release.
    pub async fn execute(&self, fence: Fence) -> Result<CommitOutcome, SubstrateError> {
        let work_order_id =
            WorkOrderId::new(fence.resource.resource_id.clone()).expect("a workorder's claim");
        let bundle = valid(output_bundle(&work_order_id, &self.objective_id, self.world.now().await));
        let commit = Commit::new(self.world.ids.commit_id(), Actor::Runner).with(Write::Execute(bundle));
        self.world.store.commit(commit.fenced(fence)).await
    }

    /// The Gate's commit: the run record, the transition, the pause_state, release.
    pub async fn gate(&self, fence: Fence, result: GateResult) -> Result<CommitOutcome, SubstrateError> {
        let work_order_id =
            WorkOrderId::new(fence.resource.resource_id.clone()).expect("a workorder's claim");
        let stored = self.stored().await;
        let now = self.world.now().await;
        let (step, status, reason) = match result {
            GateResult::Pass => (ObjectiveStep::GatePass, ObjectiveStatus::Done, PauseReason::RunComplete),
            GateResult::Fail => {
                (ObjectiveStep::GateFailRetry, ObjectiveStatus::Todo, PauseReason::GateFailed)
            }
        };
        let next = Objective { status, updated_at: now, ..stored.objective.clone() };
        let commit = Commit::new(self.world.ids.commit_id(), Actor::Gate)
            .with(Write::Gate(valid(run_record(&work_order_id, &self.objective_id, result, now))))
            .with(Write::AdvanceObjective { was: ObjectiveMark::from(&stored), step, next: valid(next) })
            .with(Write::Pause {
                key: PauseKey::Workorder(work_order_id),
                pause: valid(pause_state(&self.objective_id, reason, now)),
            });
        self.world.store.commit(commit.fenced(fence)).await
    }

    /// Runs the whole cycle from TODO to the gate's result.
    pub async fn run(&self, result: GateResult) -> WorkOrderId {
        let work_order_id = self.scheduled().await;
        let runner = self.world.granted(&(&work_order_id).into()).await;
        assert_eq!(self.execute(runner.fence).await.expect("the fence holds"), CommitOutcome::Done);
        let gate = self.world.granted(&(&work_order_id).into()).await;
        assert_eq!(self.gate(gate.fence, result).await.expect("the fence holds"), CommitOutcome::Done);
        work_order_id
    }

    /// Takes a step of the transition table, without a claim.
    pub async fn advance(&self, actor: Actor, step: ObjectiveStep, status: ObjectiveStatus) {
        self.try_advance(actor, step, status).await.expect("the step is allowed");
    }

    /// Tries a step of the transition table, without a claim.
    pub async fn try_advance(
        &self,
        actor: Actor,
        step: ObjectiveStep,
        status: ObjectiveStatus,
    ) -> Result<CommitOutcome, SubstrateError> {
        let stored = self.stored().await;
        let updated_at = self.world.now().await;
        let next = Objective { status, updated_at, ..stored.objective.clone() };
        let write =
            Write::AdvanceObjective { was: ObjectiveMark::from(&stored), step, next: Validated::new(next)? };
        let commit = Commit::new(self.world.ids.commit_id(), actor).with(write);
        self.world.store.commit(commit).await
    }

    /// Reads the objective.
    pub async fn stored(&self) -> StoredObjective {
        self.world.read().objective(&self.objective_id).await.expect("a read").expect("it was created")
    }

    /// The event of an entry into TODO.
    pub async fn event(&self, entry: u64) -> Event {
        let event_id = EventId::for_entry(&self.objective_id, entry).expect("a short id");
        event(event_id, EventType::TicketReady, self.objective_id.as_str(), self.world.now().await)
    }
}

impl TestStore {
    /// Returns the store's time.
    pub async fn now(&self) -> Timestamp {
        self.read().now().await.expect("the store has a clock")
    }

    /// Commits one write without a claim.
    pub async fn done(&self, actor: Actor, write: Write) {
        let outcome = self.try_write(actor, write).await.expect("the write is not refused");
        assert_eq!(outcome, CommitOutcome::Done);
    }

    /// Tries one write without a claim.
    pub async fn try_write(&self, actor: Actor, write: Write) -> Result<CommitOutcome, SubstrateError> {
        self.store.commit(Commit::new(self.ids.commit_id(), actor).with(write)).await
    }

    /// Acquires a claim as a fresh owner.
    pub async fn acquire(&self, resource: &ResourceRef) -> ClaimOutcome {
        let owner_id = self.ids.owner_id();
        self.store
            .acquire_claim(resource, &owner_id, lease(), Actor::Runner)
            .await
            .expect("the store answers")
    }

    /// Acquires a claim that has to be free.
    pub async fn granted(&self, resource: &ResourceRef) -> Grant {
        match self.acquire(resource).await {
            ClaimOutcome::Granted(grant) => grant,
            ClaimOutcome::Held => panic!("{resource} is held"),
        }
    }
}

/// Validates an artifact that a test made.
pub fn valid<A: azolla_protocol::Artifact>(artifact: A) -> Validated<A> {
    Validated::new(artifact).expect("a test's artifact is valid")
}

/// A ticket.
pub fn objective(id: &ObjectiveId, status: ObjectiveStatus, now: Timestamp) -> Objective {
    let metadata = serde_json::json!({"repo_ref": "/repos/app", "base_branch": "main"});
    Objective {
        objective_id: id.clone(),
        azolla_id: azolla_id(),
        title: "Round half up".into(),
        acceptance_criteria: "- 0.5 rounds to 1\n- the tests pass".into(),
        objective_type: ObjectiveType::Ticket,
        status,
        importance: 2,
        urgency: 3,
        blocked_reason: None,
        blocked_on: Vec::new(),
        metadata: metadata.as_object().cloned().unwrap_or_default(),
        created_at: now,
        updated_at: now,
    }
}

/// An unprocessed event.
pub fn event(event_id: EventId, event_type: EventType, resource_id: &str, now: Timestamp) -> Event {
    Event {
        event_id,
        event_type,
        resource_id: resource_id.into(),
        azolla_id: azolla_id(),
        created_at: now,
        processed: false,
        processed_reason: None,
        processed_at: None,
    }
}

/// The snapshot that answers an event.
pub fn snapshot(event_id: &EventId, objective_id: &ObjectiveId, now: Timestamp) -> ContextSnapshot {
    ContextSnapshot {
        snapshot_id: SnapshotId::of(event_id),
        objective_id: objective_id.clone(),
        metadata: None,
        repo_commit_sha: Some("1".repeat(40)),
        related_yield_refs: Vec::new(),
        full_prompt_text: "Round half up.".into(),
        created_at: now,
    }
}

/// The workorder that answers an event.
pub fn workorder(event_id: &EventId, objective_id: &ObjectiveId, now: Timestamp) -> Workorder {
    Workorder {
        work_order_id: WorkOrderId::of(event_id),
        objective_id: objective_id.clone(),
        diazotroph_type: DiazotrophType::Patch,
        context_snapshot_id: SnapshotId::of(event_id),
        branch_name: Some(format!("azolla/{objective_id}")),
        budget_ms: 600_000,
        status: WorkorderStatus::Created,
        created_at: now,
    }
}

/// The bundle of a workorder, about 2 KB.
pub fn output_bundle(
    work_order_id: &WorkOrderId,
    objective_id: &ObjectiveId,
    now: Timestamp,
) -> OutputBundle {
    OutputBundle {
        output_id: OutputId::of(work_order_id),
        objective_id: objective_id.clone(),
        title: "Round half up".into(),
        metadata: OutputMetadata {
            work_order_id: work_order_id.clone(),
            runner_status: RunnerStatus::Completed,
            elapsed_ms: 1_200,
            usage: JsonObject::new(),
            more: JsonObject::new(),
        },
        content: "-    value.trunc()\n+    (value + 0.5).floor()\n".repeat(36),
        notes: "One line changed.".into(),
        created_at: now,
    }
}

/// The run record of a workorder.
pub fn run_record(
    work_order_id: &WorkOrderId,
    objective_id: &ObjectiveId,
    gate_result: GateResult,
    now: Timestamp,
) -> RunRecord {
    RunRecord {
        run_id: RunId::of(work_order_id),
        work_order_id: work_order_id.clone(),
        objective_id: objective_id.clone(),
        output_id: OutputId::of(work_order_id),
        gate_result,
        gate_reason: "every check passed".into(),
        commit_sha: None,
        created_at: now,
    }
}

/// A pause_state.
pub fn pause_state(objective_id: &ObjectiveId, reason: PauseReason, now: Timestamp) -> PauseState {
    PauseState {
        objective_id: objective_id.clone(),
        azolla_id: azolla_id(),
        reason,
        prioritized_actions: vec![format!("Review {objective_id}")],
        created_at: now,
    }
}
