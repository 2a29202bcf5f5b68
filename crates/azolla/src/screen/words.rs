//! Plain words for statuses and times.

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

/// Returns a length of time in its largest unit.
pub(crate) fn duration(ms: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    match UNITS.into_iter().find(|(length, _)| ms >= *length) {
        Some((length, unit)) => format!("{} {unit}", ms / length),
        None => format!("{ms} ms"),
    }
}

/// Returns how long ago `then` was.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    match age(then, now) {
        ms if ms < 1_000 => "just now".to_owned(),
        ms => format!("{} ago", duration(ms)),
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
