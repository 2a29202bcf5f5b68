//! What the machine says: memory, and how fast it commits a row when nothing else is done.

use std::{path::Path, time::Instant};

use anyhow::Context;
use tempfile::TempDir;
use tokio_postgres::NoTls;

pub(crate) use crate::meter::{own_cpu_ms, pass, syncs};

/// Returns the memory that this process has resident.
pub(crate) fn resident_kb() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    line.split_whitespace().nth(1).context("no figure")?.parse().context("a number")
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
