//! A JSON document out of an answer: found among fences and prose, and checked against its full schema (T32).

use std::error::Error;

use azolla_protocol::{ArtifactKind, Timestamp};
use jsonschema::{
    Draft, Keyword, PatternOptions, Retrieve, Uri, ValidationError, Validator, paths::Location,
};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::projection;

/// The most places at which a document may begin: prose has few braces, and each place is read from.
const PLACES_MAX: usize = 128;

/// The most items in all: each takes many times its bytes in memory.
const ITEMS_MAX: usize = 500_000;

/// How many faults are told.
const FAULTS_MAX: usize = 5;

/// What is wrong with an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unfit(pub(super) String);

/// What an answer has to look like.
pub(super) struct Shape {
    schema: Value,
    validator: Validator,
    projected: Option<Value>,
}

impl Shape {
    /// Takes a schema, or says why it is none.
    pub(super) fn new(schema: &Value) -> Result<Self, String> {
        let validator = jsonschema::options()
            .with_draft(Draft::Draft7)
            .with_retriever(Embedded)
            .with_pattern_options(PatternOptions::regex())
            .with_format("date-time", |text: &str| text.parse::<Timestamp>().is_ok())
            .should_validate_formats(true)
            .with_keyword("maxBytes", max_bytes)
            .build(schema)
            .map_err(|error| format!("the schema of the answer cannot be used: {error}"))?;
        Ok(Self { schema: schema.clone(), validator, projected: projection::project(schema) })
    }

    /// Returns the schema as servers understand it; none if nothing useful is left of it.
    pub(super) fn projected(&self) -> Option<&Value> {
        self.projected.as_ref()
    }

    /// Finds the one document that fits, and returns its text.
    pub(super) fn read(&self, answer: &str) -> Result<String, Unfit> {
        let answer = answer.trim_start_matches('\u{feff}').trim();
        let items = answer.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
        if items > ITEMS_MAX {
            return Err(Unfit(format!("it has more than {ITEMS_MAX} items")));
        }
        let found = documents(answer);
        if found.is_empty() {
            let error = serde_json::from_str::<IgnoredAny>(answer).err();
            let error = error.map_or_else(String::new, |error| format!(": {error}"));
            return Err(Unfit(format!("it holds no JSON document{error}")));
        }
        let mut fitting = Vec::new();
        let mut faults = None;
        for text in &found {
            match self.fit(text) {
                Ok(document) => fitting.push(document),
                Err(fault) => faults = Some(fault),
            }
        }
        fitting.dedup();
        match (fitting.len(), faults) {
            (1, _) => Ok(fitting.remove(0)),
            (0, Some(fault)) if found.len() == 1 => Err(fault),
            (0, Some(Unfit(fault))) => {
                Err(Unfit(format!("none of its JSON documents fits; the last: {fault}")))
            }
            _ => Err(Unfit("it holds more than one JSON document that fits; one is asked for".to_owned())),
        }
    }

    fn fit(&self, text: &str) -> Result<String, Unfit> {
        let mut value: Value =
            serde_json::from_str(text).map_err(|error| Unfit(format!("it is no JSON document: {error}")))?;
        if self.validator.is_valid(&value) {
            return Ok(text.to_owned());
        }
        // What the server was told to fill with null is what the full schema leaves out.
        if projection::drop_nulls(&mut value, &self.schema) && self.validator.is_valid(&value) {
            return Ok(value.to_string());
        }
        let faults: Vec<String> =
            self.validator.iter_errors(&value).take(FAULTS_MAX).map(|error| fault(&error)).collect();
        Err(Unfit(faults.join("; ")))
    }
}

fn fault(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let place = if place.is_empty() { "the document" } else { &place };
    let mut text = format!("{place}: {}", error.masked());
    text.truncate(text.floor_char_boundary(200));
    text
}

/// Returns the JSON objects and arrays of a text that are not inside of others; a text that is one document is that.
fn documents(text: &str) -> Vec<&str> {
    if serde_json::from_str::<IgnoredAny>(text).is_ok() {
        return vec![text];
    }
    let mut found = Vec::new();
    let mut from = 0;
    for _ in 0..PLACES_MAX {
        let Some(begin) = text[from..].find(['{', '[']).map(|place| from + place) else { break };
        let mut documents = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<IgnoredAny>();
        from = match documents.next() {
            Some(Ok(_)) => {
                let end = begin + documents.byte_offset();
                found.push(&text[begin..end]);
                end
            }
            _ => begin + 1,
        };
    }
    found
}

/// Resolves references to the schemas of artifacts; there is no file and no network behind it.
struct Embedded;

impl Retrieve for Embedded {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        artifact(uri.as_str()).ok_or_else(|| "not the name of a schema".into())
    }
}

/// Returns the schema of an artifact by the last part of its address.
pub(super) fn artifact(address: &str) -> Option<Value> {
    let file = address.rsplit('/').next()?.strip_suffix(".schema.json")?;
    serde_json::from_str(file.parse::<ArtifactKind>().ok()?.schema_text()).ok()
}

/// `maxBytes` as the schemas of artifacts use it: the length of the UTF-8 text.
struct MaxBytes(u64);

impl<'i> Keyword<'i> for MaxBytes {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if Keyword::is_valid(self, instance) {
            return Ok(());
        }
        Err(ValidationError::custom(format!("must be at most {} bytes long", self.0)))
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        instance.as_str().is_none_or(|text| text.len() as u64 <= self.0)
    }
}

fn max_bytes<'a>(
    _: &'a Map<String, Value>,
    limit: &'a Value,
    _: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    match limit.as_u64() {
        Some(limit) => Ok(Box::new(MaxBytes(limit))),
        None => Err(ValidationError::schema("maxBytes must be a whole number")),
    }
}

#[cfg(test)]
mod tests;
