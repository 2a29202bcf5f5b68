//! Moves the time at which an objective is pointed at as overdue (D-1).

use std::collections::BTreeSet;

use azolla_protocol::{AzollaId, AzollaType, ObjectiveId, ObjectiveType, Timestamp};
use azolla_substrate::DeadlinePause;

use super::{Acts, Done};
use crate::{
    failure::Failure,
    find::{IdPart, ambiguous},
    screen::day_and_time,
};

/// Until when an objective is left alone.
pub(crate) enum Until {
    /// For so many days from now.
    Days(u16),
    /// Until the beginning of this day, in UTC.
    Day(String),
}

/// The most days that an objective is left alone for.
pub(crate) const DAYS_MAX: u16 = 3650;

/// Reads a number of days.
pub(crate) fn days(text: &str) -> Result<u16, String> {
    text.parse()
        .ok()
        .filter(|days| (1..=DAYS_MAX).contains(days))
        .ok_or_else(|| format!("{text} is not in 1..={DAYS_MAX}"))
}

impl Acts {
    /// Leaves an objective alone for a while: one of this machine, or one of a peer.
    pub(crate) async fn snooze(
        &self,
        azolla: Option<&AzollaId>,
        part: &IdPart,
        until: Until,
    ) -> anyhow::Result<Done> {
        const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
        const LOOKED_AT_MAX: u64 = 1_000;
        let keeper = self.one(None, AzollaType::TaskMgmt)?;
        let store = self.store(keeper).await?;
        let pointed_at = store.read().deadline_pauses(LOOKED_AT_MAX).await?;
        let (azolla_id, objective_id) = self.about(azolla, part, &pointed_at).await?;
        let until = match &until {
            Until::Day(day) => day_of(day)?,
            Until::Days(days) => store.read().now().await?.plus_ms(i64::from(*days) * DAY_MS),
        };
        let snooze = self
            .step(keeper, &*store, async |operator| operator.snooze(&azolla_id, &objective_id, until).await);
        snooze.await?;
        Ok(Done::new(format!("{objective_id} is left alone until {} UTC", day_and_time(until))))
    }

    /// Returns the objective.
    async fn about(
        &self,
        azolla: Option<&AzollaId>,
        part: &IdPart,
        pointed_at: &[DeadlinePause],
    ) -> anyhow::Result<(AzollaId, ObjectiveId)> {
        let config = &self.deployment().config;
        if let Some(azolla) = azolla
            && config.azolla(azolla).is_none()
        {
            if config.peers.iter().all(|peer| peer.id != *azolla) {
                return Err(Failure::not_found(format!("there is no azolla or peer {azolla}")).into());
            }
            return Ok((azolla.clone(), elsewhere(azolla, part, pointed_at)?));
        }
        let found = self.find(azolla, part).await?;
        if found.stored.objective.objective_type == ObjectiveType::Standing {
            return Err(Failure::refused(format!("{} has no deadline", found.id())).into());
        }
        Ok((found.azolla.id.clone(), found.id().clone()))
    }
}

/// Returns an objective of another machine: one that was pointed at by any part of its id, any other by the whole.
fn elsewhere(azolla: &AzollaId, part: &IdPart, pointed_at: &[DeadlinePause]) -> Result<ObjectiveId, Failure> {
    const BODY_CHARS: usize = 12;
    let ids = pointed_at.iter().filter(|found| found.pause.azolla_id == *azolla);
    let ids: BTreeSet<_> =
        ids.map(|found| &found.pause.objective_id).filter(|id| part.is_of(id.as_str())).collect();
    let whole = ObjectiveId::new(part.as_str()).ok().filter(|id| id.body().len() >= BODY_CHARS);
    match (ids.len(), ids.first(), whole) {
        (1, Some(id), _) => Ok((*id).clone()),
        (0, _, Some(whole)) => Ok(whole),
        (0, ..) => {
            Err(Failure::not_found(format!("nothing of {azolla} that was pointed at is {}", part.as_str()))
                .hint("type the whole id, as the page shows it"))
        }
        (count, ..) => Err(ambiguous(part.as_str(), count, ids.iter().map(ToString::to_string))),
    }
}

fn day_of(text: &str) -> Result<Timestamp, Failure> {
    format!("{text}T00:00:00.000Z")
        .parse()
        .map_err(|_| Failure::usage(format!("{text} is no day")).hint("such as --until 2026-12-24"))
        .map_err(|failure| failure.hint_on_a_page("a day is written like 2026-12-24"))
}
