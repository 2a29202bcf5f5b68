//! The pause_state of the standing objective, which a step on a capture or a candidate can end: the objective itself
//! takes no step, so the operator's is recorded as an edit that changes nothing but its time.

use azolla_protocol::{
    CaptureId, DiazotrophType, EventId, EventType, Objective, ObjectiveType, Validated, WorkOrderId,
};
use azolla_substrate::{ObjectiveFilter, ObjectiveMark, StoredObjective, Write};

use super::{Operator, OperatorError};
use crate::snapshot::triage::batch_of;

impl Operator<'_> {
    /// Returns the write that ends the current pause_state, if that is the one of this workorder.
    pub(super) async fn end_pause_of(
        &self,
        work_order_id: &WorkOrderId,
    ) -> Result<Option<Write>, OperatorError> {
        let Some((stored, pause)) = self.paused().await? else { return Ok(None) };
        match pause {
            PausedBy::Workorder(id) if id == *work_order_id => self.end_pause(&stored).await.map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the write that ends the current pause_state, if that is about any of these captures.
    pub(super) async fn end_pause_about(&self, ids: &[CaptureId]) -> Result<Option<Write>, OperatorError> {
        let Some((stored, pause)) = self.paused().await? else { return Ok(None) };
        let is_about = match pause {
            PausedBy::Workorder(id) => {
                let batch = self.batch(&id).await?;
                ids.iter().any(|id| batch.contains(id))
            }
            // What kept it from being scheduled is over for all of them.
            PausedBy::Event(id) => {
                let event = self.read().event(&id).await?;
                event.is_some_and(|stored| stored.event.event_type == EventType::CaptureReady)
            }
        };
        if is_about { self.end_pause(&stored).await.map(Some) } else { Ok(None) }
    }

    /// Returns the write that ends the current pause_state, if that is of an orientation.
    pub(super) async fn end_pause_of_orientation(&self) -> Result<Option<Write>, OperatorError> {
        let Some((stored, pause)) = self.paused().await? else { return Ok(None) };
        let is_orientation = match pause {
            PausedBy::Workorder(id) => self
                .read()
                .workorder(&id)
                .await?
                .is_some_and(|found| found.workorder.diazotroph_type == DiazotrophType::ManifestBuilder),
            PausedBy::Event(id) => {
                let event = self.read().event(&id).await?;
                event.is_some_and(|found| found.event.event_type == EventType::ManifestRequested)
            }
        };
        if is_orientation { self.end_pause(&stored).await.map(Some) } else { Ok(None) }
    }

    async fn end_pause(&self, stored: &StoredObjective) -> Result<Write, OperatorError> {
        let next = Objective { updated_at: self.read().now().await?, ..stored.objective.clone() };
        Ok(Write::EditObjective { was: ObjectiveMark::from(stored), next: Validated::new(next)? })
    }

    /// The standing objective, and what its current pause_state ended; none if it has none.
    async fn paused(&self) -> Result<Option<(StoredObjective, PausedBy)>, OperatorError> {
        /// It is the first objective of its azolla, and the only one.
        const FIRST: ObjectiveFilter =
            ObjectiveFilter { status: None, max_urgency: u8::MAX, after: None, limit: 1 };
        let Some(stored) = self.read().objectives(&FIRST).await?.pop() else { return Ok(None) };
        if stored.objective.objective_type != ObjectiveType::Standing {
            return Ok(None);
        }
        let pause = stored.pause_key.as_deref().and_then(PausedBy::read);
        Ok(pause.map(|pause| (stored, pause)))
    }

    async fn batch(&self, id: &WorkOrderId) -> Result<Vec<CaptureId>, OperatorError> {
        let Some(stored) = self.read().workorder(id).await? else { return Ok(Vec::new()) };
        let snapshot = self.read().context_snapshot(&stored.workorder.context_snapshot_id).await?;
        Ok(snapshot.as_ref().and_then(batch_of).unwrap_or_default())
    }
}

/// What a pause_state ended, as its key says.
enum PausedBy {
    Workorder(WorkOrderId),
    Event(EventId),
}

impl PausedBy {
    fn read(pause_key: &str) -> Option<Self> {
        match pause_key.split_once(':')? {
            ("workorder", id) => WorkOrderId::new(id).ok().map(Self::Workorder),
            ("event", id) => EventId::new(id).ok().map(Self::Event),
            _ => None,
        }
    }
}
