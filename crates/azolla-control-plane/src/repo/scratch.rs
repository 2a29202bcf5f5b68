//! Directories that live as long as what they are for: a worktree, or the index of one call.
//!
//! Each has a name that is used once and a lock that its process holds, so that nobody but its holder removes it, and
//! another can tell what nobody needs any more.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use azolla_process::remove_tree;

use super::{RepositoryError, git::unavailable};

const LOCK: &str = "lock";
/// Indexes of commits that are kept for the next call.
const KEPT_INDEXES: usize = 4;

/// The place for all of them.
#[derive(Debug)]
pub(super) struct Scratch {
    directory: PathBuf,
    own: OnceLock<Place>,
    // Commit and file: what `read-tree` made, to be copied instead of made again.
    indexes: Mutex<Vec<(String, PathBuf)>>,
    counter: AtomicU64,
}

/// A directory with a lock; removed when it is dropped, or soon after.
#[derive(Debug)]
pub(super) struct Place {
    directory: PathBuf,
    // None only while it is dropped.
    lock: Option<fs::File>,
}

/// An index file of one call; removed when it is dropped.
#[derive(Debug)]
pub(super) struct TemporaryIndex {
    path: PathBuf,
}

impl Scratch {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory, own: OnceLock::new(), indexes: Mutex::default(), counter: AtomicU64::new(0) }
    }

    /// Makes an empty directory whose name begins with `name` and is used by nobody else, now or later: one who was
    /// paused and its successor at the same attempt have two (G-1).
    pub(super) fn place(&self, name: &str) -> Result<Place, RepositoryError> {
        self.make(name).map_err(|error| self.failed(&error))
    }

    /// Returns the path of an index that is not there yet.
    pub(super) fn index(&self) -> Result<TemporaryIndex, RepositoryError> {
        let own = match self.own.get() {
            Some(own) => own,
            None => {
                let own = self.place("indexes")?;
                self.own.get_or_init(|| own)
            }
        };
        let n = self.counter.fetch_add(1, Ordering::Relaxed);
        Ok(TemporaryIndex { path: own.directory.join(format!("index-{n}")) })
    }

    /// Copies the kept index of a commit to `to`; tells whether there was one.
    pub(super) fn copy_kept(&self, commit: &str, to: &Path) -> bool {
        let indexes = self.indexes.lock().expect("no holder of this lock panics");
        let kept = indexes.iter().find(|(kept, _)| kept == commit);
        kept.is_some_and(|(_, path)| fs::copy(path, to).is_ok())
    }

    /// Keeps a copy of the index of a commit.
    pub(super) fn keep(&self, commit: &str, index: &Path) {
        let Ok(copy) = self.index() else { return };
        if fs::copy(index, &copy.path).is_err() {
            return;
        }
        let mut indexes = self.indexes.lock().expect("no holder of this lock panics");
        if indexes.len() >= KEPT_INDEXES {
            // A failure leaves a file that goes with the directory.
            let _ = fs::remove_file(indexes.remove(0).1);
        }
        indexes.push((commit.to_owned(), copy.keep()));
    }

    /// Returns the directories whose process is gone.
    pub(super) fn abandoned(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|place| is_abandoned(place)).collect()
    }

    /// Removes directories whose process is gone; returns those that it removed.
    pub(super) fn sweep(&self) -> Vec<PathBuf> {
        let mut places = self.abandoned();
        places.retain(|place| remove_place(place));
        places
    }

    fn make(&self, name: &str) -> io::Result<Place> {
        fs::create_dir_all(&self.directory)?;
        let prefix = format!("{name}-");
        let directory = tempfile::Builder::new().prefix(&prefix).tempdir_in(&self.directory)?.keep();
        Place::lock(directory)
    }

    fn failed(&self, error: &io::Error) -> RepositoryError {
        unavailable(format!("{}: {error}", self.directory.display()))
    }
}

impl Place {
    /// Returns where it is.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    fn lock(directory: PathBuf) -> io::Result<Self> {
        let mut lock = fs::File::create_new(directory.join(LOCK))?;
        lock.lock()?;
        // A sweep takes an empty lock for one that is being made.
        io::Write::write_all(&mut lock, b"held\n")?;
        Ok(Self { directory, lock: Some(lock) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (directory, lock) = (std::mem::take(&mut self.directory), self.lock.take());
        let remove = move || {
            remove_place(&directory);
            // Only now: a sweep counts what it removes.
            drop(lock);
        };
        // A large tree takes a while, and the runtime has leases to renew meanwhile. One that ends before this runs
        // releases the lock, and the next sweep removes the rest.
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(remove)),
            Err(_) => remove(),
        }
    }
}

impl TemporaryIndex {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn keep(mut self) -> PathBuf {
        std::mem::take(&mut self.path)
    }
}

impl Drop for TemporaryIndex {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn is_abandoned(place: &Path) -> bool {
    let lock = fs::File::open(place.join(LOCK));
    lock.is_ok_and(|lock| lock.try_lock().is_ok() && lock.metadata().is_ok_and(|metadata| metadata.len() > 0))
}

/// Removes a place, its lock last: what is cut off in the middle can still be swept.
fn remove_place(place: &Path) -> bool {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    // Beside the lock there are few files, and one directory that may be large.
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        // What stays is met again below.
        let _ = remove_tree(&entry.path());
    }
    remove_tree(place).is_ok()
}
