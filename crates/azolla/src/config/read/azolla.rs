//! `[azolla.<id>]`: one azolla of the registry.

use std::{collections::BTreeMap, time::Duration};

use azolla_control_plane::repo::{check_branch, check_repo_ref};
use azolla_diazotroph::provider::ResultBy;
use azolla_protocol::{AzollaId, AzollaType, limits};
use toml::{Spanned, de::DeString};

use super::{Period, Section, checks};
use crate::{
    config::{AzollaConfig, ProviderConfig, keys, report::Fault},
    nearest::nearest,
};

/// What works without being configured.
pub(crate) const BUILTIN: &str = "builtin";

/// Reads one azolla; `providers` are those that it may name.
pub(super) fn read(
    name: &Spanned<DeString<'_>>,
    section: &Section<'_>,
    providers: &BTreeMap<String, ProviderConfig>,
) -> Result<AzollaConfig, Fault> {
    let id = AzollaId::new(name.get_ref().to_string())
        .map_err(|error| Fault::new(name.span(), error.to_string()).help("such as [azolla.az-app]"))?;
    section.only(&[&keys::CODE_PATCH, &keys::TASK_MGMT])?;
    let types = AzollaType::ALL.iter().map(|known| (known.as_str(), *known)).collect::<Vec<_>>();
    let azolla_type = section.choice("type", &types)?.ok_or_else(|| section.lacks("type"))?;
    let (own, other) = match azolla_type {
        AzollaType::CodePatch => (&keys::CODE_PATCH, &keys::TASK_MGMT),
        AzollaType::TaskMgmt => (&keys::TASK_MGMT, &keys::CODE_PATCH),
    };
    let mut foreign = other.keys().map(|key| key.name).filter(|key| !own.has(key));
    if let Some((key, span)) = foreign.find_map(|key| Some((key, section.key(key)?))) {
        let fault = Fault::new(span, format!("a {azolla_type} has no `{key}`"));
        return Err(match key {
            "provider" => fault.help("it has triage_provider and manifest_provider"),
            _ => fault,
        });
    }
    let (repo, base_branch) = match azolla_type {
        AzollaType::CodePatch => (Some(repo(section)?), Some(base_branch(section)?)),
        AzollaType::TaskMgmt => (None, None),
    };
    let max_concurrent = section.limit("max_concurrent", &limits::MAX_CONCURRENT)?;
    Ok(AzollaConfig {
        id,
        azolla_type,
        repo,
        base_branch,
        store: store(section)?,
        provider: provider(section, "provider", providers)?,
        triage_provider: answering(section, "triage_provider", providers)?,
        manifest_provider: answering(section, "manifest_provider", providers)?,
        manifest_every: manifest_every(section)?,
        max_concurrent: max_concurrent.unwrap_or(limits::MAX_CONCURRENT.default),
        checks: checks(section)?,
    })
}

fn repo(section: &Section<'_>) -> Result<String, Fault> {
    let (repo, span) = section.needed_text("repo")?;
    if !repo.starts_with('/') && !repo.contains(':') {
        return Err(Fault::new(span, "`repo` is neither an absolute path nor a URL"));
    }
    check_repo_ref(&repo).map_err(|error| Fault::new(span, error.to_string()))?;
    Ok(repo)
}

fn base_branch(section: &Section<'_>) -> Result<String, Fault> {
    let (branch, span) = section.needed_text("base_branch")?;
    check_branch(&branch).map_err(|error| Fault::new(span, error.to_string()))?;
    Ok(branch)
}

fn store(section: &Section<'_>) -> Result<Option<String>, Fault> {
    let Some((store, span)) = section.text("store")? else { return Ok(None) };
    if !store.starts_with("postgres://") && !store.starts_with("postgresql://") {
        return Err(Fault::new(span, "`store` is not a PostgreSQL address")
            .help("postgres://user@host/database, or leave it out for a file"));
    }
    Ok(Some(store))
}

/// Reads a provider that answers in words: one that edits files has nothing to edit here.
fn answering(
    section: &Section<'_>,
    key: &str,
    providers: &BTreeMap<String, ProviderConfig>,
) -> Result<Option<String>, Fault> {
    let Some((name, span)) = section.text(key)? else { return Ok(None) };
    if name == BUILTIN {
        return Ok(None);
    }
    if let Some(ProviderConfig::Command { result: ResultBy::Worktree, .. }) = providers.get(&name) {
        return Err(Fault::new(span, format!("`{name}` edits files, and this needs an answer"))
            .help("a model, \"builtin\", or a command with result = \"stdout\""));
    }
    provider(section, key, providers)
}

fn manifest_every(section: &Section<'_>) -> Result<Option<Duration>, Fault> {
    const LEAST: Duration = Duration::from_secs(60);
    match section.period("manifest_every")? {
        None | Some(Period::Never) => Ok(None),
        Some(Period::Every(time)) if time >= LEAST => Ok(Some(time)),
        Some(Period::Every(_)) => {
            let span = section.key("manifest_every").unwrap_or_default();
            Err(Fault::new(span, "`manifest_every` is at least a minute"))
        }
    }
}

fn provider(
    section: &Section<'_>,
    key: &str,
    providers: &BTreeMap<String, ProviderConfig>,
) -> Result<Option<String>, Fault> {
    let Some((name, span)) = section.text(key)? else { return Ok(None) };
    if providers.contains_key(&name) {
        return Ok(Some(name));
    }
    let known: Vec<&str> = providers.keys().map(String::as_str).collect();
    let help = match nearest(&name, &known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("add a section [provider.{name}]"),
    };
    Err(Fault::new(span, format!("there is no provider `{name}`")).help(help))
}
