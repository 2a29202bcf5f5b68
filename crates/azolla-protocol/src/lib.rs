//! The vocabulary of the Azolla Protocol and its pure rules: artifacts with their schemas, ids, the
//! transition table, blueprints and limits. No I/O, no clock, no SQL, no runtime.

mod blank;
mod canonical;
mod excerpt;
mod names;

pub mod artifacts;
pub mod blueprint;
pub mod content;
pub mod deadline;
pub mod lifecycle;
pub mod limits;
pub mod ports;
pub mod schema;
pub mod timestamp;

pub use artifacts::*;
pub use blank::is_blank;
pub use blueprint::{AzollaType, Blueprint, Category, WorkerRole};
pub use canonical::{NotCanonical, canonical};
pub use deadline::{Deadlines, due_by, due_day, is_day};
pub use lifecycle::*;
pub use limits::{LIMITS, LeaseLength, Limit, OutOfRange, Unit};
pub use names::UnknownName;
pub use ports::{
    Allowance, AnswerForm, Clock, Diazotroph, FailureKind, Generation, GenerationOutcome, GenerationRequest,
    IdSource, Reservation, Spending, Unlimited, Usage, Wait, WaitSource, Withheld,
};
pub use schema::*;
pub use timestamp::{InvalidTimestamp, Timestamp};
