//! What a TASK_MGMT azolla has on the desk: notes, candidates, what is overdue, the last orientation.

use azolla_protocol::{
    AzollaId, ContextSnapshot, ObjectiveId, PauseState, QueryStatus, SessionManifest, WorkOrderId,
    content::{AzollaReport, ManifestInput, ObjectiveBrief, TriageContent, read_data},
    due_by,
};
use azolla_substrate::{DeadlinePause, SubstrateError, SubstrateRead};
use serde_json::{Value, json};

use super::content::Desk;
use crate::line;

/// What was read.
#[derive(Default)]
pub(crate) struct Notes {
    /// Notes that wait for triage.
    pub(crate) pending: u64,
    /// Those of them that were given up.
    pub(crate) held: u64,
    /// How the oldest of these begins.
    pub(crate) first_held: Option<String>,
    /// Candidates that wait for the operator.
    pub(crate) candidates: u64,
    /// The title of the oldest of them.
    pub(crate) candidate: Option<String>,
    /// What was pointed at as overdue and not put off since.
    pub(crate) overdue: Vec<Pointed>,
    /// The last orientation.
    pub(crate) manifest: Option<SessionManifest>,
    /// What was wrong with its sources.
    pub(crate) remarks: Vec<String>,
}

/// A deadline that passed.
pub(crate) struct Pointed {
    /// What was recorded.
    pub(crate) deadline: DeadlinePause,
    /// Whether it still stands by what was last heard; of an azolla of this machine more is known.
    pub(crate) by_hearsay: bool,
}

/// How long a deadline of another machine is shown if nothing is heard of it: it may be settled there.
const HEARSAY_MS: i64 = 14 * 24 * 60 * 60 * 1_000;

/// More than one page can show.
const LISTED_MAX: u64 = 200;

impl Notes {
    /// Reads them; the cost does not grow with history.
    pub(crate) async fn read(read: &dyn SubstrateRead) -> Result<Self, SubstrateError> {
        let pending = read.count_pending_captures().await?;
        let held = read.count_held_captures().await?;
        let first_held = match &read.held_captures(1).await?[..] {
            [first, ..] => read.capture(first).await?,
            [] => None,
        };
        let mut titles = Vec::new();
        for found in read.open_candidates(LISTED_MAX).await? {
            let content: Option<TriageContent> = serde_json::from_str(&found.output.content).ok();
            let candidates = content.map(|content| content.candidates).unwrap_or_default();
            let resolved = |index: u64| found.resolutions.iter().any(|one| one.candidate_index == index);
            titles.extend((0..).zip(candidates).filter(|(index, _)| !resolved(*index)).map(|(_, c)| c.title));
        }
        let manifest = read.latest_manifest().await?;
        let snapshot = snapshot(read, manifest.as_ref()).await?;
        Ok(Self {
            pending,
            held,
            first_held: first_held.map(|stored| line::first_line(&stored.capture.raw_content)),
            candidates: titles.len() as u64,
            candidate: titles.into_iter().next(),
            overdue: overdue(read, snapshot.as_ref()).await?,
            remarks: remarks(snapshot.as_ref()),
            manifest,
        })
    }

    /// Returns them for a program.
    pub(crate) fn document(&self) -> Value {
        json!({
            "captures_pending": self.pending,
            "captures_held": self.held,
            "candidates_open": self.candidates,
            "overdue": self.overdue.iter().map(|pointed| &pointed.deadline.pause).collect::<Vec<_>>(),
            "session_manifest": self.manifest,
            "remarks": self.remarks,
        })
    }
}

/// Returns the deadlines that passed and that no snooze came after.
async fn overdue(
    read: &dyn SubstrateRead,
    snapshot: Option<&ContextSnapshot>,
) -> Result<Vec<Pointed>, SubstrateError> {
    let deadlines = read.deadline_pauses(LISTED_MAX).await?;
    if deadlines.is_empty() {
        return Ok(Vec::new());
    }
    let (snoozes, now) = (read.snoozes().await?, read.now().await?);
    let said = snapshot.and_then(|snapshot| read_data(&snapshot.full_prompt_text));
    let kept = deadlines.into_iter().filter(|deadline| {
        let pause = &deadline.pause;
        let about = (&pause.azolla_id, &pause.objective_id);
        !snoozes.iter().any(|snooze| (&snooze.azolla_id, &snooze.objective_id) == about)
    });
    let pointed = kept.map(|deadline| Pointed {
        by_hearsay: deadline.pause.created_at.plus_ms(HEARSAY_MS) > now
            && said.as_ref().is_none_or(|said| !is_settled(&deadline, said)),
        deadline,
    });
    Ok(pointed.collect())
}

/// Tells whether an orientation that came after a deadline was recorded shows that it is no longer passed: the azolla
/// told all that it has, and the objective is not among it, or has another deadline.
fn is_settled(deadline: &DeadlinePause, said: &ManifestInput) -> bool {
    let pause = &deadline.pause;
    let told_all = |report: &&AzollaReport| {
        report.azolla_id == pause.azolla_id && report.status == QueryStatus::Ok && report.remark.is_empty()
    };
    let Some(report) = said.azollas.iter().find(told_all) else { return false };
    let is_overdue = |brief: &ObjectiveBrief| {
        brief.objective_id == pause.objective_id && brief.deadline.is_some_and(|at| at <= said.now)
    };
    said.now > pause.created_at && !report.objectives.iter().any(is_overdue)
}

/// Returns what an orientation was made from.
async fn snapshot(
    read: &dyn SubstrateRead,
    manifest: Option<&SessionManifest>,
) -> Result<Option<ContextSnapshot>, SubstrateError> {
    let Some(manifest) = manifest else { return Ok(None) };
    let Ok(work_order_id) = WorkOrderId::new(format!("wo-{}", manifest.manifest_id.body())) else {
        return Ok(None);
    };
    let Some(stored) = read.workorder(&work_order_id).await? else { return Ok(None) };
    read.context_snapshot(&stored.workorder.context_snapshot_id).await
}

/// Returns what the snapshot of the last orientation noted about its sources.
fn remarks(snapshot: Option<&ContextSnapshot>) -> Vec<String> {
    let remarks = snapshot.and_then(|snapshot| snapshot.metadata.as_ref()?.get("remarks").cloned());
    remarks.and_then(|remarks| serde_json::from_value(remarks).ok()).unwrap_or_default()
}

/// Returns what is overdue over all desks: an objective of this machine that moved since is not, unless the day that it
/// was due is over.
pub(crate) fn still_overdue(desks: &[Desk]) -> impl Iterator<Item = &DeadlinePause> {
    let contents = desks.iter().filter_map(|desk| desk.content.as_ref().ok());
    let all = contents.filter_map(|content| content.notes.as_ref()).flat_map(|notes| &notes.overdue);
    let still = all.filter(move |pointed| {
        let pause = &pointed.deadline.pause;
        match desks.iter().find(|desk| desk.azolla_id == pause.azolla_id) {
            None => pointed.by_hearsay,
            Some(desk) => stands(desk, pause),
        }
    });
    still.map(|pointed| &pointed.deadline)
}

/// Tells whether an objective of this machine is as it was when its deadline passed.
fn stands(desk: &Desk, pause: &PauseState) -> bool {
    let content = desk.content.as_ref().ok();
    content.and_then(|content| content.objective(&pause.objective_id)).is_some_and(|objective| {
        objective.updated_at <= pause.created_at || due_by(objective).is_some_and(|at| at <= pause.created_at)
    })
}

/// Tells whether an objective is overdue.
pub(crate) fn is_overdue(desks: &[Desk], azolla_id: &AzollaId, id: &ObjectiveId) -> bool {
    still_overdue(desks)
        .any(|deadline| deadline.pause.azolla_id == *azolla_id && deadline.pause.objective_id == *id)
}

#[cfg(test)]
mod tests;
