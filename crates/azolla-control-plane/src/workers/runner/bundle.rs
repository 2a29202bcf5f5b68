//! What a run came to, as its one output_bundle (PF-6).

use azolla_protocol::{
    JsonObject, Objective, OutputBundle, OutputId, OutputMetadata, RunnerStatus, Timestamp, Usage,
    UsageRecord, Workorder,
};
use serde_json::json;

use crate::{
    context::WorkerContext,
    lease::Claim,
    repo::{Attempt, Taken},
};

/// What is kept of an answer that did not become a commit, and of what a worker printed.
const ATTEMPTED_BYTES_MAX: usize = 1_000_000;
const NOTES_BYTES_MAX: usize = 100_000;

/// Whose bundle it is.
pub(super) struct Subject {
    pub(super) workorder: Workorder,
    /// As the snapshot had it, where there is one.
    pub(super) objective: Objective,
}

/// What one claim came to.
pub(super) struct Yield {
    pub(super) status: RunnerStatus,
    pub(super) taken: Option<(Attempt, Taken)>,
    /// What came back and did not become a commit.
    pub(super) attempted: String,
    pub(super) notes: String,
    /// Why it failed, where what comes next depends on it: `metadata.failure`.
    pub(super) failure: Option<&'static str>,
    pub(super) usage: Option<Usage>,
}

impl Yield {
    pub(super) fn failed(failure: Option<&'static str>, notes: impl Into<String>) -> Self {
        Self {
            status: RunnerStatus::GenerationFailed,
            taken: None,
            attempted: String::new(),
            notes: notes.into(),
            failure,
            usage: None,
        }
    }

    pub(super) fn over_budget(budget_ms: u64, said: &str) -> Self {
        let notes = format!("The budget of {budget_ms} ms was over before the work was complete.\n{said}");
        Self { status: RunnerStatus::BudgetExhausted, ..Self::failed(None, notes.trim_end()) }
    }

    pub(super) fn refused(attempted: &str, reason: String) -> Self {
        Self {
            status: RunnerStatus::PatchApplyFailed,
            attempted: storable(attempted, ATTEMPTED_BYTES_MAX),
            ..Self::failed(None, reason)
        }
    }

    pub(super) fn completed(attempt: &Attempt, taken: Taken, said: &str) -> Self {
        let taken = Some((attempt.clone(), taken));
        Self { status: RunnerStatus::Completed, taken, ..Self::failed(None, said) }
    }
}

/// Returns the bundle of a yield.
pub(super) fn bundle(subject: &Subject, result: &Yield, elapsed_ms: u64, now: Timestamp) -> OutputBundle {
    let workorder = &subject.workorder;
    let mut more = JsonObject::new();
    if let Some((attempt, taken)) = &result.taken {
        more.insert("branch_name".into(), attempt.branch().into());
        more.insert("commit_sha".into(), taken.commit.as_str().into());
        more.insert("base_commit_sha".into(), attempt.base.as_str().into());
        more.insert("paths".into(), json!(taken.paths));
        more.insert("pr_description_draft".into(), pr_description(subject, attempt, taken).into());
    }
    if let Some(failure) = result.failure {
        more.insert("failure".into(), failure.into());
    }
    OutputBundle {
        output_id: OutputId::of(&workorder.work_order_id),
        objective_id: workorder.objective_id.clone(),
        title: subject.objective.title.clone(),
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
            .map_or_else(|| result.attempted.clone(), |(_, taken)| taken.diff.clone()),
        notes: storable(&result.notes, NOTES_BYTES_MAX),
        created_at: now,
    }
}

/// Text from outside as a store can keep it: bounded, and without NUL.
fn storable(text: &str, bytes_max: usize) -> String {
    text[..text.floor_char_boundary(bytes_max)].replace('\0', "\u{fffd}")
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
        "model": usage.model, "requests": usage.requests, "retries": usage.retries,
        "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
        "cost_microusd": usage.cost_microusd,
    });
    value.as_object().cloned().unwrap_or_default()
}

/// Returns what a claim cost.
pub(super) fn usage_record(
    ctx: &WorkerContext,
    claim: &Claim,
    subject: &Subject,
    usage: &Usage,
    now: Timestamp,
) -> UsageRecord {
    UsageRecord {
        work_order_id: subject.workorder.work_order_id.clone(),
        claim_version: claim.grant.fence.claim_version,
        provider: ctx.diazotroph.provider().to_owned(),
        model: usage.model.clone(),
        requests: usage.requests,
        retries: usage.retries,
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cost_microusd: usage.cost_microusd,
        created_at: now,
    }
}
