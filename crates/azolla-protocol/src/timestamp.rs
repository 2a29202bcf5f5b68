//! Timestamps: RFC 3339, UTC, exactly three fraction digits (PROTOCOL.md section 3).

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::{DateTime, date};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::excerpt::excerpt;

/// An instant with millisecond precision, from year 0000 to year 9999, written `2026-01-01T00:00:00.000Z`.
///
/// There is one text per instant, so timestamps compare alike as values, as JSON and as database text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A text that is not a timestamp in the one accepted form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a UTC timestamp of the form YYYY-MM-DDTHH:MM:SS.mmmZ")]
pub struct InvalidTimestamp(String);

// Civil time, because `jiff::Timestamp` ends some hours before the year 9999 does.
const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

impl Timestamp {
    /// The first instant of year 0000.
    pub const MIN: Self = Self(-62_167_219_200_000);
    /// The last millisecond of year 9999.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// Returns the instant that many milliseconds after 1970-01-01, if it is in the range.
    pub const fn from_millisecond(ms: i64) -> Option<Self> {
        if ms < Self::MIN.0 || ms > Self::MAX.0 { None } else { Some(Self(ms)) }
    }

    /// Returns the milliseconds since 1970-01-01.
    pub const fn as_millisecond(self) -> i64 {
        self.0
    }

    /// Returns the instant `ms` later (earlier if negative), held at the ends of the range.
    pub fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms).clamp(Self::MIN.0, Self::MAX.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = EPOCH
            .checked_add(SignedDuration::from_millis(self.0))
            .expect("the range of Timestamp is inside that of civil time");
        let mut text = *FORM;
        // A document has several, and the formatting of numbers costs ten times as much.
        let mut put = |from: usize, to: usize, mut number: i32| {
            for place in text[from..to].iter_mut().rev() {
                *place += u8::try_from(number % 10).expect("a civil time has no negative part here");
                number /= 10;
            }
        };
        put(0, 4, at.year().into());
        put(5, 7, at.month().into());
        put(8, 10, at.day().into());
        put(11, 13, at.hour().into());
        put(14, 16, at.minute().into());
        put(17, 19, at.second().into());
        put(20, 23, at.millisecond().into());
        f.write_str(std::str::from_utf8(&text).expect("digits are ASCII"))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        read(text.as_bytes()).ok_or_else(|| InvalidTimestamp(excerpt(text)))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Where the digits are, as `0`; every other byte stands for itself.
const FORM: &[u8; 24] = b"0000-00-00T00:00:00.000Z";

fn read(text: &[u8]) -> Option<Timestamp> {
    let in_form = text.len() == FORM.len()
        && text.iter().zip(FORM).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            _ => byte == form,
        });
    if !in_form {
        return None;
    }
    let number =
        |from: usize, to: usize| text[from..to].iter().fold(0_i32, |n, b| n * 10 + i32::from(b - b'0'));
    let field = |from: usize| i8::try_from(number(from, from + 2)).ok();
    let year = i16::try_from(number(0, 4)).ok()?;
    let nanosecond = number(20, 23) * 1_000_000;
    // Civil time has no second 60, so a leap second is refused here.
    let at =
        DateTime::new(year, field(5)?, field(8)?, field(11)?, field(14)?, field(17)?, nanosecond).ok()?;
    Timestamp::from_millisecond(i64::try_from(at.duration_since(EPOCH).as_millis()).ok()?)
}

#[cfg(test)]
mod tests;
