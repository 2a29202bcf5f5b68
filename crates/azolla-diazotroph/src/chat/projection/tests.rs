//! What servers get to see of a schema.

use super::*;

#[test]
fn references_conditions_and_limits_are_gone_and_all_is_required() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "required": ["kind"],
        "properties": {
            "kind": { "enum": ["A", "B"], "description": "Which." },
            "items": { "type": "array", "maxItems": 3, "items": { "$ref": "#/definitions/item" } },
            "when": { "type": ["string", "null"], "format": "date-time" },
            "either": { "oneOf": [{ "type": "integer", "minimum": 1 }, { "const": "none" }] }
        },
        "if": { "properties": { "kind": { "const": "A" } } },
        "then": { "required": ["items"] },
        "definitions": { "item": { "type": "string", "pattern": "^x", "maxBytes": 9 } }
    });
    let expected = json!({
        "type": "object",
        "required": ["either", "items", "kind", "when"],
        "additionalProperties": false,
        "properties": {
            "kind": { "enum": ["A", "B"], "description": "Which." },
            "items": { "anyOf": [{ "type": "array", "items": { "type": "string" } }, { "type": "null" }] },
            "when": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            "either": { "anyOf": [{ "anyOf": [{ "type": "integer" }, { "enum": ["none"] }] }, { "type": "null" }] }
        }
    });
    assert_eq!(project(&schema), Some(expected));
}

#[test]
fn what_cannot_be_expressed_has_no_projection() {
    for schema in [
        json!({}),
        json!(true),
        json!({ "type": "array", "items": { "type": "string" } }),
        json!({ "type": "object" }),
        json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        json!({ "type": "object", "properties": { "any": {} } }),
        json!({ "type": "object", "properties": { "self": { "$ref": "#" } } }),
        json!({ "type": "object", "properties": { "lost": { "$ref": "#/definitions/lost" } } }),
        json!({ "type": "object", "properties": { "far": { "$ref": "https://example.com/x.schema.json" } } }),
    ] {
        assert_eq!(project(&schema), None, "{schema}");
    }
}
