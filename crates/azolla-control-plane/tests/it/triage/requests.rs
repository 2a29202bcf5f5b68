//! What the operator asks for: orientation, and a later deadline.

use azolla_protocol::EventType;
use azolla_testkit::{Backend, TaskWorld};

/// MF-1: one request for orientation at a time.
async fn one_request_at_a_time(backend: Backend) {
    let world = TaskWorld::new(backend).await;
    let first = world.operator().request_manifest().await.unwrap();
    assert!(!first.was_open);
    let again = world.operator().request_manifest().await.unwrap();
    assert_eq!((again.event_id, again.was_open), (first.event_id.clone(), true));
    let open = world.store.read().unprocessed_events(EventType::ManifestRequested, 10).await.unwrap();
    assert_eq!(open.len(), 1);
    let event = &open[0].event;
    assert_eq!((event.event_id.clone(), event.resource_id.as_str()), (first.event_id, "az-test"));
}

mod sqlite {
    #[tokio::test]
    async fn mf1_one_request_at_a_time() {
        super::one_request_at_a_time(super::Backend::Sqlite).await;
    }
}

mod postgres {
    #[tokio::test]
    async fn mf1_one_request_at_a_time() {
        super::one_request_at_a_time(super::Backend::Postgres).await;
    }
}
