//! The repository engine on real git repositories: attacks by row (T1 to T20), publishing, bad input, round trips.

#![allow(clippy::unwrap_used)]

mod attacks;
mod bad_input;
mod bombs;
mod corpus;
mod durable;
mod edit_properties;
mod edits;
mod hidden;
mod history;
mod names;
mod owner;
mod properties;
mod publish;
mod reading;
mod round_trip;
mod speed;
mod support;
