//! What the flows of task management need of the Substrate (PROTOCOL.md 7.2 to 7.4), beside what all flows share.

mod plan;
mod read;
pub(crate) mod sql;

pub use read::{CaptureFilter, DeadlinePause, Snooze, StoredCapture, TriageOutput};
