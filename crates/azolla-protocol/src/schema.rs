//! The one way in: bytes or a value become a [`Validated`] artifact, or an error that names field and rule
//!
//!
//! The files under `schemas/` are normative; the types of [`crate::artifacts`] are held to them by tests.

mod check;
mod read;

pub use check::DocumentSchema;

use std::ops::Deref;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::artifacts::*;
use crate::canonical;
use crate::excerpt::excerpt;
use crate::names::named_enum;

/// The most bytes of a document, as received and as stored.
pub const DOCUMENT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The deepest nesting of objects and arrays in a document.
pub const DOCUMENT_DEPTH_MAX: usize = 64;

/// A type that has a schema.
pub trait Artifact: Serialize + DeserializeOwned {
    /// Which schema.
    const KIND: ArtifactKind;
}

/// An artifact that satisfies its schema, with the text that was checked. Only validation builds one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validated<T> {
    value: T,
    document: String,
}

/// Which artifact broke which rule, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{artifact}{}{field}: {rule}", if .field.is_empty() || .field.starts_with('[') { "" } else { "." })]
pub struct ValidationError {
    /// The kind of artifact that was expected.
    pub artifact: ArtifactKind,
    /// The field, as a path such as `blocked_on[0].kind`; empty for the whole document.
    pub field: String,
    /// The rule that it broke.
    pub rule: String,
}

impl<T: Artifact> Validated<T> {
    /// Checks a value made by this program, by exactly the rules for one from outside.
    pub fn new(value: T) -> Result<Self, ValidationError> {
        Self::from_canonical(to_text::<T>(&value)?)
    }

    /// Reads a document, refusing all that is not an artifact of this kind. The text kept is the canonical one.
    pub fn parse(bytes: &[u8]) -> Result<Self, ValidationError> {
        let document = read_document::<T>(bytes)?;
        let value = decode(&document)?;
        let text = to_text::<T>(&document)?;
        // Canonical numbers can be longer than those received.
        within_size::<T>(text.len())?;
        Ok(Self { value, document: text })
    }

    /// Checks a value that was read as JSON elsewhere, by the same rules as [`Validated::parse`].
    pub fn from_value(value: Value) -> Result<Self, ValidationError> {
        // Before anything recurses into it.
        read::within_depth(&value).map_err(|refused| refused.of(T::KIND))?;
        Self::from_canonical(to_text::<T>(&value)?)
    }

    /// Returns the canonical text (RFC 8785) of exactly what was validated.
    pub fn document(&self) -> &str {
        &self.document
    }

    /// Returns the artifact alone.
    pub fn into_inner(self) -> T {
        self.value
    }

    // The value is decoded from the text, so that the two agree by construction: a float that is whole, or a
    // key given twice through `#[serde(flatten)]`, cannot make them differ.
    fn from_canonical(text: String) -> Result<Self, ValidationError> {
        let document = read_document::<T>(text.as_bytes())?;
        Ok(Self { value: decode(&document)?, document: text })
    }
}

impl<T> Deref for Validated<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

fn read_document<T: Artifact>(bytes: &[u8]) -> Result<Value, ValidationError> {
    within_size::<T>(bytes.len())?;
    let document = read::read(bytes).map_err(|refused| refused.of(T::KIND))?;
    check::check(T::KIND, &document)?;
    Ok(document)
}

fn decode<T: Artifact>(document: &Value) -> Result<T, ValidationError> {
    T::deserialize(document).or_else(|_| {
        // The schema lets through only what the type takes, so this is for a schema that has drifted.
        serde_path_to_error::deserialize(document).map_err(|error| ValidationError {
            artifact: T::KIND,
            field: read::path(error.path()),
            rule: excerpt(&error.inner().to_string()),
        })
    })
}

fn to_text<T: Artifact>(value: &impl Serialize) -> Result<String, ValidationError> {
    canonical(value).map_err(|error| ValidationError {
        artifact: T::KIND,
        field: String::new(),
        rule: excerpt(&error.to_string()),
    })
}

fn within_size<T: Artifact>(bytes: usize) -> Result<(), ValidationError> {
    if bytes <= DOCUMENT_BYTES_MAX {
        return Ok(());
    }
    let rule = format!("must be at most {DOCUMENT_BYTES_MAX} bytes, not {bytes}");
    Err(ValidationError { artifact: T::KIND, field: String::new(), rule })
}

macro_rules! artifact_kinds {
    ($($(#[$attribute:meta])* $kind:ident = $name:literal for $type:ty,)+) => {
        named_enum! {
            /// The artifacts that have a schema.
            pub enum ArtifactKind {
                $($(#[$attribute])* $kind = $name,)+
            }
        }

        impl ArtifactKind {
            /// Returns the normative JSON Schema (draft-07).
            pub const fn schema_text(self) -> &'static str {
                match self {
                    $(Self::$kind => include_str!(concat!("../schemas/", $name, ".schema.json")),)+
                }
            }
        }

        $(
            impl Artifact for $type {
                const KIND: ArtifactKind = ArtifactKind::$kind;
            }
        )+
    };
}

impl ArtifactKind {
    /// Compiles the schema ahead of its first use, for whoever has something else to do meanwhile.
    pub fn prepare(self) {
        check::validator(self);
    }
}

artifact_kinds! {
    /// An [`Objective`].
    Objective = "objective" for Objective,
    /// A [`BlockerRef`], as it is embedded in an objective.
    BlockerRef = "blocker_ref" for BlockerRef,
    /// A [`CaptureBuffer`].
    CaptureBuffer = "capture_buffer" for CaptureBuffer,
    /// An [`Event`].
    Event = "event" for Event,
    /// A [`ContextSnapshot`].
    ContextSnapshot = "context_snapshot" for ContextSnapshot,
    /// A [`Workorder`].
    Workorder = "workorder" for Workorder,
    /// An [`OutputBundle`].
    OutputBundle = "output_bundle" for OutputBundle,
    /// A [`RunRecord`].
    RunRecord = "run_record" for RunRecord,
    /// A [`PauseState`].
    PauseState = "pause_state" for PauseState,
    /// A [`SessionManifest`].
    SessionManifest = "session_manifest" for SessionManifest,
    /// A [`ClaimRecord`].
    ClaimRecord = "claim_record" for ClaimRecord,
    /// A [`SubstrateQuery`].
    SubstrateQuery = "substrate_query" for SubstrateQuery,
    /// A [`SubstrateQueryResponse`].
    SubstrateQueryResponse = "substrate_query_response" for SubstrateQueryResponse,
    /// A [`CandidateResolution`].
    CandidateResolution = "candidate_resolution" for CandidateResolution,
    /// A [`GateEvidence`].
    GateEvidence = "gate_evidence" for GateEvidence,
    /// A [`UsageRecord`].
    UsageRecord = "usage_record" for UsageRecord,
    /// A [`JournalEntry`].
    Journal = "journal" for JournalEntry,
}

#[cfg(test)]
mod tests;
