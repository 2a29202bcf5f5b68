//! `azolla objective new` (S-a).

use std::path::Path;

use clap::Args;

use crate::{
    acts::{self, Acts, Created},
    cli::{Which, tell, text::given},
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
    #[arg(long, value_name = "N", default_value_t = acts::IMPORTANCE, value_parser = acts::level)]
    importance: u8,

    /// 0 to 4: 0 now, 1 a day, 2 a week, 3 a month, 4 no deadline.
    #[arg(long, value_name = "N", default_value_t = acts::URGENCY, value_parser = acts::level)]
    urgency: u8,

    #[command(flatten)]
    which: Which,
}

impl New {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let acts = Acts::load(home)?;
        let new = Created {
            title: self.title,
            criteria: given(self.criteria)?,
            base: self.base,
            importance: self.importance,
            urgency: self.urgency,
        };
        tell(&acts.create(self.which.azolla.as_ref(), new).await?)
    }
}
