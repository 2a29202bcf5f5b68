//! Runner: TF-5, and every end that a triage can have. One bundle each, which names its captures.

use std::time::Duration;

use azolla_control_plane::Tick;
use azolla_protocol::{
    AzollaId, FailureKind, GateResult, GenerationOutcome, LeaseLength, ResourceRef, RunnerStatus, canonical,
    content::{TriageContent, TriageInput, read_data},
};
use azolla_testkit::{Answer, Backend, TaskWorld, task_world::one_candidate_each};
use serde_json::json;

use super::*;

/// Runs one triage of two captures with this answer, and returns its bundle.
async fn answered(answer: Answer) -> (TaskWorld, OutputBundle) {
    let world = TaskWorld::with(Backend::Sqlite, [answer]).await;
    let ids = world.scheduled(&["fix the login", "thanks"]).await;
    assert_eq!(world.runner().await, Tick::Advanced);
    let bundle = bundle(&world, &workorder(&ids[0], 1)).await;
    // A-3: however it ended, it says what it was about.
    assert_eq!(bundle.metadata.more["capture_ids"], json!(ids));
    (world, bundle)
}

/// TF-5: the content is the candidates in canonical form; metadata and notes are the runner's.
#[tokio::test]
async fn tf5_an_answer_becomes_a_bundle() {
    fn answer(prompt: &str) -> GenerationOutcome {
        let GenerationOutcome::Text(text) = one_candidate_each(prompt) else { panic!("a text") };
        let mut content: TriageContent = serde_json::from_str(&text).unwrap();
        content.candidates[1].ambiguities = vec!["Who is thanked?".into()];
        content.notes = "Two notes.".into();
        GenerationOutcome::Text(format!("Here it is:\n```json\n{}\n```\n", json!(content)))
    }
    let (_, bundle) = answered(Answer::By(answer)).await;
    assert_eq!(bundle.metadata.runner_status, RunnerStatus::Completed);
    assert_eq!(bundle.title, "Triage of 2 captures: 2 candidates");
    assert_eq!(bundle.metadata.more["suggested_target_azolla_type"], "CODE_PATCH_AZOLLA");
    let content: TriageContent = serde_json::from_str(&bundle.content).unwrap();
    assert_eq!(bundle.content, canonical(&content).unwrap());
    assert_eq!(
        bundle.notes,
        "1. fix the login: confidence MEDIUM\n2. thanks: confidence MEDIUM; Who is thanked?\nTwo notes."
    );
}

/// TF-5: a day that no calendar has and an azolla that does not exist are left out, and the notes say so; the rest stays.
#[tokio::test]
async fn tf5_what_cannot_be_is_left_out_and_told() {
    fn answer(prompt: &str) -> GenerationOutcome {
        let GenerationOutcome::Text(text) = one_candidate_each(prompt) else { panic!("a text") };
        let mut content: TriageContent = serde_json::from_str(&text).unwrap();
        content.candidates[0].due = Some("2026-02-31".into());
        content.candidates[1].due = Some("2028-02-29".into());
        content.candidates[1].suggested_azolla_id = Some(AzollaId::new("az-nowhere").unwrap());
        content.notes = "x".repeat(5_000);
        GenerationOutcome::Text(json!(content).to_string())
    }
    let (world, bundle) = answered(Answer::By(answer)).await;
    let content: TriageContent = serde_json::from_str(&bundle.content).unwrap();
    let left: Vec<_> =
        content.candidates.iter().map(|one| (one.due.as_deref(), &one.suggested_azolla_id)).collect();
    assert_eq!(left, [(None, &None), (Some("2028-02-29"), &None)]);
    let said = "Candidate 1 was to be due on 2026-02-31, which is no day.\n\
                Candidate 2 was suggested for az-nowhere, which does not exist.\nxxx";
    assert!(content.notes.starts_with(said) && content.notes.len() == 5_000, "{}", content.notes);
    assert!(bundle.notes.contains(said), "{}", bundle.notes);
    assert_eq!(world.gate().await, Tick::Advanced);
    assert_eq!(run(&world, &bundle.metadata.work_order_id).await.gate_result, GateResult::Pass);
}

/// TF-5: an object among prose with braces of its own is found.
#[tokio::test]
async fn tf5_an_object_among_words_is_found() {
    fn answer(prompt: &str) -> GenerationOutcome {
        let GenerationOutcome::Text(text) = one_candidate_each(prompt) else { panic!("a text") };
        GenerationOutcome::Text(format!("I read {{two}} notes, {{}} of them odd: {text} That is {{all}}."))
    }
    let (_, bundle) = answered(Answer::By(answer)).await;
    assert_eq!(bundle.metadata.runner_status, RunnerStatus::Completed, "{}", bundle.notes);
}

/// TF-5: an answer that cannot be used is kept as it came, with why; nothing of it counts.
#[tokio::test]
async fn tf5_an_answer_that_cannot_be_used_is_kept_with_its_reason() {
    let candidate = json!({"title": "T", "acceptance_criteria": "A", "rationale": "", "capture_ids": ["cap-a"],
                           "confidence": "HIGH"});
    let thousand = json!({"candidates": vec![candidate.clone(); 1_000], "no_action": []}).to_string();
    let mut without = candidate.clone();
    without.as_object_mut().unwrap().remove("acceptance_criteria");
    let without = json!({"candidates": [without], "no_action": []}).to_string();
    let mut more = candidate;
    more["status"] = "TODO".into();
    let more = json!({"candidates": [more], "no_action": []}).to_string();
    let deep = format!("{{\"candidates\": {}{}", "[".repeat(50_000), "]".repeat(50_000));
    let answers = [
        ("Sure! I will do that.", "it is no JSON object"),
        ("", "it is no JSON object"),
        ("{\"candidates\": [", "it is no JSON object"),
        ("[1, 2]", "it is no JSON object"),
        (thousand.as_str(), "candidates"),
        (without.as_str(), "acceptance_criteria"),
        (more.as_str(), "status"),
        (deep.as_str(), "it is no JSON object"),
    ];
    for (answer, reason) in answers {
        let (_, bundle) = answered(text(answer)).await;
        assert_eq!(bundle.metadata.runner_status, RunnerStatus::GenerationFailed);
        assert!(bundle.notes.starts_with("The answer cannot be used: "), "{}", bundle.notes);
        assert!(bundle.notes.contains(reason), "{reason}: {}", bundle.notes);
        assert!(answer.starts_with(&bundle.content) && bundle.content.len() <= 100_000);
    }
}

/// Section 8: a provider that fails for good, and one that edits files, each say why.
#[tokio::test]
async fn tf5_a_failed_generation_has_empty_content_and_the_reason() {
    let failed = GenerationOutcome::Failed { kind: FailureKind::Retries, reason: "529 nine times".into() };
    let (_, bundle) = answered(Answer::Outcome(failed)).await;
    assert_eq!(bundle.metadata.runner_status, RunnerStatus::GenerationFailed);
    assert_eq!((bundle.content.as_str(), bundle.notes.as_str()), ("", "529 nine times"));
    assert_eq!(bundle.title, "Triage");
    assert_eq!(bundle.metadata.more["failure"], "RETRIES");
    let edited = GenerationOutcome::Edited { said: "done".into() };
    let (_, bundle) = answered(Answer::Outcome(edited)).await;
    assert_eq!(bundle.metadata.more["failure"], "SETUP");
}

/// Section 8: a budget that is over, by the provider's word or by the clock.
#[tokio::test]
async fn tf5_b2_a_budget_that_is_over_yields_an_empty_bundle() {
    let over = GenerationOutcome::OverBudget { said: "reading".into() };
    let (_, bundle) = answered(Answer::Outcome(over)).await;
    assert_eq!(bundle.metadata.runner_status, RunnerStatus::BudgetExhausted);
    assert_eq!(bundle.content, "");

    let mut world = TaskWorld::with(Backend::Sqlite, [Answer::Hang]).await;
    world.ctx.settings.budget_triage_ms = 50;
    let id = world.scheduled(&["one"]).await.remove(0);
    assert_eq!(world.runner().await, Tick::Advanced);
    let bundle = bundle_of(&world, &id).await;
    assert_eq!(bundle.metadata.runner_status, RunnerStatus::BudgetExhausted);
    assert_eq!(bundle.metadata.more["capture_ids"], json!([id]));
}

async fn bundle_of(world: &TaskWorld, id: &CaptureId) -> OutputBundle {
    bundle(world, &workorder(id, 1)).await
}

/// C-3: a lost lease stops the work at the next renewal, and nothing is written.
#[tokio::test]
async fn tf5_c3_a_lost_lease_stops_the_work_and_writes_nothing() {
    let mut world = TaskWorld::with(Backend::Sqlite, [Answer::Hang]).await;
    world.ctx.settings.lease = LeaseLength::new(3_000).unwrap();
    let id = world.scheduled(&["one"]).await.remove(0);
    let expire = async {
        while world.triage.calls() == 0 {
            tokio::task::yield_now().await;
        }
        world.store.advance(LEASE_MS).await;
    };
    let (tick, ()) = tokio::join!(world.runner(), expire);
    assert_eq!(tick, Tick::Advanced);
    assert_eq!(world.store.read().output_of(&workorder(&id, 1)).await.unwrap(), None);
}

/// W-7: after three claims without an outcome the workorder gets its terminal bundle, and the gate holds its capture.
#[tokio::test]
async fn w7_a_workorder_that_kills_its_runner_ends_in_a_bundle() {
    let world = TaskWorld::new(Backend::Sqlite).await;
    let id = world.scheduled(&["one"]).await.remove(0);
    claimed_in_vain(&world, &ResourceRef::from(&workorder(&id, 1)), 3).await;
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(world.triage.calls(), 0);
    let bundle = bundle_of(&world, &id).await;
    assert_eq!(bundle.metadata.more["failure"], "POISON");
    assert_eq!(bundle.metadata.more["capture_ids"], json!([id]));
    assert_eq!(world.gate().await, Tick::Advanced);
    assert!(world.capture(&id).await.held);
    assert_sound(&world).await;
}

/// A provider without quota leaves the workorder as it is, uncounted.
#[tokio::test]
async fn tf5_a_wait_is_not_a_failure() {
    let wait = azolla_protocol::Wait {
        reason: "quota".into(),
        time: Duration::from_secs(60),
        source: azolla_protocol::WaitSource::Provider,
    };
    let world = TaskWorld::with(Backend::Sqlite, [Answer::Outcome(GenerationOutcome::Wait(wait))]).await;
    let id = world.scheduled(&["one"]).await.remove(0);
    assert_eq!(world.runner().await, Tick::Idle);
    let stored = world.store.read().workorder(&workorder(&id, 1)).await.unwrap().unwrap();
    assert_eq!((stored.claim_count, stored.stream_slot.is_some()), (0, true));
    assert_eq!(world.store.read().output_of(&workorder(&id, 1)).await.unwrap(), None);
}

/// TF-3, TF-5: what was left out of a capture is in the notes, whatever the worker says.
#[tokio::test]
async fn tf3_tf5_a_shortened_capture_is_told_in_the_notes() {
    let mut world = TaskWorld::new(Backend::Sqlite).await;
    world.ctx.settings.prompt_bytes = 8_000;
    let id = world.scheduled(&["long ".repeat(100_000).as_str()]).await.remove(0);
    world.runner().await;
    let prompt = world.triage.prompts().remove(0);
    assert!(prompt.len() <= 8_000);
    let input: TriageInput = read_data(&prompt).unwrap();
    let left_out = input.captures[0].bytes_left_out;
    assert!(left_out > 490_000);
    let notes = bundle_of(&world, &id).await.notes;
    let told = format!("Only the beginning of {id} was shown: {left_out} bytes were left out.");
    assert!(notes.ends_with(&told), "{notes}");
}
