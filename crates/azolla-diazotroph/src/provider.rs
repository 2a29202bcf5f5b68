//! The providers: each is a [`azolla_protocol::Diazotroph`], made from settings that configuration has read.

pub mod command;
pub mod recorded;

pub use command::{CommandProvider, CommandSettings, PromptBy, ResultBy};
pub use recorded::{RecordedProvider, RecordedSettings};

/// The most bytes of a text answer: what a document can hold.
const ANSWER_BYTES_MAX: usize = azolla_protocol::DOCUMENT_BYTES_MAX;

/// Settings that no provider can be made from: the text says which one and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("provider {name}: {what}")]
pub struct InvalidSettings {
    /// The provider's configured name.
    pub name: String,
    /// What is wrong.
    pub what: String,
}
