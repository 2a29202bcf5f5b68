//! A connection with our settings and functions, and how statements run on it.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use azolla_protocol::Timestamp;
use rusqlite::{
    CachedStatement, Connection, OpenFlags, config::DbConfig, functions::FunctionFlags, params_from_iter,
    types,
};

use super::{fault::refusal, sql};
use crate::{
    error::SubstrateError,
    statement::{Cell, Expect, Miss, Row, Statement, Step},
};

/// How long a statement waits for another program that holds the write lock.
pub(super) const BUSY_LIMIT: Duration = Duration::from_secs(10);

/// Room for every statement text that there is.
const STATEMENTS_KEPT: usize = 160;

/// The time that `azolla_now()` returns on a connection: set once per job, so that a job has one `now`. Kept as text,
/// because a job asks for it a dozen times.
#[derive(Clone, Default)]
pub(super) struct JobTime(Arc<Mutex<String>>);

impl JobTime {
    pub(super) fn set(&self, now: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now.to_string();
    }

    fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Opens the file with our settings.
pub(super) fn connect(path: &Path, flags: OpenFlags, now: &JobTime) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_LIMIT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    // A plan that does not depend on values: otherwise SQLite prepares a statement with `LIMIT $n` again at every call.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch(sql::SETTINGS)?;
    add_functions(&connection, now.clone())?;
    Ok(connection)
}

/// The functions that the first migration makes on PostgreSQL.
fn add_functions(connection: &Connection, now: JobTime) -> rusqlite::Result<()> {
    let volatile = FunctionFlags::SQLITE_UTF8;
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("azolla_now", 0, volatile, move |_| Ok(now.get()))?;
    connection.create_scalar_function("azolla_plus", 2, pure, |call| {
        Ok(instant(call.get_raw(0))?.plus_ms(call.get(1)?).to_string())
    })?;
    connection.create_scalar_function("azolla_between", 2, pure, |call| {
        let (earlier, later) = (instant(call.get_raw(0))?, instant(call.get_raw(1))?);
        Ok((later.as_millisecond() - earlier.as_millisecond()).max(0))
    })
}

fn instant(value: types::ValueRef<'_>) -> rusqlite::Result<Timestamp> {
    let text = value.as_str()?;
    text.parse().map_err(|error| rusqlite::Error::UserFunctionError(Box::new(error)))
}

impl rusqlite::ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<types::ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => types::Null.into(),
            Self::Int(number) => (*number).into(),
            Self::Text(text) => text.as_str().into(),
        })
    }
}

/// Runs a statement and returns how many rows it wrote.
pub(super) fn execute(connection: &Connection, statement: &Statement) -> rusqlite::Result<usize> {
    connection.prepare_cached(statement.sql)?.execute(params_from_iter(&statement.values))
}

/// Runs a statement and hands each row on until `each` says stop.
pub(super) fn for_each(
    connection: &Connection,
    statement: &Statement,
    each: impl FnMut(Row) -> bool,
) -> rusqlite::Result<()> {
    each_row(&mut connection.prepare_cached(statement.sql)?, statement, each)
}

fn each_row(
    prepared: &mut CachedStatement<'_>,
    statement: &Statement,
    mut each: impl FnMut(Row) -> bool,
) -> rusqlite::Result<()> {
    let columns = prepared.column_count();
    let mut rows = prepared.query(params_from_iter(&statement.values))?;
    while let Some(row) = rows.next()? {
        let cells = (0..columns).map(|column| cell(row.get_ref(column)?)).collect::<rusqlite::Result<_>>()?;
        if !each(Row(cells)) {
            break;
        }
    }
    Ok(())
}

/// Runs a statement and returns its rows.
pub(super) fn query(connection: &Connection, statement: &Statement) -> rusqlite::Result<Vec<Row>> {
    all_rows(&mut connection.prepare_cached(statement.sql)?, statement)
}

/// The same, if it only reads; none if it would write.
pub(super) fn query_if_reads(
    connection: &Connection,
    statement: &Statement,
) -> rusqlite::Result<Option<Vec<Row>>> {
    let mut prepared = connection.prepare_cached(statement.sql)?;
    if !prepared.readonly() {
        return Ok(None);
    }
    all_rows(&mut prepared, statement).map(Some)
}

fn all_rows(prepared: &mut CachedStatement<'_>, statement: &Statement) -> rusqlite::Result<Vec<Row>> {
    let mut rows = Vec::new();
    each_row(prepared, statement, |row| {
        rows.push(row);
        true
    })?;
    Ok(rows)
}

/// What a step did.
pub(super) enum Hit {
    Yes,
    Missed(Miss),
}

/// Runs a step of a commit.
pub(super) fn run(connection: &Connection, step: &Step) -> Result<Hit, SubstrateError> {
    let refused = |error| refusal(&error, step.artifact);
    Ok(match step.expect {
        Expect::Any => {
            execute(connection, &step.statement).map_err(refused)?;
            Hit::Yes
        }
        Expect::Written(miss) => match execute(connection, &step.statement).map_err(refused)? {
            1 => Hit::Yes,
            _ => Hit::Missed(miss),
        },
        Expect::Found(miss) => match query(connection, &step.statement).map_err(refused)?.len() {
            1 => Hit::Yes,
            _ => Hit::Missed(miss),
        },
    })
}

fn cell(value: types::ValueRef<'_>) -> rusqlite::Result<Cell> {
    Ok(match value {
        types::ValueRef::Null => Cell::Null,
        types::ValueRef::Integer(number) => Cell::Int(number),
        other => Cell::Text(other.as_str()?.to_owned()),
    })
}
