//! Substrates that are cut off at a commit, or that somebody read too early.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use azolla_substrate::{BoxFuture, Commit, CommitOutcome, Row, Statement, Substrate, SubstrateError};
use azolla_testkit::{Decorated, Decorator};
use tokio::sync::Notify;

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
    pub(super) fn new(store: Arc<dyn Substrate>, when: When) -> Decorated<Self> {
        Decorated(Self { store, when })
    }
}

/// A store whose resolutions were read before somebody else's was recorded.
pub(super) struct Stale {
    store: Arc<dyn Substrate>,
    was_read: AtomicBool,
}

impl Stale {
    pub(super) fn new(store: Arc<dyn Substrate>) -> Decorated<Self> {
        Decorated(Self { store, was_read: AtomicBool::new(false) })
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
    pub(crate) fn new(store: Arc<dyn Substrate>) -> Decorated<Self> {
        Decorated(Self { store, reached: Notify::new(), go: Notify::new() })
    }
}

impl Decorator for Away {
    fn inner(&self) -> &dyn Substrate {
        &*self.store
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        Box::pin(async move {
            if self.when == When::AfterCommit {
                self.store.commit(commit).await?;
            }
            Err(SubstrateError::Unavailable("it went away".into()))
        })
    }
}

impl Decorator for Paused {
    fn inner(&self) -> &dyn Substrate {
        &*self.store
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        Box::pin(async move {
            self.reached.notify_one();
            self.go.notified().await;
            // Whatever follows happens at once.
            self.go.notify_one();
            self.store.commit(commit).await
        })
    }
}

impl Decorator for Stale {
    fn inner(&self) -> &dyn Substrate {
        &*self.store
    }

    fn rows(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>> {
        let is_first = format!("{statement:?}").contains("FROM candidate_resolution")
            && !self.was_read.swap(true, Ordering::SeqCst);
        if is_first { Box::pin(async { Ok(Vec::new()) }) } else { self.store.rows(statement) }
    }
}
