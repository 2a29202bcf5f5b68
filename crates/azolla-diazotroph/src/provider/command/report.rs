//! What the output of the usual agents tells: what was said, what went wrong, what it cost (PROVIDERS.md, rule 3).
//!
//! Whatever is printed, reading it takes a bounded amount of memory and does not fail: output that is not as expected
//! is text like any other.

mod aider;
mod claude;
mod codex;
#[cfg(test)]
pub(super) mod fuzz;
mod goose;
mod json;
mod resets;
mod trouble;

use azolla_process::{Captured, Exit, Finished};
use azolla_protocol::Usage;

pub(super) use self::{
    resets::until_reset,
    trouble::{Trouble, TroubleKind},
};
use super::settings::OutputKind;

/// How much of the end of the text of an agent that failed before it printed its usual output is looked at.
const PROSE_BYTES_MAX: usize = 2_048;

/// The most bytes of a model's name.
const MODEL_BYTES_MAX: usize = 128;

/// What an agent's output tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// What it said at the end.
    pub(super) text: Option<String>,
    /// Why it did not do the work.
    pub(super) trouble: Option<Trouble>,
    /// What it used, as far as it tells; `requests` is zero where it does not.
    pub(super) usage: Usage,
    /// Set where the output is not what this agent prints.
    pub(super) is_unexpected: bool,
}

/// Reads what an agent printed.
pub(super) fn read(kind: OutputKind, finished: &Finished) -> Report {
    let text = String::from_utf8_lossy(&finished.stdout.bytes);
    let is_whole = finished.stdout.total == finished.stdout.bytes.len() as u64;
    let report = match kind {
        OutputKind::Plain => return Report::default(),
        OutputKind::Claude => claude::read(&text),
        OutputKind::Codex => codex::read(&text, is_whole),
        OutputKind::Goose => goose::read(&text, is_whole),
        OutputKind::Aider => Some(aider::read(&text)),
    };
    let mut report = report.unwrap_or_else(|| Report { is_unexpected: true, ..Report::default() });
    if report.is_unexpected && matches!(finished.exit, Exit::Code(code) if code != 0) {
        report.trouble = in_prose(&finished.stderr).or_else(|| in_prose(&finished.stdout));
    }
    report.usage.model = report.usage.model.map(|model| shortened(&model)).filter(|model| !model.is_empty());
    report
}

/// Finds what is wrong in the end of a text, if it is something that the operator or time mends.
fn in_prose(captured: &Captured) -> Option<Trouble> {
    let end = captured.bytes.len().saturating_sub(PROSE_BYTES_MAX);
    let text = String::from_utf8_lossy(&captured.bytes[end..]);
    let trouble = Trouble::told(text.trim(), None);
    (trouble.kind != TroubleKind::Other).then_some(trouble)
}

fn shortened(model: &str) -> String {
    let clean: String = model.chars().filter(|c| !c.is_control()).collect();
    clean[..clean.floor_char_boundary(MODEL_BYTES_MAX)].trim().to_owned()
}

#[cfg(test)]
mod tests;
