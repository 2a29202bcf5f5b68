//! The Substrate in one SQLite file: the default. One writer thread with group commit, a few readers, and correct
//! with several programs on the same file, which take turns at its write lock.

mod connection;
mod fault;
mod open;
mod read_only;
mod reader;
mod sql;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use azolla_protocol::{
    Actor, ClaimRecord, Clock, JournalEntry, JournalStep, LeaseLength, OwnerId, ResourceRef, ResourceType,
    Timestamp,
};
use rusqlite::Connection;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::{mpsc, watch},
};

pub use open::is_full;
pub use read_only::SqliteReader;

use self::{
    connection::{Hit, JobTime, execute, query, run},
    fault::refusal,
    open::open_file,
    reader::Readers,
    writer::{Ending, Wake, Writer},
};
use crate::{
    claim::{ClaimOutcome, Fence, Grant, Release, RenewOutcome, expiry},
    commit::{ClaimUse, Commit, CommitOutcome},
    error::SubstrateError,
    journal::{JournalRow, journal_steps},
    migration::{MIGRATIONS, Migration},
    plan::{plan, plan_release},
    read::Identity,
    rows,
    statement::{Cell, Expect, Miss, Row, Statement, Step},
    substrate::{BoxFuture, JournalCursor, LoadError, Opening, Substrate, SubstrateRead},
};

/// The Substrate of one azolla in one file.
pub struct SqliteSubstrate {
    identity: Identity,
    clock: Arc<dyn Clock>,
    changes: watch::Sender<u64>,
    // Fields drop in order: the writer goes last, so that the last connection to close is one that can move the
    // write-ahead log into the file.
    readers: Readers,
    writer: Writer,
}

impl SqliteSubstrate {
    /// Opens a file, after bringing it up to this program's version.
    pub async fn open(path: &Path, opening: Opening, clock: Arc<dyn Clock>) -> Result<Self, SubstrateError> {
        Self::open_at(path.to_owned(), opening, clock, MIGRATIONS).await
    }

    async fn open_at(
        path: PathBuf,
        opening: Opening,
        clock: Arc<dyn Clock>,
        migrations: &'static [Migration],
    ) -> Result<Self, SubstrateError> {
        let open = move || {
            let now = JobTime::default();
            let (connection, identity) = open_file(&path, &opening, &now, &*clock, migrations)?;
            let (changes, _) = watch::channel(0);
            let version = i64::try_from(migrations.len()).expect("migrations are few");
            let writer = Writer::start(connection, version, now, clock.clone(), changes.clone())
                .map_err(|error| SubstrateError::Unavailable(error.into()))?;
            Ok(Self { identity, clock, changes, readers: Readers::new(path), writer })
        };
        match Handle::current().runtime_flavor() {
            // A command that does one thing at a time: nobody waits, and another thread would only have to wake up.
            RuntimeFlavor::CurrentThread => open(),
            _ => {
                let opened = tokio::task::spawn_blocking(open).await;
                opened.map_err(|error| SubstrateError::Unavailable(error.into()))?
            }
        }
    }
}

impl SubstrateRead for SqliteSubstrate {
    fn now(&self) -> BoxFuture<'_, Result<Timestamp, SubstrateError>> {
        Box::pin(async { Ok(self.clock.now()) })
    }

    fn rows(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>> {
        Box::pin(async move {
            match self.writer.read(&statement) {
                Some(rows) => rows,
                None => self.readers.run(|connection| query(connection, &statement)).await,
            }
        })
    }

    fn scan(&self, statements: Vec<Statement>) -> mpsc::Receiver<Result<(usize, Row), SubstrateError>> {
        self.readers.scan(statements)
    }

    fn journal_after(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        let statement = Statement::new(sql::JOURNAL_AFTER, [after.seq.into(), limit.into()]);
        Box::pin(journal_rows(self, statement))
    }

    fn journal_latest(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        let statement = Statement::new(sql::JOURNAL_LATEST, [after.seq.into(), limit.into()]);
        Box::pin(journal_rows(self, statement))
    }

    fn journal_told(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        let statement = Statement::new(sql::JOURNAL_TOLD, [after.seq.into(), limit.into()]);
        Box::pin(journal_rows(self, statement))
    }

    fn integrity(&self) -> BoxFuture<'_, Result<Vec<String>, SubstrateError>> {
        Box::pin(self.readers.run(integrity))
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.writer.watch();
        self.changes.subscribe()
    }
}

impl Substrate for SqliteSubstrate {
    fn acquire_claim<'a>(
        &'a self,
        resource: &'a ResourceRef,
        owner: &'a OwnerId,
        lease: LeaseLength,
        actor: Actor,
    ) -> BoxFuture<'a, Result<ClaimOutcome, SubstrateError>> {
        let (resource, owner) = (resource.clone(), owner.clone());
        Box::pin(
            self.writer
                .submit(Wake::Nobody, move |connection| acquire(connection, resource, owner, lease, actor)),
        )
    }

    fn renew_claim<'a>(
        &'a self,
        fence: &'a Fence,
        lease: LeaseLength,
    ) -> BoxFuture<'a, Result<RenewOutcome, SubstrateError>> {
        let statement = fence.renewal(lease);
        // The work that it is for goes on meanwhile.
        Box::pin(self.writer.submit_elsewhere(Wake::Nobody, move |connection| {
            let rows = query(connection, &statement).map_err(|error| refusal(&error, "claim_record"))?;
            let renewed = rows.first().map(|row| row.parsed(0)).transpose()?;
            Ok(Ending::Keep(renewed.map_or(RenewOutcome::Lost, RenewOutcome::Renewed)))
        }))
    }

    fn release_claim<'a>(
        &'a self,
        fence: &'a Fence,
        release: Release,
        actor: Actor,
    ) -> BoxFuture<'a, Result<(), SubstrateError>> {
        let (steps, fence) = (plan_release(fence, release, actor), fence.clone());
        Box::pin(async move {
            self.writer
                .submit(Wake::Roles, move |connection| apply(connection, &steps, Some(&fence)))
                .await
                .map(drop)
        })
    }

    fn expire_claim<'a>(&'a self, seen: &'a ClaimRecord) -> BoxFuture<'a, Result<(), SubstrateError>> {
        let statement = expiry(seen);
        Box::pin(self.writer.submit(Wake::Roles, move |connection| {
            let ended = execute(connection, &statement).map_err(|error| refusal(&error, "claim_record"))?;
            Ok(if ended == 1 { Ending::Keep(()) } else { Ending::Undo(()) })
        }))
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        Box::pin(async move {
            let plan = plan(&commit, &self.identity)?;
            let work = move |connection: &Connection| match &plan.claim {
                ClaimUse::None => apply(connection, &plan.steps, None),
                ClaimUse::Fenced(fence) => apply(connection, &plan.steps, Some(fence)),
                ClaimUse::Claiming { resource, owner_id } => match claim_now(connection, resource, owner_id)?
                {
                    Hit::Yes => apply(connection, &plan.steps, None),
                    Hit::Missed(_) => Ok(Ending::Undo(CommitOutcome::Held)),
                },
            };
            self.writer.submit(Wake::Roles, work).await
        })
    }

    fn load(
        &self,
        mut steps: mpsc::Receiver<Result<Step, SubstrateError>>,
    ) -> BoxFuture<'_, Result<(), LoadError>> {
        let load = move |connection: &Connection| {
            let mut position = 0;
            while let Some(step) = steps.blocking_recv() {
                let failed = match run(connection, &step?) {
                    Ok(Hit::Yes) => None,
                    Ok(Hit::Missed(_)) => Some(crate::archive::not_empty()),
                    Err(error) => Some(error),
                };
                if let Some(error) = failed {
                    return Ok(Ending::Undo(Err(LoadError { step: Some(position), error })));
                }
                position += 1;
            }
            Ok(Ending::Keep(Ok(())))
        };
        Box::pin(async move { self.writer.submit_elsewhere(Wake::Roles, load).await? })
    }
}

/// Returns the journal rows after a place, in the order of `seq`, which is that of commits here.
async fn journal_rows(
    store: &dyn SubstrateRead,
    statement: Statement,
) -> Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError> {
    let rows = store.rows(statement).await?;
    let placed = rows.iter().map(|row| {
        let entry = rows::read_journal(row)?;
        Ok((JournalCursor { transaction: 0, seq: entry.seq }, entry))
    });
    placed.collect()
}

/// Lists what SQLite finds wrong with the file.
fn integrity(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut found = Vec::new();
    for row in query(connection, &Statement::new(sql::INTEGRITY, []))? {
        match row.0.first() {
            Some(Cell::Text(text)) if text == "ok" => {}
            other => found.push(format!("{other:?}")),
        }
    }
    for row in query(connection, &Statement::new(sql::FOREIGN_KEYS, []))? {
        found.push(format!("a link to nothing: {:?}", row.0));
    }
    Ok(found)
}

/// Runs the steps of a commit in order; the first that misses undoes them all.
fn apply(
    connection: &Connection,
    steps: &[Step],
    fence: Option<&Fence>,
) -> Result<Ending<CommitOutcome>, SubstrateError> {
    for step in steps {
        if let Hit::Missed(miss) = run(connection, step)? {
            return miss.outcome(step.artifact, fence).map(Ending::Undo);
        }
    }
    Ok(Ending::Keep(CommitOutcome::Done))
}

fn acquire(
    connection: &Connection,
    resource: ResourceRef,
    owner_id: OwnerId,
    lease: LeaseLength,
    actor: Actor,
) -> Result<Ending<ClaimOutcome>, SubstrateError> {
    let (again, first, count) = match resource.resource_type {
        ResourceType::Event => (sql::GRANT_EVENT_AGAIN, sql::GRANT_EVENT_FIRST, sql::COUNT_EVENT),
        ResourceType::Workorder => {
            (sql::GRANT_WORKORDER_AGAIN, sql::GRANT_WORKORDER_FIRST, sql::COUNT_WORKORDER)
        }
    };
    let ask = |text, values: &[Cell]| {
        let statement = Statement { sql: text, values: values.to_vec() };
        query(connection, &statement).map_err(|error| refusal(&error, "claim_record"))
    };
    let values = [owner_id.as_str().into(), lease.as_ms().into(), resource.resource_id.as_str().into()];
    let mut granted = ask(again, &values)?;
    if granted.is_empty() {
        granted = ask(first, &values)?;
    }
    let Some(granted) = granted.first() else { return Ok(Ending::Undo(ClaimOutcome::Held)) };
    let counted = ask(count, &[resource.resource_id.as_str().into()])?;
    let counted = counted.first().ok_or_else(|| SubstrateError::corrupt(format!("{resource} is gone")))?;
    let fence = Fence { resource, owner_id, claim_version: granted.number(0)? };
    let row = JournalRow::of_claim(JournalStep::Grant, &fence.resource);
    for step in journal_steps(&[row], actor, &ClaimUse::Fenced(fence.clone()), None) {
        run(connection, &step)?;
    }
    Ok(Ending::Keep(ClaimOutcome::Granted(Grant {
        fence,
        lease_expires_at: granted.parsed(1)?,
        granted_at: granted.parsed(2)?,
        claim_count: counted.number(0)?,
        budget_consumed_ms: counted.number(1)?,
    })))
}

/// Grants a claim that the same transaction releases: it begins and ends now.
fn claim_now(
    connection: &Connection,
    resource: &ResourceRef,
    owner_id: &OwnerId,
) -> Result<Hit, SubstrateError> {
    let (again, first) = match resource.resource_type {
        ResourceType::Event => (sql::CLAIM_EVENT_AGAIN, sql::CLAIM_EVENT_FIRST),
        ResourceType::Workorder => (sql::CLAIM_WORKORDER_AGAIN, sql::CLAIM_WORKORDER_FIRST),
    };
    for text in [again, first] {
        let statement =
            Statement::new(text, [owner_id.as_str().into(), resource.resource_id.as_str().into()]);
        let step = Step { statement, expect: Expect::Written(Miss::Held), artifact: "claim_record" };
        if let Hit::Yes = run(connection, &step)? {
            return Ok(Hit::Yes);
        }
    }
    Ok(Hit::Missed(Miss::Held))
}

#[cfg(test)]
mod tests;
