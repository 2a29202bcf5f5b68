//! Canonical serialization (RFC 8785): one value, one text, so that stored documents compare as bytes.

use serde::Serialize;

/// A value that has no canonical text: a key twice in one object, a key that is no string, a number that is
/// not finite.
#[derive(Debug, thiserror::Error)]
#[error("the value has no canonical JSON text: {0}")]
pub struct NotCanonical(#[from] serde_json::Error);

/// Returns the canonical text of `value`: keys by UTF-16 code units, numbers as ECMAScript prints them.
pub fn canonical<T: Serialize>(value: &T) -> Result<String, NotCanonical> {
    Ok(serde_json_canonicalizer::to_string(value)?)
}
