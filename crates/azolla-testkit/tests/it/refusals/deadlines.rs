//! D-1, D-2: a deadline is recorded once, by its monitor, and moved by the operator.

use azolla_protocol::{Actor, AzollaId, GateResult, ObjectiveId, PauseReason, PauseState, Timestamp};
use azolla_substrate::{Commit, CommitOutcome, DeadlinePause, PauseKey, Snooze, SubstrateError, Write};
use azolla_testkit::{
    PatchCycle, TestStore,
    cycle::{pause_state, valid},
    store::azolla_id,
};

use crate::seed::{full, place, refused};

const DAY_MS: i64 = 86_400_000;

fn source() -> AzollaId {
    AzollaId::new("az-other").unwrap()
}

fn overdue(objective_id: &ObjectiveId, azolla_id: &AzollaId, now: Timestamp) -> PauseState {
    PauseState { azolla_id: azolla_id.clone(), ..pause_state(objective_id, PauseReason::RunComplete, now) }
}

/// What the monitor writes now, of another azolla's objective.
async fn theirs(world: &TestStore, objective_id: &ObjectiveId, at: Timestamp, urgency: u8) -> Write {
    let pause = overdue(objective_id, &source(), world.now().await);
    Write::Pause { key: PauseKey::Deadline { at, urgency }, pause: valid(pause) }
}

on_both_backends! {
    async fn d1_a_deadline_is_recorded_once_and_again_when_it_is_more_urgent_or_a_day_later(world: TestStore) {
        let id = ObjectiveId::new("obj-theirs").unwrap();
        let due = world.now().await.plus_ms(-1_000);
        let first = theirs(&world, &id, due, 3).await;
        world.done(Actor::DeadlineMonitor, first.clone()).await;
        // The same deadline, at any time: the key that idempotence rests on.
        let error = refused(&world, Actor::DeadlineMonitor, None, [first]).await;
        assert_eq!(place(&error), "pause_state.pause_key A-1");
        world.advance(DAY_MS - 1).await;
        let again = theirs(&world, &id, due, 0).await;
        let error = refused(&world, Actor::DeadlineMonitor, None, [again]).await;
        assert_eq!(place(&error), "pause_state.pause_key A-1");

        // Another deadline within the day, as urgent as the first or less.
        for urgency in [3, 4] {
            let other = theirs(&world, &id, due.plus_ms(1), urgency).await;
            let error = refused(&world, Actor::DeadlineMonitor, None, [other]).await;
            assert_eq!(place(&error), "pause_state.created_at D-1");
            assert!(error.is_refused_by("D-1"));
        }
        // More urgent, then less so again: the day is counted from the newest.
        world.done(Actor::DeadlineMonitor, theirs(&world, &id, due.plus_ms(1), 1).await).await;
        world.advance(DAY_MS - 1).await;
        let other = theirs(&world, &id, due.plus_ms(2), 3).await;
        assert!(refused(&world, Actor::DeadlineMonitor, None, [other]).await.is_refused_by("D-1"));
        world.advance(1).await;
        world.done(Actor::DeadlineMonitor, theirs(&world, &id, due.plus_ms(2), 3).await).await;

        let pause = overdue(&id, &source(), world.now().await);
        let latest = DeadlinePause { pause, at: due.plus_ms(2), urgency: 3 };
        let read = world.read();
        assert_eq!(read.latest_deadline_pause(&source(), &id).await.unwrap(), Some(latest.clone()));
        assert_eq!(read.latest_deadline_pause(&azolla_id(), &id).await.unwrap(), None);
        assert_eq!(read.deadline_pauses(10).await.unwrap(), [latest]);
    }

    async fn d1_the_latest_deadline_of_each_objective_is_listed_newest_first(world: TestStore) {
        let ids: Vec<_> = (0..4).map(|n| ObjectiveId::new(format!("obj-{n}")).unwrap()).collect();
        let due = world.now().await;
        for (id, urgency) in ids.iter().zip([3, 2, 1, 0]).chain(ids.iter().take(2).zip([0, 0])) {
            world.advance(1_000).await;
            let write = theirs(&world, id, due.plus_ms(urgency.into()), urgency).await;
            world.done(Actor::DeadlineMonitor, write).await;
        }
        let listed = |found: Vec<DeadlinePause>| {
            let shown = found.into_iter().map(|found| (found.pause.objective_id.to_string(), found.urgency));
            shown.collect::<Vec<_>>()
        };
        let all = [("obj-1", 0), ("obj-0", 0), ("obj-3", 0), ("obj-2", 1)];
        let all = all.map(|(id, urgency)| (id.to_owned(), urgency));
        assert_eq!(listed(world.read().deadline_pauses(10).await.unwrap()), all);
        assert_eq!(listed(world.read().deadline_pauses(2).await.unwrap()), all[..2]);
    }

    async fn d1_d2_only_the_monitor_records_a_deadline_and_only_the_operator_moves_one(world: TestStore) {
        let full = full(&world).await;
        let now = world.now().await;
        let deadline = theirs(&world, &full.open, now, 2).await;
        let moved = Write::Snooze { azolla_id: source(), objective_id: full.open.clone(), until: now };
        for (write, party, problem) in [
            (deadline, Actor::DeadlineMonitor, "only the deadline monitor records a deadline"),
            (moved, Actor::Operator, "only the operator moves a deadline"),
        ] {
            for actor in Actor::ALL.iter().filter(|actor| **actor != party) {
                for claim in [None, Some(&full.fence)] {
                    let error = refused(&world, *actor, claim, [write.clone()]).await;
                    let is_it = matches!(&error, SubstrateError::Malformed(text) if text == problem);
                    assert!(is_it, "{error:?}");
                }
            }
            world.done(party, write).await;
        }
    }

    async fn d1_the_last_snooze_counts_until_it_is_over(world: TestStore) {
        let [first, second] = ["obj-1", "obj-2"].map(|id| ObjectiveId::new(id).unwrap());
        let now = world.now().await;
        let snooze = |objective_id: &ObjectiveId, ms: i64| {
            let (azolla_id, objective_id) = (source(), objective_id.clone());
            world.done(Actor::Operator, Write::Snooze { azolla_id, objective_id, until: now.plus_ms(ms) })
        };
        let live = |all: &[(&ObjectiveId, i64)]| {
            let one = |(id, ms): &(&ObjectiveId, i64)| {
                Snooze { azolla_id: source(), objective_id: (*id).clone(), until: now.plus_ms(*ms) }
            };
            all.iter().map(one).collect::<Vec<_>>()
        };
        snooze(&first, 5_000).await;
        snooze(&second, 9_000).await;
        assert_eq!(world.read().snoozes().await.unwrap(), live(&[(&first, 5_000), (&second, 9_000)]));
        snooze(&first, 20_000).await;
        assert_eq!(world.read().snoozes().await.unwrap(), live(&[(&second, 9_000), (&first, 20_000)]));
        world.advance(8_999).await;
        assert_eq!(world.read().snoozes().await.unwrap().len(), 2);
        world.advance(1).await;
        assert_eq!(world.read().snoozes().await.unwrap(), live(&[(&first, 20_000)]));
        // The deadline that was moved stays where it was moved to.
        let read = world.read();
        assert_eq!(read.snooze(&source(), &second).await.unwrap(), Some(now.plus_ms(9_000)));
        assert_eq!(read.snooze(&azolla_id(), &second).await.unwrap(), None);
        snooze(&first, 0).await;
        assert_eq!(world.read().snoozes().await.unwrap(), []);
        let journal = world.read().journal_of(first.as_str()).await.unwrap();
        let until = |ms| Some(serde_json::json!({"azolla_id": "az-other", "until": now.plus_ms(ms)}));
        let told: Vec<_> =
            journal.into_iter().map(|entry| entry.detail.map(serde_json::Value::Object)).collect();
        assert_eq!(told, [until(5_000), until(20_000), until(0)]);
    }

    async fn a6_d1_a_snooze_leaves_the_deadline_behind_and_nothing_else(world: TestStore) {
        let cycle = PatchCycle::created(&world).await;
        let (id, now) = (&cycle.objective_id, world.now().await);
        let pause = valid(overdue(id, &azolla_id(), now));
        let write = Write::Pause { key: PauseKey::Deadline { at: now, urgency: 2 }, pause };
        world.done(Actor::DeadlineMonitor, write).await;
        let gated = PatchCycle::todo(&world).await;
        gated.run(GateResult::Pass).await;
        assert_eq!(world.read().current_pause_states().await.unwrap().len(), 2);
        // What waits for another reason goes on waiting.
        for objective_id in [gated.objective_id.clone(), id.clone()] {
            let write = Write::Snooze { azolla_id: azolla_id(), objective_id, until: now.plus_ms(1) };
            world.done(Actor::Operator, write).await;
        }
        let current = world.read().current_pause_states().await.unwrap();
        assert_eq!(current.iter().map(|pause| &pause.objective_id).collect::<Vec<_>>(), [&gated.objective_id]);
    }

    /// Several monitors at once, each with a deadline of its own for the same objective: one gets in.
    async fn d1_of_several_monitors_at_once_one_records_it(world: TestStore) {
        let (id, now) = (ObjectiveId::new("obj-theirs").unwrap(), world.now().await);
        let mut tries = tokio::task::JoinSet::new();
        for n in 0..6 {
            let store = world.open_again().await.unwrap();
            let write = theirs(&world, &id, now.plus_ms(n), 2).await;
            let commit = Commit::new(world.ids.commit_id(), Actor::DeadlineMonitor).with(write);
            tries.spawn(async move { store.commit(commit).await });
        }
        let mut recorded = 0;
        for answer in tries.join_all().await {
            match answer {
                Ok(outcome) => {
                    assert_eq!(outcome, CommitOutcome::Done);
                    recorded += 1;
                }
                Err(error) => assert!(error.is_refused_by("D-1"), "{error}"),
            }
        }
        assert_eq!(recorded, 1);
    }
}
