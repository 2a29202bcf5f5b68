//! What the crate promises to its users: every artifact, any bytes, one canonical text.

// The helpers here are tests too, which `allow-unwrap-in-tests` cannot see.
#![allow(clippy::unwrap_used)]

mod blueprints;
mod canonical;
mod reading;
mod round_trip;
mod strategies;
