//! PostgreSQL's errors, as the Substrate's.

use deadpool_postgres::{HookError, PoolError};
use tokio_postgres::{
    Error,
    error::{DbError, Severity, SqlState},
};

use crate::error::{BoxError, SubstrateError};

/// What a failed flight of statements means for its transaction.
pub(super) enum Failure {
    /// The server refused: nothing was written.
    Refused(SubstrateError),
    /// The step at this position hit nothing: nothing was written.
    Missed(usize),
    /// The server gave up a transaction that can simply run again: nothing was written.
    Again(SubstrateError),
    /// The connection went away, or gave no answer in time: anything may have happened.
    Cut(BoxError),
}

impl From<Failure> for SubstrateError {
    /// What is left where nobody can tell more: a step that has to hit something, or how to ask what became of it.
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(error) | Failure::Again(error) => error,
            Failure::Missed(_) => Self::corrupt("a step missed that has nothing to hit"),
            Failure::Cut(error) => Self::Unavailable(error),
        }
    }
}

/// Reads the error of the statement at `position`, which writes `artifact`.
pub(super) fn failure(error: Error, artifact: &str, position: usize) -> Failure {
    let Some(answer) = error.as_db_error() else { return Failure::Cut(error.into()) };
    let code = answer.code();
    if code.code() == "AZ001" {
        return Failure::Missed(position);
    }
    if !matches!(answer.parsed_severity(), Some(Severity::Error)) {
        // The server ends the connection, perhaps after it committed.
        return Failure::Cut(error.into());
    }
    if [&SqlState::T_R_DEADLOCK_DETECTED, &SqlState::T_R_SERIALIZATION_FAILURE].contains(&code) {
        return Failure::Again(SubstrateError::Unavailable(error.into()));
    }
    if code.code().starts_with("23") {
        return Failure::Refused(refusal(answer, artifact));
    }
    Failure::Refused(fault(error))
}

fn refusal(answer: &DbError, artifact: &str) -> SubstrateError {
    let constraint = answer.constraint().unwrap_or_default();
    let reason = match *answer.code() {
        SqlState::UNIQUE_VIOLATION => "exists already",
        SqlState::FOREIGN_KEY_VIOLATION => "does not exist",
        SqlState::CHECK_VIOLATION => "breaks a constraint",
        // One of our triggers: its message is the constraint's name, then the reason.
        _ => answer.message().strip_prefix(constraint).unwrap_or(answer.message()).trim(),
    };
    SubstrateError::refused(constraint, reason).unwrap_or_else(|| SubstrateError::Refused {
        artifact: answer.table().unwrap_or(artifact).into(),
        field: answer.column().unwrap_or(constraint).into(),
        rule: "A-5".into(),
        reason: answer.message().into(),
    })
}

/// Turns an error that is no refusal into what the caller does next.
pub(super) fn fault(error: Error) -> SubstrateError {
    let unusable = |what: &str, action: &str| SubstrateError::unusable(what, action);
    match error.code() {
        // Outside a commit only the greeting of a connection requires something: the version that it knows.
        Some(code) if code.code() == "AZ001" => unusable(
            "the store was upgraded by a newer azolla while this one was running",
            "end this program and start the newer one",
        ),
        Some(&SqlState::DISK_FULL) => unusable("the server's disk is full", "free some space on the server"),
        Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => {
            unusable("the server is read-only", "name the primary server in the store's address")
        }
        Some(&SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {
            unusable("the server refused the user or the password", "correct the store's address")
        }
        Some(&SqlState::INVALID_CATALOG_NAME) => {
            unusable("the server has no such database", "create it, or correct the store's address")
        }
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => unusable(
            "the database user lacks a right",
            "grant it CREATE on the database, and ownership of the azolla's schema",
        ),
        Some(&SqlState::UNDEFINED_TABLE | &SqlState::UNDEFINED_FUNCTION | &SqlState::UNDEFINED_COLUMN) => {
            // The error's own text is no more than that there is one.
            SubstrateError::corrupt(error.as_db_error().map_or("an unknown name", DbError::message))
        }
        _ => SubstrateError::Unavailable(error.into()),
    }
}

/// The same for an error of the pool.
pub(super) fn pool_fault(error: PoolError) -> SubstrateError {
    match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => fault(error),
        other => SubstrateError::Unavailable(other.into()),
    }
}
