//! The providers as the Runner calls them, with real programs and real files.

// clippy.toml allows it in tests; helpers of an integration test are not seen as such.
#![allow(clippy::unwrap_used)]

mod agents;
mod bench;
mod builtin;
mod command;
mod confined;
mod endings;
mod environment;
mod leftovers;
mod logins;
mod models;
mod recorded;
