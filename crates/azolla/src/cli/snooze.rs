//! `azolla snooze`: moves the time at which an objective is pointed at as overdue (D-1).

use std::{path::Path, process::ExitCode};

use azolla_protocol::AzollaId;
use clap::Args;

use super::tell;
use crate::{
    acts::{self, Acts, Until},
    find::IdPart,
};

/// Leave an overdue objective alone for a while
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla snooze 4k2                      three days\n  \
                        azolla snooze 4k2 --days 14\n  azolla snooze 4k2 --until 2026-12-24\n  \
                        azolla snooze obj-0snkpkppcghv --azolla az-elsewhere   of another machine\n\n\
                        Only the reminder moves; the objective itself stays as it is.")]
pub(crate) struct Snooze {
    /// The objective: its id, or a unique beginning or end of it.
    #[arg(value_name = "ID")]
    id: IdPart,

    /// For so many days.
    #[arg(long, value_name = "N", default_value_t = 3, conflicts_with = "until",
          value_parser = acts::days)]
    days: u16,

    /// Until the beginning of this day, in UTC.
    #[arg(long, value_name = "YYYY-MM-DD")]
    until: Option<String>,

    /// The azolla that has the objective.
    #[arg(long, value_name = "ID")]
    azolla: Option<AzollaId>,
}

impl Snooze {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let until = match self.until {
            Some(day) => Until::Day(day),
            None => Until::Days(self.days),
        };
        tell(&Acts::load(home)?.snooze(self.azolla.as_ref(), &self.id, until).await?)?;
        Ok(ExitCode::SUCCESS)
    }
}
