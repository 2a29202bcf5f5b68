//! What an operator says about confinement, once for all programs.

use std::{
    ffi::OsStr,
    fs::File,
    io::Read,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use crate::{Confinement, Sandbox};

/// Whether programs are confined, and what they may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    /// Whether they are.
    pub mode: SandboxMode,
    /// What they may also read, beside the system.
    pub read: Vec<PathBuf>,
    /// What they may also change, such as a shared cache.
    pub write: Vec<PathBuf>,
    /// Whether they have a network.
    pub network: bool,
}

/// Whether programs are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// They are not.
    Off,
    /// As far as the system can.
    #[default]
    BestEffort,
    /// They do not run where the system cannot.
    Required,
}

impl SandboxMode {
    /// Returns its name in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::BestEffort => "best-effort",
            Self::Required => "required",
        }
    }
}

/// More than the paths of any repository take that one borrows objects from.
const ALTERNATES_BYTES_MAX: u64 = 64 * 1024;

impl SandboxSettings {
    /// Returns the same with the objects to be read that a checkout's own `.git` borrows: without them git says nothing
    /// in there. Nothing may have run in the checkout yet, as it could have written there.
    #[must_use]
    pub fn with_objects_of(&self, checkout: &Path) -> Self {
        let mut settings = self.clone();
        let mut text = Vec::new();
        let Ok(file) = File::open(checkout.join(".git/objects/info/alternates")) else { return settings };
        if file.take(ALTERNATES_BYTES_MAX).read_to_end(&mut text).is_ok() {
            let paths = text.split(|byte| *byte == b'\n').map(|line| PathBuf::from(OsStr::from_bytes(line)));
            settings.read.extend(paths.filter(|path| path.is_absolute()));
        }
        settings
    }

    /// Returns the sandbox of a program that may also change what is in `write`, but not what is in `keep`.
    pub fn confine(&self, write: &[&Path], keep: &[&Path]) -> Sandbox {
        let owned = |paths: &[&Path]| -> Vec<PathBuf> { paths.iter().map(PathBuf::from).collect() };
        let confinement = Confinement {
            read: self.read.clone(),
            write: self.write.iter().cloned().chain(owned(write)).collect(),
            keep: owned(keep),
            network: self.network,
        };
        match self.mode {
            SandboxMode::Off => Sandbox::Off,
            SandboxMode::BestEffort => Sandbox::BestEffort(confinement),
            SandboxMode::Required => Sandbox::Required(confinement),
        }
    }
}
