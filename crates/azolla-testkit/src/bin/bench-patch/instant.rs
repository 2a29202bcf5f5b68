//! A diazotroph that answers at once, always the same: no work of its own is in a figure.

use std::pin::Pin;

use azolla_protocol::{AnswerForm, Diazotroph, Generation, GenerationOutcome, GenerationRequest, Usage};

/// Answers with this text.
pub(crate) struct Instant(pub(crate) String);

impl Diazotroph for Instant {
    fn provider(&self) -> &str {
        "instant"
    }

    fn answer_form(&self) -> AnswerForm {
        AnswerForm::Diff
    }

    fn generate<'a>(
        &'a self,
        _request: GenerationRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Generation> + Send + 'a>> {
        let outcome = GenerationOutcome::Text(self.0.clone());
        Box::pin(async {
            Generation { outcome, usage: Usage { requests: 1, ..Usage::default() }, sandbox_mode: None }
        })
    }
}
