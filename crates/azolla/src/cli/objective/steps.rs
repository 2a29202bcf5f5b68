//! The operator's steps on an objective: one per row of the transition table (PROTOCOL.md section 4).

use std::path::Path;

use azolla_protocol::{BlockerId, BlockerKind, RunId};
use clap::Args;

use super::Target;
use crate::{
    acts::{CANCELLED, Seen},
    cli::{tell, text::given},
};

/// Let a piece of work run
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla objective approve 4k2")]
pub(super) struct Approve {
    #[command(flatten)]
    target: Target,
}

impl Approve {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (acts, found) = self.target.find(home).await?;
        tell(&acts.approve(&found, Seen::Latest).await?)
    }
}

/// Take an approval back
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla objective withdraw 4k2")]
pub(super) struct Withdraw {
    #[command(flatten)]
    target: Target,
}

impl Withdraw {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (acts, found) = self.target.find(home).await?;
        tell(&acts.withdraw(&found).await?)
    }
}

/// Hold a piece of work up, with a reason
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla objective block 4k2 --reason \"waits for the new API\" --kind DEPENDENCY_CHANGE"
)]
pub(super) struct Block {
    #[command(flatten)]
    target: Target,

    /// What is missing.
    #[arg(long, value_name = "TEXT|-", allow_hyphen_values = true)]
    reason: String,

    /// What sort of thing is missing.
    #[arg(long, value_name = "KIND", default_value = BlockerKind::UserInput.as_str(),
          value_parser = clap::builder::PossibleValuesParser::new(
              BlockerKind::ALL.iter().map(|kind| kind.as_str())))]
    kind: String,
}

impl Block {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let kind: BlockerKind = self.kind.parse()?;
        let (acts, found) = self.target.find(home).await?;
        tell(&acts.block(&found, &given(self.reason)?, kind).await?)
    }
}

/// Say that what was missing is there
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla objective unblock 4k2")]
pub(super) struct Unblock {
    #[command(flatten)]
    target: Target,

    /// Only this blocker; otherwise all that you made.
    #[arg(long, value_name = "ID")]
    blocker: Option<BlockerId>,
}

impl Unblock {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (acts, found) = self.target.find(home).await?;
        tell(&acts.unblock(&found, Seen::Latest, self.blocker.as_ref()).await?)
    }
}

/// Run a failed piece of work once more
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla objective retry 4k2\n  azolla objective retry 4k2 --budget-ms 1200000"
)]
pub(super) struct Retry {
    #[command(flatten)]
    target: Target,

    /// Time for the next run, in milliseconds.
    #[arg(long, value_name = "MS")]
    budget_ms: Option<u64>,
}

impl Retry {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (acts, found) = self.target.find(home).await?;
        tell(&acts.retry(&found, Seen::Latest, self.budget_ms).await?)
    }
}

/// Send a result back with what is wrong about it
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla objective reject 4k2 --feedback \"negative numbers still round down\""
)]
pub(super) struct Reject {
    #[command(flatten)]
    target: Target,

    /// What is wrong; it goes into the next run. - reads stdin.
    #[arg(long, short, value_name = "TEXT|-", allow_hyphen_values = true)]
    feedback: String,

    /// The run that you reviewed; otherwise the latest.
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
}

impl Reject {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (acts, found) = self.target.find(home).await?;
        tell(&acts.reject(&found, self.run.as_ref(), &given(self.feedback)?).await?)
    }
}

/// Say that a result is good: final
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla objective confirm 4k2")]
pub(super) struct Confirm {
    #[command(flatten)]
    target: Target,

    /// The run that you reviewed; otherwise the latest.
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
}

impl Confirm {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (acts, found) = self.target.find(home).await?;
        tell(&acts.confirm(&found, self.run.as_ref()).await?)
    }
}

/// Stop a run that is under way
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla objective cancel 4k2 --reason \"no longer needed\"")]
pub(super) struct Cancel {
    #[command(flatten)]
    target: Target,

    /// Why, for the record.
    #[arg(
        long,
        value_name = "TEXT|-",
        allow_hyphen_values = true,
        default_value = CANCELLED
    )]
    reason: String,
}

impl Cancel {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (acts, found) = self.target.find(home).await?;
        tell(&acts.cancel(&found, &given(self.reason)?).await?)
    }
}

/// Put a piece of work out of sight; it can be brought back
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla objective archive 4k2")]
pub(super) struct Archive {
    #[command(flatten)]
    target: Target,
}

impl Archive {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (acts, found) = self.target.find(home).await?;
        tell(&acts.archive(&found).await?)
    }
}

/// Bring an archived piece of work back
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla objective unarchive 4k2")]
pub(super) struct Unarchive {
    #[command(flatten)]
    target: Target,
}

impl Unarchive {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (acts, found) = self.target.find(home).await?;
        tell(&acts.unarchive(&found).await?)
    }
}
