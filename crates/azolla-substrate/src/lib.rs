//! The Substrate: the durable store of one azolla, on SQLite or PostgreSQL (PROTOCOL.md sections 1, 3 and 5).

mod archive;
mod claim;
mod commit;
mod error;
mod journal;
mod migration;
mod plan;
mod postgres;
mod read;
mod rows;
mod sql;
mod sqlite;
mod statement;
mod substrate;
mod system;
mod tasks;
mod verify;

pub use archive::{ArchiveError, EXPORT_VERSION, export, exported_identity, import};
pub use claim::{ClaimOutcome, Fence, Grant, Release, RenewOutcome};
pub use commit::{Commit, CommitOutcome, ObjectiveMark, PauseKey, StreamRoom, Write};
pub use error::{BoxError, SubstrateError};
pub use migration::STORE_VERSION;
pub use postgres::{PostgresReader, PostgresSubstrate};
pub use read::{
    Before, Identity, ObjectiveFilter, PauseFilter, StoredEvent, StoredObjective, StoredWorkorder,
    StreamState, Tickets,
};
pub use sqlite::{SqliteReader, SqliteSubstrate, is_full};
pub use statement::{Cell, Row, Statement, Step};
pub use substrate::{BoxFuture, JournalCursor, LoadError, Opening, Substrate, SubstrateRead};
pub use system::{SystemClock, SystemIds};
pub use tasks::{CaptureFilter, DeadlinePause, Snooze, StoredCapture, TriageOutput};
pub use verify::{Finding, relations, verify, verify_rows};
