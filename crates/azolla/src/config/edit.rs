//! Writes `config.toml`: the first one, commented, and later additions that leave the rest as it is.

use std::path::Path;

use azolla_control_plane::sandbox::SandboxMode;
use azolla_diazotroph::provider::{
    PromptBy,
    command::{OutputKind, Preset},
};
use azolla_protocol::AzollaId;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::{KeyFrom, PeerConfig, Problem, report::Fault};

/// Whether anything was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// It is new.
    New,
    /// It was there, and stays as it was.
    Already,
}

/// Returns the text of a new configuration: the standing azolla, and every setting as a comment.
pub(crate) fn first_text() -> &'static str {
    include_str!("first.toml")
}

/// Adds `[azolla.<id>]` for a repository.
pub(crate) fn add_azolla(
    text: &str,
    path: &Path,
    id: &AzollaId,
    repo: &str,
    base_branch: &str,
    provider: Option<&str>,
) -> Result<(String, Added), Problem> {
    let mut section = Table::new();
    section.insert("type", value("CODE_PATCH_AZOLLA"));
    section.insert("repo", value(repo));
    section.insert("base_branch", value(base_branch));
    if let Some(provider) = provider {
        section.insert("provider", value(provider));
    }
    add(text, path, "azolla", id.as_str(), section)
}

/// Adds `[provider.<name>]` for a command.
pub(crate) fn add_provider(
    text: &str,
    path: &Path,
    name: &str,
    argv: &[String],
) -> Result<(String, Added), Problem> {
    let mut section = Table::new();
    section.insert("kind", value("command"));
    section.insert("argv", value(argv.iter().collect::<Array>()));
    section.insert("prompt", value(prompt(argv)));
    section.insert("result", value("worktree"));
    // Hardly any of them works without; whoever has one that does sees the line and takes it out.
    section.insert("network", value(true));
    add(text, path, "provider", name, section)
}

/// Adds `[provider.<name>]` for a known agent.
pub(crate) fn add_preset(text: &str, path: &Path, preset: &Preset) -> Result<(String, Added), Problem> {
    let words = |words: &[&str]| value(words.iter().copied().collect::<Array>());
    let mut section = Table::new();
    section.insert("kind", value("command"));
    section.insert("argv", words(preset.argv));
    section.insert(
        "prompt",
        value(match preset.prompt {
            PromptBy::Stdin => "stdin",
            PromptBy::File => "file",
            PromptBy::Argument => "argument",
        }),
    );
    section.insert("result", value("worktree"));
    section.insert(
        "output",
        value(match preset.output {
            OutputKind::Plain => "plain",
            OutputKind::Claude => "claude",
            OutputKind::Codex => "codex",
            OutputKind::Goose => "goose",
            OutputKind::Aider => "aider",
        }),
    );
    section.insert("env", words(preset.env));
    section.insert("home_files", words(preset.home_files));
    section.insert("network", value(preset.network));
    // Otherwise what the operator says for all programs holds for this one too.
    if preset.sandbox == SandboxMode::Off {
        section.insert("sandbox", value(preset.sandbox.as_str()));
    }
    add(text, path, "provider", preset.name, section)
}

/// Names the provider of an azolla that has none.
pub(crate) fn set_provider(
    text: &str,
    path: &Path,
    id: &AzollaId,
    provider: &str,
) -> Result<String, Problem> {
    let mut document = parse(text, path)?;
    let section = document.get_mut("azolla").and_then(|group| group.get_mut(id.as_str()));
    if let Some(section) = section.and_then(Item::as_table_like_mut) {
        section.insert("provider", value(provider));
    }
    Ok(document.to_string())
}

/// Adds a provider that does the same at every machine: answers from files.
pub(crate) fn add_recorded(text: &str, path: &Path, name: &str, answers: &str) -> Result<String, Problem> {
    let mut section = Table::new();
    section.insert("kind", value("recorded"));
    section.insert("answers", value(answers));
    Ok(add(text, path, "provider", name, section)?.0)
}

/// Adds a provider as another configuration has it; nothing if that has none of the name.
pub(crate) fn copy_provider(from: &str, text: &str, path: &Path, name: &str) -> Result<String, Problem> {
    let from = parse(from, path)?;
    let section = from.get("provider").and_then(|group| group.get(name)).and_then(Item::as_table);
    match section {
        Some(section) => Ok(add(text, path, "provider", name, section.clone())?.0),
        None => Ok(text.to_owned()),
    }
}

/// Adds `[peer.<id>]`.
pub(crate) fn add_peer(text: &str, path: &Path, peer: &PeerConfig) -> Result<(String, Added), Problem> {
    let mut section = Table::new();
    section.insert("type", value(peer.azolla_type.as_str()));
    if let Some(url) = &peer.url {
        section.insert("url", value(url));
    }
    match &peer.token {
        Some(KeyFrom::Env(name)) => section.insert("token_env", value(name)),
        Some(KeyFrom::File(file)) => section.insert("token_file", value(file.display().to_string())),
        None => None,
    };
    if let Some(file) = &peer.ca_file {
        section.insert("ca_file", value(file.display().to_string()));
    }
    add(text, path, "peer", peer.id.as_str(), section)
}

/// Takes `[peer.<id>]` out.
pub(crate) fn remove_peer(text: &str, path: &Path, id: &AzollaId) -> Result<String, Problem> {
    let mut document = parse(text, path)?;
    let group = document.get_mut("peer").and_then(Item::as_table_like_mut);
    if let Some(group) = group {
        group.remove(id.as_str());
        if group.is_empty() {
            document.remove("peer");
        }
    }
    Ok(document.to_string())
}

/// The prompt goes where the command's words ask for it, and else to stdin.
fn prompt(argv: &[String]) -> &'static str {
    let asks = |word: &str| argv.iter().any(|argument| argument.contains(word));
    match (asks("{prompt_file}"), asks("{prompt}")) {
        (true, _) => "file",
        (_, true) => "argument",
        _ => "stdin",
    }
}

fn add(text: &str, path: &Path, group: &str, name: &str, section: Table) -> Result<(String, Added), Problem> {
    let mut document = parse(text, path)?;
    let mut implicit = Table::new();
    implicit.set_implicit(true);
    let group = document.entry(group).or_insert(Item::Table(implicit));
    let Some(group) = group.as_table_like_mut() else { return Ok((text.to_owned(), Added::Already)) };
    if group.contains_key(name) {
        return Ok((text.to_owned(), Added::Already));
    }
    group.insert(name, Item::Table(section));
    Ok((document.to_string(), Added::New))
}

fn parse(text: &str, path: &Path) -> Result<DocumentMut, Problem> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let what = format!("not valid TOML: {}", error.message());
        Fault::whole(error.span(), what).at(text, path)
    })
}
