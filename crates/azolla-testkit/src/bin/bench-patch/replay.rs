//! A yardstick of a cycle: the statements of its commits, taken down once and then done again by SQLite alone, prepared
//! beforehand, one after the other. What a cycle takes beyond that is the program's.

// Hearing of every statement of a connection that the store opens takes SQLite's own functions.
#![allow(unsafe_code)]

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use anyhow::ensure;
use azolla_protocol::{Clock, Timestamp};
use azolla_substrate::SystemClock;
use rusqlite::{
    Connection, Statement, auto_extension, config::DbConfig, ffi, functions::FunctionFlags, types::ValueRef,
};

use crate::meter;

/// Commits of a whole cycle: the objective and its approval, what is measured, the confirmation.
const BEFORE: usize = 2;
const MEASURED: usize = 5;
const AFTER: usize = 1;

/// Statements as they run, each with its connection.
static HEARD: Mutex<Vec<(usize, String)>> = Mutex::new(Vec::new());

/// Hears every statement of the connections that are opened while it lives.
pub(crate) struct Recorder(());

impl Recorder {
    pub(crate) fn start() -> anyhow::Result<Self> {
        // SAFETY: `listen` opens and closes no connection and leaves the list of extensions alone.
        unsafe { auto_extension::register_auto_extension(listen)? };
        Ok(Self(()))
    }

    /// Forgets what was heard so far: a cycle begins.
    pub(crate) fn begin(&self) {
        heard().clear();
    }

    /// Returns the commits since then, and hears no connection that is opened from now on. No other connection than the one
    /// that writes begins with a write lock.
    pub(crate) fn commits(self) -> anyhow::Result<Vec<Vec<String>>> {
        let mut commits: Vec<Vec<String>> = Vec::new();
        let mut writes = None;
        for (connection, text) in heard().drain(..) {
            match (text.as_str(), writes) {
                ("BEGIN IMMEDIATE", _) => {
                    writes = Some(connection);
                    commits.push(vec![text]);
                }
                // Nothing but a wake-up of the writer's thread.
                ("ROLLBACK", Some(by)) if by == connection => {
                    writes = None;
                    commits.pop();
                }
                (_, Some(by)) if by == connection => {
                    if text == "COMMIT" {
                        writes = None;
                    }
                    commits.last_mut().expect("one has begun").push(text);
                }
                _ => {}
            }
        }
        ensure!(
            commits.iter().flatten().all(|text| !text.is_empty()),
            "a statement had no text: {commits:#?}"
        );
        let all = BEFORE + MEASURED + AFTER;
        ensure!(commits.len() == all, "a cycle has {} commits, not {all}: {commits:#?}", commits.len());
        Ok(commits)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        auto_extension::cancel_auto_extension(listen);
    }
}

fn heard() -> MutexGuard<'static, Vec<(usize, String)>> {
    lock(&HEARD)
}

unsafe extern "C" fn listen(
    connection: *mut ffi::sqlite3,
    _: *mut *mut c_char,
    _: *const ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: SQLite passes a connection that is being opened.
    unsafe {
        ffi::sqlite3_trace_v2(connection, ffi::SQLITE_TRACE_STMT as c_uint, Some(hear), connection.cast())
    }
}

unsafe extern "C" fn hear(
    _: c_uint,
    connection: *mut c_void,
    statement: *mut c_void,
    text: *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes the statement that begins and its text, both for the length of the call; the text with its
    // values is ours to free.
    unsafe {
        // A trigger is announced too, as a remark.
        if !CStr::from_ptr(text.cast()).to_bytes().starts_with(b"--") {
            let expanded = ffi::sqlite3_expanded_sql(statement.cast());
            // None where there is no memory for it.
            let text = match expanded.is_null() {
                true => String::new(),
                false => CStr::from_ptr(expanded).to_string_lossy().into_owned(),
            };
            ffi::sqlite3_free(expanded.cast());
            heard().push((connection as usize, text));
        }
    }
    ffi::SQLITE_OK
}

/// The commits of a cycle, on the store that they were recorded from.
pub(crate) struct Replay {
    connection: Connection,
    /// What `azolla_now()` returns: set once per commit, as the store does.
    now: Arc<Mutex<String>>,
    commits: Vec<Vec<String>>,
    /// How often they were made again: each time about another objective.
    times: usize,
    /// How many rows that wrote, each time.
    rows: Option<u64>,
}

impl Replay {
    /// Opens a store that nobody else has open, with the settings and the functions of the connection that writes.
    pub(crate) fn new(store: &Path, commits: Vec<Vec<String>>) -> anyhow::Result<Self> {
        let connection = Connection::open(store)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
             PRAGMA recursive_triggers = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
             PRAGMA cache_size = -4096; PRAGMA journal_size_limit = 67108864",
        )?;
        let now = Arc::<Mutex<String>>::default();
        let volatile = FunctionFlags::SQLITE_UTF8;
        let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        let told = now.clone();
        connection.create_scalar_function("azolla_now", 0, volatile, move |_| Ok(lock(&told).clone()))?;
        connection.create_scalar_function("azolla_plus", 2, pure, |call| {
            Ok(instant(call.get_raw(0))?.plus_ms(call.get(1)?).to_string())
        })?;
        connection.create_scalar_function("azolla_between", 2, pure, |call| {
            let (earlier, later) = (instant(call.get_raw(0))?, instant(call.get_raw(1))?);
            Ok((later.as_millisecond() - earlier.as_millisecond()).max(0))
        })?;
        Ok(Self { connection, now, commits, times: 0, rows: None })
    }

    /// Makes the commits of a cycle again; returns how long those that are measured took, and their CPU time, in
    /// milliseconds.
    pub(crate) fn cycle(&mut self) -> anyhow::Result<(f64, f64)> {
        self.times += 1;
        let mut prepared: Vec<Vec<Statement<'_>>> = Vec::with_capacity(self.commits.len());
        for commit in &self.commits {
            let statements = commit.iter().map(|text| self.connection.prepare(&renamed(text, self.times)));
            prepared.push(statements.collect::<Result<_, _>>()?);
        }
        let (before, rest) = prepared.split_at_mut(BEFORE);
        let (measured, after) = rest.split_at_mut(MEASURED);
        let written = self.connection.total_changes();
        self.run(before)?;
        let (start, cpu) = (Instant::now(), meter::thread_cpu_ms());
        self.run(measured)?;
        let took = (start.elapsed().as_secs_f64() * 1e3, meter::thread_cpu_ms() - cpu);
        self.run(after)?;
        let rows = self.connection.total_changes() - written;
        // A statement that hits nothing would be no fault, and no work either.
        ensure!(rows == *self.rows.get_or_insert(rows), "{rows} rows were written, not {:?}", self.rows);
        Ok(took)
    }

    fn run(&self, commits: &mut [Vec<Statement<'_>>]) -> rusqlite::Result<()> {
        for commit in commits {
            *lock(&self.now) = SystemClock.now().to_string();
            for statement in commit {
                let mut rows = statement.query([])?;
                while rows.next()?.is_some() {}
            }
        }
        Ok(())
    }
}

fn instant(value: ValueRef<'_>) -> rusqlite::Result<Timestamp> {
    value.as_str()?.parse().map_err(|error| rusqlite::Error::UserFunctionError(Box::new(error)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives every id of a statement another body, the same for the same id and later than all before it.
fn renamed(text: &str, times: usize) -> String {
    const BODY: usize = 12;
    const RANDOM: usize = 4;
    let mut renamed = text.as_bytes().to_vec();
    let mut at = 0;
    while at < renamed.len() {
        let end = renamed[at..]
            .iter()
            .position(|byte| !byte.is_ascii_digit() && !byte.is_ascii_lowercase())
            .map_or(renamed.len(), |length| at + length);
        if end - at == BODY && at > 0 && renamed[at - 1] == b'-' {
            renamed[at..end - RANDOM].copy_from_slice(format!("y{times:07}").as_bytes());
        }
        at = end + 1;
    }
    String::from_utf8(renamed).expect("ASCII was replaced by ASCII")
}
