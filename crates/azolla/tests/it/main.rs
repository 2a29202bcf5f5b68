//! Tests of the whole tree and of the program: what no lint and no other crate's tests can see.

// A test may stop at what it does not expect; clippy sees that only inside `#[test]` functions.
#![allow(clippy::unwrap_used)]

mod agents;
mod browser;
mod canary;
mod caps;
mod chaos;
mod cli;
mod completion;
mod conformance;
mod dashboard;
mod demo;
mod dependencies;
mod disk;
mod doctor;
mod http;
mod kills;
mod licences;
mod mcp;
mod model_server;
mod models;
mod mount;
mod notify;
mod objectives;
mod peers;
mod pr;
mod replay;
mod resume;
mod runs;
mod screens;
mod security;
mod server;
mod service;
mod setup;
mod shells;
mod tasks;
mod terminal;
mod tidy;
mod world;

use std::path::PathBuf;

/// Returns the root of the repository.
fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("this crate is in crates/").to_owned()
}
