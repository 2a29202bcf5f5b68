//! The patch flow by hand-driven ticks on a real store (PROTOCOL.md 6 and 7.1).

mod checks;
mod gate;
mod overwhelm;
mod poll;
mod readiness;
mod runner;
mod scheduler;
mod takeover;
mod waiting;
