//! Work that is claimed before it is looked at. Scheduler and Gate claim with their commit, which leaves no trace of who died
//! while looking; so what this process has not made itself, or what failed before, is claimed first (W-7).

use azolla_protocol::{Actor, ObjectiveId, ResourceRef};
use azolla_substrate::{BoxFuture, Commit, CommitOutcome, Release, SubstrateError};

use crate::{
    caught::caught,
    context::{WorkerContext, WorkerError},
    lease::{self, Claim, Held},
};

/// What became of it.
pub(super) enum Claimed {
    /// It moved, or nobody can say: look again (C-9).
    Moved,
    /// It stays as it is.
    Stays,
    /// There is no room for it (W-4, O-3).
    Full,
    /// Somebody else has it.
    Held,
    /// It failed in passing, and that is counted.
    Failed(WorkerError),
    /// The process ends; the claim was given back.
    Stopping,
}

/// Claims `resource`, runs `work`, which looks whether it is still eligible (C-1), and commits what that returns.
pub(super) async fn commit(
    ctx: &WorkerContext,
    resource: &ResourceRef,
    actor: Actor,
    subject: &ObjectiveId,
    work: BoxFuture<'_, Result<Option<Commit>, WorkerError>>,
) -> Result<Claimed, WorkerError> {
    let Some(claim) = lease::acquire(ctx, resource, actor).await? else { return Ok(Claimed::Held) };
    let claimed = match lease::hold(ctx, &claim, subject, caught(work)).await {
        Held::Done(Ok(Some(commit))) => match lease::commit(ctx, &claim, commit).await {
            Ok(CommitOutcome::Done) => {
                ctx.backoff.moved(resource);
                return Ok(Claimed::Moved);
            }
            // Taken over, or nobody can say.
            Err(SubstrateError::FenceLost { .. } | SubstrateError::OutcomeUnknown { .. }) => {
                return Ok(Claimed::Moved);
            }
            Ok(CommitOutcome::Held) => return Ok(Claimed::Held),
            Ok(CommitOutcome::StreamFull | CommitOutcome::ReviewLimit) => Claimed::Full,
            Err(SubstrateError::Changed { .. }) => Claimed::Moved,
            Err(error) => {
                return failed(ctx, &claim, error.into(), Release::Failed).await.map(Claimed::Failed);
            }
        },
        Held::Done(Ok(None)) => Claimed::Stays,
        Held::Done(Err(error)) => {
            return failed(ctx, &claim, error, Release::Unused).await.map(Claimed::Failed);
        }
        Held::Cancelled => Claimed::Moved,
        Held::Stopping => Claimed::Stopping,
        Held::Lost => return Ok(Claimed::Moved),
    };
    // It was looked at, and nobody died.
    ctx.backoff.know(resource);
    lease::release(ctx, &claim, Release::Unused).await?;
    Ok(claimed)
}

/// Counts a fault of this one resource, and returns it. Any other ends the tick, and the claim goes `otherwise` if the store
/// answers: a read that fails is nothing that the resource can help, a commit that never gets through may be. A store that
/// cannot be used, such as one on a full disk, is nobody's fault.
pub(super) async fn failed(
    ctx: &WorkerContext,
    claim: &Claim,
    error: WorkerError,
    otherwise: Release,
) -> Result<WorkerError, WorkerError> {
    if error.is_of_one_resource() {
        lease::release(ctx, claim, Release::Failed).await?;
        return Ok(error);
    }
    let release = match &error {
        WorkerError::Store(SubstrateError::Unusable { .. }) => Release::Unused,
        _ => otherwise,
    };
    let _ = lease::release(ctx, claim, release).await;
    Err(error)
}
