//! The gates: pure functions from a bundle and its evidence to PASS, or to FAIL with its reason (M-1).

mod failure;
pub mod manifest;
pub mod patch;
pub mod triage;
