//! Ids that are the same in every run.

use std::sync::atomic::{AtomicU32, Ordering};

use azolla_protocol::{CommitId, IdBody, IdSource, OwnerId, Timestamp};

/// Counts up in the random part of the id, at one fixed time.
#[derive(Debug, Default)]
pub struct SequentialIds(AtomicU32);

impl SequentialIds {
    /// Starts elsewhere, for a second source that must not meet the first.
    pub fn starting_at(first: u32) -> Self {
        Self(AtomicU32::new(first))
    }

    /// Returns the next commit id.
    pub fn commit_id(&self) -> CommitId {
        CommitId::from_body(&self.body())
    }

    /// Returns the next owner id: a fresh process start.
    pub fn owner_id(&self) -> OwnerId {
        OwnerId::from_body(&self.body())
    }
}

impl IdSource for SequentialIds {
    fn body(&self) -> IdBody {
        let at = "2026-11-01T08:00:00.000Z".parse::<Timestamp>().expect("a timestamp");
        IdBody::new(at, self.0.fetch_add(1, Ordering::SeqCst))
    }
}
