//! The flows by hand-driven ticks on a real store (PROTOCOL.md 6, 7.1 and 7.2).

mod away;
mod checks;
mod deadlines;
mod faults;
mod gate;
mod manifest;
mod overwhelm;
mod poison;
mod poll;
mod readiness;
mod runner;
mod scheduler;
mod takeover;
mod triage;
mod waiting;
