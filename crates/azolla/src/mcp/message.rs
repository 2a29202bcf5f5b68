//! What is no message, in the terms of JSON-RPC: who sent it cannot be told by an id, and is told all the same.

use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// Tells whether a text is JSON.
pub(super) fn is_json(text: &[u8]) -> bool {
    // Some begin with a byte order mark, which may be ignored.
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

/// Returns the answer to a text that is no JSON, or is JSON and no message.
pub(crate) fn no_message(text: &[u8]) -> Value {
    let (code, message) = match is_json(text) {
        true => (-32600, "this is JSON, and no message of JSON-RPC"),
        false => (-32700, "this is no JSON"),
    };
    json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}})
}
