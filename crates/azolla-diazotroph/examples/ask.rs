//! Asks a model server one question, as a run would: `ask anthropic|openai BASE_URL MODEL [flags]`.
//!
//! Flags: `--key-env NAME`, `--prompt TEXT`, `--retries N`, `--budget-ms N`, `--stall-ms N`, `--version DATE`,
//! `--schema JSON`, `--probe`.
//! The answer goes to stdout, the rest to stderr; the exit code is 0 for an answer and 1 for anything else.

use std::{collections::BTreeMap, process::ExitCode, time::Duration};

use azolla_diazotroph::provider::{
    AnthropicProvider, AnthropicSettings, AnthropicVersion, CONNECT_TIMEOUT, InvalidSettings, MAX_TOKENS,
    ModelSettings, OpenAiProvider, OpenAiSettings, Secret, Structured,
};
use azolla_protocol::{AnswerForm, Diazotroph, GenerationOutcome, GenerationRequest, Unlimited, WorkOrderId};

const FLAGS: [&str; 7] = ["key-env", "prompt", "retries", "budget-ms", "stall-ms", "version", "schema"];

#[tokio::main]
async fn main() -> ExitCode {
    match asked().await {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

async fn asked() -> Result<String, String> {
    let command = Command::read(std::env::args().skip(1))?;
    let number = |name: &str, usual: u64| match command.flags.get(name) {
        Some(text) => text.parse().map_err(|_| format!("--{name}: {text} is no number")),
        None => Ok(usual),
    };
    let budget = Duration::from_millis(number("budget-ms", 120_000)?);
    let provider = provider(&command, number("retries", 8)?, number("stall-ms", 120_000)?)?;
    if command.is_probe {
        let probed = match &provider {
            Provider::Anthropic(provider) => provider.probe(budget).await,
            Provider::OpenAi(provider) => provider.probe(budget).await,
        };
        return probed.map(|probe| format!("{probe:?}")).map_err(|failure| failure.to_string());
    }
    let work_order_id = WorkOrderId::new("wo-ask-1").map_err(|error| error.to_string())?;
    let schema = command.flags.get("schema").map(|text| serde_json::from_str(text)).transpose();
    let schema: Option<serde_json::Value> = schema.map_err(|error| format!("--schema: {error}"))?;
    let usual = "Say: ready".to_owned();
    let request = GenerationRequest {
        work_order_id: &work_order_id,
        claim_version: 1,
        prompt: command.flags.get("prompt").unwrap_or(&usual),
        remaining: budget,
        retries_before: 0,
        worktree: None,
        schema: schema.as_ref(),
        allowance: &Unlimited,
        progress: &|text| eprintln!("{text}"),
    };
    let generation = match &provider {
        Provider::Anthropic(provider) => provider.generate(request).await,
        Provider::OpenAi(provider) => provider.generate(request).await,
    };
    eprintln!("{:?}", generation.usage);
    match generation.outcome {
        GenerationOutcome::Text(text) => Ok(text),
        other => Err(format!("{other:?}")),
    }
}

enum Provider {
    Anthropic(AnthropicProvider),
    OpenAi(OpenAiProvider),
}

fn provider(command: &Command, retries_max: u64, stall_ms: u64) -> Result<Provider, String> {
    let key = command.flags.get("key-env").map(|name| {
        let value = std::env::var(name).map_err(|error| format!("{name}: {error}"))?;
        Ok::<_, String>(Secret::new(value, name))
    });
    let api = ModelSettings {
        name: "ask".to_owned(),
        base_url: command.base_url.clone(),
        model: command.model.clone(),
        key: key.transpose()?,
        form: AnswerForm::SearchReplace,
        max_tokens: MAX_TOKENS,
        temperature: None,
        retries_max,
        input_microusd_per_million: None,
        output_microusd_per_million: None,
        stall_timeout: Duration::from_millis(stall_ms),
        connect_timeout: CONNECT_TIMEOUT,
    };
    let made: Result<Provider, InvalidSettings> = match command.kind.as_str() {
        "anthropic" => {
            let version = match command.flags.get("version").map(String::as_str) {
                None | Some("2023-06-01") => AnthropicVersion::V2023_06_01,
                Some("2026-10-21") => AnthropicVersion::V2026_10_21,
                Some(other) => return Err(format!("--version: {other} is not known")),
            };
            AnthropicProvider::new(AnthropicSettings { api, version }).map(Provider::Anthropic)
        }
        "openai" => {
            let structured = Structured::JsonSchema;
            OpenAiProvider::new(OpenAiSettings { api, structured }).map(Provider::OpenAi)
        }
        other => return Err(format!("{other}: anthropic or openai")),
    };
    made.map_err(|error| error.to_string())
}

struct Command {
    kind: String,
    base_url: String,
    model: String,
    flags: BTreeMap<String, String>,
    is_probe: bool,
}

impl Command {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let usage = "usage: ask anthropic|openai BASE_URL MODEL [flags]";
        let mut word = || words.next().ok_or(usage);
        let (kind, base_url, model) = (word()?, word()?, word()?);
        let mut command = Self { kind, base_url, model, flags: BTreeMap::new(), is_probe: false };
        while let Some(word) = words.next() {
            match word.strip_prefix("--") {
                Some("probe") => command.is_probe = true,
                Some(name) if FLAGS.contains(&name) => {
                    let value = words.next().ok_or(format!("{word} needs a value"))?;
                    command.flags.insert(name.to_owned(), value);
                }
                _ => return Err(format!("{word}: no such flag; {usage}")),
            }
        }
        Ok(command)
    }
}
