//! The real program on a disk that fails (P7) and on one that loses power: nothing of the program is changed for it. A shim
//! in C stands between the program and libc (`shim/disk.c`).

mod image;
mod place;
mod power;
mod record;
mod shim;
mod steps;
mod walk;

pub use image::Loss;
pub use power::{Cut, Recording};
pub use shim::Shim;
pub use walk::{Counts, Walked, branch_is_synced_first, count, said_on_full_disk, walk};

use std::path::{Path, PathBuf};

/// Which files are on the failing disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// The stores of the azollas, with their logs.
    Store,
    /// The store of what belongs to no azolla.
    Home,
    /// The mirror of the repository.
    Mirror,
    /// The files that a worker and a check work on.
    Worktree,
}

impl Area {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Store, Self::Home, Self::Mirror, Self::Worktree];

    /// Returns how the paths of it begin.
    fn under(self, home: &Path) -> PathBuf {
        home.join(match self {
            Self::Store => "azollas",
            Self::Home => "home.sqlite",
            Self::Mirror => "mirrors",
            Self::Worktree => "worktrees",
        })
    }
}

/// What the disk does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is full.
    NoSpace,
    /// It refuses to write.
    Io,
    /// It refuses to sync.
    Sync,
    /// It takes half of what is written, then it is full.
    Short,
    /// Nothing: the process is killed right before.
    Kill,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::NoSpace, Self::Io, Self::Sync, Self::Short, Self::Kill];

    /// The shim's name of it.
    fn name(self) -> &'static str {
        match self {
            Self::NoSpace => "enospc",
            Self::Io => "eio",
            Self::Sync => "fsync",
            Self::Short => "short",
            Self::Kill => "kill",
        }
    }
}

/// A fault at one boundary of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injection {
    /// Where.
    pub area: Area,
    /// What.
    pub fault: Fault,
    /// At which boundary of that area, from 1.
    pub at: u64,
    /// Whether it stays from there on.
    pub sticky: bool,
}

impl std::fmt::Display for Injection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { area, fault, at, sticky } = self;
        let from = if *sticky { "from" } else { "at" };
        write!(f, "{area:?} {fault:?} {from} {at}")
    }
}
