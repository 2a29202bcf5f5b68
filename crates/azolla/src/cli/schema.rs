//! `azolla schema`: the JSON Schemas of the artifacts.

use std::{io::Write, process::ExitCode};

use azolla_protocol::ArtifactKind;
use clap::Args;
use serde_json::json;

use crate::screen::show_json;

/// List the artifacts, or print the JSON Schema of one
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla schema\n  azolla schema objective")]
pub(crate) struct Schema {
    /// The artifact.
    #[arg(value_name = "ARTIFACT", value_parser = clap::builder::PossibleValuesParser::new(
        ArtifactKind::ALL.iter().map(|kind| kind.as_str())))]
    artifact: Option<String>,

    /// Print one JSON document, like every other read.
    #[arg(long)]
    pub(super) json: bool,
}

impl Schema {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        if self.json {
            self.show_json()?;
            return Ok(ExitCode::SUCCESS);
        }
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

    fn show_json(&self) -> anyhow::Result<()> {
        let names: Vec<_> = ArtifactKind::ALL.iter().map(|kind| kind.as_str()).collect();
        let named = |name: &str| ArtifactKind::ALL.iter().find(|kind| kind.as_str() == name);
        match self.artifact.as_deref().and_then(named) {
            Some(kind) => show_json("schema", serde_json::from_str(kind.schema_text())?)?,
            None => show_json("schemas", json!(names))?,
        }
        Ok(())
    }
}
