//! The directories of one run: a home, a place for temporary files beside it, a place to work, and the prompt.

use std::{
    fs::{DirBuilder, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

/// How often a name that is taken is followed by another one.
const NAMES_MAX: u32 = 1_000;

/// How often removal is tried again after the run was cut off, and how long between.
const REMOVALS_MAX: u32 = 50;
const REMOVAL_PAUSE: Duration = Duration::from_millis(100);

/// Removed when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    root: PathBuf,
}

impl Place {
    /// Makes the directories, for this user alone. HOME is not below TMPDIR: there are agents that refuse such a one.
    pub(super) fn make(state_dir: &Path, name: &str, prompt: Option<&str>) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(state_dir)?;
        let place = Self { root: fresh(state_dir, name)? };
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

    pub(super) fn prompt_file(&self) -> PathBuf {
        self.root.join("prompt.md")
    }

    /// Removes everything, after the program and all that it started have ended.
    pub(super) async fn remove(mut self) {
        let root = std::mem::take(&mut self.root);
        // What cannot be removed is left: it is no part of the answer.
        let _ = tokio::task::spawn_blocking(move || remove_all(&root)).await;
    }
}

impl Drop for Place {
    /// The run was cut off. What the program started may be ending only now and write on until then, so this goes on
    /// beside the caller until nothing is left.
    fn drop(&mut self) {
        let root = std::mem::take(&mut self.root);
        if root.as_os_str().is_empty() {
            return;
        }
        let removal = move || {
            for _ in 0..REMOVALS_MAX {
                remove_all(&root);
                std::thread::park_timeout(REMOVAL_PAUSE);
                if is_gone(&root) {
                    return;
                }
            }
        };
        // Without a thread to spare the directory stays, empty of secrets: none is ever written there by us.
        let _ = std::thread::Builder::new().name("remove".into()).spawn(removal);
    }
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

/// Removes a tree without following a link. Directories that may not be written to are opened up first, as package
/// caches leave such ones.
fn remove_all(root: &Path) {
    if std::fs::remove_dir_all(root).is_err() && !is_gone(root) {
        open_up(root);
        let _ = std::fs::remove_dir_all(root);
    }
}

fn open_up(directory: &Path) {
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        let _ = std::fs::set_permissions(&directory, Permissions::from_mode(0o700));
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        let is_directory = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        pending.extend(entries.flatten().filter(is_directory).map(|entry| entry.path()));
    }
}
