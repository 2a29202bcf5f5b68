//! The gates at which workers wait until the simulation lets them go on, each with how it goes on.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use super::chance::Chance;

/// Where somebody waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// Before a worker's look.
    Tick,
    /// Before a read of the store.
    Read,
    /// Before a claim, a renewal or a release.
    Claim,
    /// Before a commit.
    Commit,
    /// After the store did what it was asked for, before the answer.
    Answer,
    /// Before the repository is asked.
    Repository,
    /// While a diazotroph works.
    Diazotroph,
}

/// How it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// As it should.
    Go,
    /// It is done, and the answer takes its time.
    GoSlowly,
    /// It is not done, and says so.
    Refuse,
    /// It is done, and the answer is lost.
    LoseAnswer,
    /// It is not done yet, and the answer is lost: it may be done later.
    LandLater,
}

/// All gates.
pub(super) struct Board(Mutex<State>);

struct State {
    chance: Chance,
    /// Reads that are gates, of a thousand.
    reads_gated: usize,
    /// Who is moved now.
    actor: usize,
    next: u64,
    gates: BTreeMap<u64, Waiting>,
}

struct Waiting {
    actor: usize,
    point: Point,
    verdict: Option<Verdict>,
}

/// One gate that is shut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shut {
    pub(super) gate: u64,
    pub(super) actor: usize,
    pub(super) point: Point,
}

impl Board {
    pub(super) fn new(chance: Chance, reads_gated: usize) -> Arc<Self> {
        let state = State { chance, reads_gated, actor: 0, next: 0, gates: BTreeMap::new() };
        Arc::new(Self(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws from the chance of the simulation.
    pub(super) fn draw<T>(&self, draw: impl FnOnce(&mut Chance) -> T) -> T {
        draw(&mut self.state().chance)
    }

    /// Says who is moved from now on: a gate that it comes to is its own.
    pub(super) fn moves(&self, actor: usize) {
        self.state().actor = actor;
    }

    /// Returns the gates that are shut, in the order in which they were come to.
    pub(super) fn shut(&self) -> Vec<Shut> {
        let state = self.state();
        let waiting = state.gates.iter().filter(|(_, waiting)| waiting.verdict.is_none());
        waiting.map(|(gate, w)| Shut { gate: *gate, actor: w.actor, point: w.point }).collect()
    }

    /// Opens a gate. Whoever waits there goes on when it is moved.
    pub(super) fn open(&self, gate: u64, verdict: Verdict) {
        if let Some(waiting) = self.state().gates.get_mut(&gate) {
            waiting.verdict = Some(verdict);
        }
    }

    /// Comes to a gate.
    pub(super) fn gate(self: &Arc<Self>, point: Point) -> Gate {
        Gate { board: self.clone(), point, number: None }
    }

    /// Comes to a gate before a read: most reads have none.
    pub(super) async fn read_gate(self: &Arc<Self>) -> Verdict {
        let is_gated = {
            let mut state = self.state();
            let reads_gated = state.reads_gated;
            state.chance.per_mille(reads_gated)
        };
        if is_gated { self.gate(Point::Read).await } else { Verdict::Go }
    }
}

/// A wait at a gate. One that is dropped is gone from the board.
pub(super) struct Gate {
    board: Arc<Board>,
    point: Point,
    number: Option<u64>,
}

impl Future for Gate {
    type Output = Verdict;

    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Verdict> {
        let board = self.board.clone();
        let mut state = board.state();
        match self.number {
            None => {
                let (number, actor) = (state.next, state.actor);
                state.next += 1;
                state.gates.insert(number, Waiting { actor, point: self.point, verdict: None });
                self.number = Some(number);
                Poll::Pending
            }
            Some(number) => match state.gates.get(&number).and_then(|waiting| waiting.verdict) {
                Some(verdict) => Poll::Ready(verdict),
                None => Poll::Pending,
            },
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.board.state().gates.remove(&number);
        }
    }
}
