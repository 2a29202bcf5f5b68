//! A store that holds every kind of artifact, made through commits as the workers make them: what `archive` carries
//! over and what `verify` is shown to watch.

use azolla_protocol::{
    Actor, AzollaId, BlockerId, BlockerKind, BlockerRef, CandidateOutcome, CaptureBuffer, CaptureId,
    CaptureStatus, CheckEvidence, CheckSubject, DiazotrophType, EventId, EventType, GateEvidence, GateResult,
    IdSource, ManifestId, Objective, ObjectiveId, ObjectiveStatus, ObjectiveType, OutputId, PauseReason,
    PauseStateSummary, ProcessedReason, RunId, SessionManifest, Timestamp, UsageRecord, WorkOrderId,
    Workorder, lifecycle::ObjectiveStep,
};
use azolla_substrate::{Commit, CommitOutcome, Fence, ObjectiveMark, PauseKey, StreamRoom, Write};
use azolla_testkit::{
    PatchCycle, TestStore,
    cycle::{self, LEASE_MS, valid},
    store::azolla_id,
    triage,
};
use serde_json::json;

/// The names of what was made.
pub(crate) struct Everything {
    /// A passed run, confirmed.
    pub(crate) confirmed: WorkOrderId,
    /// The first attempt, which failed, and the second, which passed and waits.
    pub(crate) failed: WorkOrderId,
    pub(crate) retried: WorkOrderId,
    /// The operator blocked nothing, the Scheduler did: an event with a pause_state of its own.
    pub(crate) blocked_event: EventId,
    pub(crate) triage: WorkOrderId,
    pub(crate) manifest: WorkOrderId,
    /// PROCESSED by the triage, PROCESSED by hand, PENDING after one attempt, a retry and another, and held.
    pub(crate) captures: [CaptureId; 3],
    pub(crate) standing: ObjectiveId,
    pub(crate) archived: ObjectiveId,
    /// The first of two deadlines of `archived`; the second is one millisecond before it and more urgent.
    pub(crate) deadline: Timestamp,
    /// An event that nobody has processed.
    pub(crate) waiting_event: EventId,
    /// A CREATED workorder, claimed by the second owner after the first one lost it.
    pub(crate) open: WorkOrderId,
    pub(crate) open_claim: Fence,
}

pub(crate) async fn everything(world: &TestStore) -> Everything {
    let confirmed = confirmed(world).await;
    let (failed, retried) = retried(world).await;
    let blocked_event = blocked_by_scheduler(world).await;
    blocked_by_gate(world).await;
    let archived = archived(world).await;
    let standing = standing(world).await;
    let captures = captures(world).await;
    let triage = triaged(world, &standing, &captures).await;
    held(world, &captures[2]).await;
    let manifest = manifest(world, &standing).await;
    let deadline = deadlines(world, &archived).await;
    let waiting = PatchCycle::todo(world).await;
    let waiting_event = waiting.emitted().await;
    let (open, open_claim) = open(world).await;
    Everything {
        confirmed,
        failed,
        retried,
        blocked_event,
        triage,
        manifest,
        captures,
        standing,
        archived,
        deadline,
        waiting_event,
        open,
        open_claim,
    }
}

async fn confirmed(world: &TestStore) -> WorkOrderId {
    let cycle = PatchCycle::todo(world).await;
    let work_order_id = cycle.run(GateResult::Pass).await;
    world.advance(1_000).await;
    let stored = cycle.stored().await;
    let mut next = Objective { updated_at: world.now().await, ..stored.objective.clone() };
    let completion = json!({
        "confirmed_at": world.now().await, "confirmed_by": "operator", "run_id": RunId::of(&work_order_id),
    });
    next.metadata.insert("completion".into(), completion);
    let step = ObjectiveStep::Confirm;
    let was = ObjectiveMark::from(&stored);
    world.done(Actor::Operator, Write::AdvanceObjective { was, step, next: valid(next) }).await;
    work_order_id
}

/// A run that failed, and one with evidence, usage and a link to the failed one's output.
async fn retried(world: &TestStore) -> (WorkOrderId, WorkOrderId) {
    let cycle = PatchCycle::todo(world).await;
    let failed = cycle.run(GateResult::Fail).await;
    let event_id = cycle.emitted().await;
    let (stored, now) = (cycle.stored().await, world.now().await);
    let mut snapshot = cycle::snapshot(&event_id, &cycle.objective_id, now);
    snapshot.related_yield_refs = vec![OutputId::of(&failed)];
    let next = Objective { status: ObjectiveStatus::InProgress, updated_at: now, ..stored.objective.clone() };
    let schedule = Commit::new(world.ids.commit_id(), Actor::Scheduler)
        .with(Write::InsertSnapshot { snapshot: valid(snapshot), objective_version: stored.version })
        .with(Write::CreateWorkorder {
            workorder: valid(cycle::workorder(&event_id, &cycle.objective_id, now)),
            event_id: event_id.clone(),
            room: ROOM,
        })
        .with(Write::AdvanceObjective {
            was: ObjectiveMark::from(&stored),
            step: ObjectiveStep::Schedule,
            next: valid(next),
        })
        .with(Write::ProcessEvent { event_id: event_id.clone(), reason: ProcessedReason::Scheduled });
    committed(world, schedule.claiming((&event_id).into(), world.ids.owner_id())).await;
    let work_order_id = WorkOrderId::of(&event_id);
    let runner = world.granted(&(&work_order_id).into()).await.fence;
    let execute = Commit::new(world.ids.commit_id(), Actor::Runner)
        .with(Write::RecordUsage(valid(usage(&work_order_id, runner.claim_version, world).await)))
        .with(Write::Execute(valid(cycle::output_bundle(&work_order_id, &cycle.objective_id, now))));
    committed(world, execute.fenced(runner)).await;
    let gate = world.granted(&(&work_order_id).into()).await.fence;
    let stored = cycle.stored().await;
    let next = Objective { status: ObjectiveStatus::Done, ..stored.objective.clone() };
    let run = cycle::run_record(&work_order_id, &cycle.objective_id, GateResult::Pass, now);
    let commit = Commit::new(world.ids.commit_id(), Actor::Gate)
        .with(Write::Gate(valid(run)))
        .with(Write::RecordEvidence(valid(evidence(&work_order_id, world).await)))
        .with(Write::AdvanceObjective {
            was: ObjectiveMark::from(&stored),
            step: ObjectiveStep::GatePass,
            next: valid(next),
        })
        .with(paused(&work_order_id, &cycle.objective_id, world).await);
    committed(world, commit.fenced(gate)).await;
    (failed, work_order_id)
}

async fn blocked_by_scheduler(world: &TestStore) -> EventId {
    let cycle = PatchCycle::todo(world).await;
    let event_id = cycle.emitted().await;
    let (stored, now) = (cycle.stored().await, world.now().await);
    let blocker = BlockerRef {
        blocker_id: BlockerId::from_body(&world.ids.body()),
        kind: BlockerKind::EnvironmentAccess,
        description: "the repository is missing".into(),
        resolved: false,
    };
    let next = Objective {
        status: ObjectiveStatus::Blocked,
        blocked_reason: Some("no \"repository\" at ‘/repos/app’\n".into()),
        blocked_on: vec![blocker],
        ..stored.objective.clone()
    };
    let pause = valid(cycle::pause_state(&cycle.objective_id, PauseReason::Blocked, now));
    let commit = Commit::new(world.ids.commit_id(), Actor::Scheduler)
        .with(Write::Pause { key: PauseKey::Event(event_id.clone()), pause })
        .with(Write::AdvanceObjective {
            was: ObjectiveMark::from(&stored),
            step: ObjectiveStep::BlockByScheduler,
            next: valid(next),
        })
        .with(Write::ProcessEvent { event_id: event_id.clone(), reason: ProcessedReason::Blocked });
    committed(world, commit.claiming((&event_id).into(), world.ids.owner_id())).await;
    event_id
}

async fn blocked_by_gate(world: &TestStore) {
    let cycle = PatchCycle::todo(world).await;
    let work_order_id = cycle.scheduled().await;
    let runner = world.granted(&(&work_order_id).into()).await.fence;
    cycle.execute(runner).await.expect("the fence holds");
    let gate = world.granted(&(&work_order_id).into()).await.fence;
    let (stored, now) = (cycle.stored().await, world.now().await);
    let next = Objective { status: ObjectiveStatus::Blocked, ..stored.objective.clone() };
    let run = cycle::run_record(&work_order_id, &cycle.objective_id, GateResult::Fail, now);
    let commit = Commit::new(world.ids.commit_id(), Actor::Gate)
        .with(Write::Gate(valid(run)))
        .with(Write::AdvanceObjective {
            was: ObjectiveMark::from(&stored),
            step: ObjectiveStep::GateFailBlock,
            next: valid(next),
        })
        .with(paused(&work_order_id, &cycle.objective_id, world).await);
    committed(world, commit.fenced(gate)).await;
}

async fn archived(world: &TestStore) -> ObjectiveId {
    let cycle = PatchCycle::created(world).await;
    let stored = cycle.stored().await;
    let next = Objective { title: "Round half to even ½".into(), urgency: 0, ..stored.objective.clone() };
    let was = ObjectiveMark::from(&stored);
    world.done(Actor::Operator, Write::EditObjective { was, next: valid(next.clone()) }).await;
    let mut next = next;
    next.metadata.insert("archived_at".into(), json!(world.now().await));
    let (was, step) = (ObjectiveMark::from(&cycle.stored().await), ObjectiveStep::Archive);
    world.done(Actor::Operator, Write::AdvanceObjective { was, step, next: valid(next) }).await;
    cycle.objective_id
}

async fn standing(world: &TestStore) -> ObjectiveId {
    let id = ObjectiveId::from_body(&world.ids.body());
    let mut objective = cycle::objective(&id, ObjectiveStatus::InProgress, world.now().await);
    objective.objective_type = ObjectiveType::Standing;
    objective.metadata.insert("scope_description".into(), "every note".into());
    let write = Write::InsertObjective { objective: valid(objective), step: ObjectiveStep::OpenStanding };
    world.done(Actor::Init, write).await;
    id
}

async fn captures(world: &TestStore) -> [CaptureId; 3] {
    let ids = [(); 3].map(|()| CaptureId::from_body(&world.ids.body()));
    let now = world.now().await;
    for id in &ids {
        let capture = CaptureBuffer {
            capture_id: id.clone(),
            azolla_id: azolla_id(),
            raw_content: "a note with \"quotes\", a tab\t, \u{1f4a1} and a line\nbreak".into(),
            source_label: "cli".into(),
            status: CaptureStatus::Pending,
            created_at: now,
            updated_at: now,
        };
        world.done(Actor::Operator, Write::InsertCapture(valid(capture))).await;
    }
    world
        .done(Actor::Operator, Write::ProcessCapture { capture_id: ids[1].clone(), at: now, no_action: None })
        .await;
    attempted(world, &ids[2], 1).await;
    ids
}

async fn triaged(world: &TestStore, standing: &ObjectiveId, captures: &[CaptureId; 3]) -> WorkOrderId {
    let event_id = EventId::for_attempt(&captures[0], 1).expect("a short id");
    let event =
        cycle::event(event_id.clone(), EventType::CaptureReady, captures[0].as_str(), world.now().await);
    world.done(Actor::CaptureReadiness, Write::EmitEvent { event: valid(event), entry: Some(1) }).await;
    let work_order_id = standing_work(world, &event_id, standing, DiazotrophType::Triage, |commit| {
        commit.with(Write::CountAttempt { capture_id: captures[0].clone(), attempts: 0 })
    })
    .await;
    let batch = &captures[..1];
    let bundle =
        triage::triage_bundle(&work_order_id, standing, batch, OUTCOMES.len() + 2, world.now().await);
    run_standing(world, bundle).await;
    let count = OUTCOMES.len() as u64 + 2;
    let passing = triage::passing(&work_order_id, batch, count, world.now().await);
    gate_standing(world, &work_order_id, standing, passing).await;
    let output_id = OutputId::of(&work_order_id);
    for (candidate_index, outcomes) in (0..).zip(OUTCOMES) {
        for (at, outcome) in outcomes.iter().enumerate() {
            let resolution = triage::resolution(&output_id, candidate_index, *outcome, world.now().await);
            world.done(Actor::Operator, triage::resolving(resolution)).await;
            if outcome.is_final() && at + 1 < outcomes.len() {
                world.done(Actor::Operator, triage::reopening(&output_id, candidate_index, *outcome)).await;
            }
        }
    }
    let (reopened, outcome) = (OUTCOMES.len() as u64, CandidateOutcome::Promoted);
    let resolution = triage::resolution(&output_id, reopened, outcome, world.now().await);
    world.done(Actor::Operator, triage::resolving(resolution)).await;
    world.done(Actor::Operator, triage::reopening(&output_id, reopened, outcome)).await;
    work_order_id
}

async fn emitted(world: &TestStore, capture_id: &CaptureId, entry: u64) -> EventId {
    let event_id = EventId::for_attempt(capture_id, entry).expect("a short id");
    let event =
        cycle::event(event_id.clone(), EventType::CaptureReady, capture_id.as_str(), world.now().await);
    world.done(Actor::CaptureReadiness, Write::EmitEvent { event: valid(event), entry: Some(entry) }).await;
    event_id
}

/// One more attempt, by an event of its own that yields nothing.
async fn attempted(world: &TestStore, capture_id: &CaptureId, entry: u64) {
    let event_id = emitted(world, capture_id, entry).await;
    let reason = ProcessedReason::NoPendingCaptures;
    let commit = Commit::new(world.ids.commit_id(), Actor::Scheduler)
        .with(Write::CountAttempt { capture_id: capture_id.clone(), attempts: entry - 1 })
        .with(Write::ProcessEvent { event_id: event_id.clone(), reason });
    committed(world, commit.claiming((&event_id).into(), world.ids.owner_id())).await;
}

/// Tried, asked for again, tried again, then held by the Scheduler.
async fn held(world: &TestStore, capture_id: &CaptureId) {
    let retry = Write::RetryCapture { capture_id: capture_id.clone(), attempts: 1 };
    world.done(Actor::Operator, retry).await;
    attempted(world, capture_id, 2).await;
    let event_id = emitted(world, capture_id, 3).await;
    let commit = Commit::new(world.ids.commit_id(), Actor::Scheduler)
        .with(Write::HoldCapture(capture_id.clone()))
        .with(Write::ProcessEvent { event_id: event_id.clone(), reason: ProcessedReason::Blocked });
    committed(world, commit.claiming((&event_id).into(), world.ids.owner_id())).await;
}

/// What became of the candidates, one after another, each taken back before the next. After them comes
/// one that is open again, and one that stays open.
const OUTCOMES: &[&[CandidateOutcome]] = &[
    &[CandidateOutcome::Promoted],
    &[CandidateOutcome::Discarded],
    &[CandidateOutcome::Deferred],
    &[CandidateOutcome::Duplicate],
    &[CandidateOutcome::Duplicate, CandidateOutcome::Deferred, CandidateOutcome::Discarded],
    &[CandidateOutcome::Promoted, CandidateOutcome::Discarded, CandidateOutcome::Promoted],
];

async fn manifest(world: &TestStore, standing: &ObjectiveId) -> WorkOrderId {
    let event_id = EventId::from_body(&world.ids.body());
    let now = world.now().await;
    let event = cycle::event(event_id.clone(), EventType::ManifestRequested, azolla_id().as_str(), now);
    world.done(Actor::Client, Write::EmitEvent { event: valid(event), entry: None }).await;
    let work_order_id =
        standing_work(world, &event_id, standing, DiazotrophType::ManifestBuilder, |commit| commit).await;
    run_standing(world, cycle::output_bundle(&work_order_id, standing, now)).await;
    let manifest = SessionManifest {
        manifest_id: ManifestId::of(&work_order_id),
        azolla_id: azolla_id(),
        queried_azolla_ids: vec![other_azolla()],
        pause_state_summary: vec![PauseStateSummary {
            source_azolla_id: other_azolla(),
            objective_id: standing.clone(),
            reason: PauseReason::RunComplete,
            prioritized_actions: vec!["Review it".into()],
        }],
        prioritized_orientation: vec!["Review it".into()],
        created_at: now,
    };
    let write = Write::InsertManifest { manifest: valid(manifest), work_order_id: work_order_id.clone() };
    gate_standing(world, &work_order_id, standing, vec![write]).await;
    work_order_id
}

async fn standing_work(
    world: &TestStore,
    event_id: &EventId,
    standing: &ObjectiveId,
    diazotroph_type: DiazotrophType,
    more: impl FnOnce(Commit) -> Commit,
) -> WorkOrderId {
    let now = world.now().await;
    let workorder =
        Workorder { diazotroph_type, branch_name: None, ..cycle::workorder(event_id, standing, now) };
    let commit = Commit::new(world.ids.commit_id(), Actor::Scheduler)
        .with(Write::InsertSnapshot {
            snapshot: valid(cycle::snapshot(event_id, standing, now)),
            objective_version: 1,
        })
        .with(Write::CreateWorkorder { workorder: valid(workorder), event_id: event_id.clone(), room: ROOM })
        .with(Write::ProcessEvent { event_id: event_id.clone(), reason: ProcessedReason::Scheduled });
    committed(world, more(commit).claiming(event_id.into(), world.ids.owner_id())).await;
    WorkOrderId::of(event_id)
}

async fn run_standing(world: &TestStore, bundle: azolla_protocol::OutputBundle) {
    let fence = world.granted(&(&bundle.metadata.work_order_id).into()).await.fence;
    world.advance(1_234).await;
    let commit = Commit::new(world.ids.commit_id(), Actor::Runner).with(Write::Execute(valid(bundle)));
    committed(world, commit.fenced(fence)).await;
}

async fn gate_standing(
    world: &TestStore,
    work_order_id: &WorkOrderId,
    standing: &ObjectiveId,
    more: Vec<Write>,
) {
    let fence = world.granted(&work_order_id.into()).await.fence;
    let commit = triage::gating(standing, work_order_id, GateResult::Pass, more, world.now().await)
        .into_iter()
        .fold(Commit::new(world.ids.commit_id(), Actor::Gate), Commit::with);
    committed(world, commit.fenced(fence)).await;
}

/// Of an objective here and of one of another azolla: two each, and a snooze.
async fn deadlines(world: &TestStore, local: &ObjectiveId) -> Timestamp {
    let now = world.now().await;
    for azolla_id in [azolla_id(), other_azolla()] {
        let mut pause = cycle::pause_state(local, PauseReason::RunComplete, now);
        pause.azolla_id = azolla_id;
        let key = PauseKey::Deadline { at: now, urgency: 2 };
        world.done(Actor::DeadlineMonitor, Write::Pause { key, pause: valid(pause.clone()) }).await;
        // An hour later it is more urgent, by a deadline that was earlier.
        pause.created_at = now.plus_ms(3_600_000);
        let key = PauseKey::Deadline { at: now.plus_ms(-1), urgency: 0 };
        world.done(Actor::DeadlineMonitor, Write::Pause { key, pause: valid(pause.clone()) }).await;
        let (azolla_id, objective_id) = (pause.azolla_id, local.clone());
        let until = now.plus_ms(86_400_000);
        world.done(Actor::Operator, Write::Snooze { azolla_id, objective_id, until }).await;
    }
    now
}

async fn open(world: &TestStore) -> (WorkOrderId, Fence) {
    let cycle = PatchCycle::todo(world).await;
    let event_id = cycle.emitted().await;
    let outcome = cycle.schedule(&event_id, &world.ids.owner_id(), ROOM).await;
    assert_eq!(outcome.expect("scheduling is not refused"), CommitOutcome::Done);
    let work_order_id = WorkOrderId::of(&event_id);
    world.granted(&(&work_order_id).into()).await;
    world.advance(LEASE_MS).await;
    let fence = world.granted(&(&work_order_id).into()).await.fence;
    (work_order_id, fence)
}

pub(crate) const ROOM: StreamRoom = StreamRoom { max_concurrent: 3, review_limit: 0 };

pub(crate) fn other_azolla() -> AzollaId {
    AzollaId::new("az-other").expect("an id")
}

async fn committed(world: &TestStore, commit: Commit) {
    assert_eq!(world.store.commit(commit).await.expect("the commit is not refused"), CommitOutcome::Done);
}

async fn paused(work_order_id: &WorkOrderId, objective_id: &ObjectiveId, world: &TestStore) -> Write {
    let pause = cycle::pause_state(objective_id, PauseReason::RunComplete, world.now().await);
    Write::Pause { key: PauseKey::Workorder(work_order_id.clone()), pause: valid(pause) }
}

async fn usage(work_order_id: &WorkOrderId, claim_version: u64, world: &TestStore) -> UsageRecord {
    UsageRecord {
        work_order_id: work_order_id.clone(),
        claim_version,
        provider: "scripted".into(),
        model: Some("model-1".into()),
        requests: 2,
        retries: 1,
        input_tokens: 1_000,
        output_tokens: 200,
        cost_microusd: Some(15),
        created_at: world.now().await,
    }
}

async fn evidence(work_order_id: &WorkOrderId, world: &TestStore) -> GateEvidence {
    let check = CheckEvidence {
        name: "tests".into(),
        subject: CheckSubject::Patched,
        command: vec!["make".into(), "test".into()],
        exit_code: Some(0),
        timed_out: false,
        duration_ms: 17,
        output_tail: "ok\n".into(),
        tree: Some("2".repeat(40)),
        sandbox_mode: "off".into(),
    };
    GateEvidence {
        run_id: RunId::of(work_order_id),
        work_order_id: work_order_id.clone(),
        base_commit_sha: None,
        checks: vec![check],
        created_at: world.now().await,
    }
}
