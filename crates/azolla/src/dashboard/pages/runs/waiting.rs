//! How many results waited for the operator, over time: counted from the journal, and right at its newest end whatever
//! came before the rows that are read.

use std::collections::HashMap;

use azolla_protocol::{JournalEntry, JournalStep, Timestamp};
use azolla_substrate::{JournalCursor, SubstrateError, SubstrateRead};
use maud::Markup;

use crate::{
    dashboard::{
        part,
        plot::{self, Plot},
    },
    screen::{age, ago},
};

/// Journal rows that are read.
const ROWS_MAX: u64 = 2_000;

/// When the number of waiting results changed, and by how much; and how many wait now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::dashboard::pages) struct Waiting {
    changes: Vec<(Timestamp, i64)>,
    now: u64,
}

/// Reads it.
pub(super) async fn read(read: &dyn SubstrateRead) -> Result<Waiting, SubstrateError> {
    let rows = read.journal_latest(JournalCursor::default(), ROWS_MAX).await?;
    let entries = rows.into_iter().rev().map(|(_, entry)| entry);
    Ok(Waiting { changes: changes(entries), now: read.stream().await?.waiting })
}

/// Returns the changes that journal rows tell of, oldest first.
pub(super) fn changes(entries: impl Iterator<Item = JournalEntry>) -> Vec<(Timestamp, i64)> {
    let mut waits: HashMap<String, bool> = HashMap::new();
    let mut found = Vec::new();
    for entry in entries {
        let Some(after) = waits_after(entry.step) else { continue };
        // Before the first row of an objective only a step that ends a wait tells that there was one.
        let ends_one = matches!(entry.step, JournalStep::Sj | JournalStep::Si);
        let before = waits.insert(entry.resource_id, after).unwrap_or(ends_one);
        match (before, after) {
            (false, true) => found.push((entry.at, 1)),
            (true, false) => found.push((entry.at, -1)),
            _ => {}
        }
    }
    found
}

/// Tells whether a result waits after a step; nothing for what is no step of an objective (O-3).
fn waits_after(step: JournalStep) -> Option<bool> {
    use JournalStep as Step;
    match step {
        Step::Se | Step::Sf | Step::Sm => Some(true),
        Step::Sa | Step::Sb | Step::Sc | Step::Sd | Step::Sg | Step::Sh | Step::Si | Step::Sj => Some(false),
        Step::Sk | Step::Sl | Step::Sn | Step::So => Some(false),
        Step::Grant | Step::Release | Step::Insert | Step::Emit | Step::Process | Step::Execute => None,
        Step::Gate | Step::Edit | Step::Attempt | Step::Hold | Step::Retry | Step::Undo => None,
    }
}

impl Waiting {
    /// Adds those of another azolla.
    pub(super) fn add(&mut self, other: Self) {
        self.changes.extend(other.changes);
        self.changes.sort();
        self.now += other.now;
    }

    /// Returns how many waited from when on, oldest first: counted back from now.
    pub(super) fn counts(&self) -> Vec<(Timestamp, u64)> {
        let total: i64 = self.changes.iter().map(|(_, by)| by).sum();
        let mut count = i64::try_from(self.now).unwrap_or(i64::MAX) - total;
        let mut found = Vec::new();
        for (at, by) in &self.changes {
            count += by;
            found.push((*at, u64::try_from(count).unwrap_or(0)));
        }
        found
    }

    /// Draws it.
    pub(super) fn view(&self, now: Timestamp) -> Markup {
        let counts = self.counts();
        let first = counts.first().map_or(now, |(at, _)| *at);
        let whole = age(first, now).max(1) as f64;
        let mut points: Vec<(f64, u64)> =
            counts.iter().map(|(at, count)| (age(first, *at) as f64 / whole, *count)).collect();
        if points.is_empty() {
            points.push((0.0, self.now));
        }
        let most = points.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let since = match counts.is_empty() {
            true => String::new(),
            false => format!(", {most} at the most since {}", ago(first, now)),
        };
        let waits = part::counted(usize::try_from(self.now).unwrap_or(usize::MAX), "waits", "wait");
        plot::steps(&Plot { title: "Results waiting for you", words: format!("{waits} now{since}") }, &points)
    }
}

#[cfg(test)]
mod tests;
