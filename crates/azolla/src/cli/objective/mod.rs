//! `azolla objective`: pieces of work, and the operator's steps on them (PROTOCOL.md section 4).

mod edit;
mod list;
mod new;
mod show;
mod steps;

use std::{path::Path, process::ExitCode};

use clap::{Args, Subcommand};

use super::Which;
use crate::{
    acts::Acts,
    find::{Found, IdPart},
};

/// Describe, list and steer pieces of work
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla objective new \"Round half up\" --criteria \"0.5 rounds to 1\"\n  \
                        azolla objective approve 4k2\n  azolla objective list"
)]
pub(crate) struct Objective {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    New(new::New),
    List(list::List),
    Show(show::Show),
    Edit(edit::Edit),
    Approve(steps::Approve),
    Withdraw(steps::Withdraw),
    Block(steps::Block),
    Unblock(steps::Unblock),
    Retry(steps::Retry),
    Reject(steps::Reject),
    Confirm(steps::Confirm),
    Cancel(steps::Cancel),
    Archive(steps::Archive),
    Unarchive(steps::Unarchive),
}

impl Objective {
    /// Tells whether the caller reads one JSON document from stdout.
    pub(super) fn asks_for_json(&self) -> bool {
        match &self.command {
            Command::List(command) => command.json,
            Command::Show(command) => command.json,
            _ => false,
        }
    }

    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::New(command) => command.run(home).await?,
            Command::List(command) => command.run(home).await?,
            Command::Show(command) => command.run(home).await?,
            Command::Edit(command) => command.run(home).await?,
            Command::Approve(command) => command.run(home).await?,
            Command::Withdraw(command) => command.run(home).await?,
            Command::Block(command) => command.run(home).await?,
            Command::Unblock(command) => command.run(home).await?,
            Command::Retry(command) => command.run(home).await?,
            Command::Reject(command) => command.run(home).await?,
            Command::Confirm(command) => command.run(home).await?,
            Command::Cancel(command) => command.run(home).await?,
            Command::Archive(command) => command.run(home).await?,
            Command::Unarchive(command) => command.run(home).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Which objective a command means.
#[derive(Args)]
struct Target {
    /// The objective: its id, or a unique beginning or end of it.
    #[arg(value_name = "ID")]
    id: IdPart,

    #[command(flatten)]
    which: Which,
}

impl Target {
    async fn find(&self, home: Option<&Path>) -> anyhow::Result<(Acts, Found)> {
        let acts = Acts::load(home)?;
        let found = acts.find(self.which.azolla.as_ref(), &self.id).await?;
        Ok((acts, found))
    }
}
