//! `[peer.<id>]`: one azolla of another machine.

use azolla_diazotroph::check_base_url;
use azolla_protocol::{AzollaId, AzollaType};
use toml::{Spanned, de::DeString};

use super::{Section, provider};
use crate::config::{AzollaConfig, PeerConfig, keys, report::Fault};

/// Reads one peer; `azollas` are those of this machine.
pub(super) fn read(
    name: &Spanned<DeString<'_>>,
    section: &Section<'_>,
    azollas: &[AzollaConfig],
) -> Result<PeerConfig, Fault> {
    // Before anything else, so that no other fault shows its line.
    provider::refuse_literal_key(section, "token")?;
    let id = AzollaId::new(name.get_ref().to_string())
        .map_err(|error| Fault::new(name.span(), error.to_string()).help("such as [peer.az-app]"))?;
    section.only(&[&keys::PEER])?;
    let types = AzollaType::ALL.iter().map(|known| (known.as_str(), *known)).collect::<Vec<_>>();
    let azolla_type = section.choice("type", &types)?.ok_or_else(|| section.lacks("type"))?;
    let url = url(section)?;
    if url.is_some() && azollas.iter().any(|azolla| azolla.id == id) {
        return Err(Fault::new(name.span(), format!("{id} is an azolla of this machine"))
            .help("one name is asked in one place; take out the url, or this section"));
    }
    let token = provider::reference(section, "token")?;
    match (&url, &token) {
        (Some(_), None) => {
            return Err(section
                .lacks("token_file")
                .help("add token_file = \"/path\" or token_env = \"NAME_OF_A_VARIABLE\""));
        }
        (None, Some(_)) => return Err(section.lacks("url")),
        _ => {}
    }
    Ok(PeerConfig { id, azolla_type, url, token, ca_file: section.path("ca_file")? })
}

fn url(section: &Section<'_>) -> Result<Option<String>, Fault> {
    let Some((text, span)) = section.text("url")? else { return Ok(None) };
    match check_base_url(&text) {
        Ok(_) => Ok(Some(text.trim().trim_end_matches('/').to_owned())),
        // The line would show the password (T29).
        Err(broken) if text.contains('@') => {
            let key = section.key("url").unwrap_or(span);
            Err(Fault::new(key, format!("`url` {broken}"))
                .help("a URL without `@`, and token_env or token_file")
                .secret())
        }
        Err(broken) => Err(Fault::new(span, format!("`url` {broken}"))
            .help("such as https://host:7517, or http://127.0.0.1:7517 for this machine")),
    }
}
