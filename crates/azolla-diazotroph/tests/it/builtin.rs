//! Triage and orientation without a model, called as the Runner does.

mod corpus;
mod orientation;
mod property;

use azolla_diazotroph::provider::BuiltinProvider;
use azolla_protocol::{
    Allowance, AnswerForm, Diazotroph, FailureKind, Generation, GenerationOutcome, GenerationRequest,
    Reservation, Spending, Usage, Withheld,
    content::{TriageContent, TriageInput, write_data},
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
