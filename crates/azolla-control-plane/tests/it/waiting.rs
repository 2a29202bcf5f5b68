//! Quotas and caps: work that cannot go on now waits as it is, and goes on later (B-3, B-4).

use std::{sync::Arc, time::Duration};

use azolla_control_plane::Tick;
use azolla_protocol::{
    Actor, GenerationOutcome, ObjectiveStatus, PauseReason, RunnerStatus, Wait, WaitSource, Withheld,
    WorkorderStatus,
};
use azolla_substrate::Release;
use azolla_testkit::{
    Answer, Backend, ScriptedDiazotroph, World, cycle::LEASE_MS, diazotroph::PATCH, world::ScriptedLedger,
};

use crate::runner::{bundle, workorder};

fn quota() -> Wait {
    Wait { reason: "no quota is left".into(), time: Duration::from_secs(900), source: WaitSource::Provider }
}

async fn world(answers: impl IntoIterator<Item = Answer>) -> (World, Arc<ScriptedLedger>) {
    let mut world = World::with(Backend::Sqlite, ScriptedDiazotroph::new(answers)).await;
    let ledger = Arc::new(ScriptedLedger::default());
    world.ctx.ledger = ledger.clone();
    (world, ledger)
}

fn patch() -> Answer {
    Answer::Outcome(GenerationOutcome::Text(PATCH.to_owned()))
}

/// B-3, B-4: a provider without quota is no failure. What the try cost is on record, it is not counted against the
/// workorder (W-7), and the same workorder is completed later.
#[tokio::test]
async fn b4_a_quota_is_waited_for_and_the_same_workorder_goes_on() {
    let waits = || Answer::Outcome(GenerationOutcome::Wait(quota()));
    let (world, ledger) = world([waits(), waits(), waits(), waits(), patch()]).await;
    let id = world.scheduled().await;
    for tries in 1..=4 {
        assert_eq!(world.runner().await, Tick::Idle);
        let stored = world.store.read().workorder(&workorder(&id, 1)).await.expect("a read").expect("it");
        assert_eq!((stored.workorder.status, stored.claim_count), (WorkorderStatus::Created, 0));
        let usage = world.store.read().usage_of(&workorder(&id, 1)).await.expect("a read");
        assert_eq!(usage.len(), tries);
        // While it lasts nobody is asked.
        assert_eq!(world.runner().await, Tick::Idle);
        assert_eq!(world.diazotroph().calls(), tries as u64);
        *ledger.waits.lock().expect("one thread") = None;
    }
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(bundle(&world, &id).await.metadata.runner_status, RunnerStatus::Completed);
    world.gate().await;
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Done);
    assert_eq!(ledger.ended.lock().expect("one thread").len(), 5);
}

/// S-m, B-2, W-7: what ends without asking anybody does not wait until somebody can be asked.
#[tokio::test]
async fn sm_a_cancelled_run_ends_while_its_provider_is_left_alone() {
    let (world, ledger) = world([patch()]).await;
    let id = world.scheduled().await;
    *ledger.waits.lock().expect("one thread") = Some(quota());
    assert_eq!(world.runner().await, Tick::Idle);
    world.operator().cancel(&id, "wrong file").await.expect("cancelled");
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(bundle(&world, &id).await.metadata.more["failure"], "CANCELLED");
    assert_eq!(world.diazotroph().calls(), 0);
}

#[tokio::test]
async fn b2_a_budget_that_is_used_up_ends_while_its_provider_is_left_alone() {
    let (mut world, ledger) = world([patch()]).await;
    world.ctx.settings.budget_patch_ms = 30_000;
    let id = world.scheduled().await;
    let fence = world.store.granted(&(&workorder(&id, 1)).into()).await.fence;
    world.store.advance(30_000).await;
    let released = world.store.store.release_claim(&fence, Release::Unused, Actor::Runner).await;
    released.expect("given back");
    *ledger.waits.lock().expect("one thread") = Some(quota());
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(bundle(&world, &id).await.metadata.runner_status, RunnerStatus::BudgetExhausted);
    assert_eq!(world.diazotroph().calls(), 0);
}

#[tokio::test]
async fn w7_a_poisoned_workorder_ends_while_its_provider_is_left_alone() {
    let (world, ledger) = world([patch()]).await;
    let id = world.scheduled().await;
    for _ in 0..3 {
        world.store.granted(&(&workorder(&id, 1)).into()).await;
        world.store.advance(LEASE_MS).await;
    }
    *ledger.waits.lock().expect("one thread") = Some(quota());
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(bundle(&world, &id).await.metadata.more["failure"], "POISON");
    assert_eq!(world.diazotroph().calls(), 0);
}

/// A cap of the day: the workorder waits unclaimed, and events wait unprocessed.
#[tokio::test]
async fn b4_a_cap_of_the_day_is_waited_for() {
    let (world, ledger) = world([patch()]).await;
    let id = world.scheduled().await;
    *ledger.withheld.lock().expect("one thread") = Some(Withheld::Wait(quota()));
    assert_eq!(world.runner().await, Tick::Idle);
    assert_eq!(world.diazotroph().calls(), 0);
    assert_eq!(world.runner().await, Tick::Advanced);
    world.gate().await;
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Done);

    let next = world.approved().await;
    world.readiness().await;
    *ledger.waits.lock().expect("one thread") = Some(quota());
    assert_eq!(world.scheduler().await, Tick::Idle);
    assert_eq!(world.objective(&next).await.objective.status, ObjectiveStatus::Todo);
    *ledger.waits.lock().expect("one thread") = None;
    assert_eq!(world.scheduler().await, Tick::Advanced);
}

/// A cap of the run or the objective: the run ends explicitly, and there is one thing to do.
#[tokio::test]
async fn o1_a_cap_of_the_objective_blocks_with_one_action() {
    let (world, ledger) = world([patch()]).await;
    let id = world.scheduled().await;
    *ledger.withheld.lock().expect("one thread") =
        Some(Withheld::Cap("the cap of $5.00 for one objective is reached".into()));
    world.runner().await;
    assert_eq!(world.diazotroph().calls(), 0);
    assert_eq!(bundle(&world, &id).await.metadata.more["failure"], "CAP");
    world.gate().await;
    let objective = world.objective(&id).await.objective;
    assert_eq!(objective.status, ObjectiveStatus::Blocked);
    assert_eq!(
        objective.blocked_reason.as_deref(),
        Some("GENERATION_FAILED: the cap of $5.00 for one objective is reached")
    );
    let pause = world.store.read().current_pause_states().await.expect("a read").pop().expect("it paused");
    assert_eq!((pause.reason, pause.prioritized_actions.len()), (PauseReason::GateFailed, 1));
    assert!(pause.prioritized_actions[0].ends_with(&format!("azolla objective retry {id}")));
}
