//! C-9 and R6: a connection that is cut around COMMIT, and a BEGIN or COMMIT that the server refuses, on a proxy between
//! the program and a real server.

use std::time::Duration;

use azolla_protocol::{Actor, AzollaType, ResourceRef, WorkOrderId};
use azolla_substrate::{
    ClaimOutcome, Commit, CommitOutcome, Fence, Opening, PostgresSubstrate, Substrate, SubstrateError,
    SubstrateRead, Write, verify,
};
use azolla_testkit::{
    Backend, PatchCycle, TestStore,
    cycle::{lease, output_bundle, valid},
    proxy::{Proxy, Upstream},
    store::{Place, azolla_id, identity},
};

struct Cut {
    world: TestStore,
    proxy: Proxy,
    through: PostgresSubstrate,
}

async fn cut() -> Cut {
    let world = TestStore::new(Backend::Postgres).await;
    let Place::Database(database) = &world.place else { unreachable!("the world is on PostgreSQL") };
    let proxy = Proxy::start(Upstream::of(database.url()).unwrap()).await.unwrap();
    let address = proxy.url(database.url()).unwrap();
    let opening = Opening::OrCreate(identity(AzollaType::CodePatch));
    let through = PostgresSubstrate::open(&address, &azolla_id(), opening).await.unwrap();
    Cut { world, proxy, through }
}

async fn execute(cut: &Cut, cycle: &PatchCycle<'_>, fence: Fence) -> Result<CommitOutcome, SubstrateError> {
    let id = WorkOrderId::new(fence.resource.resource_id.clone()).unwrap();
    let bundle = valid(output_bundle(&id, &cycle.objective_id, cut.world.now().await));
    let commit = Commit::new(cut.world.ids.commit_id(), Actor::Runner).with(Write::Execute(bundle));
    cut.through.commit(commit.fenced(fence)).await
}

/// Asks for a claim, each time as another owner.
async fn acquire(cut: &Cut, resource: &ResourceRef) -> Result<ClaimOutcome, SubstrateError> {
    let owner = cut.world.ids.owner_id();
    cut.through.acquire_claim(resource, &owner, lease(), Actor::Runner).await
}

#[tokio::test(flavor = "multi_thread")]
async fn c9_r6_a_cut_after_commit_is_resolved_as_done_by_reading() {
    let cut = cut().await;
    let cycle = PatchCycle::todo(&cut.world).await;
    let work_order_id = cycle.scheduled().await;
    let fence = cut.world.granted(&(&work_order_id).into()).await.fence;
    cut.proxy.cut_after_commit();
    assert_eq!(execute(&cut, &cycle, fence).await.unwrap(), CommitOutcome::Done);
    assert_eq!(cut.proxy.lost_answers(), ["COMMIT"]);
    // Once, and only once.
    assert_eq!(verify(cut.world.read()).await.unwrap(), []);
    assert!(cut.world.read().output_of(&work_order_id).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn c9_r6_a_cut_before_commit_is_unknown_and_never_written_again() {
    let cut = cut().await;
    let cycle = PatchCycle::todo(&cut.world).await;
    let work_order_id = cycle.scheduled().await;
    let fence = cut.world.granted(&(&work_order_id).into()).await.fence;
    cut.proxy.cut_before_commit();
    let outcome = execute(&cut, &cycle, fence.clone()).await;
    assert!(matches!(outcome, Err(SubstrateError::OutcomeUnknown { .. })), "{outcome:?}");
    assert_eq!(cut.proxy.cuts(), 1);
    assert_eq!(cut.world.read().output_of(&work_order_id).await.unwrap(), None);
    // The claim still stands, so nobody else begins before it has expired.
    cut.world.advance(60_000).await;
    let next = cut.world.granted(&(&work_order_id).into()).await;
    assert_eq!((next.fence.claim_version, next.claim_count), (2, 2));
    assert_eq!(execute(&cut, &cycle, next.fence).await.unwrap(), CommitOutcome::Done);
    assert_eq!(verify(cut.world.read()).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn c9_an_unfenced_commit_whose_answer_is_lost_is_done_once() {
    let cut = cut().await;
    let cycle = PatchCycle::todo(&cut.world).await;
    let event = cycle.event(1).await;
    let commit = Commit::new(cut.world.ids.commit_id(), Actor::Readiness)
        .with(Write::EmitEvent { event: valid(event), entry: Some(1) });
    cut.proxy.cut_after_commit();
    assert_eq!(cut.through.commit(commit.clone()).await.unwrap(), CommitOutcome::Done);
    assert_eq!(cut.proxy.lost_answers(), ["COMMIT"]);
    // Sent again by a caller that does not know better: refused by the unique key, not doubled.
    let again = cut.through.commit(commit).await.unwrap_err();
    assert!(again.is_refused_by("W-1") || again.is_refused_by("C-9"), "{again}");
    assert_eq!(verify(cut.world.read()).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn c9_an_import_whose_answer_is_lost_is_done() {
    let (full, cut) = (TestStore::new(Backend::Sqlite).await, cut().await);
    PatchCycle::todo(&full).await.run(azolla_protocol::GateResult::Pass).await;
    let exported = crate::seed::exported(&full).await;
    cut.proxy.cut_after_commit();
    azolla_substrate::import(&cut.through, std::io::Cursor::new(exported.clone())).await.unwrap();
    assert_eq!(cut.proxy.lost_answers(), ["COMMIT"]);
    assert_eq!(crate::seed::exported(&cut.world).await, exported);
}

#[tokio::test(flavor = "multi_thread")]
async fn r5_a_renewal_whose_answer_is_lost_is_an_error() {
    let cut = cut().await;
    let cycle = PatchCycle::todo(&cut.world).await;
    let fence = cut.world.granted(&(&cycle.scheduled().await).into()).await.fence;
    cut.proxy.cut_after_commit();
    let renewal = cut.through.renew_claim(&fence, lease()).await;
    assert!(matches!(renewal, Err(SubstrateError::Unavailable(_))), "{renewal:?}");
    assert_eq!(cut.proxy.lost_answers(), ["COMMIT"]);
    // The pool heals by itself: the next question is answered.
    let store: &dyn SubstrateRead = &cut.through;
    assert!(store.claim(&fence.resource).await.unwrap().is_some());
}

/// C-1, R5: nobody is told of the claim, so it holds until its lease ends, and then for somebody else.
#[tokio::test(flavor = "multi_thread")]
async fn c1_r5_an_acquire_whose_answer_is_lost_is_an_error() {
    let cut = cut().await;
    let resource = (&PatchCycle::todo(&cut.world).await.scheduled().await).into();
    cut.proxy.cut_after_commit();
    let claim = acquire(&cut, &resource).await;
    assert!(matches!(claim, Err(SubstrateError::Unavailable(_))), "{claim:?}");
    assert_eq!(cut.proxy.lost_answers(), ["COMMIT"]);
    assert_eq!(acquire(&cut, &resource).await.unwrap(), ClaimOutcome::Held);
    cut.world.advance(60_000).await;
    assert_eq!(cut.world.granted(&resource).await.fence.claim_version, 2);
}

/// R1, C-4, C-5: without its BEGIN a flight is no transaction, and every statement of it would stand for itself. The
/// fence of a stale owner would miss alone, and the rest would land.
#[tokio::test(flavor = "multi_thread")]
async fn c4_r1_a_stale_owner_whose_begin_is_refused_writes_nothing() {
    let cut = cut().await;
    let cycle = PatchCycle::todo(&cut.world).await;
    let work_order_id = cycle.scheduled().await;
    let stale = cut.world.granted(&(&work_order_id).into()).await.fence;
    cut.world.advance(60_000).await;
    let next = cut.world.granted(&(&work_order_id).into()).await.fence;
    let before = cut.world.read().journal_of(work_order_id.as_str()).await.unwrap();

    cut.proxy.refuse("BEGIN");
    let outcome = execute(&cut, &cycle, stale).await;
    assert!(matches!(outcome, Err(SubstrateError::Unavailable(_))), "{outcome:?}");
    assert_eq!(cut.world.read().output_of(&work_order_id).await.unwrap(), None);
    assert_eq!(cut.world.read().journal_of(work_order_id.as_str()).await.unwrap(), before);
    assert_eq!(execute(&cut, &cycle, next).await.unwrap(), CommitOutcome::Done);
    assert_eq!(verify(cut.world.read()).await.unwrap(), []);
}

/// C-5, P18: the transaction of a COMMIT that the server refused is still open on its connection, which answers
/// nothing any more.
#[tokio::test(flavor = "multi_thread")]
async fn c5_p18_after_a_commit_that_was_refused_the_store_goes_on() {
    let cut = cut().await;
    let cycle = PatchCycle::todo(&cut.world).await;
    let work_order_id = cycle.scheduled().await;
    let fence = cut.world.granted(&(&work_order_id).into()).await.fence;
    cut.proxy.refuse("COMMIT");
    let outcome = execute(&cut, &cycle, fence.clone()).await;
    assert!(matches!(outcome, Err(SubstrateError::Unavailable(_))), "{outcome:?}");
    let store: &dyn SubstrateRead = &cut.through;
    assert_eq!(store.output_of(&work_order_id).await.unwrap(), None);
    assert_eq!(execute(&cut, &cycle, fence).await.unwrap(), CommitOutcome::Done);
    assert_eq!(verify(cut.world.read()).await.unwrap(), []);
}

/// C-1, C-3: a claim is a transaction like any other.
#[tokio::test(flavor = "multi_thread")]
async fn c1_c3_a_claim_whose_transaction_is_refused_is_as_it_was() {
    let cut = cut().await;
    let resource = (&PatchCycle::todo(&cut.world).await.scheduled().await).into();
    for refused in ["BEGIN", "COMMIT"] {
        cut.proxy.refuse(refused);
        let claim = acquire(&cut, &resource).await;
        assert!(matches!(claim, Err(SubstrateError::Unavailable(_))), "{refused}: {claim:?}");
        let store: &dyn SubstrateRead = &cut.through;
        assert_eq!(store.claim(&resource).await.unwrap(), None, "{refused}");
    }
    let ClaimOutcome::Granted(grant) = acquire(&cut, &resource).await.unwrap() else { panic!("held") };
    let granted = cut.world.read().claim(&resource).await.unwrap();
    for refused in ["BEGIN", "COMMIT"] {
        cut.proxy.refuse(refused);
        let renewal = cut.through.renew_claim(&grant.fence, lease()).await;
        assert!(matches!(renewal, Err(SubstrateError::Unavailable(_))), "{refused}: {renewal:?}");
        let store: &dyn SubstrateRead = &cut.through;
        assert_eq!(store.claim(&resource).await.unwrap(), granted, "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c4_a_commit_takes_one_round_trip_and_a_claim_another() {
    let cut = cut().await;
    let cycle = PatchCycle::todo(&cut.world).await;
    cut.proxy.delay(Duration::from_millis(100));
    let mut least = (u64::MAX, u64::MAX);
    // The first round prepares the statements on its connection; a later one shows what a cycle costs. A machine that
    // stands still for longer than the delay makes two of one, so that the least of several counts.
    for _ in 0..4 {
        let work_order_id = cycle.scheduled().await;
        let before = cut.proxy.round_trips();
        let resource = (&work_order_id).into();
        let ClaimOutcome::Granted(grant) = acquire(&cut, &resource).await.unwrap() else { panic!("held") };
        let claimed = cut.proxy.round_trips();
        assert_eq!(execute(&cut, &cycle, grant.fence).await.unwrap(), CommitOutcome::Done);
        least = (least.0.min(claimed - before), least.1.min(cut.proxy.round_trips() - claimed));
        let gate = cut.world.granted(&resource).await;
        cycle.gate(gate.fence, azolla_protocol::GateResult::Fail).await.unwrap();
    }
    assert_eq!(least, (1, 1));
}
