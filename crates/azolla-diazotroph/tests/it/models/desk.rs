//! Both kinds of provider, called as the Runner does.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use azolla_diazotroph::provider::{
    AnthropicProvider, AnthropicSettings, AnthropicVersion, CONNECT_TIMEOUT, MAX_TOKENS, ModelSettings,
    OpenAiProvider, OpenAiSettings, Probe, ProbeFailure, STALL_TIMEOUT, Secret, Structured,
};
use azolla_protocol::{
    Allowance, AnswerForm, Diazotroph, FailureKind, Generation, GenerationOutcome, GenerationRequest,
    Reservation, Spending, Withheld, WorkOrderId,
};
use serde_json::{Value, json};

use super::server::Server;

/// Longer than any test takes that does not wait for it.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// A key that must be found nowhere.
pub(crate) const CANARY: &str = "sk-canary-5d1f0a7e93";

/// The kinds of provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Anthropic,
    OpenAi,
}

pub(crate) const KINDS: [Kind; 2] = [Kind::Anthropic, Kind::OpenAi];

impl Kind {
    /// A whole answer.
    pub(crate) fn answer(self, text: &str) -> String {
        format!("{}{}", self.begin(text), self.end("whole"))
    }

    /// An answer up to its end.
    pub(crate) fn begin(self, text: &str) -> String {
        match self {
            Self::Anthropic => {
                let start = json!({"type": "message_start", "message": {"model": "m-1", "usage":
                    {"input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 5, "output_tokens": 1}}});
                format!("event: message_start\ndata: {start}\n\n{}", self.delta(text))
            }
            Self::OpenAi => {
                let role = json!({"id": "x", "model": "m-1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": null}, "finish_reason": null}]});
                format!("data: {role}\n\n{}", self.delta(text))
            }
        }
    }

    /// A piece of text.
    pub(crate) fn delta(self, text: &str) -> String {
        match self {
            Self::Anthropic => {
                let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
                format!("event: content_block_delta\ndata: {delta}\n\n")
            }
            Self::OpenAi => {
                format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": text}}]}))
            }
        }
    }

    /// The end of an answer, with a reason in the words of the kind or `whole`.
    pub(crate) fn end(self, reason: &str) -> String {
        match self {
            Self::Anthropic => {
                let reason = if reason == "whole" { "end_turn" } else { reason };
                let delta = json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}});
                format!(
                    "event: message_delta\ndata: {delta}\n\nevent: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
                )
            }
            Self::OpenAi => {
                let reason = if reason == "whole" { "stop" } else { reason };
                let finish = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
                let usage = json!({"choices": [], "usage": {"prompt_tokens": 35, "completion_tokens": 7}});
                format!("data: {finish}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
            }
        }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Anthropic => "POST /v1/messages HTTP/1.1",
            Self::OpenAi => "POST /v1/chat/completions HTTP/1.1",
        }
    }
}

/// What tests change of the settings.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) kind: Kind,
    pub(crate) base_url: String,
    pub(crate) key: Option<Secret>,
    pub(crate) version: AnthropicVersion,
    pub(crate) structured: Structured,
    pub(crate) retries_max: u64,
    pub(crate) max_tokens: u64,
    pub(crate) temperature: Option<f64>,
    pub(crate) prompt: String,
    pub(crate) prices: Option<(u64, u64)>,
    pub(crate) stall: Duration,
    pub(crate) backoff: Duration,
    pub(crate) remaining: Duration,
    pub(crate) retries_before: u64,
    pub(crate) schema: Option<Value>,
}

impl Desk {
    pub(crate) fn new(kind: Kind, server: &Server) -> Self {
        Self::at(kind, server.url())
    }

    pub(crate) fn at(kind: Kind, root: String) -> Self {
        Self {
            kind,
            base_url: if kind == Kind::OpenAi { format!("{root}/v1") } else { root },
            key: Some(Secret::new(CANARY.to_owned(), "MODEL_KEY")),
            version: AnthropicVersion::V2023_06_01,
            structured: Structured::JsonSchema,
            retries_max: 3,
            max_tokens: MAX_TOKENS,
            temperature: None,
            prompt: "Round half up.".to_owned(),
            prices: None,
            stall: STALL_TIMEOUT,
            backoff: Duration::from_millis(1),
            remaining: LONG,
            retries_before: 0,
            schema: None,
        }
    }

    pub(crate) fn provider(&self) -> Provider {
        let Self { base_url, key, max_tokens, retries_max, temperature, .. } = self.clone();
        let api = ModelSettings {
            name: "models".to_owned(),
            base_url,
            model: "m-1".to_owned(),
            key,
            form: AnswerForm::SearchReplace,
            max_tokens,
            temperature,
            retries_max,
            input_microusd_per_million: self.prices.map(|prices| prices.0),
            output_microusd_per_million: self.prices.map(|prices| prices.1),
            stall_timeout: self.stall,
            connect_timeout: CONNECT_TIMEOUT,
        };
        match self.kind {
            Kind::Anthropic => {
                let made = AnthropicProvider::new(AnthropicSettings { api, version: self.version });
                Provider::Anthropic(made.unwrap().backing_off_from(self.backoff))
            }
            Kind::OpenAi => {
                let made = OpenAiProvider::new(OpenAiSettings { api, structured: self.structured });
                Provider::OpenAi(made.unwrap().backing_off_from(self.backoff))
            }
        }
    }

    /// Does the work of one claim, and keeps all that was shown meanwhile.
    pub(crate) async fn run(&self) -> Ran {
        self.run_with(&self.provider(), &Open).await
    }

    pub(crate) async fn run_with(&self, provider: &Provider, allowance: &dyn Allowance) -> Ran {
        let id = WorkOrderId::new("wo-a-1").unwrap();
        let shown = Mutex::new(Vec::new());
        let progress = |text: &str| shown.lock().unwrap().push(text.to_owned());
        let begin = Instant::now();
        let generation = provider
            .get()
            .generate(GenerationRequest {
                work_order_id: &id,
                claim_version: 7,
                prompt: &self.prompt,
                remaining: self.remaining,
                retries_before: self.retries_before,
                worktree: None,
                schema: self.schema.as_ref(),
                allowance,
                progress: &progress,
            })
            .await;
        Ran { generation, shown: shown.into_inner().unwrap(), took: begin.elapsed() }
    }
}

pub(crate) enum Provider {
    Anthropic(AnthropicProvider),
    OpenAi(OpenAiProvider),
}

impl Provider {
    pub(crate) fn get(&self) -> &dyn Diazotroph {
        match self {
            Self::Anthropic(provider) => provider,
            Self::OpenAi(provider) => provider,
        }
    }

    pub(crate) async fn probe(&self, remaining: Duration) -> Result<Probe, ProbeFailure> {
        match self {
            Self::Anthropic(provider) => provider.probe(remaining).await,
            Self::OpenAi(provider) => provider.probe(remaining).await,
        }
    }
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) generation: Generation,
    pub(crate) shown: Vec<String>,
    pub(crate) took: Duration,
}

impl Ran {
    #[track_caller]
    pub(crate) fn text(self) -> String {
        match self.generation.outcome {
            GenerationOutcome::Text(text) => text,
            other => panic!("{other:?} is no text"),
        }
    }

    /// The reason of a failure of this kind.
    #[track_caller]
    pub(crate) fn failed(&self, expected: FailureKind) -> String {
        match &self.generation.outcome {
            GenerationOutcome::Failed { kind, reason } if *kind == expected => reason.clone(),
            other => panic!("{other:?} is no failure of kind {expected:?}"),
        }
    }

    /// Requests and retries.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.generation.usage.requests, self.generation.usage.retries)
    }
}

/// No caps.
pub(crate) struct Open;

impl Allowance for Open {
    fn reserve(&self, _most: Spending) -> Result<Reservation, Withheld> {
        Ok(Reservation(0))
    }

    fn settle(&self, _reservation: Reservation, _spent: Spending) {}
}

/// An address at which nobody listens.
pub(crate) async fn nobody() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}
