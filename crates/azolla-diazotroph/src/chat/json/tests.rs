//! One document out of what a model writes.

use serde_json::json;

use super::*;

fn shape() -> Shape {
    Shape::new(&json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "required": ["edits"],
        "additionalProperties": false,
        "properties": {
            "edits": { "type": "array", "minItems": 1, "items": { "$ref": "#/definitions/edit" } },
            "notes": { "type": "string", "maxBytes": 8 }
        },
        "definitions": { "edit": {
            "type": "object",
            "required": ["path"],
            "additionalProperties": false,
            "properties": { "path": { "type": "string", "pattern": "^[a-z/.]+$" }, "content": { "type": "string" } }
        } }
    }))
    .unwrap()
}

const GOOD: &str = r#"{"edits":[{"path":"a.rs","content":"[1] {x}"}]}"#;

#[test]
fn t32_a_document_is_found_among_fences_and_prose() {
    for answer in [
        GOOD.to_owned(),
        format!("\u{feff}\n {GOOD}\n"),
        format!("```json\n{GOOD}\n```"),
        format!("Here it is [1]:\n\n```\n{GOOD}\n```\nIt uses {{braces}} and [x]."),
        format!("<think>maybe {{\"edits\": []}}</think>{GOOD}"),
        format!("{GOOD}\n\n{GOOD}"),
    ] {
        assert_eq!(shape().read(&answer), Ok(GOOD.to_owned()), "{answer}");
    }
}

#[test]
fn t32_what_does_not_fit_is_refused_in_words() {
    let other = GOOD.replace("a.rs", "b.rs");
    for (answer, what) in [
        ("I cannot do that.".to_owned(), "it holds no JSON document: expected value at line 1 column 1"),
        (
            "{\"edits\":[".to_owned(),
            "it holds no JSON document: EOF while parsing a list at line 1 column 10",
        ),
        ("{}".to_owned(), "the document: \"edits\" is a required property"),
        ("[]".to_owned(), "the document: value is not of type \"object\""),
        (r#"{"edits":[{"path":"A B"}]}"#.to_owned(), "/edits/0/path: value does not match \"^[a-z/.]+$\""),
        (r#"{"edits":[{"path":"a"}],"notes":"éééée"}"#.to_owned(), "/notes: must be at most 8 bytes long"),
        (format!("{GOOD} or {other}"), "it holds more than one JSON document that fits; one is asked for"),
        (
            "[1] {}".to_owned(),
            "none of its JSON documents fits; the last: the document: \"edits\" is a required property",
        ),
    ] {
        assert_eq!(shape().read(&answer), Err(Unfit(what.to_owned())), "{answer}");
    }
}

#[test]
fn nulls_that_stand_for_what_is_left_out_are_left_out() {
    let answer = r#"{"edits":[{"path":"a","content":null}],"notes":null}"#;
    assert_eq!(shape().read(answer), Ok(r#"{"edits":[{"path":"a"}]}"#.to_owned()));
    assert!(shape().read(r#"{"edits":null}"#).is_err(), "a required field is not left out");
}

#[test]
fn t31_t32_hostile_answers_take_neither_time_nor_memory() {
    let begin = std::time::Instant::now();
    for answer in [
        "[".repeat(1_000_000),
        "{\"a\":".repeat(1_000_000),
        format!("[{}", "0,".repeat(1_000_000)),
        format!("x {}", "[\"{\",".repeat(400_000)),
        "{".repeat(100) + &"]".repeat(100_000),
        "\u{0}".repeat(1_000),
    ] {
        assert!(shape().read(&answer).is_err());
    }
    assert!(begin.elapsed() < std::time::Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn a_schema_that_is_none_is_said_to_be() {
    assert!(Shape::new(&json!({ "type": 7 })).is_err());
    assert!(Shape::new(&json!({ "$ref": "https://example.com/x.json" })).is_err(), "nothing is fetched");
}
