//! The gate of an orientation (MF-6, MF-7): its verdict, the session_manifest and the pause_state, in one commit. The
//! standing objective stays as it is, whatever the verdict.

use azolla_exchange_membrane::gates::manifest::{self, AfterFailure, Failure, Verdict};
use azolla_protocol::{
    Actor, AzollaId, ContextSnapshot, GateResult, ManifestId, OutputBundle, PauseStateSummary, RunId,
    RunRecord, RunnerStatus, SessionManifest, Timestamp, Validated,
};
use azolla_substrate::{Commit, PauseKey, StoredWorkorder, SubstrateError, Write};
use serde::de::DeserializeOwned;

use crate::{
    context::{WorkerContext, WorkerError},
    flow::TaskMgmtFlow,
    pause::manifest::Ending,
    workers::{manifest_scheduler, scheduler::patch::bounded},
};

/// Evaluates a bundle: what to commit.
pub(super) async fn evaluate(
    ctx: &WorkerContext,
    flow: &TaskMgmtFlow,
    stored: StoredWorkorder,
) -> Result<Commit, WorkerError> {
    let id = &stored.workorder.work_order_id;
    let missing = |what: &str| WorkerError::Broken(format!("{id} has no {what}"));
    let bundle = ctx.read().output_of(id).await?.ok_or_else(|| missing("output_bundle"))?;
    let snapshot = ctx.read().context_snapshot(&stored.workorder.context_snapshot_id).await?;
    let snapshot = snapshot.ok_or_else(|| missing("context_snapshot"))?;
    let verdict = judge(ctx, &stored, &bundle, &snapshot).await?;
    let now = ctx.read().now().await?;
    let run = run_record(&stored, &bundle, &verdict, now);
    let ending = match &verdict {
        Verdict::Pass { actions, .. } => Ending::RunComplete { actions },
        Verdict::Fail(failure) => {
            let overwhelmed =
                manifest_scheduler::is_overwhelmed(ctx, &stored.event_id, &run.gate_reason).await?;
            failed(&stored, &bundle, failure, &run.run_id, overwhelmed)
        }
    };
    let pause = ending.pause(&ctx.identity.azolla_id, &flow.standing, now)?;
    let mut commit = Commit::new(ctx.commit_id(), Actor::Gate);
    if let Verdict::Pass { actions, .. } = &verdict {
        let manifest = session_manifest(ctx, &stored, &snapshot, actions, now)?;
        commit = commit
            .with(Write::InsertManifest { manifest: Validated::new(manifest)?, work_order_id: id.clone() });
    }
    Ok(commit
        .with(Write::Gate(Validated::new(run)?))
        .with(Write::Pause { key: PauseKey::Workorder(id.clone()), pause }))
}

async fn judge(
    ctx: &WorkerContext,
    stored: &StoredWorkorder,
    bundle: &OutputBundle,
    snapshot: &ContextSnapshot,
) -> Result<Verdict, SubstrateError> {
    if stored.claim_count >= ctx.settings.claims_without_outcome_max {
        // W-7: without a look at it.
        let reason = format!("{} gate runs ended without a result", stored.claim_count);
        return Ok(Verdict::Fail(Failure { reason, next: AfterFailure::Block(None) }));
    }
    let mut captures = Vec::new();
    for id in manifest::named_captures(bundle) {
        if ctx.read().capture(&id).await?.is_some() {
            captures.push(id);
        }
    }
    Ok(manifest::evaluate(&stored.workorder, bundle, snapshot, &captures))
}

fn run_record(
    stored: &StoredWorkorder,
    bundle: &OutputBundle,
    verdict: &Verdict,
    now: Timestamp,
) -> RunRecord {
    let (gate_result, reason) = match verdict {
        Verdict::Pass { reason, .. } => (GateResult::Pass, reason),
        Verdict::Fail(failure) => (GateResult::Fail, &failure.reason),
    };
    RunRecord {
        run_id: RunId::of(&stored.workorder.work_order_id),
        work_order_id: stored.workorder.work_order_id.clone(),
        objective_id: stored.workorder.objective_id.clone(),
        output_id: bundle.output_id.clone(),
        gate_result,
        gate_reason: bounded(reason),
        commit_sha: None,
        created_at: now,
    }
}

fn failed<'a>(
    stored: &StoredWorkorder,
    bundle: &OutputBundle,
    failure: &'a Failure,
    run_id: &'a RunId,
    is_overwhelmed: bool,
) -> Ending<'a> {
    let over_budget = bundle.metadata.runner_status == RunnerStatus::BudgetExhausted;
    match &failure.next {
        AfterFailure::Block(Some(action)) => Ending::GateFailed { run_id, action: Some(action) },
        _ if over_budget => {
            Ending::BudgetExhausted { run_id, budget_ms: stored.workorder.budget_ms, is_overwhelmed }
        }
        _ if is_overwhelmed => Ending::Overwhelmed { run_id },
        _ => Ending::GateFailed { run_id, action: None },
    }
}

/// What is recorded: the azollas and where they stand come from the snapshot, the order of actions from the bundle.
fn session_manifest(
    ctx: &WorkerContext,
    stored: &StoredWorkorder,
    snapshot: &ContextSnapshot,
    actions: &[String],
    now: Timestamp,
) -> Result<SessionManifest, WorkerError> {
    let queried_azolla_ids: Vec<AzollaId> = of_snapshot(snapshot, "queried_azolla_ids")?;
    let pause_state_summary: Vec<PauseStateSummary> = of_snapshot(snapshot, "pause_state_summary")?;
    Ok(SessionManifest {
        manifest_id: ManifestId::of(&stored.workorder.work_order_id),
        azolla_id: ctx.identity.azolla_id.clone(),
        queried_azolla_ids,
        pause_state_summary,
        prioritized_orientation: actions.to_vec(),
        created_at: now,
    })
}

fn of_snapshot<T: DeserializeOwned>(snapshot: &ContextSnapshot, key: &str) -> Result<T, WorkerError> {
    let value = snapshot.metadata.as_ref().and_then(|metadata| metadata.get(key));
    let read = value.cloned().map(serde_json::from_value);
    let broken = || WorkerError::Broken(format!("{} has no {key}", snapshot.snapshot_id));
    read.transpose().ok().flatten().ok_or_else(broken)
}
