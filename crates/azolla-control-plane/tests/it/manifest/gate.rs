//! From the workorder to the session_manifest, or to what to type next (MF-5 to MF-7).

use azolla_control_plane::{Flow, Tick};
use azolla_protocol::{
    Actor, EventId, FailureKind, GateResult, GenerationOutcome, ManifestId, ObjectiveStatus, PauseReason,
    ResourceRef, RunRecord, SessionManifest, WorkOrderId,
};
use azolla_substrate::{Release, verify};
use azolla_testkit::{Answer, Backend, ScriptedDiazotroph, TaskWorld};
use serde_json::json;

use super::{request, world};

async fn answering(answer: Answer) -> (TaskWorld, EventId) {
    let mut world = world(Backend::Sqlite).await;
    match &mut world.ctx.flow {
        Flow::TaskMgmt(flow) => flow.manifest = std::sync::Arc::new(ScriptedDiazotroph::new([answer])),
        Flow::Patch(_) => unreachable!(),
    }
    let event_id = request(&world, "evt-1").await;
    assert_eq!(world.manifest_scheduler().await, Tick::Advanced);
    (world, event_id)
}

async fn text(text: &str) -> (TaskWorld, EventId) {
    answering(Answer::Outcome(GenerationOutcome::Text(text.to_owned()))).await
}

async fn judged(world: &TaskWorld, event_id: &EventId) -> (RunRecord, Option<SessionManifest>) {
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(world.gate().await, Tick::Advanced);
    let run =
        world.store.read().run_of(&WorkOrderId::of(event_id)).await.expect("a read").expect("it is there");
    // The standing objective is never moved and never blocked, whatever the verdict.
    let standing = world.standing().await;
    assert_eq!((standing.objective.status, standing.version), (ObjectiveStatus::InProgress, 1));
    assert_eq!(verify(world.store.read()).await.expect("a read"), []);
    (run, world.store.read().latest_manifest().await.expect("a read"))
}

#[tokio::test]
async fn mf7_pass_records_the_manifest_and_pauses_with_three_of_its_actions() {
    let actions: Vec<String> = (1..=4).map(|n| format!("Step {n} on obj-1: azolla review obj-1")).collect();
    let answer = json!({"overview": "One azolla waits.", "actions": actions, "notes": "No word on az-web."});
    let (world, event_id) = text(&format!("Here it is:\n```json\n{answer}\n```")).await;
    let (run, manifest) = judged(&world, &event_id).await;
    assert_eq!((run.gate_result, run.gate_reason.as_str()), (GateResult::Pass, "4 actions over 1 azolla"));
    let manifest = manifest.expect("a manifest");
    let now = world.store.now().await;
    let summary = json!([{"source_azolla_id": "az-app", "objective_id": "obj-1", "reason": "GATE_FAILED",
        "prioritized_actions": ["Review gate failure reason: azolla review obj-1"]}]);
    assert_eq!(
        json!(manifest),
        json!({"manifest_id": ManifestId::of(&WorkOrderId::of(&event_id)), "azolla_id": "az-test",
            "queried_azolla_ids": ["az-app"], "pause_state_summary": summary,
            "prioritized_orientation": actions, "created_at": now})
    );
    let pause = world.pause().await;
    assert_eq!((pause.reason, &pause.prioritized_actions[..]), (PauseReason::RunComplete, &actions[..3]));
    let bundle = world
        .store
        .read()
        .output_of(&WorkOrderId::of(&event_id))
        .await
        .expect("a read")
        .expect("it is there");
    assert_eq!(bundle.metadata.more["queried_azolla_ids"], json!(["az-app"]));
    assert_eq!((bundle.title.as_str(), bundle.notes.as_str()), ("Orientation", "No word on az-web."));
    assert_eq!(world.gate().await, Tick::Idle, "W-5");
}

/// MF-5: text with numbered lines is an orientation too, and what is known of the sources is in its notes.
#[tokio::test]
async fn mf5_plain_text_with_numbered_lines_is_an_answer() {
    let mut world = world(Backend::Sqlite).await;
    world.peers.register("az-denied", azolla_testkit::PeerAnswer::denied());
    let answer = Answer::Outcome(GenerationOutcome::Text("Hello.\n\n1. Look at obj-1\n2. Rest\n".to_owned()));
    match &mut world.ctx.flow {
        Flow::TaskMgmt(flow) => flow.manifest = std::sync::Arc::new(ScriptedDiazotroph::new([answer])),
        Flow::Patch(_) => unreachable!(),
    }
    let event_id = request(&world, "evt-1").await;
    world.manifest_scheduler().await;
    let (run, manifest) = judged(&world, &event_id).await;
    assert_eq!(run.gate_result, GateResult::Pass);
    assert_eq!(manifest.unwrap().prioritized_orientation, ["Look at obj-1", "Rest"]);
    let bundle = world
        .store
        .read()
        .output_of(&WorkOrderId::of(&event_id))
        .await
        .expect("a read")
        .expect("it is there");
    assert_eq!(bundle.notes, "az-denied: DENIED");
}

/// MF-6, MF-7: what names nothing, or is no orientation at all, fails with words that lead on.
#[tokio::test]
async fn mf7_fail_says_why_and_how_to_ask_again() {
    for (answer, reason) in [
        ("1. Do everything", "no action names an objective of the data, a capture or a command"),
        ("1. Look at obj-2", "no action names an objective of the data, a capture or a command"),
        ("1. a\n2. b\n3. c\n4. d\n5. e\n6. obj-1", "there are 6 numbered actions; at most 5"),
        ("All is well.", "GENERATION_FAILED: The answer cannot be used: it has no numbered action"),
        ("", "GENERATION_FAILED: The answer cannot be used: it has no numbered action"),
        (
            "{\"overview\": \"\"}",
            "GENERATION_FAILED: The answer cannot be used: the document: \"actions\" is a required property",
        ),
    ] {
        let (world, event_id) = text(answer).await;
        let (run, manifest) = judged(&world, &event_id).await;
        assert_eq!((run.gate_result, run.gate_reason.as_str()), (GateResult::Fail, reason), "{answer}");
        assert_eq!(manifest, None, "{answer}");
        let pause = world.pause().await;
        assert_eq!(pause.reason, PauseReason::GateFailed);
        assert_eq!(
            pause.prioritized_actions,
            ["Review gate failure reason: azolla explain run-1", "Retry manifest build: azolla manifest"]
        );
        // It ends there: nothing is made again by itself.
        world.run_to_pause().await.expect("nothing breaks");
        let runs =
            world.store.read().runs_of(&world.standing().await.objective.objective_id).await.expect("a read");
        assert_eq!(runs.len(), 1);
    }
}

#[tokio::test]
async fn mf7_a_budget_that_was_over_says_so() {
    let (mut world, event_id) =
        answering(Answer::Outcome(GenerationOutcome::OverBudget { said: "half of it".into() })).await;
    world.ctx.settings.budget_manifest_ms = 1;
    let (run, _) = judged(&world, &event_id).await;
    assert_eq!(run.gate_result, GateResult::Fail);
    assert!(run.gate_reason.starts_with("BUDGET_EXHAUSTED: "), "{}", run.gate_reason);
    let pause = world.pause().await;
    assert_eq!(pause.reason, PauseReason::BudgetExhausted);
    assert_eq!(
        pause.prioritized_actions,
        [
            "Review partial output: azolla explain run-1",
            "Retry with a larger budget (budget_manifest_ms = 240000 in [limits]): azolla manifest"
        ]
    );
}

#[tokio::test]
async fn o1_a_failure_that_would_come_again_has_one_action() {
    for (kind, expected) in [
        (FailureKind::Setup, "Set up the worker for orientation, then run: azolla manifest"),
        (
            FailureKind::Retries,
            "See whether the worker answers again: azolla doctor --probe && azolla manifest",
        ),
        (FailureKind::PromptTooLarge, "Lower prompt_bytes in [limits], then run: azolla manifest"),
    ] {
        let reason = "it said no".to_owned();
        let (world, event_id) = answering(Answer::Outcome(GenerationOutcome::Failed { kind, reason })).await;
        judged(&world, &event_id).await;
        let pause = world.pause().await;
        assert_eq!(
            (pause.reason, &pause.prioritized_actions[..]),
            (PauseReason::GateFailed, &[expected.to_owned()][..])
        );
    }
}

/// W-7: a gate that never comes to an end is a FAIL without a look.
#[tokio::test]
async fn w7_a_poisoned_gate_fails_without_a_look() {
    let (world, event_id) = text("1. Look at obj-1").await;
    world.runner().await;
    let resource = ResourceRef::from(&WorkOrderId::of(&event_id));
    for _ in 0..3 {
        let grant = world.store.granted(&resource).await;
        world.store.store.release_claim(&grant.fence, Release::Failed, Actor::Gate).await.expect("a read");
    }
    assert_eq!(world.gate().await, Tick::Advanced);
    let run =
        world.store.read().run_of(&WorkOrderId::of(&event_id)).await.expect("a read").expect("it is there");
    assert_eq!(
        (run.gate_result, run.gate_reason.as_str()),
        (GateResult::Fail, "3 gate runs ended without a result")
    );
    assert_eq!(world.pause().await.reason, PauseReason::GateFailed);
    assert_eq!(world.store.read().latest_manifest().await.expect("a read"), None);
}
