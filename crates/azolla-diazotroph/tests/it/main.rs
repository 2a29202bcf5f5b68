//! The providers as the Runner calls them, with real programs and real files.

// clippy.toml allows it in tests; helpers of an integration test are not seen as such.
#![allow(clippy::unwrap_used)]

mod bench;
mod command;
mod endings;
mod environment;
mod recorded;
