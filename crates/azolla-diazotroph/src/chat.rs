//! One question to a model server and its answer: what is the same for every wire format (PROTOCOL.md section 8).

mod account;
mod backoff;
mod exchange;
#[cfg(test)]
mod fuzz;
mod json;
mod probe;
mod progress;
mod projection;
mod reply;
mod run;
mod trouble;
pub(crate) mod words;

use std::{ffi::OsStr, time::Duration};

use azolla_protocol::{AnswerForm, Generation, GenerationRequest};
use reqwest::header::HeaderMap;
use serde_json::Value;

pub use self::probe::{Probe, ProbeFailure};
pub(crate) use self::{
    account::Prices,
    reply::{Ending, Reply},
    trouble::Trouble,
    words::ErrorWords,
};
use crate::{
    http::{Endpoint, Event, Http},
    provider::{InvalidSettings, ModelSettings},
    said::Secrets,
    secret::Secret,
};

/// What every answer is told beforehand (T21).
const SYSTEM: &str = include_str!("prompts/system.md");

/// What is said where an answer is to be JSON; the schema follows.
pub(crate) const SCHEMA: &str = include_str!("prompts/schema.md");

/// A wire format: how a question is written, and how an answer is read.
pub(crate) trait Wire: Send + Sync {
    /// Returns the path of questions below the base URL.
    fn path(&self) -> &str;

    /// Returns the path of the list of models.
    fn models_path(&self) -> &str;

    /// Returns what the server is first taken to understand.
    fn dialect(&self) -> Dialect;

    /// Writes a question.
    fn body(&self, question: &Question<'_>, dialect: Dialect) -> Value;

    /// Reads one event into the reply.
    fn read(&self, event: &Event, reply: &mut Reply, secrets: &Secrets) -> Result<(), Trouble>;
}

/// What is asked.
pub(crate) struct Question<'a> {
    /// The model.
    pub(crate) model: &'a str,
    /// What holds for the whole conversation.
    pub(crate) system: String,
    /// The prompt.
    pub(crate) prompt: &'a str,
    /// An answer that was no good, and what is to be better.
    pub(crate) repair: Option<Repair>,
    /// The shape of the answer, as far as servers understand schemas.
    pub(crate) shape: Option<&'a Value>,
    /// The most tokens of the answer.
    pub(crate) max_tokens: u64,
    /// How freely words are chosen.
    pub(crate) temperature: Option<f64>,
}

/// A second turn.
pub(crate) struct Repair {
    /// What was answered.
    pub(crate) answer: String,
    /// What is asked for instead.
    pub(crate) request: String,
}

/// How a server keeps an answer to a JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structured {
    /// It takes the schema.
    JsonSchema,
    /// It only keeps the answer to JSON; the schema is in the prompt.
    JsonObject,
    /// It does not: the schema is in the prompt.
    None,
}

/// What a server understands. Found out as it refuses: see [`Dialect::without`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// How an answer is kept to a schema.
    pub(crate) structured: Structured,
    /// The newer name of the limit on the answer.
    pub(crate) is_limit_completion: bool,
    /// Whether it was tried under the other name.
    pub(crate) is_limit_swapped: bool,
    /// Whether usage can be asked for.
    pub(crate) has_stream_options: bool,
}

impl Dialect {
    /// Returns the dialect without what the server's words refuse; none if they name nothing that can be left out.
    /// Each step can be taken once, so asking again with the result comes to an end.
    pub(crate) fn without(mut self, words: &ErrorWords) -> Option<Self> {
        let names = |names: &[&str]| names.iter().any(|name| words.name(name));
        if self.has_stream_options && names(&["stream_options", "include_usage"]) {
            self.has_stream_options = false;
        } else if self.structured != Structured::None
            && names(&["response_format", "json_schema", "json_object", "output_config", "output_format"])
        {
            self.structured = match self.structured {
                Structured::JsonSchema => Structured::JsonObject,
                Structured::JsonObject | Structured::None => Structured::None,
            };
        } else if !self.is_limit_swapped && names(&["max_tokens", "max_completion_tokens"]) {
            self.is_limit_swapped = true;
            self.is_limit_completion = !self.is_limit_completion;
        } else {
            return None;
        }
        Some(self)
    }
}

/// A model behind a wire format.
pub(crate) struct Chat<W> {
    common: ModelSettings,
    prices: Option<Prices>,
    wire: W,
    http: Http,
    /// What the server refused is not sent a second time, also not by a later call.
    dialect: std::sync::Mutex<Dialect>,
    secrets: Secrets,
    backoff: Duration,
}

impl<W: Wire> Chat<W> {
    /// Checks what is common to all settings.
    pub(crate) fn new(
        common: ModelSettings,
        wire: W,
        endpoint: Endpoint,
        headers: HeaderMap,
    ) -> Result<Self, InvalidSettings> {
        let invalid = |what: &str| common.invalid(what);
        if common.form == AnswerForm::Files {
            return Err(invalid("form: a model server answers in text, so it cannot be `files`"));
        }
        if common.model.trim().is_empty() {
            return Err(invalid("model: is empty"));
        }
        if common.max_tokens == 0 {
            return Err(invalid("max_tokens: must be at least 1"));
        }
        if common.temperature.is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
            return Err(invalid("temperature: must be from 0 to 2"));
        }
        if common.stall_timeout.is_zero() || common.connect_timeout.is_zero() {
            return Err(invalid("a timeout must be longer than nothing"));
        }
        let ModelSettings { input_microusd_per_million, output_microusd_per_million, .. } = &common;
        let prices = Prices::of(&common.name, *input_microusd_per_million, *output_microusd_per_million)?;
        let secrets = Secrets::new(common.key.iter().map(|key| OsStr::new(key.expose())));
        let http = Http::new(endpoint, headers, common.connect_timeout);
        let dialect = std::sync::Mutex::new(wire.dialect());
        Ok(Self { common, prices, wire, http, dialect, secrets, backoff: backoff::FIRST })
    }

    /// Sets the first wait between tries; the later ones grow from it.
    pub(crate) fn backing_off_from(mut self, first: Duration) -> Self {
        self.backoff = first;
        self
    }

    /// Returns the provider's configured name.
    pub(crate) fn name(&self) -> &str {
        &self.common.name
    }

    /// Returns how an answer changes files.
    pub(crate) fn form(&self) -> AnswerForm {
        self.common.form
    }

    /// Does the work of one claim, within the request's budget.
    pub(crate) async fn generate(&self, request: GenerationRequest<'_>) -> Generation {
        run::run(self, request).await
    }

    /// Asks the model for one word.
    pub(crate) async fn probe(&self, remaining: Duration) -> Result<Probe, ProbeFailure> {
        probe::probe(self, remaining).await
    }

    fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn set_dialect(&self, dialect: Dialect) {
        *self.dialect.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = dialect;
    }
}

/// Makes the header that carries the key.
pub(crate) fn key_header(
    name: &str,
    key: &Secret,
    prefix: &str,
) -> Result<reqwest::header::HeaderValue, InvalidSettings> {
    let invalid = |what: &str| InvalidSettings {
        name: name.to_owned(),
        what: format!("the key from {} {what}", key.source()),
    };
    if key.expose().is_empty() {
        return Err(invalid("is empty"));
    }
    if !key.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(invalid("holds blanks or characters that no key has"));
    }
    let mut value = reqwest::header::HeaderValue::try_from(format!("{prefix}{}", key.expose()))
        .map_err(|_| invalid("cannot be sent in a header"))?;
    value.set_sensitive(true);
    Ok(value)
}
