//! `azolla snooze`: moves the time at which an objective is pointed at as overdue (D-1).

use std::{collections::BTreeSet, path::Path, process::ExitCode};

use azolla_control_plane::operator::Operator;
use azolla_protocol::{AzollaId, AzollaType, ObjectiveId, ObjectiveType, Timestamp};
use azolla_substrate::{DeadlinePause, SystemIds};
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
    /// The objective: its id, or a unique beginning or end of it.
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
        const LOOKED_AT_MAX: u64 = 1_000;
        let deployment = Deployment::load(home)?;
        let keeper = deployment.one(None, AzollaType::TaskMgmt)?;
        let store = deployment.open(keeper).await?;
        let pointed_at = store.read().deadline_pauses(LOOKED_AT_MAX).await?;
        let (azolla_id, objective_id) = self.about(&deployment, &pointed_at).await?;
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

    /// Returns the objective: one of this machine, or one of a peer.
    async fn about(
        &self,
        deployment: &Deployment,
        pointed_at: &[DeadlinePause],
    ) -> anyhow::Result<(AzollaId, ObjectiveId)> {
        if let Some(azolla) = &self.azolla
            && deployment.config.azolla(azolla).is_none()
        {
            if deployment.config.peers.iter().all(|peer| peer.id != *azolla) {
                return Err(Failure::not_found(format!("there is no azolla or peer {azolla}")).into());
            }
            return Ok((azolla.clone(), self.elsewhere(azolla, pointed_at)?));
        }
        let found = id::objective(deployment, self.azolla.as_ref(), &self.id).await?;
        if found.stored.objective.objective_type == ObjectiveType::Standing {
            return Err(Failure::refused(format!("{} has no deadline", found.id())).into());
        }
        Ok((found.azolla.id.clone(), found.id().clone()))
    }

    /// Returns an objective of another machine: one that was pointed at by any part of its id, any other by the whole.
    fn elsewhere(&self, azolla: &AzollaId, pointed_at: &[DeadlinePause]) -> Result<ObjectiveId, Failure> {
        const BODY_CHARS: usize = 12;
        let part = self.id.as_str();
        let ids = pointed_at.iter().filter(|found| found.pause.azolla_id == *azolla);
        let ids: BTreeSet<_> =
            ids.map(|found| &found.pause.objective_id).filter(|id| id::is_part(part, id)).collect();
        let whole = ObjectiveId::new(part).ok().filter(|id| id.body().len() >= BODY_CHARS);
        match (ids.len(), ids.first(), whole) {
            (1, Some(id), _) => Ok((*id).clone()),
            (0, _, Some(whole)) => Ok(whole),
            (0, ..) => Err(Failure::not_found(format!("nothing of {azolla} that was pointed at is {part}"))
                .hint("type the whole id, as the page shows it")),
            (count, ..) => Err(id::ambiguous(part, count, ids.iter().map(ToString::to_string))),
        }
    }
}

fn day_of(text: &str) -> Result<Timestamp, Failure> {
    format!("{text}T00:00:00.000Z")
        .parse()
        .map_err(|_| Failure::usage(format!("{text} is no day")).hint("such as --until 2026-12-24"))
}
