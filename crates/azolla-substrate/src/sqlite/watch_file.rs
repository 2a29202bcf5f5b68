//! Sees commits of other programs on the same file: SQLite's `data_version` moves with each of them.

use std::{
    path::{Path, PathBuf},
    sync::mpsc,
    thread::JoinHandle,
    time::Duration,
};

use rusqlite::OpenFlags;
use tokio::sync::watch;

use super::{
    connection::{JobTime, connect},
    sql,
};

/// How often the file is looked at. It reads one page header and syncs nothing.
const EVERY: Duration = Duration::from_millis(250);

/// The handle of the watching thread, which ends with it.
pub(super) struct FileWatch {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FileWatch {
    /// Starts watching. Polling is the fallback of every role, so a watch that cannot start is no error.
    pub(super) fn start(path: &Path, changes: watch::Sender<u64>) -> Self {
        let (stop, stopped) = mpsc::channel();
        let path = path.to_owned();
        let thread = std::thread::Builder::new()
            .name("azolla-watch".into())
            .spawn(move || watch_file(path, &stopped, &changes))
            .ok();
        Self { stop: Some(stop), thread }
    }
}

impl Drop for FileWatch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // An error is a panic of that thread, which has been printed.
            let _ = thread.join();
        }
    }
}

fn watch_file(path: PathBuf, stopped: &mpsc::Receiver<()>, changes: &watch::Sender<u64>) {
    let Ok(connection) = connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY, &JobTime::default()) else {
        return;
    };
    let mut seen = None;
    while let Err(mpsc::RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
        let version = connection
            .prepare_cached(sql::DATA_VERSION)
            .and_then(|mut statement| statement.query_row([], |row| row.get::<_, i64>(0)))
            .ok();
        if seen.is_some() && version != seen {
            changes.send_modify(|count| *count += 1);
        }
        seen = version;
    }
}
