//! Read-only connections, opened when needed and kept.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::{
    connection::{JobTime, connect, for_each},
    fault::Fault,
    sql,
};
use crate::{
    error::SubstrateError,
    statement::{Row, Statement},
};

/// Readers at once. More would only wait for the same disk.
const READERS_MAX: usize = 4;

/// The readers of one file.
#[derive(Clone)]
pub(super) struct Readers {
    path: Arc<PathBuf>,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        let permits = Arc::new(Semaphore::new(READERS_MAX));
        Self { path: Arc::new(path), idle: Arc::default(), permits }
    }

    /// The same, with a first reader that is open already.
    pub(super) fn with(path: PathBuf, connection: Connection) -> Self {
        let readers = Self::new(path);
        readers.idle().push(connection);
        readers
    }

    /// Runs `work` on a reader, in place: a read through an index takes a few microseconds, which is less than another
    /// thread takes to wake up, and in WAL no reader waits for a writer. What reads a whole store goes by `scan`.
    pub(super) async fn run<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, SubstrateError> {
        let permit = self.permit().await;
        self.lend(permit, work).map_err(SubstrateError::from)
    }

    /// Streams the rows of several statements from one read transaction.
    pub(super) fn scan(
        &self,
        statements: Vec<Statement>,
    ) -> mpsc::Receiver<Result<(usize, Row), SubstrateError>> {
        let (sender, receiver) = mpsc::channel(256);
        let readers = self.clone();
        tokio::spawn(async move {
            let permit = readers.permit().await;
            tokio::task::spawn_blocking(move || {
                let result = readers.lend(permit, |connection| stream(connection, &statements, &sender));
                if let Err(fault) = result {
                    // Nobody listens any more if this fails.
                    let _ = sender.blocking_send(Err(fault.into()));
                }
            });
        });
        receiver
    }

    async fn permit(&self) -> OwnedSemaphorePermit {
        self.permits.clone().acquire_owned().await.expect("the semaphore is never closed")
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lend<T>(
        &self,
        _permit: OwnedSemaphorePermit,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Fault> {
        let kept = self.idle().pop();
        let connection = match kept {
            Some(connection) => connection,
            None => connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY, &JobTime::default())
                .map_err(|error| Fault::from(&error))?,
        };
        let result = work(&connection).map_err(|error| Fault::from(&error));
        self.idle().push(connection);
        result
    }
}

fn stream(
    connection: &Connection,
    statements: &[Statement],
    sender: &mpsc::Sender<Result<(usize, Row), SubstrateError>>,
) -> rusqlite::Result<()> {
    connection.execute_batch(sql::BEGIN_READING)?;
    let mut result = Ok(());
    for (position, statement) in statements.iter().enumerate() {
        result = for_each(connection, statement, |row| sender.blocking_send(Ok((position, row))).is_ok());
        if result.is_err() || sender.is_closed() {
            break;
        }
    }
    connection.execute_batch(sql::ROLLBACK)?;
    result
}
