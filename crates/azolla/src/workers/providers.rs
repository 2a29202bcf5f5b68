//! Makes the providers that the configuration names.

use std::{path::PathBuf, sync::Arc, time::Duration};

use azolla_diazotroph::provider::{
    AnthropicProvider, AnthropicSettings, CONNECT_TIMEOUT, CommandProvider, CommandSettings, MAX_TOKENS,
    ModelSettings, OpenAiProvider, OpenAiSettings, RecordedProvider, RecordedSettings, STALL_TIMEOUT, Secret,
};
use azolla_process::{ResourceLimits, SandboxSettings};
use azolla_protocol::{Diazotroph, limits};
use azolla_substrate::SystemClock;

use super::{named, passed};
use crate::{
    config::{ModelApi, ProviderConfig},
    deployment::Deployment,
    failure::Failure,
    nearest::meant,
};

/// A provider, by its kind: some can be asked whether they answer.
pub(crate) enum Made {
    /// A program.
    Command(CommandProvider),
    /// Answers from files.
    Recorded(RecordedProvider),
    /// A server that speaks Anthropic Messages.
    Anthropic(AnthropicProvider),
    /// A server that speaks chat completions.
    OpenAi(OpenAiProvider),
}

/// Makes a provider.
pub(crate) fn provider(deployment: &Deployment, name: &str) -> anyhow::Result<Arc<dyn Diazotroph>> {
    Ok(match make(deployment, name)? {
        Made::Command(provider) => Arc::new(provider),
        Made::Recorded(provider) => Arc::new(provider),
        Made::Anthropic(provider) => Arc::new(provider),
        Made::OpenAi(provider) => Arc::new(provider),
    })
}

/// Makes a provider of its kind. Nothing is started and nothing connected; a key is read.
pub(crate) fn make(deployment: &Deployment, name: &str) -> anyhow::Result<Made> {
    let configured = deployment.config.providers.get(name);
    let configured = configured.ok_or_else(|| unknown(deployment, name))?;
    let name = name.to_owned();
    let retries_max = deployment.config.limits.get(&limits::PROVIDER_RETRIES);
    Ok(match configured {
        ProviderConfig::Recorded { answers } => {
            Made::Recorded(RecordedProvider::new(RecordedSettings { name, answers: answers.clone() }))
        }
        ProviderConfig::Command { .. } => {
            Made::Command(CommandProvider::new(command(deployment, name, configured)?)?)
        }
        ProviderConfig::Anthropic { api, version } => {
            let api = model(name, api, retries_max)?;
            Made::Anthropic(AnthropicProvider::new(AnthropicSettings { api, version: *version })?)
        }
        ProviderConfig::OpenAi { api, structured } => {
            let api = model(name, api, retries_max)?;
            Made::OpenAi(OpenAiProvider::new(OpenAiSettings { api, structured: *structured })?)
        }
    })
}

fn model(name: String, api: &ModelApi, retries_max: u64) -> Result<ModelSettings, Failure> {
    Ok(ModelSettings {
        name,
        base_url: api.base_url.clone(),
        model: api.model.clone(),
        key: key(api)?,
        form: api.form,
        max_tokens: api.max_tokens.unwrap_or(MAX_TOKENS),
        temperature: api.temperature,
        retries_max,
        input_microusd_per_million: api.price.map(|price| price.input_microusd),
        output_microusd_per_million: api.price.map(|price| price.output_microusd),
        stall_timeout: stall_timeout(api),
        connect_timeout: CONNECT_TIMEOUT,
    })
}

fn unknown(deployment: &Deployment, name: &str) -> Failure {
    let known: Vec<_> = deployment.config.providers.keys().map(String::as_str).collect();
    let hint = meant(name, &known, "none is configured; add one: azolla init --help");
    Failure::not_found(format!("there is no provider {name}")).hint(hint)
}

/// A model on this machine may read a long prompt for minutes before its first word; the budget ends it anyway.
const LOCAL_STALL_TIMEOUT: Duration = Duration::from_secs(1_800);

fn stall_timeout(api: &ModelApi) -> Duration {
    if api.is_local { LOCAL_STALL_TIMEOUT } else { STALL_TIMEOUT }
}

fn key(api: &ModelApi) -> Result<Option<Secret>, Failure> {
    let Some(from) = &api.key else { return Ok(None) };
    let read = from.read(|name| std::env::var_os(name));
    let value = read.map_err(|error| Failure::new(error.to_string()).hint(error.fix()))?;
    Ok(Some(Secret::new(value, from.to_string())))
}

fn command(
    deployment: &Deployment,
    name: String,
    configured: &ProviderConfig,
) -> anyhow::Result<CommandSettings> {
    let ProviderConfig::Command {
        argv,
        prompt,
        result,
        output,
        env,
        home_files,
        sandbox,
        network,
        read,
        write,
        most_microusd,
    } = configured
    else {
        anyhow::bail!("{name} is no command");
    };
    // What holds for all programs, and what was said for this one.
    let all = &deployment.config.sandbox;
    let both = |all: &[PathBuf], own: &[PathBuf]| all.iter().chain(own).cloned().collect::<Vec<_>>();
    Ok(CommandSettings {
        name,
        argv: argv.clone(),
        prompt: *prompt,
        result: *result,
        output: *output,
        environment: passed(env.iter().map(String::as_str)),
        home: std::env::home_dir().unwrap_or_default(),
        home_files: home_files.clone(),
        sandbox: SandboxSettings {
            mode: sandbox.unwrap_or(all.mode),
            read: both(&all.read, read).into_iter().chain(named(argv)).collect(),
            write: both(&all.write, write),
            network: network.unwrap_or(all.network),
        },
        most_microusd: *most_microusd,
        limits: WORKER_LIMITS,
        state_dir: deployment.place.state(),
        path: std::env::var_os("PATH").unwrap_or_default(),
        clock: Arc::new(SystemClock),
    })
}

/// What the system keeps each process of a worker to: a runaway one must not fill the disk or use up the descriptors.
///
/// No limit on processes: the system counts all processes and threads of this user for it, the operator's browser too, so
/// that a number which stops a runaway worker would also stop an honest one on a busy desktop, and it does nothing for
/// root. A cgroup would count the worker's alone, but its controller is delegated to nobody by default. What forks
/// without end is ended with its tree at the end of the budget (T30).
const WORKER_LIMITS: ResourceLimits = ResourceLimits {
    cpu_seconds: None,
    address_space: None,
    file_size: Some(8 << 30),
    open_files: Some(4096),
    processes: None,
};
