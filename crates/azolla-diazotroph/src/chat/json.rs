//! A JSON document out of an answer: found among fences and prose, and checked against its full schema (T32).

use azolla_protocol::{ArtifactKind, DocumentSchema};
use serde::de::IgnoredAny;
use serde_json::Value;

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
    full: DocumentSchema,
    projected: Option<Value>,
}

impl Shape {
    /// Takes a schema, or says why it is none.
    pub(super) fn new(schema: &Value) -> Result<Self, String> {
        let full = DocumentSchema::new(schema)
            .map_err(|error| format!("the schema of the answer cannot be used: {error}"))?;
        Ok(Self { schema: schema.clone(), full, projected: projection::project(schema) })
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
            // A document that breaks off has whole ones in it; what is wrong with those would lead astray.
            (0, _) if answer.starts_with('{') && !answer.starts_with(found[0]) => {
                let error = serde_json::from_str::<IgnoredAny>(answer).err();
                let error = error.map_or_else(String::new, |error| format!(": {error}"));
                Err(Unfit(format!("it is no whole JSON document{error}")))
            }
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
        if self.full.is_valid(&value) {
            return Ok(text.to_owned());
        }
        // What the server was told to fill with null is what the full schema leaves out.
        if projection::drop_nulls(&mut value, &self.schema) && self.full.is_valid(&value) {
            return Ok(value.to_string());
        }
        let faults: Vec<String> = self.full.faults(&value).take(FAULTS_MAX).map(shortened).collect();
        Err(Unfit(faults.join("; ")))
    }
}

fn shortened(mut fault: String) -> String {
    fault.truncate(fault.floor_char_boundary(200));
    fault
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

/// Returns the schema of an artifact by the last part of its address.
pub(super) fn artifact(address: &str) -> Option<Value> {
    let file = address.rsplit('/').next()?.strip_suffix(".schema.json")?;
    serde_json::from_str(file.parse::<ArtifactKind>().ok()?.schema_text()).ok()
}

#[cfg(test)]
mod tests;
