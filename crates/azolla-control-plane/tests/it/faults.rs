//! A store that fails as it is told, and what a gate makes of it (C-9, W-7).

// clippy.toml allows it in tests; helpers of an integration test are not seen as such.
#![allow(clippy::unwrap_used)]

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use azolla_control_plane::{
    Tick, WorkerError,
    workers::{gate, runner},
};
use azolla_protocol::{
    Actor, CommitId, FailureKind, GateResult, GenerationOutcome, IdSource, LeaseLength, ObjectiveId, OwnerId,
    ResourceRef, WorkOrderId,
};
use azolla_substrate::{
    BoxFuture, ClaimOutcome, Commit, CommitOutcome, Fence, Release, RenewOutcome, Row, Statement, Substrate,
    SubstrateError,
};
use azolla_testkit::{
    Answer, Backend, Decorated, Decorator, ScriptedDiazotroph, SequentialIds, TaskWorld, TestStore, World,
    cycle::LEASE_MS, task_world::STANDING,
};
use tokio::{sync::Notify, time::Instant};

use crate::{gate::cut_off_after_publishing, runner::workorder};

/// What happens next.
enum Fault {
    /// A read whose statement has this in it goes through.
    Seen(&'static str),
    /// One stands still until the test lets it go on.
    Stands(&'static str),
    /// A read whose statement has this in it.
    Read(&'static str, SubstrateError),
    /// A commit, before anything is written.
    Commit(SubstrateError),
    /// A claim is refused, though nobody holds it: who did has given it back right after.
    Held,
}

/// A store with faults, which counts the claims that are not part of a commit.
#[derive(Clone)]
struct Faulty {
    store: Arc<dyn Substrate>,
    faults: Arc<Mutex<VecDeque<Fault>>>,
    claims: Arc<Mutex<u32>>,
    reached: Arc<Notify>,
    go: Arc<Notify>,
    /// When the claim was granted or renewed last.
    held: Arc<Mutex<Option<Instant>>>,
    /// When the last commit was tried.
    tried: Arc<Mutex<Option<Instant>>>,
}

impl Faulty {
    fn new(store: &TestStore) -> Self {
        Self {
            store: store.store.clone(),
            faults: Arc::default(),
            claims: Arc::default(),
            reached: Arc::default(),
            go: Arc::default(),
            held: Arc::default(),
            tried: Arc::default(),
        }
    }

    fn decorated(&self) -> Arc<dyn Substrate> {
        Arc::new(Decorated(self.clone()))
    }

    fn fail_next(&self, fault: Fault) {
        self.faults.lock().unwrap().push_back(fault);
    }

    fn claims(&self) -> u32 {
        *self.claims.lock().unwrap()
    }
}

impl Decorator for Faulty {
    fn inner(&self) -> &dyn Substrate {
        &*self.store
    }

    fn rows(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>> {
        let mut faults = self.faults.lock().unwrap();
        let is_next = |text: &str| format!("{statement:?}").contains(text);
        match faults.pop_front() {
            Some(Fault::Read(text, error)) if is_next(text) => Box::pin(async { Err(error) }),
            Some(Fault::Seen(text)) if is_next(text) => self.store.rows(statement),
            Some(Fault::Stands(text)) if is_next(text) => Box::pin(async move {
                self.reached.notify_one();
                self.go.notified().await;
                self.store.rows(statement).await
            }),
            other => {
                if let Some(other) = other {
                    faults.push_front(other);
                }
                self.store.rows(statement)
            }
        }
    }

    fn acquire_claim<'a>(
        &'a self,
        resource: &'a ResourceRef,
        owner: &'a OwnerId,
        lease: LeaseLength,
        actor: Actor,
    ) -> BoxFuture<'a, Result<ClaimOutcome, SubstrateError>> {
        *self.claims.lock().unwrap() += 1;
        *self.held.lock().unwrap() = Some(Instant::now());
        let is_refused = self.faults.lock().unwrap().pop_front_if(|fault| matches!(fault, Fault::Held));
        if is_refused.is_some() {
            return Box::pin(async { Ok(ClaimOutcome::Held) });
        }
        self.store.acquire_claim(resource, owner, lease, actor)
    }

    fn renew_claim<'a>(
        &'a self,
        fence: &'a Fence,
        lease: LeaseLength,
    ) -> BoxFuture<'a, Result<RenewOutcome, SubstrateError>> {
        *self.held.lock().unwrap() = Some(Instant::now());
        self.store.renew_claim(fence, lease)
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        *self.tried.lock().unwrap() = Some(Instant::now());
        let mut faults = self.faults.lock().unwrap();
        match faults.pop_front() {
            Some(Fault::Commit(error)) => Box::pin(async { Err(error) }),
            other => {
                if let Some(other) = other {
                    faults.push_front(other);
                }
                self.store.commit(commit)
            }
        }
    }
}

fn corrupt() -> SubstrateError {
    SubstrateError::Corrupt("a row that cannot be read".into())
}

fn away() -> SubstrateError {
    SubstrateError::Unavailable("no answer".into())
}

async fn claim_count(store: &TestStore, id: &WorkOrderId) -> u64 {
    store.read().workorder(id).await.expect("a read").expect("it is there").claim_count
}

/// A patch at the gate of the process that made it, and a store that fails.
async fn patch() -> (World, WorkOrderId, Faulty) {
    let (world, id, faulty) = objective().await;
    (world, workorder(&id, 1), faulty)
}

async fn objective() -> (World, ObjectiveId, Faulty) {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    let faulty = Faulty::new(&world.store);
    world.ctx.substrate = faulty.decorated();
    (world, id, faulty)
}

/// The same of a triage.
async fn triage() -> (TaskWorld, WorkOrderId, Faulty) {
    let mut world = TaskWorld::new(Backend::Sqlite).await;
    world.scheduled(&["buy milk"]).await;
    assert_eq!(world.runner().await, Tick::Advanced);
    let [stored] = &world.store.read().ungated_workorders(10).await.expect("a read")[..] else {
        panic!("one workorder")
    };
    let id = stored.workorder.work_order_id.clone();
    let faulty = Faulty::new(&world.store);
    world.ctx.substrate = faulty.decorated();
    (world, id, faulty)
}

/// W-7: what this process made is judged without a claim, which comes with the commit; what another one made, or what somebody
/// died of, is claimed before it is looked at.
#[tokio::test]
async fn w7_a_gate_claims_first_what_it_has_not_made_or_somebody_died_of() {
    let (world, _, faulty) = patch().await;
    assert_eq!((world.gate().await, faulty.claims()), (Tick::Advanced, 0));
    let (mut world, _, faulty) = patch().await;
    world.as_another_owner();
    assert_eq!((world.gate().await, faulty.claims()), (Tick::Advanced, 1));
    let (world, id, faulty) = patch().await;
    world.store.granted(&ResourceRef::from(&id)).await;
    world.store.advance(LEASE_MS).await;
    assert_eq!((world.gate().await, faulty.claims()), (Tick::Advanced, 1));

    let (world, _, faulty) = triage().await;
    assert_eq!((world.gate().await, faulty.claims()), (Tick::Advanced, 0));
    let (mut world, _, faulty) = triage().await;
    world.as_another_owner();
    assert_eq!((world.gate().await, faulty.claims()), (Tick::Advanced, 1));
    let (world, id, faulty) = triage().await;
    world.store.granted(&ResourceRef::from(&id)).await;
    world.store.advance(LEASE_MS).await;
    assert_eq!((world.gate().await, faulty.claims()), (Tick::Advanced, 1));
}

/// C-8, invariant 12: what was held when it was asked for, and is free when it is looked at, is left to nobody: it is waited
/// for, so a run that goes on until nothing is left goes on.
#[tokio::test]
async fn c8_what_is_given_back_between_two_looks_is_not_passed_over() {
    let (mut world, _, faulty) = patch().await;
    world.as_another_owner();
    faulty.fail_next(Fault::Held);
    assert!(matches!(world.gate().await, Tick::Waiting(_)));
    assert_eq!(world.gate().await, Tick::Advanced);

    let mut world = TaskWorld::new(Backend::Sqlite).await;
    world.scheduled(&["buy milk"]).await;
    let faulty = Faulty::new(&world.store);
    world.ctx.substrate = faulty.decorated();
    faulty.fail_next(Fault::Held);
    assert!(matches!(world.runner().await, Tick::Waiting(_)));
    assert_eq!(world.runner().await, Tick::Advanced);
}

/// TF-5, A-3: what a triage without an answer was about is in its bundle, also where the store was away when it was looked up;
/// the command that its pause names works.
#[tokio::test(start_paused = true)]
async fn tf5_a_store_that_is_away_for_a_moment_takes_no_note_out_of_a_bundle() {
    let failed = GenerationOutcome::Failed { kind: FailureKind::Setup, reason: "no key".into() };
    let mut world = TaskWorld::with(Backend::Sqlite, [Answer::Outcome(failed)]).await;
    let notes = world.scheduled(&["buy milk", "call the bank"]).await;
    let faulty = Faulty::new(&world.store);
    world.ctx.substrate = faulty.decorated();
    faulty.fail_next(Fault::Seen("FROM context_snapshot"));
    faulty.fail_next(Fault::Read("FROM context_snapshot", away()));
    assert_eq!(world.runner().await, Tick::Advanced);
    assert!(faulty.faults.lock().unwrap().is_empty(), "the store was never away");
    assert_eq!(world.gate().await, Tick::Advanced);
    let standing = ObjectiveId::new(STANDING).expect("an id");
    let [run] = &world.store.read().runs_of(&standing).await.expect("a read")[..] else { panic!("one run") };
    let mut retried = world.operator().retry_output(&run.output_id).await.expect("the action works");
    retried.sort();
    let mut notes = notes;
    notes.sort();
    assert_eq!(retried, notes);
}

/// TF-5, A-3: where the store cannot be read at all, no bundle is written without its notes.
#[tokio::test(start_paused = true)]
async fn tf5_a_store_that_cannot_be_read_gets_no_bundle_without_its_notes() {
    let failed = GenerationOutcome::Failed { kind: FailureKind::Setup, reason: "no key".into() };
    let mut world = TaskWorld::with(Backend::Sqlite, [Answer::Outcome(failed)]).await;
    world.scheduled(&["buy milk"]).await;
    let [stored] = &world.store.read().created_workorders(1).await.expect("a read")[..] else {
        panic!("one")
    };
    let faulty = Faulty::new(&world.store);
    world.ctx.substrate = faulty.decorated();
    faulty.fail_next(Fault::Seen("FROM context_snapshot"));
    let unusable = SubstrateError::Unusable { what: "the disk is full".into(), action: "free some".into() };
    faulty.fail_next(Fault::Read("FROM context_snapshot", unusable));
    let told = runner::tick(&world.ctx).await.expect_err("the store cannot be read");
    assert!(told.to_string().contains("the disk is full"), "{told}");
    let output = world.store.read().output_of(&stored.workorder.work_order_id).await.expect("a read");
    assert_eq!(output, None);
}

/// W-7: a row that cannot be read is counted against the one workorder, which waits; a store that is away is not, and the tick
/// ends.
#[tokio::test]
async fn w7_a_fault_of_one_workorder_is_counted_and_one_of_the_store_is_not() {
    let (world, id, faulty) = patch().await;
    faulty.fail_next(Fault::Read("FROM output_bundle", away()));
    let ended = gate::tick(&world.ctx).await;
    assert!(matches!(ended, Err(WorkerError::Store(SubstrateError::Unavailable(_)))), "{ended:?}");
    assert_eq!(claim_count(&world.store, &id).await, 0);
    faulty.fail_next(Fault::Read("FROM output_bundle", corrupt()));
    assert!(matches!(world.gate().await, Tick::Waiting(_)));
    assert_eq!(claim_count(&world.store, &id).await, 1);

    let (world, id, faulty) = triage().await;
    faulty.fail_next(Fault::Read("FROM output_bundle", away()));
    let ended = gate::tick(&world.ctx).await;
    assert!(matches!(ended, Err(WorkerError::Store(SubstrateError::Unavailable(_)))), "{ended:?}");
    assert_eq!(claim_count(&world.store, &id).await, 0);
    faulty.fail_next(Fault::Read("FROM output_bundle", corrupt()));
    assert!(matches!(world.gate().await, Tick::Waiting(_)));
    assert_eq!(claim_count(&world.store, &id).await, 1);
}

/// C-9, W-7: a commit that was refused is counted; one that came too late, or whose outcome nobody knows, is looked at again;
/// one that a store that is away did not take ends the tick.
#[tokio::test]
async fn c9_w7_what_became_of_a_gates_commit() {
    let commit_id = || CommitId::from_body(&SequentialIds::starting_at(1).body());
    let unknown = || SubstrateError::OutcomeUnknown { commit_id: commit_id(), source: "no answer".into() };
    let changed = || SubstrateError::Changed { artifact: "objective" };
    let faults: [(&dyn Fn() -> SubstrateError, &str, u64); 4] = [
        (&changed, "Ok(Advanced)", 0),
        (&unknown, "Ok(Advanced)", 0),
        (&away, "Err(Store(Unavailable(", 0),
        (&corrupt, "Ok(Waiting(", 1),
    ];
    for (fault, expected, count) in faults {
        let (world, id, faulty) = patch().await;
        faulty.fail_next(Fault::Commit(fault()));
        let tick = format!("{:?}", gate::tick(&world.ctx).await);
        assert!(tick.starts_with(expected), "{tick} is not {expected}");
        assert_eq!(claim_count(&world.store, &id).await, count, "{expected}");

        let (world, id, faulty) = triage().await;
        faulty.fail_next(Fault::Commit(fault()));
        let tick = format!("{:?}", gate::tick(&world.ctx).await);
        assert!(tick.starts_with(expected), "{tick} is not {expected}");
        assert_eq!(claim_count(&world.store, &id).await, count, "{expected}");
    }
}

/// C-9: a first PASS is recorded and published without a look at runs, of which there are none.
#[tokio::test]
async fn c9_a_first_pass_looks_at_no_other_run() {
    for is_of_another in [false, true] {
        let (mut world, id, faulty) = objective().await;
        if is_of_another {
            world.as_another_owner();
        }
        faulty.fail_next(Fault::Read("FROM run_record", away()));
        assert_eq!(world.gate().await, Tick::Advanced);
        assert!(world.repository.published(&format!("azolla/{id}")).is_some());
    }
}

/// G-1: a gate that comes back after another one has recorded the PASS publishes nothing any more: the branch is the
/// operator's, who may have taken it away.
#[tokio::test]
async fn g1_a_gate_that_is_late_does_not_bring_a_branch_back() {
    let (world, id, faulty) = objective().await;
    faulty.fail_next(Fault::Seen("FROM context_snapshot"));
    faulty.fail_next(Fault::Stands("FROM objective"));
    let meanwhile = async {
        faulty.reached.notified().await;
        assert_eq!(world.gate().await, Tick::Advanced);
        let branch = format!("azolla/{id}");
        assert!(world.repository.published(&branch).is_some());
        world.repository.forget(&branch);
        faulty.go.notify_one();
    };
    let late = tokio::join!(world.gate(), meanwhile).0;
    assert!(matches!(late, Tick::Waiting(_)), "{late:?}");
    assert_eq!(world.gate().await, Tick::Idle, "there is nothing left to do on it");
    assert_eq!(world.repository.published(&format!("azolla/{id}")), None);
}

/// C-9, G-1: a PASS whose record nobody can vouch for keeps its branch, whatever became of an earlier attempt.
#[tokio::test]
async fn c9_g1_an_unknown_outcome_leaves_the_branch_where_it_is() {
    let text = |text: &str| Answer::Outcome(GenerationOutcome::Text(text.to_owned()));
    let answers = ScriptedDiazotroph::new([text("BROKEN"), text("good")]);
    let mut world = World::with(Backend::Sqlite, answers).await;
    let id = world.executed().await;
    world.gate().await;
    let first = world.store.read().run_of(&workorder(&id, 1)).await.expect("a read").expect("a run");
    assert_eq!(first.gate_result, GateResult::Fail);
    world.readiness().await;
    world.scheduler().await;
    world.runner().await;
    let faulty = Faulty::new(&world.store);
    world.ctx.substrate = faulty.decorated();
    let commit_id = CommitId::from_body(&world.ctx.ids.body());
    faulty.fail_next(Fault::Commit(SubstrateError::OutcomeUnknown { commit_id, source: "no answer".into() }));
    assert_eq!(world.gate().await, Tick::Advanced);
    assert!(world.repository.published(&format!("azolla/{id}")).is_some());
    assert_eq!(world.gate().await, Tick::Advanced);
    let second = world.store.read().run_of(&workorder(&id, 2)).await.expect("a read").expect("a run");
    assert_eq!(second.gate_result, GateResult::Pass);
}

/// W-3, G-1: of the branches that nobody lived to withdraw, one whose run cannot be read leaves no other.
#[tokio::test]
async fn w3_a_run_that_cannot_be_read_leaves_no_other_branch() {
    let mut world = World::new(Backend::Sqlite).await;
    let mut branches = Vec::new();
    for _ in 0..2 {
        let id = world.executed().await;
        world.operator().cancel(&id, "wrong file").await.expect("cancelled");
        assert_eq!(world.gate().await, Tick::Advanced);
        cut_off_after_publishing(&world, &*world.repository, &id, 1).await;
        branches.push(format!("azolla/{id}"));
    }
    world.as_another_owner();
    let faulty = Faulty::new(&world.store);
    world.ctx.substrate = faulty.decorated();
    faulty.fail_next(Fault::Read("FROM run_record", corrupt()));
    assert_eq!(world.gate().await, Tick::Idle);
    let left = branches.iter().filter(|branch| world.repository.published(branch).is_some());
    assert_eq!(left.count(), 1);
}

/// R4, C-9: a commit under a claim is tried again while the store is away for a moment, and no longer than the claim is believed.
#[tokio::test(start_paused = true)]
async fn r4_a_commit_is_tried_again_while_the_claim_is_believed() {
    let (mut world, id, faulty) = objective().await;
    world.as_another_owner();
    for _ in 0..3 {
        faulty.fail_next(Fault::Commit(away()));
    }
    assert_eq!(world.gate().await, Tick::Advanced);
    assert!(world.repository.published(&format!("azolla/{id}")).is_some());

    let (mut world, _, faulty) = objective().await;
    world.as_another_owner();
    for _ in 0..1_000 {
        faulty.fail_next(Fault::Commit(away()));
    }
    let ended = gate::tick(&world.ctx).await;
    assert!(matches!(ended, Err(WorkerError::Store(SubstrateError::Unavailable(_)))), "{ended:?}");
    let [held, tried] = [&faulty.held, &faulty.tried].map(|at| at.lock().unwrap().expect("a time"));
    let believed = Duration::from_secs(54);
    assert!(tried < held + believed, "a try after the claim was given up");
    assert!(tried > held + believed - Duration::from_millis(500), "it was given up too early");
}

/// Whoever watches is told what is under way, and that another process is waited for.
#[tokio::test]
async fn a_watcher_is_told_what_is_under_way() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let (mut world, id, _) = patch().await;
    let log = told.clone();
    world.ctx.watcher = Arc::new(move |activity| log.lock().unwrap().push(activity.step.clone()));
    let resource = ResourceRef::from(&id);
    let lease = world.ctx.settings.lease;
    let own = world.store.store.acquire_claim(&resource, &world.ctx.owner_id, lease, Actor::Gate).await;
    let ClaimOutcome::Granted(own) = own.expect("an answer") else { panic!("it is free") };
    assert!(matches!(world.gate().await, Tick::Waiting(_)));
    let waits = "waiting for another run that has it, or had it and died";
    assert!(!told.lock().unwrap().iter().any(|step| step == waits), "it is our own");
    world.store.store.release_claim(&own.fence, Release::Unused, Actor::Gate).await.expect("given back");
    world.store.granted(&resource).await;
    assert!(matches!(world.gate().await, Tick::Waiting(_)));
    assert!(told.lock().unwrap().iter().any(|step| step == waits));
    world.store.advance(LEASE_MS).await;
    assert_eq!(world.gate().await, Tick::Advanced);
    assert!(told.lock().unwrap().iter().any(|step| step == "publishing the branch"));
}
