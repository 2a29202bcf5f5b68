//! Models behind an OpenAI-compatible chat completions API: the original, and most servers of local models.

mod wire;

use std::{fmt, pin::Pin, time::Duration};

use azolla_protocol::{AnswerForm, Diazotroph, Generation, GenerationRequest};
use reqwest::header::{AUTHORIZATION, HeaderMap};

use self::wire::OpenAiWire;
use super::{InvalidSettings, ModelSettings};
use crate::chat::{Chat, Probe, ProbeFailure, Structured, key_header};

/// A model behind the API, and what the server can do.
#[derive(Clone, Debug)]
pub struct OpenAiSettings {
    /// The server, with the version of its API, and the model.
    pub api: ModelSettings,
    /// How the server keeps an answer to a schema. One that refuses it is asked for less.
    pub structured: Structured,
}

/// A model behind an OpenAI-compatible chat completions API.
pub struct OpenAiProvider {
    chat: Chat<OpenAiWire>,
}

impl OpenAiProvider {
    /// Makes the provider, or says what is wrong with its settings. Nothing is connected.
    pub fn new(settings: OpenAiSettings) -> Result<Self, InvalidSettings> {
        let OpenAiSettings { api, structured } = settings;
        let endpoint = api.endpoint()?;
        let mut headers = HeaderMap::new();
        if let Some(key) = &api.key {
            headers.insert(AUTHORIZATION, key_header(&api.name, key, "Bearer ")?);
        }
        // The original refuses the older name for its newer models; the others know the older one.
        let wire = OpenAiWire::new(structured, endpoint.host() == "api.openai.com");
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

/// Returns the wire format, for what is held against every one.
#[cfg(test)]
pub(crate) fn wire() -> impl crate::chat::Wire {
    OpenAiWire::new(Structured::JsonSchema, false)
}
