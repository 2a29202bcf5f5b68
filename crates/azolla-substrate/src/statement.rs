//! What the two backends share: SQL text with its values, what a statement must hit, and the rows that come back.

use azolla_protocol::Timestamp;

use crate::{claim::Fence, commit::CommitOutcome, error::SubstrateError};

/// A value on its way into or out of SQL. Both backends store text and 64-bit integers and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// SQL NULL.
    Null,
    /// An integer; flags are 0 and 1.
    Int(i64),
    /// Text, NUL-free.
    Text(String),
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<u64> for Cell {
    /// Saturates: the schemas keep every stored number below 2^53.
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Int(i64::from(value))
    }
}

impl From<Timestamp> for Cell {
    fn from(value: Timestamp) -> Self {
        Self::Text(value.to_string())
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// One statement of `sql.rs` with its values: `$1` is the first.
#[derive(Clone, Debug)]
pub struct Statement {
    pub(crate) sql: &'static str,
    pub(crate) values: Vec<Cell>,
}

impl Statement {
    pub(crate) fn new<const N: usize>(sql: &'static str, values: [Cell; N]) -> Self {
        Self { sql, values: values.into() }
    }
}

/// A statement of a commit, and what has to hold after it.
#[derive(Clone, Debug)]
pub struct Step {
    pub(crate) statement: Statement,
    pub(crate) expect: Expect,
    /// The artifact that it writes, for the refusal if a constraint stops it.
    pub(crate) artifact: &'static str,
}

/// What a step has to hit. A miss undoes the whole commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// Any number of rows.
    Any,
    /// Exactly one row is written.
    Written(Miss),
    /// Exactly one row is found; nothing is written.
    Found(Miss),
}

/// Why a step hit nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    /// Somebody else holds the claim (C-8).
    Held,
    /// The fence did not hold (C-4).
    FenceLost,
    /// Every place in the work stream is taken (W-4).
    StreamFull,
    /// As many results wait for the operator as they asked for (O-3).
    ReviewLimit,
    /// The artifact is not in the state that the commit was built on (S-3, W-5, W-6).
    Changed,
}

impl Miss {
    /// Returns what a commit ends with when a step of it missed.
    pub(crate) fn outcome(
        self,
        artifact: &'static str,
        fence: Option<&Fence>,
    ) -> Result<CommitOutcome, SubstrateError> {
        match (self, fence) {
            (Self::Held, _) => Ok(CommitOutcome::Held),
            (Self::StreamFull, _) => Ok(CommitOutcome::StreamFull),
            (Self::ReviewLimit, _) => Ok(CommitOutcome::ReviewLimit),
            (Self::FenceLost, Some(fence)) => Err(SubstrateError::FenceLost {
                resource: fence.resource.clone(),
                claim_version: fence.claim_version,
            }),
            (Self::FenceLost, None) | (Self::Changed, _) => Err(SubstrateError::Changed { artifact }),
        }
    }
}

/// A row that came back, read by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row(pub(crate) Vec<Cell>);

impl Row {
    /// Returns a column that is text and not null.
    pub(crate) fn text(&self, column: usize) -> Result<&str, SubstrateError> {
        match self.0.get(column) {
            Some(Cell::Text(text)) => Ok(text),
            other => Err(unexpected(column, "text", other)),
        }
    }

    /// Returns a column that is text or null.
    pub(crate) fn text_or_null(&self, column: usize) -> Result<Option<&str>, SubstrateError> {
        match self.0.get(column) {
            Some(Cell::Null) => Ok(None),
            _ => self.text(column).map(Some),
        }
    }

    /// Returns a column that is an integer from 0 up.
    pub(crate) fn number(&self, column: usize) -> Result<u64, SubstrateError> {
        match self.0.get(column) {
            Some(Cell::Int(number)) if *number >= 0 => Ok(number.unsigned_abs()),
            other => Err(unexpected(column, "a number", other)),
        }
    }

    /// Returns a column that is an integer from 0 up, or null.
    pub(crate) fn number_or_null(&self, column: usize) -> Result<Option<u64>, SubstrateError> {
        match self.0.get(column) {
            Some(Cell::Null) => Ok(None),
            _ => self.number(column).map(Some),
        }
    }

    /// Returns a flag column.
    pub(crate) fn flag(&self, column: usize) -> Result<bool, SubstrateError> {
        self.number(column).map(|number| number == 1)
    }

    /// Returns a text column read as a protocol value: an id, a timestamp, an enum.
    pub(crate) fn parsed<T>(&self, column: usize) -> Result<T, SubstrateError>
    where
        T: std::str::FromStr,
        T::Err: std::fmt::Display,
    {
        let text = self.text(column)?;
        text.parse().map_err(|error: T::Err| SubstrateError::corrupt(format!("column {column}: {error}")))
    }
}

fn unexpected(column: usize, needed: &str, found: Option<&Cell>) -> SubstrateError {
    let found = match found {
        None => "no such column",
        Some(Cell::Null) => "null",
        Some(Cell::Int(_)) => "an integer",
        Some(Cell::Text(_)) => "text",
    };
    SubstrateError::corrupt(format!("column {column} is {found}, not {needed}"))
}
