//! A clock that stands still until a test moves it.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use azolla_protocol::{Clock, Timestamp};

/// Clones share one time.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicI64>);

impl Default for ManualClock {
    /// 2026-11-01T08:00:00.000Z.
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(1_793_520_000_000)))
    }
}

impl ManualClock {
    /// Moves the time, backwards if negative.
    pub fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst))
            .expect("a test stays before the year 10000")
    }
}
