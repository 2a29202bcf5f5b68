//! Opens a file: settings, the lock, migrations after a backup, and whose Substrate it is.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use azolla_protocol::Clock;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{
    connection::{JobTime, connect, execute, query},
    fault::Fault,
    sql,
};
use crate::{
    error::SubstrateError,
    migration::{Migration, missing, older},
    read::Identity,
    statement::Statement,
    substrate::Opening,
};

/// Opens the writing connection of `path`, brought up to the newest of `migrations`.
pub(super) fn open_file(
    path: &Path,
    opening: &Opening,
    now: &JobTime,
    clock: &dyn Clock,
    migrations: &[Migration],
) -> Result<(Connection, Identity), SubstrateError> {
    open_and_migrate(path, opening, now, clock, migrations).map_err(|error| {
        let may_be_full = matches!(error, SubstrateError::Unavailable(_))
            || matches!(Fault::told(&error), Some(Fault::ReadOnly));
        if may_be_full && is_full(path) { Fault::Full.into() } else { error }
    })
}

fn open_and_migrate(
    path: &Path,
    opening: &Opening,
    now: &JobTime,
    clock: &dyn Clock,
    migrations: &[Migration],
) -> Result<(Connection, Identity), SubstrateError> {
    make_room(path, opening)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, now).map_err(fault)?;
    // SQLite opens what it may not write for reading alone, and says so only when asked.
    if connection.is_readonly("main").map_err(fault)? {
        return Err(Fault::ReadOnly.into());
    }
    connection.execute_batch(sql::WRITER_CACHE).map_err(fault)?;
    // Before anything is written: the write-ahead log alone would change another program's file for good.
    check_owner(&connection, path)?;
    use_write_ahead_log(&connection)?;
    now.set(clock.now());
    // The write lock, before the version is read: of two programs that start at once, one migrates.
    connection.execute_batch(sql::BEGIN).map_err(fault)?;
    let identity = migrate(&connection, path, migrations).and_then(|()| identify(&connection, opening));
    match identity {
        Ok(identity) => {
            connection.execute_batch(sql::COMMIT).map_err(fault)?;
            Ok((connection, identity))
        }
        Err(error) => Err(error),
    }
}

/// Opens a file for reading alone, if it is the store of `expected` at the newest of `migrations`. Writes nothing.
pub(super) fn open_to_read(
    path: &Path,
    expected: &Identity,
    migrations: &[Migration],
) -> Result<Connection, SubstrateError> {
    make_room(path, &Opening::Existing)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, &JobTime::default()).map_err(fault)?;
    check_owner(&connection, path)?;
    let version = number(&connection, sql::READ_VERSION)?;
    if !missing(migrations, version)?.is_empty() {
        return Err(older(version));
    }
    identify(&connection, &Opening::OrCreate(expected.clone()))?;
    Ok(connection)
}

/// Creates the file for its owner alone, or says what is missing. One that is there is left to SQLite: closing a second
/// handle of it would end every lock that this program has on it, and another program could then clear away the log in
/// use.
fn make_room(path: &Path, opening: &Opening) -> Result<(), SubstrateError> {
    /// Nobody in this program gets to SQLite while the handle of a new file is still open.
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let shown = path.display();
    let found = match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Err(error) if error.kind() == ErrorKind::NotFound && matches!(opening, Opening::OrCreate(_)) => {
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
        }
        found => found.map(drop),
    };
    match found {
        Ok(()) => Ok(()),
        // Another program made it just now.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(SubstrateError::unusable(
            format!("there is no store at {shown}"),
            "check the path, and that its folder exists",
        )),
        Err(error) if is_read_only(&error) => Err(Fault::ReadOnly.into()),
        Err(error) => Err(SubstrateError::unusable(
            format!("{shown} cannot be opened: {error}"),
            "check the path and the disk",
        )),
    }
}

/// Tells whether there is no room for a page beside a SQLite file, by making one: SQLite does not say why it could not make
/// its log or the index of it.
pub fn is_full(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.room", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&name);
    let written = file.and_then(|mut file| file.write_all(&[0; 4096]));
    // If it cannot be removed, nothing but its page is lost.
    let _ = std::fs::remove_file(&name);
    written.is_err_and(|error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}

fn is_read_only(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Switching a new file to the write-ahead log needs it alone for a moment, and SQLite does not wait for that.
fn use_write_ahead_log(connection: &Connection) -> Result<(), SubstrateError> {
    const TRIES: u32 = 500;
    for _ in 0..TRIES {
        let mode = connection.query_row(sql::JOURNAL_MODE, [], |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                return Err(SubstrateError::unusable(
                    format!("the store cannot have a write-ahead log here (SQLite offers {mode})"),
                    "put it into a file on a local disk",
                ));
            }
            Err(error) if matches!(Fault::from(&error), Fault::Busy) => {
                std::thread::park_timeout(Duration::from_millis(20));
            }
            Err(error) => return Err(fault(error)),
        }
    }
    Err(Fault::Busy.into())
}

/// Refuses a database that has tables and is not marked as ours. One transaction makes the tables and the mark, and
/// the mark is never taken back, so this needs no lock.
fn check_owner(connection: &Connection, path: &Path) -> Result<(), SubstrateError> {
    if number(connection, sql::COUNT_TABLES)? > 0
        && number(connection, sql::READ_APPLICATION_ID)? != sql::APPLICATION_ID
    {
        return Err(SubstrateError::unusable(
            format!("{} is a database of another program", path.display()),
            "name another file",
        ));
    }
    Ok(())
}

fn number(connection: &Connection, text: &str) -> Result<i64, SubstrateError> {
    connection.query_row(text, [], |row| row.get(0)).map_err(fault)
}

fn migrate(connection: &Connection, path: &Path, migrations: &[Migration]) -> Result<(), SubstrateError> {
    let version = number(connection, sql::READ_VERSION)?;
    let missing = missing(migrations, version)?;
    if missing.is_empty() {
        return Ok(());
    }
    if version > 0 {
        back_up(path, version)?;
    }
    for migration in missing {
        connection.execute_batch(migration.sqlite).map_err(fault)?;
    }
    let newest = u32::try_from(migrations.len()).expect("migrations are few");
    connection.execute_batch(&sql::mark(newest)).map_err(fault)
}

/// Copies the store beside itself, as `NAME.v1.backup`, while the write lock keeps it still. A second try after a
/// crash makes the same copy again.
fn back_up(path: &Path, version: i64) -> Result<(), SubstrateError> {
    let named = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".v{version}.{ending}"));
        PathBuf::from(name)
    };
    let (unfinished, finished) = (named("partial"), named("backup"));
    let failed = |error: std::io::Error| {
        SubstrateError::unusable(
            format!("no backup could be made before the upgrade: {error}"),
            "make room beside the store; nothing was changed",
        )
    };
    match std::fs::remove_file(&unfinished) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    // Readable by its owner alone, as the store is; SQLite fills an empty file.
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished).map_err(failed)?;
    let reader = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, &JobTime::default()).map_err(fault)?;
    let text = unfinished.to_str().ok_or_else(|| failed(ErrorKind::InvalidFilename.into()))?;
    execute(&reader, &Statement::new(sql::BACK_UP, [text.into()])).map_err(fault)?;
    OpenOptions::new().read(true).open(&unfinished).and_then(|file| file.sync_all()).map_err(failed)?;
    std::fs::rename(&unfinished, &finished).map_err(failed)?;
    // The new name has to be on disk before the upgrade is.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    OpenOptions::new().read(true).open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}

/// Reads whose Substrate this is; a new one gets its name now.
fn identify(connection: &Connection, opening: &Opening) -> Result<Identity, SubstrateError> {
    let rows = query(connection, &Statement::new(crate::sql::AZOLLA, [])).map_err(fault)?;
    match rows.first() {
        Some(row) => opening.expect(Identity { azolla_id: row.parsed(0)?, azolla_type: row.parsed(1)? }),
        None => {
            let identity = opening.create()?;
            let values = [identity.azolla_id.as_str().into(), identity.azolla_type.as_str().into()];
            execute(connection, &Statement::new(crate::sql::INSERT_AZOLLA, values)).map_err(fault)?;
            Ok(identity)
        }
    }
}

/// A file that is there and cannot be opened, or whose log cannot be made, is one that may not be used.
fn fault(error: rusqlite::Error) -> SubstrateError {
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen) => Fault::ReadOnly.into(),
        _ => Fault::from(&error).into(),
    }
}
