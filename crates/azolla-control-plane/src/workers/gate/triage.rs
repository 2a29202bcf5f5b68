//! The gate of a triage: the run_record, what becomes of its captures, and the pause_state, in one commit (TF-6, TF-7). The
//! standing objective stays as it is, whatever the verdict (O-1).

use azolla_exchange_membrane::gates::triage::{
    AfterFailure, Failure, Verdict, evaluate as judge, retry_command,
};
use azolla_protocol::{
    Actor, CaptureId, CaptureStatus, GateResult, OutputBundle, RunId, RunRecord, RunnerStatus, Timestamp,
    Validated, content::TriageContent,
};
use azolla_substrate::{Commit, PauseKey, StoredCapture, StoredWorkorder, Write};

use crate::{
    context::{WorkerContext, WorkerError},
    overwhelm::{self, Overwhelm, Trial},
    pause::triage::Ending,
    snapshot::triage::batch_of,
    triage::{attempts, attempts_of},
    workers::scheduler::patch::bounded,
};

/// Everything about a workorder that its gate reads.
struct Case {
    stored: StoredWorkorder,
    bundle: OutputBundle,
    run_id: RunId,
    /// The snapshot's.
    batch: Vec<CaptureId>,
    /// Those of the batch that the operator has not processed meanwhile.
    pending: Vec<StoredCapture>,
    now: Timestamp,
}

/// Evaluates a bundle: what to commit.
pub(super) async fn evaluate(ctx: &WorkerContext, stored: StoredWorkorder) -> Result<Commit, WorkerError> {
    let case = load(ctx, stored).await?;
    if case.stored.claim_count >= ctx.settings.claims_without_outcome_max {
        let reason = format!("{} gate runs ended without a result", case.stored.claim_count);
        return failed(ctx, &case, &Failure { reason, next: AfterFailure::Block(None) }).await;
    }
    match judge(&case.stored.workorder, &case.batch, &case.bundle) {
        Verdict::Pass { reason, content } => passed(ctx, &case, reason, &content),
        Verdict::Fail(failure) => failed(ctx, &case, &failure).await,
    }
}

async fn load(ctx: &WorkerContext, stored: StoredWorkorder) -> Result<Case, WorkerError> {
    let id = &stored.workorder.work_order_id;
    let missing = |what: &str| WorkerError::Broken(format!("{id} has no {what}"));
    let bundle = ctx.read().output_of(id).await?.ok_or_else(|| missing("output_bundle"))?;
    let snapshot = ctx.read().context_snapshot(&stored.workorder.context_snapshot_id).await?;
    let snapshot = snapshot.ok_or_else(|| missing("context_snapshot"))?;
    // One that names no captures is judged like any other: what the bundle says cannot be its batch.
    let batch = batch_of(&snapshot).unwrap_or_default();
    let mut pending = Vec::new();
    for id in &batch {
        let capture = ctx.read().capture(id).await?;
        pending.extend(capture.filter(|stored| stored.capture.status == CaptureStatus::Pending));
    }
    let run_id = RunId::of(id);
    let now = ctx.read().now().await?;
    Ok(Case { stored, bundle, run_id, batch, pending, now })
}

/// PASS: the captures are PROCESSED, and the candidates wait for the operator.
fn passed(
    ctx: &WorkerContext,
    case: &Case,
    reason: String,
    content: &TriageContent,
) -> Result<Commit, WorkerError> {
    let output_id = &case.bundle.output_id;
    let (candidates, captures) = (content.candidates.len(), case.batch.len());
    let ending = Ending::Triaged { output_id, run_id: &case.run_id, candidates, captures };
    let mut commit = begin(ctx, case, GateResult::Pass, reason)?;
    for stored in &case.pending {
        let capture_id = stored.capture.capture_id.clone();
        let no_action = reason_of(content, &capture_id);
        commit = commit.with(Write::ProcessCapture { capture_id, at: case.now, no_action });
    }
    commit = commit.with(Write::OpenCandidates {
        output_id: output_id.clone(),
        work_order_id: case.stored.workorder.work_order_id.clone(),
        count: candidates as u64,
    });
    paused(ctx, case, commit, &ending)
}

/// Returns why nothing comes of a capture; none if it is in a candidate.
fn reason_of(content: &TriageContent, id: &CaptureId) -> Option<String> {
    if content.candidates.iter().any(|candidate| candidate.capture_ids.contains(id)) {
        return None;
    }
    content.no_action.iter().find(|entry| entry.capture_id == *id).map(|entry| entry.reason.clone())
}

/// FAIL: the captures stay PENDING. Each is tried again by itself, or held for the operator (O-1).
async fn failed(ctx: &WorkerContext, case: &Case, failure: &Failure) -> Result<Commit, WorkerError> {
    let mut commit = begin(ctx, case, GateResult::Fail, failure.reason.clone())?;
    let (mut held, mut most_attempts) = (Vec::new(), 0);
    for stored in &case.pending {
        let overwhelm = overwhelm(ctx, case, stored, failure).await?;
        most_attempts = most_attempts.max(attempts(stored));
        if failure.next == AfterFailure::Retry && overwhelm.is_none() {
            continue;
        }
        held.push(stored.capture.capture_id.clone());
        if !stored.held {
            commit = commit.with(Write::HoldCapture(stored.capture.capture_id.clone()));
        }
    }
    let over_budget = case.bundle.metadata.runner_status == RunnerStatus::BudgetExhausted;
    let retry = retry_command(&held, &case.bundle.output_id);
    let (attempts_max, captures) = (ctx.settings.attempts_max, case.batch.len());
    let ending = match &failure.next {
        _ if case.pending.is_empty() => Ending::Settled { over_budget },
        AfterFailure::Block(Some(action)) => Ending::Held { action },
        AfterFailure::Block(None) => Ending::Unjudged { run_id: &case.run_id, retry: &retry },
        AfterFailure::Retry if held.is_empty() => {
            Ending::Retried { attempt: most_attempts + 1, attempts_max, captures, over_budget }
        }
        AfterFailure::Retry if over_budget => {
            Ending::BudgetExhausted { budget_ms: case.stored.workorder.budget_ms, retry: &retry }
        }
        AfterFailure::Retry => Ending::Overwhelmed { retry: &retry },
    };
    paused(ctx, case, commit, &ending)
}

/// Why a capture is not tried again by itself, if there is a reason: judged by its attempts since the operator's last step
/// on it, as the store has them, so that no restart or takeover resets anything.
async fn overwhelm(
    ctx: &WorkerContext,
    case: &Case,
    stored: &StoredCapture,
    failure: &Failure,
) -> Result<Option<Overwhelm>, WorkerError> {
    let attempts = attempts(stored);
    // This one has no run record yet.
    let before = attempts_of(ctx.read(), &stored.capture.capture_id).await?.pop();
    let before = before.as_ref().map(|before| Trial::new(&before.run.gate_reason, &before.output));
    // As the run record has it.
    let reason = bounded(&failure.reason);
    let trial = Trial::new(&reason, &case.bundle);
    Ok(overwhelm::detect(trial, before, attempts, ctx.settings.attempts_max))
}

fn begin(
    ctx: &WorkerContext,
    case: &Case,
    gate_result: GateResult,
    reason: String,
) -> Result<Commit, WorkerError> {
    let run = RunRecord {
        run_id: case.run_id.clone(),
        work_order_id: case.stored.workorder.work_order_id.clone(),
        objective_id: case.stored.workorder.objective_id.clone(),
        output_id: case.bundle.output_id.clone(),
        gate_result,
        gate_reason: bounded(&reason),
        commit_sha: None,
        created_at: case.now,
    };
    Ok(Commit::new(ctx.commit_id(), Actor::Gate).with(Write::Gate(Validated::new(run)?)))
}

fn paused(
    ctx: &WorkerContext,
    case: &Case,
    commit: Commit,
    ending: &Ending<'_>,
) -> Result<Commit, WorkerError> {
    let workorder = &case.stored.workorder;
    let pause = ending.pause(&ctx.identity.azolla_id, &workorder.objective_id, case.now)?;
    Ok(commit.with(Write::Pause { key: PauseKey::Workorder(workorder.work_order_id.clone()), pause }))
}
