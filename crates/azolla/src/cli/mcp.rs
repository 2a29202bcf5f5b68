//! `azolla mcp`: the MCP server on stdin and stdout, and the setup of clients for it.

mod clients;
mod install;
mod json;
mod toml;

use std::{path::Path, process::ExitCode};

use clap::{Args, Subcommand};
use tokio::sync::watch;

use super::run::Signals;
use crate::mcp::{self, Server, Source};

/// Serve MCP on stdin and stdout, for a coding agent or an editor
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla mcp install                       show the setup for common clients\n  \
                  azolla mcp install --client claude       only for one of them\n  \
                  azolla mcp install --client codex --write\n\n\
                  A client starts `azolla mcp` itself. It can look, keep notes, propose work and report what is in the\n\
                  way; promoting, approving, editing and confirming stay with you. azolla up serves the same at /mcp."
)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Install(install::Install),
}

impl Mcp {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        if let Some(Command::Install(command)) = self.command {
            return command.run(home);
        }
        let (stop, stopping) = watch::channel(false);
        let signals = Signals::stop(stop)?;
        let source = Source::Fresh { home: home.map(Path::to_owned) };
        let served = mcp::serve(Server::new(source), stopping).await;
        signals.end();
        served?;
        Ok(ExitCode::SUCCESS)
    }
}
