//! HTTP: the door of the Exchange Membrane for other machines, and the operator's own interface. Nothing under `/v1`
//! approves, promotes, confirms or runs a command (T27); the pages of the dashboard do the first three, for a session.

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
mod waiting;

pub(crate) use app::App;
pub(crate) use listen::{Listening, bind};
pub(crate) use places::one as one_address;
pub(crate) use replay::WINDOW_MS as QUERY_WINDOW_MS;
pub(crate) use serve::{Remote, serve};
