//! What the operator asks for: orientation, and a later deadline.

use azolla_control_plane::operator::OperatorError;
use azolla_protocol::{AzollaId, EventType, ObjectiveId, Timestamp};
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

/// D-1: a deadline moves to a later time, of an objective here or elsewhere; the last word counts.
#[tokio::test]
async fn d1_a_deadline_moves_to_a_later_time() {
    let world = TaskWorld::new(Backend::Sqlite).await;
    let (azolla_id, id) = (AzollaId::new("az-app").unwrap(), ObjectiveId::new("obj-a").unwrap());
    let now = world.store.now().await.as_millisecond();
    let after = |ms: i64| Timestamp::from_millisecond(now + ms).unwrap();
    for passed in [after(0), after(-1)] {
        let error = world.operator().snooze(&azolla_id, &id, passed).await.unwrap_err();
        let OperatorError::Refused { what, hint } = error else { panic!("{error}") };
        assert_eq!(what, format!("{passed} has passed: a deadline moves to a later time"));
        assert_eq!(hint.as_deref(), Some("azolla snooze obj-a --days 3"));
    }
    for until in [after(60_000), after(1)] {
        world.operator().snooze(&azolla_id, &id, until).await.unwrap();
        let snoozes = world.store.read().snoozes().await.unwrap();
        assert_eq!(snoozes.iter().map(|snooze| snooze.until).collect::<Vec<_>>(), [until]);
    }
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
