//! Spawns, bounds, captures and ends programs: the one place that starts a process.
//!
//! A program is described whole (path, arguments, directory, environment, input) and inherits nothing. It ends with
//! everything that it started, or within its time limit and the grace after it; dropping the future of [`run()`] ends
//! it too.

#[cfg(not(unix))]
compile_error!("azolla runs on Unix systems only: on Windows, build it inside WSL");

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

mod available;
mod capture;
mod contained;
mod find;
mod group;
mod limits;
mod reap;
mod remove;
mod run;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(not(target_os = "linux"))]
#[path = "sandbox/elsewhere.rs"]
mod sandbox;
mod settings;
mod spawn;
mod streams;
mod sys;
#[cfg(target_os = "linux")]
mod tree;

pub use available::Available;
pub use find::find;
pub use remove::remove_tree;
pub use run::{run, run_telling};
pub use sandbox::available;
pub use settings::{SandboxMode, SandboxSettings};

/// What to run. The environment is all that the program sees: nothing of ours is inherited, and of our open files only
/// its three streams.
#[derive(Clone, Debug)]
pub struct Program {
    /// Absolute path of the executable; see [`find()`].
    pub path: PathBuf,
    /// Its arguments, without the name.
    pub arguments: Vec<OsString>,
    /// The directory that it starts in.
    pub directory: PathBuf,
    /// Its whole environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// What it reads from stdin, which then closes. Without any, stdin is the null device.
    pub input: Vec<u8>,
}

/// What a program may use.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// How long it may run; at the end it is asked to stop, then killed after `grace`.
    pub time: Option<Duration>,
    /// How long it has between being asked and being killed.
    pub grace: Duration,
    /// Bytes of stdout that are kept. What comes after is read and dropped, or ends the program.
    pub stdout: Capture,
    /// Bytes of stderr that are kept.
    pub stderr: Capture,
    /// How what it starts is held together.
    pub containment: Containment,
    /// Limits of the system on each of its processes.
    pub limits: ResourceLimits,
    /// What of the machine it can reach.
    pub sandbox: Sandbox,
}

/// Whether a program is confined. Only what is in a [`Containment::Tree`] can be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// It is not.
    #[default]
    Off,
    /// As far as this system can; how far is in [`Finished::sandbox_mode`].
    BestEffort(Confinement),
    /// As [`Sandbox::BestEffort`], but the program is not started where the system cannot hide files and network from it,
    /// which takes bubblewrap.
    Required(Confinement),
}

/// What a confined program can reach. Beside this it reads the system's own directories, and with bubblewrap the rest of
/// the machine is not there for it: it has processes, a loopback, temporary directories and an empty home of its own.
///
/// Where there is only Landlock, the rest cannot be opened, but names, modes and times of files are not hidden and the
/// last two not protected, nor is what is in `keep`; without `network` it makes no sockets at all, and temporary files
/// need a place in `write`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Files and directories that it may also read and execute. What is not there is passed over.
    pub read: Vec<PathBuf>,
    /// Files and directories that it may read and change. They have to be there.
    pub write: Vec<PathBuf>,
    /// What stays as it is, though it is below a directory of `write`, such as a worktree's `.git`.
    pub keep: Vec<PathBuf>,
    /// Whether it has the machine's network, and with it what listens there.
    pub network: bool,
}

/// How much of a stream is kept. No more memory than that is used for it, whatever the program prints, but for a
/// buffer of fixed size to read into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capture {
    /// The first bytes; one byte more ends the program with [`Exit::TooMuchOutput`].
    All(usize),
    /// The first bytes; the rest is read and dropped.
    Head(usize),
    /// The last bytes; what came before is dropped.
    Tail(usize),
}

/// How the processes that a program starts are held together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containment {
    /// A process group: enough for a program of ours, such as git, and cheap. What leaves the group survives, and so
    /// does the program when this process is killed. When the future is dropped, it is asked to stop, so that it can
    /// remove its locks, and killed after [`Bounds::grace`].
    Group,
    /// A process tree that nothing leaves, with `setsid` or a double fork or in any other way (B-2, T30). It ends when
    /// the program ends, when this process dies, and when the future is dropped.
    ///
    /// The program gains no privileges on the way (no `sudo`), as what runs as another user could not be ended; where
    /// the kernel has Landlock scopes (Linux 6.12), it can signal nothing outside the tree. Needs `/proc`. On systems
    /// other than Linux this is [`Containment::Group`].
    ///
    /// What forks without end is ended too, but on a machine that it has all to itself that takes seconds rather than
    /// milliseconds: [`ResourceLimits::processes`] in the hundreds keeps it short.
    Tree,
}

/// Limits of the system on each process; none where `None`, and never above what this process itself has. Core dumps
/// are always off in a [`Containment::Tree`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Seconds of processor time.
    pub cpu_seconds: Option<u64>,
    /// Bytes of address space.
    pub address_space: Option<u64>,
    /// Bytes of any one file that it writes.
    pub file_size: Option<u64>,
    /// Open files.
    pub open_files: Option<u64>,
    /// Processes and threads of this user, all programs together; without effect where that is root.
    pub processes: Option<u64>,
}

/// How it went.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// What it printed.
    pub stdout: Captured,
    /// What it printed beside that.
    pub stderr: Captured,
    /// How long it ran.
    pub duration: Duration,
    /// How it was really confined: `off`, or the layers that were in force, such as `bubblewrap+landlock` or
    /// `landlock+seccomp`, with `, network` where the machine's was open to it, and with what of the [`Confinement`] they
    /// did not do.
    pub sandbox_mode: String,
}

/// The kept part of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The bytes kept.
    pub bytes: Vec<u8>,
    /// How many bytes were read in all.
    pub total: u64,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// By us, at its time limit.
    TimedOut,
    /// By us, because it printed more than [`Capture::All`] allows.
    TooMuchOutput,
}

/// A program that could not be started at all.
#[derive(Debug, thiserror::Error)]
#[error("{program} cannot be started: {source}")]
pub struct SpawnError {
    /// The program, as it was named.
    pub program: String,
    /// Why.
    #[source]
    pub source: std::io::Error,
}
