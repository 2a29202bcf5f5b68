//! What the machine says: syncs, CPU, memory, and how fast it commits a row when nothing else is done.

// Counting syncs means standing where SQLite calls them. This binary defines the two symbols, so the linker takes
// them before the C library's; they count and make the same system call.
#![allow(unsafe_code)]

use std::{
    os::fd::BorrowedFd,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use anyhow::Context;
use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;
use tokio_postgres::NoTls;

static SYNCS: AtomicU64 = AtomicU64::new(0);

#[unsafe(no_mangle)]
extern "C" fn fdatasync(fd: i32) -> i32 {
    counted(fd, |fd| rustix::fs::fdatasync(fd))
}

#[unsafe(no_mangle)]
extern "C" fn fsync(fd: i32) -> i32 {
    counted(fd, |fd| rustix::fs::fsync(fd))
}

fn counted(fd: i32, sync: impl Fn(BorrowedFd<'_>) -> rustix::io::Result<()>) -> i32 {
    SYNCS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the caller of a C function passes a descriptor that is open for the length of the call.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    if sync(fd).is_ok() { 0 } else { -1 }
}

/// Returns the syncs of this process so far.
pub(crate) fn syncs() -> u64 {
    SYNCS.load(Ordering::Relaxed)
}

/// Returns the CPU time of this process.
pub(crate) fn own_cpu_ms() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Returns the memory that this process has resident.
pub(crate) fn resident_kb() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    line.split_whitespace().nth(1).context("no figure")?.parse().context("a number")
}

/// Lets time pass with nothing to do: the thing that is measured is the absence of work.
pub(crate) async fn pass(time: Duration) {
    let _ = tokio::time::timeout(time, std::future::pending::<()>()).await;
}

/// Rows per second, one durable commit each, on a plain connection with the same settings.
pub(crate) fn raw_sqlite(rows: usize) -> anyhow::Result<f64> {
    let directory = TempDir::new()?;
    let connection = rusqlite::Connection::open(directory.path().join("raw.sqlite"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (i INTEGER PRIMARY KEY, x TEXT)",
    )?;
    let mut insert = connection.prepare("INSERT INTO t (x) VALUES ('one row')")?;
    let start = Instant::now();
    for _ in 0..rows {
        insert.execute([])?;
    }
    Ok(rows as f64 / start.elapsed().as_secs_f64())
}

/// The same on PostgreSQL: one connection, one prepared statement, one commit per row.
pub(crate) async fn raw_postgres(url: &str, rows: usize) -> anyhow::Result<f64> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute("CREATE TABLE public.t (i BIGSERIAL PRIMARY KEY, x TEXT)").await?;
    let insert = client.prepare("INSERT INTO public.t (x) VALUES ('one row')").await?;
    let start = Instant::now();
    for _ in 0..rows {
        client.execute(&insert, &[]).await?;
    }
    Ok(rows as f64 / start.elapsed().as_secs_f64())
}

/// What the server has done so far.
pub(crate) struct Activity {
    pub(crate) syncs: u64,
    pub(crate) transactions: u64,
    pub(crate) cpu_ms: f64,
}

/// Asks the server for its counters, and the system for the CPU time of its processes.
pub(crate) async fn postgres_activity(url: &str) -> anyhow::Result<Activity> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    let row = client
        .query_one(
            "SELECT (SELECT wal_sync FROM pg_stat_wal),
                    (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())",
            &[],
        )
        .await?;
    let (syncs, transactions): (i64, i64) = (row.get(0), row.get(1));
    let pid_file = std::env::var("AZOLLA_TEST_PG_PIDFILE").context("run this by scripts/bench store")?;
    let pid: u32 = std::fs::read_to_string(pid_file)?.lines().next().context("no pid")?.trim().parse()?;
    Ok(Activity {
        syncs: syncs.unsigned_abs(),
        transactions: transactions.unsigned_abs(),
        cpu_ms: family_cpu_ms(pid)?,
    })
}

/// CPU time of a process, of the children that it has waited for, and of those that still run.
fn family_cpu_ms(pid: u32) -> anyhow::Result<f64> {
    let mut ticks = 0;
    for entry in std::fs::read_dir("/proc")? {
        let Some(stat) = read_stat(&entry?.path()) else { continue };
        // After the name in parentheses: state, parent, …, utime, stime, cutime, cstime.
        let number =
            |index: usize| stat.1.get(index).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
        if stat.0 == pid {
            ticks += number(11) + number(12) + number(13) + number(14);
        } else if number(1) == u64::from(pid) {
            ticks += number(11) + number(12);
        }
    }
    let per_second = rustix::param::clock_ticks_per_second();
    Ok(ticks as f64 * 1e3 / per_second as f64)
}

fn read_stat(process: &Path) -> Option<(u32, Vec<String>)> {
    let pid = process.file_name()?.to_str()?.parse().ok()?;
    let text = std::fs::read_to_string(process.join("stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    Some((pid, rest.split_whitespace().map(str::to_owned).collect()))
}
