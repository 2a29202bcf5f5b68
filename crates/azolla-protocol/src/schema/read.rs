//! Strict JSON reading: one visitor that refuses what other readers would quietly repair or lose.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_path_to_error::{Path, Segment};

use super::{ArtifactKind, DOCUMENT_DEPTH_MAX, ValidationError};
use crate::excerpt::excerpt;

/// The greatest integer that every JSON reader agrees on (I-JSON): 2^53 - 1.
const NUMBER_MAX: f64 = 9_007_199_254_740_991.0;

const NO_NUL: &str = "must not contain U+0000";
const NUMBER_RANGE: &str = "must be a number within ±9007199254740991";

/// A document refused before its schema is looked at.
pub(super) struct Refused {
    field: String,
    rule: String,
}

impl Refused {
    pub(super) fn of(self, artifact: ArtifactKind) -> ValidationError {
        ValidationError { artifact, field: self.field, rule: self.rule }
    }
}

/// Reads one JSON document: no key twice, no U+0000, no number beyond I-JSON, bounded depth, nothing after it.
pub(super) fn read(bytes: &[u8]) -> Result<Value, Refused> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    match Strict::document().deserialize(&mut json).and_then(|value| json.end().map(|()| value)) {
        Ok(value) => Ok(value),
        // Only a refusal pays for knowing where it was.
        Err(error) => Err(refusal(bytes, &error)),
    }
}

/// Refuses a value nested too deeply, and itself never recurses deeper than that.
pub(super) fn within_depth(value: &Value) -> Result<(), Refused> {
    fn fits(value: &Value, left: usize) -> bool {
        match value {
            Value::Array(items) => left > 0 && items.iter().all(|item| fits(item, left - 1)),
            Value::Object(fields) => left > 0 && fields.values().all(|field| fits(field, left - 1)),
            _ => true,
        }
    }
    if fits(value, DOCUMENT_DEPTH_MAX) {
        Ok(())
    } else {
        Err(Refused { field: String::new(), rule: too_deep() })
    }
}

/// Writes a path as `blocked_on[0].kind`; empty for the document itself.
pub(super) fn path(path: &Path) -> String {
    let mut text = String::new();
    for segment in path.iter() {
        match segment {
            Segment::Seq { index } => push_index(&mut text, *index),
            Segment::Map { key } => push_key(&mut text, key),
            Segment::Enum { variant } => push_key(&mut text, variant),
            Segment::Unknown => {}
        }
    }
    text
}

pub(super) fn push_index(path: &mut String, index: usize) {
    path.push_str(&format!("[{index}]"));
}

pub(super) fn push_key(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(&excerpt(key));
}

fn refusal(bytes: &[u8], first: &serde_json::Error) -> Refused {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut json, &mut track);
    let (error, field) = match Strict::document().deserialize(tracked) {
        Err(error) => (error.to_string(), path(&track.path())),
        // What follows the document is what was wrong.
        Ok(_) => (first.to_string(), String::new()),
    };
    if first.is_data() {
        // Ours: the position that serde_json adds says less than the path.
        let rule = error.split(" at line ").next().unwrap_or(&error);
        return Refused { field, rule: excerpt(rule) };
    }
    Refused { field, rule: format!("must be JSON: {}", excerpt(&error)) }
}

fn too_deep() -> String {
    format!("must be nested at most {DOCUMENT_DEPTH_MAX} deep")
}

/// Builds a [`Value`], counting how much deeper it may go.
#[derive(Clone, Copy)]
struct Strict {
    left: usize,
}

impl Strict {
    fn document() -> Self {
        Self { left: DOCUMENT_DEPTH_MAX }
    }

    fn inner<E: Error>(self) -> Result<Self, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Self { left }),
            None => Err(E::custom(too_deep())),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        if value as f64 > NUMBER_MAX { Err(E::custom(NUMBER_RANGE)) } else { Ok(value.into()) }
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        if (value as f64).abs() > NUMBER_MAX { Err(E::custom(NUMBER_RANGE)) } else { Ok(value.into()) }
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        // Every float beyond the bound is whole, so its canonical text would be an integer beyond it.
        if value.is_nan() || value.abs() > NUMBER_MAX {
            return Err(E::custom(NUMBER_RANGE));
        }
        // A whole number has one canonical text, so it gets one value: 1.0 and 1 are the same.
        if value.fract() == 0.0 {
            return Ok(Value::from(value as i64));
        }
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.visit_string(value.to_owned())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        if value.contains('\0') { Err(E::custom(NO_NUL)) } else { Ok(Value::String(value)) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut object = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            // Inside the value's seed, so that the error carries the key in its path.
            let refused = if key.contains('\0') {
                Some("must have a name without U+0000")
            } else if object.contains_key(&key) {
                Some("must not be given twice")
            } else {
                None
            };
            let value = fields.next_value_seed(Field { inner, refused })?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// The value of one key, refused if the key itself was.
struct Field {
    inner: Strict,
    refused: Option<&'static str>,
}

impl<'de> DeserializeSeed<'de> for Field {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.refused {
            Some(rule) => Err(D::Error::custom(rule)),
            None => self.inner.deserialize(deserializer),
        }
    }
}
