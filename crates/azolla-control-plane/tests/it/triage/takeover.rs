//! Wherever the triage flow is cut, whoever comes next ends it as if nothing had happened (C-6, W-5, B-3).

use azolla_control_plane::Tick;
use azolla_protocol::{CaptureStatus, GateResult, ObjectiveStatus, ResourceRef};
use azolla_testkit::{Answer, Backend, TaskWorld, cycle::LEASE_MS, task_world::one_candidate_each};

use super::*;

/// What is left of a run when ids, times and claims are taken out.
#[derive(Debug, PartialEq, Eq)]
struct Outline {
    captures: Vec<(CaptureStatus, u64, bool)>,
    events: Vec<Option<ProcessedReason>>,
    runs: Vec<GateResult>,
    bundles: usize,
    waiting: u64,
    standing: ObjectiveStatus,
    pause: Vec<String>,
}

async fn outline(world: &TaskWorld, ids: &[CaptureId]) -> Outline {
    let read = world.store.read();
    let standing = world.standing().await.objective;
    let (mut captures, mut events, mut bundles) = (Vec::new(), Vec::new(), 0);
    for id in ids {
        let stored = world.capture(id).await;
        captures.push((stored.capture.status, stored.attempts, stored.held));
        for n in 1..=4 {
            if let Some(stored) = read.event(&event_id(id, n)).await.unwrap() {
                events.push(stored.event.processed_reason);
            }
        }
    }
    for stored in read.workorders_of(&standing.objective_id).await.unwrap() {
        bundles += usize::from(read.output_of(&stored.workorder.work_order_id).await.unwrap().is_some());
    }
    assert_sound(world).await;
    Outline {
        captures,
        events,
        runs: read.runs_of(&standing.objective_id).await.unwrap().iter().map(|run| run.gate_result).collect(),
        bundles,
        waiting: read.stream().await.unwrap().waiting,
        standing: standing.status,
        pause: world.pause().await.prioritized_actions,
    }
}

async fn begun(backend: Backend, answers: &[Answer]) -> (TaskWorld, Vec<CaptureId>) {
    let world = TaskWorld::with(backend, answers.iter().cloned()).await;
    let ids = vec![world.captured("one").await, world.captured("two").await];
    (world, ids)
}

/// Goes `steps` into the flow and dies there; tells whether there was so much of it. Time passes, so that what was emitted
/// first is the oldest.
async fn cut(world: &TaskWorld, steps: usize) -> bool {
    let mut done = 0;
    loop {
        let before = done;
        for role in 0..4 {
            if done == steps {
                return true;
            }
            world.store.advance(1).await;
            let tick = match role {
                0 => world.readiness().await,
                1 => world.scheduler().await,
                2 => world.runner().await,
                _ => world.gate().await,
            };
            done += usize::from(tick == Tick::Advanced);
        }
        if done == before {
            return false;
        }
    }
}

/// Dies with a claim on whatever is open, if anything is: an unprocessed event or an open workorder.
async fn die_with_a_claim(world: &TaskWorld) {
    let read = world.store.read();
    let events = read.unprocessed_events(azolla_protocol::EventType::CaptureReady, 1).await.unwrap();
    let mut open = read.created_workorders(1).await.unwrap();
    open.extend(read.ungated_workorders(1).await.unwrap());
    match (open.first(), events.first()) {
        (Some(stored), _) => {
            world.store.granted(&ResourceRef::from(&stored.workorder.work_order_id)).await;
        }
        (None, Some(stored)) => {
            world.store.granted(&ResourceRef::from(&stored.event.event_id)).await;
        }
        (None, None) => {}
    }
}

/// C-6, W-5, B-3: cut after every commit, with and without a claim that dies with its owner.
async fn takeover_after_any_cut(backend: Backend, answers: &[Answer], steps_max: usize) {
    let (whole, ids) = begun(backend, answers).await;
    assert!(!cut(&whole, usize::MAX).await, "it goes to its end");
    let expected = outline(&whole, &ids).await;
    let mut steps = 0;
    loop {
        let mut was_long_enough = true;
        for with_claim in [false, true] {
            let (mut world, ids) = begun(backend, answers).await;
            was_long_enough &= cut(&world, steps).await;
            if with_claim {
                die_with_a_claim(&world).await;
            }
            world.store.advance(LEASE_MS).await;
            world.as_another_owner();
            assert!(!cut(&world, usize::MAX).await, "it goes to its end");
            assert_eq!(outline(&world, &ids).await, expected, "cut after {steps} steps");
            // W-5: rerunning every worker changes nothing more.
            for tick in
                [world.readiness().await, world.scheduler().await, world.runner().await, world.gate().await]
            {
                assert_eq!(tick, Tick::Idle);
            }
        }
        if !was_long_enough {
            break;
        }
        steps += 1;
    }
    assert_eq!(steps, steps_max, "so many steps has the flow");
}

async fn passing(backend: Backend) {
    // Events, workorder, bundle, gate; and the second capture's own event, which has nothing left to do.
    takeover_after_any_cut(backend, &[Answer::By(one_candidate_each)], 6).await;
}

/// The batch fails, then one of its captures passes and the other one is held.
async fn failing(backend: Backend) {
    fn trips(prompt: &str) -> GenerationOutcome {
        if prompt.contains(r#""two""#) {
            GenerationOutcome::Text("prose".into())
        } else {
            one_candidate_each(prompt)
        }
    }
    takeover_after_any_cut(backend, &[Answer::By(trips)], 12).await;
}

mod sqlite {
    #[tokio::test]
    async fn w5_b3_c6_takeover_after_any_cut_of_a_triage() {
        super::passing(super::Backend::Sqlite).await;
    }

    #[tokio::test]
    async fn w5_b3_c6_takeover_after_any_cut_of_a_failing_triage() {
        super::failing(super::Backend::Sqlite).await;
    }
}

mod postgres {
    #[tokio::test]
    async fn w5_b3_c6_takeover_after_any_cut_of_a_triage() {
        super::passing(super::Backend::Postgres).await;
    }
}
