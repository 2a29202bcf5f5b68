//! How each context_snapshot is built: all that a diazotroph will see (B-1).

mod class;
mod contents;
pub(crate) mod form;
mod listing;
pub mod manifest;
mod nearness;
pub mod patch;
mod query;
pub mod relevance;
pub mod survey;
pub mod triage;
mod window;
mod words;
