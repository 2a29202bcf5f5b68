//! The operator's steps on an objective: one per row of the transition table (PROTOCOL.md section 4).

use std::path::Path;

use azolla_protocol::{BlockerId, BlockerKind, RunId, limits};
use clap::Args;

use super::{Target, step};
use crate::{
    cli::{
        actions,
        id::Found,
        text::{given, quoted},
    },
    failure::Failure,
    screen::remark,
};

/// Let a piece of work run
#[derive(Args)]
#[command(after_help = "Example:\n  azolla objective approve 4k2")]
pub(super) struct Approve {
    #[command(flatten)]
    target: Target,
}

impl Approve {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let found = self.target.find(home).await?;
        step(&found, async |operator| operator.approve(found.id()).await).await?;
        remark(&format!("{} is approved; next: azolla run --until-idle", found.id()));
        Ok(())
    }
}

/// Take an approval back
#[derive(Args)]
#[command(after_help = "Example:\n  azolla objective withdraw 4k2")]
pub(super) struct Withdraw {
    #[command(flatten)]
    target: Target,
}

impl Withdraw {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let found = self.target.find(home).await?;
        step(&found, async |operator| operator.withdraw(found.id()).await).await?;
        remark(&format!("the approval of {} is withdrawn", found.id()));
        Ok(())
    }
}

/// Hold a piece of work up, with a reason
#[derive(Args)]
#[command(
    after_help = "Example:\n  azolla objective block 4k2 --reason \"waits for the new API\" --kind DEPENDENCY_CHANGE"
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
        let found = self.target.find(home).await?;
        let reason = needed(self.reason, "a reason")?;
        step(&found, async |operator| operator.block(found.id(), &reason, kind).await).await?;
        remark(&format!("{} is blocked; to go on: azolla objective unblock {}", found.id(), found.id()));
        Ok(())
    }
}

/// Say that what was missing is there
#[derive(Args)]
#[command(after_help = "Example:\n  azolla objective unblock 4k2")]
pub(super) struct Unblock {
    #[command(flatten)]
    target: Target,

    /// Only this blocker; otherwise all that you made.
    #[arg(long, value_name = "ID")]
    blocker: Option<BlockerId>,
}

impl Unblock {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let found = self.target.find(home).await?;
        step(&found, async |operator| operator.unblock(found.id(), self.blocker.as_ref()).await).await?;
        remark("next: azolla run --until-idle");
        Ok(())
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
        if let Some(budget_ms) = self.budget_ms {
            limits::BUDGET_PATCH_MS.check(budget_ms).map_err(|error| Failure::usage(error.to_string()))?;
        }
        let found = self.target.find(home).await?;
        step(&found, async |operator| operator.retry(found.id(), self.budget_ms).await).await?;
        remark("next: azolla run --until-idle");
        hint_at_differences(&found);
        Ok(())
    }
}

/// Names what an objective has otherwise than the configuration: that may be why it was blocked.
fn hint_at_differences(found: &Found) {
    let (id, azolla) = (found.id(), &found.azolla);
    let has = |key: &str| found.stored.objective.metadata.get(key).and_then(|value| value.as_str());
    let differences = [
        ("repository", "repo_ref", "--repo", &azolla.repo),
        ("base", "base_branch", "--base", &azolla.base_branch),
    ];
    for (what, key, flag, configured) in differences {
        if let (Some(has), Some(configured)) = (has(key), configured)
            && has != configured
        {
            remark(&format!("its {what} is {has}, that of {} is {configured}", azolla.id));
            let configured = quoted(configured);
            remark(&format!(
                "hint: azolla objective edit {id} {flag} {configured}, if it should be the same"
            ));
        }
    }
}

/// Send a result back with what is wrong about it
#[derive(Args)]
#[command(
    after_help = "Example:\n  azolla objective reject 4k2 --feedback \"negative numbers still round down\""
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
        let found = self.target.find(home).await?;
        let feedback = needed(self.feedback, "feedback")?;
        step(&found, async |operator| operator.reject(found.id(), self.run.as_ref(), &feedback).await)
            .await?;
        remark("next: azolla run --until-idle");
        Ok(())
    }
}

/// Say that a result is good: final
#[derive(Args)]
#[command(after_help = "Example:\n  azolla objective confirm 4k2")]
pub(super) struct Confirm {
    #[command(flatten)]
    target: Target,

    /// The run that you reviewed; otherwise the latest.
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
}

impl Confirm {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let found = self.target.find(home).await?;
        let pause = match &found.stored.pause_key {
            Some(key) => found.read().pause_state(key).await?,
            None => None,
        };
        step(&found, async |operator| operator.confirm(found.id(), self.run.as_ref()).await).await?;
        match pause.as_ref().and_then(actions::by_hand) {
            Some(by_hand) => remark(&format!("{} is confirmed. {by_hand}", found.id())),
            None => remark(&format!("{} is confirmed; its branch is azolla/{}", found.id(), found.id())),
        }
        Ok(())
    }
}

/// Stop a run that is under way
#[derive(Args)]
#[command(after_help = "Example:\n  azolla objective cancel 4k2 --reason \"no longer needed\"")]
pub(super) struct Cancel {
    #[command(flatten)]
    target: Target,

    /// Why, for the record.
    #[arg(
        long,
        value_name = "TEXT|-",
        allow_hyphen_values = true,
        default_value = "cancelled by the operator"
    )]
    reason: String,
}

impl Cancel {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let found = self.target.find(home).await?;
        let reason = needed(self.reason, "a reason")?;
        step(&found, async |operator| operator.cancel(found.id(), &reason).await).await?;
        remark("it stops at its next sign of life, then waits for you");
        Ok(())
    }
}

/// Put a piece of work out of sight; it can be brought back
#[derive(Args)]
#[command(after_help = "Example:\n  azolla objective archive 4k2")]
pub(super) struct Archive {
    #[command(flatten)]
    target: Target,
}

impl Archive {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let found = self.target.find(home).await?;
        step(&found, async |operator| operator.archive(found.id()).await).await?;
        remark(&format!("to bring it back: azolla objective unarchive {}", found.id()));
        Ok(())
    }
}

/// Bring an archived piece of work back
#[derive(Args)]
#[command(after_help = "Example:\n  azolla objective unarchive 4k2")]
pub(super) struct Unarchive {
    #[command(flatten)]
    target: Target,
}

impl Unarchive {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let found = self.target.find(home).await?;
        step(&found, async |operator| operator.unarchive(found.id()).await).await?;
        remark(&format!("{} is back", found.id()));
        Ok(())
    }
}

/// Returns the text, or refuses an empty one.
fn needed(text: String, what: &str) -> anyhow::Result<String> {
    let text = given(text)?;
    if text.trim().is_empty() {
        return Err(Failure::usage(format!("{what} is needed")).into());
    }
    Ok(text)
}
