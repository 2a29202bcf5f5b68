//! `azolla import`: fills a new Substrate from an export.

use std::{
    fs::{File, Metadata},
    io::{BufRead, BufReader, Cursor, Read},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use clap::Args;

use super::{
    progress::{Progress, Watched},
    store::StoreAddress,
};

/// Fill a new Substrate from an export
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla import --azolla az-app backup.jsonl\n  azolla import --store new.sqlite backup.jsonl\n  \
                        azolla import --store postgres://me@db/azolla --azolla az-app - < backup.jsonl\n\n\
                        The store is made if it is not there; it has to be empty. All is imported or nothing."
)]
pub(crate) struct Import {
    #[command(flatten)]
    store: StoreAddress,

    /// The export, or - for stdin.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Import {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let mut size = None;
        let mut input: Box<dyn BufRead + Send> = if self.file.as_os_str() == "-" {
            Box::new(BufReader::new(std::io::stdin()))
        } else {
            let failed = || format!("{} cannot be read", self.file.display());
            let file = File::open(&self.file).with_context(failed)?;
            size = file.metadata().ok().filter(Metadata::is_file).map(|found| found.len());
            Box::new(BufReader::new(file))
        };
        // The first line says whose Substrate it is; then it is read again with the rest.
        let mut first = Vec::new();
        input.by_ref().take(FIRST_LINE_BYTES_MAX).read_until(b'\n', &mut first)?;
        let identity = azolla_substrate::exported_identity(&first)?;
        let store = self.store.open_or_create(home, identity).await?;
        let progress = Progress::new("imported", size);
        let input = Watched { input: Cursor::new(first).chain(input), progress };
        azolla_substrate::import(&*store, input).await?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Far more than an id, a type and two numbers need.
const FIRST_LINE_BYTES_MAX: u64 = 64 * 1024;
