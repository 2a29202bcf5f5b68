//! The typed reads of task management, written once for both backends.

use std::cmp::Reverse;

use azolla_protocol::{
    AzollaId, CandidateResolution, CaptureBuffer, CaptureId, CaptureStatus, Event, ManifestId, ObjectiveId,
    OutputBundle, OutputId, PauseState, SessionManifest, Timestamp,
};

use super::sql;
use crate::{
    error::SubstrateError,
    read::{Before, StoredEvent, before_cells},
    rows,
    statement::{Row, Statement},
    substrate::SubstrateRead,
};

/// Sorts after every id: they are made of lower-case letters, digits and `-`.
const AFTER_EVERY_ID: &str = "~";

/// A capture with its store-only columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCapture {
    /// The artifact.
    pub capture: CaptureBuffer,
    /// Triage attempts so far (W-2).
    pub attempts: u64,
    /// Those of them that the operator's last retry left behind; the limit counts the rest.
    pub attempts_before: u64,
    /// Whether the operator acts next (O-1).
    pub held: bool,
}

/// Which captures to list.
#[derive(Clone, Debug, Default)]
pub struct CaptureFilter {
    /// Only these, if any is named.
    pub status: Option<CaptureStatus>,
    /// Only those before this one, which is the last of the page before.
    pub after: Option<CaptureId>,
    /// How many at the most.
    pub limit: u64,
}

/// A triage output that passed its gate. A candidate without a resolution is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriageOutput {
    /// The bundle.
    pub output: OutputBundle,
    /// What became of its candidates so far, in their order.
    pub resolutions: Vec<CandidateResolution>,
}

/// The pause_state of a deadline that passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlinePause {
    /// The artifact; it names the azolla whose objective it is.
    pub pause: PauseState,
    /// The deadline.
    pub at: Timestamp,
    /// How urgent the objective was.
    pub urgency: u8,
}

/// The operator's word that a deadline is not before an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snooze {
    /// Whose objective it is.
    pub azolla_id: AzollaId,
    /// The objective.
    pub objective_id: ObjectiveId,
    /// The deadline is not before this.
    pub until: Timestamp,
}

impl dyn SubstrateRead + '_ {
    /// Returns a capture.
    pub async fn capture(&self, id: &CaptureId) -> Result<Option<StoredCapture>, SubstrateError> {
        self.one(sql::CAPTURE, id.as_str(), rows::read_capture).await
    }

    /// Returns a page of captures, newest first.
    pub async fn captures(&self, filter: &CaptureFilter) -> Result<Vec<StoredCapture>, SubstrateError> {
        let after = filter.after.as_ref().map(CaptureId::as_str);
        let statement = match filter.status {
            Some(CaptureStatus::Pending) => {
                let values = [after.unwrap_or_default().into(), filter.limit.into()];
                Statement::new(sql::CAPTURES_PENDING, values)
            }
            status => {
                let status = status.map(|status| status.as_str());
                let values = [after.unwrap_or(AFTER_EVERY_ID).into(), status.into(), filter.limit.into()];
                Statement::new(sql::CAPTURES, values)
            }
        };
        self.many(statement, rows::read_capture).await
    }

    /// Returns how many captures are PENDING, held ones included.
    pub async fn count_pending_captures(&self) -> Result<u64, SubstrateError> {
        let found = self.rows(Statement::new(sql::COUNT_PENDING, [])).await?;
        found.first().ok_or_else(|| SubstrateError::corrupt("no count"))?.number(0)
    }

    /// Returns how many captures are held: PENDING, and the operator acts next (O-1).
    pub async fn count_held_captures(&self) -> Result<u64, SubstrateError> {
        let found = self.rows(Statement::new(sql::COUNT_HELD, [])).await?;
        found.first().ok_or_else(|| SubstrateError::corrupt("no count"))?.number(0)
    }

    /// Returns captures that are held, oldest first: their ids alone.
    pub async fn held_captures(&self, limit: u64) -> Result<Vec<CaptureId>, SubstrateError> {
        self.many(Statement::new(sql::HELD_CAPTURES, [limit.into()]), |row| row.parsed(0)).await
    }

    /// Returns how many candidates wait for the operator (O-3).
    pub async fn count_open_candidates(&self) -> Result<u64, SubstrateError> {
        let found = self.rows(Statement::new(sql::COUNT_OPEN_CANDIDATES, [])).await?;
        found.first().ok_or_else(|| SubstrateError::corrupt("no count"))?.number(0)
    }

    /// Returns PENDING captures that are not held and have had fewer than `attempts_max` attempts since the operator
    /// last asked for more, oldest first.
    pub async fn pending_captures(
        &self,
        attempts_max: u64,
        limit: u64,
    ) -> Result<Vec<StoredCapture>, SubstrateError> {
        let values = [attempts_max.into(), limit.into()];
        self.many(Statement::new(sql::PENDING_CAPTURES, values), rows::read_capture).await
    }

    /// Returns PENDING captures that are not held and have not been tried since the operator's last step on them,
    /// oldest first. The rest of `pending_captures` failed before and are tried one by one (TF-2).
    pub async fn fresh_captures(&self, limit: u64) -> Result<Vec<StoredCapture>, SubstrateError> {
        self.many(Statement::new(sql::FRESH_CAPTURES, [limit.into()]), rows::read_capture).await
    }

    /// Tells whether `pending_captures` has any.
    pub async fn has_pending_capture(&self, attempts_max: u64) -> Result<bool, SubstrateError> {
        Ok(!self.rows(Statement::new(sql::HAS_PENDING_CAPTURE, [attempts_max.into()])).await?.is_empty())
    }

    /// Returns the captures that an event has to be emitted for, oldest first, each with the entry number of that event
    /// (W-2): those of `pending_captures` that have no unprocessed one and are in no triage that still runs.
    pub async fn captures_awaiting_event(
        &self,
        attempts_max: u64,
        limit: u64,
    ) -> Result<Vec<(CaptureId, u64)>, SubstrateError> {
        let values = [attempts_max.into(), limit.into()];
        let read = |row: &Row| Ok((row.parsed(0)?, row.number(1)?));
        self.many(Statement::new(sql::CAPTURES_AWAITING_EVENT, values), read).await
    }

    /// Returns a manifest.
    pub async fn manifest(&self, id: &ManifestId) -> Result<Option<SessionManifest>, SubstrateError> {
        self.one(sql::MANIFEST, id.as_str(), rows::read_document).await
    }

    /// Returns a page of manifests, newest first.
    pub async fn manifests_before(
        &self,
        before: Option<&Before>,
        limit: u64,
    ) -> Result<Vec<SessionManifest>, SubstrateError> {
        let cells = before_cells(before, limit);
        self.many(Statement::new(sql::MANIFESTS_BEFORE, cells), rows::read_document).await
    }

    /// Returns the newest manifest.
    pub async fn latest_manifest(&self) -> Result<Option<SessionManifest>, SubstrateError> {
        Ok(self.manifests_before(None, 1).await?.pop())
    }

    /// Returns the newest MANIFEST_REQUESTED, processed or not.
    pub async fn latest_manifest_event(&self) -> Result<Option<StoredEvent>, SubstrateError> {
        let found = self.rows(Statement::new(sql::LATEST_MANIFEST_EVENT, [])).await?;
        found.first().map(rows::read_event).transpose()
    }

    /// Returns the MANIFEST_REQUESTED that was emitted last, of those up to an instant: a clock that was ahead may have written
    /// later ones.
    pub async fn manifest_event_by(&self, instant: Timestamp) -> Result<Option<StoredEvent>, SubstrateError> {
        Ok(self.manifest_events_by(instant).await?.into_iter().next())
    }

    /// Returns the MANIFEST_REQUESTED that was emitted before another one, whoever emitted it, of those up to now.
    pub async fn manifest_event_before(&self, event: &Event) -> Result<Option<StoredEvent>, SubstrateError> {
        let emitted = self.manifest_events_by(self.now().await?.max(event.created_at)).await?;
        Ok(emitted.into_iter().skip_while(|stored| stored.event.event_id != event.event_id).nth(1))
    }

    /// The one that was emitted last comes first.
    async fn manifest_events_by(&self, instant: Timestamp) -> Result<Vec<StoredEvent>, SubstrateError> {
        // No id sorts behind that.
        let values = [instant.into(), AFTER_EVERY_ID.into()];
        let read = |row: &Row| Ok((row.number_or_null(10)?, rows::read_event(row)?));
        let mut found = self.many(Statement::new(sql::MANIFEST_EVENT_BEFORE, values), read).await?;
        found.sort_by_key(|(emitted, _)| Reverse(*emitted));
        Ok(found.into_iter().map(|(_, stored)| stored).collect())
    }

    /// Returns the triage outputs with open candidates, oldest first (O-3).
    pub async fn open_candidates(&self, limit: u64) -> Result<Vec<TriageOutput>, SubstrateError> {
        self.triaged(Statement::new(sql::OPEN_OUTPUTS, [limit.into()])).await
    }

    /// Returns the next page of them. `after` is the last one of the page before, whatever became of it since; nothing
    /// comes after one that is not there.
    pub async fn open_candidates_after(
        &self,
        after: &OutputId,
        limit: u64,
    ) -> Result<Vec<TriageOutput>, SubstrateError> {
        self.triaged(Statement::new(sql::OPEN_OUTPUTS_AFTER, [after.as_str().into(), limit.into()])).await
    }

    /// Returns a page of triage outputs that passed their gate, resolved ones and those without a candidate too, newest
    /// first. `after` is the last one of the page before.
    pub async fn triage_outputs(
        &self,
        after: Option<&OutputBundle>,
        limit: u64,
    ) -> Result<Vec<TriageOutput>, SubstrateError> {
        let after = after.map_or("", |output| output.metadata.work_order_id.as_str());
        self.triaged(Statement::new(sql::TRIAGE_OUTPUTS, [after.into(), limit.into()])).await
    }

    async fn triaged(&self, outputs: Statement) -> Result<Vec<TriageOutput>, SubstrateError> {
        let mut found = Vec::new();
        for output in self.many(outputs, rows::read_document::<OutputBundle>).await? {
            let resolutions = self.resolutions_of(&output.output_id).await?;
            found.push(TriageOutput { output, resolutions });
        }
        Ok(found)
    }

    /// Returns what became of the candidates of a triage output: the resolutions that stand.
    pub async fn resolutions_of(&self, id: &OutputId) -> Result<Vec<CandidateResolution>, SubstrateError> {
        let statement = Statement::new(sql::RESOLUTIONS_OF_OUTPUT, [id.as_str().into()]);
        self.many(statement, rows::read_resolution).await
    }

    /// Returns the snoozes that still hold, the first to end first (D-1).
    pub async fn snoozes(&self) -> Result<Vec<Snooze>, SubstrateError> {
        let now = self.now().await?;
        let read = |row: &Row| {
            Ok(Snooze { azolla_id: row.parsed(0)?, objective_id: row.parsed(1)?, until: row.parsed(2)? })
        };
        self.many(Statement::new(sql::SNOOZES, [now.into()]), read).await
    }

    /// Returns until when the deadline of an objective was moved, if it ever was; that may be over (D-1).
    pub async fn snooze(
        &self,
        azolla_id: &AzollaId,
        objective_id: &ObjectiveId,
    ) -> Result<Option<Timestamp>, SubstrateError> {
        let values = [azolla_id.as_str().into(), objective_id.as_str().into()];
        let found = self.rows(Statement::new(sql::SNOOZE_OF, values)).await?;
        found.first().map(|row| row.parsed(0)).transpose()
    }

    /// Returns the latest deadline of an objective, here or in another azolla, that was recorded here.
    pub async fn latest_deadline_pause(
        &self,
        azolla_id: &AzollaId,
        objective_id: &ObjectiveId,
    ) -> Result<Option<DeadlinePause>, SubstrateError> {
        let values = [azolla_id.as_str().into(), objective_id.as_str().into()];
        let found = self.rows(Statement::new(sql::LATEST_DEADLINE, values)).await?;
        found.first().map(read_deadline).transpose()
    }

    /// Returns the latest recorded deadline of every objective that has one, newest first.
    pub async fn deadline_pauses(&self, limit: u64) -> Result<Vec<DeadlinePause>, SubstrateError> {
        self.many(Statement::new(sql::DEADLINES, [limit.into()]), read_deadline).await
    }
}

fn read_deadline(row: &Row) -> Result<DeadlinePause, SubstrateError> {
    let pause: PauseState = rows::read_document(row)?;
    let named = format!("deadline:{}:{}:", pause.azolla_id, pause.objective_id);
    let at = row.text(1)?.strip_prefix(&named).and_then(|at| at.parse().ok());
    let at = at.ok_or_else(|| SubstrateError::corrupt("the pause_key is not that of a deadline"))?;
    let urgency = u8::try_from(row.number(2)?).map_err(|error| SubstrateError::corrupt(error.to_string()))?;
    Ok(DeadlinePause { pause, at, urgency })
}
