//! Capture Readiness and Scheduler: W-2 to W-4, TF-1 to TF-4, O-1 and O-3, every way out.

use azolla_control_plane::{Tick, workers::scheduler::has_schedulable_triage};
use azolla_protocol::{
    Actor, CaptureStatus, DiazotrophType, Event, EventType, ObjectiveStatus, PauseReason, ProcessedReason,
    ResourceRef, Wait, WaitSource, WorkorderStatus,
    content::{TriageInput, read_data},
};
use azolla_substrate::{Release, StreamState, Write};
use azolla_testkit::{
    Backend, TaskWorld,
    cycle::{LATER_MS, valid},
    store::azolla_id,
    world::ScriptedLedger,
};

use super::*;

/// TF-3, TF-4: snapshot, workorder, counted attempts and the processed event, of one commit; no objective moves.
#[tokio::test]
async fn tf3_tf4_a_capture_becomes_a_workorder() {
    let world = TaskWorld::new(Backend::Sqlite).await;
    let before = world.standing().await;
    let id = world.scheduled(&["buy milk"]).await.remove(0);
    let read = world.store.read();
    let stored = read.workorder(&workorder(&id, 1)).await.unwrap().unwrap();
    let made = &stored.workorder;
    assert_eq!((made.diazotroph_type, made.status), (DiazotrophType::Triage, WorkorderStatus::Created));
    assert_eq!((made.branch_name.as_deref(), made.budget_ms), (None, 120_000));
    assert_eq!(made.objective_id, before.objective.objective_id);
    let snapshot = read.context_snapshot(&made.context_snapshot_id).await.unwrap().unwrap();
    assert_eq!((snapshot.repo_commit_sha, snapshot.related_yield_refs), (None, Vec::new()));
    let input: TriageInput = read_data(&snapshot.full_prompt_text).unwrap();
    assert_eq!(input.captures[0].text, "buy milk");
    assert_eq!(reason(&world, &id, 1).await, Some(ProcessedReason::Scheduled));
    assert_eq!(world.capture(&id).await.attempts, 1);
    // S-n: it stays where it is.
    assert_eq!(world.standing().await, before);
    // The claim ended with the commit.
    let claim = read.claim(&ResourceRef::from(&event_id(&id, 1))).await.unwrap().unwrap();
    assert!(claim.lease_expires_at <= world.store.now().await);
}

/// TF-1, TF-2, W-3: the oldest event goes first, and takes the oldest captures up to the limit.
#[tokio::test]
async fn tf1_tf2_w3_a_batch_holds_the_oldest_captures() {
    let mut world = TaskWorld::new(Backend::Sqlite).await;
    world.ctx.settings.triage_batch = 2;
    let ids = world.scheduled(&["one", "two", "three"]).await;
    assert_eq!(batch(&world, &workorder(&ids[0], 1)).await, ids[..2]);
    let attempts = [world.capture(&ids[1]).await.attempts, world.capture(&ids[2]).await.attempts];
    assert_eq!(attempts, [1, 0]);
    // The next events: one has nothing of its own left to do, and takes what there is.
    world.runner().await;
    world.gate().await;
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(batch(&world, &workorder(&ids[1], 1)).await, ids[2..]);
}

/// TF-2: the event's own capture is always among the batch, in its place.
#[tokio::test]
async fn tf2_the_events_own_capture_is_always_in_the_batch() {
    let mut world = TaskWorld::new(Backend::Sqlite).await;
    world.ctx.settings.triage_batch = 2;
    let mut ids = Vec::new();
    for text in ["one", "two", "three"] {
        ids.push(world.captured(text).await);
    }
    let event = Event {
        event_id: event_id(&ids[2], 1),
        event_type: EventType::CaptureReady,
        resource_id: ids[2].to_string(),
        azolla_id: azolla_id(),
        created_at: world.store.now().await,
        processed: false,
        processed_reason: None,
        processed_at: None,
    };
    let write = Write::EmitEvent { event: valid(event), entry: Some(1) };
    world.store.done(Actor::CaptureReadiness, write).await;
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(batch(&world, &workorder(&ids[2], 1)).await, [ids[0].clone(), ids[2].clone()]);
}

/// TF-2: nothing to triage is a reason, not a workorder.
#[tokio::test]
async fn tf2_no_pending_captures_ends_the_event() {
    let world = TaskWorld::new(Backend::Sqlite).await;
    let id = world.captured("buy milk").await;
    world.readiness().await;
    world.operator().process_capture(&id, "done by hand").await.unwrap();
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(reason(&world, &id, 1).await, Some(ProcessedReason::NoPendingCaptures));
    assert_eq!((world.scheduler().await, world.triage.calls()), (Tick::Idle, 0));
    assert_sound(&world).await;
}

/// W-2: one unprocessed event per capture, none while its triage runs, and none after it passed.
#[tokio::test]
async fn w2_a_capture_has_one_event_per_attempt() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let world = TaskWorld::new(backend).await;
        let id = world.captured("buy milk").await;
        assert_eq!([world.readiness().await, world.readiness().await], [Tick::Advanced, Tick::Idle]);
        world.scheduler().await;
        assert_eq!(world.readiness().await, Tick::Idle, "while it waits for its worker");
        world.runner().await;
        assert_eq!(world.readiness().await, Tick::Idle, "while it waits for its gate");
        world.gate().await;
        assert_eq!(world.readiness().await, Tick::Idle, "after it passed");
        assert_eq!(world.capture(&id).await.capture.status, CaptureStatus::Processed);
    }
}

/// W-2: after a failed triage there is one new event per capture while it has attempts left, then none by itself; the
/// operator's retry gives it further ones.
#[tokio::test]
async fn w2_o1_a_failed_capture_is_not_emitted_for_ever() {
    let world = TaskWorld::with(Backend::Sqlite, [text("prose")]).await;
    let id = world.captured("buy milk").await;
    world.run_to_pause().await.unwrap();
    assert_eq!(world.triage.calls(), 2);
    let stored = world.capture(&id).await;
    assert_eq!((stored.attempts, stored.held), (2, true));
    assert_eq!(world.readiness().await, Tick::Idle);
    world.operator().retry_capture(&id).await.unwrap();
    world.run_to_pause().await.unwrap();
    assert_eq!(world.triage.calls(), 4);
    let stored = world.capture(&id).await;
    assert_eq!((stored.attempts, stored.attempts_before, stored.held), (4, 2, true));
    assert_eq!(reason(&world, &id, 4).await, Some(ProcessedReason::Scheduled));
    assert_sound(&world).await;
}

/// W-4: a TASK_MGMT azolla has one workorder at a time, whatever is configured; its events wait unclaimed.
#[tokio::test]
async fn w4_there_is_one_triage_at_a_time() {
    let mut world = TaskWorld::new(Backend::Sqlite).await;
    world.ctx.settings.room.max_concurrent = 3;
    world.ctx.settings.triage_batch = 1;
    let ids = world.scheduled(&["one", "two"]).await;
    assert_eq!(world.scheduler().await, Tick::Idle);
    let next = ResourceRef::from(&event_id(&ids[1], 1));
    assert_eq!(world.store.read().claim(&next).await.unwrap(), None);
    assert_eq!(world.store.read().stream().await.unwrap(), StreamState { open: 1, waiting: 0 });
}

/// W-4, T36: what was given back while the clock was ahead is free, and so goes before orientation.
#[tokio::test]
async fn w4_t36_a_triage_that_was_given_back_by_a_clock_ahead_could_begin() {
    const TWO_DAYS_MS: i64 = 2 * 24 * 3_600_000;
    let world = TaskWorld::new(Backend::Sqlite).await;
    let id = world.captured("buy milk").await;
    world.readiness().await;
    world.store.advance(TWO_DAYS_MS).await;
    let claim = world.store.granted(&ResourceRef::from(&event_id(&id, 1))).await;
    world.store.store.release_claim(&claim.fence, Release::Failed, Actor::Scheduler).await.unwrap();
    world.store.advance(-TWO_DAYS_MS).await;
    assert!(has_schedulable_triage(&world.ctx).await.unwrap());
}

/// W-4: what could be triaged now goes before orientation; what waits, backs off or is used up does not.
#[tokio::test]
async fn w4_schedulable_triage_is_known() {
    let mut world = TaskWorld::new(Backend::Sqlite).await;
    assert!(!has_schedulable_triage(&world.ctx).await.unwrap(), "nothing is captured");
    let id = world.captured("one").await;
    world.readiness().await;
    assert!(has_schedulable_triage(&world.ctx).await.unwrap());
    world.store.granted(&ResourceRef::from(&event_id(&id, 1))).await;
    assert!(!has_schedulable_triage(&world.ctx).await.unwrap(), "somebody holds the event");
    world.store.advance(LEASE_MS).await;
    assert!(has_schedulable_triage(&world.ctx).await.unwrap());
    let ledger = ScriptedLedger::default();
    let wait = Wait {
        reason: "quota".into(),
        time: std::time::Duration::from_secs(60),
        source: WaitSource::Provider,
    };
    *ledger.waits.lock().unwrap() = Some(wait);
    world.ctx.ledger = std::sync::Arc::new(ledger);
    assert!(!has_schedulable_triage(&world.ctx).await.unwrap(), "the provider has no quota");
    world.ctx.ledger = std::sync::Arc::new(azolla_testkit::world::NoCaps);
    world.operator().process_capture(&id, "done").await.unwrap();
    assert!(!has_schedulable_triage(&world.ctx).await.unwrap(), "nothing is left to triage");
}

/// W-7, O-1: an event that kills its scheduler is BLOCKED and its capture held, with one thing to do; the standing
/// objective stays, and the captures behind it go on.
#[tokio::test]
async fn w7_o1_an_event_that_kills_its_scheduler_holds_its_capture() {
    let world = TaskWorld::new(Backend::Sqlite).await;
    let (first, second) = (world.captured("one").await, world.captured("two").await);
    world.readiness().await;
    claimed_in_vain(&world, &ResourceRef::from(&event_id(&first, 1)), 3).await;
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(reason(&world, &first, 1).await, Some(ProcessedReason::Blocked));
    let pause = world.pause().await;
    assert_eq!(pause.reason, PauseReason::Blocked);
    assert_eq!(
        pause.prioritized_actions,
        [format!(
            "Scheduling a triage failed 3 times in a row; check the store and the disk: azolla doctor && \
         azolla triage retry {first}"
        )]
    );
    assert!(world.capture(&first).await.held);
    assert_eq!(world.standing().await.objective.status, ObjectiveStatus::InProgress);
    world.run_to_pause().await.unwrap();
    assert_eq!(batch(&world, &workorder(&second, 1)).await, [second]);
    // The operator's retry brings it back, with an event of its own.
    world.operator().retry_capture(&first).await.unwrap();
    world.run_to_pause().await.unwrap();
    assert_eq!(world.capture(&first).await.capture.status, CaptureStatus::Processed);
    assert_sound(&world).await;
}

/// O-1: a prompt over its limit holds the captures at once, with one action; the standing objective stays.
#[tokio::test]
async fn o1_a_limit_without_room_holds_the_captures() {
    let mut world = TaskWorld::new(Backend::Sqlite).await;
    world.ctx.settings.prompt_bytes = 1_000;
    let ids = [world.captured("one").await, world.captured("two").await];
    world.run_to_pause().await.unwrap();
    assert_eq!(reason(&world, &ids[0], 1).await, Some(ProcessedReason::Blocked));
    assert_eq!(reason(&world, &ids[1], 1).await, Some(ProcessedReason::NoPendingCaptures));
    assert!(world.capture(&ids[0]).await.held && world.capture(&ids[1]).await.held);
    let pause = world.pause().await;
    assert_eq!((pause.reason, pause.prioritized_actions.len()), (PauseReason::Blocked, 1));
    let action = &pause.prioritized_actions[0];
    assert!(action.starts_with("Raise prompt_bytes in [limits] above "), "{action}");
    assert!(action.ends_with(", then run: azolla triage retry"), "{action}");
    assert_eq!(world.standing().await.objective.status, ObjectiveStatus::InProgress);
    world.ctx.settings.prompt_bytes = 400_000;
    let mut retried = world.operator().retry_held().await.unwrap();
    retried.sort();
    assert_eq!(retried, ids);
    // the operator's step followed it.
    assert_eq!(world.standing().await.pause_key, None);
    world.run_to_pause().await.unwrap();
    assert_eq!(world.capture(&ids[1]).await.capture.status, CaptureStatus::Processed);
    assert_sound(&world).await;
}

/// W-3, W-7: without its standing objective an azolla can schedule nothing: it waits, asks nobody, and ends the event
/// like any other that comes to nothing three times.
#[tokio::test]
async fn w7_a_missing_standing_objective_is_not_waited_for_without_end() {
    let mut world = TaskWorld::new(Backend::Sqlite).await;
    let id = world.captured("one").await;
    world.readiness().await;
    let azolla_control_plane::Flow::TaskMgmt(flow) = &mut world.ctx.flow else { panic!("task management") };
    flow.standing = azolla_protocol::ObjectiveId::new("obj-nowhere").unwrap();
    for _ in 0..3 {
        assert!(matches!(world.scheduler().await, Tick::Waiting(_)));
        world.as_another_owner();
        world.store.advance(LATER_MS).await;
    }
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(reason(&world, &id, 1).await, Some(ProcessedReason::Blocked));
    assert!(world.capture(&id).await.held);
    assert_eq!([world.readiness().await, world.scheduler().await], [Tick::Idle, Tick::Idle]);
    assert_eq!(world.triage.calls(), 0);
    assert_sound(&world).await;
}
