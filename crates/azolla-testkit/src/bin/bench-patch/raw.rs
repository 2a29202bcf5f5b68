//! The yardstick of a cycle: plain durable commits, with the store's own settings and on the same disk.

use std::{path::Path, time::Instant};

use rusqlite::Connection;

/// A file of one table.
pub(crate) struct Raw(Connection);

impl Raw {
    pub(crate) fn new(directory: &Path) -> anyhow::Result<Self> {
        let connection = Connection::open(directory.join("raw.sqlite"))?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (i INTEGER PRIMARY KEY, x TEXT)",
        )?;
        Ok(Self(connection))
    }

    /// Commits one row after the other; returns when each was durable, in milliseconds from the first.
    pub(crate) fn commits(&self, rows: usize) -> anyhow::Result<Vec<f64>> {
        let mut insert = self.0.prepare_cached("INSERT INTO t (x) VALUES ('one row')")?;
        let start = Instant::now();
        let mut at = Vec::with_capacity(rows);
        for _ in 0..rows {
            insert.execute([])?;
            at.push(start.elapsed().as_secs_f64() * 1e3);
        }
        Ok(at)
    }
}
