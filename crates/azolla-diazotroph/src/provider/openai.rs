//! Models behind an OpenAI-compatible chat completions API: the original, and most servers of local models.

mod wire;

use std::{fmt, pin::Pin, time::Duration};

use azolla_protocol::{AnswerForm, Diazotroph, Generation, GenerationRequest};
use reqwest::header::{AUTHORIZATION, HeaderMap};

use self::wire::OpenAiWire;
use super::InvalidSettings;
use crate::{
    chat::{Chat, Common, Prices, Probe, ProbeFailure, Structured, key_header},
    http::Endpoint,
    secret::Secret,
};

/// How a model is reached.
#[derive(Clone, Debug)]
pub struct OpenAiSettings {
    /// The provider's configured name.
    pub name: String,
    /// Where the API is, with its version: `https://api.openai.com/v1`, `http://127.0.0.1:8080/v1`.
    pub base_url: String,
    /// The model.
    pub model: String,
    /// The key; a server on this machine may need none.
    pub key: Option<Secret>,
    /// How the server keeps an answer to a schema. One that refuses it is asked for less.
    pub structured: Structured,
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

/// A model behind an OpenAI-compatible chat completions API.
pub struct OpenAiProvider {
    chat: Chat<OpenAiWire>,
}

impl OpenAiProvider {
    /// Makes the provider, or says what is wrong with its settings. Nothing is connected.
    pub fn new(settings: OpenAiSettings) -> Result<Self, InvalidSettings> {
        let name = settings.name.clone();
        let endpoint = Endpoint::new(&settings.base_url)
            .map_err(|what| InvalidSettings { name: name.clone(), what: format!("base_url: {what}") })?;
        let prices =
            Prices::of(&name, settings.input_microusd_per_million, settings.output_microusd_per_million)?;
        let mut headers = HeaderMap::new();
        if let Some(key) = &settings.key {
            headers.insert(AUTHORIZATION, key_header(&name, key, "Bearer ")?);
        }
        // The original refuses the older name for its newer models; the others know the older one.
        let wire = OpenAiWire::new(settings.structured, endpoint.host() == "api.openai.com");
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

impl fmt::Debug for OpenAiProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiProvider").field("name", &self.chat.name()).finish_non_exhaustive()
    }
}

impl Diazotroph for OpenAiProvider {
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
