//! What goes otherwise than well in a scene, and what it waits for: answers, the repository, other azollas, time.

use std::{
    collections::VecDeque,
    fs,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use azolla_protocol::{
    AnswerForm, Diazotroph, Generation, GenerationOutcome, GenerationRequest, Usage, Wait, WaitSource,
};
use tokio::sync::watch;

use crate::diazotroph::PATCH;

/// The moods of a process, which its scene sets.
#[derive(Default)]
pub(super) struct Mood {
    state: Mutex<State>,
    /// Moves with every renewal of a claim.
    renewals: watch::Sender<u64>,
    /// Moves with everybody who is asked something.
    asked: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    answers: VecDeque<Answer>,
    away: Option<&'static str>,
    edits_files: bool,
    long_checks: bool,
    peers: PeersMood,
}

/// What one call of a diazotroph does; where no scene says, it answers well at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing that anybody could use.
    Garbage,
    /// Well, after its claim was renewed.
    Late,
    /// Never.
    Never,
    /// It asks for time.
    Wait,
}

/// How other azollas answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum PeersMood {
    /// At once.
    #[default]
    Ready,
    /// After a claim was renewed.
    Late,
    /// Never.
    Never,
    /// They cannot be reached.
    Away,
    /// With an objective of this id that should have moved long ago.
    Overdue(String),
}

impl Mood {
    /// Sets what the next calls of a diazotroph do.
    pub(super) fn answer(&self, answers: impl IntoIterator<Item = Answer>) {
        self.state().answers = answers.into_iter().collect();
    }

    /// Makes the next one of these calls of the repository fail.
    pub(super) fn away(&self, call: &'static str) {
        self.state().away = Some(call);
    }

    /// Makes the worker one that edits files.
    pub(super) fn edit_files(&self) {
        self.state().edits_files = true;
    }

    /// Makes checks take longer than it takes to renew their claim.
    pub(super) fn make_checks_long(&self) {
        self.state().long_checks = true;
    }

    /// Sets how other azollas answer.
    pub(super) fn peers_are(&self, peers: PeersMood) {
        self.state().peers = peers;
    }

    /// Returns how other azollas answer.
    pub(super) fn peers(&self) -> PeersMood {
        self.state().peers.clone()
    }

    /// Tells whether this call of the repository fails now.
    pub(super) fn is_away(&self, call: &str) -> bool {
        self.state().away.take_if(|away| *away == call).is_some()
    }

    /// Notes a renewal.
    pub(super) fn renewed(&self) {
        self.renewals.send_modify(|count| *count += 1);
    }

    /// Waits for the next renewal.
    pub(super) async fn renewal(&self) {
        // The sender is this mood's own.
        let _ = self.renewals.subscribe().changed().await;
    }

    /// Takes so long as a renewal takes, where the scene says that checks do.
    pub(super) async fn checks_take_long(&self) {
        if std::mem::take(&mut self.state().long_checks) {
            self.renewal().await;
        }
    }

    /// Notes that somebody is asked.
    pub(super) fn is_asked(&self) {
        self.asked.send_modify(|count| *count += 1);
    }

    /// Returns what moves when somebody is asked.
    pub(super) fn asked(&self) -> watch::Receiver<u64> {
        self.asked.subscribe()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who works as the mood is.
pub(super) struct MoodyDiazotroph {
    pub(super) mood: std::sync::Arc<Mood>,
    /// What a good answer is.
    pub(super) good: fn(&str) -> GenerationOutcome,
}

/// A good patch.
pub(super) fn patch(_prompt: &str) -> GenerationOutcome {
    GenerationOutcome::Text(PATCH.to_owned())
}

impl Diazotroph for MoodyDiazotroph {
    fn provider(&self) -> &str {
        "moody"
    }

    fn answer_form(&self) -> AnswerForm {
        if self.mood.state().edits_files { AnswerForm::Files } else { AnswerForm::Diff }
    }

    fn generate<'a>(
        &'a self,
        request: GenerationRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Generation> + Send + 'a>> {
        Box::pin(async move {
            self.mood.is_asked();
            let next = self.mood.state().answers.pop_front();
            let outcome = match next {
                Some(Answer::Garbage) => GenerationOutcome::Text("Prose, {\"and\": [braces".to_owned()),
                Some(Answer::Never) => std::future::pending().await,
                Some(Answer::Wait) => GenerationOutcome::Wait(Wait {
                    reason: "quota".to_owned(),
                    time: Duration::from_secs(90),
                    source: WaitSource::Provider,
                }),
                Some(Answer::Late) => {
                    self.mood.renewal().await;
                    (self.good)(request.prompt)
                }
                None => match request.worktree {
                    Some(files) => edit(files),
                    None => (self.good)(request.prompt),
                },
            };
            Generation { outcome, usage: Usage { requests: 1, ..Usage::default() }, sandbox_mode: None }
        })
    }
}

fn edit(files: &std::path::Path) -> GenerationOutcome {
    fs::write(files.join("src/lib.rs"), "value.round()\n").expect("a worktree is there to be edited");
    GenerationOutcome::Edited { said: "Rounded.".to_owned() }
}
