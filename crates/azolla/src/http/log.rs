//! The server's own output: what was refused and what failed. Bounded, because anybody who reaches the server can cause
//! a line.

use std::sync::{Mutex, PoisonError};

use azolla_protocol::{Clock, Timestamp};
use azolla_substrate::SystemClock;

use crate::screen::remark;

/// Lines in a minute; what comes beyond is counted.
const LINES_MAX: u32 = 30;
const MINUTE_MS: i64 = 60_000;

/// Writes lines to stderr.
#[derive(Default)]
pub(super) struct Log {
    minute: Mutex<Minute>,
}

#[derive(Default)]
struct Minute {
    began: Option<Timestamp>,
    lines: u32,
    left_out: u32,
}

impl Log {
    /// Writes a line, unless there were too many.
    pub(super) fn line(&self, text: &str) {
        for line in self.minute.lock().unwrap_or_else(PoisonError::into_inner).next(SystemClock.now(), text) {
            remark(&line);
        }
    }
}

impl Minute {
    /// Returns what to write.
    fn next(&mut self, now: Timestamp, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        if self.began.is_none_or(|began| now >= began.plus_ms(MINUTE_MS) || now < began) {
            if self.left_out > 0 {
                lines.push(format!("http: {} more lines in the minute before", self.left_out));
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
