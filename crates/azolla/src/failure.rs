//! How a command fails: a fact, then a next step, and one exit code per kind of failure.

use std::{
    io::{ErrorKind, Write},
    process::ExitCode,
};

use azolla_control_plane::{operator::OperatorError, repo::RepositoryError};
use azolla_substrate::{ArchiveError, SubstrateError};

use crate::{
    config::{Problem, Unsafe},
    screen::{plain, plain_lines},
};

/// A failure that the operator can act on.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub(crate) struct Failure {
    code: Code,
    what: String,
    hint: Option<String>,
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
    /// Another try may work.
    Temporary = 75,
}

impl Failure {
    /// Something that failed.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { code: Code::Failure, what: what.into(), hint: None }
    }

    /// A command that does not say what it means.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { code: Code::Usage, ..Self::new(what) }
    }

    /// Something that is not there.
    pub(crate) fn not_found(what: impl Into<String>) -> Self {
        Self { code: Code::NotFound, ..Self::new(what) }
    }

    /// Something that its state does not allow.
    pub(crate) fn refused(what: impl Into<String>) -> Self {
        Self { code: Code::Refused, ..Self::new(what) }
    }

    /// Adds the next step.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the next step, if there is one.
    pub(crate) fn next_step(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// Prints an error with its causes on stderr, then the next step, and returns the exit code that it stands for.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if is_closed_pipe(error) {
        // Whoever read our output has had enough: not a failure, and nobody is left to tell (T42).
        return ExitCode::SUCCESS;
    }
    let told = told(error);
    let mut out = anstream::stderr().lock();
    // Nothing can be done if even stderr is closed.
    let _ = writeln!(out, "error: {}", told.text);
    if let Some(hint) = &told.hint {
        let _ = writeln!(out, "hint: {}", plain(hint));
    }
    ExitCode::from(told.code as u8)
}

/// Prints what is wrong with a command line, which may hold anything (T22).
pub(crate) fn misused(error: &clap::Error) -> ExitCode {
    let _ = write!(anstream::stderr(), "{}", plain_lines(&error.to_string()));
    ExitCode::from(Code::Usage as u8)
}

/// An error in words.
struct Told {
    code: Code,
    text: String,
    hint: Option<String>,
}

fn told(error: &anyhow::Error) -> Told {
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
    Told { code, text: causes.join(": "), hint }
}

/// Returns what an error says, without the next step that comes on a line of its own.
fn fact(cause: &(dyn std::error::Error + 'static)) -> String {
    let store = match cause.downcast_ref::<ArchiveError>() {
        Some(ArchiveError::Store(error)) => Some(error),
        _ => match cause.downcast_ref::<OperatorError>() {
            Some(OperatorError::Store(error)) => Some(error),
            _ => cause.downcast_ref::<SubstrateError>(),
        },
    };
    if let Some(SubstrateError::Unusable { what, .. }) = store {
        return what.clone();
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
    if let Some(error) = cause.downcast_ref::<RepositoryError>() {
        return Some(match error {
            RepositoryError::Unusable { action, .. } => (Code::Failure, Some(action.clone())),
            RepositoryError::Unavailable(_) => (Code::Temporary, None),
        });
    }
    match cause.downcast_ref::<ArchiveError>() {
        Some(ArchiveError::Store(error)) => Some(of_store(error)),
        _ => cause.downcast_ref::<SubstrateError>().map(of_store),
    }
}

fn of_store(error: &SubstrateError) -> (Code, Option<String>) {
    match error {
        SubstrateError::Unavailable(_) | SubstrateError::OutcomeUnknown { .. } => (Code::Temporary, None),
        SubstrateError::Refused { .. } | SubstrateError::Transition(_) | SubstrateError::Changed { .. } => {
            (Code::Refused, None)
        }
        SubstrateError::Unusable { action, .. } => (Code::Failure, Some(action.clone())),
        _ => (Code::Failure, None),
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}
