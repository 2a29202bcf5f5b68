//! The Exchange Membrane on real stores, of both backends.

// clippy.toml allows it in tests; helpers of an integration test are not seen as such.
#![allow(clippy::unwrap_used)]

mod query;
