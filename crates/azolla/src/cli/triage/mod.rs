//! `azolla triage`: what came of the notes, and the operator's steps on it (TF-8).

mod candidate;
pub(super) mod captures;
mod list;
mod promote;
mod steps;

use std::{path::Path, process::ExitCode};

use clap::{Args, Subcommand};

use self::candidate::CandidatePart;
pub(super) use self::candidate::outcome;
use super::Which;
use crate::deployment::Deployment;

/// See what came of your notes, and choose what becomes of it
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  azolla triage                         what waits for you\n  \
                  azolla triage --now                   triage new notes first\n  \
                  azolla triage promote 1 --edit        make it a piece of work, after a look at it\n  \
                  azolla triage discard 2\n  azolla triage captures                notes, and what became of them"
)]
pub(crate) struct Triage {
    #[command(flatten)]
    list: list::List,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Promote(promote::Promote),
    Discard(steps::Discard),
    Defer(steps::Defer),
    Duplicate(steps::Duplicate),
    Undo(steps::Undo),
    Captures(captures::Captures),
    Retry(captures::Retry),
    Process(captures::Process),
}

impl Triage {
    /// Tells whether the caller reads one JSON document from stdout.
    pub(super) fn asks_for_json(&self) -> bool {
        match &self.command {
            None => self.list.json,
            Some(Command::Captures(command)) => command.json,
            Some(_) => false,
        }
    }

    /// Tells whether it keeps several things going at once.
    pub(super) fn works(&self) -> bool {
        self.command.is_none() && self.list.now
    }

    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        match self.command {
            None => return self.list.run(home).await,
            Some(Command::Promote(command)) => command.run(home).await?,
            Some(Command::Discard(command)) => command.run(home).await?,
            Some(Command::Defer(command)) => command.run(home).await?,
            Some(Command::Duplicate(command)) => command.run(home).await?,
            Some(Command::Undo(command)) => command.run(home).await?,
            Some(Command::Captures(command)) => command.run(home).await?,
            Some(Command::Retry(command)) => command.run(home).await?,
            Some(Command::Process(command)) => command.run(home).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Which candidate a command means.
#[derive(Args)]
struct Target {
    /// The candidate: its number, behind a unique part of its triage's id where several wait (out-…/1).
    #[arg(value_name = "CANDIDATE")]
    candidate: CandidatePart,

    #[command(flatten)]
    which: Which,
}

impl Target {
    async fn find(&self, home: Option<&Path>) -> anyhow::Result<(Deployment, candidate::Found)> {
        let deployment = Deployment::load(home)?;
        let found = candidate::find(&deployment, self.which.azolla.as_ref(), &self.candidate).await?;
        Ok((deployment, found))
    }
}
