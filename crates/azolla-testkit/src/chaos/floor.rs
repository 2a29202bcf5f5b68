//! What everybody in a run shares: the last look at the stores, how far the run is, what happened, what was promised.

use std::{
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::{Faults, look::Look, operator::Promise, site::Site};

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Work comes in, and things break.
    #[default]
    Working,
    /// Nothing new comes in and nothing breaks any more: everything has to come to rest (12, P18).
    Draining,
    /// Everybody ends.
    Over,
}

/// What is counted while it happens.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) kills: AtomicU64,
    pub(super) pauses: AtomicU64,
    pub(super) jumps: AtomicU64,
    pub(super) crashes: AtomicU64,
    pub(super) sessions: AtomicU64,
    pub(super) holes: AtomicU64,
    pub(super) cuts: AtomicU64,
    /// Processes that a worker killed.
    pub(super) poisoned: AtomicU64,
    /// Commands of the operator that were refused or failed.
    pub(super) refused: AtomicU64,
}

impl Tally {
    /// Returns which faults happened how often.
    pub(super) fn faults(&self) -> Faults {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Faults {
            kills: count(&self.kills),
            pauses: count(&self.pauses),
            jumps: count(&self.jumps),
            crashes: count(&self.crashes),
            terminations: count(&self.sessions),
            holes: count(&self.holes),
            cuts: count(&self.cuts),
        }
    }

    pub(super) fn add(count: &AtomicU64, more: u64) {
        count.fetch_add(more, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct State {
    look: Look,
    looks: u64,
    phase: Phase,
    violation: Option<String>,
}

/// The shared part of a run.
pub(super) struct Floor<'a> {
    pub(super) site: &'a Site,
    pub(super) seed: u64,
    pub(super) tally: Tally,
    /// Those who have faults left to do.
    pub(super) drivers: AtomicUsize,
    /// Commands under way that may bring work.
    pub(super) commands: AtomicUsize,
    begin: Instant,
    state: Mutex<State>,
    moved: Condvar,
    story: Mutex<Vec<String>>,
    promises: Mutex<Vec<Promise>>,
}

impl<'a> Floor<'a> {
    pub(super) fn new(site: &'a Site, seed: u64, drivers: usize) -> Self {
        Self {
            site,
            seed,
            tally: Tally::default(),
            drivers: AtomicUsize::new(drivers),
            commands: AtomicUsize::new(0),
            begin: Instant::now(),
            state: Mutex::default(),
            moved: Condvar::new(),
            story: Mutex::default(),
            promises: Mutex::default(),
        }
    }

    /// Takes a new look into account.
    pub(super) fn saw(&self, look: Look) {
        let mut state = self.lock();
        state.look = look;
        state.looks += 1;
        self.moved.notify_all();
    }

    /// Returns the last look and how many there were.
    pub(super) fn look(&self) -> (Look, u64) {
        let state = self.lock();
        (state.look.clone(), state.looks)
    }

    pub(super) fn phase(&self) -> Phase {
        self.lock().phase
    }

    pub(super) fn enter(&self, phase: Phase) {
        let mut state = self.lock();
        state.phase = phase;
        self.moved.notify_all();
    }

    /// Ends the run with what must not be. The first one counts.
    pub(super) fn violated(&self, what: impl Into<String>) {
        let what = what.into();
        self.note(format!("violation: {what}"));
        let mut state = self.lock();
        state.violation.get_or_insert(what);
        state.phase = Phase::Over;
        self.moved.notify_all();
    }

    /// Returns what must not be, if it was.
    pub(super) fn violation(&self) -> Option<String> {
        self.lock().violation.clone()
    }

    /// Waits for a look or a phase in which something is so, at most `limit`; tells whether it is. The end of a run
    /// ends every wait.
    pub(super) fn wait(&self, limit: Duration, is_so: impl Fn(&Look, u64) -> bool) -> bool {
        let waiting = |state: &mut State| state.phase != Phase::Over && !is_so(&state.look, state.looks);
        let (state, _) = self
            .moved
            .wait_timeout_while(self.lock(), limit, waiting)
            .unwrap_or_else(PoisonError::into_inner);
        is_so(&state.look, state.looks)
    }

    /// Waits for the next look.
    pub(super) fn wait_for_a_look(&self) {
        let (_, seen) = self.look();
        self.wait(Duration::from_millis(200), |_, looks| looks > seen);
    }

    /// Notes what happened, for whoever looks into a violation.
    pub(super) fn note(&self, what: String) {
        let (look, _) = self.look();
        let line = format!("{:7.2} s, {:4} gated: {what}", self.begin.elapsed().as_secs_f64(), look.gated);
        self.story.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Returns what happened so far.
    pub(super) fn story(&self) -> Vec<String> {
        self.story.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers what the operator was told.
    pub(super) fn promised(&self, promise: Promise) {
        self.promises.lock().unwrap_or_else(PoisonError::into_inner).push(promise);
    }

    /// Returns what the operator was told.
    pub(super) fn promises(&self) -> Vec<Promise> {
        self.promises.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
