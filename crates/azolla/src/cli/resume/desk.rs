//! What lies on the operator's desk in one azolla, read from its store once.

use std::collections::HashMap;

use azolla_protocol::{
    AzollaId, JournalEntry, Objective, ObjectiveId, ObjectiveStatus, PauseState, ResourceRef, Timestamp,
    Workorder, lifecycle,
};
use azolla_substrate::{
    JournalCursor, ObjectiveFilter, StoredObjective, StoredWorkorder, StreamState, SubstrateError,
    SubstrateRead,
};
use serde_json::{Value, json};

use crate::{cli::log::line, config::AzollaConfig, deployment::Deployment, failure::sentence, home::Look};

/// One azolla, as the page shows it.
pub(super) struct Desk {
    /// Whose.
    pub(super) azolla_id: AzollaId,
    /// What was read, or why nothing could be.
    pub(super) content: Result<Content, String>,
}

/// What the home remembers about an azolla.
#[derive(Default)]
pub(super) struct Mark {
    /// How far the operator has looked.
    pub(super) look: Option<Look>,
    /// When the operator last let the repository's file count.
    pub(super) trusted_at: Option<Timestamp>,
}

/// What was read.
pub(super) struct Content {
    /// The store's time.
    pub(super) now: Timestamp,
    /// Open objectives: neither confirmed nor archived.
    pub(super) open: Vec<StoredObjective>,
    /// Their current pause_states.
    pub(super) pauses: HashMap<ObjectiveId, PauseState>,
    /// Workorders under way.
    pub(super) runs: Vec<Run>,
    /// How full the work stream and the desk are.
    pub(super) stream: StreamState,
    /// Captures that wait for triage.
    pub(super) captures: usize,
    /// What happened since the last look.
    pub(super) since: Since,
    /// When the operator last let the repository's file count.
    pub(super) trusted_at: Option<Timestamp>,
}

/// A workorder that is created and not yet gated.
pub(super) struct Run {
    /// The workorder.
    pub(super) stored: StoredWorkorder,
    /// Since when somebody works on it; none if nobody does.
    pub(super) live: bool,
}

/// What happened since the last look.
pub(super) struct Since {
    /// When that was; none if there was none.
    pub(super) looked_at: Option<Timestamp>,
    /// What matters of it, oldest first.
    pub(super) entries: Vec<JournalEntry>,
    /// Where the journal ends now, if that has to be kept: it has moved, or nothing was kept before.
    pub(super) kept: Option<JournalCursor>,
}

/// More than one page can show. Beyond it the lists are cut, never the counts of the store.
const LISTED_MAX: u64 = 500;

impl Desk {
    /// Reads one azolla. A store that is away is a line on the page, not its end.
    pub(super) async fn load(deployment: &Deployment, azolla: &AzollaConfig, mark: Mark) -> Self {
        let content = match deployment.open(azolla).await {
            Ok(store) => Content::read(store.read(), mark).await.map_err(|error| sentence(&error.into())),
            Err(error) => Err(sentence(&error)),
        };
        Self { azolla_id: azolla.id.clone(), content }
    }

    /// Returns the mark to keep, if there is a new one.
    pub(super) fn new_look(&self) -> Option<Look> {
        let content = self.content.as_ref().ok()?;
        let cursor = content.since.kept?;
        Some(Look { cursor: cursor.to_string(), at: content.now })
    }

    /// Returns the desk for a program.
    pub(super) fn document(&self) -> Value {
        let content = match &self.content {
            Ok(content) => content,
            Err(error) => return json!({"azolla_id": self.azolla_id, "unreachable": error}),
        };
        let of = |status: ObjectiveStatus| -> Vec<&Objective> { content.with_status(status).collect() };
        let running: Vec<&Workorder> = content.runs.iter().map(|run| &run.stored.workorder).collect();
        json!({
            "azolla_id": self.azolla_id,
            "awaiting_confirmation": of(ObjectiveStatus::Done),
            "blocked": of(ObjectiveStatus::Blocked),
            "new": of(ObjectiveStatus::New),
            "approved": of(ObjectiveStatus::Todo),
            "pause_states": content.pauses.values().collect::<Vec<_>>(),
            "workorders": running,
            "results_waiting": content.stream.waiting,
            "captures_pending": content.captures,
            "last_looked_at": content.since.looked_at,
            "changes": content.since.entries,
        })
    }
}

impl Content {
    async fn read(read: &dyn SubstrateRead, mark: Mark) -> Result<Self, SubstrateError> {
        let now = read.now().await?;
        let stream = read.stream().await?;
        let pauses = read.current_pause_states().await?;
        let pauses = pauses.into_iter().map(|pause| (pause.objective_id.clone(), pause)).collect();
        let open = open_objectives(read, &pauses, stream.waiting).await?;
        Ok(Self {
            now,
            stream,
            open,
            pauses,
            runs: runs(read, now).await?,
            captures: read.pending_captures(u64::MAX, LISTED_MAX).await?.len(),
            since: since(read, mark.look).await?,
            trusted_at: mark.trusted_at,
        })
    }

    /// Returns the open objectives that stand at `status`.
    pub(super) fn with_status(&self, status: ObjectiveStatus) -> impl Iterator<Item = &Objective> {
        self.open.iter().map(|stored| &stored.objective).filter(move |objective| objective.status == status)
    }

    /// Returns the title of an objective that is on the desk.
    pub(super) fn title(&self, id: &ObjectiveId) -> Option<&str> {
        let found = self.open.iter().find(|stored| stored.objective.objective_id == *id)?;
        Some(&found.objective.title)
    }
}

/// What is done and confirmed grows for ever, so DONE ones are found through their pause_states. Only where the
/// store counts more than that are all of them read.
async fn open_objectives(
    read: &dyn SubstrateRead,
    pauses: &HashMap<ObjectiveId, PauseState>,
    waiting: u64,
) -> Result<Vec<StoredObjective>, SubstrateError> {
    use ObjectiveStatus::{Blocked, Done, InProgress, New, Todo};
    let mut open = Vec::new();
    for status in [New, Todo, InProgress, Blocked] {
        open.extend(page(read, status, None).await?);
    }
    for id in pauses.keys() {
        if let Some(stored) = read.objective(id).await?.filter(|stored| stored.objective.status == Done) {
            open.push(stored);
        }
    }
    let found = open.iter().filter(|stored| stored.waiting).count() as u64;
    if found < waiting {
        open.retain(|stored| stored.objective.status != Done);
        let mut after = None;
        loop {
            let done = page(read, Done, after).await?;
            after = done.last().map(|stored| Box::new(stored.objective.clone()));
            let is_last = (done.len() as u64) < LISTED_MAX;
            open.extend(done);
            if is_last {
                break;
            }
        }
    }
    let is_open = |objective: &Objective| {
        let standing = objective.objective_type == azolla_protocol::ObjectiveType::Standing;
        !standing && !lifecycle::is_archived(objective) && !lifecycle::is_confirmed(objective)
    };
    open.retain(|stored| is_open(&stored.objective));
    Ok(open)
}

async fn page(
    read: &dyn SubstrateRead,
    status: ObjectiveStatus,
    after: Option<Box<Objective>>,
) -> Result<Vec<StoredObjective>, SubstrateError> {
    let filter = ObjectiveFilter { status: Some(status), max_urgency: 4, after, limit: LISTED_MAX };
    read.objectives(&filter).await
}

async fn runs(read: &dyn SubstrateRead, now: Timestamp) -> Result<Vec<Run>, SubstrateError> {
    let mut runs = Vec::new();
    let workorders = [read.created_workorders(10).await?, read.ungated_workorders(10).await?];
    for stored in workorders.into_iter().flatten() {
        let claim = read.claim(&ResourceRef::from(&stored.workorder.work_order_id)).await?;
        let live = claim.is_some_and(|claim| claim.lease_expires_at > now);
        runs.push(Run { stored, live });
    }
    Ok(runs)
}

async fn since(read: &dyn SubstrateRead, look: Option<Look>) -> Result<Since, SubstrateError> {
    const PAGE: u64 = 1_000;
    let mark: Option<JournalCursor> = look.as_ref().and_then(|look| look.cursor.parse().ok());
    let mut cursor = mark.unwrap_or_default();
    let kept = mark.is_none().then_some(cursor);
    let mut since = Since { looked_at: look.map(|look| look.at), entries: Vec::new(), kept };
    loop {
        let rows = read.journal_after(cursor, PAGE).await?;
        let is_last = (rows.len() as u64) < PAGE;
        for (at, entry) in rows {
            cursor = at;
            since.kept = Some(at);
            // At the first look everything is new, so nothing is worth a line.
            if mark.is_some() && line::matters(&entry) {
                since.entries.push(entry);
            }
        }
        if is_last {
            return Ok(since);
        }
    }
}
