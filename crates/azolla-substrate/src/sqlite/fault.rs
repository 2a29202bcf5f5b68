//! SQLite's errors, as the Substrate's.

use rusqlite::{Error, ErrorCode, ffi};

use crate::error::SubstrateError;

/// A failure of the store itself. It can be told to every job of a batch.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    Busy,
    Full,
    ReadOnly,
    NotAStore,
    Upgraded,
    Broken(String),
}

impl Fault {
    /// Reads a fault of the store back out of the error that a job made of it.
    pub(super) fn told(error: &SubstrateError) -> Option<Self> {
        [Self::Full, Self::ReadOnly, Self::NotAStore].into_iter().find(|fault| {
            let told = SubstrateError::from(fault.clone());
            matches!((error, &told), (SubstrateError::Unusable { what, .. }, SubstrateError::Unusable { what: same, .. })
                if what == same)
        })
    }
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::ReadOnly) => Self::ReadOnly,
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::NotAStore,
            _ => Self::Broken(error.to_string()),
        }
    }
}

impl From<Fault> for SubstrateError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Busy => Self::Unavailable("another program holds the store's write lock".into()),
            Fault::Full => Self::unusable("the disk is full", "free some space, then run the command again"),
            Fault::ReadOnly => Self::unusable(
                "the store cannot be written",
                "check that the file, its folder and the disk are writable by this user",
            ),
            Fault::NotAStore => Self::unusable(
                "the file is damaged or is no SQLite database",
                "restore it from a backup, or import an export into a new store",
            ),
            Fault::Upgraded => Self::unusable(
                "the store was upgraded by a newer azolla while this one was running",
                "end this program and start the newer one",
            ),
            Fault::Broken(text) => Self::Unavailable(text.into()),
        }
    }
}

/// Turns the error of a statement that writes `artifact` into the refusal that it is, or into a fault.
pub(super) fn refusal(error: &Error, artifact: &str) -> SubstrateError {
    let Error::SqliteFailure(code, message) = error else { return Fault::from(error).into() };
    if code.code != ErrorCode::ConstraintViolation {
        return Fault::from(error).into();
    }
    let message = message.as_deref().unwrap_or_default();
    let (_, place) = message.split_once("constraint failed: ").unwrap_or(("", message));
    let known = match code.extended_code {
        ffi::SQLITE_CONSTRAINT_TRIGGER => SubstrateError::refused(message, ""),
        ffi::SQLITE_CONSTRAINT_CHECK => SubstrateError::refused(place, "breaks a constraint"),
        _ => None,
    };
    known.unwrap_or_else(|| SubstrateError::Refused {
        artifact: artifact.into(),
        field: place.split(['.', ' ']).next_back().unwrap_or_default().into(),
        rule: "A-5".into(),
        reason: message.into(),
    })
}
