//! When a server says that it may be asked again (B-4).

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822};
use reqwest::header::{HeaderMap, HeaderName};

/// More is not taken at its word.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Reads `retry-after-ms`, or `retry-after` in seconds or as a date. A date counts from the answer's own `date`, so
/// that the clock of this machine does not matter.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &'static str| {
        headers.get(HeaderName::from_static(name)).and_then(|value| value.to_str().ok()).map(str::trim)
    };
    let milliseconds = text("retry-after-ms").and_then(|value| seconds(value, 1_000.0));
    let after = milliseconds.or_else(|| {
        let value = text("retry-after")?;
        seconds(value, 1.0).or_else(|| {
            let (now, then) = (timestamp(text("date")?)?, timestamp(value)?);
            // A date that has passed: at once.
            Some(Duration::try_from(then.duration_since(now)).unwrap_or_default())
        })
    })?;
    Some(after.min(LONGEST))
}

fn seconds(text: &str, divisor: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    (number.is_finite() && number >= 0.0)
        .then(|| Duration::try_from_secs_f64(number / divisor).unwrap_or(LONGEST))
}

fn timestamp(text: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests;
