//! `azolla schema`: the JSON Schemas of the artifacts.

use std::{io::Write, process::ExitCode};

use azolla_protocol::ArtifactKind;
use clap::Args;

/// List the artifacts, or print the JSON Schema of one
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla schema\n  azolla schema objective")]
pub(crate) struct Schema {
    /// The artifact.
    #[arg(value_name = "ARTIFACT", value_parser = clap::builder::PossibleValuesParser::new(
        ArtifactKind::ALL.iter().map(|kind| kind.as_str())))]
    artifact: Option<String>,
}

impl Schema {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut out = std::io::stdout().lock();
        for kind in ArtifactKind::ALL {
            match &self.artifact {
                None => writeln!(out, "{}", kind.as_str())?,
                Some(name) if name == kind.as_str() => write!(out, "{}", kind.schema_text())?,
                Some(_) => {}
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
