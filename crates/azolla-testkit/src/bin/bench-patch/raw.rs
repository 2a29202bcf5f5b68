//! A yardstick of a cycle: plain durable commits of one row, with the store's own settings and on the same disk.

use std::{path::Path, time::Instant};

use rusqlite::Connection;

/// More commits of one page than SQLite has in its log before it writes them to the file.
const LOG_PAGES: usize = 1_100;

/// A file with one table.
pub(crate) struct Raw(Connection);

impl Raw {
    pub(crate) fn new(directory: &Path) -> anyhow::Result<Self> {
        let connection = Connection::open(directory.join("raw.sqlite"))?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; CREATE TABLE t (i INTEGER PRIMARY KEY, x TEXT)",
        )?;
        let raw = Self(connection);
        // Until the log begins anew: a commit that makes its file longer takes twice as long.
        raw.commits(LOG_PAGES)?;
        raw.0.execute_batch("PRAGMA synchronous = FULL")?;
        Ok(raw)
    }

    /// Makes one commit after the other; returns when each was durable, in milliseconds from the first.
    pub(crate) fn commits(&self, commits: usize) -> anyhow::Result<Vec<f64>> {
        // A single statement is a transaction by itself.
        let mut insert = self.0.prepare_cached("INSERT INTO t (x) VALUES ('one row')")?;
        let start = Instant::now();
        let mut at = Vec::with_capacity(commits);
        for _ in 0..commits {
            insert.execute([])?;
            at.push(start.elapsed().as_secs_f64() * 1e3);
        }
        Ok(at)
    }
}
