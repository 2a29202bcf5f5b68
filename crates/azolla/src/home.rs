//! `home.sqlite`: what belongs to no azolla. Trust pins, how far the operator has looked, what is spent, how peers prove
//! who they are, what the operator has been told of, and who is logged in.

mod account;
mod notices;
mod peers;
mod sessions;
mod sql;

use std::{
    collections::HashMap,
    fs::OpenOptions,
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use azolla_protocol::{AzollaId, Timestamp};
use azolla_substrate::is_full;
use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior, config::DbConfig};
use rustix::io::Errno;

pub(crate) use account::{Account, Hold, Spent};
pub(crate) use notices::{Claim, Delivery};
pub(crate) use peers::{Exposure, PeerToken};
pub(crate) use sessions::{SESSIONS_MAX, SessionUse};

/// The home store.
pub(crate) struct Home {
    connection: Connection,
}

/// The file of a repository on a branch, as the operator let it count.
pub(crate) struct Pin<'a> {
    pub(crate) base_branch: &'a str,
    pub(crate) file: &'a [u8],
    pub(crate) at: Timestamp,
}

/// How far the operator has looked at an azolla.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// The last journal row that was shown.
    pub(crate) cursor: String,
    /// When.
    pub(crate) at: Timestamp,
}

/// What is wrong with the home store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HomeError {
    /// It was written by a newer program.
    #[error("home.sqlite has version {0}, which this program does not know: use the newer program")]
    Newer(i64),
    /// The file cannot be used.
    #[error("home.sqlite cannot be used")]
    Io(#[from] std::io::Error),
    /// SQLite refused.
    #[error("home.sqlite cannot be used")]
    Database(#[from] rusqlite::Error),
}

impl Home {
    /// Opens the file, or makes it for its owner alone.
    pub(crate) fn open(path: &Path) -> Result<Self, HomeError> {
        Self::open_file(path).map_err(|error| match error {
            HomeError::Database(_) if is_full(path) => HomeError::Io(Errno::NOSPC.into()),
            error => error,
        })
    }

    fn open_file(path: &Path) -> Result<Self, HomeError> {
        make_room(path)?;
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.execute_batch(sql::SETTINGS)?;
        if version(&connection)? != sql::VERSION {
            migrate(&mut connection)?;
        }
        Ok(Self { connection })
    }

    /// Tells whether these bytes of a repository's file are pinned, for whichever of its branches.
    pub(crate) fn is_pinned(&self, repo: &str, file: &[u8]) -> Result<bool, HomeError> {
        Ok(self.connection.query_row(sql::IS_PINNED, (repo, file), |row| row.get(0))?)
    }

    /// Returns what is pinned of a repository's file for a branch. What has none yet is of `own`, the azolla's own base.
    pub(crate) fn pinned(&self, repo: &str, own: &str, branch: &str) -> Result<Option<Vec<u8>>, HomeError> {
        Ok(self.connection.query_row(sql::PINNED, (repo, own, branch), |row| row.get(0)).optional()?)
    }

    /// Returns when the operator last pinned a repository's file, by its branches.
    pub(crate) fn pins(&self, repo: &str) -> Result<HashMap<String, Timestamp>, HomeError> {
        let mut statement = self.connection.prepare(sql::PINS)?;
        let rows = statement.query_map([repo], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
        let rows = rows.collect::<Result<Vec<(String, String)>, _>>()?;
        Ok(rows.into_iter().filter_map(|(branch, at)| Some((branch, at.parse().ok()?))).collect())
    }

    /// Pins the bytes of a repository's file on a branch, in the place of those that were pinned for it before. What is
    /// pinned for other branches stays, also what has none yet, which is of `own`, the azolla's own base.
    pub(crate) fn pin(&mut self, repo: &str, own: &str, pin: &Pin<'_>) -> Result<(), HomeError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute(sql::NAME_PIN, (repo, own))?;
        transaction.execute(sql::PIN, (repo, pin.base_branch, pin.file, pin.at.to_string()))?;
        Ok(transaction.commit()?)
    }

    /// Returns how far the operator has looked at an azolla.
    pub(crate) fn look(&self, id: &AzollaId) -> Result<Option<Look>, HomeError> {
        let found: Option<(String, String)> = self
            .connection
            .query_row(sql::LOOK, [id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        // A mark that does not read is as good as none: the page then starts anew.
        Ok(found.and_then(|(cursor, at)| Some(Look { cursor, at: at.parse().ok()? })))
    }

    /// Notes how far the operator has looked at each azolla, all of it or nothing. A mark that a power cut takes back is
    /// news once more, which is no reason to wait for the disk: it stays in the write-ahead log until somebody writes what
    /// must not be lost. Everything else on this connection waits as before.
    pub(crate) fn looked(&mut self, looks: &[(&AzollaId, Look)]) -> Result<(), HomeError> {
        if looks.is_empty() {
            return Ok(());
        }
        self.connection.execute_batch(sql::UNSYNCED)?;
        let noted = self.note_looks(looks);
        self.connection.execute_batch(sql::SETTINGS)?;
        noted
    }

    fn note_looks(&mut self, looks: &[(&AzollaId, Look)]) -> Result<(), HomeError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (id, look) in looks {
            transaction.execute(sql::LOOKED, (id.as_str(), &look.cursor, look.at.to_string()))?;
        }
        Ok(transaction.commit()?)
    }

    /// Closes the file and leaves the write-ahead log as it is, for whoever opens it next: clearing it up would wait for
    /// the disk.
    pub(crate) fn leave(self) {
        // Where that cannot be set, closing takes longer.
        let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    }
}

/// Makes the file for its owner alone where there is none. One that is there is left to SQLite: closing a second handle of
/// it would end every lock that this program has on it, and another program could then clear away the log in use.
fn make_room(path: &Path) -> io::Result<()> {
    /// Nobody in this program gets to SQLite while the handle of a new file is still open.
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row(sql::READ_VERSION, [], |row| row.get(0))
}

/// Brings the tables up to the present version, all of it or nothing. Programs that come here at once do so one after
/// the other, and the second finds everything done.
fn migrate(connection: &mut Connection) -> Result<(), HomeError> {
    use_write_ahead_log(connection)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&transaction)?;
    let missing = usize::try_from(found).ok().and_then(|found| sql::STEPS.get(found..));
    for step in missing.ok_or(HomeError::Newer(found))? {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, sql::WRITE_VERSION, sql::VERSION)?;
    Ok(transaction.commit()?)
}

/// Switching a new file to the write-ahead log needs it alone for a moment, and SQLite does not wait for that.
fn use_write_ahead_log(connection: &Connection) -> Result<(), HomeError> {
    const TRIES: u32 = 250;
    let mut tries = 0;
    loop {
        match connection.query_row(sql::JOURNAL, [], |_| Ok(())) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && tries < TRIES => {
                tries += 1;
                std::thread::park_timeout(Duration::from_millis(20));
            }
            done => return Ok(done?),
        }
    }
}

#[cfg(test)]
mod tests;
