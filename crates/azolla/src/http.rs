//! HTTP: the door of the Exchange Membrane for other machines, and the operator's own interface. Nothing here approves,
//! promotes, confirms or runs a command (T27).

mod access;
mod answer;
mod app;
mod front;
mod listen;
mod log;
mod mcp;
mod metrics;
mod openapi;
mod operation;
mod operator;
mod peer;
mod places;
mod replay;
mod schemas;
mod serve;

pub(crate) use app::App;
pub(crate) use listen::{Listening, bind};
pub(crate) use operator::objective_page;
pub(crate) use replay::WINDOW_MS as QUERY_WINDOW_MS;
pub(crate) use serve::serve;
