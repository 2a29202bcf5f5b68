//! Holds a claim while work goes on: renews it, and ends the work when the claim is lost (C-3, R4, R5).

use std::{future::pending, time::Duration};

use azolla_protocol::{Actor, ObjectiveId, ResourceRef};
use azolla_substrate::{ClaimOutcome, Grant, Release, RenewOutcome, SubstrateError};
use tokio::time::{Instant, timeout_at};

use crate::context::WorkerContext;

/// A claim, and when by our own clock it was asked for.
pub(crate) struct Claim {
    pub(crate) grant: Grant,
    actor: Actor,
    asked_at: Instant,
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
        ClaimOutcome::Granted(grant) => Ok(Some(Claim { grant, actor, asked_at })),
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
    // By our own clock the claim ends a little before the store says so: an answer may be under way (R4).
    let trusted = Duration::from_millis(lease.as_ms() - lease.as_ms() / 10);
    let mut believed_until = claim.asked_at + trusted;
    loop {
        let next = Instant::now() + every;
        // Only ever waits: nothing completes `pending`.
        let _ = timeout_at(next.min(believed_until), pending::<()>()).await;
        let asked_at = Instant::now();
        let renewal = ctx.substrate.renew_claim(&claim.grant.fence, lease);
        match timeout_at(believed_until, renewal).await {
            Ok(Ok(RenewOutcome::Renewed(_))) => believed_until = asked_at + trusted,
            // Refused, failed, or no answer in time: all the same (R5).
            _ => return Held::Lost,
        }
        if is_cancelled(ctx, objective_id).await {
            return Held::Cancelled;
        }
    }
}

/// Asked after every renewal (S-m). A store that does not answer is no reason to stop; the next renewal is.
async fn is_cancelled(ctx: &WorkerContext, id: &ObjectiveId) -> bool {
    match ctx.read().objective(id).await {
        Ok(Some(stored)) => stored.objective.metadata.contains_key("cancel"),
        _ => false,
    }
}
