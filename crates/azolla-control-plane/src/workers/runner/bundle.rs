//! What a run came to, as its one output_bundle (PF-6).

use azolla_protocol::{
    JsonObject, Objective, OutputBundle, OutputId, OutputMetadata, Timestamp, Usage, UsageRecord, Workorder,
};
use serde_json::json;

use crate::{
    generation::{Yield, storable},
    lease::Claim,
    repo::{Attempt, Taken},
};

/// What is kept of what a worker printed.
const NOTES_BYTES_MAX: usize = 100_000;

/// Whose bundle it is.
pub(super) struct Subject {
    pub(super) workorder: Workorder,
    /// As the snapshot had it, where there is one.
    pub(super) objective: Objective,
}

/// Returns the bundle of a yield.
pub(super) fn bundle(subject: &Subject, result: &Yield, elapsed_ms: u64, now: Timestamp) -> OutputBundle {
    let workorder = &subject.workorder;
    let mut more = result.more.clone();
    if let Some((attempt, taken)) = &result.taken {
        more.insert("branch_name".into(), attempt.branch().into());
        more.insert("commit_sha".into(), taken.commit.as_str().into());
        more.insert("base_commit_sha".into(), attempt.base.as_str().into());
        // The same tree twice running is the same answer (O-1).
        more.insert("tree".into(), taken.tree.as_str().into());
        more.insert("paths".into(), json!(taken.paths));
        more.insert("pr_description_draft".into(), pr_description(subject, attempt, taken).into());
    }
    if let Some(mode) = &result.sandbox_mode {
        more.insert("sandbox_mode".into(), mode.as_str().into());
    }
    if let Some(form) = result.answer_form {
        more.insert("answer_form".into(), form.as_str().into());
    }
    if let Some(failure) = result.failure {
        more.insert("failure".into(), failure.into());
    }
    OutputBundle {
        output_id: OutputId::of(&workorder.work_order_id),
        objective_id: workorder.objective_id.clone(),
        title: result.title.clone().unwrap_or_else(|| subject.objective.title.clone()),
        metadata: OutputMetadata {
            work_order_id: workorder.work_order_id.clone(),
            runner_status: result.status,
            elapsed_ms,
            usage: result.usage.as_ref().map(usage_object).unwrap_or_default(),
            more,
        },
        content: result
            .taken
            .as_ref()
            .map_or_else(|| result.content.clone(), |(_, taken)| taken.diff.clone()),
        notes: storable(&result.notes, NOTES_BYTES_MAX),
        created_at: now,
    }
}

/// The text of a pull request, drafted along the acceptance criteria (PF-6c).
fn pr_description(subject: &Subject, attempt: &Attempt, taken: &Taken) -> String {
    const PATHS_MAX: usize = 50;
    let mut text = format!(
        "{}\n\n## Acceptance criteria\n\n{}\n\n## Changed files\n\n",
        subject.objective.title.trim(),
        subject.objective.acceptance_criteria.trim()
    );
    for path in taken.paths.iter().take(PATHS_MAX) {
        text.push_str(&format!("- `{path}`\n"));
    }
    if taken.paths.len() > PATHS_MAX {
        text.push_str(&format!("- and {} more\n", taken.paths.len() - PATHS_MAX));
    }
    text.push_str(&format!(
        "\nObjective {}, workorder {}, base {}.\n",
        attempt.objective_id, attempt.work_order_id, attempt.base
    ));
    text
}

fn usage_object(usage: &Usage) -> JsonObject {
    let value = json!({
        "model": usage.model, "requests": bounded(usage.requests), "retries": bounded(usage.retries),
        "input_tokens": bounded(usage.input_tokens), "output_tokens": bounded(usage.output_tokens),
        "cost_microusd": usage.cost_microusd.map(bounded),
    });
    value.as_object().cloned().unwrap_or_default()
}

/// Returns what a claim cost.
pub(super) fn usage_record(
    provider: &str,
    claim: &Claim,
    subject: &Subject,
    usage: &Usage,
    now: Timestamp,
) -> UsageRecord {
    UsageRecord {
        work_order_id: subject.workorder.work_order_id.clone(),
        claim_version: claim.grant.fence.claim_version,
        provider: provider.to_owned(),
        model: usage.model.clone(),
        requests: bounded(usage.requests),
        retries: bounded(usage.retries),
        input_tokens: bounded(usage.input_tokens),
        output_tokens: bounded(usage.output_tokens),
        cost_microusd: usage.cost_microusd.map(bounded),
        created_at: now,
    }
}

/// A provider may tell any number, and a document holds none beyond 2^53: what it cost is then told as far as it can be,
/// and the result is not lost for it.
fn bounded(told: u64) -> u64 {
    const MOST: u64 = 1_000_000_000_000;
    told.min(MOST)
}
