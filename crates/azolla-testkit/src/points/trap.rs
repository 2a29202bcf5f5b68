//! The trap of a process: notes every write boundary that it comes to, and springs at one of them.

use std::{
    collections::BTreeSet,
    fmt,
    io::BufRead,
    str::FromStr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context, bail};
use rustix::process::{Signal, getpid, kill_process};

use super::name;
use crate::Backend;

/// A write boundary, from one side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// Which side.
    pub(super) side: Side,
    /// Which write.
    pub(super) name: String,
}

impl Point {
    /// Returns the name of the write.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tells whether an action can happen here, on this store.
    pub(super) fn takes(&self, action: Action, backend: Backend) -> bool {
        !action.is_cut()
            || (backend == Backend::Postgres && self.side == Side::Before && name::is_commit(&self.name))
    }
}

/// Before a write, or after it and before its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Before,
    After,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::Before => "before",
            Side::After => "after",
        };
        write!(f, "{side}:{}", self.name)
    }
}

impl FromStr for Point {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (side, name) = text.split_once(':').with_context(|| format!("{text} is no point"))?;
        let side = match side {
            "before" => Side::Before,
            "after" => Side::After,
            _ => bail!("{text} is no point"),
        };
        Ok(Self { side, name: name.to_owned() })
    }
}

/// What happens at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The process is killed.
    Abort,
    /// The call fails: nothing was written before it, and after it nobody is told what was.
    Error,
    /// The whole process stands still until it is told to go on: by then somebody else has done its work.
    Sleep,
    /// The connection to PostgreSQL is cut before the transaction begins.
    CutBegin,
    /// It is cut inside the transaction, before its COMMIT.
    CutCommit,
    /// It is cut after the COMMIT, and the answer is lost.
    CutAnswer,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Abort, Self::Error, Self::Sleep, Self::CutBegin, Self::CutCommit, Self::CutAnswer];

    /// Tells whether it happens on the way to the server: only a commit is cut, and it is met on its near side.
    pub(super) fn is_cut(self) -> bool {
        matches!(self, Self::CutBegin | Self::CutCommit | Self::CutAnswer)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Abort => "abort",
            Self::Error => "error",
            Self::Sleep => "sleep",
            Self::CutBegin => "cut-begin",
            Self::CutCommit => "cut-commit",
            Self::CutAnswer => "cut-answer",
        })
    }
}

impl FromStr for Action {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let found = Self::ALL.into_iter().find(|action| action.to_string() == text);
        found.with_context(|| {
            let all = Self::ALL.map(|action| action.to_string()).join(", ");
            format!("{text} is none of {all}")
        })
    }
}

/// How a call goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Go,
    Fail,
}

/// What a process prints: a word, and what it is about. Its reader judges it.
pub(super) fn say(line: impl fmt::Display) {
    println!("{line}");
}

/// The trap.
pub(super) struct Trap {
    /// Where it springs; nowhere while boundaries are recorded.
    armed: Option<(Point, Action)>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seen: BTreeSet<Point>,
    is_sprung: bool,
}

impl Trap {
    pub(super) fn new(armed: Option<(Point, Action)>) -> Self {
        Self { armed, state: Mutex::default() }
    }

    /// Tells whether it has sprung.
    pub(super) fn is_sprung(&self) -> bool {
        self.state().is_sprung
    }

    /// Tells whether it is there to spring.
    pub(super) fn is_armed(&self) -> bool {
        self.armed.is_some()
    }

    /// Comes to a boundary. The first time at the armed one, the trap springs.
    pub(super) fn come_to(&self, side: Side, name: &str) -> Verdict {
        let point = Point { side, name: name.to_owned() };
        let Some((armed, action)) = &self.armed else {
            if self.state().seen.insert(point.clone()) {
                say(format_args!("point {point}"));
            }
            return Verdict::Go;
        };
        if point != *armed || std::mem::replace(&mut self.state().is_sprung, true) {
            return Verdict::Go;
        }
        say("hit");
        match action {
            Action::Abort => die(),
            Action::Error => Verdict::Fail,
            // What is cut is set up meanwhile, by whoever has the wire.
            Action::Sleep | Action::CutBegin | Action::CutCommit | Action::CutAnswer => {
                stand_still();
                Verdict::Go
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends this process as a crash of the machine would: nothing is finished, nothing is given back.
fn die() -> ! {
    // The kernel ends the process before this returns, unless it refuses, which would be a fault of the harness.
    let refused = kill_process(getpid(), Signal::KILL);
    panic!("the process outlived its end: {refused:?}");
}

/// Waits on the one thread that all of this process runs on, so that nothing in it goes on: no renewal, no timer.
fn stand_still() {
    let mut line = String::new();
    if !matches!(std::io::stdin().lock().read_line(&mut line), Ok(1..)) {
        // Nobody is there any more to tell it to go on.
        std::process::exit(1);
    }
}
