//! What the tools take. The types are what clients see as schemas; the texts in them go through the validators of the
//! command line, and are refused in words (T39).

use std::{fmt::Display, str::FromStr};

use azolla_protocol::AzollaId;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::failure::Failure;

/// Things on a page where nothing is said, and the most.
const PAGE_DEFAULT: u64 = 25;
const PAGE_MAX: u64 = 100;

/// A note.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CaptureNote {
    /// The note, at most 1 MiB. It is kept as it is.
    pub(super) text: String,
    /// The azolla that takes notes; otherwise the only one that does.
    pub(super) azolla: Option<String>,
}

/// Which part to look at.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetOrientation {
    /// Only this azolla; otherwise all of them.
    pub(super) azolla: Option<String>,
}

/// Which objectives to list.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListObjectives {
    /// Only this azolla; otherwise all of them.
    pub(super) azolla: Option<String>,
    /// Only those that stand there: NEW, TODO, IN_PROGRESS, BLOCKED or DONE.
    pub(super) status: Option<String>,
    /// Also what is confirmed, archived or standing; otherwise only what is open.
    #[serde(default)]
    pub(super) all: bool,
    /// Go on from here: the `next` of the page before.
    pub(super) after: Option<String>,
    /// How many at the most, 1 to 100; otherwise 25.
    pub(super) limit: Option<u64>,
}

/// Which objective to show.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetObjective {
    /// The objective: its id, or a unique beginning or end of it.
    pub(super) objective_id: String,
    /// The azolla that it is in; otherwise all of them are searched.
    pub(super) azolla: Option<String>,
    /// Go on with the runs before this one: the `next` of the page before.
    pub(super) runs_before: Option<String>,
    /// How many runs at the most, 1 to 100; otherwise 25.
    pub(super) limit: Option<u64>,
}

/// What could be done.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ProposeObjective {
    /// One line that says what to do, as an order: "Round half up in invoices".
    pub(super) title: String,
    /// What has to hold when it is done, one criterion to a line.
    pub(super) criteria: String,
    /// Why it is worth doing.
    pub(super) rationale: Option<String>,
    /// The azolla whose repository it is about; otherwise that of the current directory, if there is one.
    pub(super) target: Option<String>,
    /// The azolla that takes notes; otherwise the only one that does.
    pub(super) azolla: Option<String>,
}

/// What is in the way.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportBlocker {
    /// The objective: its id, or a unique beginning or end of it.
    pub(super) objective_id: String,
    /// What is missing, in a sentence or two.
    pub(super) reason: String,
    /// USER_INPUT, EXTERNAL_SYSTEM, DEPENDENCY_CHANGE, DESIGN_DECISION or ENVIRONMENT_ACCESS; otherwise USER_INPUT.
    pub(super) kind: Option<String>,
    /// The azolla that the objective is in; otherwise all of them are searched.
    pub(super) azolla: Option<String>,
}

/// Which run to show.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetRun {
    /// The run, or the objective whose latest run is meant: an id, or a unique beginning or end of one.
    pub(super) run_id: String,
    /// The azolla that it is in; otherwise all of them are searched.
    pub(super) azolla: Option<String>,
    /// Go on with the output from here: the `next` of the part before.
    pub(super) after: Option<String>,
}

/// Reads the arguments of a tool.
pub(super) fn read<T: DeserializeOwned>(arguments: Option<JsonObject>) -> Result<T, Failure> {
    let arguments = Value::Object(arguments.unwrap_or_default());
    serde_json::from_value(arguments).map_err(|error| Failure::usage(format!("the arguments: {error}")))
}

/// Reads one text of theirs.
pub(super) fn parsed<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, Failure> {
    text.parse().map_err(|error: T::Err| Failure::usage(format!("{name}: {error}")))
}

/// Reads one that may be missing.
pub(super) fn optional<T: FromStr<Err: Display>>(
    name: &str,
    text: Option<&str>,
) -> Result<Option<T>, Failure> {
    text.map(|text| parsed(name, text)).transpose()
}

/// Reads which azolla is meant.
pub(super) fn azolla(text: Option<&str>) -> Result<Option<AzollaId>, Failure> {
    optional("azolla", text)
}

/// Reads how many things a page may have.
pub(super) fn page(limit: Option<u64>) -> Result<u64, Failure> {
    let limit = limit.unwrap_or(PAGE_DEFAULT);
    match (1..=PAGE_MAX).contains(&limit) {
        true => Ok(limit),
        false => Err(Failure::usage(format!("limit is 1 to {PAGE_MAX}"))),
    }
}
