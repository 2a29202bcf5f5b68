//! Orientation, tick by tick: from a request to the session_manifest, and every way in which it ends before (7.3).

mod gate;
mod overtaken;
mod peers;
mod period;
mod takeover;

use std::time::Duration;

use azolla_control_plane::Tick;
use azolla_protocol::{
    Actor, AzollaId, DiazotrophType, Event, EventId, EventType, JsonObject, Objective, ObjectiveId,
    ObjectiveStatus, ObjectiveType, PauseReason, PauseState, ProcessedReason, ResourceRef, SnapshotId,
    Timestamp, Wait, WaitSource, WorkOrderId, WorkorderStatus,
    content::{ManifestInput, read_data},
};
use azolla_substrate::{Release, Write};
use azolla_testkit::{
    Backend, PeerAnswer, TaskWorld,
    cycle::{LEASE_MS, valid},
    task_world::STANDING,
    world::ScriptedLedger,
};
use serde_json::{Value, json};

/// Less than a second: for peers that never answer.
pub(crate) const SHORT: Duration = Duration::from_millis(20);

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Asks for an orientation, as the operator does.
pub(crate) async fn request(world: &TaskWorld, id: &str) -> EventId {
    let event_id = EventId::new(id).expect("an id");
    let event = Event {
        event_id: event_id.clone(),
        event_type: EventType::ManifestRequested,
        resource_id: world.ctx.identity.azolla_id.to_string(),
        azolla_id: world.ctx.identity.azolla_id.clone(),
        created_at: world.store.now().await,
        processed: false,
        processed_reason: None,
        processed_at: None,
    };
    world.store.done(Actor::Operator, Write::EmitEvent { event: valid(event), entry: None }).await;
    event_id
}

/// How an event ended.
pub(crate) async fn ended(world: &TaskWorld, id: &EventId) -> Option<ProcessedReason> {
    world.store.read().event(id).await.expect("a read").expect("it is there").event.processed_reason
}

/// An objective of another azolla.
pub(crate) fn objective(azolla: &str, id: &str, urgency: u8, updated_at: Timestamp) -> Objective {
    Objective {
        objective_id: ObjectiveId::new(id).expect("an id"),
        azolla_id: AzollaId::new(azolla).expect("an id"),
        title: format!("Title of {id}"),
        acceptance_criteria: "It is done.".into(),
        objective_type: ObjectiveType::Ticket,
        status: ObjectiveStatus::Todo,
        importance: 2,
        urgency,
        blocked_reason: None,
        blocked_on: Vec::new(),
        metadata: JsonObject::new(),
        created_at: updated_at,
        updated_at,
    }
}

/// A pause_state of another azolla.
pub(crate) fn pause(azolla: &str, id: &str, created_at: Timestamp) -> PauseState {
    PauseState {
        objective_id: ObjectiveId::new(id).expect("an id"),
        azolla_id: AzollaId::new(azolla).expect("an id"),
        reason: PauseReason::GateFailed,
        prioritized_actions: vec![format!("Review gate failure reason: azolla review {id}")],
        created_at,
    }
}

/// An azolla that holds these.
pub(crate) fn holds(pause_states: &[PauseState], objectives: &[Objective]) -> PeerAnswer {
    fn objects(artifacts: Value) -> Vec<JsonObject> {
        artifacts
            .as_array()
            .expect("its shape")
            .iter()
            .map(|artifact| artifact.as_object().expect("its shape").clone())
            .collect()
    }
    PeerAnswer::Holds { pause_states: objects(json!(pause_states)), objectives: objects(json!(objectives)) }
}

/// A world with one azolla that answers.
pub(crate) async fn world(backend: Backend) -> TaskWorld {
    let mut world = TaskWorld::new(backend).await;
    let now = world.store.now().await;
    let (pauses, objectives) = ([pause("az-app", "obj-1", now)], [objective("az-app", "obj-1", 1, now)]);
    world.peers.register("az-app", holds(&pauses, &objectives));
    world.ctx.settings.peer_query = SHORT;
    world
}

/// What a snapshot has as data, and its metadata.
async fn snapshot(world: &TaskWorld, event_id: &EventId) -> (ManifestInput, Value, String) {
    let snapshot = world
        .store
        .read()
        .context_snapshot(&SnapshotId::of(event_id))
        .await
        .expect("a read")
        .expect("it is there");
    assert_eq!((snapshot.repo_commit_sha, snapshot.related_yield_refs.len()), (None, 0));
    assert_eq!(snapshot.objective_id.as_str(), STANDING);
    let data = read_data(&snapshot.full_prompt_text).expect("the prompt has its data");
    (data, json!(snapshot.metadata), snapshot.full_prompt_text)
}

#[tokio::test]
async fn mf2_mf3_mf4_a_request_becomes_one_workorder_over_what_everybody_said() {
    let world = world(Backend::Sqlite).await;
    let now = world.store.now().await;
    let (old, overdue) = (now.plus_ms(-3 * DAY_MS), now.plus_ms(-2 * DAY_MS));
    let mut done = objective("az-app", "obj-done", 0, now);
    done.status = ObjectiveStatus::Done;
    let mut archived = objective("az-app", "obj-gone", 0, now);
    archived.metadata.insert("archived_at".into(), json!(now));
    let objectives = [
        objective("az-app", "obj-later", 3, now),
        objective("az-app", "obj-late", 1, overdue),
        done,
        archived,
        objective("az-app", "obj-never", 4, now),
    ];
    let mut pauses = [pause("az-app", "obj-late", now), pause("az-app", "obj-done", now)];
    pauses[1].reason = PauseReason::RunComplete;
    world.peers.register("az-app", holds(&pauses, &objectives));
    world.peers.register("az-denied", PeerAnswer::denied());
    world.peers.register("az-hangs", PeerAnswer::Hangs);
    world.peers.register("az-stale", holds(&[], &[objective("az-stale", "obj-old", 4, old)]));
    let event_id = request(&world, "evt-1").await;
    assert_eq!(world.manifest_scheduler().await, Tick::Advanced);

    assert_eq!(ended(&world, &event_id).await, Some(ProcessedReason::Scheduled));
    let stored = world
        .store
        .read()
        .workorder(&WorkOrderId::of(&event_id))
        .await
        .expect("a read")
        .expect("it is there");
    let workorder = stored.workorder;
    assert_eq!(workorder.diazotroph_type, DiazotrophType::ManifestBuilder);
    assert_eq!((workorder.status, workorder.branch_name), (WorkorderStatus::Created, None));
    assert_eq!(workorder.budget_ms, world.ctx.settings.budget_manifest_ms);

    let (data, metadata, _) = snapshot(&world, &event_id).await;
    assert_eq!(
        metadata,
        json!({
            "objective_version": 1,
            "queried_azolla_ids": ["az-app", "az-stale"],
            "pause_state_summary": [
                {"source_azolla_id": "az-app", "objective_id": "obj-late", "reason": "GATE_FAILED",
                 "prioritized_actions": ["Review gate failure reason: azolla review obj-late"]},
                {"source_azolla_id": "az-app", "objective_id": "obj-done", "reason": "RUN_COMPLETE",
                 "prioritized_actions": ["Review gate failure reason: azolla review obj-done"]},
            ],
            "remarks": [
                "az-denied: DENIED",
                "az-hangs: TARGET_UNAVAILABLE: no answer in 20 ms",
                format!("az-stale: stale: nothing new since {old}"),
            ],
        })
    );
    let app = &data.azollas[0];
    let briefs: Vec<_> =
        app.objectives.iter().map(|brief| (brief.objective_id.as_str(), brief.deadline)).collect();
    let expected = [
        ("obj-late", Some(overdue.plus_ms(DAY_MS))),
        ("obj-later", Some(now.plus_ms(30 * DAY_MS))),
        ("obj-never", None),
    ];
    assert_eq!(briefs, expected, "the overdue one first, nothing that is done or archived");
    assert_eq!(data.azollas.len(), 4);
    assert_eq!((data.captures_pending, data.candidates_open, data.pause_states.len()), (0, 0, 0));
}

/// MF-2: every question is a query of its own, signed with our name, within what M-3 allows.
#[tokio::test]
async fn mf2_queries_are_fresh_and_have_known_filters() {
    let world = world(Backend::Sqlite).await;
    request(&world, "evt-1").await;
    world.manifest_scheduler().await;
    let asked = world.peers.asked();
    let mut ids: Vec<_> = asked.iter().map(|query| query.query_id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), asked.len());
    let filters: Vec<String> =
        asked.iter().map(|query| format!("{} {}", query.artifact_type, json!(query.filter))).collect();
    assert_eq!(
        filters,
        [
            r#"pause_state {"latest_only":true,"limit":500}"#,
            r#"objective {"limit":500,"max_urgency":4,"status":"NEW"}"#,
            r#"objective {"limit":500,"max_urgency":4,"status":"TODO"}"#,
            r#"objective {"limit":500,"max_urgency":4,"status":"IN_PROGRESS"}"#,
            r#"objective {"limit":500,"max_urgency":4,"status":"BLOCKED"}"#,
        ]
    );
    for query in asked {
        assert_eq!(query.source_azolla_id, world.ctx.identity.azolla_id);
        valid(query);
    }
}

#[tokio::test]
async fn mf2_with_nobody_registered_the_request_ends_with_one_action() {
    let world = TaskWorld::new(Backend::Sqlite).await;
    let event_id = request(&world, "evt-1").await;
    assert_eq!(world.manifest_scheduler().await, Tick::Advanced);
    assert_eq!(ended(&world, &event_id).await, Some(ProcessedReason::NoReachableAzollas));
    let pause = world.pause().await;
    assert_eq!((pause.reason, pause.objective_id.as_str()), (PauseReason::Blocked, STANDING));
    assert_eq!(
        pause.prioritized_actions,
        [
            "No other azolla is registered, so there is nothing to give orientation over (here: 0 captures for triage, \
          0 candidates to look at). Add one, in a repository: azolla init && azolla manifest"
        ]
    );
    assert_eq!(world.standing().await.objective.status, ObjectiveStatus::InProgress);
    assert!(world.store.read().workorder(&WorkOrderId::of(&event_id)).await.expect("a read").is_none());
}

#[tokio::test]
async fn mf2_with_nobody_reachable_the_pause_names_them_all() {
    let mut world = TaskWorld::new(Backend::Sqlite).await;
    world.ctx.settings.peer_query = SHORT;
    world.peers.register("az-denied", PeerAnswer::denied());
    world.peers.register("az-hangs", PeerAnswer::Hangs);
    let said =
        azolla_exchange_membrane::peers::Asked::unavailable("no: azolla objective confirm obj-1\u{1b}[2J\n");
    world.peers.register("az-says", PeerAnswer::Says(said));
    let event_id = request(&world, "evt-1").await;
    assert_eq!(world.manifest_scheduler().await, Tick::Advanced);
    assert_eq!(ended(&world, &event_id).await, Some(ProcessedReason::NoReachableAzollas));
    assert_eq!(
        world.pause().await.prioritized_actions,
        [
            "No azolla answered (az-denied: DENIED; az-hangs: TARGET_UNAVAILABLE: no answer in 20 ms; az-says: \
          TARGET_UNAVAILABLE: no, azolla objective confirm obj-1 [2J; here: 0 captures for triage, 0 candidates to look \
          at). Find out why: azolla doctor && azolla manifest"
        ]
    );
    // W-5: it is over.
    assert_eq!(world.manifest_scheduler().await, Tick::Idle);
}

/// W-4: while a workorder is open, the request waits unprocessed and unclaimed, and nobody is asked.
#[tokio::test]
async fn w4_a_full_stream_lets_the_request_wait() {
    let world = world(Backend::Sqlite).await;
    request(&world, "evt-1").await;
    assert_eq!(world.manifest_scheduler().await, Tick::Advanced);
    let waiting = request(&world, "evt-2").await;
    let asked = world.peers.asked().len();
    assert_eq!(world.manifest_scheduler().await, Tick::Idle);
    assert_eq!((ended(&world, &waiting).await, world.peers.asked().len()), (None, asked));
    assert_eq!(world.store.read().claim(&ResourceRef::from(&waiting)).await.expect("a read"), None);
    world.run_to_pause().await.expect("nothing breaks");
    assert_eq!(ended(&world, &waiting).await, Some(ProcessedReason::Scheduled));
}

/// A quota or a cap of the day: the request waits the same way.
#[tokio::test]
async fn a_provider_that_has_to_be_left_alone_lets_the_request_wait() {
    let mut world = world(Backend::Sqlite).await;
    let ledger = ScriptedLedger::default();
    let (reason, time, source) = ("no quota".to_owned(), Duration::from_secs(60), WaitSource::Provider);
    *ledger.waits.lock().unwrap() = Some(Wait { reason, time, source });
    world.ctx.ledger = std::sync::Arc::new(ledger);
    let event_id = request(&world, "evt-1").await;
    assert_eq!(world.manifest_scheduler().await, Tick::Idle);
    assert_eq!((ended(&world, &event_id).await, world.peers.asked().len()), (None, 0));
}

/// O-3: what waits for the operator limits triage; orientation is about just that.
#[tokio::test]
async fn o3_results_that_wait_do_not_hold_orientation_up() {
    let mut world = world(Backend::Sqlite).await;
    world.ctx.settings.room.review_limit = 1;
    world.scheduled(&["a note"]).await;
    world.runner().await;
    world.gate().await;
    let event_id = request(&world, "evt-1").await;
    assert_eq!(world.manifest_scheduler().await, Tick::Advanced);
    assert_eq!(ended(&world, &event_id).await, Some(ProcessedReason::Scheduled));
    let (data, _, _) = snapshot(&world, &event_id).await;
    assert_eq!((data.captures_pending, data.candidates_open, data.pause_states.len()), (0, 1, 1));
}

/// W-4: schedulable triage goes first.
#[tokio::test]
async fn w4_triage_goes_before_orientation() {
    let world = world(Backend::Sqlite).await;
    let event_id = request(&world, "evt-1").await;
    world.captured("a note").await;
    world.readiness().await;
    assert_eq!(world.manifest_scheduler().await, Tick::Idle);
    assert_eq!((ended(&world, &event_id).await, world.peers.asked().len()), (None, 0));
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(world.manifest_scheduler().await, Tick::Idle, "the stream is taken");
    world.runner().await;
    world.gate().await;
    assert_eq!((ended(&world, &event_id).await, world.triage.calls()), (None, 1));
    assert_eq!(world.manifest_scheduler().await, Tick::Advanced);
    assert_eq!(ended(&world, &event_id).await, Some(ProcessedReason::Scheduled));
}

/// W-4: a note that comes while others are asked goes first too, whether or not its triage has begun by then.
#[tokio::test]
async fn w4_a_note_that_comes_while_others_are_asked_goes_first() {
    for (backend, has_begun) in [
        (Backend::Sqlite, false),
        (Backend::Sqlite, true),
        (Backend::Postgres, false),
        (Backend::Postgres, true),
    ] {
        let mut world = world(backend).await;
        world.ctx.settings.peer_query = Duration::from_secs(60);
        let peers = std::sync::Arc::new(peers::Paused::new(world.peers.clone()));
        match &mut world.ctx.flow {
            azolla_control_plane::Flow::TaskMgmt(flow) => flow.peers = peers.clone(),
            azolla_control_plane::Flow::Patch(_) => unreachable!(),
        }
        let event_id = request(&world, "evt-1").await;
        let meanwhile = async {
            peers.reached.notified().await;
            world.captured("a note").await;
            world.readiness().await;
            if has_begun {
                assert_eq!(world.scheduler().await, Tick::Advanced);
            }
            peers.go.close();
        };
        let (tick, ()) = tokio::join!(world.manifest_scheduler(), meanwhile);
        assert_eq!((tick, ended(&world, &event_id).await), (Tick::Idle, None), "{backend:?} {has_begun}");
        let stored = world.store.read().event(&event_id).await.expect("a read").expect("it is there");
        assert_eq!(stored.claim_count, 0, "that is no fault of the request");
        if !has_begun {
            assert_eq!(world.scheduler().await, Tick::Advanced);
        }
        world.runner().await;
        world.gate().await;
        assert_eq!(world.triage.calls(), 1);
        assert_eq!(world.manifest_scheduler().await, Tick::Advanced);
        assert_eq!(ended(&world, &event_id).await, Some(ProcessedReason::Scheduled));
    }
}

/// W-3, W-4: a triage that somebody holds cannot begin here; orientation does not wait for it.
#[tokio::test]
async fn w3_w4_a_triage_that_is_held_does_not_hold_orientation_up() {
    let world = world(Backend::Sqlite).await;
    let event_id = request(&world, "evt-1").await;
    let capture_id = world.captured("a note").await;
    world.readiness().await;
    let triage = EventId::for_attempt(&capture_id, 1).expect("an id");
    world.store.granted(&ResourceRef::from(&triage)).await;
    let tick = world.manifest_scheduler().await;
    assert_eq!((tick, ended(&world, &event_id).await), (Tick::Advanced, Some(ProcessedReason::Scheduled)));
}

/// W-7: after three claims without an outcome the request ends, with one action; nothing waits behind it for ever.
#[tokio::test]
async fn w7_a_request_that_never_comes_to_an_end_is_ended() {
    let mut world = world(Backend::Sqlite).await;
    let event_id = request(&world, "evt-1").await;
    let resource = ResourceRef::from(&event_id);
    for claims in 0..3 {
        let stored = world.store.read().event(&event_id).await.expect("a read").expect("it is there");
        assert_eq!((stored.claim_count, stored.event.processed), (claims, false));
        let grant = world.store.granted(&resource).await;
        world
            .store
            .store
            .release_claim(&grant.fence, Release::Failed, Actor::ManifestScheduler)
            .await
            .unwrap();
        world.as_another_owner();
    }
    assert_eq!(world.manifest_scheduler().await, Tick::Advanced);
    assert_eq!(ended(&world, &event_id).await, Some(ProcessedReason::Blocked));
    assert_eq!(world.peers.asked().len(), 0);
    let pause = world.pause().await;
    assert_eq!(pause.reason, PauseReason::Blocked);
    assert_eq!(
        pause.prioritized_actions,
        [
            "Scheduling an orientation failed 3 times in a row. Check the stores and the disk: azolla doctor && azolla \
          manifest"
        ]
    );
    let next = request(&world, "evt-2").await;
    assert_eq!(world.manifest_scheduler().await, Tick::Advanced);
    assert_eq!(ended(&world, &next).await, Some(ProcessedReason::Scheduled));
}

/// W-7: a fault that is the request's own is counted, and waits.
#[tokio::test]
async fn w7_a_fault_of_the_request_is_counted() {
    let mut world = world(Backend::Sqlite).await;
    match &mut world.ctx.flow {
        azolla_control_plane::Flow::TaskMgmt(flow) => {
            flow.standing = ObjectiveId::new("obj-missing").expect("an id")
        }
        azolla_control_plane::Flow::Patch(_) => unreachable!(),
    }
    let event_id = request(&world, "evt-1").await;
    assert!(matches!(world.manifest_scheduler().await, Tick::Waiting(_)));
    let stored = world.store.read().event(&event_id).await.expect("a read").expect("it is there");
    assert_eq!((stored.claim_count, stored.event.processed), (1, false));
    assert!(matches!(world.manifest_scheduler().await, Tick::Waiting(_)), "it backs off");
    assert_eq!(
        world.store.read().event(&event_id).await.expect("a read").expect("it is there").claim_count,
        1
    );
}

/// O-1: a prompt over its size limit ends the request with one action; the standing objective stays as it is.
#[tokio::test]
async fn o1_a_prompt_that_cannot_be_made_small_enough_ends_the_request() {
    let mut world = world(Backend::Sqlite).await;
    world.ctx.settings.prompt_bytes = 1_000;
    let event_id = request(&world, "evt-1").await;
    assert_eq!(world.manifest_scheduler().await, Tick::Advanced);
    assert_eq!(ended(&world, &event_id).await, Some(ProcessedReason::Blocked));
    let [action] = &world.pause().await.prioritized_actions[..] else { panic!("one action") };
    assert!(action.starts_with("the prompt has "), "{action}");
    assert!(
        action.ends_with("Raise prompt_bytes in [limits] of the configuration, then run: azolla manifest")
    );
    assert_eq!(world.standing().await.version, 1);
}

/// C-3, C-4: a lease that ran out while others were asked: nothing is written, and the next look ends it.
#[tokio::test]
async fn c4_a_lease_that_is_lost_while_asking_writes_nothing() {
    let mut world = world(Backend::Sqlite).await;
    let event_id = request(&world, "evt-1").await;
    let clock = world.store.clock();
    let peers = std::sync::Arc::new(peers::Slow::new(world.peers.clone(), move || clock.advance(LEASE_MS)));
    match &mut world.ctx.flow {
        azolla_control_plane::Flow::TaskMgmt(flow) => flow.peers = peers,
        azolla_control_plane::Flow::Patch(_) => unreachable!(),
    }
    assert_eq!(world.manifest_scheduler().await, Tick::Advanced);
    let stored = world.store.read().event(&event_id).await.expect("a read").expect("it is there");
    assert_eq!((stored.claim_count, stored.event.processed), (1, false));
    assert!(world.store.read().context_snapshot(&SnapshotId::of(&event_id)).await.expect("a read").is_none());
}

/// Work under way is given back when the process is asked to end, and not counted.
#[tokio::test]
async fn a_request_is_given_back_when_the_process_ends() {
    let mut world = world(Backend::Sqlite).await;
    world.ctx.settings.peer_query = Duration::from_secs(60);
    world.peers.register("az-hangs", PeerAnswer::Hangs);
    let event_id = request(&world, "evt-1").await;
    world.stop.send_replace(true);
    assert_eq!(world.manifest_scheduler().await, Tick::Idle);
    let stored = world.store.read().event(&event_id).await.expect("a read").expect("it is there");
    assert_eq!((stored.claim_count, stored.event.processed), (0, false));
}

/// MF-3: what an earlier orientation said is no news for the next one, whether it was given or could not be.
#[tokio::test]
async fn mf3_an_orientation_does_not_quote_the_one_before() {
    let world = TaskWorld::new(Backend::Sqlite).await;
    request(&world, "evt-1").await;
    assert_eq!(world.manifest_scheduler().await, Tick::Advanced, "nobody is registered");
    assert_eq!(world.pause().await.reason, PauseReason::Blocked);
    let now = world.store.now().await;
    world.peers.register("az-app", holds(&[pause("az-app", "obj-1", now)], &[]));
    for id in ["evt-2", "evt-3"] {
        let event_id = request(&world, id).await;
        assert_eq!(world.manifest_scheduler().await, Tick::Advanced);
        let (input, _, _) = snapshot(&world, &event_id).await;
        assert_eq!(input.pause_states, [], "{id}");
        assert_eq!((world.runner().await, world.gate().await), (Tick::Advanced, Tick::Advanced));
        assert_eq!(world.pause().await.reason, PauseReason::RunComplete);
    }
}
