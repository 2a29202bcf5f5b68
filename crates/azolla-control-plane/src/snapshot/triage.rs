//! The context_snapshot of a triage (TF-3): instructions, and the captures as data that no instruction in it can leave.

use azolla_protocol::{
    CaptureBuffer, CaptureId, ContextSnapshot, EventId, JsonObject, SnapshotId, Timestamp,
    content::{CaptureText, TargetAzolla, TriageInput, write_data},
};
use azolla_substrate::StoredObjective;
use serde_json::json;

use super::patch::PromptTooLarge;

/// What a triage is asked for, in words.
const INSTRUCTIONS: &str = include_str!("forms/triage.md");

/// What comes last: small models go on from what they read last.
const LAST: &str = "\nNow write the JSON document for every note in the data above.\n";

/// The least of a text that is worth showing.
const TEXT_BYTES_MIN: usize = 256;

/// All that a triage snapshot is built from.
pub struct TriageInputs<'a> {
    /// The event that it answers.
    pub event_id: &'a EventId,
    /// The standing objective.
    pub standing: &'a StoredObjective,
    /// The capture that has to be in it.
    pub first: &'a CaptureBuffer,
    /// All that should be in it, oldest first: `first` and others.
    pub captures: &'a [CaptureBuffer],
    /// Where a candidate could go.
    pub targets: Vec<TargetAzolla>,
    /// Why earlier answers about these captures were refused, oldest first.
    pub earlier: &'a [String],
    /// Bytes of the whole prompt at most.
    pub prompt_bytes: u64,
}

/// A snapshot, and the captures that had room in it.
pub struct Built {
    /// The snapshot.
    pub snapshot: ContextSnapshot,
    /// The batch, oldest first.
    pub batch: Vec<CaptureId>,
}

/// Builds the snapshot. Captures are put in while they fit; `first` always is, shortened if it has to be.
pub fn build(inputs: TriageInputs<'_>, now: Timestamp) -> Result<Built, PromptTooLarge> {
    let bytes_max = usize::try_from(inputs.prompt_bytes).unwrap_or(usize::MAX);
    let too_large = |bytes: usize| PromptTooLarge { bytes: bytes as u64, bytes_max: inputs.prompt_bytes };
    let earlier = earlier_part(inputs.earlier, bytes_max / 8);
    let azollas = bounded_targets(inputs.targets, bytes_max / 4);
    let mut input = TriageInput { now, captures: Vec::new(), azollas };
    let without = prompt(&earlier, &input).len();
    let mut left = bytes_max.checked_sub(without).ok_or_else(|| too_large(without))?;
    let first = shown(inputs.first, left).ok_or_else(|| too_large(without + TEXT_BYTES_MIN))?;
    left = left.saturating_sub(size(&first));
    let mut first = Some(first);
    for capture in inputs.captures {
        if capture.capture_id == inputs.first.capture_id {
            input.captures.extend(first.take());
            continue;
        }
        let text = whole(capture);
        // And a comma. What does not fit waits for its own turn.
        let bytes = size(&text) + 1;
        if bytes <= left {
            left -= bytes;
            input.captures.push(text);
        }
    }
    input.captures.extend(first);
    let full_prompt_text = prompt(&earlier, &input);
    if full_prompt_text.len() > bytes_max {
        return Err(too_large(full_prompt_text.len()));
    }
    let batch: Vec<CaptureId> = input.captures.iter().map(|text| text.capture_id.clone()).collect();
    let snapshot = ContextSnapshot {
        snapshot_id: SnapshotId::of(inputs.event_id),
        objective_id: inputs.standing.objective.objective_id.clone(),
        metadata: Some(metadata(inputs.standing, &input, &batch)),
        repo_commit_sha: None,
        related_yield_refs: Vec::new(),
        full_prompt_text,
        created_at: now,
    };
    Ok(Built { snapshot, batch })
}

/// Returns the captures that a snapshot is about; none if it is not of a triage.
pub fn batch_of(snapshot: &ContextSnapshot) -> Option<Vec<CaptureId>> {
    let ids = snapshot.metadata.as_ref()?.get("capture_ids")?.as_array()?;
    ids.iter().map(|id| CaptureId::new(id.as_str()?).ok()).collect()
}

fn prompt(earlier: &str, input: &TriageInput) -> String {
    let data = write_data(input).expect("texts and numbers are JSON");
    format!("{INSTRUCTIONS}{earlier}\n# Data\n\n{data}{LAST}")
}

fn metadata(standing: &StoredObjective, input: &TriageInput, batch: &[CaptureId]) -> JsonObject {
    let cut = input.captures.iter().filter(|text| text.bytes_left_out > 0);
    let shortened: Vec<_> = cut
        .map(|text| json!({"capture_id": text.capture_id, "bytes_left_out": text.bytes_left_out}))
        .collect();
    let mut metadata = JsonObject::new();
    metadata.insert("capture_ids".into(), json!(batch));
    metadata.insert("objective_version".into(), standing.version.into());
    metadata.insert("shortened".into(), shortened.into());
    metadata
}

/// What earlier answers were refused for (TF-7). A reason can repeat what a worker wrote: it stays one line of JSON.
fn earlier_part(reasons: &[String], bytes_max: usize) -> String {
    const HEADING: &str =
        "\n# Earlier answers\n\nAnswers about these notes were refused, for these reasons:\n\n";
    let mut part = String::new();
    for reason in reasons {
        let line = format!("- {}\n", json!(reason));
        if HEADING.len() + part.len() + line.len() <= bytes_max {
            part.push_str(&line);
        }
    }
    if part.is_empty() { part } else { format!("{HEADING}{part}") }
}

/// Where candidates could go, within a limit: paths give way first, then azollas from the end.
fn bounded_targets(mut targets: Vec<TargetAzolla>, bytes_max: usize) -> Vec<TargetAzolla> {
    let size = |targets: &[TargetAzolla]| json!(targets).to_string().len();
    while size(&targets) > bytes_max {
        match targets.iter().map(|target| target.paths.len()).max() {
            Some(most) if most > 0 => {
                targets.iter_mut().for_each(|target| target.paths.truncate(most / 2));
            }
            _ => _ = targets.pop(),
        }
        if targets.is_empty() {
            break;
        }
    }
    targets
}

fn whole(capture: &CaptureBuffer) -> CaptureText {
    CaptureText {
        capture_id: capture.capture_id.clone(),
        source_label: capture.source_label.clone(),
        created_at: capture.created_at,
        text: capture.raw_content.clone(),
        bytes_left_out: 0,
    }
}

/// Returns a capture as it fits into so many bytes, as JSON; none if too little of it would be left.
fn shown(capture: &CaptureBuffer, bytes_max: usize) -> Option<CaptureText> {
    let text = whole(capture);
    if size(&text) <= bytes_max {
        return Some(text);
    }
    let frame = CaptureText { text: String::new(), bytes_left_out: u64::MAX, ..text };
    let room = bytes_max.checked_sub(size(&frame)).filter(|room| *room >= TEXT_BYTES_MIN)?;
    let mut used = 0;
    let fits = |c: &char| {
        used += escaped_len(*c);
        used <= room
    };
    let text: String = capture.raw_content.chars().take_while(fits).collect();
    let bytes_left_out = (capture.raw_content.len() - text.len()) as u64;
    Some(CaptureText { text, bytes_left_out, ..frame })
}

/// The bytes of a capture as JSON.
fn size(text: &CaptureText) -> usize {
    serde_json::to_string(text).expect("texts and numbers are JSON").len()
}

/// The bytes of a character in a string of JSON.
fn escaped_len(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if (c as u32) < 0x20 => 6,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests;
