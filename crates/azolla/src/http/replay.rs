//! Which queries were answered already: a query counts once, and soon after it was made (T33).

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use azolla_exchange_membrane::query::Denied;
use azolla_protocol::{AzollaId, QueryId, SubstrateQuery, Timestamp};

/// How far the clocks of two machines may be apart, and so how long a query counts.
pub(crate) const WINDOW_MS: i64 = 300_000;

/// The most queries of one peer that are remembered. One that asks more often is refused until the window moves on:
/// forgetting one would let it be repeated.
const REMEMBERED_MAX: usize = 20_000;

/// The queries of every peer within the window.
#[derive(Default)]
pub(super) struct Replay {
    peers: Mutex<HashMap<AzollaId, Window>>,
}

#[derive(Default)]
struct Window {
    known: HashSet<QueryId>,
    /// The same, in the order in which they fall out.
    by_time: BTreeSet<(Timestamp, QueryId)>,
    /// When the newest query was made that has fallen out. Nothing as old counts again, wherever the clock is set to.
    forgotten: Option<Timestamp>,
}

impl Replay {
    /// Notes a query of `peer`, or says why it does not count.
    pub(super) fn admit(
        &self,
        peer: &AzollaId,
        query: &SubstrateQuery,
        now: Timestamp,
    ) -> Result<(), Denied> {
        if query.created_at < now.plus_ms(-WINDOW_MS) || query.created_at > now.plus_ms(WINDOW_MS) {
            return Err(Denied::Stale);
        }
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let window = peers.entry(peer.clone()).or_default();
        window.forget(now.plus_ms(-WINDOW_MS));
        if window.forgotten.is_some_and(|forgotten| query.created_at <= forgotten) {
            return Err(Denied::Stale);
        }
        if window.known.contains(&query.query_id) {
            return Err(Denied::Replayed);
        }
        if window.known.len() >= REMEMBERED_MAX {
            return Err(Denied::TooMany);
        }
        window.known.insert(query.query_id.clone());
        window.by_time.insert((query.created_at, query.query_id.clone()));
        Ok(())
    }
}

impl Window {
    /// Drops what is too old to be admitted again.
    fn forget(&mut self, before: Timestamp) {
        while let Some((at, _)) = self.by_time.first()
            && *at < before
        {
            if let Some((at, query_id)) = self.by_time.pop_first() {
                self.known.remove(&query_id);
                self.forgotten = self.forgotten.max(Some(at));
            }
        }
    }
}

#[cfg(test)]
mod tests;
