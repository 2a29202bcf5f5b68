//! Models behind the Anthropic Messages API.

mod wire;

use std::{fmt, pin::Pin, time::Duration};

use azolla_protocol::{AnswerForm, Diazotroph, Generation, GenerationRequest};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use self::wire::AnthropicWire;
use super::InvalidSettings;
use crate::{
    chat::{Chat, Common, Prices, Probe, ProbeFailure, key_header},
    http::Endpoint,
    secret::Secret,
};

/// How a model is reached.
#[derive(Clone, Debug)]
pub struct AnthropicSettings {
    /// The provider's configured name.
    pub name: String,
    /// Where the API is, such as `https://api.anthropic.com`; a `/v1` at its end makes no difference.
    pub base_url: String,
    /// The model.
    pub model: String,
    /// The key; a server on this machine may need none.
    pub key: Option<Secret>,
    /// Which version of the API is spoken.
    pub version: AnthropicVersion,
    /// How an answer changes files; [`AnswerForm::Files`] is refused.
    pub form: AnswerForm,
    /// The most tokens of an answer.
    pub max_tokens: u64,
    /// How freely words are chosen, from 0 to 1; left to the server where it is not set. Version 2026-10-21 takes none.
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

/// Versions of the API: they differ in how a key is sent and in what a request may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnthropicVersion {
    /// `2023-06-01`: the key in `x-api-key`, a schema in the prompt.
    V2023_06_01,
    /// `2026-10-21`: the key as a bearer token, a schema in `output_config`.
    V2026_10_21,
}

impl AnthropicVersion {
    /// Returns the version as the header has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2023_06_01 => "2023-06-01",
            Self::V2026_10_21 => "2026-10-21",
        }
    }
}

/// A model behind the Anthropic Messages API.
pub struct AnthropicProvider {
    chat: Chat<AnthropicWire>,
}

impl AnthropicProvider {
    /// Makes the provider, or says what is wrong with its settings. Nothing is connected.
    pub fn new(settings: AnthropicSettings) -> Result<Self, InvalidSettings> {
        let name = settings.name.clone();
        let endpoint = Endpoint::new(&settings.base_url)
            .map_err(|what| InvalidSettings { name: name.clone(), what: format!("base_url: {what}") })?;
        let prices =
            Prices::of(&name, settings.input_microusd_per_million, settings.output_microusd_per_million)?;
        let refused = match (settings.temperature, settings.version) {
            (Some(_), AnthropicVersion::V2026_10_21) => {
                Some("temperature: version 2026-10-21 takes none; leave it out, or use version 2023-06-01")
            }
            (Some(temperature), _) if temperature > 1.0 => Some("temperature: must be from 0 to 1"),
            _ => None,
        };
        if let Some(what) = refused {
            return Err(InvalidSettings { name, what: what.to_owned() });
        }
        let mut headers = HeaderMap::new();
        headers.insert(
            HeaderName::from_static("anthropic-version"),
            HeaderValue::from_static(settings.version.as_str()),
        );
        if let Some(key) = &settings.key {
            match settings.version {
                AnthropicVersion::V2023_06_01 => {
                    headers.insert(HeaderName::from_static("x-api-key"), key_header(&name, key, "")?)
                }
                AnthropicVersion::V2026_10_21 => {
                    headers.insert(AUTHORIZATION, key_header(&name, key, "Bearer ")?)
                }
            };
        }
        let wire = AnthropicWire::new(settings.version, endpoint.ends_with("v1"));
        let common = Common {
            name,
            model: settings.model,
            form: settings.form,
            max_tokens: settings.max_tokens,
            temperature: settings.temperature,
            retries_max: settings.retries_max,
            prices,
            stall: settings.stall_timeout,
            connect: settings.connect_timeout,
            key: settings.key,
        };
        Ok(Self { chat: Chat::new(common, wire, endpoint, headers)? })
    }

    /// Sets the first wait before a retry. No configuration does: it is for tests, which do not wait.
    #[doc(hidden)]
    pub fn backing_off_from(self, first: Duration) -> Self {
        Self { chat: self.chat.backing_off_from(first) }
    }

    /// Asks the model for one word, once, and says what to do where that fails.
    pub async fn probe(&self, remaining: Duration) -> Result<Probe, ProbeFailure> {
        self.chat.probe(remaining).await
    }
}

impl fmt::Debug for AnthropicProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnthropicProvider").field("name", &self.chat.name()).finish_non_exhaustive()
    }
}

impl Diazotroph for AnthropicProvider {
    fn provider(&self) -> &str {
        self.chat.name()
    }

    fn answer_form(&self) -> AnswerForm {
        self.chat.form()
    }

    fn generate<'a>(
        &'a self,
        request: GenerationRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Generation> + Send + 'a>> {
        Box::pin(self.chat.generate(request))
    }
}
