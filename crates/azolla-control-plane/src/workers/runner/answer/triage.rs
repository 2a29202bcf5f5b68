//! Candidates: the answer of a TRIAGE_DIAZOTROPH as its bundle has it (TF-5).

use azolla_protocol::{
    ContextSnapshot, DocumentSchema, JsonObject, canonical,
    content::{TriageContent, triage_content_schema},
};

use super::{Answer, from_snapshot, object_in};

/// Reads candidates, or says what is wrong with them.
pub(super) fn read(snapshot: &ContextSnapshot, text: &str) -> Result<Answer, String> {
    const FAULTS_MAX: usize = 5;
    let document = object_in(text).ok_or("it is no JSON object")?;
    let faults: Vec<_> =
        DocumentSchema::new(triage_content_schema())?.faults(&document).take(FAULTS_MAX).collect();
    if !faults.is_empty() {
        return Err(faults.join("; "));
    }
    let content: TriageContent = serde_json::from_value(document).map_err(|error| error.to_string())?;
    let capture_ids = from_snapshot(snapshot, "capture_ids");
    let batch = capture_ids.as_array().map_or(0, Vec::len);
    let mut more = JsonObject::new();
    more.insert("capture_ids".into(), capture_ids);
    let suggested = content.candidates.iter().find_map(|candidate| candidate.suggested_target_azolla_type);
    let suggested = suggested.map(|azolla_type| azolla_type.as_str());
    more.insert("suggested_target_azolla_type".into(), suggested.into());
    Ok(Answer {
        title: format!("Triage of {}: {}", of(batch, "capture"), of(content.candidates.len(), "candidate")),
        notes: notes(snapshot, &content),
        content: canonical(&content).map_err(|error| error.to_string())?,
        more,
    })
}

/// Confidence and ambiguities in words: what a bundle's notes are for. What was left out of a capture does not depend on
/// who wrote the answer.
fn notes(snapshot: &ContextSnapshot, content: &TriageContent) -> String {
    let mut notes = String::new();
    for cut in from_snapshot(snapshot, "shortened").as_array().into_iter().flatten() {
        let (id, bytes) = (cut["capture_id"].as_str().unwrap_or_default(), &cut["bytes_left_out"]);
        notes.push_str(&format!("Only the beginning of {id} was shown: {bytes} bytes were left out.\n"));
    }
    for (at, candidate) in content.candidates.iter().enumerate() {
        notes.push_str(&format!("{}. {}: confidence {}", at + 1, candidate.title, candidate.confidence));
        for ambiguity in &candidate.ambiguities {
            notes.push_str(&format!("; {ambiguity}"));
        }
        notes.push('\n');
    }
    notes.push_str(&content.notes);
    notes.trim_end().to_owned()
}

fn of(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
