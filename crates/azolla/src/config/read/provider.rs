//! `[provider.<name>]`: where work comes back from.

use std::{ops::Range, path::Component, path::Path};

use azolla_control_plane::sandbox::SandboxMode;
use azolla_diazotroph::{
    check_base_url,
    provider::{AnthropicVersion, OutputKind, PromptBy, ResultBy, Structured},
};
use azolla_protocol::AnswerForm;

use super::{SANDBOX_MODES, Section};
use crate::{
    config::{
        KeyFrom, ModelApi, Price, ProviderConfig,
        keys::{self, MAX_TOKENS, PRICE},
        report::{Fault, looks_like_a_key},
    },
    nearest::nearest,
};

#[derive(Clone, Copy)]
enum Kind {
    Command,
    Recorded,
    Anthropic,
    OpenAi,
}

/// Reads one provider, where all programs are confined in the mode `sandbox`.
pub(super) fn read(section: &Section<'_>, sandbox: SandboxMode) -> Result<ProviderConfig, Fault> {
    // Before anything else, so that no other fault shows its line.
    refuse_literal_key(section, "key")?;
    let kinds = [
        ("command", Kind::Command),
        ("anthropic", Kind::Anthropic),
        ("openai", Kind::OpenAi),
        ("recorded", Kind::Recorded),
    ];
    match section.choice("kind", &kinds)?.ok_or_else(|| section.lacks("kind"))? {
        Kind::Command => command(section, sandbox),
        Kind::Recorded => {
            section.only(&[&keys::RECORDED])?;
            let (answers, span) = section.needed_text("answers")?;
            if !answers.starts_with('/') {
                return Err(Fault::new(span, "`answers` must be an absolute path"));
            }
            Ok(ProviderConfig::Recorded { answers: answers.into() })
        }
        Kind::Anthropic => anthropic(section),
        Kind::OpenAi => openai(section),
    }
}

/// What a key is called, and what is called so and is none.
const SECRETS: [&str; 6] = ["key", "token", "secret", "passw", "bearer", "auth"];
const NO_SECRETS: [&str; 3] = ["key_env", "key_file", "max_tokens"];

/// A key in this file would be in backups and on screens: it is refused, and its line not shown (T29). It is named by
/// reference, as `<kind>_env` or `<kind>_file`.
pub(super) fn refuse_literal_key(section: &Section<'_>, kind: &str) -> Result<(), Fault> {
    let (env, file) = (format!("{kind}_env"), format!("{kind}_file"));
    let known: Vec<&str> = match kind {
        "key" => NO_SECRETS.to_vec(),
        _ => vec![&env, &file],
    };
    let is_secret = |key: &str| {
        let key = key.to_ascii_lowercase();
        SECRETS.iter().any(|word| key.contains(word)) && !known.contains(&key.as_str())
    };
    let Some((key, span)) = section.keys().into_iter().find(|(key, _)| is_secret(key)) else {
        return Ok(());
    };
    Err(match nearest(key, &known) {
        Some(_) => section.unknown(key, span, &known).secret(),
        None => Fault::new(span, format!("a {kind} is never written into this file"))
            .help(format!("use {env} = \"NAME_OF_A_VARIABLE\" or {file} = \"/path\""))
            .secret(),
    })
}

const FORMS: [(&str, AnswerForm); 4] = [
    ("search-replace", AnswerForm::SearchReplace),
    ("diff", AnswerForm::Diff),
    ("whole-file", AnswerForm::WholeFile),
    ("json", AnswerForm::Json),
];

fn form(section: &Section<'_>) -> Result<AnswerForm, Fault> {
    Ok(section.choice("form", &FORMS)?.unwrap_or(AnswerForm::SearchReplace))
}

fn command(section: &Section<'_>, sandbox: SandboxMode) -> Result<ProviderConfig, Fault> {
    section.only(&[&keys::COMMAND])?;
    let prompts = [("stdin", PromptBy::Stdin), ("file", PromptBy::File), ("argument", PromptBy::Argument)];
    let results = [("worktree", ResultBy::Worktree), ("stdout", ResultBy::Stdout(form(section)?))];
    let outputs = [
        ("plain", OutputKind::Plain),
        ("claude", OutputKind::Claude),
        ("codex", OutputKind::Codex),
        ("goose", OutputKind::Goose),
        ("aider", OutputKind::Aider),
    ];
    let result = section.choice("result", &results)?.unwrap_or(ResultBy::Worktree);
    if let (Some(span), ResultBy::Worktree) = (section.key("form"), result) {
        return Err(Fault::new(span, "`form` is for an answer on stdout")
            .help("this one edits files: leave it out, or add result = \"stdout\""));
    }
    Ok(ProviderConfig::Command {
        argv: section.needed_words("argv")?,
        prompt: section.choice("prompt", &prompts)?.unwrap_or(PromptBy::Stdin),
        result,
        output: section.choice("output", &outputs)?.unwrap_or(OutputKind::Plain),
        env: env(section)?,
        home_files: home_files(section)?,
        sandbox: own_sandbox(section, sandbox)?,
        network: section.flag("network")?,
        read: section.paths("read")?,
        write: section.paths("write")?,
        most_microusd: section.money("most_usd", &PRICE)?,
    })
}

/// Reads how this program is confined, if not as all are. What is required for all is required for this one too.
fn own_sandbox(section: &Section<'_>, all: SandboxMode) -> Result<Option<SandboxMode>, Fault> {
    let own = section.choice("sandbox", &SANDBOX_MODES)?;
    match (all, own, section.text("sandbox")?) {
        (SandboxMode::Required, Some(SandboxMode::Off | SandboxMode::BestEffort), Some((_, span))) => {
            Err(Fault::new(span, "`sandbox` is weaker than the mode of [sandbox], which is required")
                .help("take this line out, or set that mode to best-effort"))
        }
        _ => Ok(own),
    }
}

/// Reads names of variables. What holds a value as well may hold a key, so the line is not shown (T29).
fn env(section: &Section<'_>) -> Result<Vec<String>, Fault> {
    let names = section.words("env")?;
    if names.iter().any(|name| name.is_empty() || name.contains(['=', ' ', '\0'])) {
        let what = "`env` lists names of variables, without their values";
        return Err(Fault::new(section.key("env").unwrap_or_default(), what).secret());
    }
    Ok(names)
}

/// Reads paths below the operator's home, which stay below it.
fn home_files(section: &Section<'_>) -> Result<Vec<String>, Fault> {
    let files = section.words("home_files")?;
    for (file, span) in files.iter().zip(section.items("home_files")) {
        let mut components = Path::new(file).components().peekable();
        if components.peek().is_none() || !components.all(|part| matches!(part, Component::Normal(_))) {
            return Err(Fault::new(span, "`home_files` are paths below your home directory")
                .help("such as \".config/agent/login.json\""));
        }
    }
    Ok(files)
}

fn anthropic(section: &Section<'_>) -> Result<ProviderConfig, Fault> {
    section.only(&[&keys::ANTHROPIC])?;
    let versions =
        [("2023-06-01", AnthropicVersion::V2023_06_01), ("2026-10-21", AnthropicVersion::V2026_10_21)];
    let version = section.choice("version", &versions)?.unwrap_or(AnthropicVersion::V2023_06_01);
    if let (AnthropicVersion::V2026_10_21, Some(span)) = (version, section.key("temperature")) {
        return Err(Fault::new(span, "version 2026-10-21 takes no `temperature`")
            .help("take this line out, or set version = \"2023-06-01\""));
    }
    Ok(ProviderConfig::Anthropic { api: api(section, "https://api.anthropic.com", 1.0)?, version })
}

fn openai(section: &Section<'_>) -> Result<ProviderConfig, Fault> {
    section.only(&[&keys::OPENAI])?;
    let structured = [
        ("json-schema", Structured::JsonSchema),
        ("json-object", Structured::JsonObject),
        ("none", Structured::None),
    ];
    Ok(ProviderConfig::OpenAi {
        api: api(section, "https://api.openai.com/v1", 2.0)?,
        structured: section.choice("structured", &structured)?.unwrap_or(Structured::JsonSchema),
    })
}

fn api(section: &Section<'_>, default_url: &str, temperature_max: f64) -> Result<ModelApi, Fault> {
    let (model, _) = section.needed_text("model")?;
    let (base_url, is_local) = base_url(section, default_url)?;
    let key = reference(section, "key")?;
    if key.is_none() && !is_local {
        return Err(section
            .lacks("key_env")
            .help("add key_env = \"NAME_OF_A_VARIABLE\" or key_file = \"/path\""));
    }
    Ok(ModelApi {
        model,
        base_url,
        is_local,
        key,
        form: form(section)?,
        max_tokens: section.limit("max_tokens", &MAX_TOKENS)?,
        temperature: section.number("temperature", temperature_max)?,
        price: price(section)?,
    })
}

/// Reads the URL and tells whether it is of this machine.
fn base_url(section: &Section<'_>, default: &str) -> Result<(String, bool), Fault> {
    let Some((text, span)) = section.text("base_url")? else { return Ok((default.to_owned(), false)) };
    match check_base_url(&text) {
        Ok(is_local) => Ok((text.trim().trim_end_matches('/').to_owned(), is_local)),
        // The line would show the password (T29).
        Err(broken) if text.contains('@') => {
            let key = section.key("base_url").unwrap_or(span);
            Err(Fault::new(key, format!("`base_url` {broken}"))
                .help("a URL without `@`, and key_env or key_file")
                .secret())
        }
        Err(broken) => Err(Fault::new(span, format!("`base_url` {broken}"))
            .help("such as https://host/path, or http://127.0.0.1:11434/v1")),
    }
}

/// Reads where a secret comes from: `<kind>_env` or `<kind>_file`.
pub(super) fn reference(section: &Section<'_>, kind: &str) -> Result<Option<KeyFrom>, Fault> {
    let (env_key, file_key) = (format!("{kind}_env"), format!("{kind}_file"));
    let (env, file) = (section.text(&env_key)?, section.path(&file_key)?);
    match (env, file) {
        (Some(_), Some(_)) => {
            let span = section.key(&file_key).unwrap_or_default();
            Err(Fault::new(span, format!("there is a `{env_key}` already")).help("one of them is enough"))
        }
        (Some((name, span)), None) => variable(section, kind, name, span).map(KeyFrom::Env).map(Some),
        (None, file) => Ok(file.map(KeyFrom::File)),
    }
}

/// What is no name of a variable may be the secret itself, so the line is not shown (T29).
fn variable(section: &Section<'_>, kind: &str, name: String, span: Range<usize>) -> Result<String, Fault> {
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(|first: char| first.is_ascii_digit());
    if is_name && !looks_like_a_key(&name) {
        return Ok(name);
    }
    let key = format!("{kind}_env");
    let (span, example) = (section.key(&key).unwrap_or(span), kind.to_ascii_uppercase());
    Err(Fault::new(span, format!("`{key}` is the name of a variable, not the {kind}"))
        .help(format!("such as {key} = \"MY_{example}\", after: export MY_{example}=…"))
        .secret())
}

fn price(section: &Section<'_>) -> Result<Option<Price>, Fault> {
    let (input, output) = ("input_usd_per_million", "output_usd_per_million");
    match (section.money(input, &PRICE)?, section.money(output, &PRICE)?) {
        (Some(input_microusd), Some(output_microusd)) => Ok(Some(Price { input_microusd, output_microusd })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(section.lacks(output)),
        (None, Some(_)) => Err(section.lacks(input)),
    }
}
