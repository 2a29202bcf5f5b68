//! `azolla snooze`: moves the time at which an objective is pointed at as overdue (D-1).

use std::{path::Path, process::ExitCode};

use azolla_control_plane::operator::Operator;
use azolla_protocol::{AzollaId, AzollaType, ObjectiveId, Timestamp};
use azolla_substrate::SystemIds;
use clap::Args;

use super::{
    id::{self, IdPart},
    text::who,
};
use crate::{
    deployment::{Deployment, identity},
    failure::Failure,
    screen::{day_and_time, remark},
};

/// Leave an overdue objective alone for a while
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla snooze 4k2                      three days\n  \
                        azolla snooze 4k2 --days 14\n  azolla snooze 4k2 --until 2026-12-24\n  \
                        azolla snooze obj-0kz3… --azolla az-elsewhere   of another machine\n\n\
                        Only the reminder moves; the objective itself stays as it is.")]
pub(crate) struct Snooze {
    /// The objective: its id, or a unique beginning or end of it; the whole id if it is of another machine.
    #[arg(value_name = "ID")]
    id: IdPart,

    /// For so many days.
    #[arg(long, value_name = "N", default_value_t = 3, conflicts_with = "until",
          value_parser = clap::value_parser!(u16).range(1..=3650))]
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
        const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
        let deployment = Deployment::load(home)?;
        let keeper = deployment.one(None, AzollaType::TaskMgmt)?;
        let (azolla_id, objective_id) = self.about(&deployment).await?;
        let store = deployment.open(keeper).await?;
        let until = match &self.until {
            Some(day) => day_of(day)?,
            None => store.read().now().await?.plus_ms(i64::from(self.days) * DAY_MS),
        };
        let (identity, ids, who) = (identity(keeper), SystemIds::default(), who());
        let operator = Operator { substrate: &*store, identity: &identity, ids: &ids, who: &who };
        operator.snooze(&azolla_id, &objective_id, until).await?;
        remark(&format!("{objective_id} is left alone until {} UTC", day_and_time(until)));
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the objective: one of this machine, or one of a peer by its whole id.
    async fn about(&self, deployment: &Deployment) -> anyhow::Result<(AzollaId, ObjectiveId)> {
        if let Some(azolla) = &self.azolla
            && deployment.config.azolla(azolla).is_none()
        {
            if deployment.config.peers.iter().all(|peer| peer.id != *azolla) {
                return Err(Failure::not_found(format!("there is no azolla or peer {azolla}")).into());
            }
            let whole = ObjectiveId::new(self.id.as_str());
            let hint = "type the whole id, as the page shows it";
            let id = whole.map_err(|error| Failure::usage(error.to_string()).hint(hint))?;
            return Ok((azolla.clone(), id));
        }
        let found = id::objective(deployment, self.azolla.as_ref(), &self.id).await?;
        Ok((found.azolla.id.clone(), found.id().clone()))
    }
}

fn day_of(text: &str) -> Result<Timestamp, Failure> {
    format!("{text}T00:00:00.000Z")
        .parse()
        .map_err(|_| Failure::usage(format!("{text} is no day")).hint("such as --until 2026-12-24"))
}
