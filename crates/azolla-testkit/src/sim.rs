//! Simulation (P2): the real workers of several owners on a real SQLite file, with everything that is left to chance
//! drawn from one seed: who moves next, how time passes, what fails, who crashes or stands still, what the operator does.
//!
//! One thread moves one worker at a time, up to its next look at the outside: a gate. Time is tokio's paused clock and
//! the store's manual one. So a seed replays exactly. After every change the invariants are checked, and at the end all
//! faults stop and everything has to come to rest.

mod block;
mod board;
pub(crate) mod chance;
mod drive;
mod operator;
mod parts;
mod rare;
mod store;

pub use drive::{Outcome, Violation, simulate};
pub use rare::Rare;
