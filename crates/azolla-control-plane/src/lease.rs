//! Holds a claim while work goes on: renews it, and ends the work when the claim is lost (C-3, R4, R5).

use std::{
    future::pending,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use azolla_protocol::{Actor, LeaseLength, ObjectiveId, ResourceRef, Timestamp};
use azolla_substrate::{
    BoxFuture, ClaimOutcome, Commit, CommitOutcome, Grant, Release, RenewOutcome, SubstrateError,
};
use tokio::time::{Instant, timeout_at};

use crate::context::WorkerContext;

/// A claim, and until when it is ours by our own clock.
pub(crate) struct Claim {
    pub(crate) grant: Grant,
    actor: Actor,
    /// A little before the store says so: an answer may be under way (R4).
    believed_until: Mutex<Instant>,
}

impl Claim {
    fn believed_until(&self) -> Instant {
        *self.believed_until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn believe_until(&self, until: Instant) {
        *self.believed_until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}

/// How work under a claim ended.
pub(crate) enum Held<T> {
    /// It is done, and the claim was held until now.
    Done(T),
    /// The claim is gone, or nobody can say: the work was ended, and nothing more may be written (PF-6e).
    Lost,
    /// The operator cancelled the run (S-m); the claim is still held.
    Cancelled,
    /// The process is asked to end; the claim is still held.
    Stopping,
}

/// Acquires a claim; none if somebody else holds it or it is closed (C-8).
pub(crate) async fn acquire(
    ctx: &WorkerContext,
    resource: &ResourceRef,
    actor: Actor,
) -> Result<Option<Claim>, SubstrateError> {
    let asked_at = Instant::now();
    match ctx.substrate.acquire_claim(resource, &ctx.owner_id, ctx.settings.lease, actor).await? {
        ClaimOutcome::Granted(grant) => {
            let believed_until = Mutex::new(asked_at + trusted(ctx.settings.lease));
            Ok(Some(Claim { grant, actor, believed_until }))
        }
        ClaimOutcome::Held => Ok(None),
    }
}

/// Gives a claim back without an outcome. One that is gone already needs nothing.
pub(crate) async fn release(
    ctx: &WorkerContext,
    claim: &Claim,
    release: Release,
) -> Result<(), SubstrateError> {
    match ctx.substrate.release_claim(&claim.grant.fence, release, claim.actor).await {
        Err(SubstrateError::FenceLost { .. }) => Ok(()),
        released => released,
    }
}

/// Commits under a claim, which ends with it.
pub(crate) async fn commit(
    ctx: &WorkerContext,
    claim: &Claim,
    commit: Commit,
) -> Result<CommitOutcome, SubstrateError> {
    let commit = commit.fenced(claim.grant.fence.clone());
    insist(claim.believed_until(), || ctx.substrate.commit(commit.clone())).await
}

/// Commits what claims for itself, with as much patience as under a claim.
pub(crate) async fn commit_claiming(
    ctx: &WorkerContext,
    commit: Commit,
) -> Result<CommitOutcome, SubstrateError> {
    let until = Instant::now() + trusted(ctx.settings.lease);
    insist(until, || ctx.substrate.commit(commit.clone())).await
}

/// Returns the store's time, for what is committed under a claim.
pub(crate) async fn now(ctx: &WorkerContext, claim: &Claim) -> Result<Timestamp, SubstrateError> {
    read(claim, || ctx.read().now()).await
}

/// Reads what is committed under a claim next, with as much patience.
pub(crate) async fn read<'a, T>(
    claim: &Claim,
    ask: impl Fn() -> BoxFuture<'a, Result<T, SubstrateError>>,
) -> Result<T, SubstrateError> {
    insist(claim.believed_until(), ask).await
}

/// Asks a store again that is away for a moment, for as long as a claim is believed to hold: nothing was written, and the
/// work behind it may have been paid for.
async fn insist<'a, T>(
    until: Instant,
    ask: impl Fn() -> BoxFuture<'a, Result<T, SubstrateError>>,
) -> Result<T, SubstrateError> {
    const EVERY: Duration = Duration::from_millis(200);
    loop {
        match ask().await {
            Err(SubstrateError::Unavailable(_)) if Instant::now() + EVERY < until => {
                pass(Instant::now() + EVERY).await;
            }
            answer => return answer,
        }
    }
}

/// Runs `work` for an objective under a claim. When this returns, nothing renews the claim
/// any more, so the terminal commit races with no renewal (R14); work that is not done was dropped.
pub(crate) async fn hold<T>(
    ctx: &WorkerContext,
    claim: &Claim,
    objective_id: &ObjectiveId,
    work: impl Future<Output = T>,
) -> Held<T> {
    let mut stopping = ctx.stopping.clone();
    let stopped = async {
        // A sender that is gone will never ask.
        if stopping.wait_for(|stopping| *stopping).await.is_err() {
            pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        done = work => Held::Done(done),
        held = renew(ctx, claim, objective_id) => held,
        () = stopped => Held::Stopping,
    }
}

async fn renew<T>(ctx: &WorkerContext, claim: &Claim, objective_id: &ObjectiveId) -> Held<T> {
    let lease = ctx.settings.lease;
    let every = Duration::from_millis(lease.renew_every_ms());
    loop {
        let until = claim.believed_until();
        pass((Instant::now() + every).min(until)).await;
        let asked_at = Instant::now();
        match timeout_at(until, ctx.substrate.renew_claim(&claim.grant.fence, lease)).await {
            Ok(Ok(RenewOutcome::Renewed(_))) => claim.believe_until(asked_at + trusted(ctx.settings.lease)),
            // Refused, failed, or no answer in time: all the same (R5).
            _ => return Held::Lost,
        }
        // A store that does not answer this is no reason to stop; the next renewal is.
        if timeout_at(claim.believed_until(), is_cancelled(ctx, objective_id)).await == Ok(true) {
            return Held::Cancelled;
        }
    }
}

/// How long a claim is believed: nine tenths of its lease.
fn trusted(lease: LeaseLength) -> Duration {
    Duration::from_millis(lease.as_ms() - lease.as_ms() / 10)
}

/// Lets time pass: nothing completes `pending`.
async fn pass(until: Instant) {
    let _ = timeout_at(until, pending::<()>()).await;
}

/// Tells whether the operator cancelled the run (S-m).
pub(crate) async fn is_cancelled(ctx: &WorkerContext, id: &ObjectiveId) -> bool {
    match ctx.read().objective(id).await {
        Ok(Some(stored)) => stored.objective.metadata.contains_key("cancel"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r4_a_claim_is_believed_for_less_than_its_lease() {
        assert_eq!(LeaseLength::DEFAULT.as_ms(), 60_000);
        assert_eq!(trusted(LeaseLength::DEFAULT), Duration::from_secs(54));
    }
}
