//! One tiny question, to see whether a provider can be reached and used.

use std::time::Duration;

use azolla_protocol::Unlimited;
use serde::Deserialize;
use tokio::time::{Instant, timeout};

use super::{
    Chat, Question, Reply, Trouble, Wire,
    account::Account,
    progress::Progress,
    trouble::{Final, Sort},
};
use crate::http::Body;

/// Enough for one word; some servers refuse fewer.
const PROBE_TOKENS: u64 = 16;

/// How many models are listed.
const MODELS_MAX: usize = 20;

/// A provider that works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What the server calls the model.
    pub model: String,
    /// From sending to the end of the answer.
    pub latency_ms: u64,
    /// Tokens sent, as told or estimated.
    pub input_tokens: u64,
    /// Tokens received, as told or estimated.
    pub output_tokens: u64,
}

/// A provider that does not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {next}")]
pub struct ProbeFailure {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub next: String,
}

/// Asks once, without retries. Nothing is set aside for it: the operator asks, and it costs next to nothing.
pub(super) async fn probe<W: Wire>(chat: &Chat<W>, remaining: Duration) -> Result<Probe, ProbeFailure> {
    let mut account = Account::new(&Unlimited, None, &chat.common.model);
    let begin = Instant::now();
    let reply = match timeout(remaining, asked(chat, &mut account)).await {
        Ok(Ok(reply)) => reply,
        Ok(Err(trouble)) => {
            return Err(explained(chat, trouble, remaining.saturating_sub(begin.elapsed())).await);
        }
        Err(_) => {
            let what = format!(
                "the server at {} did not answer within {} s",
                chat.http.endpoint().host(),
                remaining.as_secs_f64()
            );
            return Err(ProbeFailure {
                what,
                next: "see whether it is busy, or give it more time".to_owned(),
            });
        }
    };
    account.close();
    let usage = account.usage();
    Ok(Probe {
        model: reply.model.map_or_else(|| chat.common.model.clone(), |model| chat.clean(&model)),
        latency_ms: u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX),
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
    })
}

async fn asked<W: Wire>(chat: &Chat<W>, account: &mut Account<'_>) -> Result<Reply, Trouble> {
    let question = Question {
        model: &chat.common.model,
        system: "Answer with one word.".to_owned(),
        prompt: "Say: ready",
        repair: None,
        shape: None,
        max_tokens: PROBE_TOKENS,
        temperature: chat.common.temperature,
    };
    let mut dialect = chat.dialect();
    loop {
        let silent = |_: &str| {};
        // However it ends, refused or cut: the way there and back works.
        match chat.exchange(&question, dialect, account, &mut Progress::new(&silent)).await {
            Err(Trouble::Rejected { status, words }) if matches!(status.as_u16(), 400 | 422) => {
                match dialect.without(&words) {
                    Some(lesser) => dialect = lesser,
                    None => return Err(Trouble::Rejected { status, words }),
                }
            }
            replied => return replied,
        }
    }
}

async fn explained<W: Wire>(chat: &Chat<W>, trouble: Trouble, remaining: Duration) -> ProbeFailure {
    let name = &chat.common.name;
    let failure = match trouble {
        Trouble::NoModel(words) => {
            let mut failure = chat.no_model(&words);
            let listed = timeout(remaining, models(chat)).await.unwrap_or_default();
            if !listed.is_empty() {
                failure.next = Some(format!("set model of provider {name} to one of: {}", listed.join(", ")));
            }
            failure
        }
        Trouble::Rejected { status, words } => chat.rejected(status, &words),
        Trouble::Final(failure) => failure,
        Trouble::Wait(wait) => {
            let next =
                format!("try again in {} min, or see to the account", wait.time.as_secs().div_ceil(60));
            return ProbeFailure { what: wait.reason, next };
        }
        Trouble::Passing(passing) => {
            let next = match passing.sort {
                Sort::NobodyThere => format!("start it, or correct base_url of provider {name}"),
                Sort::Server | Sort::Unfinished => {
                    format!("try again later, or check base_url of provider {name}")
                }
            };
            return ProbeFailure { what: passing.cause, next };
        }
    };
    let Final { what, next, .. } = failure;
    ProbeFailure { what, next: next.unwrap_or_else(|| format!("check the settings of provider {name}")) }
}

/// Returns the first names of the server's list of models; none where it does not tell.
async fn models<W: Wire>(chat: &Chat<W>) -> Vec<String> {
    #[derive(Deserialize)]
    struct List {
        data: Vec<Model>,
    }
    #[derive(Deserialize)]
    struct Model {
        id: String,
    }
    let Ok(response) = chat.http.send(chat.wire.models_path(), Body::None).await else { return Vec::new() };
    if !response.status().is_success() {
        return Vec::new();
    }
    let body = chat.beginning(response).await;
    let Ok(list) = serde_json::from_slice::<List>(&body) else { return Vec::new() };
    list.data.iter().take(MODELS_MAX).map(|model| chat.clean(&model.id)).collect()
}
