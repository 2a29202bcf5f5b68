//! The gate of a triage: PASS only if every condition of TF-6 is shown to hold; TF-7 says what follows from a FAIL.

use std::collections::BTreeSet;

use azolla_protocol::{
    CaptureId, DocumentSchema, OutputBundle, OutputId, RunnerStatus, Validated, Workorder,
    content::{TriageContent, triage_content_schema},
    is_blank, is_day,
};

use serde_json::Value;

pub use super::failure::{AfterFailure, Failure};
use super::failure::{cap_of, ended, fail, retry, text};

/// What the gate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every condition of TF-6 holds.
    Pass {
        /// What was found, for the run record.
        reason: String,
        /// The candidates, and the captures that need nothing.
        content: TriageContent,
    },
    /// One does not.
    Fail(Failure),
}

/// Returns PASS, or the first condition of TF-6 that does not hold. `batch` is the snapshot's: the bundle is not asked
/// what it was about.
///
/// Reasons carry no times and no durations, so that the same failure twice running reads the same (O-1).
pub fn evaluate(workorder: &Workorder, batch: &[CaptureId], bundle: &OutputBundle) -> Verdict {
    match conditions(workorder, batch, bundle) {
        Ok(content) => Verdict::Pass { reason: passed(batch, &content), content },
        Err(failure) => Verdict::Fail(failure),
    }
}

/// Returns the content of a triage bundle, or what is wrong with it.
pub fn content_of(bundle: &OutputBundle) -> Result<TriageContent, String> {
    let document: Value =
        serde_json::from_str(&bundle.content).map_err(|_| "the content is no JSON document".to_owned())?;
    if holds_nul(&document) {
        // No artifact could be made of it.
        return Err("the content holds NUL characters".to_owned());
    }
    if let Some(fault) = DocumentSchema::new(triage_content_schema())?.faults(&document).next() {
        return Err(format!("the content breaks its schema: {fault}"));
    }
    serde_json::from_value(document).map_err(|error| format!("the content cannot be read: {error}"))
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(values) => values.iter().any(holds_nul),
        Value::Object(fields) => fields.values().any(holds_nul),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns what to type so that the captures of a batch are triaged again.
pub fn retry_command(batch: &[CaptureId], output_id: &OutputId) -> String {
    match batch {
        [capture_id] => format!("azolla triage retry {capture_id}"),
        _ => format!("azolla triage retry {output_id}"),
    }
}

fn conditions(
    workorder: &Workorder,
    batch: &[CaptureId],
    bundle: &OutputBundle,
) -> Result<TriageContent, Failure> {
    completed(batch, bundle)?;
    answers(workorder, batch, bundle)?;
    if bundle.metadata.elapsed_ms > workorder.budget_ms {
        return fail(format!("the answer was produced outside the budget of {} ms", workorder.budget_ms));
    }
    let content = content_of(bundle).map_err(retry)?;
    has_words(&content)?;
    covers(batch, &content)?;
    Ok(content)
}

/// The run yielded something to judge. Any other end is the reason, before anything else is looked at.
fn completed(batch: &[CaptureId], bundle: &OutputBundle) -> Result<(), Failure> {
    let again = retry_command(batch, &bundle.output_id);
    let blocked = |action| Err(Failure { reason: ended(bundle), next: AfterFailure::Block(action) });
    match bundle.metadata.runner_status {
        RunnerStatus::Completed => Ok(()),
        RunnerStatus::PatchApplyFailed | RunnerStatus::BudgetExhausted => Err(retry(ended(bundle))),
        RunnerStatus::GenerationFailed => match text(bundle, "failure") {
            // A credential or a program is missing: every attempt would end alike (PF-8).
            "SETUP" => blocked(Some(format!("Set up the worker for triage, then run: {again}"))),
            // Every call was answered by a fault until the retries were used up (B-4, O-1).
            "RETRIES" => blocked(Some(format!(
                "See whether the worker answers again: azolla doctor --probe && {again}"
            ))),
            "CAP" => blocked(Some(format!(
                "Raise {} in [caps] of the configuration, then run: {again}",
                cap_of(bundle)
            ))),
            // Alone a capture has a smaller prompt, so a batch is tried one by one first (TF-2).
            "PROMPT_TOO_LARGE" if batch.len() == 1 => {
                blocked(Some(format!("Lower prompt_bytes in [limits], then run: {again}")))
            }
            // Whoever claimed it never came to an end (W-7).
            "POISON" => blocked(None),
            _ => Err(retry(ended(bundle))),
        },
    }
}

/// The bundle satisfies its schema, is the yield of this workorder, and is about this batch.
fn answers(workorder: &Workorder, batch: &[CaptureId], bundle: &OutputBundle) -> Result<(), Failure> {
    if let Err(broken) = Validated::new(bundle.clone()) {
        return fail(format!("the bundle breaks its schema: {broken}"));
    }
    let found = (&bundle.metadata.work_order_id, &bundle.objective_id);
    if found != (&workorder.work_order_id, &workorder.objective_id) {
        return fail(format!("the bundle is that of {} for {}", found.0, found.1));
    }
    let named = bundle.metadata.more.get("capture_ids").and_then(|ids| ids.as_array());
    let named: Option<Vec<&str>> = named.and_then(|ids| ids.iter().map(|id| id.as_str()).collect());
    if named != Some(batch.iter().map(CaptureId::as_str).collect()) {
        return fail("metadata.capture_ids is not the batch of the snapshot");
    }
    Ok(())
}

/// There is an entry, and every candidate says what to do and how to tell that it is done; a day that it names exists.
fn has_words(content: &TriageContent) -> Result<(), Failure> {
    if content.candidates.is_empty() && content.no_action.is_empty() {
        return fail("there is neither a candidate nor a capture that needs no action");
    }
    for (number, candidate) in (1..).zip(&content.candidates) {
        for (what, text) in
            [("title", &candidate.title), ("acceptance criteria", &candidate.acceptance_criteria)]
        {
            if is_blank(text) {
                return fail(format!("candidate {number} has no {what}"));
            }
        }
        if let Some(day) = candidate.due.as_ref().filter(|day| !is_day(day)) {
            return fail(format!("candidate {number} is due on {day}, which is no day"));
        }
    }
    Ok(())
}

/// Every capture that is named is one of the batch, and every one of the batch is named.
fn covers(batch: &[CaptureId], content: &TriageContent) -> Result<(), Failure> {
    let asked: BTreeSet<&CaptureId> = batch.iter().collect();
    let of_candidates = content.candidates.iter().flat_map(|candidate| &candidate.capture_ids);
    let named: BTreeSet<&CaptureId> =
        of_candidates.chain(content.no_action.iter().map(|entry| &entry.capture_id)).collect();
    if let Some(foreign) = named.difference(&asked).next() {
        return fail(format!("{foreign} is no capture of this batch"));
    }
    let missing: Vec<&str> = asked.difference(&named).map(|id| id.as_str()).collect();
    if !missing.is_empty() {
        return fail(format!("not in any candidate and not without action: {}", missing.join(", ")));
    }
    Ok(())
}

fn passed(batch: &[CaptureId], content: &TriageContent) -> String {
    let of = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (candidates, without) = (content.candidates.len(), content.no_action.len());
    format!(
        "{} of the batch: {}, {without} without action",
        of(batch.len(), "capture"),
        of(candidates, "candidate")
    )
}

#[cfg(test)]
mod tests;
