//! One journal row in plain words.

use azolla_protocol::{Actor, AzollaType, JournalEntry, JournalStep, ObjectiveId, PauseReason};
use serde_json::Value;

use crate::deployment::STANDING;

/// Tells whether a row says something that the operator would ask about.
pub(crate) fn matters(entry: &JournalEntry, azolla_type: AzollaType) -> bool {
    use JournalStep as Step;
    match entry.step {
        Step::Grant | Step::Release | Step::Emit | Step::Gate | Step::Attempt => false,
        // That a note is triaged is said once for all of them, by their candidates.
        Step::Process => is_capture(entry) && (entry.actor == Actor::Operator || needed_nothing(entry)),
        Step::Insert => of_notes(entry).is_some(),
        // What a triage or an orientation yields is told by what its gate makes of it.
        Step::Execute => azolla_type == AzollaType::CodePatch,
        // The standing objective is written only to end a pause_state of its own.
        Step::Edit => entry.resource_id != STANDING,
        Step::Hold | Step::Retry | Step::Undo => true,
        Step::Sa | Step::Sb | Step::Sc | Step::Sd | Step::Se | Step::Sf | Step::Sg | Step::Sh | Step::Si => {
            true
        }
        Step::Sj | Step::Sk | Step::Sl | Step::Sm | Step::Sn | Step::So => true,
    }
}

/// Returns a row as a sentence.
pub(crate) fn words(entry: &JournalEntry, azolla_type: AzollaType) -> String {
    let by = match entry.actor {
        Actor::Operator => ", by you",
        Actor::Client => ", by an agent",
        _ => "",
    };
    if let Some(what) = of_notes(entry) {
        return format!("{what}{by}");
    }
    let status = |status: &Option<String>| status.clone().unwrap_or_default();
    let what = match entry.step {
        JournalStep::Sa => "was described".to_owned(),
        JournalStep::Sb => "was approved".to_owned(),
        JournalStep::Sc => "was handed to a worker".to_owned(),
        JournalStep::Sd => "could not run and waits for you".to_owned(),
        JournalStep::Se => "passed its gate and awaits confirmation".to_owned(),
        JournalStep::Sf => "did not go through its gate and waits for you".to_owned(),
        JournalStep::Sg => "failed its gate; another attempt follows".to_owned(),
        JournalStep::Sh => "goes on".to_owned(),
        JournalStep::Si => "was sent back with feedback".to_owned(),
        JournalStep::Sj => "was confirmed".to_owned(),
        JournalStep::Sk => "was blocked".to_owned(),
        JournalStep::Sl => "is no longer approved".to_owned(),
        JournalStep::Sm => "was cancelled and waits for you".to_owned(),
        JournalStep::Sn => "was opened".to_owned(),
        JournalStep::So => match entry.detail.as_ref().and_then(|detail| detail.get("archived")?.as_bool()) {
            Some(true) => "was archived".to_owned(),
            Some(false) => "was brought back from the archive".to_owned(),
            // Written before it was said which.
            None => "was archived, or brought back".to_owned(),
        },
        JournalStep::Edit => "was changed".to_owned(),
        JournalStep::Execute => "has the worker's output".to_owned(),
        JournalStep::Gate => "was judged".to_owned(),
        JournalStep::Grant => "was claimed".to_owned(),
        JournalStep::Release => "was released".to_owned(),
        JournalStep::Emit => "was emitted".to_owned(),
        JournalStep::Process if is_capture(entry) => match entry.actor {
            Actor::Operator => "was dealt with by hand".to_owned(),
            _ => match no_action(entry) {
                Some(reason) => format!("needs nothing: {reason}"),
                None => "was triaged".to_owned(),
            },
        },
        JournalStep::Process => format!("was processed: {}", status(&entry.to_status)),
        JournalStep::Attempt => "counts one more attempt".to_owned(),
        JournalStep::Hold => "could not be triaged and waits for you".to_owned(),
        JournalStep::Retry => "is to be triaged again".to_owned(),
        JournalStep::Undo => "was taken back".to_owned(),
        JournalStep::Insert => format!("was recorded {}", status(&entry.to_status)).trim_end().to_owned(),
    };
    let about =
        objective_id(entry, azolla_type).map_or_else(|| entry.resource_id.clone(), |id| id.to_string());
    let note = if is_capture(entry) { "note " } else { "" };
    format!("{note}{about} {what}{by}")
}

/// Returns what a row says that is about notes, what came of them, orientation or a deadline; none for any other.
fn of_notes(entry: &JournalEntry) -> Option<String> {
    let id = &entry.resource_id;
    let detail = |key: &str| entry.detail.as_ref()?.get(key);
    let text = |key: &str| detail(key).and_then(Value::as_str).unwrap_or_default();
    if entry.step == JournalStep::Undo {
        return Some(format!("candidate {} is open again", candidate(id)?));
    }
    if entry.step != JournalStep::Insert {
        return None;
    }
    match entry.resource_type.as_str() {
        "capture_buffer" => Some(format!("note {id} was captured")),
        "candidate" => Some(match detail("count").and_then(Value::as_u64) {
            Some(1) => format!("{id} has a candidate for you"),
            count => format!("{id} has {} candidates for you", count.unwrap_or_default()),
        }),
        "candidate_resolution" => {
            let candidate = format!("candidate {}", candidate(id)?);
            Some(match entry.to_status.as_deref()? {
                "PROMOTED" => format!("{candidate} became {}", text("objective_id")),
                "DUPLICATE" => format!("{candidate} is a duplicate of {}", text("objective_id")),
                "DISCARDED" => format!("{candidate} was discarded"),
                _ => format!("{candidate} was left for later"),
            })
        }
        "session_manifest" => Some(format!("orientation {id} was made")),
        "snooze" => {
            let until = text("until").get(..16).unwrap_or_default().replace('T', " ");
            Some(format!("{id} is left alone until {until} UTC"))
        }
        "pause_state" => of_pause(entry, text("objective_id")),
        _ => None,
    }
}

/// Returns how the operator names the candidate that a row is about.
fn candidate(resource_id: &str) -> Option<String> {
    let (output, index) = resource_id.rsplit_once('#')?;
    Some(format!("{output}/{}", index.parse::<u64>().ok()? + 1))
}

/// Returns what a pause_state says that no other row does: a deadline, and the end of a triage or an orientation.
fn of_pause(entry: &JournalEntry, objective_id: &str) -> Option<String> {
    let (kind, key) = entry.resource_id.split_once(':')?;
    if kind == "deadline" {
        return Some(format!("the time of {objective_id} is over"));
    }
    if objective_id != STANDING {
        return None;
    }
    let run = key.replacen("wo-", "run-", 1);
    match entry.to_status.as_deref()?.parse().ok()? {
        PauseReason::RunComplete => None,
        PauseReason::GateFailed => Some(format!("{run} failed its gate")),
        PauseReason::BudgetExhausted => Some(format!("{run} was over its budget")),
        PauseReason::Blocked => Some(format!("{run} could not run and waits for you")),
    }
}

/// Tells whether a row is about a note.
fn is_capture(entry: &JournalEntry) -> bool {
    entry.resource_type == "capture_buffer"
}

/// Tells whether a row says that nothing came of a note: of many, only the number matters.
pub(crate) fn needed_nothing(entry: &JournalEntry) -> bool {
    no_action(entry).is_some()
}

fn no_action(entry: &JournalEntry) -> Option<&str> {
    entry.detail.as_ref()?.get("no_action")?.as_str().filter(|_| is_capture(entry))
}

/// Tells whether a row says that a note was stored: of many, only the number matters.
pub(crate) fn is_new_note(entry: &JournalEntry) -> bool {
    is_capture(entry) && entry.step == JournalStep::Insert
}

/// Returns the first line of a text that says something, cut to what fits beside an id.
pub(crate) fn first_line(text: &str) -> String {
    const CHARS_MAX: usize = 100;
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    first.chars().take(CHARS_MAX).collect()
}

/// Returns the objective that a row is about, where the operator would name it by that.
pub(crate) fn objective_id(entry: &JournalEntry, azolla_type: AzollaType) -> Option<ObjectiveId> {
    let id = match (entry.step, entry.resource_id.strip_prefix("wo-")) {
        // Elsewhere a workorder is named after what it was made for, and is the standing objective's.
        (JournalStep::Execute, Some(body)) if azolla_type == AzollaType::CodePatch => {
            format!("obj-{}", body.rsplit_once('-')?.0)
        }
        _ => entry.resource_id.clone(),
    };
    ObjectiveId::new(id).ok()
}
