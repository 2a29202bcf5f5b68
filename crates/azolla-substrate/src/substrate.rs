//! The durable store of one azolla, as everything else sees it: one trait, with a read half of its own.
//!
//! No transaction crosses this seam. A caller describes a whole write as a [`Commit`]; the backend applies all of
//! it or none. The typed reads are in `read.rs`, written once over [`SubstrateRead::rows`].

use std::{fmt, pin::Pin, str::FromStr};

use azolla_protocol::{Actor, ClaimRecord, JournalEntry, LeaseLength, OwnerId, ResourceRef, Timestamp};
use tokio::sync::{mpsc, watch};

use crate::{
    claim::{ClaimOutcome, Fence, Release, RenewOutcome},
    commit::{Commit, CommitOutcome},
    error::SubstrateError,
    read::Identity,
    statement::{Row, Statement, Step},
};

/// A future behind a trait object. Dropping it cancels the wait, never half of a write.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How far a follower of the journal has come. The default is before the first row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct JournalCursor {
    pub(crate) transaction: u64,
    pub(crate) seq: u64,
}

impl fmt::Display for JournalCursor {
    /// Writes the form that is kept between two looks, and read back by `from_str`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.transaction, self.seq)
    }
}

impl FromStr for JournalCursor {
    type Err = SubstrateError;

    fn from_str(text: &str) -> Result<Self, SubstrateError> {
        let read = || {
            let (transaction, seq) = text.split_once(':')?;
            Some(Self { transaction: transaction.parse().ok()?, seq: seq.parse().ok()? })
        };
        read().ok_or_else(|| SubstrateError::corrupt("this is no place in a journal"))
    }
}

/// The read half: what the Exchange Membrane and the screens get.
pub trait SubstrateRead: Send + Sync {
    /// Returns the store's own time: the one that leases are judged by (C-7).
    fn now(&self) -> BoxFuture<'_, Result<Timestamp, SubstrateError>>;

    /// Returns the rows of one statement.
    fn rows(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>>;

    /// Streams the rows of several statements, all from one instant of the store, as (statement's position, row).
    fn scan(&self, statements: Vec<Statement>) -> mpsc::Receiver<Result<(usize, Row), SubstrateError>>;

    /// Returns journal rows that come after `after`, each with where it stands. Who goes on from the last one gets
    /// every row once, a row that commits late included; on PostgreSQL that order is not the order of `seq`.
    fn journal_after(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>>;

    /// Returns the newest journal rows that come after `after`, the newest first, each with where it stands. Who follows
    /// from the first one misses nothing that comes later.
    fn journal_latest(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>>;

    /// The same, of the rows that say what became of something: without claims, events, gates and attempts, and without
    /// what was only stored on the way (see `told!`). Most rows are of those kinds.
    fn journal_told(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>>;

    /// Checks the database file or server itself, below the tables. Returns what it found wrong.
    fn integrity(&self) -> BoxFuture<'_, Result<Vec<String>, SubstrateError>>;

    /// Returns a counter that moves after every change, by this process or another one. It may move without one.
    fn changes(&self) -> watch::Receiver<u64>;
}

/// The whole store.
pub trait Substrate: SubstrateRead {
    /// Claims a resource that is open and unclaimed or expired, as one atomic step (C-1).
    fn acquire_claim<'a>(
        &'a self,
        resource: &'a ResourceRef,
        owner: &'a OwnerId,
        lease: LeaseLength,
        actor: Actor,
    ) -> BoxFuture<'a, Result<ClaimOutcome, SubstrateError>>;

    /// Extends an unexpired lease by compare-and-swap (C-3). An error is a lost lease too (R5).
    fn renew_claim<'a>(
        &'a self,
        fence: &'a Fence,
        lease: LeaseLength,
    ) -> BoxFuture<'a, Result<RenewOutcome, SubstrateError>>;

    /// Gives a claim back without an outcome. The record stays, expired (C-2).
    fn release_claim<'a>(
        &'a self,
        fence: &'a Fence,
        release: Release,
        actor: Actor,
    ) -> BoxFuture<'a, Result<(), SubstrateError>>;

    /// Ends the lease of a claim whose heartbeat is in the future, if it still is as it was seen. Only a clock that has
    /// been set back since can have written it, and without this it would be held until that time comes again. It
    /// is for the caller to have seen that nobody renews it.
    fn expire_claim<'a>(&'a self, seen: &'a ClaimRecord) -> BoxFuture<'a, Result<(), SubstrateError>>;

    /// Applies all of a commit or none of it, and its journal rows with it.
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>>;

    /// Applies every step that arrives, in one transaction, which ends with the first error or with `None`.
    /// `import` alone uses it.
    fn load(
        &self,
        steps: mpsc::Receiver<Result<Step, SubstrateError>>,
    ) -> BoxFuture<'_, Result<(), LoadError>>;
}

/// Why a load stopped. Nothing of it was written, unless the error says that this is not known.
#[derive(Debug)]
pub struct LoadError {
    /// The position of the step that failed, if one did.
    pub(crate) step: Option<usize>,
    /// What was wrong with it.
    pub(crate) error: SubstrateError,
}

impl From<SubstrateError> for LoadError {
    fn from(error: SubstrateError) -> Self {
        Self { step: None, error }
    }
}

impl dyn Substrate + '_ {
    /// Returns the read half.
    pub fn read(&self) -> &dyn SubstrateRead
    where
        Self: 'static,
    {
        self
    }
}

/// How a store is opened.
#[derive(Clone, Debug)]
pub enum Opening {
    /// It has to be there, whosever it is.
    Existing,
    /// It is made if it is not there; if it is there, it has to be this azolla's.
    OrCreate(Identity),
}

impl Opening {
    /// Returns the identity of a new store.
    pub(crate) fn create(&self) -> Result<Identity, SubstrateError> {
        match self {
            Self::OrCreate(identity) => Ok(identity.clone()),
            Self::Existing => {
                Err(SubstrateError::unusable("there is no Substrate here", "check the name of the store"))
            }
        }
    }

    /// Refuses the Substrate of another azolla.
    pub(crate) fn expect(&self, found: Identity) -> Result<Identity, SubstrateError> {
        match self {
            Self::OrCreate(expected) if *expected != found => Err(SubstrateError::unusable(
                format!(
                    "the store belongs to {} ({}), not to {} ({})",
                    found.azolla_id, found.azolla_type, expected.azolla_id, expected.azolla_type
                ),
                "correct the configuration; an azolla keeps its id and its type",
            )),
            _ => Ok(found),
        }
    }
}
