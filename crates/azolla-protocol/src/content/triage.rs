//! Triage: captures in, candidates out.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AzollaId, AzollaType, CaptureId, Timestamp, names::named_enum};

/// How the label of a note begins that needed nothing by its triage, and that the operator asked for again.
pub const ASKED_AGAIN: &str = "again:";

/// What a triage snapshot carries as data (TF-3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriageInput {
    /// When it was put together.
    pub now: Timestamp,
    /// The batch, oldest first.
    pub captures: Vec<CaptureText>,
    /// Where a candidate could go.
    pub azollas: Vec<TargetAzolla>,
}

/// One capture of the batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureText {
    /// Its id.
    pub capture_id: CaptureId,
    /// Where it came from.
    pub source_label: String,
    /// When it was captured: "tomorrow" in it is relative to this.
    pub created_at: Timestamp,
    /// Its text, or the beginning of it.
    pub text: String,
    /// How many bytes of the text are left out here.
    pub bytes_left_out: u64,
}

/// An azolla that takes tickets, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetAzolla {
    /// Its id.
    pub azolla_id: AzollaId,
    /// Its type.
    pub azolla_type: AzollaType,
    /// The name of its repository, such as `billing`.
    pub repository: String,
    /// Some paths of the repository, so that a note that names one finds its place.
    pub paths: Vec<String>,
}

/// The content of a triage bundle (TF-5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriageContent {
    /// What could become an objective.
    pub candidates: Vec<Candidate>,
    /// The captures of the batch that need nothing.
    pub no_action: Vec<NoAction>,
    /// What could not be told, over all of it.
    #[serde(default)]
    pub notes: String,
}

/// What could become an objective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// One line, in the imperative.
    pub title: String,
    /// How to tell that it is done.
    pub acceptance_criteria: String,
    /// Why it is a candidate.
    pub rationale: String,
    /// The captures that it comes from.
    pub capture_ids: Vec<CaptureId>,
    /// What type of azolla should do it; none if that cannot be told.
    #[serde(default)]
    pub suggested_target_azolla_type: Option<AzollaType>,
    /// Which azolla should do it; none if that cannot be told.
    #[serde(default)]
    pub suggested_azolla_id: Option<AzollaId>,
    /// 0 (at once) to 4 (some day); none if nothing was said.
    #[serde(default)]
    pub urgency: Option<u8>,
    /// 0 (highest) to 4; none if nothing was said.
    #[serde(default)]
    pub importance: Option<u8>,
    /// The day it is due, `YYYY-MM-DD`; none if nothing was said.
    #[serde(default)]
    pub due: Option<String>,
    /// How sure this is.
    pub confidence: Confidence,
    /// What could not be told.
    #[serde(default)]
    pub ambiguities: Vec<String>,
}

/// A capture that needs nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoAction {
    /// The capture.
    pub capture_id: CaptureId,
    /// Why.
    pub reason: String,
}

named_enum! {
    /// How sure a candidate is.
    pub enum Confidence {
        /// It may be something else.
        Low = "LOW",
        /// Probably.
        Medium = "MEDIUM",
        /// It says so.
        High = "HIGH",
    }
}

/// Returns the schema that the content of a triage bundle satisfies; a model is asked for it too.
pub fn triage_content_schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        serde_json::from_str(include_str!("triage.schema.json")).expect("the schema is part of the program")
    })
}
