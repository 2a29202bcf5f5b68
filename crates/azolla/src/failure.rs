//! How a command fails: a fact, then a next step, and one exit code per kind of failure.

use std::{
    io::{ErrorKind, Write},
    process::ExitCode,
};

use azolla_control_plane::{WorkerError, operator::OperatorError, repo::RepositoryError};
use azolla_substrate::{ArchiveError, SubstrateError};
use rustix::io::Errno;
use serde_json::json;

use crate::{
    config::{Problem, Unsafe},
    home::HomeError,
    screen::{plain, plain_lines, show_json},
};

/// A failure that the operator can act on.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub(crate) struct Failure {
    code: Code,
    what: String,
    hint: Option<String>,
    /// What helps where nobody types a command, if that is something else.
    hint_on_a_page: Option<String>,
    listing: Vec<String>,
}

/// The exit codes, as `azolla --help` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Anything else.
    Failure = 1,
    /// The command or the configuration is wrong.
    Usage = 2,
    /// There is no such thing.
    NotFound = 3,
    /// It is there, but not in a state for this.
    Refused = 4,
    /// What came back did not pass its gate.
    Gate = 5,
    /// A budget or a cap is used up.
    Cap = 6,
    /// Another try may work.
    Temporary = 75,
    /// SIGHUP ended it before it was done.
    HungUp = 129,
    /// Ctrl-C did.
    Interrupted = 130,
    /// SIGTERM did.
    Terminated = 143,
}

impl Failure {
    /// Something that failed.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        let (hint, hint_on_a_page) = (None, None);
        Self { code: Code::Failure, what: what.into(), hint, hint_on_a_page, listing: Vec::new() }
    }

    /// A command that does not say what it means.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { code: Code::Usage, ..Self::new(what) }
    }

    /// Something that is not there.
    pub(crate) fn not_found(what: impl Into<String>) -> Self {
        Self { code: Code::NotFound, ..Self::new(what) }
    }

    /// Something that did not pass its gate.
    pub(crate) fn gate(what: impl Into<String>) -> Self {
        Self { code: Code::Gate, ..Self::new(what) }
    }

    /// Something that would go beyond a cap.
    pub(crate) fn cap(what: impl Into<String>) -> Self {
        Self { code: Code::Cap, ..Self::new(what) }
    }

    /// Something that may work later.
    pub(crate) fn temporary(what: impl Into<String>) -> Self {
        Self { code: Code::Temporary, ..Self::new(what) }
    }

    /// Something that a signal stopped.
    pub(crate) fn stopped(what: impl Into<String>, code: Code) -> Self {
        Self { code, ..Self::new(what) }
    }

    /// Something that its state does not allow.
    pub(crate) fn refused(what: impl Into<String>) -> Self {
        Self { code: Code::Refused, ..Self::new(what) }
    }

    /// A repository or a branch in a command that can be none.
    pub(crate) fn misnamed(error: RepositoryError) -> Self {
        match error {
            RepositoryError::Unusable { what, action } => Self::usage(what).hint(action),
            RepositoryError::Unavailable(what) => Self::usage(what),
        }
    }

    /// Adds the next step.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the next step for who filled in a form: there are no flags there.
    pub(crate) fn hint_on_a_page(mut self, hint: impl Into<String>) -> Self {
        self.hint_on_a_page = Some(hint.into());
        self
    }

    /// Adds what could be meant, a line each.
    pub(crate) fn listing(mut self, lines: Vec<String>) -> Self {
        self.listing = lines;
        self
    }

    /// Returns what kind of failure it is.
    pub(crate) fn code(&self) -> Code {
        self.code
    }
}

/// Where an error is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// In words, on stderr.
    InWords,
    /// Also as the one document on stdout that the caller reads.
    AsJsonToo,
}

/// Prints an error with its causes on stderr, then the next step, and returns the exit code that it stands for.
pub(crate) fn report(error: &anyhow::Error, told: Told) -> ExitCode {
    if is_closed_pipe(error) {
        // Whoever read our output has had enough: not a failure, and nobody is left to tell (T42).
        return ExitCode::SUCCESS;
    }
    let words = in_words(error);
    let mut out = anstream::stderr().lock();
    // Nothing can be done if even stderr is closed.
    for line in &words.listing {
        let _ = writeln!(out, "  {}", plain(line));
    }
    let _ = writeln!(out, "error: {}", words.text);
    if let Some(hint) = &words.hint {
        let _ = writeln!(out, "hint: {}", plain(hint));
    }
    tell(told, &words);
    ExitCode::from(words.code as u8)
}

/// Returns an error with its causes in a sentence, for a screen that goes on without what failed.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    in_words(error).text
}

/// Returns an error for whoever types no command: on a page, or an agent.
pub(crate) fn without_flags(error: &anyhow::Error) -> Words {
    let failure = error.chain().find_map(|cause| cause.downcast_ref::<Failure>());
    let words = in_words(error);
    match failure.and_then(|failure| failure.hint_on_a_page.clone()) {
        Some(hint) => Words { hint: Some(hint), ..words },
        None => words,
    }
}

/// Returns the next step that an error names, if it does.
pub(crate) fn hint(error: &anyhow::Error) -> Option<String> {
    in_words(error).hint
}

/// Prints what is wrong with a command line, which may hold anything (T22).
pub(crate) fn misused(error: &clap::Error, told: Told) -> ExitCode {
    let text = plain_lines(&error.to_string());
    let hint = crate::cli::help::instead_of_command(error);
    let mut out = anstream::stderr().lock();
    let _ = write!(out, "{text}");
    if let Some(hint) = &hint {
        let _ = writeln!(out, "\nhint: {}", plain(hint));
    }
    let text = text.trim_end().to_owned();
    tell(told, &Words { code: Code::Usage, text, hint, listing: Vec::new() });
    ExitCode::from(Code::Usage as u8)
}

fn tell(told: Told, words: &Words) {
    if told == Told::AsJsonToo {
        let data = json!({"message": words.text, "hint": words.hint, "exit_code": words.code as u8});
        // The same has been said on stderr.
        let _ = show_json("error", data);
    }
}

/// An error in words.
pub(crate) struct Words {
    /// What kind of failure it is.
    pub(crate) code: Code,
    /// The fact, with its causes.
    pub(crate) text: String,
    /// The next step.
    pub(crate) hint: Option<String>,
    /// What could be meant, a line each.
    pub(crate) listing: Vec<String>,
}

/// Returns an error as every screen says it.
pub(crate) fn in_words(error: &anyhow::Error) -> Words {
    let (code, hint) = error.chain().find_map(classified).unwrap_or((Code::Failure, None));
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = match cause.downcast_ref::<Problem>() {
            Some(problem) => plain_lines(&problem.to_string()),
            None => plain(&fact(cause)),
        };
        // A transparent error repeats its source word for word.
        if causes.last() != Some(&text) {
            causes.push(text);
        }
    }
    let listing =
        error.chain().find_map(|cause| cause.downcast_ref::<Failure>()).map(|failure| &failure.listing);
    Words { code, text: causes.join(": "), hint, listing: listing.cloned().unwrap_or_default() }
}

/// Returns what an error says, without the next step that comes on a line of its own.
fn fact(cause: &(dyn std::error::Error + 'static)) -> String {
    let store = match cause.downcast_ref::<ArchiveError>() {
        Some(ArchiveError::Store(error)) => Some(error),
        _ => match cause.downcast_ref::<OperatorError>() {
            Some(OperatorError::Store(error)) => Some(error),
            _ => match cause.downcast_ref::<WorkerError>() {
                Some(WorkerError::Store(error)) => Some(error),
                _ => cause.downcast_ref::<SubstrateError>(),
            },
        },
    };
    match store {
        Some(SubstrateError::Unusable { what, .. }) => return what.clone(),
        // The protocol's word for it is not the operator's.
        Some(SubstrateError::Unavailable(_)) => return "the store does not answer".to_owned(),
        _ => {}
    }
    match cause.downcast_ref::<RepositoryError>() {
        Some(RepositoryError::Unusable { what, .. }) => what.clone(),
        _ => cause.to_string(),
    }
}

fn classified(cause: &(dyn std::error::Error + 'static)) -> Option<(Code, Option<String>)> {
    if let Some(failure) = cause.downcast_ref::<Failure>() {
        return Some((failure.code, failure.hint.clone()));
    }
    if cause.is::<Problem>() {
        return Some((Code::Usage, None));
    }
    if let Some(Unsafe::Refused { fix, .. }) = cause.downcast_ref::<Unsafe>() {
        return Some((Code::Failure, Some(fix.clone())));
    }
    if let Some(error) = cause.downcast_ref::<OperatorError>() {
        return Some(match error {
            OperatorError::NotFound { .. } => (Code::NotFound, None),
            OperatorError::Refused { hint, .. } => (Code::Refused, hint.clone()),
            OperatorError::Store(error) => of_store(error),
        });
    }
    if let Some(WorkerError::Store(error)) = cause.downcast_ref::<WorkerError>() {
        return Some(of_store(error));
    }
    if let Some(error) = cause.downcast_ref::<RepositoryError>() {
        return Some(match error {
            RepositoryError::Unusable { action, .. } => (Code::Failure, Some(action.clone())),
            RepositoryError::Unavailable(_) => (Code::Temporary, None),
        });
    }
    if cause.is::<HomeError>() {
        return Some((Code::Failure, Some("azolla doctor".to_owned())));
    }
    if let Some(error) = cause.downcast_ref::<std::io::Error>() {
        return of_system(error);
    }
    match cause.downcast_ref::<ArchiveError>() {
        Some(ArchiveError::Store(error)) => Some(of_store(error)),
        _ => cause.downcast_ref::<SubstrateError>().map(of_store),
    }
}

fn of_store(error: &SubstrateError) -> (Code, Option<String>) {
    match error {
        SubstrateError::Unavailable(_) => (Code::Temporary, Some(AWAY.to_owned())),
        SubstrateError::OutcomeUnknown { .. } => {
            (Code::Temporary, Some("look before you do it again: azolla log".to_owned()))
        }
        SubstrateError::Refused { .. } | SubstrateError::Transition(_) | SubstrateError::Changed { .. } => {
            (Code::Refused, None)
        }
        // The two that come from the machine and not from the command: where room is short, the doctor shows.
        SubstrateError::Unusable { what, action }
            if what.contains("disk is full") || what.contains("cannot be written") =>
        {
            (Code::Failure, Some(format!("{action}; to see where: azolla doctor")))
        }
        SubstrateError::Unusable { action, .. } => (Code::Failure, Some(action.clone())),
        SubstrateError::Corrupt(_) => (Code::Failure, Some("azolla verify".to_owned())),
        _ => (Code::Failure, None),
    }
}

/// What to do about a store that does not answer.
const AWAY: &str = "try again; if it stays like this: azolla doctor";

/// What the system says about a file, where a person can do something about it.
fn of_system(error: &std::io::Error) -> Option<(Code, Option<String>)> {
    let hint = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room; to see where: azolla doctor",
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            "check who may write there: azolla doctor"
        }
        // A disk that fails has no kind of its own.
        _ if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
            "the disk may be failing: look at the system's log, then try again; azolla doctor checks the rest"
        }
        _ => return None,
    };
    Some((Code::Failure, Some(hint.to_owned())))
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests;
