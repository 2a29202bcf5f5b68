//! A store that goes away, is full or loses answers in the middle of a worker's step: what that costs, and whom (W-7, B-3).

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use azolla_control_plane::{
    Tick, WorkerError,
    operator::Changes,
    workers::{manifest_scheduler, runner, scheduler},
};
use azolla_protocol::{Actor, LeaseLength, ObjectiveStatus, OwnerId, ResourceRef, RunnerStatus, Timestamp};
use azolla_substrate::{
    BoxFuture, ClaimOutcome, Commit, CommitOutcome, Row, Statement, Substrate, SubstrateError, Write,
};
use azolla_testkit::{
    Backend, Decorated, Decorator, TaskWorld, World,
    cycle::{LATER_MS, LEASE_MS},
};

use crate::{
    manifest::request,
    runner::{bundle, workorder},
    scheduler::first_event,
};

fn away() -> SubstrateError {
    SubstrateError::Unavailable("it went away".into())
}

/// A store that does not answer the first read after a grant.
struct AwayAfterGrant {
    store: Arc<dyn Substrate>,
    is_away: AtomicBool,
}

impl AwayAfterGrant {
    fn new(store: &Arc<dyn Substrate>) -> Arc<Decorated<Self>> {
        Arc::new(Decorated(Self { store: store.clone(), is_away: AtomicBool::new(false) }))
    }
}

impl Decorator for AwayAfterGrant {
    fn inner(&self) -> &dyn Substrate {
        &*self.store
    }

    fn rows(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>> {
        if self.is_away.swap(false, Ordering::SeqCst) {
            return Box::pin(async { Err(away()) });
        }
        self.store.rows(statement)
    }

    fn acquire_claim<'a>(
        &'a self,
        resource: &'a ResourceRef,
        owner: &'a OwnerId,
        lease: LeaseLength,
        actor: Actor,
    ) -> BoxFuture<'a, Result<ClaimOutcome, SubstrateError>> {
        Box::pin(async move {
            let outcome = self.store.acquire_claim(resource, owner, lease, actor).await;
            self.is_away.store(true, Ordering::SeqCst);
            outcome
        })
    }
}

fn is_away<T: std::fmt::Debug>(ticked: Result<T, WorkerError>) {
    assert!(matches!(ticked, Err(WorkerError::Store(SubstrateError::Unavailable(_)))), "{ticked:?}");
}

/// W-7: a read that fails right after the claim is nothing that the workorder can help: not counted, and given back.
#[tokio::test]
async fn w7_a_store_that_is_away_costs_a_workorder_no_claim() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.scheduled().await;
    world.ctx.substrate = AwayAfterGrant::new(&world.store.store);
    is_away(runner::tick(&world.ctx).await);
    let stored =
        world.store.read().workorder(&workorder(&id, 1)).await.expect("a read").expect("it is there");
    assert_eq!(stored.claim_count, 0);
    let claim = world.store.read().unreleased_claim(&ResourceRef::from(&workorder(&id, 1))).await;
    assert_eq!(claim.expect("a read"), None);
}

/// W-7: the same for a request for an orientation.
#[tokio::test]
async fn w7_a_store_that_is_away_costs_a_request_no_claim() {
    let mut world = TaskWorld::new(Backend::Sqlite).await;
    let event_id = request(&world, "evt-1").await;
    world.ctx.substrate = AwayAfterGrant::new(&world.store.store);
    is_away(manifest_scheduler::tick(&world.ctx).await);
    let stored = world.store.read().event(&event_id).await.expect("a read").expect("it is there");
    assert_eq!((stored.event.processed, stored.claim_count), (false, 0));
    let claim = world.store.read().unreleased_claim(&ResourceRef::from(&event_id)).await;
    assert_eq!(claim.expect("a read"), None);
}

/// A store whose clock does not answer the first time that it is asked after a grant: once the work is done.
struct NoTimeOnce {
    store: Arc<dyn Substrate>,
    is_away: AtomicBool,
}

impl Decorator for NoTimeOnce {
    fn inner(&self) -> &dyn Substrate {
        &*self.store
    }

    fn now(&self) -> BoxFuture<'_, Result<Timestamp, SubstrateError>> {
        if self.is_away.swap(false, Ordering::SeqCst) {
            return Box::pin(async { Err(away()) });
        }
        self.store.now()
    }

    fn acquire_claim<'a>(
        &'a self,
        resource: &'a ResourceRef,
        owner: &'a OwnerId,
        lease: LeaseLength,
        actor: Actor,
    ) -> BoxFuture<'a, Result<ClaimOutcome, SubstrateError>> {
        self.is_away.store(true, Ordering::SeqCst);
        self.store.acquire_claim(resource, owner, lease, actor)
    }
}

/// B-3: an answer that was paid for outlives a store that is away for a moment.
#[tokio::test(start_paused = true)]
async fn b3_a_store_that_is_away_for_a_moment_costs_no_answer() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.scheduled().await;
    let no_time = NoTimeOnce { store: world.store.store.clone(), is_away: AtomicBool::new(false) };
    world.ctx.substrate = Arc::new(Decorated(no_time));
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(bundle(&world, &id).await.metadata.runner_status, RunnerStatus::Completed);
    assert_eq!(world.diazotroph().calls(), 1);
}

/// A store that takes no snapshot.
struct NoSnapshots {
    store: Arc<dyn Substrate>,
    refuse: fn(&Commit) -> Option<SubstrateError>,
}

impl NoSnapshots {
    fn new(
        store: &Arc<dyn Substrate>,
        refuse: fn(&Commit) -> Option<SubstrateError>,
    ) -> Arc<Decorated<Self>> {
        Arc::new(Decorated(Self { store: store.clone(), refuse }))
    }
}

impl Decorator for NoSnapshots {
    fn inner(&self) -> &dyn Substrate {
        &*self.store
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        match (self.refuse)(&commit) {
            Some(error) => Box::pin(async { Err(error) }),
            None => self.store.commit(commit),
        }
    }
}

/// W-7, PF-3: a disk that is full for what is large blocks nobody, however often it is tried.
#[tokio::test]
async fn w7_a_full_disk_blocks_no_objective() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.approved().await;
    world.readiness().await;
    world.as_another_owner();
    world.ctx.substrate = NoSnapshots::new(&world.store.store, |commit| {
        let large = commit.writes().iter().any(|write| matches!(write, Write::InsertSnapshot { .. }));
        large
            .then(|| SubstrateError::Unusable { what: "the disk is full".into(), action: "make room".into() })
    });
    for _ in 0..4 {
        let ticked = scheduler::tick(&world.ctx).await;
        assert!(matches!(ticked, Err(WorkerError::Store(SubstrateError::Unusable { .. }))), "{ticked:?}");
    }
    let stored = world.store.read().event(&first_event(&id)).await.expect("a read").expect("it is there");
    assert_eq!(stored.claim_count, 0);
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Todo);
}

/// Snapshots with this in their prompt never get through, and nobody is told what became of them.
const LOST: &str = "never gets through";

fn lose(commit: &Commit) -> Option<SubstrateError> {
    let lost = |write: &Write| matches!(write, Write::InsertSnapshot { snapshot, .. } if snapshot.full_prompt_text.contains(LOST));
    commit.writes().iter().any(lost).then(|| SubstrateError::OutcomeUnknown {
        commit_id: commit.commit_id().clone(),
        source: "no answer".into(),
    })
}

/// W-3, W-7: a commit that never gets through is counted also for who made its event: it blocks in the end, and the one
/// behind it is scheduled meanwhile.
#[tokio::test]
async fn w3_w7_a_commit_that_never_gets_through_starves_nobody() {
    let mut world = World::new(Backend::Sqlite).await;
    world.ctx.settings.room.max_concurrent = 2;
    let first = world.created().await;
    world
        .operator()
        .edit(&first, Changes { title: Some(LOST.into()), ..Changes::default() })
        .await
        .expect("edited");
    world.operator().approve(&first).await.expect("approved");
    let second = world.approved().await;
    world.readiness().await;
    world.ctx.substrate = NoSnapshots::new(&world.store.store, lose);
    let mut second_was = None;
    for _ in 0..8 {
        // An unknown outcome ends a tick; the poll loop comes back.
        let _ = scheduler::tick(&world.ctx).await;
        let _ = scheduler::tick(&world.ctx).await;
        if world.objective(&first).await.objective.status == ObjectiveStatus::Blocked {
            second_was = Some(world.objective(&second).await.objective.status);
            break;
        }
        world.store.advance(LEASE_MS).await;
    }
    assert_eq!(second_was, Some(ObjectiveStatus::InProgress), "the first one was blocked in the end");
}

/// W-7: the same for a triage, whose event is claimed with its commit: its capture is held in the end.
#[tokio::test]
async fn w7_a_triage_that_never_gets_through_is_held() {
    let mut world = TaskWorld::new(Backend::Sqlite).await;
    let id = world.captured(LOST).await;
    world.readiness().await;
    world.ctx.substrate = NoSnapshots::new(&world.store.store, lose);
    for _ in 0..3 {
        let ticked = scheduler::tick(&world.ctx).await;
        assert!(
            matches!(ticked, Err(WorkerError::Store(SubstrateError::OutcomeUnknown { .. }))),
            "{ticked:?}"
        );
        world.store.advance(LATER_MS).await;
    }
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert!(world.capture(&id).await.held);
}
