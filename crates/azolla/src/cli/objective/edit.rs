//! `azolla objective edit` (S-3, S-l).

use std::path::Path;

use clap::Args;

use super::Target;
use crate::{
    acts::{self, Edits, Seen},
    cli::{tell, text::given},
};

/// Change an objective; a change of what was approved has to be approved again
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla objective edit 4k2 --urgency 1\n  azolla objective edit 4k2 --criteria - < criteria.txt"
)]
pub(super) struct Edit {
    #[command(flatten)]
    target: Target,

    /// One line that says what it is.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,

    /// What has to hold when it is done; - reads stdin.
    #[arg(long, short, value_name = "TEXT|-", allow_hyphen_values = true)]
    criteria: Option<String>,

    /// The branch that work starts from.
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,

    /// The repository, where it has moved: that of its azolla, a path or a URL.
    #[arg(long, value_name = "PATH|URL")]
    repo: Option<String>,

    /// 0 to 4, 0 is most important.
    #[arg(long, value_name = "N", value_parser = acts::level)]
    importance: Option<u8>,

    /// 0 to 4: 0 now, 1 a day, 2 a week, 3 a month, 4 no deadline.
    #[arg(long, value_name = "N", value_parser = acts::level)]
    urgency: Option<u8>,
}

impl Edit {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (acts, found) = self.target.find(home).await?;
        let edits = Edits {
            title: self.title,
            criteria: self.criteria.map(given).transpose()?,
            base: self.base,
            repo: self.repo,
            importance: self.importance,
            urgency: self.urgency,
            seen: Seen::Latest,
        };
        tell(&acts.edit(&found, edits).await?)
    }
}
