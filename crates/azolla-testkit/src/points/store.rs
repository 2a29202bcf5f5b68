//! The store as a process with a trap sees it: the real one, with a boundary on either side of every write.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, PoisonError},
};

use azolla_protocol::{Actor, LeaseLength, OwnerId, ResourceRef};
use azolla_substrate::{
    BoxFuture, ClaimOutcome, Commit, CommitOutcome, Fence, Release, RenewOutcome, Substrate, SubstrateError,
};

use super::{
    mood::Mood,
    name,
    trap::{Side, Trap, Verdict, say},
};
use crate::decorate::Decorator;

/// A store with boundaries.
pub(super) struct PointStore {
    pub(super) inner: Arc<dyn Substrate>,
    /// Which of the two it is, for what is printed.
    pub(super) which: &'static str,
    pub(super) trap: Arc<Trap>,
    pub(super) mood: Arc<Mood>,
    /// Who acquired a claim: a renewal does not say.
    pub(super) holders: Mutex<HashMap<String, Actor>>,
}

impl PointStore {
    /// Does something between its two boundaries. What was refused was not written, so it has no second one.
    async fn between<T>(
        &self,
        name: &str,
        is_done: impl Fn(&T) -> bool,
        call: impl Future<Output = Result<T, SubstrateError>>,
    ) -> Result<T, SubstrateError> {
        if self.trap.come_to(Side::Before, name) == Verdict::Fail {
            return Err(SubstrateError::Unavailable(lost("the store is away")));
        }
        let done = call.await?;
        if is_done(&done) && self.trap.come_to(Side::After, name) == Verdict::Fail {
            return Err(SubstrateError::Unavailable(lost("the answer got lost")));
        }
        Ok(done)
    }

    fn holder(&self, fence: &Fence) -> Actor {
        let holders = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        holders.get(&fence.resource.to_string()).copied().expect("who renews has acquired")
    }
}

fn lost(what: &str) -> azolla_substrate::BoxError {
    io::Error::other(what.to_owned()).into()
}

impl Decorator for PointStore {
    fn inner(&self) -> &dyn Substrate {
        &*self.inner
    }

    fn acquire_claim<'a>(
        &'a self,
        resource: &'a ResourceRef,
        owner: &'a OwnerId,
        lease: LeaseLength,
        actor: Actor,
    ) -> BoxFuture<'a, Result<ClaimOutcome, SubstrateError>> {
        Box::pin(async move {
            let holders = || self.holders.lock().unwrap_or_else(PoisonError::into_inner);
            holders().insert(resource.to_string(), actor);
            let name = name::of_claim(actor, "acquire_claim");
            let is_granted = |outcome: &ClaimOutcome| matches!(outcome, ClaimOutcome::Granted(_));
            self.between(&name, is_granted, self.inner.acquire_claim(resource, owner, lease, actor)).await
        })
    }

    fn renew_claim<'a>(
        &'a self,
        fence: &'a Fence,
        lease: LeaseLength,
    ) -> BoxFuture<'a, Result<RenewOutcome, SubstrateError>> {
        Box::pin(async move {
            let name = name::of_claim(self.holder(fence), "renew_claim");
            let is_renewed = |outcome: &RenewOutcome| matches!(outcome, RenewOutcome::Renewed(_));
            let renewed = self.between(&name, is_renewed, self.inner.renew_claim(fence, lease)).await;
            self.mood.renewed();
            renewed
        })
    }

    fn release_claim<'a>(
        &'a self,
        fence: &'a Fence,
        release: Release,
        actor: Actor,
    ) -> BoxFuture<'a, Result<(), SubstrateError>> {
        Box::pin(async move {
            let name = name::of_claim(actor, "release_claim");
            self.between(&name, |()| true, self.inner.release_claim(fence, release, actor)).await
        })
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        Box::pin(async move {
            let (name, commit_id) = (name::of_commit(&commit), commit.commit_id().clone());
            if self.trap.come_to(Side::Before, &name) == Verdict::Fail {
                return Err(SubstrateError::Unavailable(lost("the store is away")));
            }
            let outcome = self.inner.commit(commit).await?;
            if outcome == CommitOutcome::Done {
                if self.trap.come_to(Side::After, &name) == Verdict::Fail {
                    let source = lost("the answer got lost");
                    return Err(SubstrateError::OutcomeUnknown { commit_id, source });
                }
                // From here on somebody knows of it (invariant 13).
                say(format_args!("commit {} {commit_id}", self.which));
            }
            Ok(outcome)
        })
    }
}
