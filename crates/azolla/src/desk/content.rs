//! What lies on the operator's desk in one azolla, read from its store once.

use std::{collections::HashMap, sync::Arc};

use azolla_protocol::{
    AzollaId, AzollaType, JournalEntry, Objective, ObjectiveId, ObjectiveStatus, PauseState, ResourceRef,
    Timestamp, Workorder,
};
use azolla_substrate::{
    JournalCursor, StoredObjective, StoredWorkorder, StreamState, SubstrateError, SubstrateRead,
};
use serde_json::{Value, json};

use super::notes::Notes;
use crate::{config::AzollaConfig, failure::sentence, home::Look, line};

/// One azolla, as the page shows it.
pub(crate) struct Desk {
    /// Whose.
    pub(crate) azolla_id: AzollaId,
    /// What was read, or why nothing could be.
    pub(crate) content: Result<Content, String>,
}

/// What the home remembers about an azolla.
#[derive(Default)]
pub(crate) struct Mark {
    /// How far the operator has looked.
    pub(crate) look: Option<Look>,
    /// When the operator last let the repository's file count, by its branches.
    pub(crate) trusted_at: HashMap<String, Timestamp>,
}

/// What was read.
pub(crate) struct Content {
    /// What type of azolla it is.
    pub(crate) azolla_type: AzollaType,
    /// The store's time.
    pub(crate) now: Timestamp,
    /// Open objectives: neither confirmed nor archived.
    pub(crate) open: Vec<StoredObjective>,
    /// Their current pause_states.
    pub(crate) pauses: HashMap<ObjectiveId, PauseState>,
    /// Workorders under way.
    pub(crate) runs: Vec<Run>,
    /// How full the work stream and the desk are.
    pub(crate) stream: StreamState,
    /// Notes and what came of them, where there are any to take.
    pub(crate) notes: Option<Notes>,
    /// What happened since the last look.
    pub(crate) since: Since,
    /// When the operator last let the repository's file count, by its branches.
    pub(crate) trusted_at: HashMap<String, Timestamp>,
}

/// A workorder that is created and not yet gated.
pub(crate) struct Run {
    /// The workorder.
    pub(crate) stored: StoredWorkorder,
    /// Since when somebody works on it; none if nobody does.
    pub(crate) live: bool,
}

/// What happened since the last look.
pub(crate) struct Since {
    /// When that was; none if there was none.
    pub(crate) looked_at: Option<Timestamp>,
    /// What matters of it, oldest first.
    pub(crate) entries: Vec<JournalEntry>,
    /// Whether there is more of it, further back.
    pub(crate) is_cut: bool,
    /// Where the journal ends now, if that has to be kept: it has moved, or nothing was kept before.
    pub(crate) kept: Option<JournalCursor>,
}

/// More than one page can show. Beyond it the lists are cut, never the counts of the store.
const LISTED_MAX: u64 = 500;

impl Desk {
    /// Reads one azolla. A store that is away is a line on the page, not its end.
    pub(crate) async fn load(
        azolla: &AzollaConfig,
        store: impl Future<Output = anyhow::Result<Arc<dyn SubstrateRead>>>,
        mark: Mark,
    ) -> Self {
        let content = match store.await {
            Ok(store) => Content::read(&*store, azolla.azolla_type, mark)
                .await
                .map_err(|error| sentence(&error.into())),
            Err(error) => Err(sentence(&error)),
        };
        Self { azolla_id: azolla.id.clone(), content }
    }

    /// Returns the mark to keep, if there is a new one.
    pub(crate) fn new_look(&self) -> Option<Look> {
        let content = self.content.as_ref().ok()?;
        let cursor = content.since.kept?;
        Some(Look { cursor: cursor.to_string(), at: content.now })
    }

    /// Returns the desk for a program.
    pub(crate) fn document(&self) -> Value {
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
            "notes": content.notes.as_ref().map(Notes::document),
            "last_looked_at": content.since.looked_at,
            "changes": content.since.entries,
        })
    }
}

impl Content {
    async fn read(
        read: &dyn SubstrateRead,
        azolla_type: AzollaType,
        mark: Mark,
    ) -> Result<Self, SubstrateError> {
        let now = read.now().await?;
        let stream = read.stream().await?;
        let pauses = read.current_pause_states().await?;
        let pauses = pauses.into_iter().map(|pause| (pause.objective_id.clone(), pause)).collect();
        let open = read.open_objectives(LISTED_MAX).await?;
        Ok(Self {
            azolla_type,
            now,
            stream,
            open,
            pauses,
            runs: runs(read, now).await?,
            notes: match azolla_type {
                AzollaType::TaskMgmt => Some(Notes::read(read).await?),
                AzollaType::CodePatch => None,
            },
            since: since(read, azolla_type, mark.look).await?,
            trusted_at: mark.trusted_at,
        })
    }

    /// Returns the open objectives that stand at `status`.
    pub(crate) fn with_status(&self, status: ObjectiveStatus) -> impl Iterator<Item = &Objective> {
        self.open.iter().map(|stored| &stored.objective).filter(move |objective| objective.status == status)
    }

    /// Returns the title of an objective that is on the desk.
    pub(crate) fn title(&self, id: &ObjectiveId) -> Option<&str> {
        Some(&self.objective(id)?.title)
    }

    /// Returns an objective that is on the desk.
    pub(crate) fn objective(&self, id: &ObjectiveId) -> Option<&Objective> {
        self.open.iter().map(|stored| &stored.objective).find(|objective| objective.objective_id == *id)
    }
}

async fn runs(read: &dyn SubstrateRead, now: Timestamp) -> Result<Vec<Run>, SubstrateError> {
    let mut runs = Vec::new();
    let workorders = [read.created_workorders(10).await?, read.ungated_workorders(10).await?];
    for stored in workorders.into_iter().flatten() {
        let claim = read.unreleased_claim(&ResourceRef::from(&stored.workorder.work_order_id)).await?;
        let live = claim.is_some_and(|claim| claim.is_live(now));
        runs.push(Run { stored, live });
    }
    Ok(runs)
}

/// Reads what came after the last look, backwards from the newest, so that it costs what is new, up to what can be shown,
/// and not what happened.
async fn since(
    read: &dyn SubstrateRead,
    azolla_type: AzollaType,
    look: Option<Look>,
) -> Result<Since, SubstrateError> {
    const LOOKED_AT_MAX: u64 = 1_000;
    let mark: Option<JournalCursor> = look.as_ref().and_then(|look| look.cursor.parse().ok());
    // At the first look everything is new, so nothing is worth a line.
    let latest = match mark {
        Some(mark) => read.journal_told(mark, LOOKED_AT_MAX).await?,
        None => read.journal_told(JournalCursor::default(), 1).await?,
    };
    let newest = latest.first().map(|(at, _)| *at);
    let is_cut = latest.len() as u64 == LOOKED_AT_MAX;
    let mut entries: Vec<JournalEntry> = latest.into_iter().map(|(_, entry)| entry).collect();
    entries.retain(|entry| mark.is_some() && line::matters(entry, azolla_type));
    entries.reverse();
    let kept = match mark {
        Some(_) => newest,
        None => Some(newest.unwrap_or_default()),
    };
    Ok(Since { looked_at: look.map(|look| look.at), entries, is_cut, kept })
}
