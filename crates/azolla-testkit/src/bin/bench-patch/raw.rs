//! The yardsticks of a cycle: plain durable commits, with the store's own settings and on the same disk.

use std::{path::Path, time::Instant};

use rusqlite::Connection;

/// A file with as many tables of one row after the other as a commit writes pages.
pub(crate) struct Raw {
    connection: Connection,
    inserts: Vec<String>,
}

impl Raw {
    /// Commits of `pages` pages each.
    pub(crate) fn new(directory: &Path, pages: usize) -> anyhow::Result<Self> {
        let connection = Connection::open(directory.join(format!("raw-{pages}.sqlite")))?;
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")?;
        let mut inserts = Vec::with_capacity(pages);
        for table in 0..pages {
            connection.execute_batch(&format!("CREATE TABLE t{table} (i INTEGER PRIMARY KEY, x TEXT)"))?;
            inserts.push(format!("INSERT INTO t{table} (x) VALUES ('one row')"));
        }
        Ok(Self { connection, inserts })
    }

    /// Makes one commit after the other; returns when each was durable, in milliseconds from the first.
    pub(crate) fn commits(&self, commits: usize) -> anyhow::Result<Vec<f64>> {
        let mut inserts = Vec::with_capacity(self.inserts.len());
        for insert in &self.inserts {
            inserts.push(self.connection.prepare_cached(insert)?);
        }
        let start = Instant::now();
        let mut at = Vec::with_capacity(commits);
        for _ in 0..commits {
            // A single statement is a transaction by itself.
            let transaction =
                if inserts.len() > 1 { Some(self.connection.unchecked_transaction()?) } else { None };
            for insert in &mut inserts {
                insert.execute([])?;
            }
            if let Some(transaction) = transaction {
                transaction.commit()?;
            }
            at.push(start.elapsed().as_secs_f64() * 1e3);
        }
        Ok(at)
    }
}
