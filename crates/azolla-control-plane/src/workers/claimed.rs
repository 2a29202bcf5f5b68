//! Work that is claimed before it is looked at. Scheduler and Gate claim with their commit, which leaves no trace of who died
//! while looking; so what this process has not made itself, and may have outlived others, is claimed first (W-7).

use azolla_protocol::{Actor, ObjectiveId, ResourceRef};
use azolla_substrate::{BoxFuture, Commit, CommitOutcome, Release, SubstrateError};

use crate::{
    caught::caught,
    context::{WorkerContext, WorkerError},
    lease::{self, Held},
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
    let (release, claimed) = match lease::hold(ctx, &claim, subject, caught(work)).await {
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
            Ok(CommitOutcome::StreamFull | CommitOutcome::ReviewLimit) => (Release::Unused, Claimed::Full),
            Err(SubstrateError::Changed { .. }) => (Release::Unused, Claimed::Moved),
            Err(error) => failed(error.into())?,
        },
        Held::Done(Ok(None)) => (Release::Unused, Claimed::Stays),
        Held::Done(Err(error)) => failed(error)?,
        Held::Cancelled => (Release::Unused, Claimed::Moved),
        Held::Stopping => (Release::Unused, Claimed::Stopping),
        Held::Lost => return Ok(Claimed::Moved),
    };
    if matches!(release, Release::Unused) {
        // It was looked at, and nobody died.
        ctx.backoff.know(resource);
    }
    lease::release(ctx, &claim, release).await?;
    Ok(claimed)
}

/// A fault of this one resource is counted; any other ends the tick, and the claim with its lease.
fn failed(error: WorkerError) -> Result<(Release, Claimed), WorkerError> {
    if error.is_of_one_resource() { Ok((Release::Failed, Claimed::Failed(error))) } else { Err(error) }
}
