//! Triage and orientation without a model, called as the Runner does.

mod corpus;
mod orientation;
mod property;

use azolla_diazotroph::provider::BuiltinProvider;
use azolla_protocol::{
    Allowance, AnswerForm, CaptureId, Diazotroph, FailureKind, Generation, GenerationOutcome,
    GenerationRequest, Reservation, Spending, Usage, Withheld,
    content::{CaptureText, TriageContent, TriageInput, write_data},
};
use serde_json::json;

use crate::bench::{LONG, failed, request, work_order_id};

/// Asks the provider and returns all that came back.
pub(crate) fn generate(prompt: &str) -> Generation {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let id = work_order_id(1);
    let request = GenerationRequest { allowance: &Untouched, ..request(&id, prompt, LONG, None) };
    runtime.block_on(BuiltinProvider.generate(request))
}

/// A prompt with data in it, as a snapshot has it.
pub(crate) fn prompt<T: serde::Serialize>(data: &T) -> String {
    format!("Some instructions.\n\n{}\nSome more.\n", write_data(data).unwrap())
}

/// The text of an answer.
#[track_caller]
pub(crate) fn answer(prompt: &str) -> String {
    match generate(prompt).outcome {
        GenerationOutcome::Text(text) => text,
        other => panic!("{other:?} is no text"),
    }
}

/// The candidates of a batch.
pub(crate) fn triage(input: &TriageInput) -> TriageContent {
    serde_json::from_str(&answer(&prompt(input))).unwrap()
}

/// Fails when anything is spent.
struct Untouched;

impl Allowance for Untouched {
    fn reserve(&self, _most: Spending) -> Result<Reservation, Withheld> {
        panic!("nothing is asked of anybody");
    }

    fn settle(&self, _reservation: Reservation, _spent: Spending) {
        panic!("nothing was set aside");
    }
}

/// B-3: it is there under its name, sets nothing aside and costs nothing.
#[test]
fn b3_builtin_costs_nothing() {
    assert_eq!((BuiltinProvider.provider(), BuiltinProvider.answer_form()), ("builtin", AnswerForm::Json));
    let now = "2026-11-16T10:00:00.000Z".parse().unwrap();
    let generation = generate(&prompt(&TriageInput { now, captures: Vec::new(), azollas: Vec::new() }));
    assert_eq!((generation.usage, generation.sandbox_mode), (Usage::default(), None));
    assert!(matches!(generation.outcome, GenerationOutcome::Text(_)));
}

/// TF-5: what needs nothing by its words is a candidate all the same once somebody asks for it again.
#[test]
fn tf5_a_note_that_is_asked_for_again_is_a_candidate() {
    let now = "2026-11-16T10:00:00.000Z".parse().unwrap();
    let of = |label: &str, text: &str| {
        let capture = CaptureText {
            capture_id: CaptureId::new("cap-a-again").unwrap(),
            source_label: label.to_owned(),
            created_at: now,
            text: text.to_owned(),
            bytes_left_out: 0,
        };
        triage(&TriageInput { now, captures: vec![capture], azollas: Vec::new() })
    };
    for (text, title) in [
        ("thanks!", "thanks"),
        ("https://example.org/a", "example.org"),
        ("FYI the printer is green", "printer"),
        ("- [x] done\n- [x] done too", "done"),
        ("…!?", "Look at the note"),
        ("\u{1}\u{2}\u{3}\u{4}", "Look at the note"),
    ] {
        let content = of("cli", text);
        assert_eq!((content.candidates.len(), content.no_action.len()), (0, 1), "{text:?}");
        let content = of("again:cap-a", text);
        assert_eq!((content.candidates.len(), content.no_action.len()), (1, 0), "{text:?}");
        let candidate = &content.candidates[0];
        assert!(candidate.title.to_lowercase().contains(&title.to_lowercase()), "{text:?}: {candidate:?}");
        assert!(!candidate.acceptance_criteria.trim().is_empty(), "{text:?}");
        assert!(content.notes.starts_with("cap-a-again was asked for again."), "{}", content.notes);
    }
}

/// TF-5, MF-5: it does triage and orientation, and says so where it is given anything else.
#[test]
fn tf5_mf5_other_work_is_refused_as_a_matter_of_setup() {
    for prompt in
        ["Round half up.", &prompt(&json!({"other": 1})), &prompt(&json!({"now": "x", "captures": []}))]
    {
        let reason = failed(generate(prompt).outcome, FailureKind::Setup);
        assert_eq!(reason, "builtin does triage and orientation only");
    }
}
