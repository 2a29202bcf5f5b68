//! Orientation that nobody asked for: one request per period, and none while it only fails (MF-1, O-1).

use std::{sync::Arc, time::Duration};

use azolla_control_plane::{Flow, Tick, workers::manifest_scheduler};
use azolla_protocol::{EventType, GenerationOutcome, ObjectiveStatus, PauseReason};
use azolla_testkit::{Answer, Backend, ScriptedDiazotroph, TaskWorld};

use super::{request, world};

const HOUR_MS: i64 = 60 * 60 * 1_000;

async fn hourly(backend: Backend) -> TaskWorld {
    let mut world = world(backend).await;
    world.ctx.settings.manifest_every = Some(Duration::from_secs(60 * 60));
    world
}

async fn open(world: &TaskWorld) -> Vec<String> {
    let events =
        world.store.read().unprocessed_events(EventType::ManifestRequested, 10).await.expect("a read");
    events.iter().map(|stored| stored.event.event_id.to_string()).collect()
}

async fn runs(world: &TaskWorld) -> usize {
    world.store.read().runs_of(&world.standing().await.objective.objective_id).await.expect("a read").len()
}

async fn emitted_once(backend: Backend) {
    let world = hourly(backend).await;
    let mut rival = hourly(Backend::Sqlite).await;
    rival.ctx.substrate = world.store.open_again().await.expect("a read");
    // The same identity, another process: both look at the same moment.
    let (one, other) =
        tokio::join!(manifest_scheduler::tick(&world.ctx), manifest_scheduler::tick(&rival.ctx));
    assert!(one.is_ok() && other.is_ok());
    world.run_to_pause().await.expect("nothing breaks");
    for _ in 0..3 {
        assert_eq!(world.manifest_scheduler().await, Tick::Idle);
    }
    assert_eq!((runs(&world).await, open(&world).await.len()), (1, 0));
    // The clock starts at eight, so the next moment is a period of its own after an hour and not before.
    world.store.advance(HOUR_MS - 1).await;
    assert_eq!(world.manifest_scheduler().await, Tick::Idle);
    world.store.advance(1).await;
    assert_eq!(world.manifest_scheduler().await, Tick::Advanced);
    world.run_to_pause().await.expect("nothing breaks");
    assert_eq!(runs(&world).await, 2);
    // Periods that nobody saw are not made up for.
    world.store.advance(100 * HOUR_MS).await;
    world.run_to_pause().await.expect("nothing breaks");
    assert_eq!(runs(&world).await, 3);
}

#[tokio::test]
async fn mf1_nothing_is_emitted_where_no_period_is_configured() {
    let world = world(Backend::Sqlite).await;
    assert_eq!(world.manifest_scheduler().await, Tick::Idle);
    assert_eq!(open(&world).await, Vec::<String>::new());
}

/// MF-1: one unprocessed at a time. The period's own comes when the one that was asked for is through.
#[tokio::test]
async fn mf1_a_period_adds_nothing_to_a_request_that_is_open() {
    let world = hourly(Backend::Sqlite).await;
    request(&world, "evt-asked").await;
    world.captured("a note").await;
    world.readiness().await;
    assert_eq!(world.manifest_scheduler().await, Tick::Idle, "triage first");
    assert_eq!(open(&world).await, ["evt-asked"]);
    world.run_to_pause().await.expect("nothing breaks");
    assert_eq!(runs(&world).await, 3, "triage, the request, the period");
}

fn answering(world: &mut TaskWorld, outcome: GenerationOutcome) {
    match &mut world.ctx.flow {
        Flow::TaskMgmt(flow) => {
            flow.manifest = Arc::new(ScriptedDiazotroph::new([Answer::Outcome(outcome)]));
        }
        Flow::Patch(_) => unreachable!(),
    }
}

/// O-1: the same failure two periods running: one action, and no third by itself until the operator asks.
#[tokio::test]
async fn o1_a_period_that_failed_twice_alike_waits_for_the_operator() {
    let mut world = hourly(Backend::Sqlite).await;
    let prose = GenerationOutcome::Text("All is well.".to_owned());
    answering(&mut world, prose);
    world.run_to_pause().await.expect("nothing breaks");
    let pause = world.pause().await;
    assert_eq!((pause.reason, pause.prioritized_actions.len()), (PauseReason::GateFailed, 2));
    world.store.advance(HOUR_MS).await;
    world.run_to_pause().await.expect("nothing breaks");
    let run = "run-manifest-1793523600000";
    assert_eq!(
        world.pause().await.prioritized_actions,
        [format!(
            "Review gate failure reason, the same as before; until it is asked for, no orientation is made by itself: \
             azolla explain {run} && azolla manifest"
        )]
    );
    for _ in 0..3 {
        world.store.advance(HOUR_MS).await;
        // No takeover and no restart resets it.
        world.as_another_owner();
        world.run_to_pause().await.expect("nothing breaks");
        assert_eq!(runs(&world).await, 2);
    }
    assert_eq!(world.standing().await.objective.status, ObjectiveStatus::InProgress);
    request(&world, "evt-asked").await;
    world.run_to_pause().await.expect("nothing breaks");
    assert_eq!(runs(&world).await, 4, "what was asked for, and the period again");
}

/// O-1: twice running is twice in a row, though periods were missed in between and another one is configured since.
#[tokio::test]
async fn o1_missed_periods_and_a_changed_one_do_not_reset_the_count() {
    let mut world = hourly(Backend::Sqlite).await;
    answering(&mut world, GenerationOutcome::Text("All is well.".to_owned()));
    world.run_to_pause().await.expect("nothing breaks");
    world.store.advance(5 * HOUR_MS).await;
    world.ctx.settings.manifest_every = Some(Duration::from_secs(30 * 60));
    world.run_to_pause().await.expect("nothing breaks");
    assert_eq!(world.pause().await.prioritized_actions.len(), 1, "one action");
    for _ in 0..3 {
        world.store.advance(7 * HOUR_MS).await;
        world.run_to_pause().await.expect("nothing breaks");
        assert_eq!(runs(&world).await, 2);
    }
    // What is asked for fails too; then the period is tried once more, and that is the second failure in a row.
    request(&world, "evt-asked").await;
    world.run_to_pause().await.expect("nothing breaks");
    assert_eq!(runs(&world).await, 4);
    world.store.advance(HOUR_MS).await;
    world.run_to_pause().await.expect("nothing breaks");
    assert_eq!(runs(&world).await, 4);
}

/// O-1: a prompt over its limit holds the next ones until the operator asks, not one pause_state per period.
#[tokio::test]
async fn o1_a_period_without_a_snapshot_waits_for_the_operator() {
    let mut world = hourly(Backend::Sqlite).await;
    let prompt_bytes = std::mem::replace(&mut world.ctx.settings.prompt_bytes, 1_000);
    world.run_to_pause().await.expect("nothing breaks");
    let blocked = world.pause().await;
    assert_eq!((blocked.reason, blocked.prioritized_actions.len()), (PauseReason::Blocked, 1));
    for _ in 0..3 {
        world.store.advance(HOUR_MS).await;
        world.as_another_owner();
        world.run_to_pause().await.expect("nothing breaks");
        assert_eq!((world.pause().await, runs(&world).await), (blocked.clone(), 0));
    }
    world.ctx.settings.prompt_bytes = prompt_bytes;
    request(&world, "evt-asked").await;
    world.run_to_pause().await.expect("nothing breaks");
    assert_eq!(runs(&world).await, 2, "what was asked for, and the period again");
}

/// O-1, T36: what failed while the clock was ahead holds nothing once the operator asked, neither while that time is still to
/// come nor once it has come.
#[tokio::test]
async fn o1_t36_a_period_held_by_a_clock_ahead_goes_on_once_the_operator_asked() {
    let mut world = hourly(Backend::Sqlite).await;
    let prompt_bytes = std::mem::replace(&mut world.ctx.settings.prompt_bytes, 1_000);
    world.store.advance(48 * HOUR_MS).await;
    world.run_to_pause().await.expect("nothing breaks");
    assert_eq!(world.pause().await.reason, PauseReason::Blocked);
    world.store.advance(-48 * HOUR_MS).await;
    world.ctx.settings.prompt_bytes = prompt_bytes;
    request(&world, "evt-asked").await;
    world.run_to_pause().await.expect("nothing breaks");
    let asked = runs(&world).await;
    world.store.advance(HOUR_MS).await;
    world.run_to_pause().await.expect("nothing breaks");
    assert_eq!(runs(&world).await, asked + 1, "the next period has its orientation");
    world.store.advance(48 * HOUR_MS).await;
    world.run_to_pause().await.expect("nothing breaks");
    assert_eq!(runs(&world).await, asked + 2, "and so has the one after that time");
}

mod sqlite {
    #[tokio::test]
    async fn mf1_a_period_has_one_request_whoever_looks() {
        super::emitted_once(super::Backend::Sqlite).await;
    }
}

mod postgres {
    #[tokio::test]
    async fn mf1_a_period_has_one_request_whoever_looks() {
        super::emitted_once(super::Backend::Postgres).await;
    }
}
