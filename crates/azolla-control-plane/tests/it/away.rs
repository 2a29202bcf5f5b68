//! A store that goes away, is full or loses answers in the middle of a worker's step: what that costs, and whom (W-7, B-3).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use azolla_control_plane::{
    Tick, WorkerError,
    operator::Changes,
    repo::RepositoryError,
    workers::{gate, manifest_scheduler, runner, scheduler},
};
use azolla_protocol::{
    Actor, EventType, GateResult, LeaseLength, ObjectiveStatus, OwnerId, ProcessedReason, ResourceRef,
    RunnerStatus, Timestamp,
};
use azolla_substrate::{
    BoxFuture, ClaimOutcome, Commit, CommitOutcome, Fence, Release, Row, Statement, Substrate,
    SubstrateError, Write,
};
use azolla_testkit::{Backend, Decorated, Decorator, TaskWorld, TestStore, World, cycle::LATER_MS};

use crate::{
    manifest::{self, request},
    runner::{bundle, workorder},
    scheduler::first_event,
};

fn away() -> SubstrateError {
    SubstrateError::Unavailable("it went away".into())
}

/// Lets more time pass than anything waits for, by both clocks: the store's and this process's own.
async fn later(store: &TestStore) {
    store.advance(LATER_MS).await;
    tokio::time::advance(Duration::from_millis(LATER_MS.unsigned_abs())).await;
}

fn full() -> SubstrateError {
    SubstrateError::Unusable { what: "the disk is full".into(), action: "make room".into() }
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

/// A store that takes some commits and refuses others.
struct Refusing {
    store: Arc<dyn Substrate>,
    refuse: fn(&Commit) -> Option<SubstrateError>,
}

impl Refusing {
    fn new(
        store: &Arc<dyn Substrate>,
        refuse: fn(&Commit) -> Option<SubstrateError>,
    ) -> Arc<Decorated<Self>> {
        Arc::new(Decorated(Self { store: store.clone(), refuse }))
    }
}

impl Decorator for Refusing {
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
    world.ctx.substrate = Refusing::new(&world.store.store, |commit| {
        let large = commit.writes().iter().any(|write| matches!(write, Write::InsertSnapshot { .. }));
        large.then(full)
    });
    for _ in 0..4 {
        is_full(scheduler::tick(&world.ctx).await);
    }
    let stored = world.store.read().event(&first_event(&id)).await.expect("a read").expect("it is there");
    assert_eq!(stored.claim_count, 0);
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Todo);
}

/// Snapshots with this in their prompt never get through.
const LOST: &str = "never gets through";

fn is_lost(commit: &Commit) -> bool {
    let lost = |write: &Write| matches!(write, Write::InsertSnapshot { snapshot, .. } if snapshot.full_prompt_text.contains(LOST));
    commit.writes().iter().any(lost)
}

/// How a store says so: nobody knows what became of them, or nothing was written.
const LOSSES: [fn(&Commit) -> Option<SubstrateError>; 2] = [
    |commit| {
        is_lost(commit).then(|| SubstrateError::OutcomeUnknown {
            commit_id: commit.commit_id().clone(),
            source: "no answer".into(),
        })
    },
    |commit| is_lost(commit).then(away),
];

fn is_full<T: std::fmt::Debug>(ticked: Result<T, WorkerError>) {
    assert!(matches!(ticked, Err(WorkerError::Store(SubstrateError::Unusable { .. }))), "{ticked:?}");
}

async fn claim_version(store: &TestStore, resource: &ResourceRef) -> u64 {
    store.read().claim(resource).await.expect("a read").expect("it was claimed").claim_version
}

/// A store that takes no claim and no commit before its time.
struct AwayUntil {
    store: Arc<dyn Substrate>,
    until: tokio::time::Instant,
}

impl Decorator for AwayUntil {
    fn inner(&self) -> &dyn Substrate {
        &*self.store
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        if tokio::time::Instant::now() < self.until {
            return Box::pin(async { Err(away()) });
        }
        self.store.commit(commit)
    }

    fn acquire_claim<'a>(
        &'a self,
        resource: &'a ResourceRef,
        owner: &'a OwnerId,
        lease: LeaseLength,
        actor: Actor,
    ) -> BoxFuture<'a, Result<ClaimOutcome, SubstrateError>> {
        if tokio::time::Instant::now() < self.until {
            return Box::pin(async { Err(away()) });
        }
        self.store.acquire_claim(resource, owner, lease, actor)
    }
}

fn is_no_answer<T: std::fmt::Debug>(ticked: Result<T, WorkerError>) {
    assert!(
        matches!(
            ticked,
            Err(WorkerError::Store(SubstrateError::OutcomeUnknown { .. } | SubstrateError::Unavailable(_)))
        ),
        "{ticked:?}"
    );
}

/// W-3, W-7: a commit that never gets through is counted also for who made its event: it blocks in the end, and the one
/// behind it is scheduled meanwhile.
#[tokio::test(start_paused = true)]
async fn w3_w7_a_commit_that_never_gets_through_starves_nobody() {
    for lose in LOSSES {
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
        world.ctx.substrate = Refusing::new(&world.store.store, lose);
        let mut second_was = None;
        for _ in 0..8 {
            // No answer ends a tick; the poll loop comes back.
            let _ = scheduler::tick(&world.ctx).await;
            let _ = scheduler::tick(&world.ctx).await;
            if world.objective(&first).await.objective.status == ObjectiveStatus::Blocked {
                second_was = Some(world.objective(&second).await.objective.status);
                break;
            }
            later(&world.store).await;
        }
        assert_eq!(second_was, Some(ObjectiveStatus::InProgress), "the first one was blocked in the end");
    }
}

/// W-7: the same for a triage, whose event is claimed with its commit: its capture is held in the end.
#[tokio::test(start_paused = true)]
async fn w7_a_triage_that_never_gets_through_is_held() {
    for lose in LOSSES {
        let mut world = TaskWorld::new(Backend::Sqlite).await;
        let id = world.captured(LOST).await;
        world.readiness().await;
        world.ctx.substrate = Refusing::new(&world.store.store, lose);
        for _ in 0..3 {
            is_no_answer(scheduler::tick(&world.ctx).await);
            later(&world.store).await;
        }
        assert_eq!(world.scheduler().await, Tick::Advanced);
        assert!(world.capture(&id).await.held);
    }
}

/// W-7: the same for a record of a PASS that the store never takes: it is a FAIL in the end, without another look.
#[tokio::test(start_paused = true)]
async fn w7_a_pass_that_never_gets_through_fails_in_the_end() {
    let mut world = World::new(Backend::Sqlite).await;
    world.ctx.settings.attempts_max = 1;
    let id = world.executed().await;
    world.ctx.substrate = Refusing::new(&world.store.store, |commit| {
        let passes = |write: &Write| matches!(write, Write::Gate(run) if run.gate_result == GateResult::Pass);
        commit.writes().iter().any(passes).then(away)
    });
    // One that claims with its commit, which leaves no count, and three that are counted.
    for _ in 0..4 {
        is_away(gate::tick(&world.ctx).await);
        later(&world.store).await;
    }
    assert_eq!(world.gate().await, Tick::Advanced);
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Blocked);
}

fn is_completed(write: &Write) -> bool {
    matches!(write, Write::Execute(bundle) if bundle.metadata.runner_status == RunnerStatus::Completed)
}

/// W-7, B-3: what a disk has room to claim and no room to keep is paid for three times at the most, all of it on record where
/// there is room for that.
#[tokio::test(start_paused = true)]
async fn w7_b3_an_answer_that_a_disk_has_no_room_for_is_paid_for_three_times() {
    let no_bundle: fn(&Commit) -> Option<SubstrateError> =
        |commit| commit.writes().iter().any(is_completed).then(full);
    let no_usage_either: fn(&Commit) -> Option<SubstrateError> = |commit| {
        let is_large = |write: &Write| is_completed(write) || matches!(write, Write::RecordUsage(_));
        commit.writes().iter().any(is_large).then(full)
    };
    for (refuse, recorded) in [(no_bundle, vec![1, 1, 1]), (no_usage_either, vec![])] {
        let mut world = World::new(Backend::Sqlite).await;
        let id = world.scheduled().await;
        world.ctx.substrate = Refusing::new(&world.store.store, refuse);
        for _ in 0..3 {
            is_full(runner::tick(&world.ctx).await);
            later(&world.store).await;
        }
        assert_eq!(world.runner().await, Tick::Advanced);
        assert_eq!(bundle(&world, &id).await.metadata.runner_status, RunnerStatus::GenerationFailed);
        assert_eq!(world.diazotroph().calls(), 3);
        let used = world.store.read().usage_of(&workorder(&id, 1)).await.expect("a read");
        let requests: Vec<u64> = used.iter().map(|used| used.requests).collect();
        assert_eq!(requests, recorded);
    }
}

/// W-7, B-3: the same of an answer that the repository does not take, where there is no room for what it cost.
#[tokio::test(start_paused = true)]
async fn w7_b3_an_answer_that_is_not_taken_and_not_on_record_is_paid_for_three_times() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.scheduled().await;
    world.ctx.substrate = Refusing::new(&world.store.store, |commit| {
        let is_usage = |write: &Write| matches!(write, Write::RecordUsage(_));
        commit.writes().iter().any(is_usage).then(full)
    });
    let no_room = || RepositoryError::Unavailable("the mirror has no room".into());
    world.repository.fail_takes(std::iter::repeat_with(no_room).take(10));
    for _ in 0..3 {
        assert!(matches!(world.runner().await, Tick::Waiting(_)));
        later(&world.store).await;
    }
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(bundle(&world, &id).await.metadata.more["failure"], "POISON");
    assert_eq!(world.diazotroph().calls(), 3);
}

/// A store whose clock does not answer whoever holds a claim.
struct NoTimeUnderClaim {
    store: Arc<dyn Substrate>,
    is_held: AtomicBool,
}

impl Decorator for NoTimeUnderClaim {
    fn inner(&self) -> &dyn Substrate {
        &*self.store
    }

    fn now(&self) -> BoxFuture<'_, Result<Timestamp, SubstrateError>> {
        if self.is_held.load(Ordering::SeqCst) {
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
        self.is_held.store(true, Ordering::SeqCst);
        self.store.acquire_claim(resource, owner, lease, actor)
    }

    fn release_claim<'a>(
        &'a self,
        fence: &'a Fence,
        release: Release,
        actor: Actor,
    ) -> BoxFuture<'a, Result<(), SubstrateError>> {
        self.is_held.store(false, Ordering::SeqCst);
        self.store.release_claim(fence, release, actor)
    }
}

/// W-7, B-3: the same of an answer that is there, where the store is away for as long as its claim is believed.
#[tokio::test(start_paused = true)]
async fn w7_b3_an_answer_that_a_store_is_away_for_is_counted() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.scheduled().await;
    let no_time = NoTimeUnderClaim { store: world.store.store.clone(), is_held: AtomicBool::new(false) };
    world.ctx.substrate = Arc::new(Decorated(no_time));
    is_away(runner::tick(&world.ctx).await);
    let stored =
        world.store.read().workorder(&workorder(&id, 1)).await.expect("a read").expect("it is there");
    assert_eq!((stored.claim_count, world.diazotroph().calls()), (1, 1));
    assert!(matches!(world.runner().await, Tick::Waiting(_)), "and it waits");
}

/// A store with no room for what a worker answers, nor, for once, for the end of its claim.
struct FullForOnce {
    store: Arc<dyn Substrate>,
    has_refused: AtomicBool,
}

impl Decorator for FullForOnce {
    fn inner(&self) -> &dyn Substrate {
        &*self.store
    }

    fn commit(&self, _: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        Box::pin(async { Err(full()) })
    }

    fn release_claim<'a>(
        &'a self,
        fence: &'a Fence,
        release: Release,
        actor: Actor,
    ) -> BoxFuture<'a, Result<(), SubstrateError>> {
        if !self.has_refused.swap(true, Ordering::SeqCst) {
            return Box::pin(async { Err(full()) });
        }
        self.store.release_claim(fence, release, actor)
    }
}

/// W-7, B-3: a claim that was paid for is not given back as one that came to nothing, when there is room again.
#[tokio::test(start_paused = true)]
async fn w7_b3_a_claim_that_was_paid_for_counts_also_where_its_end_did_not_fit() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.scheduled().await;
    let full = FullForOnce { store: world.store.store.clone(), has_refused: AtomicBool::new(false) };
    world.ctx.substrate = Arc::new(Decorated(full));
    is_full(runner::tick(&world.ctx).await);
    let stored =
        world.store.read().workorder(&workorder(&id, 1)).await.expect("a read").expect("it is there");
    assert_eq!((stored.claim_count, world.diazotroph().calls()), (1, 1));
}

/// W-3, W-7: the same where not even the end of a workorder fits.
#[tokio::test(start_paused = true)]
async fn w3_w7_an_end_that_a_disk_has_no_room_for_is_not_tried_without_a_pause() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.scheduled().await;
    world.ctx.substrate = Refusing::new(&world.store.store, |commit| {
        commit.writes().iter().any(|write| matches!(write, Write::Execute(_))).then(full)
    });
    for _ in 0..4 {
        is_full(runner::tick(&world.ctx).await);
        later(&world.store).await;
    }
    is_full(runner::tick(&world.ctx).await);
    for _ in 0..5 {
        assert!(matches!(world.runner().await, Tick::Waiting(_)));
    }
    assert_eq!(claim_version(&world.store, &ResourceRef::from(&workorder(&id, 1))).await, 5);
}

/// W-7: a triage whose commit the store does not take for a while, and then does, is charged with nothing.
#[tokio::test(start_paused = true)]
async fn w7_a_store_that_is_away_for_a_while_costs_a_note_nothing() {
    let mut world = TaskWorld::new(Backend::Sqlite).await;
    world.captured("a note").await;
    world.readiness().await;
    let events = world.store.read().unprocessed_events(EventType::CaptureReady, 10).await.expect("a read");
    let resource = ResourceRef::from(&events[0].event.event_id);
    let until = tokio::time::Instant::now() + Duration::from_secs(50);
    world.ctx.substrate = Arc::new(Decorated(AwayUntil { store: world.store.store.clone(), until }));
    assert_eq!(world.scheduler().await, Tick::Advanced);
    assert_eq!(claim_version(&world.store, &resource).await, 1, "by the commit itself");
}

/// W-3, W-7, M-4: an orientation asks nobody while a note waits in this process alone: its own commit would not see that wait,
/// make room for the note, and everybody would be asked again at once.
#[tokio::test(start_paused = true)]
async fn w3_w7_m4_an_orientation_waits_for_a_note_that_waits_in_memory_only() {
    let mut world = manifest::world(Backend::Sqlite).await;
    world.captured("a note").await;
    world.readiness().await;
    let until = tokio::time::Instant::now() + Duration::from_secs(60);
    world.ctx.substrate = Arc::new(Decorated(AwayUntil { store: world.store.store.clone(), until }));
    is_away(scheduler::tick(&world.ctx).await);
    world.ctx.substrate = world.store.store.clone();
    assert!(matches!(world.scheduler().await, Tick::Waiting(_)), "it backs off here");
    let event_id = request(&world, "evt-1").await;
    assert_eq!(world.manifest_scheduler().await, Tick::Idle);
    let claim = world.store.read().claim(&ResourceRef::from(&event_id)).await.expect("a read");
    assert_eq!(claim, None, "nothing was granted");
    // That wait has an end, and the orientation is made after it.
    later(&world.store).await;
    world.run_to_pause().await.expect("nothing breaks");
    assert_eq!(manifest::ended(&world, &event_id).await, Some(ProcessedReason::Scheduled));
}

/// W-3, W-7: an end of a triage that the store never takes is not tried without a pause.
#[tokio::test(start_paused = true)]
async fn w3_w7_an_end_of_a_triage_that_never_gets_through_waits() {
    let mut world = TaskWorld::new(Backend::Sqlite).await;
    world.captured("a note").await;
    world.readiness().await;
    let events = world.store.read().unprocessed_events(EventType::CaptureReady, 10).await.expect("a read");
    let resource = ResourceRef::from(&events[0].event.event_id);
    world.ctx.substrate = Refusing::new(&world.store.store, |commit| {
        commit.writes().iter().any(|write| matches!(write, Write::ProcessEvent { .. })).then(away)
    });
    for _ in 0..4 {
        is_away(scheduler::tick(&world.ctx).await);
        later(&world.store).await;
    }
    is_away(scheduler::tick(&world.ctx).await);
    for _ in 0..5 {
        assert!(matches!(world.scheduler().await, Tick::Waiting(_)));
    }
    assert_eq!(claim_version(&world.store, &resource).await, 5);
}

/// W-3, W-7: the end of a workorder that fails itself waits as well, and what is behind it is run meanwhile.
#[tokio::test(start_paused = true)]
async fn w3_w7_an_end_that_fails_itself_is_not_tried_without_a_pause() {
    let mut world = World::new(Backend::Sqlite).await;
    world.ctx.settings.room.max_concurrent = 2;
    let (broken, whole) = (world.scheduled().await, world.scheduled().await);
    let unreadable = format!(
        "DROP TRIGGER objective_update; UPDATE objective SET metadata = 'nothing' WHERE objective_id = '{broken}'"
    );
    world.store.raw(&unreadable).await.expect("it is broken");
    for _ in 0..world.ctx.settings.claims_without_outcome_max {
        for _ in 0..3 {
            world.runner().await;
        }
        later(&world.store).await;
    }
    for _ in 0..5 {
        assert!(matches!(world.runner().await, Tick::Waiting(_)));
    }
    let version = claim_version(&world.store, &ResourceRef::from(&workorder(&broken, 1))).await;
    assert_eq!(version, 5, "three, the end, and the end once more after its wait");
    assert_eq!(bundle(&world, &whole).await.metadata.runner_status, RunnerStatus::Completed);
}
