//! What a run came to, from how the program ended and what it printed.

use azolla_process::{Captured, Exit, Finished};
use azolla_protocol::{FailureKind, GenerationOutcome, Timestamp, Wait, WaitSource};
use serde::Deserialize;

use super::{
    super::{ANSWER_BYTES_MAX, QUOTA_WAIT},
    report::{Report, Trouble, TroubleKind, until_reset},
    settings::{CommandSettings, OutputKind, ResultBy},
};
use crate::said::{SAID_BYTES_MAX, Secrets, said, shown, tail};

/// The most bytes of an agent's words about what went wrong.
const MESSAGE_BYTES_MAX: usize = 1_000;

/// Text in front of what is quoted, where secrets at its beginning are recognised.
const QUOTED_BYTES_MAX: usize = 64 * 1024;

/// What a run has besides its output.
pub(super) struct Run<'a> {
    pub(super) settings: &'a CommandSettings,
    /// What must not be repeated (T29).
    pub(super) secrets: &'a Secrets,
    /// What must not be in an answer either.
    pub(super) keys: &'a Secrets,
    pub(super) now: Timestamp,
    /// Whether a time that the program prints without a zone is of UTC.
    pub(super) is_utc: bool,
}

impl Run<'_> {
    /// Returns what the run came to.
    pub(super) fn outcome(&self, finished: &Finished, report: &Report) -> GenerationOutcome {
        let said = || said(&finished.stdout, &finished.stderr, self.secrets);
        match finished.exit {
            Exit::TimedOut => return GenerationOutcome::OverBudget { said: self.words(finished, report) },
            Exit::TooMuchOutput => {
                return failed(format!(
                    "the program printed more than {ANSWER_BYTES_MAX} bytes and was ended"
                ));
            }
            Exit::Code(_) | Exit::Signal(_) => {}
        }
        if let Some(trouble) = &report.trouble {
            return self.of_trouble(trouble);
        }
        match finished.exit {
            Exit::Code(0) => {
                self.answer(finished, report).unwrap_or_else(|reason| failed(with_said(&reason, &said())))
            }
            // A shell, or `env`, did not find or could not start what it was to run.
            Exit::Code(code @ (126 | 127)) => setup(with_said(
                &format!("the program ended with exit code {code}: a program is missing"),
                &said(),
            )),
            // What it edited before it failed is not its answer.
            Exit::Code(code) => {
                let what = format!("the program ended with exit code {code}{}", self.not_taken());
                failed(with_said(&what, &said()))
            }
            Exit::Signal(signal) => {
                let what = format!("the program was ended by signal {signal}{}", self.not_taken());
                failed(with_said(&what, &said()))
            }
            Exit::TimedOut | Exit::TooMuchOutput => unreachable!("returned above"),
        }
    }

    /// Says what becomes of edits of a program that failed.
    fn not_taken(&self) -> &'static str {
        match self.settings.result {
            ResultBy::Worktree => ", so whatever it changed was not taken",
            ResultBy::Stdout(_) => "",
        }
    }

    fn of_trouble(&self, trouble: &Trouble) -> GenerationOutcome {
        let message = tail(&self.clean(&trouble.message), MESSAGE_BYTES_MAX);
        let name = &self.settings.name;
        let (kind, reason) = match trouble.kind {
            TroubleKind::Login => {
                (FailureKind::Setup, format!("{name} is not logged in, or its key is refused: {message}"))
            }
            TroubleKind::Quota => {
                let time = until_reset(&trouble.message, self.now, self.is_utc).unwrap_or(QUOTA_WAIT);
                return GenerationOutcome::Wait(Wait {
                    reason: format!("{name} has no quota left: {message}"),
                    time,
                    source: WaitSource::Provider,
                });
            }
            TroubleKind::Passing => {
                (FailureKind::Retries, format!("{name} gave up on a server that kept failing: {message}"))
            }
            TroubleKind::Other => (FailureKind::Other, format!("{name} reports an error: {message}")),
        };
        GenerationOutcome::Failed { kind, reason }
    }

    /// Returns what a program that ended well gave, or why that is no answer.
    fn answer(&self, finished: &Finished, report: &Report) -> Result<GenerationOutcome, String> {
        if self.settings.output == OutputKind::Plain && reports_error(&finished.stdout.bytes) {
            return Err("the program ended with exit code 0 and reports an error".to_owned());
        }
        if self.settings.result == ResultBy::Worktree {
            return Ok(GenerationOutcome::Edited { said: self.words(finished, report) });
        }
        let text = match (self.settings.output, &report.text) {
            (OutputKind::Plain, _) => std::str::from_utf8(&finished.stdout.bytes)
                .map_err(|_| "the program printed bytes that are no UTF-8 text")?,
            (_, Some(text)) => text,
            (_, None) => {
                return Err("the output is not what this agent prints, so no answer is in it".to_owned());
            }
        };
        if text.trim().is_empty() {
            return Err("the program printed nothing on stdout".to_owned());
        }
        if self.keys.are_in(text) {
            return Err("the answer holds a secret of the environment or of a login".to_owned());
        }
        Ok(GenerationOutcome::Text(text.to_owned()))
    }

    /// Returns what the program said: an agent's last words where they are known, else the end of what it printed.
    fn words(&self, finished: &Finished, report: &Report) -> String {
        if let Some(text) = report.text.as_ref().filter(|text| !text.trim().is_empty()) {
            return tail(&self.clean(text), SAID_BYTES_MAX);
        }
        let words = said(&finished.stdout, &finished.stderr, self.secrets);
        if !report.is_unexpected || finished.exit == Exit::TimedOut {
            return words;
        }
        let note = "(The output is not what this agent prints.)";
        tail(format!("{words}\n{note}").trim_start(), SAID_BYTES_MAX)
    }

    /// Returns the end of a text, without secrets and without what a terminal would obey.
    fn clean(&self, text: &str) -> String {
        let start = text.ceil_char_boundary(text.len().saturating_sub(QUOTED_BYTES_MAX));
        let kept = Captured { bytes: text.as_bytes()[start..].to_vec(), total: text.len() as u64 };
        shown(&kept, self.secrets)
    }
}

/// Tells whether the output is, or ends with, a JSON object that says `"is_error": true`: agents do so with exit code 0.
fn reports_error(stdout: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Reported {
        is_error: bool,
    }
    let is_error =
        |bytes: &[u8]| serde_json::from_slice::<Reported>(bytes).is_ok_and(|reported| reported.is_error);
    let output = stdout.trim_ascii();
    let last_line = output.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    output.ends_with(b"}") && (is_error(output) || is_error(last_line))
}

fn with_said(fact: &str, said: &str) -> String {
    if said.is_empty() { fact.to_owned() } else { format!("{fact}; it printed:\n{said}") }
}

pub(super) fn failed(reason: impl Into<String>) -> GenerationOutcome {
    GenerationOutcome::Failed { kind: FailureKind::Other, reason: reason.into() }
}

pub(super) fn setup(reason: impl Into<String>) -> GenerationOutcome {
    GenerationOutcome::Failed { kind: FailureKind::Setup, reason: reason.into() }
}
