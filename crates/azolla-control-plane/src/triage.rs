//! What the triage workers and the operator's steps have in common: which captures can be tried, which are under way, and
//! what became of the attempts on one (W-2, TF-2, O-1).

use azolla_exchange_membrane::gates::triage::content_of;
use azolla_protocol::{
    Actor, CaptureId, CaptureStatus, DiazotrophType, EventId, GateResult, JournalEntry, JournalStep,
    OutputBundle, RunRecord, WorkOrderId, content::TriageContent,
};
use azolla_substrate::{StoredCapture, SubstrateError, SubstrateRead};

use crate::{operator::CandidateRef, snapshot};

/// Tells whether a capture can be triaged without the operator doing anything.
pub(crate) fn is_eligible(stored: &StoredCapture, attempts_max: u64) -> bool {
    stored.capture.status == CaptureStatus::Pending && !stored.held && attempts(stored) < attempts_max
}

/// Returns the attempts since the operator's last step on a capture.
pub(crate) fn attempts(stored: &StoredCapture) -> u64 {
    stored.attempts.saturating_sub(stored.attempts_before)
}

/// Returns the open triage, with its batch; none if there is none. A TASK_MGMT azolla has one workorder at a time (W-4).
pub(crate) async fn under_way(
    read: &dyn SubstrateRead,
) -> Result<Option<(WorkOrderId, Vec<CaptureId>)>, SubstrateError> {
    const ONE: u64 = 1;
    let mut open = read.created_workorders(ONE).await?;
    open.extend(read.ungated_workorders(ONE).await?);
    for stored in open {
        if stored.workorder.diazotroph_type == DiazotrophType::Triage {
            let snapshot = read.context_snapshot(&stored.workorder.context_snapshot_id).await?;
            let batch = snapshot.as_ref().and_then(snapshot::triage::batch_of).unwrap_or_default();
            return Ok(Some((stored.workorder.work_order_id, batch)));
        }
    }
    Ok(None)
}

/// An attempt on a capture that came to its gate.
pub struct Attempted {
    /// What the gate found.
    pub run: RunRecord,
    /// What it looked at.
    pub output: OutputBundle,
}

impl Attempted {
    /// Returns what a triage that passed says; none if it did not pass.
    pub fn content(&self) -> Option<TriageContent> {
        if self.run.gate_result == GateResult::Pass { content_of(&self.output).ok() } else { None }
    }

    /// Returns the candidates that came of a capture.
    pub fn candidates_of(&self, id: &CaptureId) -> Vec<CandidateRef> {
        let candidates = self.content().map(|content| content.candidates).unwrap_or_default();
        let named = (0..).zip(candidates).filter(|(_, candidate)| candidate.capture_ids.contains(id));
        named.map(|(index, _)| CandidateRef { output_id: self.output.output_id.clone(), index }).collect()
    }
}

/// Returns the attempts on a capture that came to their gate, oldest first.
pub async fn attempts_on(read: &dyn SubstrateRead, id: &CaptureId) -> Result<Vec<Attempted>, SubstrateError> {
    attempted(read, &read.journal_of(id.as_str()).await?).await
}

/// Returns the attempts on a capture since the operator's last step on it, oldest first: those that have a run record.
/// The journal names the event of every attempt, and from there the ids derive (W-5), so no history is searched.
pub(crate) async fn attempts_of(
    read: &dyn SubstrateRead,
    id: &CaptureId,
) -> Result<Vec<Attempted>, SubstrateError> {
    let journal = read.journal_of(id.as_str()).await?;
    let since = journal.iter().rposition(|entry| entry.actor == Actor::Operator).map_or(0, |at| at + 1);
    attempted(read, &journal[since..]).await
}

async fn attempted(
    read: &dyn SubstrateRead,
    journal: &[JournalEntry],
) -> Result<Vec<Attempted>, SubstrateError> {
    let mut attempted = Vec::new();
    for entry in journal.iter().filter(|entry| entry.step == JournalStep::Attempt) {
        let event_id = entry.detail.as_ref().and_then(|detail| detail.get("event_id")?.as_str());
        let Some(event_id) = event_id.and_then(|id| EventId::new(id).ok()) else { continue };
        let work_order_id = WorkOrderId::of(&event_id);
        let run = read.run_of(&work_order_id).await?;
        let output = read.output_of(&work_order_id).await?;
        attempted.extend(run.zip(output).map(|(run, output)| Attempted { run, output }));
    }
    Ok(attempted)
}
