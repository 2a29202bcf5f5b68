//! Substrates that are cut off at a commit, or that somebody read too early.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use azolla_protocol::{Actor, JournalEntry, LeaseLength, OwnerId, ResourceRef, Timestamp};
use azolla_substrate::{
    BoxFuture, ClaimOutcome, Commit, CommitOutcome, Fence, JournalCursor, LoadError, Release, RenewOutcome,
    Row, Statement, Step, Substrate, SubstrateError, SubstrateRead,
};
use tokio::sync::{Notify, mpsc, watch};

/// When a store goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Before anything is written.
    BeforeCommit,
    /// Once it is written, before the answer.
    AfterCommit,
}

/// A store that goes away with every commit.
pub(super) struct Away {
    store: Arc<dyn Substrate>,
    when: When,
}

impl Away {
    pub(super) fn new(store: Arc<dyn Substrate>, when: When) -> Self {
        Self { store, when }
    }
}

/// A store whose resolutions were read before somebody else's was recorded.
pub(super) struct Stale {
    store: Arc<dyn Substrate>,
    was_read: AtomicBool,
}

impl Stale {
    pub(super) fn new(store: Arc<dyn Substrate>) -> Self {
        Self { store, was_read: AtomicBool::new(false) }
    }
}

/// A store that does a commit only once it may.
pub(crate) struct Paused {
    store: Arc<dyn Substrate>,
    /// Told when there is a commit.
    pub(crate) reached: Notify,
    /// Lets it happen.
    pub(crate) go: Notify,
}

impl Paused {
    pub(crate) fn new(store: Arc<dyn Substrate>) -> Self {
        Self { store, reached: Notify::new(), go: Notify::new() }
    }
}

/// The parts of a store that a decorator leaves as they are.
macro_rules! as_it_is {
    ($name:ident) => {
        impl Substrate for $name {
            fn acquire_claim<'a>(
                &'a self,
                resource: &'a ResourceRef,
                owner: &'a OwnerId,
                lease: LeaseLength,
                actor: Actor,
            ) -> BoxFuture<'a, Result<ClaimOutcome, SubstrateError>> {
                self.store.acquire_claim(resource, owner, lease, actor)
            }

            fn renew_claim<'a>(
                &'a self,
                fence: &'a Fence,
                lease: LeaseLength,
            ) -> BoxFuture<'a, Result<RenewOutcome, SubstrateError>> {
                self.store.renew_claim(fence, lease)
            }

            fn release_claim<'a>(
                &'a self,
                fence: &'a Fence,
                release: Release,
                actor: Actor,
            ) -> BoxFuture<'a, Result<(), SubstrateError>> {
                self.store.release_claim(fence, release, actor)
            }

            fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
                self.commit_as(commit)
            }

            fn load(
                &self,
                steps: mpsc::Receiver<Result<Step, SubstrateError>>,
            ) -> BoxFuture<'_, Result<(), LoadError>> {
                self.store.load(steps)
            }
        }

        impl SubstrateRead for $name {
            fn now(&self) -> BoxFuture<'_, Result<Timestamp, SubstrateError>> {
                self.store.now()
            }

            fn rows(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>> {
                self.rows_as(statement)
            }

            fn scan(
                &self,
                statements: Vec<Statement>,
            ) -> mpsc::Receiver<Result<(usize, Row), SubstrateError>> {
                self.store.scan(statements)
            }

            fn journal_after(
                &self,
                after: JournalCursor,
                limit: u64,
            ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
                self.store.journal_after(after, limit)
            }

            fn journal_latest(
                &self,
                after: JournalCursor,
                limit: u64,
            ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
                self.store.journal_latest(after, limit)
            }

            fn journal_told(
                &self,
                after: JournalCursor,
                limit: u64,
            ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
                self.store.journal_told(after, limit)
            }

            fn integrity(&self) -> BoxFuture<'_, Result<Vec<String>, SubstrateError>> {
                self.store.integrity()
            }

            fn changes(&self) -> watch::Receiver<u64> {
                self.store.changes()
            }
        }
    };
}

as_it_is!(Away);
as_it_is!(Stale);
as_it_is!(Paused);

impl Away {
    fn rows_as(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>> {
        self.store.rows(statement)
    }

    fn commit_as(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        Box::pin(async move {
            if self.when == When::AfterCommit {
                self.store.commit(commit).await?;
            }
            Err(SubstrateError::Unavailable("it went away".into()))
        })
    }
}

impl Paused {
    fn rows_as(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>> {
        self.store.rows(statement)
    }

    fn commit_as(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        Box::pin(async move {
            self.reached.notify_one();
            self.go.notified().await;
            // Whatever follows happens at once.
            self.go.notify_one();
            self.store.commit(commit).await
        })
    }
}

impl Stale {
    fn rows_as(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>> {
        let is_first = format!("{statement:?}").contains("FROM candidate_resolution")
            && !self.was_read.swap(true, Ordering::SeqCst);
        if is_first { Box::pin(async { Ok(Vec::new()) }) } else { self.store.rows(statement) }
    }

    fn commit_as(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        self.store.commit(commit)
    }
}
