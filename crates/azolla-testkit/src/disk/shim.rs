//! The shim: compiled here, told by variables, and what it counted.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use tempfile::TempDir;

use super::{Area, Injection};

/// How many kinds of operations are told apart; their order is that of the shim.
pub(super) const KINDS: usize = 5;

/// The compiled shim, and the real git.
pub struct Shim {
    library: PathBuf,
    pub(super) git: PathBuf,
    _directory: TempDir,
}

impl Shim {
    /// Compiles it. The C compiler is there, because SQLite is built with it.
    #[expect(clippy::disallowed_methods, reason = "the compiler of the shim is started here")]
    pub fn compile() -> anyhow::Result<Self> {
        // Not where files of tests go: what is mounted there may not be for programs.
        let directory = TempDir::new()?;
        let (source, library) = (directory.path().join("disk.c"), directory.path().join("disk.so"));
        fs::write(&source, include_str!("../../shim/disk.c"))?;
        let flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread", "-o"];
        let output = Command::new("cc").args(flags).args([&library, &source]).output().context("cc")?;
        ensure!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut named = std::env::split_paths(&path).map(|directory| directory.join("git"));
        let git = named.find(|git| git.is_file()).context("there is no git")?;
        Ok(Self { library, git, _directory: directory })
    }
}

/// What the shim does in one command, and in the calls of git that it makes.
#[derive(Clone, Debug, Default)]
pub(super) struct Orders {
    under: Option<PathBuf>,
    injection: Option<Injection>,
    log: Option<PathBuf>,
    later_s: u64,
}

impl Orders {
    /// No fault, so many seconds from now.
    pub(super) fn later(later_s: u64) -> Self {
        Self { later_s, ..Self::default() }
    }

    /// Counts or injects in what is under a path.
    pub(super) fn inject(mut self, under: PathBuf, injection: Injection) -> Self {
        (self.under, self.injection) = (Some(under), Some(injection));
        self
    }

    /// Records what is done under a path.
    pub(super) fn record(mut self, under: PathBuf, log: &Path) -> Self {
        (self.under, self.log) = (Some(under), Some(log.to_owned()));
        self
    }

    /// Whether a fault is due in it.
    pub(super) fn has_fault(&self) -> bool {
        self.injection.is_some_and(|injection| injection.at > 0)
    }

    /// Whether git has a part in it.
    pub(super) fn concern_git(&self) -> bool {
        self.injection.is_some_and(|injection| matches!(injection.area, Area::Mirror | Area::Worktree))
    }

    /// Returns them as variables of the program; none if there is nothing to do.
    pub(super) fn variables(&self, shim: &Shim, counter: &Path) -> Vec<(&'static str, String)> {
        let mut variables = Vec::new();
        if self.later_s > 0 {
            variables.push(("DISK_LATER", self.later_s.to_string()));
        }
        if let Some(under) = &self.under {
            variables.push(("DISK_UNDER", under.display().to_string()));
        }
        if let Some(log) = &self.log {
            variables.push(("DISK_LOG", log.display().to_string()));
        }
        if let Some(injection) = &self.injection {
            variables.push(("DISK_COUNTER", counter.display().to_string()));
            variables.push(("DISK_FAULT", injection.fault.name().to_owned()));
            variables.push(("DISK_AT", injection.at.to_string()));
            variables.push(("DISK_STICKY", u8::from(injection.sticky).to_string()));
        }
        if !variables.is_empty() {
            variables.push(("LD_PRELOAD", shim.library.display().to_string()));
        }
        variables
    }
}

/// What the shim counted in all processes of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) boundaries: u64,
    pub(super) faults: u64,
    pub(super) kinds: [u64; KINDS],
}

impl Counted {
    const BYTES: usize = 8 * (2 + KINDS);

    /// Makes the file that the shim counts in.
    pub(super) fn begin(counter: &Path) -> anyhow::Result<()> {
        Ok(fs::write(counter, [0; Self::BYTES])?)
    }

    pub(super) fn read(counter: &Path) -> anyhow::Result<Self> {
        let bytes = fs::read(counter)?;
        ensure!(bytes.len() == Self::BYTES, "the counter has {} bytes", bytes.len());
        let mut numbers = bytes.chunks_exact(8).map(|chunk| {
            let mut number = [0; 8];
            number.copy_from_slice(chunk);
            u64::from_ne_bytes(number)
        });
        let mut next = || numbers.next().unwrap_or_default();
        Ok(Self { boundaries: next(), faults: next(), kinds: std::array::from_fn(|_| next()) })
    }
}
