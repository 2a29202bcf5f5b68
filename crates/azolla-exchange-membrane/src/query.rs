//! What another azolla may read, and the answer to it (PROTOCOL.md section 9). No network here: whoever calls this has
//! proved who asks.

mod filter;
#[cfg(test)]
mod fuzz;

use azolla_protocol::{
    AzollaId, AzollaType, JsonObject, QueryStatus, ResponseId, SubstrateQuery, SubstrateQueryResponse,
    Timestamp,
};
use azolla_substrate::{Identity, ObjectiveFilter, PauseFilter, SubstrateError, SubstrateRead};
use serde::Serialize;
use serde_json::Value;

use self::filter::{Asked, ObjectivesAsked, PausesAsked};

/// Who asks: an azolla of the registry that has proved it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its id, from what proved it and never from the query.
    pub azolla_id: AzollaId,
    /// Its blueprint, from the registry.
    pub azolla_type: AzollaType,
}

/// What an answer gets from outside.
#[derive(Clone, Debug)]
pub struct Form {
    /// Its id.
    pub response_id: ResponseId,
    /// When it is given.
    pub now: Timestamp,
    /// The most bytes of the whole document.
    pub bytes_max: u64,
}

/// An answer, and what is known here alone about one without results.
#[derive(Debug)]
pub struct Answer {
    /// What the asking azolla gets.
    pub response: SubstrateQueryResponse,
    /// Why it was refused: for our own log, never for the answer (M-2).
    pub denied: Option<Denied>,
    /// Why the store could not be read: the same.
    pub fault: Option<SubstrateError>,
}

/// Why a query is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// Nobody in the registry has this name, or the query names another source than the one that asks.
    #[error("the query names another source than the one that asks")]
    OtherSource,
    /// The query is for another azolla.
    #[error("the query is for another azolla than the one that is asked")]
    OtherTarget,
    /// The blueprint of the source does not read this.
    #[error("the blueprint of the source does not read this type")]
    ForbiddenType,
    /// No azolla stores this by itself.
    #[error("this type is not stored by itself")]
    NotStored,
    /// The filter has a key that is not known, or a value that it cannot have (M-3).
    #[error("the filter is not one of this type")]
    Filter,
    /// The same query was answered before.
    #[error("the query was answered before")]
    Replayed,
    /// More queries came than can be told apart from repeated ones.
    #[error("it asked more often than can be remembered")]
    TooMany,
    /// The query was made too long ago, or is not yet made.
    #[error("the query is too old or from the future")]
    Stale,
}

/// Answers a query to the azolla `target`, whose store `read` is (M-2, M-3). What is refused is refused before anything
/// is read, so that an answer tells nothing of what exists.
pub async fn answer(
    read: &dyn SubstrateRead,
    target: &Identity,
    source: &Source,
    query: &SubstrateQuery,
    form: Form,
) -> Answer {
    let asked = match check(target, source, query) {
        Ok(asked) => asked,
        Err(denied) => return Answer::denied(query, form, denied),
    };
    match find(read, target, asked).await {
        Ok(found) => {
            let mut response = empty(query, form.response_id, form.now, QueryStatus::Ok);
            response.results = within(&response, found, form.bytes_max);
            Answer { response, denied: None, fault: None }
        }
        Err(fault) => {
            let response = empty(query, form.response_id, form.now, QueryStatus::TargetUnavailable);
            Answer { response, denied: None, fault: Some(fault) }
        }
    }
}

/// Refuses a query that is not to be answered, whatever the store holds and whether it can be read (M-2).
pub fn permit(target: &Identity, source: &Source, query: &SubstrateQuery) -> Result<(), Denied> {
    check(target, source, query).map(drop)
}

impl Answer {
    /// The answer of an azolla whose store cannot be opened. Only for a query that is permitted.
    pub fn unavailable(query: &SubstrateQuery, form: Form) -> Self {
        let response = empty(query, form.response_id, form.now, QueryStatus::TargetUnavailable);
        Self { response, denied: None, fault: None }
    }

    /// The refusal of a query. It says nothing but that.
    pub fn denied(query: &SubstrateQuery, form: Form, denied: Denied) -> Self {
        let response = empty(query, form.response_id, form.now, QueryStatus::Denied);
        Self { response, denied: Some(denied), fault: None }
    }
}

fn check(target: &Identity, source: &Source, query: &SubstrateQuery) -> Result<Asked, Denied> {
    if query.source_azolla_id != source.azolla_id {
        return Err(Denied::OtherSource);
    }
    if query.target_azolla_id != target.azolla_id {
        return Err(Denied::OtherTarget);
    }
    if !source.azolla_type.blueprint().cross_azolla_reads.contains(&query.artifact_type) {
        return Err(Denied::ForbiddenType);
    }
    filter::read(query.artifact_type, &query.filter)
}

async fn find(
    read: &dyn SubstrateRead,
    target: &Identity,
    asked: Asked,
) -> Result<Vec<JsonObject>, SubstrateError> {
    match asked {
        Asked::Pauses(asked) => pauses(read, target, asked).await,
        Asked::Objectives(asked) => objectives(read, asked).await,
    }
}

/// Returns pause_states, newest first.
async fn pauses(
    read: &dyn SubstrateRead,
    target: &Identity,
    asked: PausesAsked,
) -> Result<Vec<JsonObject>, SubstrateError> {
    let filter = PauseFilter {
        azolla_id: target.azolla_id.clone(),
        objective_id: asked.objective_id,
        reason: asked.reason,
        since: asked.since,
        limit: asked.limit,
    };
    let found = match asked.latest_only {
        true => read.current_pause_states_of(&filter).await?,
        false => read.pause_states(&filter).await?,
    };
    found.iter().map(document).collect()
}

/// Returns objectives, oldest first.
async fn objectives(
    read: &dyn SubstrateRead,
    asked: ObjectivesAsked,
) -> Result<Vec<JsonObject>, SubstrateError> {
    let Some(id) = asked.objective_id else {
        let filter = ObjectiveFilter {
            status: asked.status,
            max_urgency: asked.max_urgency,
            after: None,
            limit: asked.limit,
        };
        let found = read.objectives(&filter).await?;
        return found.iter().map(|stored| document(&stored.objective)).collect();
    };
    let found = read.objective(&id).await?.map(|stored| stored.objective).filter(|objective| {
        asked.status.is_none_or(|status| status == objective.status) && objective.urgency <= asked.max_urgency
    });
    found.iter().map(document).collect()
}

fn document(artifact: &impl Serialize) -> Result<JsonObject, SubstrateError> {
    match serde_json::to_value(artifact) {
        Ok(Value::Object(document)) => Ok(document),
        _ => Err(SubstrateError::Corrupt("an artifact that is no JSON object".to_owned())),
    }
}

/// Returns as many of the results as fit into a document of `bytes_max`, the first ones first, each of them whole.
fn within(response: &SubstrateQueryResponse, found: Vec<JsonObject>, bytes_max: u64) -> Vec<JsonObject> {
    let mut bytes = size(response);
    let fits = |result: &JsonObject| {
        // And the comma before the next.
        bytes = bytes.saturating_add(size(result)).saturating_add(1);
        bytes <= bytes_max
    };
    found.into_iter().take_while(fits).collect()
}

fn size(document: &impl Serialize) -> u64 {
    serde_json::to_vec(document).map_or(u64::MAX, |bytes| bytes.len() as u64)
}

fn empty(
    query: &SubstrateQuery,
    response_id: ResponseId,
    created_at: Timestamp,
    status: QueryStatus,
) -> SubstrateQueryResponse {
    SubstrateQueryResponse {
        response_id,
        query_id: query.query_id.clone(),
        target_azolla_id: query.target_azolla_id.clone(),
        status,
        results: Vec::new(),
        created_at,
    }
}

#[cfg(test)]
mod tests;
