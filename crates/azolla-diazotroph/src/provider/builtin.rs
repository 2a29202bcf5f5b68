//! Triage and orientation without a model: rules over the data of the prompt. It costs nothing, works offline, and the
//! same data gives the same bytes. What the texts in the data say is never followed: they are data (T21).

mod alike;
mod note;
mod orientation;
mod place;
mod text;
mod title;
mod triage;
mod when;

use std::pin::Pin;

use azolla_protocol::{
    AnswerForm, Diazotroph, FailureKind, Generation, GenerationOutcome, GenerationRequest, Usage,
    content::{ManifestInput, TriageInput, read_data},
};

/// The most captures of a batch, which is what an answer can list.
const CAPTURES_MAX: usize = 100;

/// A provider that is part of the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltinProvider;

impl BuiltinProvider {
    fn answer(prompt: &str) -> GenerationOutcome {
        let answer = if let Some(input) = read_data::<TriageInput>(prompt) {
            if input.captures.len() > CAPTURES_MAX {
                return failed(FailureKind::Other, "builtin takes at most 100 captures at a time");
            }
            serde_json::to_string(&triage::triage(&input))
        } else if let Some(input) = read_data::<ManifestInput>(prompt) {
            serde_json::to_string(&orientation::orient(&input))
        } else {
            return failed(FailureKind::Setup, "builtin does triage and orientation only");
        };
        GenerationOutcome::Text(answer.expect("what the answer is made of has a JSON form"))
    }
}

impl Diazotroph for BuiltinProvider {
    fn provider(&self) -> &str {
        "builtin"
    }

    fn answer_form(&self) -> AnswerForm {
        AnswerForm::Json
    }

    fn generate<'a>(
        &'a self,
        request: GenerationRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Generation> + Send + 'a>> {
        Box::pin(async move {
            (request.progress)("applying the built-in rules");
            let outcome = Self::answer(request.prompt);
            // Nothing was asked of anybody, so it cost nothing.
            Generation { outcome, usage: Usage::default(), sandbox_mode: None }
        })
    }
}

fn failed(kind: FailureKind, reason: &str) -> GenerationOutcome {
    GenerationOutcome::Failed { kind, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests;
