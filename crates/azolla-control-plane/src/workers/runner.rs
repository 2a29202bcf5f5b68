//! Runner Worker: one CREATED workorder gets its one output_bundle, whatever happens (PF-6, B-3).

use std::time::Duration;

use azolla_protocol::{
    Actor, ContextSnapshot, FailureKind, Generation, GenerationOutcome, GenerationRequest, JsonObject,
    Objective, OutputBundle, OutputId, OutputMetadata, ResourceRef, RunnerStatus, Timestamp, Usage,
    UsageRecord, Validated, Workorder, WorkorderStatus,
};
use azolla_substrate::{Commit, Release, StoredWorkorder, SubstrateError, Write};
use serde_json::json;

use crate::{
    context::{Tick, WorkerContext, WorkerError, between},
    lease::{self, Claim, Held},
    repo::{Attempt, Candidate, RepositoryError, TakeError, Taken, Worktree},
    workers::CANDIDATES,
};

/// How long after its budget a diazotroph may take to stop before it is dropped (B-2).
const GRACE: Duration = Duration::from_secs(2);

/// What is kept of an answer that did not become a commit, and of what a worker printed.
const ATTEMPTED_BYTES_MAX: usize = 1_000_000;
const NOTES_BYTES_MAX: usize = 100_000;

/// Runs the oldest workorder that can be claimed.
pub async fn tick(ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    let mut tick = Tick::Idle;
    for stored in ctx.read().created_workorders(CANDIDATES).await? {
        let resource = ResourceRef::from(&stored.workorder.work_order_id);
        if let Some(wait) = ctx.backoff.wait(&resource) {
            tick = tick.or_wait(wait);
            continue;
        }
        let Some(claim) = lease::acquire(ctx, &resource, Actor::Runner).await? else {
            // C-8: on to the next candidate.
            if let Some(left) = ctx.held_for(&resource).await? {
                tick = tick.or_wait(left);
            }
            continue;
        };
        // C-1: eligibility is read again under the claim.
        let again = ctx.read().workorder(&stored.workorder.work_order_id).await?;
        match again {
            Some(again) if again.workorder.status == WorkorderStatus::Created => {
                return run(ctx, &claim, &again).await;
            }
            _ => lease::release(ctx, &claim, Release::Unused).await?,
        }
    }
    Ok(tick)
}

/// What one claim came to.
struct Yield {
    status: RunnerStatus,
    taken: Option<Taken>,
    /// What came back and did not become a commit.
    attempted: String,
    notes: String,
    /// Why it failed, where what comes next depends on it: `metadata.failure`.
    failure: Option<&'static str>,
    usage: Option<Usage>,
}

impl Yield {
    fn failed(failure: Option<&'static str>, notes: impl Into<String>) -> Self {
        Self {
            status: RunnerStatus::GenerationFailed,
            taken: None,
            attempted: String::new(),
            notes: notes.into(),
            failure,
            usage: None,
        }
    }

    fn over_budget(budget_ms: u64, said: &str) -> Self {
        let notes = format!("The budget of {budget_ms} ms was over before the work was complete.\n{said}");
        Self { status: RunnerStatus::BudgetExhausted, ..Self::failed(None, notes.trim_end()) }
    }
}

/// All that a claimed workorder needs.
struct Job {
    workorder: Workorder,
    snapshot: ContextSnapshot,
    /// As approved: the version that the snapshot was built from.
    objective: Objective,
    attempt: Attempt,
    base_branch: String,
}

async fn run(ctx: &WorkerContext, claim: &Claim, stored: &StoredWorkorder) -> Result<Tick, WorkerError> {
    let resource = &claim.grant.fence.resource;
    let job = load(ctx, claim, stored).await?;
    let remaining = job.workorder.budget_ms.saturating_sub(claim.grant.budget_consumed_ms);
    let outcome = if claim.grant.claim_count > ctx.settings.claims_without_outcome_max {
        let before = claim.grant.claim_count - 1;
        Held::Done(Ok(Yield::failed(
            Some("POISON"),
            format!("{before} runs of this workorder ended without a result."),
        )))
    } else if remaining == 0 {
        Held::Done(Ok(Yield::over_budget(job.workorder.budget_ms, "Earlier claims used all of it.")))
    } else {
        let work = work(ctx, &job, Duration::from_millis(remaining));
        lease::hold(ctx, claim, &job.workorder.objective_id, work).await
    };
    match outcome {
        Held::Done(Ok(result)) => finish(ctx, claim, &job, result).await,
        Held::Done(Err(RepositoryError::Unusable { what, action })) => {
            finish(ctx, claim, &job, Yield::failed(Some("SETUP"), format!("{what}\n{action}"))).await
        }
        Held::Done(Err(RepositoryError::Unavailable(what))) => {
            lease::release(ctx, claim, Release::Failed).await?;
            let wait = ctx.backoff.failed(resource);
            ctx.show(&job.workorder.objective_id, format!("waiting: {what}"), Some(wait));
            Ok(Tick::Waiting(wait))
        }
        Held::Cancelled => {
            finish(ctx, claim, &job, Yield::failed(Some("CANCELLED"), "The operator cancelled the run."))
                .await
        }
        // PF-6e: no further shared-state write.
        Held::Lost => Ok(Tick::Advanced),
        Held::Stopping => {
            lease::release(ctx, claim, Release::Unused).await?;
            Ok(Tick::Idle)
        }
    }
}

async fn load(ctx: &WorkerContext, claim: &Claim, stored: &StoredWorkorder) -> Result<Job, WorkerError> {
    let workorder = stored.workorder.clone();
    let missing = |what: &str| WorkerError::Broken(format!("{} has no {what}", workorder.work_order_id));
    let snapshot = ctx.read().context_snapshot(&workorder.context_snapshot_id).await?;
    let snapshot = snapshot.ok_or_else(|| missing("context_snapshot"))?;
    let metadata = snapshot.metadata.clone().unwrap_or_default();
    let version = metadata.get("objective_version").and_then(|value| value.as_u64()).unwrap_or(1);
    let objective = ctx.read().objective_at(&workorder.objective_id, version).await?;
    let objective = objective.ok_or_else(|| missing("objective of its snapshot's version"))?;
    let base = snapshot.repo_commit_sha.clone().ok_or_else(|| missing("base commit"))?;
    let base_branch =
        metadata.get("base_branch").and_then(|value| value.as_str()).unwrap_or_default().to_owned();
    let attempt = Attempt {
        objective_id: workorder.objective_id.clone(),
        work_order_id: workorder.work_order_id.clone(),
        claim_version: claim.grant.fence.claim_version,
        base,
        title: objective.title.clone(),
        created_at: workorder.created_at,
    };
    Ok(Job { workorder, snapshot, objective, attempt, base_branch })
}

/// Generates and takes, within what is left of the budget.
async fn work(ctx: &WorkerContext, job: &Job, remaining: Duration) -> Result<Yield, RepositoryError> {
    let began = tokio::time::Instant::now();
    let budget_ms = job.workorder.budget_ms;
    ctx.show(&job.workorder.objective_id, "preparing the work", Some(remaining));
    let worktree = if ctx.diazotroph.needs_worktree() { Some(worktree(ctx, job).await?) } else { None };
    let left = remaining.saturating_sub(began.elapsed());
    if left.is_zero() {
        return Ok(Yield::over_budget(budget_ms, "Preparing the repository took all of it."));
    }
    ctx.show(&job.workorder.objective_id, "the worker is running", Some(left));
    let progress = |step: &str| ctx.show(&job.workorder.objective_id, step, Some(left));
    let request = GenerationRequest {
        work_order_id: &job.workorder.work_order_id,
        claim_version: job.attempt.claim_version,
        prompt: &job.snapshot.full_prompt_text,
        remaining: left,
        worktree: worktree.as_ref().map(|worktree| worktree.path()),
        progress: &progress,
    };
    let Ok(Generation { outcome, usage }) =
        tokio::time::timeout(left + GRACE, ctx.diazotroph.generate(request)).await
    else {
        return Ok(Yield::over_budget(budget_ms, ""));
    };
    let (candidate, said) = match &outcome {
        GenerationOutcome::Text(text) => (Candidate::Text(text), ""),
        GenerationOutcome::Edited { said } => match &worktree {
            Some(worktree) => (Candidate::Edits(worktree), said.as_str()),
            None => return Ok(Yield::failed(None, "The worker returned edits and had no files.")),
        },
        GenerationOutcome::Failed { kind, reason } => {
            let failure = (*kind == FailureKind::Setup).then_some("SETUP");
            return Ok(Yield { usage: Some(usage), ..Yield::failed(failure, reason.as_str()) });
        }
        GenerationOutcome::OverBudget { said } => {
            return Ok(Yield { usage: Some(usage), ..Yield::over_budget(budget_ms, said) });
        }
    };
    ctx.show(&job.workorder.objective_id, "applying the patch", None);
    let taken = take(ctx, job, candidate).await;
    if began.elapsed() > remaining {
        return Ok(Yield { usage: Some(usage), ..Yield::over_budget(budget_ms, said) });
    }
    let result = match taken {
        Ok(taken) => Yield {
            status: RunnerStatus::Completed,
            taken: Some(taken),
            notes: said.to_owned(),
            ..Yield::failed(None, "")
        },
        Err(TakeError::Refused(reason)) => Yield {
            status: RunnerStatus::PatchApplyFailed,
            attempted: match candidate {
                Candidate::Text(text) => storable(text, ATTEMPTED_BYTES_MAX),
                Candidate::Edits(_) => String::new(),
            },
            ..Yield::failed(None, reason)
        },
        Err(TakeError::NoChange) => {
            Yield::failed(None, format!("The worker changed nothing.\n{said}").trim_end())
        }
        Err(TakeError::Repository(error)) => return Err(error),
    };
    Ok(Yield { usage: Some(usage), ..result })
}

async fn take(ctx: &WorkerContext, job: &Job, candidate: Candidate<'_>) -> Result<Taken, TakeError> {
    match ctx.repository.take(&job.attempt, candidate).await {
        // The base may never have been in this machine's mirror: the snapshot was built on another machine.
        Err(TakeError::Repository(RepositoryError::Unusable { .. })) => {
            ctx.repository.base(&job.base_branch).await?;
            ctx.repository.take(&job.attempt, candidate).await
        }
        taken => taken,
    }
}

async fn worktree(ctx: &WorkerContext, job: &Job) -> Result<Worktree, RepositoryError> {
    match ctx.repository.worktree(&job.attempt).await {
        Err(RepositoryError::Unusable { .. }) => {
            ctx.repository.base(&job.base_branch).await?;
            ctx.repository.worktree(&job.attempt).await
        }
        made => made,
    }
}

/// The bundle and EXECUTED, in one fenced commit; then the branch, which is only a projection of it (G-1).
async fn finish(ctx: &WorkerContext, claim: &Claim, job: &Job, result: Yield) -> Result<Tick, WorkerError> {
    let now = ctx.read().now().await?;
    let elapsed = claim.grant.budget_consumed_ms
        + u64::try_from(between(claim.grant.granted_at, now).as_millis()).unwrap_or(u64::MAX);
    let bundle = match Validated::new(bundle(job, &result, elapsed, now)) {
        Ok(bundle) => bundle,
        Err(error) => {
            // What came back does not fit an artifact: the run still ends, with that as its reason (B-3).
            let failed = Yield { usage: result.usage.clone(), ..Yield::failed(None, error.to_string()) };
            Validated::new(bundle(job, &failed, elapsed, now))?
        }
    };
    let commit_sha = result.taken.as_ref().map(|taken| taken.commit.clone());
    let mut commit = Commit::new(ctx.commit_id(), Actor::Runner).with(Write::Execute(bundle));
    if let Some(usage) = &result.usage {
        commit = commit.with(Write::RecordUsage(Validated::new(usage_record(ctx, claim, job, usage, now))?));
    }
    match ctx.substrate.commit(commit.fenced(claim.grant.fence.clone())).await {
        Ok(_) => ctx.backoff.moved(&claim.grant.fence.resource),
        // Taken over, or nobody can say: whoever claims it next finds out (PF-6e, C-9).
        Err(SubstrateError::FenceLost { .. } | SubstrateError::OutcomeUnknown { .. }) => {
            return Ok(Tick::Advanced);
        }
        Err(error) => return Err(error.into()),
    }
    if let Some(commit_sha) = commit_sha {
        // The gate verifies or repairs it, so a failure here loses nothing.
        let _ = ctx.repository.project(&job.attempt, &commit_sha).await;
    }
    Ok(Tick::Advanced)
}

fn bundle(job: &Job, result: &Yield, elapsed_ms: u64, now: Timestamp) -> OutputBundle {
    let mut more = JsonObject::new();
    if let Some(taken) = &result.taken {
        more.insert("branch_name".into(), job.attempt.branch().into());
        more.insert("commit_sha".into(), taken.commit.as_str().into());
        more.insert("base_commit_sha".into(), job.attempt.base.as_str().into());
        more.insert("paths".into(), json!(taken.paths));
        more.insert("pr_description_draft".into(), pr_description(job, taken).into());
    }
    if let Some(failure) = result.failure {
        more.insert("failure".into(), failure.into());
    }
    OutputBundle {
        output_id: OutputId::of(&job.workorder.work_order_id),
        objective_id: job.workorder.objective_id.clone(),
        title: job.objective.title.clone(),
        metadata: OutputMetadata {
            work_order_id: job.workorder.work_order_id.clone(),
            runner_status: result.status,
            elapsed_ms,
            usage: result.usage.as_ref().map(usage_object).unwrap_or_default(),
            more,
        },
        content: result.taken.as_ref().map_or_else(|| result.attempted.clone(), |taken| taken.diff.clone()),
        notes: storable(&result.notes, NOTES_BYTES_MAX),
        created_at: now,
    }
}

/// Text from outside as a store can keep it: bounded, and without NUL.
fn storable(text: &str, bytes_max: usize) -> String {
    text[..text.floor_char_boundary(bytes_max)].replace('\0', "\u{fffd}")
}

/// The text of a pull request, drafted along the acceptance criteria (PF-6c).
fn pr_description(job: &Job, taken: &Taken) -> String {
    const PATHS_MAX: usize = 50;
    let mut text = format!(
        "{}\n\n## Acceptance criteria\n\n{}\n\n## Changed files\n\n",
        job.objective.title.trim(),
        job.objective.acceptance_criteria.trim()
    );
    for path in taken.paths.iter().take(PATHS_MAX) {
        text.push_str(&format!("- `{path}`\n"));
    }
    if taken.paths.len() > PATHS_MAX {
        text.push_str(&format!("- and {} more\n", taken.paths.len() - PATHS_MAX));
    }
    text.push_str(&format!(
        "\nObjective {}, workorder {}, base {}.\n",
        job.workorder.objective_id, job.workorder.work_order_id, job.attempt.base
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

fn usage_record(ctx: &WorkerContext, claim: &Claim, job: &Job, usage: &Usage, now: Timestamp) -> UsageRecord {
    UsageRecord {
        work_order_id: job.workorder.work_order_id.clone(),
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
