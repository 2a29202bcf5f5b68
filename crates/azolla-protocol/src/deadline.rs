//! How long an objective may stay as it is before it is pointed at (PROTOCOL.md 7.4).

use crate::{Objective, Timestamp};

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

    /// Returns when an objective should have moved: at the time for its urgency, and by the end of the day that it is due
    /// at the latest. A snooze moves both.
    pub fn of_objective(&self, objective: &Objective, snoozed_until: Option<Timestamp>) -> Option<Timestamp> {
        let of_urgency = self.of(objective.urgency, objective.updated_at, None);
        let at = of_urgency.into_iter().chain(due_by(objective)).min()?;
        Some(snoozed_until.map_or(at, |until| until.max(at)))
    }
}

/// Returns the day that an objective is due, `YYYY-MM-DD`; none if nothing was said, or nothing that is a day.
pub fn due_day(objective: &Objective) -> Option<&str> {
    let day = objective.metadata.get("due")?.as_str()?;
    begins(day).map(|_| day)
}

/// Returns the end of the day that an objective is due, in UTC.
pub fn due_by(objective: &Objective) -> Option<Timestamp> {
    let begins = due_day(objective).and_then(begins)?;
    Some(begins.plus_ms(i64::try_from(DAY_MS).ok()?))
}

/// Tells whether a text is a day of the calendar, `YYYY-MM-DD`.
pub fn is_day(text: &str) -> bool {
    begins(text).is_some()
}

fn begins(day: &str) -> Option<Timestamp> {
    format!("{day}T00:00:00.000Z").parse().ok()
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

    fn objective(urgency: u8, due: &str) -> Objective {
        serde_json::from_value(serde_json::json!({
            "objective_id": "obj-1", "azolla_id": "az-app", "title": "One", "acceptance_criteria": "It holds.",
            "objective_type": "TICKET", "status": "TODO", "importance": 2, "urgency": urgency, "blocked_reason": null,
            "blocked_on": [], "metadata": {"due": due}, "created_at": "2026-11-01T00:00:00.000Z",
            "updated_at": "2026-11-01T00:00:00.000Z",
        }))
        .unwrap()
    }

    /// 7.4: the end of the day that it is due is the latest, whatever its urgency; what is no day says nothing.
    #[test]
    fn d1_a_due_day_is_a_deadline_of_its_own() {
        let deadlines = Deadlines::default();
        for (urgency, due, expected) in [
            (4, "2026-11-20", Some("2026-11-21T00:00:00.000Z")),
            (3, "2026-11-20", Some("2026-11-21T00:00:00.000Z")),
            (1, "2026-11-20", Some("2026-11-02T00:00:00.000Z")),
            (4, "2026-02-30", None),
            (4, "soon", None),
            (4, "2026-11-20T00:00:00.000Z", None),
        ] {
            assert_eq!(deadlines.of_objective(&objective(urgency, due), None), expected.map(at), "{due}");
        }
        let snoozed = Some(at("2026-12-24T00:00:00.000Z"));
        assert_eq!(deadlines.of_objective(&objective(4, "2026-11-20"), snoozed), snoozed);
        assert_eq!(deadlines.of_objective(&objective(4, ""), snoozed), None);
        assert_eq!(due_day(&objective(4, "2026-11-20")), Some("2026-11-20"));
        assert_eq!(due_day(&objective(4, "20.11.")), None);
    }
}
