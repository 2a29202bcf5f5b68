//! Ids as they are typed: any unique part from the beginning or the end, with or without the kind (T18: an allow-list
//! at the door).

use std::{str::FromStr, sync::Arc};

use azolla_protocol::{AzollaId, InvalidId, ObjectiveId, WorkOrderId};
use azolla_substrate::{ObjectiveFilter, StoredObjective, Substrate, SubstrateError, SubstrateRead};

use crate::{config::AzollaConfig, deployment::Deployment, failure::Failure, screen::remark};

/// A part of an id, as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdPart(String);

/// A text that can be no part of any id.
#[derive(Debug, thiserror::Error)]
#[error("an id has only a-z, 0-9 and -, begins with one of the first two, and is at most 65 characters long")]
pub(crate) struct NoId;

impl FromStr for IdPart {
    type Err = NoId;

    fn from_str(text: &str) -> Result<Self, NoId> {
        let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let first = text.bytes().next().ok_or(NoId)?;
        let good = first != b'-' && text.len() <= 65 && text.bytes().all(allowed);
        if good { Ok(Self(text.to_owned())) } else { Err(NoId) }
    }
}

/// An objective, and where it was found.
pub(crate) struct Found {
    /// Its azolla.
    pub(crate) azolla: AzollaConfig,
    /// The azolla's store.
    pub(crate) store: Arc<dyn Substrate>,
    /// The objective.
    pub(crate) stored: StoredObjective,
}

impl Found {
    /// Returns the read half of the store.
    pub(crate) fn read(&self) -> &dyn SubstrateRead {
        self.store.read()
    }

    /// Returns the objective's id.
    pub(crate) fn id(&self) -> &ObjectiveId {
        &self.stored.objective.objective_id
    }
}

/// Finds the one objective that a part of an id means, in the named azolla or in all of them.
pub(crate) async fn objective(
    deployment: &Deployment,
    named: Option<&AzollaId>,
    part: &IdPart,
) -> anyhow::Result<Found> {
    let mut matches = Vec::new();
    let mut closed = None;
    for azolla in deployment.candidates(named)? {
        let store = match deployment.open(azolla).await {
            Ok(store) => store,
            Err(error) => {
                closed = Some(error);
                continue;
            }
        };
        // A whole id is looked up; only a part has to be compared with all of them.
        if let Ok(id) = ObjectiveId::new(part.0.clone())
            && let Some(stored) = store.read().objective(&id).await?
        {
            return Ok(Found { azolla: azolla.clone(), store, stored });
        }
        for stored in all(store.read()).await? {
            if is_part(&part.0, &stored.objective.objective_id) {
                matches.push(Found { azolla: azolla.clone(), store: store.clone(), stored });
            }
        }
    }
    match (matches.len(), closed) {
        (1, _) => Ok(matches.remove(0)),
        (0, Some(error)) => Err(error),
        (0, None) => {
            let what = format!("there is no objective {}", part.0);
            Err(Failure::not_found(what).hint("azolla objective list --all").into())
        }
        (count, _) => Err(ambiguous(&part.0, count, &matches).into()),
    }
}

/// Finds the run that an id means: `run-…` or `wo-…` and the like, or the latest run of an objective.
pub(crate) async fn workorder(
    deployment: &Deployment,
    named: Option<&AzollaId>,
    part: &IdPart,
) -> anyhow::Result<(Found, Option<WorkOrderId>)> {
    let Some((of, number)) = derived(&part.0) else {
        return Ok((objective(deployment, named, part).await?, None));
    };
    let found = objective(deployment, named, &IdPart(of.to_owned())).await?;
    let id = WorkOrderId::new(format!("wo-{}-{number}", found.id().body()))
        .map_err(|error: InvalidId| Failure::not_found(error.to_string()))?;
    if found.read().workorder(&id).await?.is_none() {
        let what = format!("{} has no run {number}", found.id());
        return Err(Failure::not_found(what).hint(format!("azolla log {}", found.id())).into());
    }
    Ok((found, Some(id)))
}

/// Splits `run-<objective's body>-<n>`, or another id that derives from an objective.
fn derived(text: &str) -> Option<(&str, u64)> {
    let body =
        ["run-", "wo-", "out-", "evt-", "snap-"].into_iter().find_map(|kind| text.strip_prefix(kind))?;
    let (of, number) = body.rsplit_once('-')?;
    Some((of, number.parse().ok()?))
}

fn is_part(part: &str, id: &ObjectiveId) -> bool {
    id.as_str().starts_with(part) || id.body().starts_with(part) || id.as_str().ends_with(part)
}

fn ambiguous(part: &str, count: usize, matches: &[Found]) -> Failure {
    const SHOWN_MAX: usize = 10;
    for found in matches.iter().take(SHOWN_MAX) {
        remark(&format!("  {}  {}", found.id(), found.stored.objective.title));
    }
    Failure::usage(format!("{part} is a part of {count} ids")).hint("type more of it")
}

/// Returns every objective, oldest first.
pub(crate) async fn all(read: &dyn SubstrateRead) -> Result<Vec<StoredObjective>, SubstrateError> {
    const PAGE: u64 = 1_000;
    let mut found: Vec<StoredObjective> = Vec::new();
    loop {
        let after = found.last().map(|stored| Box::new(stored.objective.clone()));
        let page =
            read.objectives(&ObjectiveFilter { status: None, max_urgency: 4, after, limit: PAGE }).await?;
        let is_last = (page.len() as u64) < PAGE;
        found.extend(page);
        if is_last {
            return Ok(found);
        }
    }
}

#[cfg(test)]
mod tests;
