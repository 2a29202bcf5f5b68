//! The schema check. The only user of the jsonschema crate: its interface moves with every minor version.

use std::error::Error;
use std::sync::OnceLock;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{Draft, Keyword, PatternOptions, Retrieve, Uri, Validator};
use serde_json::{Map, Value};

use super::{ArtifactKind, ValidationError, read};
use crate::Timestamp;
use crate::excerpt::excerpt;

/// Checks `document` against the schema of `kind`.
pub(super) fn check(kind: ArtifactKind, document: &Value) -> Result<(), ValidationError> {
    validator(kind).validate(document).map_err(|error| {
        let (field, rule) = explain(&error);
        ValidationError { artifact: kind, field, rule }
    })
}

/// Returns the schema of `kind`, which is compiled at its first use.
pub(super) fn validator(kind: ArtifactKind) -> &'static Validator {
    static COMPILED: [OnceLock<Validator>; ArtifactKind::ALL.len()] =
        [const { OnceLock::new() }; ArtifactKind::ALL.len()];
    COMPILED[kind as usize].get_or_init(|| compile(kind))
}

/// A schema that is no artifact's, such as that of an answer; it may refer to those of artifacts.
#[derive(Debug)]
pub struct DocumentSchema(Validator);

impl DocumentSchema {
    /// Takes a schema, or says why it is none.
    pub fn new(schema: &Value) -> Result<Self, String> {
        build(schema).map(Self).map_err(|error| error.to_string())
    }

    /// Tells whether a document satisfies it.
    pub fn is_valid(&self, document: &Value) -> bool {
        self.0.is_valid(document)
    }

    /// Returns what is wrong with a document, each with its place, and no value of it.
    pub fn faults<'a>(&'a self, document: &'a Value) -> impl Iterator<Item = String> + 'a {
        self.0.iter_errors(document).map(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "the document" } else { &place };
            format!("{place}: {}", error.masked())
        })
    }
}

fn compile(kind: ArtifactKind) -> Validator {
    build(&schema(kind)).expect("the schemas are part of the program, and a test compiles each")
}

fn build(schema: &Value) -> Result<Validator, jsonschema::ValidationError<'static>> {
    jsonschema::options()
        .with_draft(Draft::Draft7)
        .with_retriever(Embedded)
        // Linear time, whatever the text.
        .with_pattern_options(PatternOptions::regex())
        .with_format("date-time", |text: &str| text.parse::<Timestamp>().is_ok())
        .should_validate_formats(true)
        .with_keyword("maxBytes", max_bytes)
        .build(schema)
}

fn schema(kind: ArtifactKind) -> Value {
    serde_json::from_str(kind.schema_text())
        .expect("the schemas are part of the program, and a test reads each")
}

/// Resolves references between the embedded schemas; there is no file and no network behind it.
struct Embedded;

impl Retrieve for Embedded {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        let file = uri.as_str().rsplit('/').next().and_then(|file| file.strip_suffix(".schema.json"));
        Ok(schema(file.ok_or("not the name of a schema")?.parse()?))
    }
}

/// `maxBytes`: like `maxLength`, but of the UTF-8 text, which is what a store holds.
struct MaxBytes(u64);

impl<'i> Keyword<'i> for MaxBytes {
    fn validate(&self, instance: &'i Value) -> Result<(), jsonschema::ValidationError<'i>> {
        if Keyword::is_valid(self, instance) {
            return Ok(());
        }
        Err(jsonschema::ValidationError::custom(format!("must be at most {} bytes long", self.0)))
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        instance.as_str().is_none_or(|text| text.len() as u64 <= self.0)
    }
}

fn max_bytes<'a>(
    _: &'a Map<String, Value>,
    limit: &'a Value,
    _: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, jsonschema::ValidationError<'a>> {
    match limit.as_u64() {
        Some(limit) => Ok(Box::new(MaxBytes(limit))),
        None => Err(jsonschema::ValidationError::schema("maxBytes must be a whole number")),
    }
}

/// Returns which field broke which rule, in the project's words.
fn explain(error: &jsonschema::ValidationError<'_>) -> (String, String) {
    let mut field = String::new();
    for segment in error.instance_path().segments() {
        match segment {
            LocationSegment::Property(key) => read::push_key(&mut field, &key),
            LocationSegment::Index(index) => read::push_index(&mut field, index),
        }
    }
    let rule = match error.kind() {
        Kind::Required { property } => {
            read::push_key(&mut field, property.as_str().unwrap_or_default());
            "is required".to_owned()
        }
        Kind::AdditionalProperties { unexpected } => {
            read::push_key(&mut field, unexpected.first().map_or("", String::as_str));
            "is not a field of this artifact".to_owned()
        }
        kind => rule(kind, error),
    };
    (field, rule)
}

fn rule(kind: &Kind, error: &jsonschema::ValidationError<'_>) -> String {
    match kind {
        Kind::Enum { options } => format!("must be one of {}, {}", listed(options), found(error.instance())),
        Kind::Constant { expected_value } => format!("must be {expected_value}, {}", found(error.instance())),
        Kind::Type { kind: TypeKind::Single(expected) } => {
            format!("must be of type {expected}, {}", found(error.instance()))
        }
        Kind::Type { kind: TypeKind::Multiple(expected) } => {
            let mut names: Vec<_> = expected.iter().map(|name| name.to_string()).collect();
            names.sort_by_key(|name| name == "null");
            format!("must be of type {}, {}", names.join(" or "), found(error.instance()))
        }
        // A timestamp has both, so that other readers of the schema refuse what this program refuses.
        Kind::Format { .. } => timestamp_rule(error.instance()),
        Kind::Pattern { pattern } if pattern.starts_with("^[0-9]{4}-") => timestamp_rule(error.instance()),
        Kind::Pattern { pattern } => format!("must match {pattern}, {}", found(error.instance())),
        Kind::MinLength { limit } => format!("must be at least {limit} characters long"),
        Kind::MaxLength { limit } => format!("must be at most {limit} characters long"),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::Minimum { limit } => format!("must be at least {limit}, {}", found(error.instance())),
        Kind::Maximum { limit } => format!("must be at most {limit}, {}", found(error.instance())),
        Kind::Custom { message, .. } => message.clone(),
        // No schema of ours uses the rest; the text of the library is still an answer.
        _ => excerpt(&error.masked().to_string()),
    }
}

fn timestamp_rule(instance: &Value) -> String {
    format!("must be a UTC timestamp YYYY-MM-DDTHH:MM:SS.mmmZ, {}", found(instance))
}

fn listed(options: &Value) -> String {
    let names = options.as_array().into_iter().flatten();
    names
        .map(|name| name.as_str().map_or_else(|| name.to_string(), str::to_owned))
        .collect::<Vec<_>>()
        .join(", ")
}

fn found(instance: &Value) -> String {
    match instance {
        Value::String(text) => format!("not \"{}\"", excerpt(text)),
        Value::Array(_) => "not an array".to_owned(),
        Value::Object(_) => "not an object".to_owned(),
        plain => format!("not {plain}"),
    }
}
