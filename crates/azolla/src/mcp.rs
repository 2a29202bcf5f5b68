//! The MCP server: what an agent may see of all azollas, and the three things it may say. Nothing here approves,
//! promotes, confirms or edits: a proposal is a note like any other, and a reported blocker moves no objective.

mod arguments;
mod bounded;
mod client;
mod look;
mod message;
mod orientation;
mod proposal;
mod resource;
mod say;
mod server;
mod source;
mod stdio;
mod tool;

pub(crate) use client::Named;
pub(crate) use message::no_message;
pub(crate) use server::Server;
pub(crate) use source::{Faults, Kept, Source};
pub(crate) use stdio::serve;
