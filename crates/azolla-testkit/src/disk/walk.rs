//! P7: the scenario with a fault at one boundary, then on without it to the end.

use std::{fs, path::Path};

use anyhow::{Context, ensure};

use super::{
    Area, Fault, Injection, Shim,
    image::{Change, Done, Entry, read_log},
    place::{Answer, Place},
    shim::{Counted, KINDS, Orders},
    steps::{Course, Step},
};

/// How far the clock is when the operator comes back: every lease and every wait is over.
const LATER_S: u64 = 3_600;

/// How many operations of each kind a scenario makes in an area when nothing fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts([u64; KINDS]);

impl Counts {
    /// Returns how many boundaries a fault has.
    pub fn of(&self, fault: Fault) -> u64 {
        let [bytes, size, name, gone, sync] = self.0;
        match fault {
            Fault::NoSpace => bytes + size + name,
            Fault::Io => bytes + size + name + gone,
            Fault::Sync => sync,
            Fault::Short => bytes,
            Fault::Kill => bytes + size + name + gone + sync,
        }
    }
}

/// What became of a scenario with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walked {
    /// It never came to that boundary: the number of boundaries differs a little from run to run.
    NotReached,
    /// No command failed of it.
    Absorbed,
    /// A command said that it failed, was stopped while it waited, or was killed; typed again, it was done.
    Recovered,
}

/// Counts the boundaries of an area.
pub fn count(shim: &Shim, program: &Path, area: Area) -> anyhow::Result<Counts> {
    let mut course = Course::new(Place::new(shim, program)?);
    let nothing = Injection { area, fault: Fault::Kill, at: 0, sticky: false };
    let orders = Orders::default().inject(area.under(&course.place.home()), nothing);
    for step in Step::ALL {
        let answer = course.take(step, &orders)?;
        ensure!(answer.is_ok(), "{step:?} without a fault: {answer:?}");
    }
    let counted = Counted::read(&course.place.counter())?;
    let counts = Counts(counted.kinds);
    ensure!(counted.boundaries > 0 && counts.of(Fault::Kill) == counted.boundaries, "{area:?}: {counted:?}");
    Ok(counts)
}

/// Returns what a capture says on a disk of the stores that is full from its boundary `at` on; nothing if it needs no more.
pub fn said_on_full_disk(shim: &Shim, program: &Path, at: u64) -> anyhow::Result<Option<String>> {
    let mut course = Course::new(Place::new(shim, program)?);
    ensure!(course.take(Step::Init, &Orders::default())?.is_ok(), "init failed");
    let injection = Injection { area: Area::Store, fault: Fault::NoSpace, at, sticky: true };
    let orders = Orders::default().inject(injection.area.under(&course.place.home()), injection);
    let answer = course.take(Step::Capture, &orders)?;
    Ok((!answer.is_ok()).then_some(answer.stderr))
}

/// Tells whether the names of a published branch were synced in the operator's repository before the first word of its PASS was
/// written. Its directory is made with it, so that nobody can have synced that before.
pub fn branch_is_synced_first(shim: &Shim, program: &Path) -> anyhow::Result<bool> {
    let mut course = Course::new(Place::new(shim, program)?);
    for step in [Step::Init, Step::New, Step::Approve] {
        ensure!(course.take(step, &Orders::default())?.is_ok(), "{step:?} failed");
    }
    let log = course.place.path("log");
    let orders = Orders::default().record(course.place.path(""), &log);
    ensure!(course.take(Step::Work, &orders)?.is_ok(), "the run failed");
    let entries = read_log(&fs::read(&log)?)?;
    let is_pass = |entry: &Entry| match &entry.what {
        Done::Wrote { path, change: Change::Bytes { bytes, .. } } => {
            path.ends_with("az-app.sqlite-wal")
                && bytes.windows(b"RUN_COMPLETE".len()).any(|part| part == b"RUN_COMPLETE")
        }
        _ => false,
    };
    let passed = entries.iter().position(is_pass).context("there is no PASS")?;
    let is_synced = |name: &str| {
        let is_it = |entry: &Entry| matches!(&entry.what, Done::Synced(path) if path.ends_with(name));
        entries[..passed].iter().any(is_it)
    };
    Ok(is_synced("/app/.git/refs/heads/azolla") && is_synced("/app/.git/refs/heads"))
}

/// Runs the scenario with a fault. An error is a violation, and says of what.
pub fn walk(shim: &Shim, program: &Path, injection: Injection) -> anyhow::Result<Walked> {
    walk_through(shim, program, injection).with_context(|| injection.to_string())
}

fn walk_through(shim: &Shim, program: &Path, injection: Injection) -> anyhow::Result<Walked> {
    let mut course = Course::new(Place::new(shim, program)?);
    let repository = course.place.repository()?;
    let mut orders = Orders::default().inject(injection.area.under(&course.place.home()), injection);
    let mut walked = Walked::Absorbed;
    for step in Step::ALL {
        let answer = course.take(step, &orders)?;
        if answer.is_ok() {
            if walked == Walked::Recovered || !orders.has_fault() {
                course.check(step, &orders)?;
            }
            continue;
        }
        let counted = Counted::read(&course.place.counter())?;
        ensure!(orders.has_fault() && counted.faults > 0, "{step:?} failed without a fault: {answer:?}");
        check_words(step, injection, &answer)?;
        walked = Walked::Recovered;
        // From here on the disk is sound.
        if step != Step::Init {
            course.verify(&Orders::default()).with_context(|| format!("after {step:?} failed"))?;
        }
        orders = Orders::later(LATER_S);
        course.take_again(step, &orders)?;
    }
    let counted = Counted::read(&course.place.counter())?;
    let orders = Orders::later(LATER_S);
    // A fault that no command failed of may have left work to a later run.
    course.take_again(Step::Triage, &orders)?;
    course.check(Step::Confirm, &orders)?;
    course.verify(&orders)?;
    course.check_given(&orders)?;
    course.check_branch()?;
    let now = course.place.repository()?;
    let changed = now.keys().chain(repository.keys()).find(|path| now.get(*path) != repository.get(*path));
    ensure!(changed.is_none(), "the operator's repository was changed: {changed:?}");
    Ok(if counted.faults == 0 { Walked::NotReached } else { walked })
}

/// Checks that a command that failed said so, in words that a person can act on.
fn check_words(step: Step, injection: Injection, answer: &Answer) -> anyhow::Result<()> {
    if answer.code.is_none() {
        ensure!(injection.fault == Fault::Kill, "{step:?} died: {answer:?}");
        return Ok(());
    }
    // A run tells of work that waits on stdout.
    let told = (answer.stderr.clone() + &answer.stdout).to_lowercase();
    for word in ["panicked", "backtrace", "internal error", "unwrap"] {
        ensure!(!told.contains(word), "{step:?} says {word:?}: {answer:?}");
    }
    if answer.stopped {
        return Ok(());
    }
    let says = |words: &[&str]| words.iter().any(|word| told.contains(word));
    ensure!(says(&["error: ", "waits: "]), "{step:?} does not say that it failed: {answer:?}");
    ensure!(says(&["hint: ", "azolla doctor"]), "{step:?} does not say what to do: {answer:?}");
    let full = ["disk is full", "no space left", "make room"];
    let broken = ["disk i/o error", "input/output error", "cannot be written"];
    let words = match injection.fault {
        Fault::NoSpace if injection.sticky => full.to_vec(),
        // A disk that was full for one moment is not full when somebody looks why.
        Fault::NoSpace | Fault::Short => [full, broken].concat(),
        Fault::Io | Fault::Sync => broken.to_vec(),
        Fault::Kill => vec!["signal 9"],
    };
    ensure!(says(&words), "{step:?} does not say what failed: {answer:?}");
    Ok(())
}
