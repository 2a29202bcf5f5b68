//! The server's own output: what was refused and what failed. Bounded, because anybody who reaches the server can cause
//! a line.

use std::sync::{Mutex, PoisonError};

use azolla_protocol::{Clock, Timestamp};
use azolla_substrate::SystemClock;

use crate::screen::remark;

/// Lines of a kind in a minute; what comes beyond is counted.
const LINES_MAX: u32 = 30;
const MINUTE_MS: i64 = 60_000;

/// What a line is about. Each kind has lines of its own, so that strangers cannot hide what a peer does (T33).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Somebody showed no token that counts.
    Unauthorized,
    /// A peer was refused.
    Denied,
    /// Something failed here.
    Failed,
}

impl Kind {
    const fn words(self) -> &'static str {
        match self {
            Self::Unauthorized => "requests without a token",
            Self::Denied => "denied queries",
            Self::Failed => "failures",
        }
    }
}

/// Writes lines to stderr.
#[derive(Default)]
pub(super) struct Log {
    minutes: Mutex<Minutes>,
}

/// One for every kind.
#[derive(Default)]
struct Minutes {
    unauthorized: Minute,
    denied: Minute,
    failed: Minute,
}

#[derive(Default)]
struct Minute {
    began: Option<Timestamp>,
    lines: u32,
    left_out: u32,
}

impl Log {
    /// Writes a line, unless there were too many.
    pub(super) fn line(&self, kind: Kind, text: &str) {
        let mut minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        for line in minutes.next(SystemClock.now(), kind, text) {
            remark(&line);
        }
    }
}

impl Minutes {
    /// Returns what to write.
    fn next(&mut self, now: Timestamp, kind: Kind, text: &str) -> Vec<String> {
        let minute = match kind {
            Kind::Unauthorized => &mut self.unauthorized,
            Kind::Denied => &mut self.denied,
            Kind::Failed => &mut self.failed,
        };
        minute.next(now, kind, text)
    }
}

impl Minute {
    fn next(&mut self, now: Timestamp, kind: Kind, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        if self.began.is_none_or(|began| now >= began.plus_ms(MINUTE_MS) || now < began) {
            if self.left_out > 0 {
                lines.push(format!("http: {} more {} in the minute before", self.left_out, kind.words()));
            }
            *self = Self { began: Some(now), lines: 0, left_out: 0 };
        }
        if self.lines < LINES_MAX {
            self.lines += 1;
            lines.push(format!("http: {text}"));
        } else {
            self.left_out += 1;
        }
        lines
    }
}

#[cfg(test)]
mod tests;
