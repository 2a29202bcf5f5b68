//! Directories that live as long as what they are for: a worktree, or the index of one call.
//!
//! Each has a lock that its process holds, so that another can tell what nobody needs any more.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

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

/// A directory with a lock; removed when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    directory: PathBuf,
    _lock: fs::File,
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

    /// Makes an empty directory of this name, in place of one that is there.
    pub(super) fn place(&self, name: &str) -> Result<Place, RepositoryError> {
        let directory = self.directory.join(name);
        remove_tree(&directory);
        fs::create_dir_all(&directory)
            .and_then(|()| Place::lock(directory))
            .map_err(|error| self.failed(&error))
    }

    /// Returns the path of an index that is not there yet.
    pub(super) fn index(&self) -> Result<TemporaryIndex, RepositoryError> {
        let own = match self.own.get() {
            Some(own) => own,
            None => {
                let own = self.make_own().map_err(|error| self.failed(&error))?;
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

    /// Removes directories whose process is gone; returns how many.
    pub(super) fn sweep(&self) -> usize {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .filter(|place| is_abandoned(place))
            .filter(|place| remove_tree(place))
            .count()
    }

    fn make_own(&self) -> io::Result<Place> {
        fs::create_dir_all(&self.directory)?;
        let directory = tempfile::Builder::new().prefix("indexes-").tempdir_in(&self.directory)?.keep();
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
        Ok(Self { directory, _lock: lock })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        remove_tree(&self.directory);
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

/// Removes a directory and what is in it, also where a worker took away its own rights; links are not followed. Tells
/// whether it is gone.
pub(super) fn remove_tree(directory: &Path) -> bool {
    if fs::symlink_metadata(directory).is_err() || fs::remove_dir_all(directory).is_ok() {
        return true;
    }
    give_rights(directory);
    fs::remove_dir_all(directory).is_ok() || fs::remove_file(directory).is_ok()
}

fn give_rights(directory: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        // What cannot be changed stays; the removal after this says so.
        let _ = fs::set_permissions(&directory, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        waiting.extend(
            entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path()),
        );
    }
}
