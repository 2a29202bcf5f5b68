//! `azolla export`: a whole Substrate as JSON lines on stdout.

use std::{
    io::{BufWriter, Write},
    path::Path,
    process::ExitCode,
};

use clap::Args;

use super::{progress::Progress, store::StoreAddress};

/// Write a whole Substrate as JSON lines to stdout
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla export --azolla az-app > backup.jsonl\n  \
                        azolla export --store ~/substrate.sqlite > backup.jsonl\n\n\
                        The lines are of one instant, in canonical form: two exports of the same \
                        state are equal byte for byte.")]
pub(crate) struct Export {
    #[command(flatten)]
    store: StoreAddress,
}

impl Export {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let store = self.store.open(home).await?;
        let mut out = BufWriter::new(std::io::stdout());
        let mut progress = Progress::new("exported", None);
        let mut write = |line: &str| {
            progress.add(line.len() + 1);
            writeln!(out, "{line}")
        };
        azolla_substrate::export(store.read(), &mut write).await?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}
