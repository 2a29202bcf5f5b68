//! A request that is made while the open one is being answered (MF-1).

use azolla_control_plane::operator::{Operator, Requested};
use azolla_protocol::{Actor, JournalEntry, LeaseLength, OwnerId, ResourceRef, Timestamp};
use azolla_substrate::{
    BoxFuture, ClaimOutcome, Commit, CommitOutcome, Fence, JournalCursor, LoadError, Release, RenewOutcome,
    Row, Statement, Step, Substrate, SubstrateError, SubstrateRead,
};
use azolla_testkit::{Backend, TaskWorld};
use tokio::sync::{mpsc, watch};

/// A store where whoever is refused comes too late by all that the workers do meanwhile.
struct Overtaken<'a>(&'a TaskWorld);

impl Overtaken<'_> {
    fn store(&self) -> &dyn Substrate {
        &*self.0.store.store
    }
}

/// MF-1, invariant 13: the open request may be answered between the refusal and the look for it. Then there is none, and
/// the id that is given is that of a new one.
#[tokio::test(flavor = "multi_thread")]
async fn mf1_a_request_whose_open_one_is_answered_meanwhile_is_made() {
    let world = TaskWorld::new(Backend::Sqlite).await;
    let first = world.operator().request_manifest().await.unwrap();
    let overtaken = Overtaken(&world);
    let operator = Operator { substrate: &overtaken, ..world.operator() };
    let Requested { event_id, was_open } = operator.request_manifest().await.unwrap();
    assert!(!was_open, "{event_id} was asked for just now");
    assert_ne!(event_id, first.event_id);
    let stored = world.store.read().event(&event_id).await.unwrap();
    assert!(stored.is_some_and(|stored| !stored.event.processed), "{event_id} is there and open");
}

impl SubstrateRead for Overtaken<'_> {
    fn now(&self) -> BoxFuture<'_, Result<Timestamp, SubstrateError>> {
        self.store().now()
    }

    fn rows(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>> {
        self.store().rows(statement)
    }

    fn scan(&self, statements: Vec<Statement>) -> mpsc::Receiver<Result<(usize, Row), SubstrateError>> {
        self.store().scan(statements)
    }

    fn journal_after(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        self.store().journal_after(after, limit)
    }

    fn journal_latest(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        self.store().journal_latest(after, limit)
    }

    fn journal_told(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        self.store().journal_told(after, limit)
    }

    fn integrity(&self) -> BoxFuture<'_, Result<Vec<String>, SubstrateError>> {
        self.store().integrity()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.store().changes()
    }
}

impl Substrate for Overtaken<'_> {
    fn acquire_claim<'a>(
        &'a self,
        resource: &'a ResourceRef,
        owner: &'a OwnerId,
        lease: LeaseLength,
        actor: Actor,
    ) -> BoxFuture<'a, Result<ClaimOutcome, SubstrateError>> {
        self.store().acquire_claim(resource, owner, lease, actor)
    }

    fn renew_claim<'a>(
        &'a self,
        fence: &'a Fence,
        lease: LeaseLength,
    ) -> BoxFuture<'a, Result<RenewOutcome, SubstrateError>> {
        self.store().renew_claim(fence, lease)
    }

    fn release_claim<'a>(
        &'a self,
        fence: &'a Fence,
        release: Release,
        actor: Actor,
    ) -> BoxFuture<'a, Result<(), SubstrateError>> {
        self.store().release_claim(fence, release, actor)
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        Box::pin(async move {
            let outcome = self.store().commit(commit).await;
            if outcome.is_err() {
                self.0.run_to_pause().await.expect("the workers go on");
            }
            outcome
        })
    }

    fn load(
        &self,
        steps: mpsc::Receiver<Result<Step, SubstrateError>>,
    ) -> BoxFuture<'_, Result<(), LoadError>> {
        self.store().load(steps)
    }
}
