//! A schema as model servers understand it: no references, no conditions, no limits, every field required. What is
//! lost is made up for by checking the answer against the full schema.

use serde_json::{Map, Value, json};

use super::json::artifact;

/// References and nesting go no deeper than this; a schema that refers to itself has no end.
const DEPTH_MAX: usize = 24;

/// Returns the projection of a schema of an object; none if it cannot be expressed.
pub(super) fn project(schema: &Value) -> Option<Value> {
    let projected = node(schema, schema, DEPTH_MAX)?;
    (projected.get("type") == Some(&json!("object"))).then_some(projected)
}

/// Takes out fields that are null only because the projection has no other way to leave them out. Tells whether any
/// was.
pub(super) fn drop_nulls(value: &mut Value, schema: &Value) -> bool {
    prune(value, schema, schema, DEPTH_MAX)
}

fn node(schema: &Value, root: &Value, left: usize) -> Option<Value> {
    let left = left.checked_sub(1)?;
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let (target, document) = resolve(reference, root)?;
        return node(&target, document.as_ref().unwrap_or(root), left);
    }
    let mut projected = body(schema, root, left)?;
    if let (Some(object), Some(text)) = (projected.as_object_mut(), schema.get("description")) {
        object.insert("description".to_owned(), text.clone());
    }
    Some(projected)
}

fn body(schema: &Value, root: &Value, left: usize) -> Option<Value> {
    if let Some(options) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
        let options: Option<Vec<Value>> = options.iter().map(|option| node(option, root, left)).collect();
        return Some(json!({ "anyOf": options? }));
    }
    if let Some(constant) = schema.get("const") {
        return Some(json!({ "enum": [constant] }));
    }
    if let Some(options) = schema.get("enum") {
        return Some(json!({ "enum": options }));
    }
    match schema.get("type") {
        Some(Value::String(kind)) => typed(kind, schema, root, left),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().map(|kind| typed(kind.as_str()?, schema, root, left));
            let kinds: Option<Vec<Value>> = kinds.collect();
            Some(json!({ "anyOf": kinds? }))
        }
        _ if schema.get("properties").is_some() => typed("object", schema, root, left),
        _ => None,
    }
}

fn typed(kind: &str, schema: &Value, root: &Value, left: usize) -> Option<Value> {
    match kind {
        "object" => object(schema, root, left),
        "array" => {
            let items = schema.get("items").filter(|items| items.is_object())?;
            Some(json!({ "type": "array", "items": node(items, root, left)? }))
        }
        plain => Some(json!({ "type": plain })),
    }
}

fn object(schema: &Value, root: &Value, left: usize) -> Option<Value> {
    // A map with keys of any name has no counterpart.
    let properties = schema.get("properties")?.as_object().filter(|properties| !properties.is_empty())?;
    let mut projected = Map::new();
    for (name, property) in properties {
        let value = node(property, root, left)?;
        let value = if is_required(schema, name) || allows_null(property, root, left) {
            value
        } else {
            json!({ "anyOf": [value, { "type": "null" }] })
        };
        projected.insert(name.clone(), value);
    }
    let required: Vec<&String> = properties.keys().collect();
    Some(json!({
        "type": "object",
        "required": required,
        "additionalProperties": false,
        "properties": projected,
    }))
}

fn prune(value: &mut Value, schema: &Value, root: &Value, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return match resolve(reference, root) {
            Some((target, Some(root))) => prune(value, &target, &root, left),
            Some((target, None)) => prune(value, &target, root, left),
            None => false,
        };
    }
    match value {
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return false };
            let mut has_changed = false;
            for item in items {
                has_changed |= prune(item, schema, root, left);
            }
            has_changed
        }
        Value::Object(fields) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return false };
            let mut has_changed = false;
            fields.retain(|name, field| {
                let property = properties.get(name);
                let is_kept = property
                    .is_none_or(|property| is_required(schema, name) || allows_null(property, root, left));
                let stays = !field.is_null() || is_kept;
                has_changed |= !stays || property.is_some_and(|property| prune(field, property, root, left));
                stays
            });
            has_changed
        }
        _ => false,
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}

fn allows_null(schema: &Value, root: &Value, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return match resolve(reference, root) {
            Some((target, Some(root))) => allows_null(&target, &root, left),
            Some((target, None)) => allows_null(&target, root, left),
            None => false,
        };
    }
    if let Some(options) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
        return options.iter().any(|option| allows_null(option, root, left));
    }
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        return options.contains(&Value::Null);
    }
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "null",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
        _ => schema.get("const").is_none_or(Value::is_null),
    }
}

/// Returns what a reference names, and the document that it is in where that is another one.
fn resolve(reference: &str, root: &Value) -> Option<(Value, Option<Value>)> {
    let (address, pointer) = reference.split_once('#').unwrap_or((reference, ""));
    if address.is_empty() {
        return Some((root.pointer(pointer)?.clone(), None));
    }
    let document = artifact(address)?;
    Some((document.pointer(pointer)?.clone(), Some(document)))
}

#[cfg(test)]
mod tests;
