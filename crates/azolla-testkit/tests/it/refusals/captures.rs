//! W-2, S-4, O-1, TF-2: which captures are tried, how often, and who says so.

use azolla_protocol::{
    Actor, AzollaType, CaptureId, CaptureStatus, EventId, GateResult, ProcessedReason, WorkOrderId,
};
use azolla_substrate::{CaptureFilter, Commit, CommitOutcome, SubstrateError, Write};
use azolla_testkit::{
    Backend, TestStore, TriageCycle,
    cycle::{LEASE_MS, ROOM},
};

use crate::seed::{full, refused};

const ATTEMPTS_MAX: u64 = 2;

/// What is eligible, what of it is fresh, and what awaits an event with which number.
async fn seen(world: &TestStore) -> (Vec<CaptureId>, Vec<CaptureId>, Vec<(CaptureId, u64)>) {
    let ids = |found: Vec<azolla_substrate::StoredCapture>| {
        found.into_iter().map(|stored| stored.capture.capture_id).collect::<Vec<_>>()
    };
    let read = world.read();
    let awaiting = read.captures_awaiting_event(ATTEMPTS_MAX, 10).await.unwrap();
    (
        ids(read.pending_captures(ATTEMPTS_MAX, 10).await.unwrap()),
        ids(read.fresh_captures(10).await.unwrap()),
        awaiting,
    )
}

/// One triage of `batch`, scheduled by `event_id`, that fails.
async fn fail(cycle: &TriageCycle<'_>, event_id: &EventId, batch: &[CaptureId], more: Vec<Write>) {
    assert_eq!(cycle.schedule(event_id, batch, ROOM).await.unwrap(), CommitOutcome::Done);
    let work_order_id = WorkOrderId::of(event_id);
    cycle.execute(&work_order_id, batch, 0).await;
    assert_eq!(cycle.gate(&work_order_id, GateResult::Fail, more).await.unwrap(), CommitOutcome::Done);
}

fn retry(id: &CaptureId, attempts: u64) -> Write {
    Write::RetryCapture { capture_id: id.clone(), attempts }
}

on_both_backends! {
    async fn w2_a_capture_is_tried_until_its_attempts_are_used_up_and_again_after_a_retry(world: TestStore) {
        let cycle = TriageCycle::new(&world).await;
        let id = cycle.captured().await;
        for (attempt, entry) in [(0, 1), (1, 2)] {
            let fresh = if attempt == 0 { vec![id.clone()] } else { vec![] };
            assert_eq!(seen(&world).await, (vec![id.clone()], fresh, vec![(id.clone(), entry)]));
            let event_id = cycle.emitted(&id, entry).await;
            assert_eq!(seen(&world).await.2, [], "never a second unprocessed one");
            fail(&cycle, &event_id, std::slice::from_ref(&id), vec![]).await;
        }
        assert_eq!(seen(&world).await, (vec![], vec![], vec![]));
        world.done(Actor::Operator, retry(&id, 2)).await;
        assert_eq!(seen(&world).await, (vec![id.clone()], vec![id.clone()], vec![(id.clone(), 3)]));
        let stored = world.read().capture(&id).await.unwrap().unwrap();
        assert_eq!((stored.attempts, stored.attempts_before, stored.held), (2, 2, false));
    }

    async fn o1_a_held_capture_waits_for_the_operator(world: TestStore) {
        let cycle = TriageCycle::new(&world).await;
        let id = cycle.captured().await;
        let event_id = cycle.emitted(&id, 1).await;
        fail(&cycle, &event_id, std::slice::from_ref(&id), vec![Write::HoldCapture(id.clone())]).await;
        assert_eq!(seen(&world).await, (vec![], vec![], vec![]));
        assert_eq!(world.read().count_pending_captures().await.unwrap(), 1);
        let stored = world.read().capture(&id).await.unwrap().unwrap();
        assert_eq!((stored.attempts, stored.attempts_before, stored.held), (1, 0, true));

        world.done(Actor::Operator, retry(&id, 1)).await;
        assert_eq!(seen(&world).await, (vec![id.clone()], vec![id.clone()], vec![(id.clone(), 2)]));
        let journal = world.read().journal_of(id.as_str()).await.unwrap();
        let told: Vec<_> = journal.iter().map(|entry| format!("{} {}", entry.actor, entry.step)).collect();
        assert_eq!(told, ["OPERATOR INSERT", "SCHEDULER ATTEMPT", "GATE HOLD", "OPERATOR RETRY"]);
    }

    async fn o1_s4_w2_each_step_on_a_capture_has_its_party(world: TestStore) {
        let full = full(&world).await;
        let (id, at) = (&full.pending, world.now().await);
        let event_claim = world.granted(&(&full.pending_event).into()).await.fence;
        let claims = [None, Some(&event_claim), Some(&full.fence)];
        type Allowed = fn(Actor, usize) -> bool;
        let steps: [(Write, Allowed, &str); 4] = [
            (
                Write::ProcessCapture { capture_id: id.clone(), at, no_action: None },
                |actor, claim| actor == Actor::Operator || (actor == Actor::Gate && claim == 2),
                "a capture is processed by the gate under its claim, or by the operator",
            ),
            (
                Write::HoldCapture(id.clone()),
                |actor, claim| matches!((actor, claim), (Actor::Scheduler, 1) | (Actor::Gate, 2)),
                "a capture is held by the gate or the scheduler, under its claim",
            ),
            (
                retry(id, 0),
                |actor, _| actor == Actor::Operator,
                "only the operator asks for further attempts on a capture",
            ),
            (
                Write::CountAttempt { capture_id: id.clone(), attempts: 0 },
                |actor, claim| matches!((actor, claim), (Actor::Scheduler, 1)),
                "an attempt is counted by the scheduler, under its claim",
            ),
        ];
        for (write, allowed, problem) in &steps {
            for actor in Actor::ALL {
                for (position, claim) in claims.into_iter().enumerate().filter(|(at, _)| !allowed(*actor, *at)) {
                    let error = refused(&world, *actor, claim, [write.clone()]).await;
                    let is_it = matches!(&error, SubstrateError::Malformed(text) if text == problem);
                    assert!(is_it, "{write:?} by {actor} under {position}: {error:?}");
                }
            }
        }
        // What is allowed gets through: held under the event's claim, retried, held and processed by the gate.
        let commit = |actor, write: &Write| Commit::new(world.ids.commit_id(), actor).with(write.clone());
        let held = commit(Actor::Scheduler, &steps[1].0).fenced(event_claim.clone());
        assert_eq!(world.store.commit(held).await.unwrap(), CommitOutcome::Done);
        world.done(Actor::Operator, steps[2].0.clone()).await;
        let processed = commit(Actor::Gate, &steps[1].0).with(steps[0].0.clone()).fenced(full.fence.clone());
        assert_eq!(world.store.commit(processed).await.unwrap(), CommitOutcome::Done);
        let stored = world.read().capture(id).await.unwrap().unwrap();
        assert_eq!((stored.capture.status, stored.held), (CaptureStatus::Processed, false));
        // Neither is one for a capture that is PROCESSED.
        let error = refused(&world, Actor::Operator, None, [steps[2].0.clone()]).await;
        assert!(matches!(error, SubstrateError::Changed { artifact: "capture_buffer" }), "{error:?}");
    }

    /// What an attempt or a retry was built on is compared: neither happens on top of what came meanwhile.
    async fn w2_o1_an_attempt_is_counted_on_what_was_read(world: TestStore) {
        let cycle = TriageCycle::new(&world).await;
        let [tried, held] = [cycle.captured().await, cycle.captured().await];
        let [first, second] = [cycle.emitted(&tried, 1).await, cycle.emitted(&held, 1).await];
        // Another machine tries both, and one of them waits for the operator then.
        fail(&cycle, &first, &[tried.clone(), held.clone()], vec![Write::HoldCapture(held.clone())]).await;
        for (id, attempts) in [(&tried, 0), (&tried, 2), (&held, 0), (&held, 1)] {
            let event_claim = world.granted(&(&second).into()).await.fence;
            let count = Write::CountAttempt { capture_id: id.clone(), attempts };
            let error = refused(&world, Actor::Scheduler, Some(&event_claim), [count]).await;
            assert!(matches!(error, SubstrateError::Changed { artifact: "capture_buffer" }), "{error:?}");
            world.advance(LEASE_MS).await;
        }
        let error = refused(&world, Actor::Operator, None, [retry(&held, 0)]).await;
        assert!(matches!(error, SubstrateError::Changed { artifact: "capture_buffer" }), "{error:?}");
        for id in [&tried, &held] {
            assert_eq!(world.read().capture(id).await.unwrap().unwrap().attempts, 1);
        }
    }

    /// An event that was answered with a batch without its own capture leaves that capture awaiting the next one.
    async fn w2_an_event_that_others_used_up_is_followed_by_another(world: TestStore) {
        let cycle = TriageCycle::new(&world).await;
        let older = cycle.captured().await;
        world.advance(1_000).await;
        let newer = cycle.captured().await;
        assert_eq!(seen(&world).await.2, [(older.clone(), 1), (newer.clone(), 1)]);
        let event_id = cycle.emitted(&newer, 1).await;
        assert_eq!(cycle.schedule(&event_id, std::slice::from_ref(&older), ROOM).await.unwrap(), CommitOutcome::Done);
        // What is in the running triage waits for its end; what is not does not.
        assert_eq!(seen(&world).await, (vec![older.clone(), newer.clone()], vec![newer.clone()], vec![(newer.clone(), 2)]));
        let work_order_id = WorkOrderId::of(&event_id);
        cycle.execute(&work_order_id, std::slice::from_ref(&older), 0).await;
        assert_eq!(seen(&world).await.2, [(newer.clone(), 2)]);
        cycle.gate(&work_order_id, GateResult::Fail, vec![]).await.unwrap();
        assert_eq!(seen(&world).await.2, [(older.clone(), 1), (newer.clone(), 2)]);
    }

    async fn captures_are_listed_newest_first_and_page_by_page(world: TestStore) {
        let cycle = TriageCycle::new(&world).await;
        let mut made = Vec::new();
        for _ in 0..7 {
            world.advance(10).await;
            made.push(cycle.captured().await);
        }
        let at = world.now().await;
        for id in [&made[2], &made[5]] {
            world.done(Actor::Operator, Write::ProcessCapture { capture_id: id.clone(), at, no_action: None }).await;
        }
        made.reverse();
        let of = |positions: &[usize]| positions.iter().map(|at| made[*at].clone()).collect::<Vec<_>>();
        for (status, expected) in [
            (None, of(&[0, 1, 2, 3, 4, 5, 6])),
            (Some(CaptureStatus::Pending), of(&[0, 2, 3, 5, 6])),
            (Some(CaptureStatus::Processed), of(&[1, 4])),
        ] {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let filter = CaptureFilter { status, after, limit: 2 };
                let page = world.read().captures(&filter).await.unwrap();
                assert!(page.len() <= 2);
                let Some(last) = page.last() else { break };
                after = Some(last.capture.capture_id.clone());
                found.extend(page.into_iter().map(|stored| stored.capture.capture_id));
            }
            assert_eq!(found, expected, "{status:?}");
        }
        assert_eq!(world.read().count_pending_captures().await.unwrap(), 5);
    }
}

/// W-2, O-1: an event that ends BLOCKED is followed by another only when the operator asks for it.
#[tokio::test(flavor = "multi_thread")]
async fn w2_o1_an_event_that_is_blocked_holds_its_capture() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let world = TestStore::of_type(backend, AzollaType::TaskMgmt).await;
        let cycle = TriageCycle::new(&world).await;
        let [blocked, other] = [cycle.captured().await, cycle.captured().await];
        let event_id = cycle.emitted(&blocked, 1).await;
        let reason = ProcessedReason::Blocked;
        let process = Write::ProcessEvent { event_id: event_id.clone(), reason };
        let commit = |writes: &[Write]| {
            let commit = Commit::new(world.ids.commit_id(), Actor::Scheduler);
            let commit = writes.iter().cloned().fold(commit, Commit::with);
            commit.claiming((&event_id).into(), world.ids.owner_id())
        };
        let error = world.store.commit(commit(std::slice::from_ref(&process))).await.unwrap_err();
        assert!(matches!(error, SubstrateError::Changed { artifact: "capture_buffer" }), "{error:?}");
        let held = commit(&[Write::HoldCapture(blocked.clone()), process]);
        assert_eq!(world.store.commit(held).await.unwrap(), CommitOutcome::Done);
        assert_eq!(seen(&world).await.2, [(other.clone(), 1)], "{backend:?}");
        assert!(world.read().capture(&blocked).await.unwrap().unwrap().held);
        world.done(Actor::Operator, retry(&blocked, 0)).await;
        assert_eq!(seen(&world).await.2, [(blocked, 2), (other, 1)], "{backend:?}");
    }
}
