//! W-4, O-3: the work stream and the operator's desk have room, or the event waits.

use azolla_protocol::{Actor, GateResult};
use azolla_substrate::{CommitOutcome, StreamRoom, StreamState};
use azolla_testkit::{PatchCycle, TestStore};

use crate::seed::{confirm, exported};

on_both_backends! {
    async fn w4_the_stream_takes_as_many_workorders_as_it_is_wide(world: TestStore) {
        let mut cycles = Vec::new();
        for _ in 0..4 {
            cycles.push(PatchCycle::todo(&world).await);
        }
        let mut events = Vec::new();
        for cycle in &cycles {
            events.push(cycle.emitted().await);
        }
        for width in 1..=3 {
            let room = StreamRoom { max_concurrent: width, review_limit: 0 };
            let (next, after) = (usize::try_from(width).unwrap() - 1, usize::try_from(width).unwrap());
            let owner = world.ids.owner_id();
            assert_eq!(
                cycles[next].schedule(&events[next], &owner, room).await.unwrap(),
                CommitOutcome::Done
            );
            let before = exported(&world).await;
            // Full at this width; the event stays unprocessed and unclaimed.
            assert_eq!(
                cycles[after].schedule(&events[after], &owner, room).await.unwrap(),
                CommitOutcome::StreamFull
            );
            assert_eq!(exported(&world).await, before);
            assert_eq!(world.read().claim(&(&events[after]).into()).await.unwrap(), None);
            assert_eq!(world.read().stream().await.unwrap(), StreamState { open: width, waiting: 0 });
        }
        let slots = world.read().created_workorders(9).await.unwrap();
        assert_eq!(
            slots.iter().map(|stored| stored.stream_slot).collect::<Vec<_>>(),
            [Some(0), Some(1), Some(2)]
        );
        // Never above three, whatever is asked for.
        let room = StreamRoom { max_concurrent: 9, review_limit: 0 };
        let outcome = cycles[3].schedule(&events[3], &world.ids.owner_id(), room).await.unwrap();
        assert_eq!(outcome, CommitOutcome::StreamFull);
    }

    async fn w4_a_gated_workorder_gives_its_place_to_the_next(world: TestStore) {
        let (first, second) = (PatchCycle::todo(&world).await, PatchCycle::todo(&world).await);
        let gated = first.run(GateResult::Pass).await;
        let created = second.scheduled().await;
        let slot = |stored: azolla_substrate::StoredWorkorder| stored.stream_slot;
        assert_eq!(world.read().workorder(&gated).await.unwrap().and_then(slot), None);
        assert_eq!(world.read().workorder(&created).await.unwrap().and_then(slot), Some(0));
    }

    async fn o3_results_that_wait_hold_the_next_workorder_until_the_operator_confirms(world: TestStore) {
        let room = StreamRoom { max_concurrent: 3, review_limit: 2 };
        let (done, open) = (PatchCycle::todo(&world).await, PatchCycle::todo(&world).await);
        let gated = done.run(GateResult::Pass).await;
        let event_id = open.emitted().await;
        let owner = world.ids.owner_id();
        assert_eq!(open.schedule(&event_id, &owner, room).await.unwrap(), CommitOutcome::Done);
        assert_eq!(world.read().stream().await.unwrap(), StreamState { open: 1, waiting: 1 });

        let next = PatchCycle::todo(&world).await;
        let event_id = next.emitted().await;
        let before = exported(&world).await;
        assert_eq!(next.schedule(&event_id, &owner, room).await.unwrap(), CommitOutcome::ReviewLimit);
        assert_eq!(exported(&world).await, before);
        assert_eq!(world.read().claim(&(&event_id).into()).await.unwrap(), None);

        world.done(Actor::Operator, confirm(&done, &gated).await).await;
        assert_eq!(world.read().stream().await.unwrap(), StreamState { open: 1, waiting: 0 });
        assert_eq!(next.schedule(&event_id, &owner, room).await.unwrap(), CommitOutcome::Done);
    }

    async fn o3_no_limit_is_zero(world: TestStore) {
        for _ in 0..4 {
            PatchCycle::todo(&world).await.run(GateResult::Pass).await;
        }
        assert_eq!(world.read().stream().await.unwrap(), StreamState { open: 0, waiting: 4 });
        PatchCycle::todo(&world).await.scheduled().await;
    }
}

/// W-4: in a TASK_MGMT azolla the work stream is exactly 1 wide, whatever a caller says.
#[tokio::test(flavor = "multi_thread")]
async fn w4_a_task_mgmt_stream_is_exactly_one_wide() {
    let world =
        TestStore::of_type(azolla_testkit::Backend::Sqlite, azolla_protocol::AzollaType::TaskMgmt).await;
    let event_id = azolla_protocol::EventId::new("evt-x").unwrap();
    let objective_id = azolla_protocol::ObjectiveId::new("obj-x").unwrap();
    let workorder = azolla_testkit::cycle::workorder(&event_id, &objective_id, world.now().await);
    let create = azolla_substrate::Write::CreateWorkorder {
        workorder: azolla_testkit::cycle::valid(workorder),
        event_id: event_id.clone(),
        room: azolla_substrate::StreamRoom { max_concurrent: 2, review_limit: 0 },
    };
    let commit = azolla_substrate::Commit::new(world.ids.commit_id(), azolla_protocol::Actor::Scheduler)
        .with(create)
        .claiming((&event_id).into(), world.ids.owner_id());
    let error = world.store.commit(commit).await.unwrap_err();
    assert!(
        error.to_string().ends_with("the work stream of a TASK_MGMT azolla is exactly 1 wide"),
        "{error}"
    );
}
