//! A store opened for reading alone: what answers other azollas (M-4). SQLite itself refuses to write through it, and
//! nothing is migrated or made.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use azolla_protocol::{Clock, JournalEntry, Timestamp};
use rusqlite::{Connection, OpenFlags};
use tokio::{
    sync::{mpsc, watch},
    task::AbortHandle,
};

use super::{
    connection::{JobTime, connect, query},
    fault::Fault,
    integrity, journal_rows,
    open::open_to_read,
    reader::Readers,
    sql,
};
use crate::{
    error::SubstrateError,
    migration::MIGRATIONS,
    read::Identity,
    statement::{Row, Statement},
    substrate::{BoxFuture, JournalCursor, SubstrateRead},
};

/// How often the file is looked at for commits of others.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The Substrate of one azolla in one file, without its write half.
pub struct SqliteReader {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    readers: Readers,
    changes: watch::Sender<u64>,
    watching: OnceLock<AbortHandle>,
}

impl Drop for SqliteReader {
    fn drop(&mut self) {
        if let Some(watching) = self.watching.get() {
            watching.abort();
        }
    }
}

impl SqliteReader {
    /// Opens the file of this azolla, which has to be there, at this program's version.
    pub async fn open(
        path: &Path,
        identity: &Identity,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SubstrateError> {
        let (opened, identity) = (path.to_owned(), identity.clone());
        let opened = tokio::task::spawn_blocking(move || open_to_read(&opened, &identity, MIGRATIONS));
        let connection = opened.await.map_err(|error| SubstrateError::Unavailable(error.into()))??;
        Ok(Self {
            path: path.to_owned(),
            clock,
            // The connection has read the schema, which is most of what a first read costs.
            readers: Readers::with(path.to_owned(), connection),
            changes: watch::channel(0).0,
            watching: OnceLock::new(),
        })
    }
}

impl SubstrateRead for SqliteReader {
    fn now(&self) -> BoxFuture<'_, Result<Timestamp, SubstrateError>> {
        Box::pin(async { Ok(self.clock.now()) })
    }

    fn rows(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>> {
        Box::pin(self.readers.run(move |connection| query(connection, &statement)))
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
        self.watching
            .get_or_init(|| tokio::spawn(watch_file(self.path.clone(), self.changes.clone())).abort_handle());
        self.changes.subscribe()
    }
}

/// Counts `changes` up after every commit to the file, until it is aborted.
async fn watch_file(path: PathBuf, changes: watch::Sender<u64>) {
    let mut pace = tokio::time::interval(LOOK_EVERY);
    pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut kept: Option<(Connection, i64)> = None;
    loop {
        pace.tick().await;
        kept = match kept {
            Some((connection, seen)) => match data_version(&connection) {
                Ok(version) => {
                    if version != seen {
                        changes.send_modify(|count| *count += 1);
                    }
                    Some((connection, version))
                }
                // Opened again at the next look, which counts as a change.
                Err(_) => None,
            },
            None => {
                let opened = connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY, &JobTime::default());
                let opened = opened.ok().and_then(|connection| {
                    let version = data_version(&connection).ok()?;
                    Some((connection, version))
                });
                changes.send_modify(|count| *count += u64::from(opened.is_some()));
                opened
            }
        };
    }
}

fn data_version(connection: &Connection) -> Result<i64, Fault> {
    connection.query_row(sql::DATA_VERSION, [], |row| row.get(0)).map_err(|error| Fault::from(&error))
}
