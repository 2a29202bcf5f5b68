//! The gates: pure functions from a bundle and its evidence to PASS, or to FAIL with its reason (M-1).

pub mod patch;
