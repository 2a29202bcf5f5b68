//! The operator's steps on a candidate, except promotion (TF-8).

use std::path::Path;

use clap::Args;

use super::Target;
use crate::{cli::tell, find::IdPart};

/// Set a candidate aside for good
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla triage discard 2")]
pub(super) struct Discard {
    #[command(flatten)]
    target: Target,
}

impl Discard {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (acts, found) = self.target.find(home).await?;
        tell(&acts.discard(&found).await?)
    }
}

/// Leave a candidate for later
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla triage defer 2")]
pub(super) struct Defer {
    #[command(flatten)]
    target: Target,
}

impl Defer {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (acts, found) = self.target.find(home).await?;
        tell(&acts.defer(&found).await?)
    }
}

/// Say that an objective for it is there already
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla triage duplicate 2 4k2")]
pub(super) struct Duplicate {
    #[command(flatten)]
    target: Target,

    /// The objective that is about it already.
    #[arg(value_name = "OBJECTIVE")]
    objective: IdPart,
}

impl Duplicate {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (acts, found) = self.target.find(home).await?;
        let of = acts.find(None, &self.objective).await?;
        tell(&acts.duplicate(&found, &of).await?)
    }
}

/// Take back what was done with a candidate
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla triage undo 2\n\n\
                        The candidate is open again. What it became is archived; that can be undone as long as it is \
                        not approved.")]
pub(super) struct Undo {
    #[command(flatten)]
    target: Target,
}

impl Undo {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (acts, found) = self.target.find(home).await?;
        tell(&acts.undo(&found).await?)
    }
}
