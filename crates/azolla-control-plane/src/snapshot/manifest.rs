//! The snapshot of an orientation (MF-4): instructions, and where all azollas stand, as data. The most urgent comes first;
//! what does not fit is left out, and the notes say so.

use std::{cmp::Reverse, collections::HashMap};

use azolla_protocol::{
    AzollaId, ContextSnapshot, Deadlines, EventId, JsonObject, Objective, ObjectiveId, PauseState,
    PauseStateSummary, QueryStatus, SnapshotId, Timestamp,
    content::{AzollaReport, ManifestInput, ObjectiveBrief, write_data},
};
use serde::Serialize;
use serde_json::json;

use super::patch::PromptTooLarge;
use crate::asking::cut;

const INSTRUCTIONS: &str = include_str!("forms/manifest.md");
const LAST_LINE: &str = "\nNow write the JSON document.\n";

/// What is shown of a title, and of an action.
const TITLE_CHARS_MAX: usize = 200;
const ACTION_CHARS_MAX: usize = 500;

/// Room for the words that say how much of an azolla is left out.
const LEFT_OUT_BYTES: usize = 100;

/// The most of a prompt whatever is configured: as a part of a document it can be twice as long, and the summary comes
/// on top.
const PROMPT_BYTES_MAX: u64 = 3_000_000;

/// What a manifest can carry as its summary, beside everything else in a document.
const SUMMARY_MAX: usize = 1_000;
const SUMMARY_BYTES_MAX: usize = 1_000_000;

/// An azolla that has had nothing new for so long may have stopped.
const STALE_MS: i64 = 24 * 60 * 60 * 1_000;

/// Until when objectives are put off, by azolla and id.
pub type Snoozes = HashMap<(AzollaId, ObjectiveId), Timestamp>;

/// What a snapshot is built from.
pub struct ManifestInputs<'a> {
    /// The event that it answers.
    pub event_id: &'a EventId,
    /// The standing objective, and its version.
    pub standing: (&'a ObjectiveId, u64),
    /// The azolla that asks.
    pub azolla_id: &'a AzollaId,
    /// When.
    pub now: Timestamp,
    /// Captures that wait for triage.
    pub captures_pending: u64,
    /// Candidates that wait for the operator.
    pub candidates_open: u64,
    /// Its own current pause_states.
    pub pause_states: &'a [PauseState],
    /// What every azolla of the registry said; and the objectives of the one that asks, if it has any that can move.
    pub sources: &'a [Source],
    /// How long objectives may stay as they are.
    pub deadlines: &'a Deadlines,
    /// What is put off.
    pub snoozes: &'a Snoozes,
    /// Bytes of the whole prompt at most.
    pub prompt_bytes: u64,
}

/// What one azolla said, in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Which one.
    pub azolla_id: AzollaId,
    /// Whether it gave its pause_states.
    pub status: QueryStatus,
    /// What was wrong or left out, in one line; empty if nothing was.
    pub remark: String,
    /// Its current pause_states.
    pub pause_states: Vec<PauseState>,
    /// Its objectives that should move some day.
    pub objectives: Vec<Objective>,
}

/// Builds the snapshot, or refuses a prompt that is too large with nothing in it but the names.
pub fn build(inputs: &ManifestInputs<'_>) -> Result<ContextSnapshot, PromptTooLarge> {
    let mut reports: Vec<AzollaReport> =
        inputs.sources.iter().map(|source| report(source, inputs.now)).collect();
    let items = ranked(inputs);
    let (summary, not_summed_up) = summary(&items);
    let prompt_bytes = inputs.prompt_bytes.min(PROMPT_BYTES_MAX);
    let bytes_max = usize::try_from(prompt_bytes).unwrap_or(usize::MAX);
    let bare = prompt(&data(inputs, reports.clone()));
    let reserved = LEFT_OUT_BYTES.saturating_mul(reports.len());
    fill(&mut reports, items, bytes_max.saturating_sub(bare.len()).saturating_sub(reserved));
    let mut remarks: Vec<String> = reports
        .iter()
        .filter(|report| !report.remark.is_empty())
        .map(|report| format!("{}: {}", report.azolla_id, report.remark))
        .collect();
    if not_summed_up > 0 {
        remarks.push(format!("{not_summed_up} pause_states are too many for the summary"));
    }
    let full_prompt_text = prompt(&data(inputs, reports));
    if full_prompt_text.len() > bytes_max {
        let bytes = full_prompt_text.len() as u64;
        return Err(PromptTooLarge { bytes, bytes_max: prompt_bytes });
    }
    let mut metadata = JsonObject::new();
    metadata.insert("queried_azolla_ids".into(), json!(answered(inputs.sources, inputs.azolla_id)));
    metadata.insert("pause_state_summary".into(), json!(summary));
    metadata.insert("remarks".into(), json!(remarks));
    metadata.insert("objective_version".into(), inputs.standing.1.into());
    Ok(ContextSnapshot {
        snapshot_id: SnapshotId::of(inputs.event_id),
        objective_id: inputs.standing.0.clone(),
        metadata: Some(metadata),
        repo_commit_sha: None,
        related_yield_refs: Vec::new(),
        full_prompt_text,
        created_at: inputs.now,
    })
}

/// Returns the other azollas that gave their pause_states.
pub fn answered<'a>(sources: &'a [Source], own: &AzollaId) -> Vec<&'a AzollaId> {
    let others = sources.iter().filter(|source| source.azolla_id != *own);
    others.filter(|source| source.status == QueryStatus::Ok).map(|source| &source.azolla_id).collect()
}

fn data(inputs: &ManifestInputs<'_>, azollas: Vec<AzollaReport>) -> ManifestInput {
    ManifestInput {
        now: inputs.now,
        azolla_id: inputs.azolla_id.clone(),
        captures_pending: inputs.captures_pending,
        candidates_open: inputs.candidates_open,
        pause_states: inputs.pause_states.iter().map(shown).collect(),
        azollas,
    }
}

fn prompt(data: &ManifestInput) -> String {
    let data = write_data(data).expect("ids, texts and numbers are JSON");
    format!("{INSTRUCTIONS}{data}{LAST_LINE}")
}

/// An azolla without what it said: what is said about it.
fn report(source: &Source, now: Timestamp) -> AzollaReport {
    let newest = (source.pause_states.iter().map(|pause| pause.created_at))
        .chain(source.objectives.iter().map(|objective| objective.updated_at))
        .max();
    let mut remarks: Vec<String> =
        (!source.remark.is_empty()).then(|| source.remark.clone()).into_iter().collect();
    if let Some(newest) = newest.filter(|newest| newest.plus_ms(STALE_MS) < now) {
        remarks.push(format!("stale: nothing new since {newest}"));
    }
    AzollaReport {
        azolla_id: source.azolla_id.clone(),
        status: source.status,
        remark: remarks.join("; "),
        pause_states: Vec::new(),
        objectives: Vec::new(),
    }
}

/// Something that an azolla said, where it stands among all of it, and how much room it takes.
struct Item<'a> {
    rank: Rank,
    source: usize,
    what: What<'a>,
}

enum What<'a> {
    Objective(ObjectiveBrief),
    Pause(&'a PauseState),
}

/// Overdue first, then by urgency, importance and age; an objective and its pause_state stand together.
type Rank = (Reverse<bool>, u8, u8, Timestamp, usize, ObjectiveId);

/// Returns all that was said, the most urgent first.
fn ranked<'a>(inputs: &ManifestInputs<'a>) -> Vec<Item<'a>> {
    let mut items = Vec::new();
    for (number, source) in inputs.sources.iter().enumerate() {
        let mut ranks = HashMap::new();
        for objective in &source.objectives {
            let brief = brief(objective, inputs);
            let is_overdue = brief.deadline.is_some_and(|deadline| deadline <= inputs.now);
            let rank: Rank = (
                Reverse(is_overdue),
                brief.urgency,
                brief.importance,
                brief.updated_at,
                number,
                brief.objective_id.clone(),
            );
            ranks.insert(&objective.objective_id, rank.clone());
            items.push(Item { rank, source: number, what: What::Objective(brief) });
        }
        for pause in &source.pause_states {
            // Of an objective that is done, or was not given: it waits for the operator all the same.
            let unknown = || (Reverse(false), 2, 2, pause.created_at, number, pause.objective_id.clone());
            let rank = ranks.get(&pause.objective_id).cloned().unwrap_or_else(unknown);
            items.push(Item { rank, source: number, what: What::Pause(pause) });
        }
    }
    items.sort_by(|one, other| one.rank.cmp(&other.rank));
    items
}

fn brief(objective: &Objective, inputs: &ManifestInputs<'_>) -> ObjectiveBrief {
    let (azolla_id, objective_id) = (objective.azolla_id.clone(), objective.objective_id.clone());
    let snoozed = inputs.snoozes.get(&(azolla_id, objective_id.clone())).copied();
    ObjectiveBrief {
        objective_id,
        title: cut(&objective.title, TITLE_CHARS_MAX).to_owned(),
        status: objective.status,
        importance: objective.importance,
        urgency: objective.urgency,
        updated_at: objective.updated_at,
        deadline: inputs.deadlines.of_objective(objective, snoozed),
    }
}

fn shown(pause: &PauseState) -> PauseState {
    let actions = pause.prioritized_actions.iter();
    let prioritized_actions = actions.map(|action| cut(action, ACTION_CHARS_MAX).to_owned()).collect();
    PauseState { prioritized_actions, ..pause.clone() }
}

/// Gives every azolla what it said, as far as there is room, and says how much is left out.
fn fill(reports: &mut [AzollaReport], items: Vec<Item<'_>>, mut room: usize) {
    let mut left_out = vec![(0_usize, 0_usize); reports.len()];
    for item in items {
        let report = &mut reports[item.source];
        match item.what {
            What::Objective(brief) => match take(&mut room, &brief) {
                true => report.objectives.push(brief),
                false => left_out[item.source].0 += 1,
            },
            What::Pause(pause) => {
                let pause = shown(pause);
                match take(&mut room, &pause) {
                    true => report.pause_states.push(pause),
                    false => left_out[item.source].1 += 1,
                }
            }
        }
    }
    for (report, (objectives, pauses)) in reports.iter_mut().zip(left_out) {
        if objectives + pauses > 0 {
            let words =
                format!("left out, as there is no room: {objectives} objectives, {pauses} pause_states");
            let and = if report.remark.is_empty() { "" } else { "; " };
            report.remark = format!("{}{and}{words}", report.remark);
        }
    }
}

/// Takes the bytes of a value and the comma after it, if there is room for them.
fn take(room: &mut usize, value: &impl Serialize) -> bool {
    let bytes = json_bytes(value) + 1;
    let fits = bytes <= *room;
    if fits {
        *room -= bytes;
    }
    fits
}

fn json_bytes(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(usize::MAX / 2, |text| text.len())
}

/// What the manifest will say of all pause_states, the most urgent first, and how many it has no room for.
fn summary(items: &[Item<'_>]) -> (Vec<PauseStateSummary>, usize) {
    let mut room = SUMMARY_BYTES_MAX;
    let (mut summary, mut left_out) = (Vec::new(), 0);
    for item in items {
        let What::Pause(pause) = item.what else { continue };
        let entry = PauseStateSummary {
            source_azolla_id: pause.azolla_id.clone(),
            objective_id: pause.objective_id.clone(),
            reason: pause.reason,
            prioritized_actions: pause.prioritized_actions.clone(),
        };
        match summary.len() < SUMMARY_MAX && take(&mut room, &entry) {
            true => summary.push(entry),
            false => left_out += 1,
        }
    }
    (summary, left_out)
}

#[cfg(test)]
mod tests;
