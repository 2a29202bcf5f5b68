//! Where everything stands, in short: the next actions, what is open in each azolla, and the newest manifest.

use azolla_protocol::AzollaId;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    arguments::{GetOrientation, azolla, read},
    bounded::{ANSWER_BYTES_MAX, fit},
    source::Reach,
};

/// Actions that are shown.
const ACTIONS_MAX: usize = 5;

/// Where everything stands.
#[derive(Serialize, JsonSchema)]
pub(super) struct Orientation {
    /// What needs the operator, first things first, each with the command that the operator types.
    next_actions: Vec<Map<String, Value>>,
    /// How many there are in all.
    next_actions_total: usize,
    /// What is open in each azolla, as counts.
    azollas: Vec<Map<String, Value>>,
    /// The newest session_manifest, if there is one.
    session_manifest: Option<Map<String, Value>>,
    /// What was too long and is cut, by its path.
    left_out: Vec<String>,
}

/// Shows where everything stands.
pub(super) async fn get_orientation(reach: &Reach, arguments: Option<JsonObject>) -> anyhow::Result<Value> {
    let given: GetOrientation = read(arguments)?;
    let named = azolla(given.azolla.as_deref())?;
    if let Some(named) = &named {
        reach.deployment.named(named)?;
    }
    let data = reach.desk().await.document();
    let is_meant = |of: &&Value| named.as_ref().is_none_or(|named| of["azolla_id"] == named.as_str());
    let actions: Vec<_> = list(&data["next_actions"]).filter(is_meant).cloned().collect();
    let desks: Vec<_> = list(&data["azollas"]).filter(is_meant).collect();
    let document = json!({
        "next_actions": actions.iter().take(ACTIONS_MAX).collect::<Vec<_>>(),
        "azollas": desks.iter().map(|desk| counts(reach, desk)).collect::<Vec<_>>(),
        "session_manifest": newest(&desks),
    });
    let (document, left_out) = fit(&document, ANSWER_BYTES_MAX - 1024);
    let objects = |value: &Value| list(value).filter_map(|one| one.as_object().cloned()).collect();
    Ok(json!(Orientation {
        next_actions: objects(&document["next_actions"]),
        next_actions_total: actions.len(),
        azollas: objects(&document["azollas"]),
        session_manifest: document["session_manifest"].as_object().cloned(),
        left_out,
    }))
}

/// Returns the newest manifest of the named azolla or of all, as it is stored.
pub(super) async fn manifest(reach: &Reach, named: Option<&AzollaId>) -> anyhow::Result<Option<Value>> {
    let mut found = Vec::new();
    for azolla in reach.deployment.candidates(named)? {
        // A store that is away is no reason not to show what another one has.
        let Ok(store) = reach.look(azolla).await else { continue };
        found.extend(store.latest_manifest().await?);
    }
    Ok(found.into_iter().max_by_key(|manifest| manifest.created_at).map(|manifest| json!(manifest)))
}

/// Returns how much of each sort is open.
fn counts(reach: &Reach, desk: &Value) -> Value {
    if let Some(why) = desk["unreachable"].as_str() {
        let why = reach.away(desk["azolla_id"].as_str().unwrap_or_default(), why);
        return json!({"azolla_id": desk["azolla_id"], "unreachable": why});
    }
    let count = |key: &str| list(&desk[key]).count();
    let notes = &desk["notes"];
    json!({
        "azolla_id": desk["azolla_id"],
        "awaiting_confirmation": count("awaiting_confirmation"),
        "blocked": count("blocked"),
        "new": count("new"),
        "approved": count("approved"),
        "running": count("workorders"),
        "captures_pending": notes["captures_pending"],
        "candidates_open": notes["candidates_open"],
        "overdue": notes["overdue"].as_array().map(Vec::len),
    })
}

fn newest<'a>(desks: &[&'a Value]) -> Option<&'a Value> {
    let all = desks.iter().map(|desk| &desk["notes"]["session_manifest"]);
    all.filter(|manifest| manifest.is_object()).max_by_key(|manifest| manifest["created_at"].as_str())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
