//! A store with something in front of some of its calls: a decorator says which, and the rest stays as it is.

use azolla_protocol::{Actor, ClaimRecord, JournalEntry, LeaseLength, OwnerId, ResourceRef, Timestamp};
use azolla_substrate::{
    BoxFuture, ClaimOutcome, Commit, CommitOutcome, Fence, JournalCursor, LoadError, Release, RenewOutcome,
    Row, Statement, Step, Substrate, SubstrateError, SubstrateRead,
};
use tokio::sync::{mpsc, watch};

/// What is in front of a store. A call that is not written here goes through.
pub trait Decorator: Send + Sync {
    /// Returns the store.
    fn inner(&self) -> &dyn Substrate;

    /// In front of [`SubstrateRead::now`].
    fn now(&self) -> BoxFuture<'_, Result<Timestamp, SubstrateError>> {
        self.inner().now()
    }

    /// In front of [`SubstrateRead::rows`].
    fn rows(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>> {
        self.inner().rows(statement)
    }

    /// In front of [`Substrate::acquire_claim`].
    fn acquire_claim<'a>(
        &'a self,
        resource: &'a ResourceRef,
        owner: &'a OwnerId,
        lease: LeaseLength,
        actor: Actor,
    ) -> BoxFuture<'a, Result<ClaimOutcome, SubstrateError>> {
        self.inner().acquire_claim(resource, owner, lease, actor)
    }

    /// In front of [`Substrate::renew_claim`].
    fn renew_claim<'a>(
        &'a self,
        fence: &'a Fence,
        lease: LeaseLength,
    ) -> BoxFuture<'a, Result<RenewOutcome, SubstrateError>> {
        self.inner().renew_claim(fence, lease)
    }

    /// In front of [`Substrate::release_claim`].
    fn release_claim<'a>(
        &'a self,
        fence: &'a Fence,
        release: Release,
        actor: Actor,
    ) -> BoxFuture<'a, Result<(), SubstrateError>> {
        self.inner().release_claim(fence, release, actor)
    }

    /// In front of [`Substrate::expire_claim`].
    fn expire_claim<'a>(&'a self, seen: &'a ClaimRecord) -> BoxFuture<'a, Result<(), SubstrateError>> {
        self.inner().expire_claim(seen)
    }

    /// In front of [`Substrate::commit`].
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        self.inner().commit(commit)
    }
}

/// A store behind its decorator.
pub struct Decorated<D>(pub D);

impl<D: Decorator> SubstrateRead for Decorated<D> {
    fn now(&self) -> BoxFuture<'_, Result<Timestamp, SubstrateError>> {
        self.0.now()
    }

    fn rows(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>> {
        self.0.rows(statement)
    }

    fn scan(&self, statements: Vec<Statement>) -> mpsc::Receiver<Result<(usize, Row), SubstrateError>> {
        self.0.inner().scan(statements)
    }

    fn journal_after(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        self.0.inner().journal_after(after, limit)
    }

    fn journal_latest(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        self.0.inner().journal_latest(after, limit)
    }

    fn journal_told(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        self.0.inner().journal_told(after, limit)
    }

    fn integrity(&self) -> BoxFuture<'_, Result<Vec<String>, SubstrateError>> {
        self.0.inner().integrity()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.0.inner().changes()
    }
}

impl<D: Decorator> Substrate for Decorated<D> {
    fn acquire_claim<'a>(
        &'a self,
        resource: &'a ResourceRef,
        owner: &'a OwnerId,
        lease: LeaseLength,
        actor: Actor,
    ) -> BoxFuture<'a, Result<ClaimOutcome, SubstrateError>> {
        self.0.acquire_claim(resource, owner, lease, actor)
    }

    fn renew_claim<'a>(
        &'a self,
        fence: &'a Fence,
        lease: LeaseLength,
    ) -> BoxFuture<'a, Result<RenewOutcome, SubstrateError>> {
        self.0.renew_claim(fence, lease)
    }

    fn release_claim<'a>(
        &'a self,
        fence: &'a Fence,
        release: Release,
        actor: Actor,
    ) -> BoxFuture<'a, Result<(), SubstrateError>> {
        self.0.release_claim(fence, release, actor)
    }

    fn expire_claim<'a>(&'a self, seen: &'a ClaimRecord) -> BoxFuture<'a, Result<(), SubstrateError>> {
        self.0.expire_claim(seen)
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        self.0.commit(commit)
    }

    fn load(
        &self,
        steps: mpsc::Receiver<Result<Step, SubstrateError>>,
    ) -> BoxFuture<'_, Result<(), LoadError>> {
        self.0.inner().load(steps)
    }
}
