//! The real clock and the real source of ids.

use std::{
    sync::{Mutex, PoisonError},
    time::UNIX_EPOCH,
};

use azolla_protocol::{Clock, IdBody, IdSource, Timestamp};

/// The wall clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the Clock that everything else is given")]
    fn now(&self) -> Timestamp {
        let elapsed = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ms = i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millisecond(ms).expect("the wall clock is before the year 10000")
    }
}

/// Ids from the wall clock and the system's randomness. Within one millisecond the random part counts up, so that
/// one process never makes the same id twice.
#[derive(Debug, Default)]
pub struct SystemIds {
    last: Mutex<(i64, u32)>,
}

impl SystemIds {
    const RANDOM_MAX: u32 = (1 << 20) - 1;
}

impl IdSource for SystemIds {
    #[expect(clippy::disallowed_methods, reason = "this is the IdSource that everything else is given")]
    fn body(&self) -> IdBody {
        let now = SystemClock.now().as_millisecond();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = if now > last.0 {
            let mut bytes = [0; 4];
            getrandom::fill(&mut bytes).expect("the system has randomness");
            // Half of the range stays free to count up in.
            (now, u32::from_le_bytes(bytes) & (Self::RANDOM_MAX >> 1))
        } else if last.1 < Self::RANDOM_MAX {
            (last.0, last.1 + 1)
        } else {
            (last.0 + 1, 0)
        };
        let at = Timestamp::from_millisecond(last.0).expect("the wall clock is before the year 10000");
        IdBody::new(at, last.1)
    }
}
