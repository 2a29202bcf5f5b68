//! A request that is made while the open one is being answered (MF-1).

use azolla_control_plane::operator::{Operator, Requested};
use azolla_substrate::{BoxFuture, Commit, CommitOutcome, Substrate, SubstrateError};
use azolla_testkit::{Backend, Decorated, Decorator, TaskWorld};

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
