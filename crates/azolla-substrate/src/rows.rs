//! Artifacts as rows: the values of an insert, and the artifact that a row holds.

use azolla_protocol::{
    CandidateResolution, CaptureBuffer, ClaimRecord, CommitId, ContextSnapshot, Event, GateEvidence,
    JournalEntry, Objective, OutputBundle, PauseState, RunRecord, SessionManifest, UsageRecord, Validated,
    Workorder, canonical,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    commit::PauseKey,
    error::SubstrateError,
    read::{StoredEvent, StoredObjective, StoredWorkorder},
    statement::{Cell, Row},
    tasks::StoredCapture,
};

/// Returns a nested value as canonical text.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<String, SubstrateError> {
    canonical(value).map_err(|error| SubstrateError::Malformed(error.to_string()))
}

pub(crate) fn objective(
    objective: &Validated<Objective>,
    version: u64,
    todo_entry: u64,
    waiting: bool,
) -> Result<[Cell; 18], SubstrateError> {
    Ok([
        objective.objective_id.as_str().into(),
        objective.azolla_id.as_str().into(),
        objective.title.as_str().into(),
        objective.acceptance_criteria.as_str().into(),
        objective.objective_type.as_str().into(),
        objective.status.as_str().into(),
        u64::from(objective.importance).into(),
        u64::from(objective.urgency).into(),
        objective.blocked_reason.as_deref().into(),
        json(&objective.blocked_on)?.into(),
        json(&objective.metadata)?.into(),
        objective.created_at.into(),
        objective.updated_at.into(),
        version.into(),
        todo_entry.into(),
        waiting.into(),
        objective.metadata.contains_key("completion").into(),
        objective.metadata.contains_key("archived_at").into(),
    ])
}

pub(crate) fn capture(
    capture: &CaptureBuffer,
    attempts: u64,
    attempts_before: u64,
    held: bool,
) -> [Cell; 10] {
    [
        capture.capture_id.as_str().into(),
        capture.azolla_id.as_str().into(),
        capture.raw_content.as_str().into(),
        capture.source_label.as_str().into(),
        capture.status.as_str().into(),
        capture.created_at.into(),
        capture.updated_at.into(),
        attempts.into(),
        attempts_before.into(),
        held.into(),
    ]
}

pub(crate) fn event(event: &Event, entry: Option<u64>, claim_count: u64) -> [Cell; 10] {
    [
        event.event_id.as_str().into(),
        event.event_type.as_str().into(),
        event.resource_id.as_str().into(),
        event.azolla_id.as_str().into(),
        event.created_at.into(),
        event.processed.into(),
        event.processed_reason.map(|reason| reason.as_str()).into(),
        event.processed_at.into(),
        entry.into(),
        claim_count.into(),
    ]
}

pub(crate) fn snapshot(snapshot: &Validated<ContextSnapshot>, objective_version: u64) -> [Cell; 5] {
    [
        snapshot.snapshot_id.as_str().into(),
        snapshot.objective_id.as_str().into(),
        snapshot.created_at.into(),
        snapshot.document().into(),
        objective_version.into(),
    ]
}

pub(crate) fn output_bundle(bundle: &Validated<OutputBundle>) -> [Cell; 5] {
    [
        bundle.output_id.as_str().into(),
        bundle.objective_id.as_str().into(),
        bundle.created_at.into(),
        bundle.document().into(),
        bundle.metadata.work_order_id.as_str().into(),
    ]
}

pub(crate) fn run_record(run: &Validated<RunRecord>) -> [Cell; 7] {
    [
        run.run_id.as_str().into(),
        run.work_order_id.as_str().into(),
        run.objective_id.as_str().into(),
        run.output_id.as_str().into(),
        run.gate_result.as_str().into(),
        run.created_at.into(),
        run.document().into(),
    ]
}

pub(crate) fn evidence(evidence: &Validated<GateEvidence>) -> [Cell; 4] {
    [
        evidence.run_id.as_str().into(),
        evidence.work_order_id.as_str().into(),
        evidence.created_at.into(),
        evidence.document().into(),
    ]
}

pub(crate) fn usage(usage: &Validated<UsageRecord>) -> [Cell; 4] {
    [
        usage.work_order_id.as_str().into(),
        usage.claim_version.into(),
        usage.created_at.into(),
        usage.document().into(),
    ]
}

/// Returns the pause_key, which is the first value too.
pub(crate) fn pause(key: &PauseKey, pause: &Validated<PauseState>, local: bool) -> (String, [Cell; 10]) {
    let mut ends =
        PauseEnds { local_objective_id: local.then(|| pause.objective_id.as_str()), ..PauseEnds::default() };
    let pause_key = match key {
        PauseKey::Workorder(id) => {
            ends.work_order_id = Some(id.as_str());
            format!("workorder:{id}")
        }
        PauseKey::Event(id) => {
            ends.event_id = Some(id.as_str());
            format!("event:{id}")
        }
        PauseKey::Deadline { at, urgency } => {
            ends.urgency = Some(u64::from(*urgency));
            format!("deadline:{}:{}:{at}", pause.azolla_id, pause.objective_id)
        }
    };
    let values = pause_values(&pause_key, pause, &ends);
    (pause_key, values)
}

/// The store-only columns of a pause_state: what it ends.
#[derive(Default)]
pub(crate) struct PauseEnds<'a> {
    pub(crate) work_order_id: Option<&'a str>,
    pub(crate) event_id: Option<&'a str>,
    pub(crate) local_objective_id: Option<&'a str>,
    pub(crate) urgency: Option<u64>,
}

pub(crate) fn pause_values(
    pause_key: &str,
    pause: &Validated<PauseState>,
    ends: &PauseEnds<'_>,
) -> [Cell; 10] {
    [
        pause_key.into(),
        pause.objective_id.as_str().into(),
        pause.azolla_id.as_str().into(),
        pause.reason.as_str().into(),
        pause.created_at.into(),
        pause.document().into(),
        ends.work_order_id.into(),
        ends.event_id.into(),
        ends.local_objective_id.into(),
        ends.urgency.into(),
    ]
}

pub(crate) fn manifest(manifest: &Validated<SessionManifest>, work_order_id: &str) -> [Cell; 5] {
    [
        manifest.manifest_id.as_str().into(),
        manifest.azolla_id.as_str().into(),
        manifest.created_at.into(),
        manifest.document().into(),
        work_order_id.into(),
    ]
}

pub(crate) fn resolution(resolution: &CandidateResolution, taken_back: bool) -> [Cell; 7] {
    [
        resolution.output_id.as_str().into(),
        resolution.candidate_index.into(),
        resolution.outcome.as_str().into(),
        resolution.objective_id.as_ref().map(|id| id.as_str()).into(),
        resolution.resolved_by.as_str().into(),
        resolution.created_at.into(),
        u64::from(taken_back).into(),
    ]
}

pub(crate) fn journal(
    entry: &JournalEntry,
    commit_id: Option<CommitId>,
) -> Result<[Cell; 12], SubstrateError> {
    Ok([
        entry.seq.into(),
        entry.at.into(),
        entry.actor.as_str().into(),
        entry.owner_id.as_ref().map(|id| id.as_str()).into(),
        entry.claim_version.into(),
        entry.step.as_str().into(),
        entry.resource_type.as_str().into(),
        entry.resource_id.as_str().into(),
        entry.from_status.as_deref().into(),
        entry.to_status.as_deref().into(),
        entry.detail.as_ref().map(json).transpose()?.into(),
        commit_id.as_ref().map(|id| id.as_str()).into(),
    ])
}

pub(crate) fn read_objective(row: &Row) -> Result<StoredObjective, SubstrateError> {
    Ok(StoredObjective {
        objective: Objective {
            objective_id: row.parsed(0)?,
            azolla_id: row.parsed(1)?,
            title: row.text(2)?.into(),
            acceptance_criteria: row.text(3)?.into(),
            objective_type: row.parsed(4)?,
            status: row.parsed(5)?,
            importance: small(row, 6)?,
            urgency: small(row, 7)?,
            blocked_reason: row.text_or_null(8)?.map(Into::into),
            blocked_on: read_json(row.text(9)?)?,
            metadata: read_json(row.text(10)?)?,
            created_at: row.parsed(11)?,
            updated_at: row.parsed(12)?,
        },
        version: row.number(13)?,
        todo_entry: row.number(14)?,
        waiting: row.flag(15)?,
        pause_key: row.text_or_null(16)?.map(Into::into),
    })
}

pub(crate) fn read_capture(row: &Row) -> Result<StoredCapture, SubstrateError> {
    Ok(StoredCapture {
        capture: CaptureBuffer {
            capture_id: row.parsed(0)?,
            azolla_id: row.parsed(1)?,
            raw_content: row.text(2)?.into(),
            source_label: row.text(3)?.into(),
            status: row.parsed(4)?,
            created_at: row.parsed(5)?,
            updated_at: row.parsed(6)?,
        },
        attempts: row.number(7)?,
        attempts_before: row.number(8)?,
        held: row.flag(9)?,
    })
}

pub(crate) fn read_event(row: &Row) -> Result<StoredEvent, SubstrateError> {
    Ok(StoredEvent {
        event: Event {
            event_id: row.parsed(0)?,
            event_type: row.parsed(1)?,
            resource_id: row.text(2)?.into(),
            azolla_id: row.parsed(3)?,
            created_at: row.parsed(4)?,
            processed: row.flag(5)?,
            processed_reason: row.text_or_null(6)?.map(|_| row.parsed(6)).transpose()?,
            processed_at: row.text_or_null(7)?.map(|_| row.parsed(7)).transpose()?,
        },
        entry: row.number_or_null(8)?,
        claim_count: row.number(9)?,
    })
}

pub(crate) fn read_workorder(row: &Row) -> Result<StoredWorkorder, SubstrateError> {
    Ok(StoredWorkorder {
        workorder: Workorder {
            work_order_id: row.parsed(0)?,
            objective_id: row.parsed(1)?,
            diazotroph_type: row.parsed(2)?,
            context_snapshot_id: row.parsed(3)?,
            branch_name: row.text_or_null(4)?.map(Into::into),
            budget_ms: row.number(5)?,
            status: row.parsed(6)?,
            created_at: row.parsed(7)?,
        },
        event_id: row.parsed(8)?,
        budget_consumed_ms: row.number(9)?,
        claim_count: row.number(10)?,
        stream_slot: row.number_or_null(11)?,
    })
}

pub(crate) fn read_resolution(row: &Row) -> Result<CandidateResolution, SubstrateError> {
    Ok(CandidateResolution {
        output_id: row.parsed(0)?,
        candidate_index: row.number(1)?,
        outcome: row.parsed(2)?,
        objective_id: row.text_or_null(3)?.map(|_| row.parsed(3)).transpose()?,
        resolved_by: row.text(4)?.into(),
        created_at: row.parsed(5)?,
    })
}

pub(crate) fn read_claim(row: &Row) -> Result<ClaimRecord, SubstrateError> {
    Ok(ClaimRecord {
        resource_type: row.parsed(0)?,
        resource_id: row.text(1)?.into(),
        owner_id: row.parsed(2)?,
        lease_expires_at: row.parsed(3)?,
        heartbeat_at: row.parsed(4)?,
        claim_version: row.number(5)?,
    })
}

/// Reads a journal row; its commit_id, the last column, stays in the store and the archive.
pub(crate) fn read_journal(row: &Row) -> Result<JournalEntry, SubstrateError> {
    Ok(JournalEntry {
        seq: row.number(0)?,
        at: row.parsed(1)?,
        actor: row.parsed(2)?,
        owner_id: row.text_or_null(3)?.map(|_| row.parsed(3)).transpose()?,
        claim_version: row.number_or_null(4)?,
        step: row.parsed(5)?,
        resource_type: row.text(6)?.into(),
        resource_id: row.text(7)?.into(),
        from_status: row.text_or_null(8)?.map(Into::into),
        to_status: row.text_or_null(9)?.map(Into::into),
        detail: row.text_or_null(10)?.map(read_json).transpose()?,
    })
}

/// Reads the stored document in the first column. It was validated on its way in; `verify` checks it again.
pub(crate) fn read_document<T: DeserializeOwned>(row: &Row) -> Result<T, SubstrateError> {
    read_json(row.text(0)?)
}

fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, SubstrateError> {
    serde_json::from_str(text).map_err(|error| SubstrateError::corrupt(error.to_string()))
}

fn small(row: &Row, column: usize) -> Result<u8, SubstrateError> {
    u8::try_from(row.number(column)?).map_err(|error| SubstrateError::corrupt(error.to_string()))
}
