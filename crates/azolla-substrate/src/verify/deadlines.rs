//! Deadlines as they were recorded: of an objective one in 24 hours, unless it is more urgent (D-1).

use azolla_protocol::Timestamp;

use super::{Finding, finding};

const DAY_MS: i64 = 86_400_000;

/// A recorded deadline; sorted, those of an objective stand together, the oldest first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Recorded {
    pub(super) azolla_id: String,
    pub(super) objective_id: String,
    pub(super) created_at: Timestamp,
    pub(super) urgency: u64,
    pub(super) pause_key: String,
}

/// Finds the ones that came too soon after another.
pub(super) fn too_soon(mut recorded: Vec<Recorded>) -> Vec<Finding> {
    recorded.sort();
    let mut findings = Vec::new();
    for (before, after) in recorded.iter().zip(recorded.iter().skip(1)) {
        let same = (&before.azolla_id, &before.objective_id) == (&after.azolla_id, &after.objective_id);
        let ms = after.created_at.as_millisecond() - before.created_at.as_millisecond();
        if same && ms < DAY_MS && (ms == 0 || before.urgency <= after.urgency) {
            let (was, is) = (before.urgency, after.urgency);
            let what = format!("came within a day of another deadline, at urgency {is} after {was}");
            findings.push(finding(10, &after.pause_key, what));
        }
    }
    findings
}
