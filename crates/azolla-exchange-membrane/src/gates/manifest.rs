//! The gate of an orientation: PASS only if every condition of MF-6 is shown to hold.

use std::collections::BTreeSet;

use azolla_protocol::{
    CaptureId, ContextSnapshot, ObjectiveId, OutputBundle, RunnerStatus, Validated, Workorder,
    content::{ManifestInput, numbered_actions, read_data},
};
use serde_json::Value;

pub use super::failure::{AfterFailure, Failure};
use super::failure::{cap_of, ended, fail, retry, text};

/// The most actions of an orientation, and the most characters of one: what a session_manifest holds.
const ACTIONS_MAX: usize = 5;
const ACTION_CHARS_MAX: usize = 1_000;

/// How many captures are looked up at the most.
const CAPTURES_MAX: usize = 20;

/// The commands of ours that an action can name: those that show something or lead on.
pub const COMMANDS: [&str; 18] = [
    "capture",
    "doctor",
    "explain",
    "init",
    "log",
    "manifest",
    "obj",
    "objective",
    "peer",
    "pr",
    "replay",
    "resume",
    "review",
    "run",
    "snooze",
    "triage",
    "trust",
    "up",
];

/// What the gate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every condition of MF-6 holds.
    Pass {
        /// What was checked.
        reason: String,
        /// The numbered actions, the first one first.
        actions: Vec<String>,
    },
    /// One does not.
    Fail(Failure),
}

/// Returns PASS, or the first condition of MF-6 that does not hold. `captures` are those of [`named_captures`] that exist.
///
/// Reasons carry no times and no durations, so that the same failure twice running reads the same (O-1).
pub fn evaluate(
    workorder: &Workorder,
    bundle: &OutputBundle,
    snapshot: &ContextSnapshot,
    captures: &[CaptureId],
) -> Verdict {
    match conditions(workorder, bundle, snapshot, captures) {
        Ok(pass) => pass,
        Err(failure) => Verdict::Fail(failure),
    }
}

/// Returns the captures that the actions of a bundle name, whether they exist or not.
pub fn named_captures(bundle: &OutputBundle) -> Vec<CaptureId> {
    let named = numbered_actions(&bundle.content).into_iter().flat_map(words);
    let named: BTreeSet<CaptureId> = named.filter_map(|word| CaptureId::new(word).ok()).collect();
    named.into_iter().take(CAPTURES_MAX).collect()
}

fn conditions(
    workorder: &Workorder,
    bundle: &OutputBundle,
    snapshot: &ContextSnapshot,
    captures: &[CaptureId],
) -> Result<Verdict, Failure> {
    completed(bundle)?;
    answers(workorder, bundle)?;
    let queried = queried(bundle, snapshot)?;
    let actions = numbered_actions(&bundle.content);
    counted(&actions)?;
    let Some(input) = read_data::<ManifestInput>(&snapshot.full_prompt_text) else {
        return fail("the snapshot has no data to compare with");
    };
    let known = objectives(&input);
    if !actions.iter().any(|action| leads_somewhere(action, &known, captures)) {
        return fail("no action names an objective of the data, a capture or a command");
    }
    let reason = format!("{} over {}", of(actions.len(), "action"), of(queried, "azolla"));
    Ok(Verdict::Pass { reason, actions: actions.into_iter().map(str::to_owned).collect() })
}

/// The run yielded something to judge. Any other end is the reason, before anything else is looked at.
fn completed(bundle: &OutputBundle) -> Result<(), Failure> {
    let blocked = |action: &str| {
        Err(Failure { reason: ended(bundle), next: AfterFailure::Block(Some(action.to_owned())) })
    };
    match (bundle.metadata.runner_status, text(bundle, "failure")) {
        (RunnerStatus::Completed, _) => Ok(()),
        (RunnerStatus::GenerationFailed, "SETUP") => {
            blocked("Set up the worker for orientation, then run: azolla manifest")
        }
        (RunnerStatus::GenerationFailed, "RETRIES") => {
            blocked("See whether the worker answers again: azolla doctor --probe && azolla manifest")
        }
        (RunnerStatus::GenerationFailed, "CAP") => blocked(&format!(
            "Raise {} in [caps] of the configuration, then run: azolla manifest",
            cap_of(bundle)
        )),
        (RunnerStatus::GenerationFailed, "PROMPT_TOO_LARGE") => {
            blocked("Lower prompt_bytes in [limits], then run: azolla manifest")
        }
        // Whoever claimed it never came to an end (W-7).
        (RunnerStatus::GenerationFailed, "POISON") => {
            Err(Failure { reason: ended(bundle), next: AfterFailure::Block(None) })
        }
        _ => Err(retry(ended(bundle))),
    }
}

/// The bundle satisfies its schema, is the yield of this workorder, and was produced inside the budget.
fn answers(workorder: &Workorder, bundle: &OutputBundle) -> Result<(), Failure> {
    if let Err(broken) = Validated::new(bundle.clone()) {
        return fail(format!("the bundle breaks its schema: {broken}"));
    }
    let found = (&bundle.metadata.work_order_id, &bundle.objective_id);
    if found != (&workorder.work_order_id, &workorder.objective_id) {
        return fail(format!("the bundle is that of {} for {}", found.0, found.1));
    }
    if bundle.metadata.elapsed_ms > workorder.budget_ms {
        return fail(format!(
            "the orientation was produced outside the budget of {} ms",
            workorder.budget_ms
        ));
    }
    Ok(())
}

/// The azollas of the bundle are those of the snapshot, and there are some. Returns how many.
fn queried(bundle: &OutputBundle, snapshot: &ContextSnapshot) -> Result<usize, Failure> {
    const KEY: &str = "queried_azolla_ids";
    let asked = snapshot.metadata.as_ref().and_then(|metadata| metadata.get(KEY)?.as_array());
    let said = bundle.metadata.more.get(KEY).and_then(Value::as_array);
    match (asked, said) {
        (Some(asked), Some(said)) if asked != said => {
            fail(format!("metadata.{KEY} is not what the snapshot has"))
        }
        (Some(asked), Some(_)) if !asked.is_empty() => Ok(asked.len()),
        _ => fail(format!("metadata.{KEY} is empty")),
    }
}

fn counted(actions: &[&str]) -> Result<(), Failure> {
    if actions.is_empty() {
        return fail("there is no numbered action");
    }
    if actions.len() > ACTIONS_MAX {
        return fail(format!("there are {} numbered actions; at most {ACTIONS_MAX}", actions.len()));
    }
    if let Some(at) = actions.iter().position(|action| action.chars().count() > ACTION_CHARS_MAX) {
        return fail(format!("action {} is longer than {ACTION_CHARS_MAX} characters", at + 1));
    }
    Ok(())
}

fn objectives(input: &ManifestInput) -> BTreeSet<&ObjectiveId> {
    let pauses = input.azollas.iter().flat_map(|report| &report.pause_states).chain(&input.pause_states);
    let briefs = input.azollas.iter().flat_map(|report| &report.objectives);
    pauses.map(|pause| &pause.objective_id).chain(briefs.map(|brief| &brief.objective_id)).collect()
}

/// Tells whether an action names an objective of the data, a capture that exists, or a command of ours.
fn leads_somewhere(action: &str, known: &BTreeSet<&ObjectiveId>, captures: &[CaptureId]) -> bool {
    names_command(action)
        || words(action).into_iter().any(|word| {
            ObjectiveId::new(word).is_ok_and(|id| known.contains(&id))
                || captures.iter().any(|capture| capture.as_str() == word)
        })
}

/// Tells whether a text has `azolla COMMAND` in it, as it is typed.
fn names_command(text: &str) -> bool {
    let mut before = "";
    text.split_whitespace().any(|word| {
        let is_command =
            before == "azolla" && words(word).first().is_some_and(|first| COMMANDS.contains(first));
        before = word.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        is_command
    })
}

/// Returns the words of a text as ids are written.
fn words(text: &str) -> Vec<&str> {
    let between = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    text.split(between).map(|word| word.trim_matches('-')).filter(|word| !word.is_empty()).collect()
}

fn of(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
