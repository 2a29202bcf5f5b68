//! Real programs: how they end, what they leave behind, what they see and what they may use.

// clippy.toml allows it in tests; helpers of an integration test are not seen as such.
#![allow(clippy::unwrap_used)]

mod bounds;
mod captures;
mod confined;
mod ends;
mod inherits;
mod keepers;
mod leaks;
mod survivors;
mod world;
