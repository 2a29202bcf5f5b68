//! The typed reads, written once for both backends. Lists of open work go through partial indexes, so that their
//! cost does not grow with history.

use std::collections::HashSet;

use azolla_protocol::{
    AzollaId, AzollaType, ClaimRecord, CommitId, ContextSnapshot, Event, EventId, EventType, GateEvidence,
    JournalEntry, Objective, ObjectiveId, ObjectiveStatus, ObjectiveType, OutputBundle, OutputId,
    PauseReason, PauseState, ResourceRef, RunId, RunRecord, SnapshotId, Timestamp, UsageRecord, WorkOrderId,
    Workorder, WorkorderStatus,
    lifecycle::{is_archived, is_confirmed},
};
use serde::de::DeserializeOwned;

use crate::{
    error::SubstrateError,
    rows, sql,
    statement::{Cell, Row, Statement},
    substrate::SubstrateRead,
};

/// Whose Substrate a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The azolla.
    pub azolla_id: AzollaId,
    /// Its blueprint.
    pub azolla_type: AzollaType,
}

/// An objective with its store-only columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredObjective {
    /// The artifact.
    pub objective: Objective,
    /// Compared by every write (S-3).
    pub version: u64,
    /// How often it entered TODO (W-1).
    pub todo_entry: u64,
    /// Whether its result waits for the operator (O-3).
    pub waiting: bool,
    /// The key of its current pause_state.
    pub pause_key: Option<String>,
}

/// An event with its store-only columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// The artifact.
    pub event: Event,
    /// The entry into TODO or the capture's attempt that it stands for.
    pub entry: Option<u64>,
    /// Claims without an outcome (W-7).
    pub claim_count: u64,
}

/// A workorder with its store-only columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredWorkorder {
    /// The artifact.
    pub workorder: Workorder,
    /// The event that it answers.
    pub event_id: EventId,
    /// Budget used by ended and lost claims (B-2).
    pub budget_consumed_ms: u64,
    /// Claims without an outcome in this phase (W-7).
    pub claim_count: u64,
    /// Its place in the work stream; none once it is gated (W-4).
    pub stream_slot: Option<u64>,
}

/// How full the work stream and the operator's desk are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamState {
    /// Workorders created and not yet gated.
    pub open: u64,
    /// Results that wait for the operator.
    pub waiting: u64,
}

/// Which objectives to list.
#[derive(Clone, Debug)]
pub struct ObjectiveFilter {
    /// Only these, if any is named.
    pub status: Option<ObjectiveStatus>,
    /// At most this urgency number.
    pub max_urgency: u8,
    /// Only those after this one, in the order of creation.
    pub after: Option<Box<Objective>>,
    /// How many at the most.
    pub limit: u64,
}

/// Which tickets a page lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tickets {
    /// All that are not archived.
    All,
    /// Not approved.
    New,
    /// Blocked.
    Blocked,
    /// Confirmed.
    Confirmed,
    /// Archived, whatever they were.
    Archived,
}

/// Where a page of a list that shows the newest first begins: before the instant and the id of the last row of the page
/// before. A key and not a count, so that a page costs the same however far back it is, and over several azollas too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    /// When that row was created.
    pub created_at: Timestamp,
    /// Its id.
    pub id: String,
}

/// Which pause_states to list.
#[derive(Clone, Debug)]
pub struct PauseFilter {
    /// Whose objectives.
    pub azolla_id: AzollaId,
    /// Only those of this objective, if one is named.
    pub objective_id: Option<ObjectiveId>,
    /// Only those for this reason, if one is named.
    pub reason: Option<PauseReason>,
    /// Only those from this instant on, if one is named.
    pub since: Option<Timestamp>,
    /// How many at the most.
    pub limit: u64,
}

impl dyn SubstrateRead + '_ {
    /// Returns whose Substrate this is.
    pub async fn identity(&self) -> Result<Identity, SubstrateError> {
        let rows = self.rows(Statement::new(sql::AZOLLA, [])).await?;
        let row = rows.first().ok_or_else(|| SubstrateError::corrupt("no azolla is named"))?;
        Ok(Identity { azolla_id: row.parsed(0)?, azolla_type: row.parsed(1)? })
    }

    /// Returns an objective.
    pub async fn objective(&self, id: &ObjectiveId) -> Result<Option<StoredObjective>, SubstrateError> {
        self.one(sql::OBJECTIVE, id.as_str(), rows::read_objective).await
    }

    /// Returns a page of objectives, oldest first.
    pub async fn objectives(&self, filter: &ObjectiveFilter) -> Result<Vec<StoredObjective>, SubstrateError> {
        let after = filter.after.as_ref();
        let values = [
            after.map_or_else(String::new, |objective| objective.created_at.to_string()).into(),
            after.map_or("", |objective| objective.objective_id.as_str()).into(),
            filter.status.map(|status| status.as_str()).into(),
            u64::from(filter.max_urgency).into(),
            filter.limit.into(),
        ];
        self.many(Statement::new(sql::OBJECTIVES, values), rows::read_objective).await
    }

    /// Returns a page of tickets, newest first.
    pub async fn tickets_before(
        &self,
        which: Tickets,
        before: Option<&Before>,
        limit: u64,
    ) -> Result<Vec<StoredObjective>, SubstrateError> {
        let sql = match which {
            Tickets::All => sql::TICKETS_BEFORE,
            Tickets::New => sql::TICKETS_NEW_BEFORE,
            Tickets::Blocked => sql::TICKETS_BLOCKED_BEFORE,
            Tickets::Confirmed => sql::TICKETS_CONFIRMED_BEFORE,
            Tickets::Archived => sql::TICKETS_ARCHIVED_BEFORE,
        };
        self.many(Statement::new(sql, before_cells(before, limit)), rows::read_objective).await
    }

    /// Returns a page of the run records of all objectives, newest first.
    pub async fn runs_listed(
        &self,
        before: Option<&Before>,
        limit: u64,
    ) -> Result<Vec<RunRecord>, SubstrateError> {
        self.many(Statement::new(sql::RUNS_BEFORE, before_cells(before, limit)), rows::read_document).await
    }

    /// Returns the tickets that are open: NEW, approved, running, blocked, or done and not confirmed. Archived ones are
    /// not. At most `limit` of each sort; the cost does not grow with history.
    pub async fn open_objectives(&self, limit: u64) -> Result<Vec<StoredObjective>, SubstrateError> {
        Ok(self.open_objectives_and_whether_all(limit).await?.0)
    }

    /// Does the same, and tells whether these are all that there are.
    pub async fn open_objectives_and_whether_all(
        &self,
        limit: u64,
    ) -> Result<(Vec<StoredObjective>, bool), SubstrateError> {
        let mut open: Vec<StoredObjective> = Vec::new();
        let (mut seen, mut are_all) = (HashSet::new(), true);
        for sql in [sql::OBJECTIVES_WAITING, sql::OBJECTIVES_RESTING, sql::OBJECTIVES_TODO] {
            let one_more = limit.saturating_add(1);
            let mut some = self.many(Statement::new(sql, [one_more.into()]), rows::read_objective).await?;
            if some.len() as u64 > limit {
                are_all = false;
                some.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            }
            open.extend(some);
        }
        for running in [WorkorderStatus::Created, WorkorderStatus::Executed] {
            for stored in self.open_workorders(running, limit).await? {
                open.extend(self.objective(&stored.workorder.objective_id).await?);
            }
        }
        // What moved between two of these statements is there twice.
        open.retain(|stored| {
            let objective = &stored.objective;
            objective.objective_type == ObjectiveType::Ticket
                && !is_archived(objective)
                && !is_confirmed(objective)
                && seen.insert(objective.objective_id.clone())
        });
        Ok((open, are_all))
    }

    /// Returns an objective as it was at a version.
    pub async fn objective_at(
        &self,
        id: &ObjectiveId,
        version: u64,
    ) -> Result<Option<Objective>, SubstrateError> {
        let values = [id.as_str().into(), version.into()];
        let found = self.rows(Statement::new(sql::OBJECTIVE_AT_VERSION, values)).await?;
        found.first().map(rows::read_document).transpose()
    }

    /// Returns the TODO tickets whose entry into TODO has no event yet, oldest first (W-1). One that cannot be read hides no
    /// other (W-3).
    pub async fn objectives_awaiting_event(
        &self,
        limit: u64,
    ) -> Result<Vec<Result<StoredObjective, SubstrateError>>, SubstrateError> {
        let found = self.rows(Statement::new(sql::OBJECTIVES_AWAITING_EVENT, [limit.into()])).await?;
        Ok(found.iter().map(rows::read_objective).collect())
    }

    /// Returns an event.
    pub async fn event(&self, id: &EventId) -> Result<Option<StoredEvent>, SubstrateError> {
        self.one(sql::EVENT, id.as_str(), rows::read_event).await
    }

    /// Returns unprocessed events of a type, oldest first (W-3), without those of an archived objective (S-o).
    pub async fn unprocessed_events(
        &self,
        event_type: EventType,
        limit: u64,
    ) -> Result<Vec<StoredEvent>, SubstrateError> {
        let values = [event_type.as_str().into(), limit.into()];
        self.many(Statement::new(sql::UNPROCESSED_EVENTS, values), rows::read_event).await
    }

    /// Returns a workorder.
    pub async fn workorder(&self, id: &WorkOrderId) -> Result<Option<StoredWorkorder>, SubstrateError> {
        self.one(sql::WORKORDER, id.as_str(), rows::read_workorder).await
    }

    /// Returns CREATED workorders, oldest first: the Runner's candidates.
    pub async fn created_workorders(&self, limit: u64) -> Result<Vec<StoredWorkorder>, SubstrateError> {
        self.open_workorders(WorkorderStatus::Created, limit).await
    }

    /// Returns EXECUTED workorders without a run record, oldest first: the Gate's candidates.
    pub async fn ungated_workorders(&self, limit: u64) -> Result<Vec<StoredWorkorder>, SubstrateError> {
        self.open_workorders(WorkorderStatus::Executed, limit).await
    }

    async fn open_workorders(
        &self,
        status: WorkorderStatus,
        limit: u64,
    ) -> Result<Vec<StoredWorkorder>, SubstrateError> {
        let statement = Statement::new(sql::OPEN_WORKORDERS, [status.as_str().into()]);
        let mut open = self.many(statement, rows::read_workorder).await?;
        let key =
            |stored: &StoredWorkorder| (stored.workorder.created_at, stored.workorder.work_order_id.clone());
        open.sort_by_key(key);
        open.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(open)
    }

    /// Returns all workorders of an objective, oldest first.
    pub async fn workorders_of(&self, id: &ObjectiveId) -> Result<Vec<StoredWorkorder>, SubstrateError> {
        let statement = Statement::new(sql::WORKORDERS_OF_OBJECTIVE, [id.as_str().into()]);
        self.many(statement, rows::read_workorder).await
    }

    /// Returns a snapshot.
    pub async fn context_snapshot(&self, id: &SnapshotId) -> Result<Option<ContextSnapshot>, SubstrateError> {
        self.one(sql::SNAPSHOT, id.as_str(), rows::read_document).await
    }

    /// Returns an output bundle.
    pub async fn output_bundle(&self, id: &OutputId) -> Result<Option<OutputBundle>, SubstrateError> {
        self.one(sql::OUTPUT_BUNDLE, id.as_str(), rows::read_document).await
    }

    /// Returns the output bundle of a workorder.
    pub async fn output_of(&self, id: &WorkOrderId) -> Result<Option<OutputBundle>, SubstrateError> {
        self.one(sql::OUTPUT_OF_WORKORDER, id.as_str(), rows::read_document).await
    }

    /// Returns the run record of a workorder.
    pub async fn run_of(&self, id: &WorkOrderId) -> Result<Option<RunRecord>, SubstrateError> {
        self.one(sql::RUN_OF_WORKORDER, id.as_str(), rows::read_document).await
    }

    /// Returns all run records of an objective, oldest first: those of a ticket by the entry that they are of, since a clock can
    /// be set back between two.
    pub async fn runs_of(&self, id: &ObjectiveId) -> Result<Vec<RunRecord>, SubstrateError> {
        let mut runs: Vec<RunRecord> = self.documents(sql::RUNS_OF_OBJECTIVE, id.as_str()).await?;
        runs.sort_by_key(|run| entry_of(run, id));
        Ok(runs)
    }

    /// Returns a page of the run records of an objective, newest first. `before` is the last one of the page before;
    /// nothing comes after one that is not there.
    pub async fn runs_before(
        &self,
        id: &ObjectiveId,
        before: Option<&RunId>,
        limit: u64,
    ) -> Result<Vec<RunRecord>, SubstrateError> {
        let before = before.map_or("", RunId::as_str);
        let cells = [id.as_str().into(), before.into(), limit.into()];
        self.many(Statement::new(sql::RUNS_OF_OBJECTIVE_BEFORE, cells), rows::read_document).await
    }

    /// Returns the checks behind a run record.
    pub async fn evidence_of(&self, id: &RunId) -> Result<Option<GateEvidence>, SubstrateError> {
        self.one(sql::EVIDENCE_OF_RUN, id.as_str(), rows::read_document).await
    }

    /// Returns what each claim on a workorder cost, oldest first.
    pub async fn usage_of(&self, id: &WorkOrderId) -> Result<Vec<UsageRecord>, SubstrateError> {
        self.documents(sql::USAGE_OF_WORKORDER, id.as_str()).await
    }

    /// Returns a pause_state by its key.
    pub async fn pause_state(&self, pause_key: &str) -> Result<Option<PauseState>, SubstrateError> {
        self.one(sql::PAUSE, pause_key, rows::read_document).await
    }

    /// Returns the current pause_states of this azolla's objectives, oldest first.
    pub async fn current_pause_states(&self) -> Result<Vec<PauseState>, SubstrateError> {
        self.many(Statement::new(sql::CURRENT_PAUSES, []), rows::read_document).await
    }

    /// Returns those of the current pause_states that a filter leaves, newest first.
    pub async fn current_pause_states_of(
        &self,
        filter: &PauseFilter,
    ) -> Result<Vec<PauseState>, SubstrateError> {
        let reason = filter.reason.map(|reason| reason.as_str()).into();
        let (since, limit) = (filter.since.unwrap_or(Timestamp::MIN).into(), filter.limit.into());
        let statement = match &filter.objective_id {
            Some(id) => Statement::new(sql::CURRENT_PAUSE_OF, [id.as_str().into(), reason, since, limit]),
            None => Statement::new(sql::CURRENT_PAUSES_LATEST, [reason, since, limit]),
        };
        self.many(statement, rows::read_document).await
    }

    /// Returns pause_states of this azolla's objectives, newest first, earlier ones included.
    pub async fn pause_states(&self, filter: &PauseFilter) -> Result<Vec<PauseState>, SubstrateError> {
        let values = [
            filter.azolla_id.as_str().into(),
            filter.objective_id.as_ref().map(|id| id.as_str()).into(),
            filter.reason.map(|reason| reason.as_str()).into(),
            filter.since.unwrap_or(Timestamp::MIN).into(),
            filter.limit.into(),
        ];
        let mut rows = self.scan(vec![Statement::new(sql::PAUSES, values)]);
        let mut pauses = Vec::new();
        while let Some(row) = rows.recv().await {
            pauses.push(rows::read_document(&row?.1)?);
        }
        Ok(pauses)
    }

    /// Returns the claim record of a resource, live or not.
    pub async fn claim(&self, resource: &ResourceRef) -> Result<Option<ClaimRecord>, SubstrateError> {
        let values = [resource.resource_type.as_str().into(), resource.resource_id.as_str().into()];
        let found = self.rows(Statement::new(sql::CLAIM, values)).await?;
        found.first().map(rows::read_claim).transpose()
    }

    /// Returns the claim on a resource that was not given back: live, or lost with its holder.
    pub async fn unreleased_claim(
        &self,
        resource: &ResourceRef,
    ) -> Result<Option<ClaimRecord>, SubstrateError> {
        let values = [resource.resource_type.as_str().into(), resource.resource_id.as_str().into()];
        let found = self.rows(Statement::new(sql::UNRELEASED_CLAIM, values)).await?;
        found.first().map(rows::read_claim).transpose()
    }

    /// Returns the claims that nobody has released: live ones, and those that were lost with their holder.
    pub async fn unreleased_claims(&self, limit: u64) -> Result<Vec<ClaimRecord>, SubstrateError> {
        self.many(Statement::new(sql::UNRELEASED_CLAIMS, [limit.into()]), rows::read_claim).await
    }

    /// Tells whether anything has this id: an objective, a capture, an event, or what came of them.
    pub async fn holds(&self, id: &str) -> Result<bool, SubstrateError> {
        Ok(!self.rows(Statement::new(sql::HOLDS, [id.into()])).await?.is_empty())
    }

    /// Returns how full the work stream is, and how many results wait (W-4, O-3).
    pub async fn stream(&self) -> Result<StreamState, SubstrateError> {
        let found = self.rows(Statement::new(sql::STREAM, [])).await?;
        let row = found.first().ok_or_else(|| SubstrateError::corrupt("no counts"))?;
        Ok(StreamState { open: row.number(0)?, waiting: row.number(1)? })
    }

    /// Returns the journal of one resource.
    pub async fn journal_of(&self, resource_id: &str) -> Result<Vec<JournalEntry>, SubstrateError> {
        let statement = Statement::new(sql::JOURNAL_OF_TAIL, [resource_id.into()]);
        let mut entries = self.many(statement, rows::read_journal).await?;
        entries.retain(|entry| entry.resource_id == resource_id);
        Ok(entries)
    }

    /// Returns the journal of everything that was made for one entry into TODO, oldest first: ids derive from each other
    /// (W-5), and so do the keys of pause_states.
    pub async fn journal_of_cycle(&self, id: &WorkOrderId) -> Result<Vec<JournalEntry>, SubstrateError> {
        self.many(Statement::new(sql::JOURNAL_OF_TAIL, [id.as_str().into()]), rows::read_journal).await
    }

    /// Tells whether a commit is there: how an unknown outcome is resolved (C-9).
    pub async fn is_committed(&self, id: &CommitId) -> Result<bool, SubstrateError> {
        Ok(!self.rows(Statement::new(sql::COMMITTED, [id.as_str().into()])).await?.is_empty())
    }

    pub(crate) async fn one<T>(
        &self,
        sql: &'static str,
        key: &str,
        read: impl Fn(&Row) -> Result<T, SubstrateError>,
    ) -> Result<Option<T>, SubstrateError> {
        let found = self.rows(Statement::new(sql, [Cell::from(key)])).await?;
        found.first().map(read).transpose()
    }

    pub(crate) async fn many<T>(
        &self,
        statement: Statement,
        read: impl Fn(&Row) -> Result<T, SubstrateError>,
    ) -> Result<Vec<T>, SubstrateError> {
        self.rows(statement).await?.iter().map(read).collect()
    }

    async fn documents<T: DeserializeOwned>(
        &self,
        sql: &'static str,
        key: &str,
    ) -> Result<Vec<T>, SubstrateError> {
        self.many(Statement::new(sql, [Cell::from(key)]), rows::read_document).await
    }
}

/// Sorts after every instant and every id.
const LAST: &str = "~";

pub(crate) fn before_cells(before: Option<&Before>, limit: u64) -> [Cell; 3] {
    let (at, id) = match before {
        Some(Before { created_at, id }) => (created_at.to_string(), id.clone()),
        None => (LAST.to_owned(), LAST.to_owned()),
    };
    [at.into(), id.into(), limit.into()]
}

/// The entry into TODO that a run record is of, by its id; none where that does not come from the objective's.
fn entry_of(run: &RunRecord, id: &ObjectiveId) -> Option<u64> {
    run.run_id.body().strip_prefix(id.body())?.strip_prefix('-')?.parse().ok()
}
