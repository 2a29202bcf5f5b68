//! One journal row in plain words.

use azolla_protocol::{Actor, JournalEntry, JournalStep, ObjectiveId};

/// Tells whether a row says something that the operator would ask about.
pub(crate) fn matters(entry: &JournalEntry) -> bool {
    use JournalStep as Step;
    match entry.step {
        Step::Grant | Step::Release | Step::Emit | Step::Process | Step::Gate | Step::Attempt => false,
        Step::Insert => false,
        Step::Execute | Step::Edit | Step::Hold | Step::Retry => true,
        Step::Sa | Step::Sb | Step::Sc | Step::Sd | Step::Se | Step::Sf | Step::Sg | Step::Sh | Step::Si => {
            true
        }
        Step::Sj | Step::Sk | Step::Sl | Step::Sm | Step::Sn | Step::So => true,
    }
}

/// Returns a row as a sentence.
pub(crate) fn words(entry: &JournalEntry) -> String {
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
        JournalStep::So => "was archived, or brought back".to_owned(),
        JournalStep::Edit => "was changed".to_owned(),
        JournalStep::Execute => "has the worker's output".to_owned(),
        JournalStep::Gate => "was judged".to_owned(),
        JournalStep::Grant => "was claimed".to_owned(),
        JournalStep::Release => "was released".to_owned(),
        JournalStep::Emit => "was emitted".to_owned(),
        JournalStep::Process => format!("was processed: {}", status(&entry.to_status)),
        JournalStep::Attempt => "counts one more attempt".to_owned(),
        JournalStep::Hold => "is held and waits for you".to_owned(),
        JournalStep::Retry => "is tried again".to_owned(),
        JournalStep::Insert => format!("was recorded {}", status(&entry.to_status)).trim_end().to_owned(),
    };
    let by = match entry.actor {
        Actor::Operator => ", by you",
        _ => "",
    };
    let about = objective_id(entry).map_or_else(|| entry.resource_id.clone(), |id| id.to_string());
    format!("{about} {what}{by}")
}

/// Returns the first line of a text that says something, cut to what fits beside an id.
pub(crate) fn first_line(text: &str) -> String {
    const CHARS_MAX: usize = 100;
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    first.chars().take(CHARS_MAX).collect()
}

/// Returns the objective that a row is about, where the operator would name it by that.
pub(crate) fn objective_id(entry: &JournalEntry) -> Option<ObjectiveId> {
    let id = match (entry.step, entry.resource_id.strip_prefix("wo-")) {
        (JournalStep::Execute, Some(body)) => format!("obj-{}", body.rsplit_once('-')?.0),
        _ => entry.resource_id.clone(),
    };
    ObjectiveId::new(id).ok()
}
