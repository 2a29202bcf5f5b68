//! What another process does to a request between a look and what follows from it (MF-1, W-7).

use std::sync::{Arc, Mutex};

use azolla_control_plane::{
    Tick,
    operator::{Operator, Requested},
};
use azolla_protocol::{Actor, LeaseLength, OwnerId, ProcessedReason, ResourceRef};
use azolla_substrate::{
    BoxFuture, ClaimOutcome, Commit, CommitOutcome, Fence, Release, Substrate, SubstrateError,
};
use azolla_testkit::{Backend, Decorated, Decorator, TaskWorld};

use super::{ended, request};

/// A store where whoever is refused comes too late by all that the workers do meanwhile.
struct Overtaken<'a>(&'a TaskWorld);

impl Decorator for Overtaken<'_> {
    fn inner(&self) -> &dyn Substrate {
        &*self.0.store.store
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        Box::pin(async move {
            let outcome = self.inner().commit(commit).await;
            if outcome.is_err() {
                self.0.run_to_pause().await.expect("the workers go on");
            }
            outcome
        })
    }
}

/// MF-1, invariant 13: the open request may be answered between the refusal and the look for it. Then there is none, and
/// the id that is given is that of a new one.
#[tokio::test(flavor = "multi_thread")]
async fn mf1_a_request_whose_open_one_is_answered_meanwhile_is_made() {
    let world = TaskWorld::new(Backend::Sqlite).await;
    let first = world.operator().request_manifest().await.unwrap();
    let overtaken = Decorated(Overtaken(&world));
    let operator = Operator { substrate: &overtaken, ..world.operator() };
    let Requested { event_id, was_open } = operator.request_manifest().await.unwrap();
    assert!(!was_open, "{event_id} was asked for just now");
    assert_ne!(event_id, first.event_id);
    let stored = world.store.read().event(&event_id).await.unwrap();
    assert!(stored.is_some_and(|stored| !stored.event.processed), "{event_id} is there and open");
}

/// A store where somebody else gives a claim back, unused, right before this process writes.
struct GivesBack {
    store: Arc<dyn Substrate>,
    held: Mutex<Option<Fence>>,
}

impl GivesBack {
    async fn give_back(&self) {
        let held = self.held.lock().expect("no panic").take();
        if let Some(fence) = held {
            let released = self.store.release_claim(&fence, Release::Unused, Actor::ManifestScheduler);
            released.await.expect("it is still held");
        }
    }
}

impl Decorator for GivesBack {
    fn inner(&self) -> &dyn Substrate {
        &*self.store
    }

    fn acquire_claim<'a>(
        &'a self,
        resource: &'a ResourceRef,
        owner: &'a OwnerId,
        lease: LeaseLength,
        actor: Actor,
    ) -> BoxFuture<'a, Result<ClaimOutcome, SubstrateError>> {
        Box::pin(async move {
            self.give_back().await;
            self.store.acquire_claim(resource, owner, lease, actor).await
        })
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        Box::pin(async move {
            self.give_back().await;
            self.store.commit(commit).await
        })
    }
}

/// W-7: a claim that is held while events are listed counts there, and no more once it is given back unused.
#[tokio::test]
async fn w7_a_claim_that_is_given_back_meanwhile_poisons_no_request() {
    let mut world = super::world(Backend::Sqlite).await;
    let event_id = request(&world, "evt-1").await;
    let resource = ResourceRef::from(&event_id);
    for _ in 0..2 {
        let fence = world.store.granted(&resource).await.fence;
        let failed = world.store.store.release_claim(&fence, Release::Failed, Actor::ManifestScheduler);
        failed.await.expect("it is held");
    }
    let held = Mutex::new(Some(world.store.granted(&resource).await.fence));
    world.ctx.substrate = Arc::new(Decorated(GivesBack { store: world.store.store.clone(), held }));
    assert_eq!(world.manifest_scheduler().await, Tick::Advanced);
    assert_eq!(ended(&world, &event_id).await, Some(ProcessedReason::Scheduled));
}
