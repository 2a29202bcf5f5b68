//! Follows the journals of azollas and picks out what the operator is to be told of.

use std::sync::Arc;

use azolla_protocol::{AzollaId, DiazotrophType, JournalEntry, JournalStep, ObjectiveType, WorkOrderId};
use azolla_substrate::{JournalCursor, SubstrateError, SubstrateRead};

use super::notice::{Notice, OVERDUE, Paused};
use crate::home::Claim;

/// One azolla that is followed.
pub(crate) struct Followed {
    /// Which one.
    pub(crate) azolla_id: AzollaId,
    /// Its store.
    pub(crate) store: Arc<dyn SubstrateRead>,
    /// How far its journal was looked through; none until that is known.
    pub(super) cursor: Option<JournalCursor>,
}

/// Rows of one read.
const PAGE: u64 = 500;

impl Followed {
    /// Follows a store from a place that is not known yet.
    pub(crate) fn new(azolla_id: AzollaId, store: Arc<dyn SubstrateRead>) -> Self {
        Self { azolla_id, store, cursor: None }
    }

    /// Begins where it was left; at the very first start at the end of the journal, so that nothing old is told of. A
    /// journal that is shorter than that is another one: an older copy of the store. Where no row shows although there
    /// were some, every one may belong to a transaction that still runs: nothing is known yet, and none is returned.
    pub(super) async fn begin(
        &mut self,
        left: Option<JournalCursor>,
    ) -> Result<Option<JournalCursor>, SubstrateError> {
        let latest = self.store.journal_latest(JournalCursor::default(), 1).await?;
        self.cursor = beginning(left, latest.first().map(|(at, _)| *at));
        Ok(self.cursor)
    }

    /// Reads on from where the last look ended. That moves only when the outcome is claimed.
    pub(super) async fn look(&self, all: &[Followed]) -> Result<Option<Claim>, SubstrateError> {
        let Some(begin) = self.cursor else { return Ok(None) };
        let (mut cursor, mut keys) = (begin, Vec::new());
        loop {
            let page = self.store.journal_after(cursor, PAGE).await?;
            cursor = page.last().map_or(cursor, |(at, _)| *at);
            let is_last = (page.len() as u64) < PAGE;
            keys.extend(page.into_iter().filter(|(_, entry)| is_pause(entry)).map(|(_, e)| e.resource_id));
            if is_last {
                break;
            }
        }
        if cursor == begin {
            return Ok(None);
        }
        let mut notices = Vec::new();
        for key in keys {
            if let Some(paused) = self.paused(key, all).await? {
                notices.extend(Notice::of(&paused));
            }
        }
        Ok(Some(Claim { azolla_id: self.azolla_id.clone(), cursor, notices }))
    }

    /// Tells whether what was held back still asks for something.
    pub(super) async fn still(&self, notice: &Notice, all: &[Followed]) -> Result<bool, SubstrateError> {
        let paused = self.paused(notice.pause_key.clone(), all).await?;
        Ok(paused.is_some_and(|paused| Notice::of(&paused).is_some()))
    }

    async fn paused(&self, key: String, all: &[Followed]) -> Result<Option<Paused>, SubstrateError> {
        let Some(pause) = self.store.pause_state(&key).await? else { return Ok(None) };
        // A deadline may be that of another azolla's objective.
        let Some(owner) = all.iter().find(|followed| followed.azolla_id == pause.azolla_id) else {
            return Ok(Some(Paused { key, pause, objective: None, is_current: true, is_orientation: false }));
        };
        let Some(stored) = owner.store.objective(&pause.objective_id).await? else {
            return Ok(Some(Paused { key, pause, objective: None, is_current: true, is_orientation: false }));
        };
        let is_standing = stored.objective.objective_type == ObjectiveType::Standing;
        let work = if is_standing { self.work(&key).await? } else { None };
        let is_current = match work {
            _ if key.starts_with(OVERDUE) => true,
            // Something else of the standing objective may have followed it: candidates wait all the same.
            Some(DiazotrophType::Triage) => {
                stored.pause_key.as_ref() == Some(&key) || self.store.count_open_candidates().await? > 0
            }
            _ => stored.pause_key.as_ref() == Some(&key),
        };
        let is_orientation = work == Some(DiazotrophType::ManifestBuilder);
        Ok(Some(Paused { key, pause, objective: Some(stored.objective), is_current, is_orientation }))
    }

    /// Returns what sort of work a pause_state ends, if it ends any.
    async fn work(&self, key: &str) -> Result<Option<DiazotrophType>, SubstrateError> {
        let id = key.strip_prefix("workorder:").and_then(|id| WorkOrderId::new(id).ok());
        let Some(id) = id else { return Ok(None) };
        Ok(self.store.workorder(&id).await?.map(|stored| stored.workorder.diazotroph_type))
    }
}

/// Returns where to begin, from where it was left and the newest row that shows; none if that is not known yet.
fn beginning(left: Option<JournalCursor>, newest: Option<JournalCursor>) -> Option<JournalCursor> {
    match (left, newest) {
        (Some(left), Some(end)) => Some(left.min(end)),
        (None, Some(end)) => Some(end),
        (None, None) => Some(JournalCursor::default()),
        (Some(left), None) if left == JournalCursor::default() => Some(left),
        (Some(_), None) => None,
    }
}

fn is_pause(entry: &JournalEntry) -> bool {
    entry.step == JournalStep::Insert && entry.resource_type == "pause_state"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> JournalCursor {
        text.parse().unwrap()
    }

    #[test]
    fn a_known_place_is_kept_until_a_row_shows() {
        let start = JournalCursor::default();
        for (left, newest, begin) in [
            (None, None, Some(start)),
            (None, Some(at("7:3")), Some(at("7:3"))),
            (Some(at("5:2")), Some(at("7:3")), Some(at("5:2"))),
            // The store is an older copy.
            (Some(at("9:9")), Some(at("7:3")), Some(at("7:3"))),
            (Some(start), None, Some(start)),
            (Some(at("5:2")), None, None),
        ] {
            assert_eq!(beginning(left, newest), begin, "{left:?} {newest:?}");
        }
    }
}
