//! `azolla verify`: every schema, link and invariant of a Substrate.

use std::{io::Write, process::ExitCode};

use clap::Args;
use serde_json::json;

use super::{plain, store::StoreAddress};

/// Check every schema, link and invariant of a Substrate
#[derive(Args)]
#[command(after_help = "Example:\n  azolla verify --store ~/substrate.sqlite\n\n\
                        Exits with 1 if something does not hold. No artifact is changed; a store of an older \
                        version is upgraded first, as by every command.")]
pub(crate) struct Verify {
    #[command(flatten)]
    store: StoreAddress,

    /// Print one JSON document instead of text.
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let store = self.store.open().await?;
        let findings = azolla_substrate::verify(store.read()).await?;
        let mut out = std::io::stdout().lock();
        if self.json {
            let data: Vec<_> = findings
                .iter()
                .map(|finding| {
                    json!({"invariant": finding.invariant, "resource": finding.resource, "what": finding.what})
                })
                .collect();
            writeln!(out, "{}", json!({"schema_version": 1, "kind": "findings", "data": data}))?;
        } else if findings.is_empty() {
            writeln!(out, "Everything holds.")?;
        } else {
            for finding in &findings {
                let (resource, what) = (plain(&finding.resource), plain(&finding.what));
                writeln!(out, "invariant {}: {resource} {what}", finding.invariant)?;
            }
            writeln!(out, "{} found. Export the store before you change anything in it.", findings.len())?;
        }
        Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
