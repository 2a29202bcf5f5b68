//! A diazotroph whose answers a test sets, one per call.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use azolla_protocol::{
    AnswerForm, Diazotroph, Generation, GenerationOutcome, GenerationRequest, Spending, Usage,
};

use crate::clock::ManualClock;

/// Answers in order; the last answer is given again and again.
pub struct ScriptedDiazotroph {
    answers: Mutex<VecDeque<Answer>>,
    calls: AtomicU64,
    prompts: Mutex<Vec<String>>,
    retries_before: Mutex<Vec<u64>>,
    form: Mutex<AnswerForm>,
    /// Moved by so much while an answer is made.
    takes: Mutex<Option<(ManualClock, i64)>>,
}

/// What one call does.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Returns this.
    Outcome(GenerationOutcome),
    /// Returns what this makes of the prompt.
    By(fn(&str) -> GenerationOutcome),
    /// Never returns.
    Hang,
    /// Starts a program without a sandbox, spends this, and never returns.
    HangAfter(Usage),
}

impl ScriptedDiazotroph {
    /// Answers with a patch.
    pub fn patch() -> Self {
        Self::new([Answer::Outcome(GenerationOutcome::Text(PATCH.to_owned()))])
    }

    /// Answers with these, in order.
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let answers = Mutex::new(answers.into_iter().collect());
        Self {
            answers,
            calls: AtomicU64::new(0),
            prompts: Mutex::default(),
            retries_before: Mutex::default(),
            form: Mutex::new(AnswerForm::Diff),
            takes: Mutex::default(),
        }
    }

    /// Makes every answer take so long, by this clock.
    pub fn take(&self, clock: ManualClock, ms: i64) {
        *self.takes.lock().unwrap_or_else(PoisonError::into_inner) = Some((clock, ms));
    }

    /// Returns how often it was called.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Returns the prompts that it got.
    pub fn prompts(&self) -> Vec<String> {
        self.prompts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how many retries there had been before each call.
    pub fn retries_before(&self) -> Vec<u64> {
        self.retries_before.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes it one that answers in this form.
    pub fn answer_in(&self, form: AnswerForm) {
        *self.form.lock().unwrap_or_else(PoisonError::into_inner) = form;
    }

    fn next(&self) -> Answer {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let next = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        next.expect("a test gives at least one answer")
    }
}

/// What the usual answer is.
pub const PATCH: &str = "diff --git a/src/lib.rs b/src/lib.rs\n--- a/src/lib.rs\n+++ b/src/lib.rs\n\
                         @@ -1 +1 @@\n-value.trunc()\n+value.round()\n";

impl Diazotroph for ScriptedDiazotroph {
    fn provider(&self) -> &str {
        "scripted"
    }

    fn answer_form(&self) -> AnswerForm {
        *self.form.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn generate<'a>(
        &'a self,
        request: GenerationRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Generation> + Send + 'a>> {
        Box::pin(async move {
            self.calls.fetch_add(1, Ordering::SeqCst);
            self.prompts.lock().unwrap_or_else(PoisonError::into_inner).push(request.prompt.to_owned());
            let before = request.retries_before;
            self.retries_before.lock().unwrap_or_else(PoisonError::into_inner).push(before);
            if let Some((clock, ms)) = &*self.takes.lock().unwrap_or_else(PoisonError::into_inner) {
                clock.advance(*ms);
            }
            match self.next() {
                Answer::Hang => std::future::pending().await,
                Answer::HangAfter(usage) => {
                    let tokens = usage.input_tokens + usage.output_tokens;
                    let spent = Spending { tokens, cost_microusd: usage.cost_microusd };
                    if let Ok(reservation) = request.allowance.reserve(spent) {
                        request.allowance.settle(reservation, spent);
                    }
                    request.allowance.started("off");
                    request.allowance.counted(&usage);
                    std::future::pending().await
                }
                Answer::Outcome(outcome) => answered(outcome),
                Answer::By(answer) => answered(answer(request.prompt)),
            }
        })
    }
}

fn answered(outcome: GenerationOutcome) -> Generation {
    Generation { outcome, usage: Usage { requests: 1, ..Usage::default() }, sandbox_mode: None }
}
