//! `azolla verify`: every schema, link and invariant of a Substrate.

use std::{path::Path, process::ExitCode};

use clap::Args;
use serde_json::json;

use super::store::StoreAddress;
use crate::screen::{self, PLAIN, Page};

/// Check every schema, link and invariant of a Substrate
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla verify --azolla az-app\n  azolla verify --store ~/substrate.sqlite\n\n\
                        Exits with 1 if something does not hold. No artifact is changed; a store of an older \
                        version is upgraded first, as by every command."
)]
pub(crate) struct Verify {
    #[command(flatten)]
    store: StoreAddress,

    /// Print one JSON document instead of text.
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let store = self.store.open(home).await?;
        let findings = azolla_substrate::verify(store.read()).await?;
        if self.json {
            let data = findings
                .iter()
                .map(|finding| {
                    json!({"invariant": finding.invariant, "resource": finding.resource, "what": finding.what})
                })
                .collect();
            screen::show_json("findings", data)?;
        } else {
            let mut page = Page::default();
            for finding in &findings {
                let what = format!("invariant {}: {} {}", finding.invariant, finding.resource, finding.what);
                page.line(PLAIN, &what);
            }
            match findings.len() {
                0 => page.line(PLAIN, "Everything holds."),
                found => page.line(
                    PLAIN,
                    &format!("{found} found. Export the store before you change anything in it."),
                ),
            };
            page.show()?;
        }
        Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
