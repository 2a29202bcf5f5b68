//! Asks the other azollas of the registry, all side by side and with a time limit each (MF-2, 7.4). Whatever comes back
//! is data from outside: bounded, held to its schema, and never an error that stops a flow (M-4).

mod intake;

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use azolla_exchange_membrane::peers::Asked;
use azolla_protocol::{
    AzollaId, JsonObject, Objective, ObjectiveStatus, ObjectiveType, PauseState, QueryId, QueryStatus,
    QueryableType, SubstrateQuery, Timestamp, lifecycle::is_archived,
};
use azolla_substrate::{ObjectiveFilter, SubstrateError};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use self::intake::Intake;
use crate::{context::WorkerContext, flow::TaskMgmtFlow};

/// Results of one query at the most: what an Exchange Membrane gives out (M-3), and what is read of one that gives more.
const RESULTS_MAX: usize = 500;

/// What is kept of the reason why there is no answer.
const REMARK_CHARS_MAX: usize = 200;

/// The objectives that can still move. Each status is asked for by itself: an azolla gives out so many at the most, and
/// those that are done, which only grow in number, would take the places of the others.
const OPEN: [ObjectiveStatus; 4] =
    [ObjectiveStatus::New, ObjectiveStatus::Todo, ObjectiveStatus::InProgress, ObjectiveStatus::Blocked];

/// What one azolla said to one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heard<T> {
    /// Who was asked.
    pub(crate) azolla_id: AzollaId,
    /// Whether it answered.
    pub(crate) status: QueryStatus,
    /// What was wrong or left out, in one line; empty if nothing was.
    pub(crate) remark: String,
    /// The artifacts, each its own and valid; empty unless it answered.
    pub(crate) found: Vec<T>,
}

/// What the other azollas said about their objectives when an orientation was made, for the Deadline Monitor, which asks
/// the same: who does not answer is waited for once. In memory; without it, they are asked again.
#[derive(Default)]
pub struct Overheard(Mutex<Option<(Instant, Vec<Heard<Objective>>)>>);

impl Overheard {
    /// Deadlines are days; this long nothing changes about them.
    const FRESH: Duration = Duration::from_secs(60);

    /// Keeps what was heard just now.
    pub(crate) fn keep(&self, heard: Vec<Heard<Objective>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), heard));
    }

    /// Returns what was heard a moment ago, once.
    pub(crate) fn take(&self) -> Option<Vec<Heard<Objective>>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.filter(|(at, _)| at.elapsed() < Self::FRESH).map(|(_, heard)| heard)
    }
}

/// Asks every azolla of the registry for its current pause_states.
pub(crate) async fn pause_states(
    ctx: &WorkerContext,
    flow: &TaskMgmtFlow,
    now: Timestamp,
) -> Vec<Heard<PauseState>> {
    let filter = object(json!({"latest_only": true, "limit": RESULTS_MAX}));
    let intake = &Intake::new();
    let every = flow.peers.registered().into_iter().map(|azolla_id| {
        let filter = filter.clone();
        async move {
            let asked = ask(ctx, flow, &azolla_id, QueryableType::PauseState, filter, now).await;
            intake.read(azolla_id, asked, |pause: &PauseState| &pause.azolla_id).await
        }
    });
    join_all(every).await
}

/// Asks every azolla of the registry for its objectives that should move some day, up to an urgency number.
pub(crate) async fn objectives(
    ctx: &WorkerContext,
    flow: &TaskMgmtFlow,
    max_urgency: u8,
    now: Timestamp,
) -> Vec<Heard<Objective>> {
    let intake = &Intake::new();
    let every = flow.peers.registered().into_iter().map(|azolla_id| async move {
        let azolla_id = &azolla_id;
        let each = OPEN.map(|status| async move {
            let filter = json!({"status": status, "max_urgency": max_urgency, "limit": RESULTS_MAX});
            let asked = ask(ctx, flow, azolla_id, QueryableType::Objective, object(filter), now).await;
            let id = azolla_id.clone();
            let mut heard = intake.read(id, asked, |objective: &Objective| &objective.azolla_id).await;
            // One that makes nothing of a filter gives the same ones to every question.
            heard.found.retain(|objective| {
                is_open(objective) && objective.status == status && objective.urgency <= max_urgency
            });
            heard
        });
        together(azolla_id, join_all(each).await)
    });
    join_all(every).await
}

/// Returns the objectives of this azolla itself that can still move, up to an urgency number.
pub(crate) async fn own_objectives(
    ctx: &WorkerContext,
    max_urgency: u8,
) -> Result<Vec<Objective>, SubstrateError> {
    let mut own = Vec::new();
    for status in OPEN {
        let filter =
            ObjectiveFilter { status: Some(status), max_urgency, after: None, limit: RESULTS_MAX as u64 };
        let found = ctx.read().objectives(&filter).await?.into_iter().map(|stored| stored.objective);
        own.extend(found.filter(is_open));
    }
    Ok(own)
}

/// Tells whether an objective is one that should move some day (7.4).
pub(crate) fn is_open(objective: &Objective) -> bool {
    objective.objective_type != ObjectiveType::Standing
        && objective.status != ObjectiveStatus::Done
        && !is_archived(objective)
}

/// One query, with its time limit. A peer that is too slow is as good as none (M-4).
async fn ask(
    ctx: &WorkerContext,
    flow: &TaskMgmtFlow,
    target: &AzollaId,
    artifact_type: QueryableType,
    filter: JsonObject,
    now: Timestamp,
) -> Asked {
    let query = SubstrateQuery {
        query_id: QueryId::from_body(&ctx.ids.body()),
        source_azolla_id: ctx.identity.azolla_id.clone(),
        target_azolla_id: target.clone(),
        artifact_type,
        filter,
        created_at: now,
    };
    let limit = ctx.settings.peer_query;
    match timeout(limit, flow.peers.ask(&query)).await {
        Ok(asked) => asked,
        Err(_) => Asked::unavailable(format!("no answer in {} ms", limit.as_millis())),
    }
}

fn unusable<A>(azolla_id: AzollaId, reason: &str) -> Heard<A> {
    let status = QueryStatus::TargetUnavailable;
    Heard { azolla_id, status, remark: format!("{status}: {reason}"), found: Vec::new() }
}

/// Puts the answers of one azolla together: it answered if all of its answers did.
fn together<A>(azolla_id: &AzollaId, parts: Vec<Heard<A>>) -> Heard<A> {
    let failed = parts.iter().position(|part| part.status != QueryStatus::Ok);
    let status = failed.map_or(QueryStatus::Ok, |at| parts[at].status);
    let said = parts.iter().map(|part| part.remark.as_str()).find(|remark| !remark.is_empty());
    let remark = failed.map_or(said.unwrap_or_default(), |at| &parts[at].remark).to_owned();
    // What did come is of use all the same.
    let found = parts.into_iter().flat_map(|part| part.found).collect();
    Heard { azolla_id: azolla_id.clone(), status, remark, found }
}

/// Returns text from outside on one line, without control characters, cut.
pub(crate) fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(chars_max));
        if line.chars().count() >= chars_max {
            break;
        }
    }
    cut(&line, chars_max).to_owned()
}

/// Returns the first characters of a text.
pub(crate) fn cut(text: &str, chars_max: usize) -> &str {
    text.char_indices().nth(chars_max).map_or(text, |(end, _)| &text[..end])
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}
