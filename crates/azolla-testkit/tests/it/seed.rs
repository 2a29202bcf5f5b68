//! A store with a row in every table, made by commits alone; its content as one text; and refusals that are seen
//! to leave that text as it was.

use azolla_protocol::{
    Actor, AzollaId, CandidateOutcome, CaptureBuffer, CaptureId, CaptureStatus, CheckEvidence, CheckSubject,
    EventId, EventType, GateEvidence, GateResult, IdSource, ManifestId, Objective, ObjectiveId,
    ObjectiveStatus, OutputId, PauseReason, PauseState, RunId, SessionManifest, Timestamp, UsageRecord,
    WorkOrderId, lifecycle::ObjectiveStep,
};
use azolla_substrate::{
    Commit, CommitOutcome, Fence, ObjectiveMark, PauseKey, SubstrateError, Write, export,
};
pub(crate) use azolla_testkit::triage::resolution;
use azolla_testkit::{
    PatchCycle, SequentialIds, TestStore, TriageCycle,
    cycle::{event, output_bundle, pause_state, run_record, valid},
    store::{AZOLLA, Place, azolla_id},
};
use tokio_postgres::NoTls;

/// What [`full`] left in a store.
pub(crate) struct Full {
    /// DONE and confirmed; its workorder is gated PASS, with usage, evidence and a manifest.
    pub(crate) done: ObjectiveId,
    pub(crate) gated: WorkOrderId,
    /// A triage that passed: its first candidate is PROMOTED, then DEFERRED, DISCARDED, and one that is open.
    pub(crate) triaged: WorkOrderId,
    /// TODO for the second time after a gate's FAIL; the event of this entry is unprocessed.
    pub(crate) todo: ObjectiveId,
    pub(crate) failed: WorkOrderId,
    pub(crate) todo_event: EventId,
    /// IN_PROGRESS; its workorder is CREATED, in slot 0, under a live claim.
    pub(crate) open: ObjectiveId,
    pub(crate) created: WorkOrderId,
    pub(crate) fence: Fence,
    /// PENDING, with an unprocessed event for its first attempt.
    pub(crate) pending: CaptureId,
    pub(crate) pending_event: EventId,
    pub(crate) processed: CaptureId,
    pub(crate) manifest_event: EventId,
}

/// Fills a store.
pub(crate) async fn full(world: &TestStore) -> Full {
    let (done, gated) = confirmed(world).await;
    let triage = TriageCycle::new(world).await;
    let triaged = triaged(&triage).await;
    let retried = PatchCycle::todo(world).await;
    let failed = retried.run(GateResult::Fail).await;
    let todo_event = retried.emitted().await;
    let running = PatchCycle::todo(world).await;
    let created = running.scheduled().await;
    let fence = world.granted(&(&created).into()).await.fence;

    let now = world.now().await;
    let [pending, processed] = [capture(world).await, capture(world).await];
    for capture in [&pending, &processed] {
        world.done(Actor::Client, Write::InsertCapture(valid(capture.clone()))).await;
    }
    let (pending, processed) = (pending.capture_id, processed.capture_id);
    world
        .done(
            Actor::Operator,
            Write::ProcessCapture { capture_id: processed.clone(), at: now, no_action: None },
        )
        .await;
    let pending_event = EventId::for_attempt(&pending, 1).unwrap();
    let ready = event(pending_event.clone(), EventType::CaptureReady, pending.as_str(), now);
    world.done(Actor::CaptureReadiness, Write::EmitEvent { event: valid(ready), entry: Some(1) }).await;
    let manifest_event = EventId::from_body(&world.ids.body());
    let asked = event(manifest_event.clone(), EventType::ManifestRequested, azolla_id().as_str(), now);
    world.done(Actor::Operator, Write::EmitEvent { event: valid(asked), entry: None }).await;
    overdue(world).await;
    Full {
        done,
        gated,
        triaged,
        todo: retried.objective_id,
        failed,
        todo_event,
        open: running.objective_id,
        created,
        fence,
        pending,
        pending_event,
        processed,
        manifest_event,
    }
}

/// A cycle that leaves everything behind that a cycle can, confirmed by the operator.
async fn confirmed(world: &TestStore) -> (ObjectiveId, WorkOrderId) {
    let cycle = PatchCycle::todo(world).await;
    let id = cycle.objective_id.clone();
    let gated = cycle.scheduled().await;
    let now = world.now().await;
    let runner = world.granted(&(&gated).into()).await.fence;
    let commit = Commit::new(world.ids.commit_id(), Actor::Runner)
        .with(Write::RecordUsage(valid(usage(&runner, &gated, now))))
        .with(Write::Execute(valid(output_bundle(&gated, &id, now))));
    assert_eq!(world.store.commit(commit.fenced(runner)).await.unwrap(), CommitOutcome::Done);

    let gate = world.granted(&(&gated).into()).await.fence;
    let stored = cycle.stored().await;
    let next = Objective { status: ObjectiveStatus::Done, updated_at: now, ..stored.objective.clone() };
    let commit = Commit::new(world.ids.commit_id(), Actor::Gate)
        .with(Write::Gate(valid(run_record(&gated, &id, GateResult::Pass, now))))
        .with(Write::RecordEvidence(valid(evidence(&gated, now))))
        .with(Write::AdvanceObjective {
            was: ObjectiveMark::from(&stored),
            step: ObjectiveStep::GatePass,
            next: valid(next),
        })
        .with(Write::Pause {
            key: PauseKey::Workorder(gated.clone()),
            pause: valid(pause_state(&id, PauseReason::RunComplete, now)),
        })
        .with(Write::InsertManifest { manifest: valid(manifest(&gated, now)), work_order_id: gated.clone() });
    assert_eq!(world.store.commit(commit.fenced(gate)).await.unwrap(), CommitOutcome::Done);

    world.done(Actor::Operator, confirm(&cycle, &gated).await).await;
    (id, gated)
}

/// A deadline of another azolla's objective, and two snoozes.
async fn overdue(world: &TestStore) {
    let now = world.now().await;
    let [other, elsewhere] = ["obj-other", "obj-elsewhere"].map(|id| ObjectiveId::new(id).unwrap());
    let source = AzollaId::new("az-other").unwrap();
    let pause =
        PauseState { azolla_id: source.clone(), ..pause_state(&other, PauseReason::RunComplete, now) };
    let write = Write::Pause { key: PauseKey::Deadline { at: now, urgency: 2 }, pause: valid(pause) };
    world.done(Actor::DeadlineMonitor, write).await;
    for objective_id in [other, elsewhere] {
        let write = Write::Snooze { azolla_id: source.clone(), objective_id, until: now.plus_ms(60_000) };
        world.done(Actor::Operator, write).await;
    }
}

/// A triage with a candidate of each kind but DUPLICATE.
async fn triaged(cycle: &TriageCycle<'_>) -> WorkOrderId {
    let (_, work_order_id) = cycle.passed(4).await;
    let outcomes = [CandidateOutcome::Promoted, CandidateOutcome::Deferred, CandidateOutcome::Discarded];
    for (index, outcome) in (0..).zip(outcomes) {
        let resolved = cycle.resolve(&OutputId::of(&work_order_id), index, outcome).await;
        assert_eq!(resolved.unwrap(), CommitOutcome::Done);
    }
    work_order_id
}

/// The operator's confirmation of a gated workorder (S-j).
pub(crate) async fn confirm(cycle: &PatchCycle<'_>, gated: &WorkOrderId) -> Write {
    let stored = cycle.stored().await;
    let mut next = stored.objective.clone();
    let completion = serde_json::json!({
        "confirmed_at": cycle.world.now().await, "confirmed_by": "operator", "run_id": RunId::of(gated),
    });
    next.metadata.insert("completion".into(), completion);
    let was = ObjectiveMark::from(&stored);
    Write::AdvanceObjective { was, step: ObjectiveStep::Confirm, next: valid(next) }
}

/// A PENDING capture with a fresh id.
pub(crate) async fn capture(world: &TestStore) -> CaptureBuffer {
    new_capture(&world.ids, "Rounding is off by one half.", world.now().await)
}

/// The same without a `TestStore`.
pub(crate) fn new_capture(ids: &SequentialIds, raw_content: &str, now: Timestamp) -> CaptureBuffer {
    CaptureBuffer {
        capture_id: CaptureId::from_body(&ids.body()),
        azolla_id: azolla_id(),
        raw_content: raw_content.into(),
        source_label: "operator".into(),
        status: CaptureStatus::Pending,
        created_at: now,
        updated_at: now,
    }
}

pub(crate) fn usage(fence: &Fence, work_order_id: &WorkOrderId, created_at: Timestamp) -> UsageRecord {
    UsageRecord {
        work_order_id: work_order_id.clone(),
        claim_version: fence.claim_version,
        provider: "scripted".into(),
        model: None,
        requests: 1,
        retries: 0,
        input_tokens: 900,
        output_tokens: 90,
        cost_microusd: None,
        created_at,
    }
}

pub(crate) fn evidence(work_order_id: &WorkOrderId, created_at: Timestamp) -> GateEvidence {
    let check = CheckEvidence {
        name: "tests".into(),
        subject: CheckSubject::Patched,
        command: vec!["make".into(), "test".into()],
        exit_code: Some(0),
        timed_out: false,
        duration_ms: 800,
        output_tail: "ok".into(),
        tree: None,
        sandbox_mode: "none".into(),
    };
    GateEvidence {
        run_id: RunId::of(work_order_id),
        work_order_id: work_order_id.clone(),
        base_commit_sha: None,
        checks: vec![check],
        created_at,
    }
}

pub(crate) fn manifest(work_order_id: &WorkOrderId, created_at: Timestamp) -> SessionManifest {
    SessionManifest {
        manifest_id: ManifestId::of(work_order_id),
        azolla_id: azolla_id(),
        queried_azolla_ids: Vec::new(),
        pause_state_summary: Vec::new(),
        prioritized_orientation: vec!["Review one result".into()],
        created_at,
    }
}

/// Returns the whole export of a store.
pub(crate) async fn exported(world: &TestStore) -> String {
    let mut text = String::new();
    let mut write = |line: &str| {
        text.push_str(line);
        text.push('\n');
        Ok(())
    };
    export(world.read(), &mut write).await.expect("the store exports");
    text
}

/// Sends a commit that has to end in an error, with a write before its own that nothing objects to: neither may be
/// there afterwards.
pub(crate) async fn refused(
    world: &TestStore,
    actor: Actor,
    fence: Option<&Fence>,
    writes: impl IntoIterator<Item = Write>,
) -> SubstrateError {
    let harmless = Write::InsertCapture(valid(capture(world).await));
    let mut commit = Commit::new(world.ids.commit_id(), actor).with(harmless);
    for write in writes {
        commit = commit.with(write);
    }
    if let Some(fence) = fence {
        commit = commit.fenced(fence.clone());
    }
    refused_commit(world, commit).await
}

/// The same for a commit as it is.
pub(crate) async fn refused_commit(world: &TestStore, commit: Commit) -> SubstrateError {
    let before = exported(world).await;
    let error = world.store.commit(commit).await.expect_err("the commit is refused");
    assert_eq!(exported(world).await, before, "a refused commit left something: {error}");
    error
}

/// Returns `artifact.field RULE` of a refusal, and the text of any other error.
pub(crate) fn place(error: &SubstrateError) -> String {
    match error {
        SubstrateError::Refused { artifact, field, rule, .. } => format!("{artifact}.{field} {rule}"),
        other => other.to_string(),
    }
}

/// Returns the first column of a query that runs behind the Substrate's back.
pub(crate) async fn strings(world: &TestStore, sql: &str) -> Vec<String> {
    strings_at(&world.place, sql).await
}

/// The same without a `TestStore`.
pub(crate) async fn strings_at(place: &Place, sql: &str) -> Vec<String> {
    match place {
        Place::File(path, _) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            let mut statement = connection.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.get(0)).unwrap();
            rows.map(Result::unwrap).collect()
        }
        Place::Database(database) => {
            let (client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute(&format!("SET search_path TO \"{AZOLLA}\"")).await.unwrap();
            client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
        }
    }
}
