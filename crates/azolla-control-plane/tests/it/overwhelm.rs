//! O-1: the signs of overwhelm, each on real runs. On detection: BLOCKED, a summary, and exactly one next action.

use azolla_protocol::{FailureKind, GenerationOutcome, ObjectiveId, ObjectiveStatus};
use azolla_testkit::{
    Answer, Backend, ScriptedDiazotroph, World, diazotroph::PATCH, repository::BROKEN_PATCH,
};

use crate::gate::pause;

fn text(text: impl Into<String>) -> Answer {
    Answer::Outcome(GenerationOutcome::Text(text.into()))
}

fn failed(kind: FailureKind, reason: &str) -> Answer {
    Answer::Outcome(GenerationOutcome::Failed { kind, reason: reason.into() })
}

/// Five attempts are allowed, so that only the sign itself ends it earlier.
async fn patient(answers: impl IntoIterator<Item = Answer>) -> (World, ObjectiveId) {
    let mut world = World::with(Backend::Sqlite, ScriptedDiazotroph::new(answers)).await;
    world.ctx.settings.attempts_max = 5;
    let id = world.approved().await;
    (world, id)
}

/// The objective is BLOCKED with this summary and one action, after so many calls.
async fn blocked(world: &World, id: &ObjectiveId, summary: &str, calls: u64) {
    let objective = world.objective(id).await.objective;
    assert_eq!(objective.status, ObjectiveStatus::Blocked);
    let reason = objective.blocked_reason.unwrap_or_default();
    assert!(reason.starts_with(summary), "{reason}");
    assert_eq!(pause(world).await.prioritized_actions.len(), 1);
    assert_eq!(world.diazotroph().calls(), calls);
}

#[tokio::test]
async fn o1_the_same_gate_reason_twice_running_blocks() {
    let (world, id) = patient([failed(FailureKind::Other, "no route")]).await;
    world.run_to_pause().await.expect("two attempts");
    blocked(&world, &id, "the same failure twice running: GENERATION_FAILED: no route", 2).await;
}

#[tokio::test]
async fn o1_the_same_tree_twice_running_blocks() {
    // The base moves away under each attempt, so that the same patch never applies to it any more.
    let (world, id) = patient([text(PATCH)]).await;
    for moved in ["2", "3"] {
        world.readiness().await;
        world.scheduler().await;
        world.runner().await;
        world.repository.move_base(&moved.repeat(40), true);
        world.gate().await;
    }
    blocked(&world, &id, "the same change came back twice running: ", 2).await;
}

#[tokio::test]
async fn o1_a_budget_that_is_over_twice_running_blocks() {
    let over = |said: &str| Answer::Outcome(GenerationOutcome::OverBudget { said: said.into() });
    let (world, id) = patient([over("one"), over("two")]).await;
    world.run_to_pause().await.expect("two attempts");
    blocked(&world, &id, "the budget was over twice running: BUDGET_EXHAUSTED", 2).await;
    assert!(pause(&world).await.prioritized_actions[0].contains("--budget-ms 1200000"));
}

#[tokio::test]
async fn o1_a_provider_that_used_up_its_retries_blocks_at_once() {
    let (world, id) = patient([failed(FailureKind::Retries, "529 nine times")]).await;
    world.run_to_pause().await.expect("one attempt");
    blocked(&world, &id, "GENERATION_FAILED: 529 nine times", 1).await;
    assert!(pause(&world).await.prioritized_actions[0].contains("azolla doctor --probe"));
}

#[tokio::test]
async fn o1_attempts_that_fail_each_in_their_own_way_are_used_up() {
    let answers = (1..=5).map(|n| failed(FailureKind::Other, &format!("fault {n}")));
    let (world, id) = patient(answers).await;
    world.run_to_pause().await.expect("five attempts");
    blocked(&world, &id, "5 attempts failed, the last one: GENERATION_FAILED: fault 5", 5).await;
}

/// No takeover and no restart resets a count: every attempt is run by another process.
#[tokio::test]
async fn o1_another_owner_goes_on_counting() {
    let (mut world, id) =
        patient([text(format!("{BROKEN_PATCH} one")), text(format!("{BROKEN_PATCH} two"))]).await;
    for _ in 0..2 {
        world.as_another_owner();
        world.readiness().await;
        world.scheduler().await;
        world.runner().await;
        world.as_another_owner();
        world.gate().await;
    }
    blocked(&world, &id, "the same failure twice running: PATCH_APPLY_FAILED", 2).await;
}
