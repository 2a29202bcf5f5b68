//! `azolla objective new` (S-a).

use std::path::Path;

use anyhow::Context;
use azolla_control_plane::operator::{NewObjective, Operator};
use azolla_protocol::AzollaType;
use azolla_substrate::SystemIds;
use clap::Args;

use super::{check_base, check_title};
use crate::{
    cli::{
        Which,
        text::{given, who},
    },
    deployment::{Deployment, identity},
    screen::{remark, show_line},
};

/// Describe a piece of work; prints its id
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla objective new \"Round half up\" --criteria \"0.5 rounds to 1; the tests pass\"\n  \
                        azolla objective new \"Round half up\" --criteria - < criteria.txt\n\n\
                        It runs once you approve it."
)]
pub(super) struct New {
    /// One line that says what it is.
    title: String,

    /// What has to hold when it is done; - reads stdin. It may come later, with edit.
    #[arg(long, short, value_name = "TEXT|-", allow_hyphen_values = true, default_value = "")]
    criteria: String,

    /// The branch that work starts from, if not the azolla's.
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,

    /// 0 to 4, 0 is most important.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=4))]
    importance: u8,

    /// 0 to 4: 0 now, 1 a day, 2 a week, 3 a month, 4 no deadline.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=4))]
    urgency: u8,

    #[command(flatten)]
    which: Which,
}

impl New {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let deployment = Deployment::load(home)?;
        let azolla = deployment.one(self.which.azolla.as_ref(), AzollaType::CodePatch)?;
        check_title(&self.title)?;
        if let Some(base) = &self.base {
            check_base(base)?;
        }
        let base_branch = self.base.or_else(|| azolla.base_branch.clone()).unwrap_or_default();
        let new = NewObjective {
            title: self.title,
            acceptance_criteria: given(self.criteria)?,
            repo_ref: azolla.repo.clone().unwrap_or_default(),
            base_branch,
            importance: self.importance,
            urgency: self.urgency,
        };
        let store = deployment.open(azolla).await?;
        let (identity, ids, who) = (identity(azolla), SystemIds::default(), who());
        let operator = Operator { substrate: &*store, identity: &identity, ids: &ids, who: &who };
        let id = operator.create(new).await?;
        // It exists from here on: whoever cannot be told on stdout is told elsewhere, and does not make it twice.
        if let Err(error) = show_line(id.as_str()) {
            remark(&format!("{id} was created; only its id could not be written to stdout"));
            return Err(error).context("stdout cannot be written");
        }
        remark(&format!("next: azolla objective approve {id}"));
        Ok(())
    }
}
