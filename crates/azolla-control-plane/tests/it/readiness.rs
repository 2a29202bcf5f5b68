//! Readiness: one TICKET_READY per entry into TODO.

use azolla_control_plane::{Tick, workers::readiness};
use azolla_protocol::EventType;
use azolla_testkit::{Backend, World};

/// Section 6: only the operator's approval makes a ticket ready.
#[tokio::test]
async fn a_new_objective_is_left_alone() {
    let world = World::new(Backend::Sqlite).await;
    world.created().await;
    assert_eq!(world.readiness().await, Tick::Idle);
    assert_eq!(events(&world).await, Vec::<String>::new());
}

/// W-1: a second look, and a second worker at the same moment, emit nothing more.
#[tokio::test]
async fn w1_an_entry_into_todo_has_one_event_however_many_look() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.approved().await;
    let (first, second) = tokio::join!(readiness::tick(&world.ctx), readiness::tick(&world.ctx));
    assert!([first.expect("a tick"), second.expect("a tick")].contains(&Tick::Advanced));
    assert_eq!(world.readiness().await, Tick::Idle);
    assert_eq!(events(&world).await, [format!("evt-{}-1", id.body())]);
}

/// W-1: the next entry into TODO gets an event of its own.
#[tokio::test]
async fn w1_the_next_entry_into_todo_has_the_next_event() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.approved().await;
    world.readiness().await;
    world.operator().withdraw(&id).await.expect("back to NEW");
    world.operator().approve(&id).await.expect("TODO again");
    world.readiness().await;
    assert_eq!(events(&world).await, [format!("evt-{}-1", id.body()), format!("evt-{}-2", id.body())]);
}

/// W-3: an objective that cannot be read keeps no other from its event.
#[tokio::test]
async fn w3_an_unreadable_objective_keeps_no_other_from_its_event() {
    let world = World::new(Backend::Sqlite).await;
    let (first, second) = (world.approved().await, world.approved().await);
    let broken = format!(
        "DROP TRIGGER objective_update; UPDATE objective SET metadata = 'nothing' WHERE objective_id = '{first}'"
    );
    world.store.raw(&broken).await.expect("it is broken");
    assert_eq!(world.readiness().await, Tick::Advanced);
    assert!(events(&world).await.contains(&format!("evt-{}-1", second.body())));
}

/// S-o, W-3: events of what is put away wait unseen, so that however many there are, they hide nothing.
#[tokio::test]
async fn so_w3_events_of_archived_objectives_hide_no_other() {
    let world = World::new(Backend::Sqlite).await;
    let (first, second) = (world.approved().await, world.approved().await);
    world.readiness().await;
    world.operator().archive(&first).await.expect("archived");
    assert_eq!(events(&world).await, [format!("evt-{}-1", second.body())]);
    world.operator().unarchive(&first).await.expect("back");
    assert_eq!(events(&world).await.len(), 2);
}

async fn events(world: &World) -> Vec<String> {
    let events = world.store.read().unprocessed_events(EventType::TicketReady, 10).await.expect("a read");
    events.iter().map(|stored| stored.event.event_id.to_string()).collect()
}
