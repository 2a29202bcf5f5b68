//! Whether what a program wrote holds one of its own secrets: then it is no answer, and nothing of it is kept (T29).

use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::said::Secrets;

/// More than a change may have in one file.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Returns a file of the worktree that was written since `before` was, and that holds a secret in its text or its name.
///
/// The time of the last change of an entry is the system's own: unlike that of its contents nobody can set it back.
pub(super) fn find(worktree: &Path, before: &Metadata, keys: &Secrets) -> Option<PathBuf> {
    let since = (before.ctime(), before.ctime_nsec());
    let mut directories = vec![worktree.to_owned()];
    while let Some(directory) = directories.pop() {
        // What cannot be read is no part of the change either.
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let (path, Ok(found)) = (entry.path(), entry.metadata()) else { continue };
            if path == worktree.join(".git") {
                continue;
            }
            if found.is_dir() {
                directories.push(path);
            } else if (found.ctime(), found.ctime_nsec()) >= since && is_leak(&path, &found, keys) {
                return Some(path.strip_prefix(worktree).unwrap_or(&path).to_owned());
            }
        }
    }
    None
}

fn is_leak(path: &Path, found: &Metadata, keys: &Secrets) -> bool {
    if keys.are_in(&path.to_string_lossy()) {
        return true;
    }
    if found.is_symlink() {
        return fs::read_link(path).is_ok_and(|target| keys.are_in(&target.to_string_lossy()));
    }
    if !found.is_file() || found.len() > FILE_BYTES_MAX {
        return false;
    }
    fs::read(path).is_ok_and(|bytes| keys.are_in(&String::from_utf8_lossy(&bytes)))
}
