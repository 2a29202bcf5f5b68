//! Finds a program by name, once, so that it is started by absolute path ever after (T11).

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access};

#[cfg(test)]
mod tests;

/// Returns the absolute path of the program `name`: itself if it is one, else the first executable file of that name
/// in `path`, a list as in `PATH`. Relative entries of the list are passed over, and a relative name with a `/` is not
/// found: what they mean depends on the directory that one is in.
pub fn find(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    if Path::new(name).is_absolute() {
        return is_program(Path::new(name)).then(|| PathBuf::from(name));
    }
    if name.is_empty() || name.as_bytes().contains(&b'/') {
        return None;
    }
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}
