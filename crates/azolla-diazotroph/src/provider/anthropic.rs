//! Models behind the Anthropic Messages API.

mod wire;

use std::{fmt, pin::Pin, time::Duration};

use azolla_protocol::{AnswerForm, Diazotroph, Generation, GenerationRequest};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use self::wire::AnthropicWire;
use super::{InvalidSettings, ModelSettings};
use crate::chat::{Chat, Probe, ProbeFailure, key_header};

/// A model behind the API, and which version of it is spoken.
#[derive(Clone, Debug)]
pub struct AnthropicSettings {
    /// The server and the model; a `/v1` at the end of its address makes no difference, and its temperature goes up to 1.
    pub api: ModelSettings,
    /// Which version of the API is spoken. 2026-10-21 takes no temperature.
    pub version: AnthropicVersion,
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
        let AnthropicSettings { api, version } = settings;
        let refused = match (api.temperature, version) {
            (Some(_), AnthropicVersion::V2026_10_21) => {
                Some("temperature: version 2026-10-21 takes none; leave it out, or use version 2023-06-01")
            }
            (Some(temperature), _) if temperature > 1.0 => Some("temperature: must be from 0 to 1"),
            _ => None,
        };
        if let Some(what) = refused {
            return Err(api.invalid(what));
        }
        let endpoint = api.endpoint()?;
        let mut headers = HeaderMap::new();
        headers
            .insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static(version.as_str()));
        if let Some(key) = &api.key {
            let (name, prefix) = match version {
                AnthropicVersion::V2023_06_01 => (HeaderName::from_static("x-api-key"), ""),
                AnthropicVersion::V2026_10_21 => (AUTHORIZATION, "Bearer "),
            };
            headers.insert(name, key_header(&api.name, key, prefix)?);
        }
        let wire = AnthropicWire::new(version, endpoint.ends_with("v1"));
        Ok(Self { chat: Chat::new(api, wire, endpoint, headers)? })
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

/// Returns the wire format, for what is held against every one.
#[cfg(test)]
pub(crate) fn wire() -> impl crate::chat::Wire {
    AnthropicWire::new(AnthropicVersion::V2026_10_21, false)
}
