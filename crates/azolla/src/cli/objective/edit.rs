//! `azolla objective edit` (S-3, S-l).

use std::path::Path;

use azolla_control_plane::{operator::Changes, repo::check_branch};
use azolla_protocol::ObjectiveStatus;
use clap::Args;

use super::{Target, step};
use crate::{cli::text::given, failure::Failure, screen::remark};

/// Change an objective; a change of what was approved has to be approved again
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla objective edit 4k2 --urgency 1\n  azolla objective edit 4k2 --criteria - < criteria.txt"
)]
pub(super) struct Edit {
    #[command(flatten)]
    target: Target,

    /// One line that says what it is.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// What has to hold when it is done; - reads stdin.
    #[arg(long, short, value_name = "TEXT|-")]
    criteria: Option<String>,

    /// The branch that work starts from.
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,

    /// 0 to 4, 0 is most important.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=4))]
    importance: Option<u8>,

    /// 0 to 4: 0 now, 1 a day, 2 a week, 3 a month, 4 no deadline.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=4))]
    urgency: Option<u8>,
}

impl Edit {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let given_any = self.title.is_some()
            || self.criteria.is_some()
            || self.base.is_some()
            || self.importance.is_some()
            || self.urgency.is_some();
        if !given_any {
            let hint = "name what changes: --title, --criteria, --base, --importance, --urgency";
            return Err(Failure::usage("there is nothing to change").hint(hint).into());
        }
        if let Some(base) = &self.base {
            check_branch(base)?;
        }
        let found = self.target.find(home).await?;
        let changes = Changes {
            title: self.title,
            acceptance_criteria: self.criteria.map(given).transpose()?,
            base_branch: self.base,
            repo_ref: None,
            importance: self.importance,
            urgency: self.urgency,
        };
        step(&found, async |operator| operator.edit(found.id(), changes).await).await?;
        let after = found.read().objective(found.id()).await?;
        let withdrawn = found.stored.objective.status == ObjectiveStatus::Todo
            && after.is_some_and(|after| after.objective.status == ObjectiveStatus::New);
        if withdrawn {
            remark(&format!("its approval is withdrawn; next: azolla objective approve {}", found.id()));
        }
        Ok(())
    }
}
