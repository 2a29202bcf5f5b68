//! The directories of one run: a home, a place for temporary files beside it, a place to work, and the prompt.
//!
//! A living run holds a lock of the system on a file in its directory, which goes with the process, so that what a
//! killed run left can be told from what is in use.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use azolla_protocol::WorkOrderId;

/// How often a name that is taken is followed by another one.
const NAMES_MAX: u32 = 1_000;

/// How often removal is tried again after the run was cut off, and how long between.
const REMOVALS_MAX: u32 = 50;
const REMOVAL_PAUSE: Duration = Duration::from_millis(100);

/// Counts the runs of this process. With its number that makes a name that nobody else uses, so that what is removed
/// late is never the directory of a later run.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// Begins the name of a directory that is being removed by a sweep.
const SWEPT: &str = ".swept-";

/// Held by whoever makes the directory of a run or looks for those that nobody uses: between the two steps of making
/// one it looks like one that was left behind.
const DOOR: &str = ".lock";

/// Held by a run on its own directory.
const IN_USE: &str = "lock";

/// Removed when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    root: PathBuf,
    /// None once it is removed.
    in_use: Option<File>,
}

impl Place {
    /// Makes the directories, for this user alone. HOME is not below TMPDIR: there are agents that refuse such a one.
    pub(super) fn make(state_dir: &Path, name: &str, prompt: Option<&str>) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(state_dir)?;
        let name = format!("{name}-{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
        let place = {
            let _door = locked(&state_dir.join(DOOR))?;
            let root = fresh(state_dir, &name)?;
            let in_use = locked(&root.join(IN_USE))?;
            Self { root, in_use: Some(in_use) }
        };
        for directory in [place.home(), place.tmp(), place.work()] {
            make_private(&directory)?;
        }
        if let Some(prompt) = prompt {
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(place.prompt_file())?;
            file.write_all(prompt.as_bytes())?;
        }
        Ok(place)
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(super) fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    pub(super) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Returns when it was made, by the file system.
    pub(super) fn made(&self) -> io::Result<std::fs::Metadata> {
        std::fs::metadata(self.root.join(IN_USE))
    }

    pub(super) fn prompt_file(&self) -> PathBuf {
        self.root.join("prompt.md")
    }

    /// Removes everything, after the program and all that it started have ended. What takes longer than `time` goes on
    /// beside the caller.
    pub(super) async fn remove_within(mut self, time: Duration) {
        let (root, in_use) = (std::mem::take(&mut self.root), self.in_use.take());
        // What cannot be removed is left: it is no part of the answer. The lock goes last.
        let removal = move || {
            remove_all(&root);
            drop(in_use);
        };
        let _ = tokio::time::timeout(time, tokio::task::spawn_blocking(removal)).await;
    }
}

impl Drop for Place {
    /// The run was cut off. What the program started may be ending only now and write on until then, so this goes on
    /// beside the caller until nothing is left.
    fn drop(&mut self) {
        let Some(in_use) = self.in_use.take() else { return };
        let root = std::mem::take(&mut self.root);
        let removal = move || {
            for _ in 0..REMOVALS_MAX {
                remove_all(&root);
                std::thread::park_timeout(REMOVAL_PAUSE);
                if is_gone(&root) {
                    break;
                }
            }
            drop(in_use);
        };
        // Without a thread to spare the directory stays until the next sweep.
        let _ = std::thread::Builder::new().name("remove".into()).spawn(removal);
    }
}

/// Removes the directories of runs that are no more, and returns how many there were. What is in use stays, also that
/// of another process.
pub(super) fn sweep(state_dir: &Path) -> io::Result<usize> {
    let left = left_behind(state_dir, |root, name| {
        let swept = state_dir.join(format!("{SWEPT}{name}"));
        std::fs::rename(root, &swept).is_ok().then_some(swept)
    })?;
    // The door is open again, as removing can take a while. The names are ours alone.
    left.iter().for_each(|root| remove_all(root));
    Ok(left.len())
}

/// Returns how many directories a sweep would remove.
pub(super) fn count_left(state_dir: &Path) -> io::Result<usize> {
    Ok(left_behind(state_dir, |root, _| Some(root.to_owned()))?.len())
}

/// Returns what nobody uses, by the name that `renamed` gives it while the door is held.
fn left_behind(
    state_dir: &Path,
    renamed: impl Fn(&Path, &str) -> Option<PathBuf>,
) -> io::Result<Vec<PathBuf>> {
    let _door = match locked(&state_dir.join(DOOR)) {
        Ok(door) => door,
        // Nothing ever ran here.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut left = Vec::new();
    for entry in std::fs::read_dir(state_dir)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(SWEPT) {
            left.push(entry.path());
        } else if name.starts_with(WorkOrderId::PREFIX) {
            // One that is closed up, or just being removed by its run, is not in the way of the others.
            let Ok(in_use) = lock_file(&entry.path().join(IN_USE)) else { continue };
            if in_use.try_lock().is_ok() {
                left.extend(renamed(&entry.path(), &name));
            }
        }
    }
    Ok(left)
}

fn locked(path: &Path) -> io::Result<File> {
    let file = lock_file(path)?;
    file.lock()?;
    Ok(file)
}

fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn fresh(state_dir: &Path, name: &str) -> io::Result<PathBuf> {
    let mut root = state_dir.join(name);
    for n in 1..=NAMES_MAX {
        match make_private(&root) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                root = state_dir.join(format!("{name}-{n}"));
            }
            made => return made.map(|()| root),
        }
    }
    Err(io::Error::other(format!(
        "{} is in the way, as are {NAMES_MAX} more",
        state_dir.join(name).display()
    )))
}

fn make_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(directory)
}

fn is_gone(root: &Path) -> bool {
    root.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Removes a tree, however deep a program made it. What cannot be removed is left.
fn remove_all(root: &Path) {
    let _ = azolla_process::remove_tree(root);
}
