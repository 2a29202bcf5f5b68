//! Orientation: where all azollas stand goes in, one to five next actions come out.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AzollaId, ObjectiveId, ObjectiveStatus, PauseState, QueryStatus, Timestamp};

/// What a manifest snapshot carries as data (MF-3, MF-4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestInput {
    /// When it was put together.
    pub now: Timestamp,
    /// The azolla that puts it together.
    pub azolla_id: AzollaId,
    /// Captures that wait for triage.
    pub captures_pending: u64,
    /// Candidates that wait for the operator.
    pub candidates_open: u64,
    /// Its own current pause_states.
    pub pause_states: Vec<PauseState>,
    /// What every other azolla of the registry said.
    pub azollas: Vec<AzollaReport>,
}

/// What one azolla said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AzollaReport {
    /// Which one.
    pub azolla_id: AzollaId,
    /// Whether it answered.
    pub status: QueryStatus,
    /// What was wrong, or stale, or left out; empty if nothing was.
    pub remark: String,
    /// Its current pause_states.
    pub pause_states: Vec<PauseState>,
    /// Its objectives that are not done.
    pub objectives: Vec<ObjectiveBrief>,
}

/// An objective of another azolla, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectiveBrief {
    /// Its id.
    pub objective_id: ObjectiveId,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub status: ObjectiveStatus,
    /// 0 (highest) to 4.
    pub importance: u8,
    /// 0 (at once) to 4 (some day).
    pub urgency: u8,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it should have moved (7.4); none if it need not.
    pub deadline: Option<Timestamp>,
}

/// What a model answers with; the Runner writes it as the bundle's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestAnswer {
    /// Two or three sentences.
    pub overview: String,
    /// One to five next actions.
    pub actions: Vec<String>,
    /// What the data does not tell.
    #[serde(default)]
    pub notes: String,
}

impl ManifestAnswer {
    /// Returns the text of the bundle: what is going on, then the actions as lines `N. text` (MF-5).
    pub fn text(&self) -> String {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut text = one_line(&self.overview);
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        for (at, action) in self.actions.iter().enumerate() {
            text.push_str(&format!("{}. {}\n", at + 1, one_line(action)));
        }
        text
    }
}

/// Returns the numbered actions of an orientation text, in their order: the lines `1. text`, `2. text` and so on.
pub fn numbered_actions(content: &str) -> Vec<&str> {
    let mut actions: Vec<&str> = Vec::new();
    for line in content.lines() {
        let Some((number, text)) = line.trim().split_once(". ") else { continue };
        if number.parse() == Ok(actions.len() + 1) && !text.trim().is_empty() {
            actions.push(text.trim());
        }
    }
    actions
}

/// Returns the schema that a model's orientation satisfies.
pub fn manifest_answer_schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        serde_json::from_str(include_str!("manifest.schema.json")).expect("the schema is part of the program")
    })
}
