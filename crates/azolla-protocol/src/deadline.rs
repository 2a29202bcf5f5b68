//! How long an objective may stay as it is before it is pointed at (PROTOCOL.md 7.4).

use crate::Timestamp;

/// The time for each urgency, from 0 to 4; none is for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines(pub [Option<u64>; 5]);

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

impl Default for Deadlines {
    /// At once, a day, a week, thirty days, never.
    fn default() -> Self {
        Self([Some(0), Some(DAY_MS), Some(7 * DAY_MS), Some(30 * DAY_MS), None])
    }
}

impl Deadlines {
    /// Returns when an objective of this urgency that last changed at `updated_at` should have moved; none is never. A
    /// snooze moves it, and never to an earlier time (D-1).
    pub fn of(
        &self,
        urgency: u8,
        updated_at: Timestamp,
        snoozed_until: Option<Timestamp>,
    ) -> Option<Timestamp> {
        let time_ms = self.0.get(usize::from(urgency)).copied().flatten()?;
        let at = updated_at.plus_ms(i64::try_from(time_ms).ok()?);
        Some(snoozed_until.map_or(at, |until| until.max(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// 7.4, D-1: the deadline is the last change plus the time for its urgency; a snooze moves it on, never back.
    #[test]
    fn d1_a_deadline_is_the_last_change_plus_the_time_for_its_urgency() {
        let changed = at("2026-11-01T00:00:00.000Z");
        let deadlines: Vec<_> =
            (0..=5).map(|urgency| Deadlines::default().of(urgency, changed, None)).collect();
        let expected = ["2026-11-01T00:00:00.000Z", "2026-11-02T00:00:00.000Z", "2026-11-08T00:00:00.000Z"]
            .into_iter()
            .chain(["2026-12-01T00:00:00.000Z"])
            .map(|text| Some(at(text)))
            .chain([None, None]);
        assert_eq!(deadlines, expected.collect::<Vec<_>>());
        for (until, expected) in [
            ("2026-11-05T00:00:00.000Z", "2026-11-05T00:00:00.000Z"),
            ("2026-11-01T12:00:00.000Z", "2026-11-02T00:00:00.000Z"),
        ] {
            assert_eq!(Deadlines::default().of(1, changed, Some(at(until))), Some(at(expected)));
        }
    }
}
