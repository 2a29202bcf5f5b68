//! Triage and orientation by a real model, where one is at hand: `AZOLLA_TEST_OPENAI_URL` is the base of its API, such as
//! `http://127.0.0.1:8080/v1`, and `AZOLLA_TEST_OPENAI_MODEL` the model, where the server has several.

use std::time::Duration;

use azolla_diazotroph::provider::{
    CONNECT_TIMEOUT, ModelSettings, OpenAiProvider, OpenAiSettings, Structured,
};
use azolla_protocol::{
    AnswerForm, AzollaId, AzollaType, CaptureId, Diazotroph, GenerationOutcome, GenerationRequest,
    ObjectiveId, ObjectiveStatus, QueryStatus, Timestamp,
    content::{
        AzollaReport, CaptureText, ManifestAnswer, ManifestInput, ObjectiveBrief, TargetAzolla,
        TriageContent, TriageInput, manifest_answer_schema, triage_content_schema, write_data,
    },
};
use serde_json::Value;

use crate::bench::{request, work_order_id};

/// What a triage is really asked for.
const INSTRUCTIONS: &str = include_str!("../../../../azolla-control-plane/src/snapshot/forms/triage.md");

/// A small model on a busy machine takes minutes.
const BUDGET: Duration = Duration::from_secs(1_500);

fn now() -> Timestamp {
    "2026-11-16T10:00:00.000Z".parse().unwrap()
}

/// Asks the server, or says that there is none.
async fn asked(prompt: &str, schema: &Value) -> Option<GenerationOutcome> {
    let Ok(base_url) = std::env::var("AZOLLA_TEST_OPENAI_URL") else {
        eprintln!("not run: AZOLLA_TEST_OPENAI_URL is not set, so no real model was asked");
        return None;
    };
    let api = ModelSettings {
        name: "real".into(),
        base_url,
        model: std::env::var("AZOLLA_TEST_OPENAI_MODEL").unwrap_or_else(|_| "default".into()),
        key: None,
        form: AnswerForm::SearchReplace,
        max_tokens: 2_000,
        temperature: Some(0.0),
        retries_max: 1,
        input_microusd_per_million: None,
        output_microusd_per_million: None,
        stall_timeout: BUDGET,
        connect_timeout: CONNECT_TIMEOUT,
    };
    let provider = OpenAiProvider::new(OpenAiSettings { api, structured: Structured::JsonSchema });
    let id = work_order_id(1);
    let asked = GenerationRequest { schema: Some(schema), ..request(&id, prompt, BUDGET, None) };
    let generation = provider.unwrap().generate(asked).await;
    eprintln!("{:?}", generation.usage);
    Some(generation.outcome)
}

#[track_caller]
fn text(outcome: GenerationOutcome) -> String {
    match outcome {
        GenerationOutcome::Text(text) => text,
        other => panic!("{other:?} is no text"),
    }
}

/// TF-5: a real model makes candidates that satisfy the schema. Whether every note is in one, the gate sees to (TF-6).
#[tokio::test]
async fn tf5_a_real_model_triages_where_one_is_given() {
    let texts = [
        "billing: shares are rounded down, 0.5 should round to 1. Fix it by Friday.",
        "- call the landlord about the heating\n- buy stamps",
        "thanks!",
    ];
    let capture = |(n, text): (usize, &&str)| CaptureText {
        capture_id: CaptureId::new(format!("cap-{}", n + 1)).unwrap(),
        source_label: "cli".into(),
        created_at: now(),
        text: (*text).to_owned(),
        bytes_left_out: 0,
    };
    let billing = TargetAzolla {
        azolla_id: AzollaId::new("az-billing").unwrap(),
        azolla_type: AzollaType::CodePatch,
        repository: "billing".into(),
        paths: vec!["src/rounding.rs".into()],
    };
    let input = TriageInput {
        now: now(),
        captures: texts.iter().enumerate().map(capture).collect(),
        azollas: vec![billing],
    };
    let prompt = format!("{INSTRUCTIONS}\n# Data\n\n{}", write_data(&input).unwrap());
    let Some(outcome) = asked(&prompt, triage_content_schema()).await else { return };
    let text = text(outcome);
    eprintln!("{text}");
    let content: TriageContent = serde_json::from_str(&text).unwrap();
    assert!(!content.candidates.is_empty(), "there is something to do in the notes");
}

/// MF-5: a real model gives one to five actions.
#[tokio::test]
async fn mf5_a_real_model_orients_where_one_is_given() {
    let brief = ObjectiveBrief {
        objective_id: ObjectiveId::new("obj-7").unwrap(),
        title: "Round half up".into(),
        status: ObjectiveStatus::Blocked,
        importance: 1,
        urgency: 1,
        updated_at: now().plus_ms(-3 * 86_400_000),
        deadline: Some(now().plus_ms(-86_400_000)),
    };
    let billing = AzollaReport {
        azolla_id: AzollaId::new("az-billing").unwrap(),
        status: QueryStatus::Ok,
        remark: String::new(),
        pause_states: Vec::new(),
        objectives: vec![brief],
    };
    let input = ManifestInput {
        now: now(),
        azolla_id: AzollaId::new("az-taskmgmt").unwrap(),
        captures_pending: 2,
        candidates_open: 0,
        pause_states: Vec::new(),
        azollas: vec![billing],
    };
    let prompt = format!(
        "Say where things stand in the data, and what to do next: one to five actions, the first one first. Each names an \
         objective by its id, or a command such as `azolla triage`.\n\n{}",
        write_data(&input).unwrap()
    );
    let Some(outcome) = asked(&prompt, manifest_answer_schema()).await else { return };
    let text = text(outcome);
    eprintln!("{text}");
    let answer: ManifestAnswer = serde_json::from_str(&text).unwrap();
    assert!((1..=5).contains(&answer.actions.len()));
}
