//! The store as one owner sees it through the simulation: the real one, behind gates.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use azolla_protocol::{Actor, ClaimRecord, JournalEntry, LeaseLength, OwnerId, ResourceRef, Timestamp};
use azolla_substrate::{
    BoxFuture, ClaimOutcome, Commit, CommitOutcome, Fence, JournalCursor, LoadError, Release, RenewOutcome,
    Row, Statement, Step, Substrate, SubstrateError, SubstrateRead,
};
use tokio::sync::{mpsc, watch};

use super::{
    block::block_on,
    board::{Board, Point, Verdict},
    rare::{self, Rare},
};

/// The store, behind gates.
pub(super) struct SimStore {
    pub(super) inner: Arc<dyn Substrate>,
    pub(super) board: Arc<Board>,
    /// Commits whose sender was told nothing, and which may still land.
    pub(super) late: Arc<Mutex<Vec<Commit>>>,
    /// What is counted of what happens here.
    pub(super) rare: Arc<Mutex<Rare>>,
}

impl SimStore {
    /// Does something at the store as a verdict has it; `lost` is what a lost answer looks like.
    async fn ask<T>(
        &self,
        point: Point,
        call: impl Future<Output = Result<T, SubstrateError>>,
    ) -> Result<T, SubstrateError> {
        match self.board.gate(point).await {
            Verdict::Refuse | Verdict::LandLater => Err(away()),
            Verdict::Go => block_on(call),
            Verdict::GoSlowly => {
                let done = block_on(call);
                self.board.gate(Point::Answer).await;
                done
            }
            Verdict::LoseAnswer => block_on(call).and(Err(away())),
        }
    }

    fn rare(&self) -> MutexGuard<'_, Rare> {
        self.rare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a claim that was gone.
    fn noted<T>(&self, done: Result<T, SubstrateError>) -> Result<T, SubstrateError> {
        self.rare().lost_fences += u64::from(matches!(done, Err(SubstrateError::FenceLost { .. })));
        done
    }

    fn write(&self, commit: Commit) -> Result<CommitOutcome, SubstrateError> {
        let gives_up = rare::gives_up(&commit);
        let done = self.noted(block_on(self.inner.commit(commit)));
        self.rare().poisonings += u64::from(gives_up && matches!(done, Ok(CommitOutcome::Done)));
        done
    }

    async fn read<T>(
        &self,
        call: impl Future<Output = Result<T, SubstrateError>>,
    ) -> Result<T, SubstrateError> {
        match self.board.read_gate().await {
            Verdict::Refuse | Verdict::LoseAnswer | Verdict::LandLater => Err(away()),
            Verdict::Go | Verdict::GoSlowly => block_on(call),
        }
    }
}

fn away() -> SubstrateError {
    SubstrateError::Unavailable(io::Error::other("the simulation took the store away").into())
}

impl SubstrateRead for SimStore {
    fn now(&self) -> BoxFuture<'_, Result<Timestamp, SubstrateError>> {
        Box::pin(self.read(self.inner.now()))
    }

    fn rows(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>> {
        Box::pin(self.read(self.inner.rows(statement)))
    }

    fn scan(&self, statements: Vec<Statement>) -> mpsc::Receiver<Result<(usize, Row), SubstrateError>> {
        self.inner.scan(statements)
    }

    fn journal_after(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        Box::pin(self.read(self.inner.journal_after(after, limit)))
    }

    fn journal_latest(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        Box::pin(self.read(self.inner.journal_latest(after, limit)))
    }

    fn journal_told(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        Box::pin(self.read(self.inner.journal_told(after, limit)))
    }

    fn integrity(&self) -> BoxFuture<'_, Result<Vec<String>, SubstrateError>> {
        self.inner.integrity()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes()
    }
}

impl Substrate for SimStore {
    fn acquire_claim<'a>(
        &'a self,
        resource: &'a ResourceRef,
        owner: &'a OwnerId,
        lease: LeaseLength,
        actor: Actor,
    ) -> BoxFuture<'a, Result<ClaimOutcome, SubstrateError>> {
        Box::pin(self.ask(Point::Claim, async move {
            let claimed = self.inner.acquire_claim(resource, owner, lease, actor).await?;
            let is_gate = actor == Actor::Gate && matches!(claimed, ClaimOutcome::Granted(_));
            self.rare().claimed_gates += u64::from(is_gate);
            Ok(claimed)
        }))
    }

    fn renew_claim<'a>(
        &'a self,
        fence: &'a Fence,
        lease: LeaseLength,
    ) -> BoxFuture<'a, Result<RenewOutcome, SubstrateError>> {
        Box::pin(self.ask(Point::Claim, self.inner.renew_claim(fence, lease)))
    }

    fn release_claim<'a>(
        &'a self,
        fence: &'a Fence,
        release: Release,
        actor: Actor,
    ) -> BoxFuture<'a, Result<(), SubstrateError>> {
        Box::pin(self.ask(Point::Claim, async move {
            self.noted(self.inner.release_claim(fence, release, actor).await)
        }))
    }

    fn expire_claim<'a>(&'a self, seen: &'a ClaimRecord) -> BoxFuture<'a, Result<(), SubstrateError>> {
        Box::pin(self.ask(Point::Claim, async move {
            let resource =
                ResourceRef { resource_type: seen.resource_type, resource_id: seen.resource_id.clone() };
            let before = self.inner.read().claim(&resource).await?;
            self.inner.expire_claim(seen).await?;
            self.rare().leases_ended += u64::from(self.inner.read().claim(&resource).await? != before);
            Ok(())
        }))
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        Box::pin(async move {
            let commit_id = commit.commit_id().clone();
            let unknown = || SubstrateError::OutcomeUnknown {
                commit_id,
                source: io::Error::other("the simulation lost the answer").into(),
            };
            match self.board.gate(Point::Commit).await {
                Verdict::Refuse => Err(away()),
                Verdict::Go => self.write(commit),
                Verdict::GoSlowly => {
                    let done = self.write(commit);
                    self.board.gate(Point::Answer).await;
                    done
                }
                Verdict::LoseAnswer => self.write(commit).and_then(|_| Err(unknown())),
                Verdict::LandLater => {
                    self.late.lock().unwrap_or_else(PoisonError::into_inner).push(commit);
                    Err(unknown())
                }
            }
        })
    }

    fn load(
        &self,
        steps: mpsc::Receiver<Result<Step, SubstrateError>>,
    ) -> BoxFuture<'_, Result<(), LoadError>> {
        self.inner.load(steps)
    }
}
