//! Scheduler: PF-1 to PF-5, every way out.

use std::time::Duration;

use azolla_control_plane::{Tick, repo::RepositoryError};
use azolla_protocol::{
    Actor, BlockerKind, Event, EventId, EventType, ObjectiveId, ObjectiveStatus, PauseReason,
    ProcessedReason, ResourceRef, SnapshotId, WorkOrderId, WorkorderStatus,
};
use azolla_substrate::{JournalCursor, StreamRoom, Write};
use azolla_testkit::{
    Backend, MemoryRepository, World,
    cycle::{LATER_MS, LEASE_MS, valid},
    store::azolla_id,
};

pub(crate) fn first_event(id: &ObjectiveId) -> EventId {
    EventId::for_entry(id, 1).expect("a short id")
}

async fn reason(world: &World, event: &EventId) -> Option<ProcessedReason> {
    world.store.read().event(event).await.expect("a read").expect("the event").event.processed_reason
}

async fn journal(world: &World) -> usize {
    world.store.read().journal_after(JournalCursor::default(), 1_000).await.expect("a read").len()
}

/// PF-1: the oldest event first, one at a time.
#[tokio::test]
async fn pf1_the_oldest_event_is_scheduled_first() {
    let mut world = World::new(Backend::Sqlite).await;
    world.ctx.settings.room = StreamRoom { max_concurrent: 3, review_limit: 0 };
    let first = world.approved().await;
    world.readiness().await;
    world.store.advance(1_000).await;
    let second = world.approved().await;
    world.readiness().await;
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(world.objective(&first).await.objective.status, ObjectiveStatus::InProgress);
    assert_eq!(world.objective(&second).await.objective.status, ObjectiveStatus::Todo);
}

/// PF-1, C-8, W-3: an event that somebody else holds does not stop the one behind it.
#[tokio::test]
async fn pf1_c8_w3_a_held_event_is_passed_over() {
    let world = World::new(Backend::Sqlite).await;
    let first = world.approved().await;
    world.readiness().await;
    world.store.advance(1_000).await;
    let second = world.approved().await;
    world.readiness().await;
    world.store.granted(&ResourceRef::from(&first_event(&first))).await;
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(world.objective(&first).await.objective.status, ObjectiveStatus::Todo);
    assert_eq!(world.objective(&second).await.objective.status, ObjectiveStatus::InProgress);
}

/// PF-2: an event of an objective that is not there.
#[tokio::test]
async fn pf2_a_missing_objective_is_a_reason_of_its_own() {
    let world = World::new(Backend::Sqlite).await;
    let event_id = EventId::new("evt-nobody-1").expect("an id");
    let event = Event {
        event_id: event_id.clone(),
        event_type: EventType::TicketReady,
        resource_id: "obj-nobody".into(),
        azolla_id: azolla_id(),
        created_at: world.store.now().await,
        processed: false,
        processed_reason: None,
        processed_at: None,
    };
    world.store.done(Actor::Readiness, Write::EmitEvent { event: valid(event), entry: Some(1) }).await;
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(reason(&world, &event_id).await, Some(ProcessedReason::MissingTicket));
}

/// PF-2: an objective that left TODO before its event was looked at.
#[tokio::test]
async fn pf2_an_objective_that_is_not_todo_is_not_executable() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.approved().await;
    world.readiness().await;
    world.operator().withdraw(&id).await.expect("back to NEW");
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(reason(&world, &first_event(&id)).await, Some(ProcessedReason::NonExecutableStatus));
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::New);
}

/// W-1: an event whose entry is over is not executable, though the objective is TODO again.
#[tokio::test]
async fn w1_an_event_of_an_earlier_entry_is_not_executable() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.approved().await;
    world.readiness().await;
    world.operator().withdraw(&id).await.expect("back to NEW");
    world.operator().approve(&id).await.expect("TODO again");
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(reason(&world, &first_event(&id)).await, Some(ProcessedReason::NonExecutableStatus));
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Todo);
}

/// S-o: an archived objective is never scheduled, and goes on when it comes back.
#[tokio::test]
async fn so_an_archived_objective_waits_and_comes_back() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.approved().await;
    world.readiness().await;
    world.operator().archive(&id).await.expect("archived");
    assert_eq!(world.scheduler().await, Tick::Idle);
    assert_eq!(reason(&world, &first_event(&id)).await, None);
    world.operator().unarchive(&id).await.expect("back");
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::InProgress);
}

/// PF-3a: an open blocker.
#[tokio::test]
async fn pf3_an_open_blocker_blocks_and_pauses() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.approved().await;
    world.readiness().await;
    let stored = world.objective(&id).await;
    let mut next = stored.objective.clone();
    next.blocked_on.push(azolla_protocol::BlockerRef {
        blocker_id: "blk-key".parse().expect("an id"),
        kind: BlockerKind::UserInput,
        description: "which rounding?".into(),
        resolved: false,
    });
    world
        .store
        .done(Actor::Operator, Write::EditObjective { was: (&stored).into(), next: valid(next) })
        .await;
    assert_eq!(world.scheduler().await, Tick::Advanced);
    let objective = world.objective(&id).await.objective;
    assert_eq!(objective.status, ObjectiveStatus::Blocked);
    assert_eq!(objective.blocked_reason.as_deref(), Some("which rounding?"));
    assert_eq!(reason(&world, &first_event(&id)).await, Some(ProcessedReason::Blocked));
    let pauses = world.store.read().current_pause_states().await.expect("a read");
    assert_eq!(pauses.len(), 1);
    assert_eq!(pauses[0].reason, PauseReason::Blocked);
    assert_eq!(
        pauses[0].prioritized_actions,
        [
            format!("Resolve blockers for {id}: azolla objective show {id}"),
            format!("Re-emit TICKET_READY after resolution: azolla objective unblock {id}"),
        ]
    );
}

/// PF-3b: a repository that only the operator can bring back.
#[tokio::test]
async fn pf3_an_unusable_repository_blocks_with_a_blocker_of_the_machine() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.approved().await;
    world.readiness().await;
    world.repository.fail_next([RepositoryError::Unusable {
        what: "branch main is not there".into(),
        action: "Name another branch".into(),
    }]);
    assert_eq!(world.scheduler().await, Tick::Advanced);
    let objective = world.objective(&id).await.objective;
    assert_eq!(objective.status, ObjectiveStatus::Blocked);
    assert_eq!(objective.blocked_on.len(), 1);
    assert_eq!(objective.blocked_on[0].kind, BlockerKind::EnvironmentAccess);
    assert_eq!(objective.blocked_on[0].blocker_id.as_str(), format!("blk-{}-1", id.body()));
    assert_eq!(reason(&world, &first_event(&id)).await, Some(ProcessedReason::Blocked));
    world.operator().retry(&id, None).await.expect("a machine's blocker is resolved by retry");
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Todo);
}

/// PF-3b, W-7: a fault that may pass backs off, is counted, and in the end blocks.
#[tokio::test]
async fn pf3_w7_a_fault_that_never_passes_blocks_after_three_tries() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.approved().await;
    world.readiness().await;
    let away = || RepositoryError::Unavailable("no route to host".into());
    world.repository.fail_next([away(), away(), away()]);
    for tries in 1..=3 {
        assert!(matches!(world.scheduler().await, Tick::Waiting(_)), "it waits after try {tries}");
        let stored = world.store.read().event(&first_event(&id)).await.expect("a read").expect("the event");
        assert_eq!((stored.claim_count, stored.event.processed), (tries, false));
        assert!(
            matches!(world.scheduler().await, Tick::Waiting(_)),
            "and is not tried again before its time"
        );
        world.as_another_owner();
        world.store.advance(LATER_MS).await;
    }
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(reason(&world, &first_event(&id)).await, Some(ProcessedReason::Blocked));
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Blocked);
}

/// PF-3b: a prompt that is too large cannot be built (O-1).
#[tokio::test]
async fn pf3_a_prompt_over_its_limit_blocks() {
    let mut world = World::new(Backend::Sqlite).await;
    world.ctx.settings.prompt_bytes = 200;
    let id = world.approved().await;
    world.readiness().await;
    assert_eq!(world.scheduler().await, Tick::Advanced);
    let objective = world.objective(&id).await.objective;
    assert_eq!(objective.status, ObjectiveStatus::Blocked);
    assert!(objective.blocked_reason.is_some_and(|reason| reason.contains("200 are allowed")));
}

/// PF-4: what a first snapshot says.
#[tokio::test]
async fn pf4_the_snapshot_names_the_commit_the_branch_and_the_version() {
    let world = World::new(Backend::Sqlite).await;
    world.repository.put("src/lib.rs", b"");
    let id = world.scheduled().await;
    let read = world.store.read();
    let snapshot =
        read.context_snapshot(&SnapshotId::of(&first_event(&id))).await.expect("a read").expect("it");
    let metadata = snapshot.metadata.expect("a patch has metadata");
    assert_eq!(snapshot.repo_commit_sha.as_deref(), Some(MemoryRepository::BASE));
    assert_eq!(metadata["commit_sha"], MemoryRepository::BASE);
    assert_eq!(metadata["base_branch"], "main");
    assert_eq!(metadata["objective_version"], 2);
    assert!(snapshot.related_yield_refs.is_empty());
    for part in ["Round half up", "- 0.5 rounds to 1", "src/lib.rs", MemoryRepository::BASE] {
        assert!(snapshot.full_prompt_text.contains(part), "the prompt lacks {part}");
    }
}

/// PF-5: workorder, objective and event, in the one commit.
#[tokio::test]
async fn pf5_one_commit_creates_the_workorder_and_moves_everything() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.scheduled().await;
    let event_id = first_event(&id);
    let read = world.store.read();
    let stored = read.workorder(&WorkOrderId::of(&event_id)).await.expect("a read").expect("the workorder");
    assert_eq!(stored.workorder.status, WorkorderStatus::Created);
    assert_eq!(stored.workorder.branch_name, Some(format!("azolla/{id}")));
    assert_eq!(stored.workorder.budget_ms, 600_000);
    assert_eq!(reason(&world, &event_id).await, Some(ProcessedReason::Scheduled));
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::InProgress);
    // W-5: another look schedules nothing more.
    assert_eq!(world.scheduler().await, Tick::Idle);
}

/// W-4: while the stream is full, events wait unprocessed and unclaimed.
#[tokio::test]
async fn w4_a_full_stream_leaves_events_unclaimed() {
    let world = World::new(Backend::Sqlite).await;
    world.scheduled().await;
    let second = world.approved().await;
    world.readiness().await;
    assert_eq!(world.scheduler().await, Tick::Idle);
    let event_id = first_event(&second);
    assert_eq!(reason(&world, &event_id).await, None);
    assert_eq!(world.store.read().claim(&ResourceRef::from(&event_id)).await.expect("a read"), None);
}

/// O-3: enough waiting results stop new runs.
#[tokio::test]
async fn o3_waiting_results_stop_new_runs_until_the_operator_acts() {
    let mut world = World::new(Backend::Sqlite).await;
    world.ctx.settings.room.review_limit = 1;
    let first = world.executed().await;
    assert_eq!(world.gate().await, Tick::Advanced);
    let second = world.approved().await;
    world.readiness().await;
    assert_eq!(world.scheduler().await, Tick::Idle);
    world.operator().confirm(&first, None).await.expect("confirmed");
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(world.objective(&second).await.objective.status, ObjectiveStatus::InProgress);
}

/// PF-3b: an objective for another repository than the azolla's.
#[tokio::test]
async fn pf3_an_objective_for_another_repository_blocks() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.approved().await;
    world.patch().repo_ref = "/repos/other".into();
    world.readiness().await;
    assert_eq!(world.scheduler().await, Tick::Advanced);
    let objective = world.objective(&id).await.objective;
    assert_eq!(objective.status, ObjectiveStatus::Blocked);
    assert!(objective.blocked_reason.is_some_and(|reason| reason.contains("/repos/other")));
}

/// W-7, A-5: a snapshot that breaks its schema is a fault of that one event. It is counted and blocks in the end; what
/// is behind it goes on.
#[tokio::test]
async fn w7_a5_a_snapshot_that_cannot_be_written_starves_nobody() {
    let mut world = World::new(Backend::Sqlite).await;
    let first = world.approved().await;
    world.readiness().await;
    world.repository.move_base("not a commit", false);
    for _ in 0..3 {
        assert!(matches!(world.scheduler().await, Tick::Waiting(_)));
        world.as_another_owner();
        world.store.advance(LATER_MS).await;
    }
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(world.objective(&first).await.objective.status, ObjectiveStatus::Blocked);
    world.repository.move_base(MemoryRepository::BASE, false);
    let second = world.scheduled().await;
    assert_eq!(world.objective(&second).await.objective.status, ObjectiveStatus::InProgress);
}

/// W-7: a process that dies while it looks at an event leaves a count behind, though the Scheduler claims with its commit:
/// the next one finds an event that it has not made, and claims it first.
#[tokio::test]
async fn w7_a_death_while_looking_at_an_event_is_counted() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.approved().await;
    world.readiness().await;
    for death in 0..3 {
        world.as_another_owner();
        world.repository.hang_next();
        assert_eq!(world.repository.died(world.scheduler()).await, None, "death {death}");
        world.store.advance(LEASE_MS).await;
    }
    world.as_another_owner();
    assert_eq!(world.scheduler().await, Tick::Advanced);
    let objective = world.objective(&id).await.objective;
    assert_eq!(objective.status, ObjectiveStatus::Blocked);
    let reason_given = objective.blocked_reason.expect("it says why");
    assert!(reason_given.starts_with("scheduling failed 3 times in a row"), "{reason_given}");
    assert_eq!(reason(&world, &first_event(&id)).await, Some(ProcessedReason::Blocked));
}

/// PF-3, W-7: what failed in passing waits in every process, not only in the one that it failed in: one outage uses up one
/// try.
#[tokio::test]
async fn pf3_w7_what_failed_in_another_process_waits_here_too() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.approved().await;
    world.readiness().await;
    world.repository.fail_next([RepositoryError::Unavailable("no route to host".into())]);
    assert!(matches!(world.scheduler().await, Tick::Waiting(_)));
    world.store.advance(4_000).await;
    world.as_another_owner();
    assert_eq!(world.scheduler().await, Tick::Waiting(Duration::from_secs(6)));
    let event = world.store.read().event(&first_event(&id)).await.expect("a read").expect("it is there");
    assert_eq!(event.claim_count, 1);
    world.store.advance(6_000).await;
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::InProgress);
}

/// C-6: an event that another process left is scheduled as if that one had not begun.
#[tokio::test]
async fn c6_an_event_that_another_process_left_is_scheduled() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.approved().await;
    world.readiness().await;
    world.as_another_owner();
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(reason(&world, &first_event(&id)).await, Some(ProcessedReason::Scheduled));
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::InProgress);
}

/// S-o: an event that waits for its objective costs a process that has not made it nothing.
#[tokio::test]
async fn so_an_event_of_an_archived_objective_is_not_claimed() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.approved().await;
    world.readiness().await;
    world.operator().archive(&id).await.expect("archived");
    world.as_another_owner();
    let before = journal(&world).await;
    assert_eq!(world.scheduler().await, Tick::Idle);
    assert_eq!(journal(&world).await, before);
}

/// W-7: who is asked to stop while it looks gives the event back, and that does not count.
#[tokio::test]
async fn w7_a_stop_while_looking_at_an_event_is_not_counted() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.approved().await;
    world.readiness().await;
    world.as_another_owner();
    world.repository.hang_next();
    let stop = async {
        world.repository.hung().await;
        world.stop.send_replace(true);
    };
    assert_eq!(tokio::join!(world.scheduler(), stop).0, Tick::Idle);
    let event = world.store.read().event(&first_event(&id)).await.expect("a read").expect("it is there");
    assert_eq!((event.event.processed, event.claim_count), (false, 0));
    let claim = world.store.read().unreleased_claim(&ResourceRef::from(&first_event(&id))).await;
    assert_eq!(claim.expect("a read"), None);
}

/// W-3, W-7: an event that makes the Scheduler panic is counted and waits; the one behind it is scheduled.
#[tokio::test]
async fn w3_w7_a_panic_over_one_event_starves_nobody() {
    let world = World::new(Backend::Sqlite).await;
    let (first, second) = (world.approved().await, world.approved().await);
    world.readiness().await;
    world.repository.panic_next();
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(world.objective(&first).await.objective.status, ObjectiveStatus::Todo);
    assert_eq!(world.objective(&second).await.objective.status, ObjectiveStatus::InProgress);
    let event = world.store.read().event(&first_event(&first)).await.expect("a read").expect("it is there");
    assert_eq!(event.claim_count, 1);
}

/// W-3, W-7: an objective that cannot be read costs its own event a try, also for who has not made it, and starves nobody.
#[tokio::test]
async fn w3_w7_an_unreadable_objective_starves_nobody() {
    let mut world = World::new(Backend::Sqlite).await;
    let (first, second) = (world.approved().await, world.approved().await);
    world.readiness().await;
    let broken = format!(
        "DROP TRIGGER objective_update; UPDATE objective SET metadata = 'nothing' WHERE objective_id = '{first}'"
    );
    world.store.raw(&broken).await.expect("it is broken");
    world.as_another_owner();
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(world.objective(&second).await.objective.status, ObjectiveStatus::InProgress);
    let event = world.store.read().event(&first_event(&first)).await.expect("a read").expect("it is there");
    assert_eq!(event.claim_count, 1);
}
