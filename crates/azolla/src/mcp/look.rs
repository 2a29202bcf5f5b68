//! What an agent may see: where things stand, objectives, runs. Each answer is bounded, and its next part is asked for by
//! the key of its last thing.

use std::{fmt, str::FromStr};

use azolla_protocol::{
    AzollaId, InvalidId, Objective, ObjectiveId, ObjectiveStatus, RunId, WorkOrderId, due_day, lifecycle,
};
use azolla_substrate::{ObjectiveFilter, StoredObjective, SubstrateRead};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    arguments::{GetObjective, GetRun, ListObjectives, azolla, optional, page, parsed, read},
    bounded::{ANSWER_BYTES_MAX, beginning, bytes, fit, fit_newest},
    source::Reach,
};
use crate::{
    desk::objective_page,
    failure::{Failure, sentence},
    find::{self, Found, IdPart},
};

/// Open objectives of a sort and one azolla that a list can hold; more than anybody has.
const OPEN_MAX: u64 = 1_000;
/// Bytes of a page that its things may take; the rest is for what stands around them.
const PAGE_BYTES_MAX: usize = ANSWER_BYTES_MAX - 4 * 1024;
/// Bytes of one part of a run's output.
const CONTENT_BYTES_MAX: usize = 24 * 1024;
/// Bytes of a reason in a list.
const REASON_BYTES_MAX: usize = 500;

/// A page of objectives.
#[derive(Serialize, JsonSchema)]
pub(super) struct Listed {
    /// In the order of their creation, azolla by azolla.
    objectives: Vec<Summary>,
    /// The `after` of the next page; none if this is the last.
    next: Option<String>,
    /// Azollas that could not be read, and why.
    unreachable: Vec<String>,
    /// Azollas of which more is open than these pages list, and how to see it.
    left_out: Vec<String>,
}

/// An objective in short.
#[derive(Serialize, JsonSchema)]
struct Summary {
    objective_id: String,
    azolla_id: String,
    title: String,
    /// NEW, TODO, IN_PROGRESS, BLOCKED or DONE.
    status: String,
    /// Whether the operator confirmed that it is done. DONE without it awaits that.
    confirmed: bool,
    /// Whether it is put out of sight.
    archived: bool,
    /// 0 to 4, 0 first.
    importance: u8,
    /// 0 to 4, 0 first.
    urgency: u8,
    /// The day it is due, if one was named.
    due: Option<String>,
    /// Why it is blocked, or the beginning of it.
    blocked_reason: Option<String>,
    /// How many blockers are not resolved.
    open_blockers: usize,
    updated_at: String,
}

/// An objective.
#[derive(Serialize, JsonSchema)]
pub(super) struct Shown {
    /// The objective as it is stored.
    objective: Map<String, Value>,
    /// Where it paused last, with the next actions, if that still stands.
    pause_state: Option<Map<String, Value>>,
    /// Its newest runs, the oldest of them first.
    runs: Vec<Map<String, Value>>,
    /// The `runs_before` of the next page; none if this is the last.
    next: Option<String>,
    /// What was too long and is cut, by its path.
    left_out: Vec<String>,
}

/// A run.
#[derive(Serialize, JsonSchema)]
pub(super) struct Ran {
    azolla_id: String,
    objective_id: String,
    /// The workorder; its `status` is CREATED until the worker has answered.
    workorder: Map<String, Value>,
    /// How long it was worked on.
    budget_consumed_ms: u64,
    /// What its gate found; none until there was one.
    run_record: Option<Map<String, Value>>,
    /// The checks behind that.
    checks: Vec<Map<String, Value>>,
    /// Requests, tokens and cost, by claim.
    usage: Vec<Map<String, Value>>,
    /// What came back, without its content.
    output: Option<Map<String, Value>>,
    /// A part of the content: for a patch, the diff.
    content: String,
    /// How many bytes the whole content has.
    content_bytes: usize,
    /// The `after` of the next part; none if this is the last.
    next: Option<String>,
    /// What was too long and is cut, by its path.
    left_out: Vec<String>,
}

/// A place in a list over several azollas.
struct Cursor {
    azolla_id: AzollaId,
    objective_id: ObjectiveId,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.azolla_id, self.objective_id)
    }
}

impl FromStr for Cursor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (azolla_id, objective_id) =
            text.split_once(':').ok_or("this is no `next` of a page of objectives")?;
        let said = |error: InvalidId| error.to_string();
        Ok(Self {
            azolla_id: azolla_id.parse().map_err(said)?,
            objective_id: objective_id.parse().map_err(said)?,
        })
    }
}

/// Lists objectives.
pub(super) async fn list_objectives(reach: &Reach, arguments: Option<JsonObject>) -> anyhow::Result<Value> {
    list(reach, read(arguments)?).await
}

/// Lists objectives, as much as fits.
pub(super) async fn list(reach: &Reach, given: ListObjectives) -> anyhow::Result<Value> {
    let named = azolla(given.azolla.as_deref())?;
    let status: Option<ObjectiveStatus> = optional("status", given.status.as_deref())?;
    let cursor: Option<Cursor> = optional("after", given.after.as_deref())?;
    let limit = page(given.limit)?;
    let azollas = reach.deployment.candidates(named.as_ref())?;
    let from = match &cursor {
        Some(cursor) => azollas.iter().position(|azolla| azolla.id == cursor.azolla_id).ok_or_else(|| {
            Failure::not_found(format!("after: there is no azolla {} here", cursor.azolla_id))
        })?,
        None => 0,
    };
    let mut listed =
        Listed { objectives: Vec::new(), next: None, unreachable: Vec::new(), left_out: Vec::new() };
    let mut used = 0;
    for (at, azolla) in azollas.iter().enumerate().skip(from) {
        let store = match reach.look(azolla).await {
            Ok(store) => store,
            Err(error) => {
                let why = reach.away(azolla.id.as_str(), &sentence(&error));
                listed.unreachable.push(format!("{}: {why}", azolla.id));
                continue;
            }
        };
        let after = cursor.as_ref().filter(|_| at == from).map(|cursor| &cursor.objective_id);
        let room = limit - listed.objectives.len() as u64;
        let (some, are_all) = part(&*store, given.all, status, after, room).await?;
        if !are_all {
            let why = format!("{}: only the first {OPEN_MAX} of a sort; `all` lists every one", azolla.id);
            listed.left_out.push(why);
        }
        for stored in some {
            let summary = Summary::of(&stored.objective);
            used += bytes(&json!(summary)) + 1;
            // One always fits.
            if used > PAGE_BYTES_MAX {
                return Ok(json!(listed));
            }
            let objective_id = stored.objective.objective_id;
            listed.next = Some(Cursor { azolla_id: azolla.id.clone(), objective_id }.to_string());
            listed.objectives.push(summary);
        }
        if listed.objectives.len() as u64 == limit {
            return Ok(json!(listed));
        }
    }
    // All of them are read to the end.
    listed.next = None;
    Ok(json!(listed))
}

/// Returns the next objectives of one azolla, in the order of their creation, and whether all that are meant can be among
/// them or on a page after them.
async fn part(
    read: &dyn SubstrateRead,
    all: bool,
    status: Option<ObjectiveStatus>,
    after: Option<&ObjectiveId>,
    limit: u64,
) -> anyhow::Result<(Vec<StoredObjective>, bool)> {
    let after = match after {
        Some(id) => {
            let what = || Failure::not_found(format!("after: there is no objective {id}"));
            Some(read.objective(id).await?.ok_or_else(what)?.objective)
        }
        None => None,
    };
    if all {
        let after = after.map(Box::new);
        let filter = ObjectiveFilter { status, max_urgency: 4, after, limit };
        return Ok((read.objectives(&filter).await?, true));
    }
    let key = |objective: &Objective| (objective.created_at, objective.objective_id.clone());
    let begin = after.as_ref().map(key);
    let (mut open, are_all) = read.open_objectives_and_whether_all(OPEN_MAX).await?;
    open.retain(|stored| {
        status.is_none_or(|status| stored.objective.status == status)
            && begin.as_ref().is_none_or(|begin| key(&stored.objective) > *begin)
    });
    open.sort_by_key(|stored| key(&stored.objective));
    open.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok((open, are_all))
}

impl Summary {
    fn of(objective: &Objective) -> Self {
        let reason = objective.blocked_reason.as_deref();
        Self {
            objective_id: objective.objective_id.to_string(),
            azolla_id: objective.azolla_id.to_string(),
            title: objective.title.clone(),
            status: objective.status.to_string(),
            confirmed: lifecycle::is_confirmed(objective),
            archived: lifecycle::is_archived(objective),
            importance: objective.importance,
            urgency: objective.urgency,
            due: due_day(objective).map(str::to_owned),
            blocked_reason: reason.map(|reason| beginning(reason, REASON_BYTES_MAX).to_owned()),
            open_blockers: objective.blocked_on.iter().filter(|blocker| !blocker.resolved).count(),
            updated_at: objective.updated_at.to_string(),
        }
    }
}

/// Shows an objective with its newest runs.
pub(super) async fn get_objective(reach: &Reach, arguments: Option<JsonObject>) -> anyhow::Result<Value> {
    let given: GetObjective = read(arguments)?;
    let part: IdPart = parsed("objective_id", &given.objective_id)?;
    let before: Option<RunId> = optional("runs_before", given.runs_before.as_deref())?;
    let limit = page(given.limit)?;
    let named = azolla(given.azolla.as_deref())?;
    let found = find::objective(reach.opens(), named.as_ref(), &part).await?;
    show(&found, before.as_ref(), limit).await
}

/// Shows what was found, as much as fits.
pub(super) async fn show(found: &Found, before: Option<&RunId>, limit: u64) -> anyhow::Result<Value> {
    let missing = || Failure::not_found(format!("there is no objective {}", found.id()));
    let page = objective_page(found.read(), found.id(), before, limit).await?.ok_or_else(missing)?;
    Ok(json!(shown(&page)))
}

/// Returns as much of the page of an objective as fits: of the runs the newest.
fn shown(page: &Value) -> Shown {
    let count = page["runs"].as_array().map_or(0, Vec::len);
    let (page, left_out) = fit_newest(page, PAGE_BYTES_MAX, Some("runs"));
    let runs = objects(&page["runs"]);
    // The next page comes before the oldest run that is here.
    let oldest = runs.first().filter(|_| runs.len() < count).and_then(|run| run["run_id"].as_str());
    let next = oldest.or(page["next"].as_str()).map(str::to_owned);
    let objective = object(&page["objective"]).unwrap_or_default();
    Shown { objective, pause_state: object(&page["pause_state"]), runs, next, left_out }
}

/// Shows a run: what its gate found, the checks, and a part of what came back.
pub(super) async fn get_run(reach: &Reach, arguments: Option<JsonObject>) -> anyhow::Result<Value> {
    let given: GetRun = read(arguments)?;
    let part: IdPart = parsed("run_id", &given.run_id)?;
    let after: usize = optional("after", given.after.as_deref())?.unwrap_or(0);
    let named = azolla(given.azolla.as_deref())?;
    let (found, id) = find::workorder(reach.opens(), named.as_ref(), &part).await?;
    let id = match id {
        Some(id) => id,
        None => latest(&found).await?,
    };
    let read = found.read();
    let stored = read.workorder(&id).await?;
    let stored = stored.ok_or_else(|| Failure::not_found(format!("there is no workorder {id}")))?;
    let run = read.run_of(&id).await?;
    let evidence = match &run {
        Some(run) => read.evidence_of(&run.run_id).await?,
        None => None,
    };
    let bundle = read.output_of(&id).await?;
    let whole = bundle.as_ref().map_or("", |bundle| bundle.content.as_str());
    let rest = whole.get(after..);
    let rest = rest.ok_or_else(|| Failure::usage("after: this is no `next` of a part of this output"))?;
    let content = beginning(rest, CONTENT_BYTES_MAX);
    let next = (content.len() < rest.len()).then(|| (after + content.len()).to_string());
    let output = bundle.as_ref().map(|bundle| {
        json!({"output_id": bundle.output_id, "title": bundle.title, "metadata": bundle.metadata,
               "notes": bundle.notes, "created_at": bundle.created_at})
    });
    let facts = json!({"workorder": stored.workorder, "run_record": run, "output": output,
        "checks": evidence.map(|evidence| evidence.checks), "usage": read.usage_of(&id).await?});
    let (facts, left_out) = fit(&facts, PAGE_BYTES_MAX - CONTENT_BYTES_MAX);
    Ok(json!(Ran {
        azolla_id: found.azolla.id.to_string(),
        objective_id: found.id().to_string(),
        workorder: object(&facts["workorder"]).unwrap_or_default(),
        budget_consumed_ms: stored.budget_consumed_ms,
        run_record: object(&facts["run_record"]),
        checks: objects(&facts["checks"]),
        usage: objects(&facts["usage"]),
        output: object(&facts["output"]),
        content: content.to_owned(),
        content_bytes: whole.len(),
        next,
        left_out,
    }))
}

/// Returns the latest workorder of an objective.
async fn latest(found: &Found) -> anyhow::Result<WorkOrderId> {
    let all = found.read().workorders_of(found.id()).await?;
    let what = || Failure::not_found(format!("{} has not run yet", found.id()));
    Ok(all.into_iter().next_back().ok_or_else(what)?.workorder.work_order_id)
}

fn object(value: &Value) -> Option<Map<String, Value>> {
    value.as_object().cloned()
}

fn objects(value: &Value) -> Vec<Map<String, Value>> {
    value.as_array().into_iter().flatten().filter_map(object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads page after page, as a client does.
    #[test]
    fn an_objective_is_shown_with_its_newest_runs_and_every_run_is_on_one_page() {
        let all: Vec<_> = (0..90)
            .map(|at| {
                let long = "x".repeat(3_000);
                json!({"run_id": format!("run-{at:02}"), "gate": {"a": long, "b": long}})
            })
            .collect();
        let (mut end, mut pages, mut read) = (all.len(), 0, Vec::new());
        loop {
            let page =
                json!({"objective": {"title": "t"}, "pause_state": null, "runs": all[..end], "next": null});
            let shown = shown(&page);
            let ids: Vec<_> =
                shown.runs.iter().map(|run| run["run_id"].as_str().unwrap().to_owned()).collect();
            assert_eq!(ids.last().unwrap(), &format!("run-{:02}", end - 1));
            pages += 1;
            read.splice(0..0, ids);
            let Some(next) = shown.next else { break };
            assert!(shown.left_out.iter().any(|line| line.starts_with("runs: ")), "{:?}", shown.left_out);
            end = all.iter().position(|run| run["run_id"] == next.as_str()).unwrap();
        }
        assert!(pages > 1);
        assert_eq!(read, all.iter().map(|run| run["run_id"].as_str().unwrap()).collect::<Vec<_>>());
    }
}
