//! Candidates: the answer of a TRIAGE_DIAZOTROPH as its bundle has it (TF-5).

use azolla_protocol::{
    AzollaId, ContextSnapshot, DocumentSchema, JsonObject, canonical,
    content::{TriageContent, TriageInput, read_data, triage_content_schema},
    is_day,
};

use super::{Answer, from_snapshot, object_in};

/// As much as the schema of the content lets `notes` hold.
const NOTES_CHARS_MAX: usize = 5_000;

/// Reads candidates, or says what is wrong with them.
pub(super) fn read(snapshot: &ContextSnapshot, text: &str) -> Result<Answer, String> {
    const FAULTS_MAX: usize = 5;
    let document = object_in(text).ok_or("it is no JSON object")?;
    let faults: Vec<_> =
        DocumentSchema::new(triage_content_schema())?.faults(&document).take(FAULTS_MAX).collect();
    if !faults.is_empty() {
        return Err(faults.join("; "));
    }
    let mut content: TriageContent = serde_json::from_value(document).map_err(|error| error.to_string())?;
    let mut said = cut_short(snapshot, &content.notes);
    said.extend(left_out(snapshot, &mut content));
    said.push(std::mem::take(&mut content.notes));
    content.notes = said.join("\n").trim_end().chars().take(NOTES_CHARS_MAX).collect();
    let capture_ids = from_snapshot(snapshot, "capture_ids");
    let batch = capture_ids.as_array().map_or(0, Vec::len);
    let mut more = JsonObject::new();
    more.insert("capture_ids".into(), capture_ids);
    let suggested = content.candidates.iter().find_map(|candidate| candidate.suggested_target_azolla_type);
    let suggested = suggested.map(|azolla_type| azolla_type.as_str());
    more.insert("suggested_target_azolla_type".into(), suggested.into());
    Ok(Answer {
        title: format!("Triage of {}: {}", of(batch, "capture"), of(content.candidates.len(), "candidate")),
        notes: notes(&content),
        content: canonical(&content).map_err(|error| error.to_string())?,
        more,
    })
}

/// Says of which captures only the beginning was shown, whoever wrote the answer, unless it does so itself.
fn cut_short(snapshot: &ContextSnapshot, said: &str) -> Vec<String> {
    let mut notes = Vec::new();
    for cut in from_snapshot(snapshot, "shortened").as_array().into_iter().flatten() {
        let (id, bytes) = (cut["capture_id"].as_str().unwrap_or_default(), &cut["bytes_left_out"]);
        if !said.contains(id) {
            notes.push(format!("Only the beginning of {id} was shown: {bytes} bytes were left out."));
        }
    }
    notes
}

/// Leaves out what cannot be: days that no calendar has, and azollas that were not among those to choose from. Returns what
/// that was; the rest of a candidate is as good as before.
fn left_out(snapshot: &ContextSnapshot, content: &mut TriageContent) -> Vec<String> {
    let input: Option<TriageInput> = read_data(&snapshot.full_prompt_text);
    let azollas = input.map(|input| input.azollas).unwrap_or_default();
    let mut notes = Vec::new();
    for (number, candidate) in (1..).zip(&mut content.candidates) {
        if let Some(day) = candidate.due.take_if(|day| !is_day(day)) {
            notes.push(format!("Candidate {number} was to be due on {day}, which is no day."));
        }
        let is_unknown = |id: &mut AzollaId| !azollas.iter().any(|azolla| azolla.azolla_id == *id);
        if let Some(id) = candidate.suggested_azolla_id.take_if(is_unknown) {
            notes.push(format!("Candidate {number} was suggested for {id}, which does not exist."));
        }
    }
    notes
}

/// Confidence and ambiguities in words: what a bundle's notes are for.
fn notes(content: &TriageContent) -> String {
    let mut notes = String::new();
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
