//! `azolla mcp`: the MCP server on stdin and stdout, and the setup of clients for it.

use std::{path::Path, process::ExitCode};

use clap::Args;
use tokio::sync::watch;

use super::run::Signals;
use crate::mcp::{self, Server, Source};

/// Serve MCP on stdin and stdout, for a coding agent or an editor
#[derive(Args)]
#[command(
    after_help = "Example:\n  azolla mcp\n\nA client starts it itself. It can look, keep notes, propose work and report what is in the way; \
                  promoting, approving, editing and confirming stay with you. azolla up serves the same at /mcp."
)]
pub(crate) struct Mcp {}

impl Mcp {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let (stop, stopping) = watch::channel(false);
        let signals = Signals::stop(stop)?;
        let source = Source::Fresh { home: home.map(Path::to_owned) };
        let served = mcp::serve(Server::new(source), stopping).await;
        signals.end();
        served?;
        Ok(ExitCode::SUCCESS)
    }
}
