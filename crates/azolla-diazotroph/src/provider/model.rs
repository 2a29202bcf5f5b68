//! What the settings of every model behind a server have in common.

use std::time::Duration;

use azolla_protocol::AnswerForm;

use super::InvalidSettings;
use crate::{http::Endpoint, secret::Secret};

/// How a model is reached, and what it may do.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// The provider's configured name.
    pub name: String,
    /// Where the API is: `https://api.anthropic.com`, `https://api.openai.com/v1`, `http://127.0.0.1:8080/v1`.
    pub base_url: String,
    /// The model.
    pub model: String,
    /// The key; a server on this machine may need none.
    pub key: Option<Secret>,
    /// How an answer changes files; [`AnswerForm::Files`] is refused.
    pub form: AnswerForm,
    /// The most tokens of an answer.
    pub max_tokens: u64,
    /// How freely words are chosen, from 0 to 2; left to the server where it is not set.
    pub temperature: Option<f64>,
    /// How often one run may ask again after failures in passing (B-4).
    pub retries_max: u64,
    /// Millionths of a US dollar for a million tokens sent; both prices or none.
    pub input_microusd_per_million: Option<u64>,
    /// Millionths of a US dollar for a million tokens received.
    pub output_microusd_per_million: Option<u64>,
    /// How long a server may send nothing.
    pub stall_timeout: Duration,
    /// How long a connection may take to come about.
    pub connect_timeout: Duration,
}

impl ModelSettings {
    /// Returns where the API is.
    pub(crate) fn endpoint(&self) -> Result<Endpoint, InvalidSettings> {
        Endpoint::new(&self.base_url).map_err(|what| self.invalid(format!("base_url: {what}")))
    }

    pub(crate) fn invalid(&self, what: impl Into<String>) -> InvalidSettings {
        InvalidSettings { name: self.name.clone(), what: what.into() }
    }
}
