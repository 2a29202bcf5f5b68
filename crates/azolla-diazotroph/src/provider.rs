//! The providers: each is a [`azolla_protocol::Diazotroph`], made from settings that configuration has read.

pub mod anthropic;
pub mod builtin;
pub mod command;
pub mod model;
pub mod openai;
pub mod recorded;

pub use anthropic::{AnthropicProvider, AnthropicSettings, AnthropicVersion};
pub use builtin::BuiltinProvider;
pub use command::{CommandProvider, CommandSettings, OutputKind, Preset, PromptBy, ResultBy, presets};
pub use model::ModelSettings;
pub use openai::{OpenAiProvider, OpenAiSettings};
pub use recorded::{RecordedProvider, RecordedSettings};

use std::time::Duration;

pub use crate::{
    chat::{Probe, ProbeFailure, Structured},
    secret::Secret,
};

/// The most tokens of an answer, where nothing else is configured.
pub const MAX_TOKENS: u64 = 16_384;

/// How long a model server may send nothing, where nothing else is configured.
pub const STALL_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a connection to one may take, where nothing else is configured.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a provider without quota is left alone when it does not say for how long.
pub(crate) const QUOTA_WAIT: Duration = Duration::from_secs(15 * 60);

/// The most bytes of a text answer: what a document can hold.
pub(crate) const ANSWER_BYTES_MAX: usize = azolla_protocol::DOCUMENT_BYTES_MAX;

/// Settings that no provider can be made from: the text says which one and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("provider {name}: {what}")]
pub struct InvalidSettings {
    /// The provider's configured name.
    pub name: String,
    /// What is wrong.
    pub what: String,
}
