//! The filters of M-3: known keys with values that they can have, and nothing else.

use std::str::FromStr;

use azolla_protocol::{JsonObject, ObjectiveId, ObjectiveStatus, PauseReason, QueryableType, Timestamp};
use serde_json::Value;

use super::Denied;

/// How many results there are where the filter names no number, and the most that it can name.
const LIMIT_DEFAULT: u64 = 100;
const LIMIT_MAX: u64 = 500;

/// The highest urgency number.
const URGENCY_MAX: u8 = 4;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Pauses(PausesAsked),
    Objectives(ObjectivesAsked),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PausesAsked {
    pub(super) objective_id: Option<ObjectiveId>,
    pub(super) reason: Option<PauseReason>,
    pub(super) since: Option<Timestamp>,
    pub(super) latest_only: bool,
    pub(super) limit: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObjectivesAsked {
    pub(super) objective_id: Option<ObjectiveId>,
    pub(super) status: Option<ObjectiveStatus>,
    pub(super) max_urgency: u8,
    pub(super) limit: u64,
}

/// Reads the filter of a query for `artifact_type`.
pub(super) fn read(artifact_type: QueryableType, filter: &JsonObject) -> Result<Asked, Denied> {
    match artifact_type {
        QueryableType::PauseState => {
            only(filter, &["objective_id", "reason", "since", "latest_only", "limit"])?;
            Ok(Asked::Pauses(PausesAsked {
                objective_id: parsed(filter, "objective_id")?,
                reason: parsed(filter, "reason")?,
                since: parsed(filter, "since")?,
                latest_only: flag(filter, "latest_only")?,
                limit: limit(filter)?,
            }))
        }
        QueryableType::Objective => {
            only(filter, &["objective_id", "status", "max_urgency", "limit"])?;
            let max_urgency = number(filter, "max_urgency", 0, URGENCY_MAX.into())?;
            Ok(Asked::Objectives(ObjectivesAsked {
                objective_id: parsed(filter, "objective_id")?,
                status: parsed(filter, "status")?,
                max_urgency: max_urgency.and_then(|urgency| urgency.try_into().ok()).unwrap_or(URGENCY_MAX),
                limit: limit(filter)?,
            }))
        }
        // A blocker is a part of its objective.
        QueryableType::BlockerRef => Err(Denied::NotStored),
    }
}

fn only(filter: &JsonObject, known: &[&str]) -> Result<(), Denied> {
    if filter.keys().all(|key| known.contains(&key.as_str())) { Ok(()) } else { Err(Denied::Filter) }
}

fn parsed<T: FromStr>(filter: &JsonObject, key: &str) -> Result<Option<T>, Denied> {
    let Some(value) = filter.get(key) else { return Ok(None) };
    value.as_str().and_then(|text| text.parse().ok()).map(Some).ok_or(Denied::Filter)
}

fn flag(filter: &JsonObject, key: &str) -> Result<bool, Denied> {
    filter.get(key).map_or(Some(false), Value::as_bool).ok_or(Denied::Filter)
}

fn limit(filter: &JsonObject) -> Result<u64, Denied> {
    Ok(number(filter, "limit", 1, LIMIT_MAX)?.unwrap_or(LIMIT_DEFAULT))
}

fn number(filter: &JsonObject, key: &str, least: u64, most: u64) -> Result<Option<u64>, Denied> {
    let Some(value) = filter.get(key) else { return Ok(None) };
    let number = value.as_u64().filter(|number| (least..=most).contains(number));
    number.map(Some).ok_or(Denied::Filter)
}
