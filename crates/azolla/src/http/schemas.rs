//! The schemas of the interface: those of the artifacts, as the protocol has them, and a few of our own. Bodies are
//! checked against the very ones that the OpenAPI document shows.

use azolla_protocol::{
    ArtifactKind, AzollaType, DocumentSchema, ObjectiveStatus, PauseReason, content::triage_content_schema,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{
    answer::{ApiError, CODES},
    operator::PAGE_MAX,
};

/// The artifacts that requests and answers hold.
const ARTIFACTS: [ArtifactKind; 7] = [
    ArtifactKind::BlockerRef,
    ArtifactKind::Objective,
    ArtifactKind::PauseState,
    ArtifactKind::RunRecord,
    ArtifactKind::SessionManifest,
    ArtifactKind::SubstrateQuery,
    ArtifactKind::SubstrateQueryResponse,
];

/// Returns every schema by its name, as it stands in the OpenAPI document.
pub(super) fn all() -> Map<String, Value> {
    let mut schemas = own();
    for kind in ARTIFACTS {
        schemas.insert(kind.as_str().to_owned(), artifact(kind));
    }
    // The protocol's schema leaves the filter open, since what is none of these is DENIED and no error (M-2, M-3).
    schemas["substrate_query"]["properties"]["filter"] = filter();
    schemas
}

/// Reads a body by one of our own schemas.
pub(super) fn read<T: DeserializeOwned>(schema: &str, body: &[u8]) -> Result<T, ApiError> {
    let document: Value = serde_json::from_slice(body)
        .map_err(|error| ApiError::invalid(format!("the body is no JSON document: {error}")))?;
    let schemas = own();
    let checked = DocumentSchema::new(schemas.get(schema).unwrap_or(&Value::Bool(false)));
    let checked = checked.map_err(|_| ApiError::internal())?;
    let fault = checked.faults(&document).next();
    match fault {
        Some(fault) => Err(ApiError::invalid(fault)),
        None => serde_json::from_value(document).map_err(|error| ApiError::invalid(error.to_string())),
    }
}

/// Returns the keys of every filter, with the values that they can have (M-3).
fn filter() -> Value {
    let reasons: Vec<_> = PauseReason::ALL.iter().map(|reason| reason.as_str()).collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "description": "pause_state: objective_id, reason, since, latest_only, limit. objective: objective_id, status, \
                        max_urgency, limit. Anything else is DENIED.",
        "properties": {
            "objective_id": {"$ref": "#/components/schemas/objective_id"},
            "reason": {"type": "string", "enum": reasons},
            "since": {"$ref": "#/components/schemas/substrate_query/$defs/timestamp"},
            "latest_only": {"type": "boolean"},
            "status": {"$ref": "#/components/schemas/objective_status"},
            "max_urgency": {"type": "integer", "minimum": 0, "maximum": 4},
            "limit": {"$ref": "#/components/schemas/page_limit"},
        },
    })
}

fn own() -> Map<String, Value> {
    let id = |prefix: &str| json!({"type": "string", "pattern": format!("^{prefix}-[a-z0-9-]{{1,60}}$")});
    let text =
        |chars_max: usize| json!({"type": "string", "maxLength": chars_max, "pattern": "^[^\\u0000]*$"});
    let object = |required: &[&str], properties: Value| json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties});
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let list = |name: &str| json!({"type": "array", "items": reference(name)});
    let or_null = |name: &str| json!({"oneOf": [reference(name), {"type": "null"}]});
    let types: Vec<_> = AzollaType::ALL.iter().map(|known| known.as_str()).collect();
    let statuses: Vec<_> = ObjectiveStatus::ALL.iter().map(|status| status.as_str()).collect();
    let mut codes: Vec<_> = CODES.iter().map(|(code, _)| *code).collect();
    codes.sort_unstable();
    let mut capture_text = text(1_048_576);
    // Something beside blanks.
    capture_text["pattern"] = json!("^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$");
    capture_text["minLength"] = json!(1);
    capture_text["maxBytes"] = json!(1_048_576);
    let schemas = json!({
        "azolla_id": id("az"),
        "objective_id": id("obj"),
        "objective_status": {"type": "string", "enum": statuses},
        "page_limit": {"type": "integer", "minimum": 1, "maximum": PAGE_MAX},
        "azolla_type": {"type": "string", "enum": types},
        "capture_request": object(&["text"], json!({"text": capture_text, "label": text(200), "azolla": id("az")})),
        "capture_answer": object(&["capture_id"], json!({"capture_id": id("cap")})),
        "resume": object(&["schema_version", "kind", "data"], json!({
            "schema_version": {"const": 1}, "kind": {"const": "resume"}, "data": {"type": "object"}})),
        "azollas": object(&["azollas", "peers"], json!({"azollas": list("azolla"), "peers": list("peer")})),
        "azolla": object(&["azolla_id", "azolla_type"],
            json!({"azolla_id": reference("azolla_id"), "azolla_type": reference("azolla_type")})),
        "peer": object(&["azolla_id", "azolla_type", "url"],
            json!({"azolla_id": reference("azolla_id"), "azolla_type": reference("azolla_type"),
                   "url": {"type": ["string", "null"]}})),
        "objectives": object(&["objectives", "next"],
            json!({"objectives": list("objective"), "next": or_null("objective_id")})),
        "output_id": id("out"),
        "run_id": id("run"),
        "objective_page": object(&["objective", "pause_state", "runs", "next"],
            json!({"objective": reference("objective"), "pause_state": or_null("pause_state"),
                   "runs": list("run_record"), "next": or_null("run_id")})),
        "capture_id": id("cap"),
        "candidates": object(&["candidates", "next"],
            json!({"candidates": list("open_candidate"), "next": or_null("output_id")})),
        "open_candidate": object(&["output_id", "candidate_index", "created_at", "candidate"],
            json!({"output_id": id("out"), "candidate_index": {"type": "integer", "minimum": 0},
                   "created_at": {"type": "string", "format": "date-time"}, "candidate": reference("candidate")})),
        "candidate": candidate(),
        "manifest_request": object(&["event_id"], json!({"event_id": id("evt")})),
        "health": object(&["status", "version"], json!({"status": {"const": "ok"}, "version": {"type": "string"}})),
        "openapi": {"type": "object", "required": ["openapi", "info", "paths"]},
        "error": object(&["error"], json!({"error": object(&["code", "message"],
            json!({"code": {"type": "string", "enum": codes}, "message": {"type": "string"},
                   "hint": {"type": "string"}}))})),
    });
    match schemas {
        Value::Object(schemas) => schemas,
        _ => Map::new(),
    }
}

/// Returns the schema of one candidate, out of that of a triage's content.
fn candidate() -> Value {
    let mut schema = triage_content_schema()["properties"]["candidates"]["items"].clone();
    schema["properties"]["capture_ids"]["items"] = json!({"$ref": "#/components/schemas/capture_id"});
    schema
}

/// Returns the schema of an artifact, with its references as they go in the OpenAPI document.
fn artifact(kind: ArtifactKind) -> Value {
    let mut schema: Value = serde_json::from_str(kind.schema_text())
        .expect("the schemas are part of the program, and a test reads each");
    relocate(&mut schema, kind.as_str());
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("$schema");
        schema.remove("$id");
        if let Some(definitions) = schema.remove("definitions") {
            schema.insert("$defs".to_owned(), definitions);
        }
    }
    schema
}

fn relocate(schema: &mut Value, name: &str) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                match value.as_str() {
                    Some(target) if key == "$ref" => *value = json!(moved(target, name)),
                    _ => relocate(value, name),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| relocate(item, name)),
        _ => {}
    }
}

fn moved(target: &str, name: &str) -> String {
    match (target.strip_prefix("#/definitions/"), target.strip_suffix(".schema.json")) {
        (Some(definition), _) => format!("#/components/schemas/{name}/$defs/{definition}"),
        (_, Some(other)) => format!("#/components/schemas/{other}"),
        _ => target.to_owned(),
    }
}
