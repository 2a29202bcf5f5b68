//! What a FAIL says, whichever gate says it: a reason that reads the same when the same thing fails again (O-1), and what
//! follows from it.

use azolla_protocol::OutputBundle;

/// A FAIL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The gate's reason, recorded on the run.
    pub reason: String,
    /// What follows from it (PF-8).
    pub next: AfterFailure,
}

/// What follows from a FAIL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// Another attempt may help, if one is left.
    Retry,
    /// Another attempt would fail alike: the operator acts first, with this one action if there is one.
    Block(Option<String>),
}

/// Refuses for a reason that another attempt may not have.
pub(super) fn fail<T>(reason: impl Into<String>) -> Result<T, Failure> {
    Err(retry(reason))
}

/// A FAIL after which another attempt may help.
pub(super) fn retry(reason: impl Into<String>) -> Failure {
    Failure { reason: shortened(&reason.into()), next: AfterFailure::Retry }
}

/// Returns how a run ended that yielded nothing to judge.
pub(super) fn ended(bundle: &OutputBundle) -> String {
    let status = bundle.metadata.runner_status;
    match brief(&bundle.notes) {
        notes if notes.is_empty() => status.to_string(),
        notes => format!("{status}: {notes}"),
    }
}

/// Returns the cap that a run met: its notes name it last, in brackets.
pub(super) fn cap_of(bundle: &OutputBundle) -> &str {
    let named = bundle.notes.rsplit_once("([caps] ").and_then(|(_, rest)| rest.split_once(')'));
    named.map_or("that cap", |(name, _)| name)
}

/// Returns a text of a bundle's metadata; empty if it has none.
pub(super) fn text<'a>(bundle: &'a OutputBundle, key: &str) -> &'a str {
    bundle.metadata.more.get(key).and_then(|value| value.as_str()).unwrap_or_default()
}

/// Returns the first line that says something; one that only announces what was printed has the last line of that too.
pub(super) fn brief(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    match lines.next_back() {
        Some(last) if first.ends_with(':') => shortened(&format!("{first} {last}")),
        _ => shortened(first),
    }
}

/// A reason is read in a list and stored on the run: what goes on for pages is in the bundle.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(REASON_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The most characters of a text that a reason repeats.
pub(super) const REASON_CHARS_MAX: usize = 1_000;
