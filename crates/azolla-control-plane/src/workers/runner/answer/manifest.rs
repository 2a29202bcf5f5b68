//! Orientation: the answer of a MANIFEST_BUILDER_DIAZOTROPH as its bundle has it (MF-5).

use azolla_protocol::{
    ContextSnapshot, DocumentSchema, JsonObject,
    content::{ManifestAnswer, manifest_answer_schema, numbered_actions},
};

use super::{Answer, from_snapshot, object_in};
use crate::generation::storable;

/// What an orientation needs at the most.
const TEXT_BYTES_MAX: usize = 20_000;

/// Reads an orientation, as a document or as text with numbered lines, or says what is wrong with it.
pub(super) fn read(snapshot: &ContextSnapshot, text: &str) -> Result<Answer, String> {
    let (content, said) = match document(text) {
        Ok(answer) => (answer.text(), answer.notes),
        Err(fault) if numbered_actions(text).is_empty() => return Err(fault),
        Err(_) => (storable(text.trim(), TEXT_BYTES_MAX), String::new()),
    };
    let mut more = JsonObject::new();
    more.insert("queried_azolla_ids".into(), from_snapshot(snapshot, "queried_azolla_ids"));
    // What is known of the sources does not depend on who wrote the text.
    let sources = from_snapshot(snapshot, "remarks");
    let sources = sources.as_array().into_iter().flatten().filter_map(|remark| remark.as_str());
    // Once is enough, where the answer names them too.
    let is_said = |remark: &&str| remark.split(' ').next().is_some_and(|azolla| said.contains(azolla));
    let sources = sources.filter(|remark| !is_said(remark));
    let notes: Vec<&str> = sources.chain([said.as_str()]).filter(|text| !text.is_empty()).collect();
    Ok(Answer { title: "Orientation".to_owned(), content, notes: notes.join("\n"), more })
}

/// Reads the document in an answer, or says what is wrong with it.
fn document(text: &str) -> Result<ManifestAnswer, String> {
    const FAULTS_MAX: usize = 3;
    let document = object_in(text).ok_or("it has no numbered action")?;
    let faults: Vec<_> =
        DocumentSchema::new(manifest_answer_schema())?.faults(&document).take(FAULTS_MAX).collect();
    if !faults.is_empty() {
        return Err(faults.join("; "));
    }
    serde_json::from_value(document).map_err(|error| error.to_string())
}
