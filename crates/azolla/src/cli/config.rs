//! `azolla config`: what is in effect and where it comes from, and the reference of every key.

use std::{path::Path, process::ExitCode};

use clap::Args;
use serde_json::{Value, json};

use crate::{
    config::{CHECK_TABLE, Key, Part, Place, REPOSITORY_TABLE, Setting, Table, USER_TABLES, parts},
    deployment::Deployment,
    failure::Failure,
    screen::{self, FAINT, PLAIN, Page, STRONG, TYPE},
};

/// Show the configuration: the file, what is in effect, and every key there is
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla config\n  azolla config --set             only what the file says\n  \
                  azolla config --reference       every key, what it takes and what it is for\n  azolla config --json"
)]
pub(crate) struct ShowConfig {
    /// Print every key that there is, of config.toml and .azolla.toml; no configuration is needed.
    #[arg(long)]
    reference: bool,

    /// Only what the file says, without the defaults.
    #[arg(long, conflicts_with = "reference")]
    set: bool,

    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(super) json: bool,
}

impl ShowConfig {
    pub(crate) fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        if self.reference {
            match self.json {
                true => screen::show_json("configuration_reference", reference_document())?,
                false => reference_page().show_paged()?,
            }
            return Ok(ExitCode::SUCCESS);
        }
        // Read as every command reads it, so that a fault is shown in the same words.
        let Deployment { place, .. } = Deployment::load(home)?;
        let text = crate::config::read_text(&place.config)?
            .ok_or_else(|| Failure::not_found("the configuration is gone").hint("azolla init"))?;
        let mut parts = parts(&text, &place.config)?;
        if self.set {
            for part in &mut parts {
                part.settings.retain(|setting| setting.written.is_some());
            }
            parts.retain(|part| !part.settings.is_empty());
        }
        match self.json {
            true => screen::show_json("configuration", document(&place, home, &parts))?,
            false => page(&place, home, &parts).show_paged()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Says what made the place the one that is used.
fn source_of(home: Option<&Path>) -> &'static str {
    match home {
        Some(home) if std::env::var_os("AZOLLA_HOME").is_some_and(|set| set == home.as_os_str()) => {
            "by AZOLLA_HOME"
        }
        Some(_) => "by --home",
        None => "by the XDG directories",
    }
}

fn page(place: &Place, home: Option<&Path>, parts: &[Part]) -> Page {
    let mut page = Page::default();
    let source = source_of(home);
    page.add(STRONG, "file  ").hang().add(PLAIN, &place.config.display().to_string());
    page.line(FAINT, &format!("  ({source})"));
    page.add(STRONG, "data  ").hang().line(PLAIN, &place.data.display().to_string());
    if let Ok(id) = std::env::var("AZOLLA_ID") {
        page.add(STRONG, "AZOLLA_ID  ").hang().line(PLAIN, &format!("{id}, unless a command says --azolla"));
    }
    for part in parts {
        page.heading(&part.header);
        let widest = part.settings.iter().map(|setting| setting.key.name.len()).max().unwrap_or_default();
        for Setting { key, written } in &part.settings {
            page.add(PLAIN, &format!("  {:<widest$}  ", key.name)).hang();
            match written {
                Some(written) => {
                    page.add(STRONG, &written.value).line(FAINT, &format!("  (line {})", written.line))
                }
                None => page.line(FAINT, &format!("{}  (default)", unquoted(&key.without()))),
            };
        }
    }
    page.line(PLAIN, "").add(FAINT, "What each of them is for: ").command("", "azolla config --reference");
    page
}

fn document(place: &Place, home: Option<&Path>, parts: &[Part]) -> Value {
    let row = |part: &Part, Setting { key, written }: &Setting| {
        json!({"table": part.header, "key": key.name,
               "value": written.as_ref().map_or_else(|| unquoted(&key.without()), |written| written.value.clone()),
               "source": if written.is_some() { "file" } else { "default" },
               "line": written.as_ref().map(|written| written.line)})
    };
    let settings: Vec<_> =
        parts.iter().flat_map(|part| part.settings.iter().map(move |setting| row(part, setting))).collect();
    json!({"file": place.config, "data_directory": place.data, "place": source_of(home), "settings": settings})
}

/// The tables of both files, with the file that each is in.
fn tables() -> impl Iterator<Item = (&'static str, &'static Table)> {
    let user = USER_TABLES.into_iter().map(|table| ("config.toml", table));
    user.chain([("config.toml, .azolla.toml", CHECK_TABLE), (".azolla.toml", REPOSITORY_TABLE)])
}

fn reference_page() -> Page {
    let mut page = Page::default();
    for (file, table) in tables() {
        let header = if table.header.is_empty() { file } else { table.header };
        page.heading(&match table.variant {
            "" => header.to_owned(),
            variant => format!("{header}  {variant}"),
        });
        page.line(FAINT, &unquoted(table.about));
        if table.is_named() {
            page.add(FAINT, "  such as ").line(TYPE, table.example);
        }
        for key in table.keys() {
            page.add(PLAIN, "  ").add(STRONG, key.name).hang();
            page.line(PLAIN, &format!("  {}", unquoted(&key.takes())));
            page.line(PLAIN, &format!("      {}", unquoted(key.meaning)));
            page.line(FAINT, &format!("      without it: {}", unquoted(&key.without())));
            page.add(FAINT, "      ").line(TYPE, &format!("{} = {}", key.name, key.example));
            for line in key.with.lines() {
                page.add(FAINT, "      ").add(TYPE, line).line(FAINT, "   (goes with it)");
            }
        }
    }
    page
}

fn reference_document() -> Value {
    let row = |file: &str, table: &Table, key: &Key| {
        json!({"file": file, "table": table.header, "table_example": table.example, "variant": table.variant,
               "key": key.name,
               "takes": unquoted(&key.takes()), "without_it": unquoted(&key.without()),
               "meaning": unquoted(key.meaning), "example": key.example, "with": key.with})
    };
    tables().flat_map(|(file, table)| table.keys().map(move |key| row(file, table, key))).collect()
}

/// Takes away the marks that a document has around what is typed.
fn unquoted(text: &str) -> String {
    text.replace('`', "")
}
