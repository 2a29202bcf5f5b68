//! The poll loop: it ends when nothing is left, is woken by changes, and gives work back when asked to stop.

use std::{sync::Arc, time::Duration};

use azolla_control_plane::{
    WorkerContext, WorkerError,
    poll::{self, Until},
    spending::{Ledger, RunAccount},
};
use azolla_protocol::{Allowance, ObjectiveId, ObjectiveStatus, Wait, Withheld};
use azolla_substrate::SubstrateError;
use azolla_testkit::{Answer, Backend, ScriptedDiazotroph, TaskWorld, World, world::NoCaps};
use tokio::{sync::watch, time::timeout};

use crate::runner::workorder;

/// Far more than any of these takes, and less than the loop's own interval.
const SOON: Duration = Duration::from_secs(20);

/// Runs the loop of a world whose parts it takes.
async fn run(ctx: WorkerContext, until: Until, stop: &watch::Sender<bool>) -> Result<(), WorkerError> {
    timeout(SOON, poll::run(vec![Arc::new(ctx)], until, stop)).await.expect("it ends")
}

/// Section 6: a whole flow, a retry included, on wake-ups alone.
#[tokio::test]
async fn a_run_until_idle_takes_every_approved_objective_to_its_pause() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let world = World::new(backend).await;
        let ids = [world.approved().await, world.approved().await, world.approved().await];
        let World { store, ctx, stop, .. } = world;
        run(ctx, Until::Idle, &stop).await.expect("no error");
        for id in ids {
            let stored = store.read().objective(&id).await.expect("a read").expect("it");
            assert_eq!(stored.objective.status, ObjectiveStatus::Done);
        }
    }
}

/// O-3: what waits for the operator is not waited for.
#[tokio::test]
async fn a_run_until_idle_ends_at_the_review_limit() {
    let mut world = World::new(Backend::Sqlite).await;
    world.ctx.settings.room.review_limit = 1;
    for _ in 0..3 {
        world.approved().await;
    }
    let World { store, ctx, stop, .. } = world;
    run(ctx, Until::Idle, &stop).await.expect("no error");
    let stream = store.read().stream().await.expect("a read");
    assert_eq!((stream.open, stream.waiting), (0, 1));
}

/// A commit of another process wakes the loop; being asked to stop ends it, with the claim given back.
#[tokio::test]
async fn a_run_is_woken_from_outside_and_stops_in_good_order() {
    let world = World::with(Backend::Sqlite, ScriptedDiazotroph::new([Answer::Hang])).await;
    let other = world.store.open_again().await.expect("a second program on the file");
    let id = world.created().await;
    let World { store, ctx, stop, .. } = world;
    let asked = ctx.stopping.clone();
    let operator = azolla_control_plane::operator::Operator {
        substrate: &*other,
        identity: &ctx.identity.clone(),
        ids: &*ctx.ids.clone(),
        who: "operator",
    };
    let running = run(ctx, Until::Stopped, &stop);
    let drive = async {
        operator.approve(&id).await.expect("approved by another program");
        while store.read().claim(&(&workorder(&id, 1)).into()).await.expect("a read").is_none() {
            tokio::task::yield_now().await;
        }
        stop.send_replace(true);
    };
    let (ended, ()) = tokio::join!(running, async { timeout(SOON, drive).await.expect("it was woken") });
    ended.expect("no error");
    assert!(*asked.borrow());
    let stored = store.read().workorder(&workorder(&id, 1)).await.expect("a read").expect("it");
    assert_eq!(stored.claim_count, 0, "given back, not lost");
}

/// A run until idle ends when all azollas are idle at once: one that gets work while another is waited for is finished.
#[tokio::test]
async fn a_run_until_idle_waits_for_every_azolla() {
    let slow = World::with(Backend::Sqlite, ScriptedDiazotroph::new([Answer::Hang])).await;
    let quick = World::new(Backend::Sqlite).await;
    slow.approved().await;
    let late = quick.created().await;
    // The directory of a store goes with it.
    let World { ctx: mut slow_ctx, store: _slow_store, .. } = slow;
    let World { store, ctx: mut quick_ctx, stop, .. } = quick;
    slow_ctx.settings.budget_patch_ms = 1;
    slow_ctx.settings.attempts_max = 1;
    slow_ctx.stopping = stop.subscribe();
    quick_ctx.stopping = stop.subscribe();
    let operator = azolla_control_plane::operator::Operator {
        substrate: &*store.store,
        identity: &quick_ctx.identity.clone(),
        ids: &*quick_ctx.ids.clone(),
        who: "operator",
    };
    // The first azolla is idle at once; the second works on, and meanwhile the first gets an objective.
    let contexts = vec![Arc::new(quick_ctx), Arc::new(slow_ctx)];
    let running = async { timeout(SOON, poll::run(contexts, Until::Idle, &stop)).await.expect("it ends") };
    let approve = async { operator.approve(&late).await.expect("approved") };
    let (ended, _) = tokio::join!(running, approve);
    ended.expect("no error");
    let stored = store.read().objective(&late).await.expect("a read").expect("it");
    assert_eq!(stored.objective.status, ObjectiveStatus::Done);
}

/// A world with an objective that waits for its gate, and another whose row cannot be read any more.
async fn half_broken() -> (World, ObjectiveId) {
    let world = World::new(Backend::Sqlite).await;
    let executed = world.executed().await;
    let id = world.approved().await;
    let broken = format!(
        "DROP TRIGGER objective_update; UPDATE objective SET metadata = 'nothing' WHERE objective_id = '{id}'"
    );
    world.store.raw(&broken).await.expect("it is broken");
    (world, executed)
}

/// W-3, W-7: a row that cannot be read stops neither the other azollas nor the other workers of its own, and is told.
#[tokio::test]
async fn w3_a_broken_row_stops_nothing_else() {
    let (broken, executed) = half_broken().await;
    let whole = World::new(Backend::Sqlite).await;
    let approved = whole.approved().await;
    let World { ctx: mut broken_ctx, store: broken_store, .. } = broken;
    let World { ctx: mut whole_ctx, store: whole_store, stop, .. } = whole;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    broken_ctx.watcher = Arc::new(move |activity| {
        if activity.objective_id.is_none() {
            // Whoever has heard enough is gone.
            let _ = tell.send(activity.step.clone());
        }
    });
    broken_ctx.stopping = stop.subscribe();
    whole_ctx.stopping = stop.subscribe();
    let contexts = vec![Arc::new(broken_ctx), Arc::new(whole_ctx)];
    let running = async { timeout(SOON, poll::run(contexts, Until::Stopped, &stop)).await.expect("it ends") };
    let drive = async {
        for (store, id) in [(&broken_store, &executed), (&whole_store, &approved)] {
            let is_done = async || {
                let stored = store.read().objective(id).await.expect("a read").expect("it");
                stored.objective.status == ObjectiveStatus::Done
            };
            while !is_done().await {
                tokio::task::yield_now().await;
            }
        }
        let first = told.recv().await.expect("it is told");
        stop.send_replace(true);
        first
    };
    let (ended, first) = tokio::join!(running, async { timeout(SOON, drive).await.expect("it goes on") });
    ended.expect("no error");
    assert!(
        first.starts_with("cannot go on with a part of its work: the Substrate holds something"),
        "{first}"
    );
    assert_eq!(told.try_recv().ok(), None, "once");
}

/// A run that has an end says what is broken, once all else is done.
#[tokio::test]
async fn w3_a_run_until_idle_ends_with_the_fault_once_all_else_is_done() {
    let (World { ctx, store, stop, .. }, executed) = half_broken().await;
    let ended = run(ctx, Until::Idle, &stop).await;
    assert!(matches!(ended, Err(WorkerError::Store(SubstrateError::Corrupt(_)))), "{ended:?}");
    let stored = store.read().objective(&executed).await.expect("a read").expect("it");
    assert_eq!(stored.objective.status, ObjectiveStatus::Done);
}

/// An account that the Scheduler cannot look at before it looks at an event.
struct PanickingLedger;

impl Ledger for PanickingLedger {
    fn waits(&self, _provider: &str) -> Option<Wait> {
        panic!("a ledger that a test makes panic")
    }

    fn begin(&self, run: &RunAccount) -> Result<Box<dyn Allowance>, Withheld> {
        NoCaps.begin(run)
    }

    fn end(&self, _run: &RunAccount, _consumed_ms: u64) {}

    fn hold(&self, _provider: &str, _wait: &Wait) {}
}

/// W-3: a panic of one worker is a fault like any other: the others go on, and it is told.
#[tokio::test]
async fn w3_a_panic_of_one_worker_stops_nothing_else() {
    let world = World::new(Backend::Sqlite).await;
    let executed = world.executed().await;
    world.approved().await;
    let World { mut ctx, store, stop, .. } = world;
    ctx.ledger = Arc::new(PanickingLedger);
    let ended = run(ctx, Until::Idle, &stop).await;
    assert!(matches!(&ended, Err(WorkerError::Broken(what)) if what == "a worker panicked"), "{ended:?}");
    let stored = store.read().objective(&executed).await.expect("a read").expect("it");
    assert_eq!(stored.objective.status, ObjectiveStatus::Done);
}

/// W-4: the work stream of a TASK_MGMT azolla is one wide, whatever is configured: one lane, one look at deadlines.
#[tokio::test]
async fn w4_task_management_has_one_lane() {
    let mut world = TaskWorld::new(Backend::Sqlite).await;
    world.ctx.settings.room.max_concurrent = 3;
    let asked = world.peers.clone();
    let now = world.store.now().await;
    asked.register(
        "az-app",
        crate::manifest::holds(&[], &[crate::manifest::objective("az-app", "obj-1", 4, now)]),
    );
    let TaskWorld { ctx, stop, store: _store, .. } = world;
    run(ctx, Until::Idle, &stop).await.expect("no error");
    assert_eq!(asked.asked().len(), 4, "one question for each status");
}
