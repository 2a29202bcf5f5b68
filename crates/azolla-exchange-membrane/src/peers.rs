//! How an azolla asks the others of its registry: the seam for outbound queries (M-4, Y-1).

use std::{future::Future, pin::Pin};

use azolla_protocol::{AzollaId, JsonObject, QueryStatus, SubstrateQuery};

/// The other azollas of the registry, on this machine or elsewhere.
///
/// Asking never fails: what goes wrong is an answer that says so. Whoever asks sets the time limit and drops the future
/// when it is over.
pub trait Peers: Send + Sync {
    /// Returns every other azolla of the registry, in the order of their ids.
    fn registered(&self) -> Vec<AzollaId>;

    /// Asks the target of `query`.
    fn ask<'a>(&'a self, query: &'a SubstrateQuery) -> Pin<Box<dyn Future<Output = Asked> + Send + 'a>>;
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Whether it was answered.
    pub status: QueryStatus,
    /// The artifacts, each valid against its schema; empty unless OK.
    pub results: Vec<JsonObject>,
    /// Why there are none, in words without secrets; empty if OK.
    pub reason: String,
}

impl Asked {
    /// An azolla that could not be reached, was too slow, or answered with what is no answer (M-4).
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self { status: QueryStatus::TargetUnavailable, results: Vec::new(), reason: reason.into() }
    }
}
