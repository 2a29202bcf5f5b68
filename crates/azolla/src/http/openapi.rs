//! The OpenAPI document, made from the table of operations and the schemas. `docs/openapi.json` is the same.

use std::sync::OnceLock;

use axum::http::Method;
use serde_json::{Map, Value, json};

use super::{
    access::Access,
    answer::CODES,
    operation::{Facts, Operation},
    schemas,
};

/// Returns the document as text.
pub(super) fn text() -> String {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let mut text = serde_json::to_string_pretty(&document()).expect("a document of ours is JSON");
        text.push('\n');
        text
    })
    .clone()
}

fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for operation in Operation::ALL {
        let facts = operation.facts();
        let path = paths.entry(facts.path).or_insert_with(|| json!({}));
        path[facts.method.as_str().to_ascii_lowercase()] = described(&facts);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "azolla",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
            "description": "Other azollas read here what their blueprint allows; the operator's programs leave notes \
                            and look. Nothing here approves, promotes, confirms or runs a command.",
        },
        "servers": [{"url": "http://127.0.0.1:7517"}],
        "paths": paths,
        "components": {
            "schemas": schemas::all(),
            "securitySchemes": {
                "peer": {"type": "http", "scheme": "bearer",
                         "description": "The token of a peer: `azolla peer add` on this machine shows it once."},
                "operator": {"type": "http", "scheme": "bearer",
                             "description": "The token in the file that `azolla up` names."},
            },
        },
    })
}

fn described(facts: &Facts) -> Value {
    let mut described = json!({
        "operationId": facts.id,
        "summary": facts.summary,
        "responses": answers(facts),
        "security": match facts.access {
            Access::Open => json!([]),
            Access::Peer => json!([{"peer": []}]),
            Access::Operator => json!([{"operator": []}]),
            Access::OperatorOrHere => json!([{"operator": []}, {}]),
        },
    });
    let parameters = parameters(facts);
    if !parameters.is_empty() {
        described["parameters"] = json!(parameters);
    }
    if let Some(body) = &facts.body {
        described["requestBody"] =
            json!({"required": true, "content": content("application/json", body.schema)});
    }
    described
}

fn parameters(facts: &Facts) -> Vec<Value> {
    let of = |name: &str, place: &str, schema: &str, required: bool| {
        json!({"name": name, "in": place, "required": required,
               "schema": {"$ref": format!("#/components/schemas/{schema}")}})
    };
    let named = facts.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<_> = named.map(|name| of(name, "path", name, true)).collect();
    for (name, schema, description) in facts.query {
        let mut parameter = of(name, "query", schema, false);
        parameter["description"] = json!(description);
        parameters.push(parameter);
    }
    parameters
}

fn answers(facts: &Facts) -> Value {
    let good = match facts.answer.schema {
        Some(schema) => {
            json!({"description": facts.answer.description, "content": content("application/json", schema)})
        }
        None => json!({"description": facts.answer.description,
                       "content": {"text/plain": {"schema": {"type": "string"}}}}),
    };
    let mut answers = Map::new();
    answers.insert(facts.answer.status.to_string(), good);
    for (code, status) in CODES {
        if !may_answer(facts, code) {
            continue;
        }
        let described = answers
            .entry(status.to_string())
            .or_insert_with(|| json!({"description": "", "content": content("application/json", "error")}));
        let before = described["description"].as_str().unwrap_or_default();
        let description = if before.is_empty() { code.to_owned() } else { format!("{before}, {code}") };
        described["description"] = json!(description);
    }
    Value::Object(answers)
}

/// Tells whether a route can end with an error.
fn may_answer(facts: &Facts, code: &str) -> bool {
    match code {
        "unauthorized" => facts.access != Access::Open,
        "not_found" => facts.may_be_missing,
        "too_large" | "unsupported_media_type" => facts.body.is_some(),
        // Only what changes something can be refused for what there is.
        "refused" => facts.method == Method::POST && facts.access == Access::Operator,
        // The path is there.
        "method_not_allowed" => true,
        _ => true,
    }
}

fn content(media_type: &str, schema: &str) -> Value {
    json!({media_type: {"schema": {"$ref": format!("#/components/schemas/{schema}")}}})
}

#[cfg(test)]
mod tests;
