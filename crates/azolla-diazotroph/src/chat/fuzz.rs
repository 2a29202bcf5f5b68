//! A target of P10: what model servers and agents answer. It is read within bounds, nothing repeats a key, and what is taken
//! for a document is one that fits.

use std::{ffi::OsStr, sync::LazyLock};

use azolla_fuzz::{Target, Verdict};
use serde_json::{Value, json};

use super::{
    ErrorWords, Reply, Trouble, Wire,
    json::{Shape, Unfit},
};
use crate::{
    http::Events,
    provider::{ANSWER_BYTES_MAX, anthropic, command, openai},
    said::Secrets,
};

const WORDS: &[&str] = &[
    "data: ",
    "\n\n",
    "event: error\n",
    "{\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":3}}}",
    "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}",
    "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}",
    "{\"type\":\"message_stop\"}",
    "\"max_tokens\"",
    "\"refusal\"",
    "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}",
    "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}",
    "[DONE]",
    "{\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}",
    "\"code\":\"insufficient_quota\"",
    "\"usage\":",
    "null",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\"",
    "\\u0000",
    "\\ud800",
    "\\u001b[2J",
    KEY,
    "sk-test-4f9a",
    "{\"edits\":[{\"path\":\"a.rs\"}]}",
    "\"edits\":",
    "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"done\",\"num_turns\":2,\"total_cost_usd\":0.01}",
    "\"modelUsage\":{\"m\":{\"outputTokens\":5}}",
    "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1}}\n",
    "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"x\"}}\n",
    "{\"type\":\"turn.failed\",\"error\":{\"message\":\"x\"}}\n",
    "Tokens: 2.3k sent, 1.1k received.",
    "usage limit reached|1794900000",
    "try again in 7m12s",
    "resets 3pm (UTC)",
    "try again at Jan 17th, 2030 5:06 PM",
    "resets at 12:30",
    "```json\n",
    "<html>",
];

/// What is nowhere repeated.
const KEY: &str = "sk-test-4f9a0c77d1e2b3a4958677";

static SECRETS: LazyLock<Secrets> = LazyLock::new(|| Secrets::new([OsStr::new(KEY)].into_iter()));

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "required": ["edits"],
        "additionalProperties": false,
        "properties": {
            "edits": { "type": "array", "minItems": 1, "items": {
                "type": "object",
                "required": ["path"],
                "additionalProperties": false,
                "properties": { "path": { "type": "string" }, "content": { "type": "string" } }
            } },
            "notes": { "type": "string" }
        }
    })
});

static SHAPE: LazyLock<Shape> = LazyLock::new(|| Shape::new(&SCHEMA).expect("it is a schema"));

#[test]
fn p10_t29_t31_t32_what_a_server_or_an_agent_answers_is_bounded_and_repeats_no_key() {
    Target { name: "provider", inputs: 1_000, bytes_max: 4_000, words: WORDS, check }.run();
}

fn check(bytes: &[u8]) -> Verdict {
    let answers = [stream(&anthropic::wire(), bytes), stream(&openai::wire(), bytes)];
    let text = String::from_utf8_lossy(bytes);
    let words = ErrorWords::read(bytes, &SECRETS);
    is_harmless(&words.after_colon());
    has_no_key(&format!("{words:?}"));
    let documents =
        answers.iter().map(String::as_str).chain([&*text]).filter(|answer| document(answer)).count();
    let is_report = command::check_report(&text);
    let is_taken = is_report || documents > 0 || answers.iter().any(|answer| !answer.is_empty());
    if is_taken { Verdict::Taken } else { Verdict::Refused }
}

/// Reads a stream as one of the APIs, up to its end or the first trouble; returns the text.
fn stream(wire: &impl Wire, bytes: &[u8]) -> String {
    let (mut events, mut reply, mut rest) = (Events::new(bytes.len() + 1), Reply::default(), bytes);
    while let Some(event) = events.next(&mut rest).expect("the bound is that of all bytes") {
        if let Err(trouble) = wire.read(&event, &mut reply, &SECRETS) {
            is_harmless(&told(&trouble));
            break;
        }
        if reply.is_over {
            assert!(reply.ending.is_some(), "what is over has an ending");
            break;
        }
    }
    // Nothing is made up: escapes in JSON are longer than what they stand for.
    assert!(reply.text.len() <= bytes.len().min(ANSWER_BYTES_MAX) && reply.bytes <= bytes.len());
    assert!(reply.refusal().len() <= bytes.len());
    assert!(reply.model.as_ref().is_none_or(|model| (1..=200).contains(&model.len())));
    reply.text
}

/// Returns all that is told of a trouble.
fn told(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Passing(passing) => passing.cause.clone(),
        Trouble::Wait(wait) => {
            assert!(wait.time.as_secs() >= 60, "{wait:?}");
            wait.reason.clone()
        }
        Trouble::Rejected { status, words } => {
            assert!(status.is_client_error() || status.is_server_error(), "{status}");
            words.after_colon()
        }
        Trouble::NoModel(words) => words.after_colon(),
        Trouble::Final(end) => format!("{} {}", end.what, end.next.as_deref().unwrap_or_default()),
    }
}

/// One line, not too long, without a key or what a terminal would obey.
fn is_harmless(words: &str) {
    assert!(words.len() <= 2_000, "{} bytes", words.len());
    assert!(!words.contains(|c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)), "{words:?}");
    has_no_key(words);
}

fn has_no_key(words: &str) {
    let words = words.to_ascii_lowercase();
    assert!(
        !KEY.as_bytes().windows(12).any(|part| words.as_bytes().windows(12).any(|told| told == part)),
        "{words}"
    );
}

/// Looks for the one document in an answer: it is in it, or is what is left without the nulls, and it fits.
fn document(answer: &str) -> bool {
    match SHAPE.read(answer) {
        Ok(document) => {
            let value: Value = serde_json::from_str(&document).expect("a document is JSON");
            let edits = value["edits"].as_array().expect("edits are a list");
            assert!(!edits.is_empty() && edits.iter().all(|edit| edit["path"].is_string()), "{document}");
            let known = |fields: &Value, names: &[&str]| {
                fields
                    .as_object()
                    .is_some_and(|fields| fields.keys().all(|name| names.contains(&name.as_str())))
            };
            assert!(
                known(&value, &["edits", "notes"])
                    && edits.iter().all(|edit| known(edit, &["path", "content"]))
            );
            true
        }
        Err(Unfit(what)) => {
            assert!(!what.is_empty() && what.len() <= 2_000, "{} bytes", what.len());
            false
        }
    }
}
