//! What a TASK_MGMT azolla has on the desk: notes, candidates, what is overdue, the last orientation.

use azolla_protocol::{AzollaId, ObjectiveId, SessionManifest, WorkOrderId, content::TriageContent};
use azolla_substrate::{DeadlinePause, SubstrateError, SubstrateRead};
use serde_json::{Value, json};

use super::desk::Desk;

/// What was read.
#[derive(Default)]
pub(super) struct Notes {
    /// Notes that wait for triage.
    pub(super) pending: u64,
    /// Those of them that were given up.
    pub(super) held: u64,
    /// Candidates that wait for the operator.
    pub(super) candidates: u64,
    /// The title of the oldest of them.
    pub(super) candidate: Option<String>,
    /// What was pointed at as overdue and not moved since, as far as this store knows.
    pub(super) overdue: Vec<DeadlinePause>,
    /// The last orientation.
    pub(super) manifest: Option<SessionManifest>,
    /// What was wrong with its sources.
    pub(super) remarks: Vec<String>,
}

/// More than one page can show.
const LISTED_MAX: u64 = 200;

impl Notes {
    /// Reads them; the cost does not grow with history.
    pub(super) async fn read(read: &dyn SubstrateRead) -> Result<Self, SubstrateError> {
        let pending = read.count_pending_captures().await?;
        let held = read.count_held_captures().await?;
        let mut titles = Vec::new();
        for found in read.open_candidates(LISTED_MAX).await? {
            let content: Option<TriageContent> = serde_json::from_str(&found.output.content).ok();
            let candidates = content.map(|content| content.candidates).unwrap_or_default();
            let resolved = |index: u64| found.resolutions.iter().any(|one| one.candidate_index == index);
            titles.extend((0..).zip(candidates).filter(|(index, _)| !resolved(*index)).map(|(_, c)| c.title));
        }
        let manifest = read.latest_manifest().await?;
        Ok(Self {
            pending,
            held,
            candidates: titles.len() as u64,
            candidate: titles.into_iter().next(),
            overdue: overdue(read).await?,
            remarks: remarks(read, manifest.as_ref()).await?,
            manifest,
        })
    }

    /// Returns them for a program.
    pub(super) fn document(&self) -> Value {
        json!({
            "captures_pending": self.pending,
            "captures_held": self.held,
            "candidates_open": self.candidates,
            "overdue": self.overdue.iter().map(|deadline| &deadline.pause).collect::<Vec<_>>(),
            "session_manifest": self.manifest,
            "remarks": self.remarks,
        })
    }
}

/// Returns the deadlines that passed and that no snooze came after.
async fn overdue(read: &dyn SubstrateRead) -> Result<Vec<DeadlinePause>, SubstrateError> {
    let mut overdue = read.deadline_pauses(LISTED_MAX).await?;
    if !overdue.is_empty() {
        let snoozes = read.snoozes().await?;
        overdue.retain(|deadline| {
            let pause = &deadline.pause;
            let about = (&pause.azolla_id, &pause.objective_id);
            !snoozes.iter().any(|snooze| (&snooze.azolla_id, &snooze.objective_id) == about)
        });
    }
    Ok(overdue)
}

/// Returns what the snapshot of the last orientation noted about its sources.
async fn remarks(
    read: &dyn SubstrateRead,
    manifest: Option<&SessionManifest>,
) -> Result<Vec<String>, SubstrateError> {
    let Some(manifest) = manifest else { return Ok(Vec::new()) };
    let Ok(work_order_id) = WorkOrderId::new(format!("wo-{}", manifest.manifest_id.body())) else {
        return Ok(Vec::new());
    };
    let Some(stored) = read.workorder(&work_order_id).await? else { return Ok(Vec::new()) };
    let snapshot = read.context_snapshot(&stored.workorder.context_snapshot_id).await?;
    let remarks = snapshot.and_then(|snapshot| snapshot.metadata?.get("remarks").cloned());
    Ok(remarks.and_then(|remarks| serde_json::from_value(remarks).ok()).unwrap_or_default())
}

/// Returns what is overdue over all desks: an objective of this machine that moved since is not.
pub(super) fn still_overdue(desks: &[Desk]) -> impl Iterator<Item = &DeadlinePause> {
    let contents = desks.iter().filter_map(|desk| desk.content.as_ref().ok());
    let all = contents.filter_map(|content| content.notes.as_ref()).flat_map(|notes| &notes.overdue);
    all.filter(move |deadline| {
        let pause = &deadline.pause;
        match desks.iter().find(|desk| desk.azolla_id == pause.azolla_id) {
            // Elsewhere: what was last heard counts.
            None => true,
            Some(desk) => {
                stands(desk, &pause.objective_id).is_some_and(|updated_at| updated_at <= pause.created_at)
            }
        }
    })
}

/// Returns when an open objective last changed.
fn stands(desk: &Desk, id: &ObjectiveId) -> Option<azolla_protocol::Timestamp> {
    let content = desk.content.as_ref().ok()?;
    let open = content.open.iter().find(|stored| stored.objective.objective_id == *id)?;
    Some(open.objective.updated_at)
}

/// Tells whether an objective is overdue.
pub(super) fn is_overdue(desks: &[Desk], azolla_id: &AzollaId, id: &ObjectiveId) -> bool {
    still_overdue(desks)
        .any(|deadline| deadline.pause.azolla_id == *azolla_id && deadline.pause.objective_id == *id)
}
