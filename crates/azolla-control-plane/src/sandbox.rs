//! What checks and command-line workers can reach of the machine (SECURITY.md).

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

mod toolchains;

#[cfg(test)]
mod tests;

pub use azolla_process::{SandboxMode, SandboxSettings};

/// Returns the settings with the toolchains that an environment names, or that are in its home, to be read: of each
/// what it runs and what it was installed with, and no file that holds a login.
#[must_use]
pub fn with_toolchains(
    settings: &SandboxSettings,
    environment: &BTreeMap<OsString, OsString>,
) -> SandboxSettings {
    let mut settings = settings.clone();
    settings.read.extend(toolchains::of(environment));
    settings
}

/// A home that a program has to itself, with a directory for temporary files. Removed when it is dropped.
#[derive(Debug)]
pub struct PrivateHome(PathBuf);

impl PrivateHome {
    /// Makes one in `directory`.
    pub fn new_in(directory: &Path) -> io::Result<Self> {
        let home = Self(tempfile::Builder::new().prefix("home-").tempdir_in(directory)?.keep());
        fs::create_dir(home.path().join("tmp"))?;
        Ok(home)
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns an environment in which this is the home, and the toolchains of the one before are still found.
    pub fn environment(&self, environment: &BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
        let mut changed = toolchains::pinned(environment);
        changed.insert("HOME".into(), self.path().into());
        changed.insert("TMPDIR".into(), self.path().join("tmp").into());
        changed
    }
}

impl Drop for PrivateHome {
    fn drop(&mut self) {
        // A program may have nested directories in it deeper than recursion can follow. What cannot be removed stays:
        // there is nobody here to tell.
        let _ = azolla_process::remove_tree(&self.0);
    }
}
