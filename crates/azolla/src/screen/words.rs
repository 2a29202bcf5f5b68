//! Plain words for statuses and times, and words as a shell takes them.

use azolla_protocol::{Objective, ObjectiveStatus, Timestamp, lifecycle};

/// Returns where an objective stands, as a person would say it.
pub(crate) fn status(objective: &Objective) -> &'static str {
    if lifecycle::is_archived(objective) {
        return "archived";
    }
    match objective.status {
        ObjectiveStatus::New => "new, not approved",
        ObjectiveStatus::Todo => "approved, waiting to run",
        ObjectiveStatus::InProgress => "running",
        ObjectiveStatus::Blocked => "blocked",
        ObjectiveStatus::Done if lifecycle::is_confirmed(objective) => "confirmed",
        ObjectiveStatus::Done => "awaiting confirmation",
    }
}

/// Returns a length of time, rounded to two digits or to whole ones of its unit.
pub(crate) fn duration(ms: u64) -> String {
    if ms < 1_000 {
        return format!("{ms} ms");
    }
    // The first unit in which it stays below the next one, rounded as it will be shown.
    let unit = UNITS.iter().rev().find(|unit| {
        let rounded = tenths(ms, unit.ms);
        let next = UNITS.iter().rev().find(|next| next.ms > unit.ms);
        next.is_none_or(|next| rounded.saturating_mul(unit.ms) < next.ms.saturating_mul(10))
    });
    let Unit { ms: length, name } = unit.unwrap_or(&UNITS[0]);
    match tenths(ms, *length) {
        tenths if tenths % 10 == 0 => format!("{} {name}", tenths / 10),
        tenths => format!("{}.{} {name}", tenths / 10, tenths % 10),
    }
}

struct Unit {
    ms: u64,
    name: &'static str,
}

/// The largest first.
const UNITS: [Unit; 4] = [
    Unit { ms: 86_400_000, name: "d" },
    Unit { ms: 3_600_000, name: "h" },
    Unit { ms: 60_000, name: "min" },
    Unit { ms: 1_000, name: "s" },
];

/// Counts tenths of a unit, rounded: single ones below ten units, and tens of them from there on.
fn tenths(ms: u64, unit: u64) -> u64 {
    let tenths = ms.saturating_mul(10).saturating_add(unit / 2) / unit;
    if tenths < 100 { tenths } else { ms.saturating_add(unit / 2) / unit * 10 }
}

/// Returns how long ago `then` was, in its largest unit.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let ms = age(then, now);
    match UNITS.iter().find(|unit| ms >= unit.ms) {
        Some(unit) => format!("{} {} ago", ms / unit.ms, unit.name),
        None => "just now".to_owned(),
    }
}

/// Returns the milliseconds from `then` to `now`; 0 if `then` is later.
pub(crate) fn age(then: Timestamp, now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond() - then.as_millisecond()).unwrap_or(0)
}

/// Returns an instant to the second, in UTC.
pub(crate) fn day_and_time(at: Timestamp) -> String {
    at.to_string()[..19].replace('T', " ")
}

/// Returns a word as a shell takes it, in quotes where it needs them.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@,+=%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
