//! Ids as they are typed: any unique part from the beginning or the end, with or without the kind (T18: an allow-list
//! at the door). And what they mean, over all azollas.

use std::{str::FromStr, sync::Arc};

use azolla_protocol::{AzollaId, EventId, ObjectiveId, WorkOrderId, is_archived};
use azolla_substrate::{ObjectiveFilter, StoredObjective, Substrate, SubstrateError, SubstrateRead};

use crate::{
    config::AzollaConfig,
    failure::{Code, Failure},
    nearest::distance,
    screen::plain,
    stores::Opens,
};

/// A part of an id, as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdPart(String);

impl IdPart {
    /// Returns the text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether an id begins or ends with this, with or without its kind.
    pub(crate) fn is_of(&self, id: &str) -> bool {
        let body = id.split_once('-').map_or(id, |(_, body)| body);
        id.starts_with(&self.0) || body.starts_with(&self.0) || id.ends_with(&self.0)
    }
}

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
    stores: &dyn Opens,
    named: Option<&AzollaId>,
    part: &IdPart,
) -> anyhow::Result<Found> {
    let mut matches = Vec::new();
    let mut known = Vec::new();
    let (open, closed) = opened(stores, named).await?;
    // A whole id is looked up; only a part has to be compared with all of them.
    if let Ok(id) = ObjectiveId::new(part.0.clone()) {
        for (azolla, store) in &open {
            let stored = store.read().objective(&id).await?;
            let store = store.clone();
            matches.extend(stored.map(|stored| Found { azolla: (*azolla).clone(), store, stored }));
        }
    }
    if matches.is_empty() {
        for (azolla, store) in open {
            for stored in all(store.read()).await? {
                if part.is_of(stored.objective.objective_id.as_str()) {
                    matches.push(Found { azolla: azolla.clone(), store: store.clone(), stored });
                } else {
                    known.push((stored.objective.objective_id.to_string(), stored.objective.title));
                }
            }
        }
    }
    leave_undone_ones(&mut matches);
    match (matches.len(), closed) {
        (1, _) => Ok(matches.remove(0)),
        (0, Some(error)) => Err(error),
        (0, None) => {
            let what = format!("there is no objective {}", part.0);
            Err(Failure::not_found(what).hint(or_near(&part.0, &known, "azolla objective list --all")).into())
        }
        (count, _) => {
            let line = |found: &Found| {
                format!("{}  {}  {}", found.id(), found.azolla.id, plain(&found.stored.objective.title))
            };
            let lines = matches.iter().map(line);
            Err(ambiguous(&part.0, count, lines).into())
        }
    }
}

/// A promotion that was undone in one azolla and made again in another leaves the same id in both: the one that is
/// archived is not meant, unless no other is there.
fn leave_undone_ones(matches: &mut Vec<Found>) {
    let is_archived = |found: &Found| is_archived(&found.stored.objective);
    let same = matches.windows(2).all(|pair| pair[0].id() == pair[1].id());
    if same && !matches.iter().all(is_archived) {
        matches.retain(|found| !is_archived(found));
    }
}

/// Opens the stores that an id may be in; and one error of those that cannot be opened, for when it is in none.
async fn opened<'a>(
    stores: &'a dyn Opens,
    named: Option<&AzollaId>,
) -> anyhow::Result<(Vec<(&'a AzollaConfig, Arc<dyn Substrate>)>, Option<anyhow::Error>)> {
    let (mut open, mut closed) = (Vec::new(), None);
    for azolla in stores.registry().candidates(named)? {
        match stores.opened(azolla).await {
            Ok(store) => open.push((azolla, store)),
            Err(error) => closed = Some(error),
        }
    }
    Ok((open, closed))
}

/// Finds the run that an id means, by any unique part of its `run-…` or `wo-…` and the like; or an objective, and then
/// no run.
pub(crate) async fn workorder(
    stores: &dyn Opens,
    named: Option<&AzollaId>,
    part: &IdPart,
) -> anyhow::Result<(Found, Option<WorkOrderId>)> {
    let not_found = if KINDS.iter().any(|kind| part.0.starts_with(kind)) {
        let what = format!("there is no run {}", part.0);
        Failure::not_found(what).hint(RUNS)
    } else {
        match objective(stores, named, part).await {
            Ok(found) => return Ok((found, None)),
            // The end of a run's id is the end of no objective's.
            Err(error) => match error.downcast::<Failure>() {
                Ok(failure) if failure.code() == Code::NotFound => failure,
                Ok(failure) => return Err(failure.into()),
                Err(error) => return Err(error),
            },
        }
    };
    let whole = KINDS.iter().find_map(|kind| part.0.strip_prefix(kind));
    let whole = whole.and_then(|body| WorkOrderId::new(format!("wo-{body}")).ok());
    let (mut matches, mut known) = (Vec::new(), Vec::new());
    let (open, closed) = opened(stores, named).await?;
    for (azolla, store) in open {
        // A whole id is looked up: that of a triage or an orientation has nothing of its objective's in it.
        if let Some(id) = &whole
            && let Some(run) = store.read().workorder(id).await?
            && let Some(stored) = store.read().objective(&run.workorder.objective_id).await?
        {
            return Ok((Found { azolla: azolla.clone(), store, stored }, Some(id.clone())));
        }
        for stored in all(store.read()).await? {
            for id in runs(&stored) {
                if !is_part_of_run(&part.0, &id) {
                    known.push((format!("run-{}", id.body()), stored.objective.title.clone()));
                } else if store.read().workorder(&id).await?.is_some() {
                    let stored = stored.clone();
                    matches.push((Found { azolla: azolla.clone(), store: store.clone(), stored }, id));
                }
            }
        }
    }
    match matches.len() {
        0 if whole.is_some() => {
            Err(closed.unwrap_or_else(|| not_found.hint(or_near(&part.0, &known, RUNS)).into()))
        }
        0 => Err(closed.unwrap_or_else(|| not_found.into())),
        1 => {
            let (found, id) = matches.remove(0);
            Ok((found, Some(id)))
        }
        count => {
            let lines = matches
                .iter()
                .map(|(found, id)| format!("run-{}  {}", id.body(), found.stored.objective.title));
            Err(ambiguous(&part.0, count, lines).into())
        }
    }
}

/// What is made for one entry of an objective into TODO, by the beginning of its id.
const KINDS: [&str; 6] = ["run-", "wo-", "out-", "evt-", "snap-", "man-"];

/// Returns the ids that an objective's workorders have, whether they were made or not (W-5).
fn runs(stored: &StoredObjective) -> impl Iterator<Item = WorkOrderId> {
    let id = &stored.objective.objective_id;
    (1..=stored.todo_entry).filter_map(|entry| Some(WorkOrderId::of(&EventId::for_entry(id, entry).ok()?)))
}

fn is_part_of_run(part: &str, id: &WorkOrderId) -> bool {
    match KINDS.iter().find_map(|kind| part.strip_prefix(kind)) {
        Some(body) => id.body().starts_with(body),
        None => id.body().starts_with(part) || id.body().ends_with(part),
    }
}

/// Where the runs of an objective are listed.
const RUNS: &str = "azolla objective show ID lists the runs of an objective";

/// Returns a hint with the known ids that are nearest to what was typed, or `otherwise`.
pub(crate) fn or_near(part: &str, known: &[(String, String)], otherwise: &str) -> String {
    const SHOWN_MAX: usize = 3;
    let mut near: Vec<_> =
        known.iter().filter_map(|(id, title)| Some((changes(part, id)?, id, title))).collect();
    near.sort();
    let near: Vec<_> = near.iter().take(SHOWN_MAX).map(|(_, id, title)| format!("{id} ({title})")).collect();
    match &near[..] {
        [] => otherwise.to_owned(),
        near => format!("did you mean {}? otherwise: {otherwise}", near.join(" or ")),
    }
}

/// Counts the changes from what was typed to the nearest part of an id that is as long, if they are few.
fn changes(part: &str, id: &str) -> Option<usize> {
    let few = match part.len() {
        0..3 => return None,
        3..7 => 1,
        _ => 2,
    };
    let body = id.split_once('-').map_or(id, |(_, body)| body);
    let begin = |text: &str| text.get(..part.len()).unwrap_or(text).to_owned();
    let end = body.get(body.len().saturating_sub(part.len())..).unwrap_or(body).to_owned();
    let parts = [begin(id), begin(body), end];
    parts.iter().map(|known| distance(part, known)).min().filter(|changes| *changes <= few)
}

/// Lists what a part of an id could mean.
pub(crate) fn ambiguous(part: &str, count: usize, lines: impl Iterator<Item = String>) -> Failure {
    const SHOWN_MAX: usize = 10;
    let lines = lines.take(SHOWN_MAX).collect();
    Failure::usage(format!("{part} is a part of {count} ids")).hint("type more of it").listing(lines)
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
