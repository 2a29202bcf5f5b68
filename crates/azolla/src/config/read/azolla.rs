//! `[azolla.<id>]`: one azolla of the registry.

use std::collections::BTreeMap;

use azolla_control_plane::repo::{check_branch, check_repo_ref};
use azolla_protocol::{AzollaId, AzollaType, limits};
use toml::{Spanned, de::DeString};

use super::{Section, checks};
use crate::config::{
    AzollaConfig, ProviderConfig,
    report::{Fault, nearest},
};

const KNOWN: [&str; 7] = ["type", "repo", "base_branch", "store", "provider", "max_concurrent", "checks"];

/// Reads one azolla; `providers` are those that it may name.
pub(super) fn read(
    name: &Spanned<DeString<'_>>,
    section: &Section<'_>,
    providers: &BTreeMap<String, ProviderConfig>,
) -> Result<AzollaConfig, Fault> {
    let id = AzollaId::new(name.get_ref().to_string())
        .map_err(|error| Fault::new(name.span(), error.to_string()).help("such as [azolla.az-app]"))?;
    section.only(&KNOWN)?;
    let types = AzollaType::ALL.iter().map(|known| (known.as_str(), *known)).collect::<Vec<_>>();
    let azolla_type = section.choice("type", &types)?.ok_or_else(|| section.lacks("type"))?;
    if azolla_type == AzollaType::TaskMgmt {
        for key in ["repo", "base_branch", "max_concurrent", "checks"] {
            if let Some(span) = section.key(key) {
                return Err(Fault::new(span, format!("a TASK_MGMT_AZOLLA has no `{key}`")));
            }
        }
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
        provider: provider(section, providers)?,
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

fn provider(
    section: &Section<'_>,
    providers: &BTreeMap<String, ProviderConfig>,
) -> Result<Option<String>, Fault> {
    let Some((name, span)) = section.text("provider")? else { return Ok(None) };
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
