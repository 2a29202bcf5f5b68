//! What a verdict comes to: the run_record, the objective's next state and the pause_state, in one commit (PF-8).

use azolla_exchange_membrane::gates::patch::{AfterFailure, Failure, Verdict};
use azolla_protocol::{
    Actor, BlockerKind, BlockerRef, GateEvidence, GateResult, JournalStep, Objective, ObjectiveStatus, RunId,
    RunRecord, RunnerStatus, Timestamp, Validated,
    lifecycle::{ObjectiveStep, has_open_blocker},
};
use azolla_substrate::{Commit, ObjectiveMark, PauseKey, StoredObjective, SubstrateError, Write};

use super::{
    Case,
    evidence::{Evidence, fit},
};
use crate::{
    context::{WorkerContext, WorkerError},
    operator::is_machine_made,
    overwhelm::{self, Overwhelm, Trial},
    pause::patch::Ending,
    repo::Published,
    workers::scheduler::patch::{add_blocker, bounded, machine_blocker},
};

/// Puts together the gate's one commit.
pub(super) async fn commit(
    ctx: &WorkerContext,
    case: &Case<'_>,
    objective: &StoredObjective,
    verdict: &Verdict,
    evidence: Option<&Evidence>,
    published: &Published,
) -> Result<Commit, WorkerError> {
    let now = ctx.read().now().await?;
    let (step, next, ending) = match verdict {
        Verdict::Pass(_) => passed(objective, published, now),
        Verdict::Fail(failure) => {
            let trials = trials(ctx, case, failure).await?;
            failed(ctx, case, objective, failure, trials, now)?
        }
    };
    let pause = ending.pause(&ctx.identity.azolla_id, &case.attempt.objective_id, now)?;
    let work_order_id = case.attempt.work_order_id.clone();
    let mut commit = Commit::new(ctx.commit_id(), Actor::Gate)
        .with(Write::Gate(Validated::new(run_record(case, verdict, now))?))
        .with(Write::AdvanceObjective {
            was: ObjectiveMark::from(objective),
            step,
            next: Validated::new(next)?,
        })
        .with(Write::Pause { key: PauseKey::Workorder(work_order_id.clone()), pause });
    if let Some(Evidence { patch, base_now: Some(base_now) }) = evidence {
        let evidence = fit(GateEvidence {
            run_id: RunId::of(&work_order_id),
            work_order_id,
            base_commit_sha: Some(base_now.clone()),
            checks: patch.checks.clone(),
            created_at: now,
        });
        commit = commit.with(Write::RecordEvidence(Validated::new(evidence)?));
    }
    Ok(commit)
}

fn run_record(case: &Case<'_>, verdict: &Verdict, now: Timestamp) -> RunRecord {
    let (gate_result, reason) = match verdict {
        Verdict::Pass(reason) => (GateResult::Pass, reason),
        Verdict::Fail(failure) => (GateResult::Fail, &failure.reason),
    };
    RunRecord {
        run_id: RunId::of(&case.attempt.work_order_id),
        work_order_id: case.attempt.work_order_id.clone(),
        objective_id: case.attempt.objective_id.clone(),
        output_id: case.bundle.output_id.clone(),
        gate_result,
        gate_reason: bounded(reason),
        commit_sha: case
            .bundle
            .metadata
            .more
            .get("commit_sha")
            .and_then(|sha| sha.as_str())
            .map(str::to_owned),
        created_at: now,
    }
}

/// PASS: DONE, unless a blocker came in meanwhile (S-e, S-f).
fn passed<'a>(
    objective: &StoredObjective,
    published: &'a Published,
    now: Timestamp,
) -> (ObjectiveStep, Objective, Ending<'a>) {
    let mut next = Objective { updated_at: now, ..objective.objective.clone() };
    if has_open_blocker(&next) {
        next.status = ObjectiveStatus::Blocked;
        next.blocked_reason = Some(open_blockers(&next));
        return (ObjectiveStep::GateFailBlock, next, Ending::PassedButBlocked);
    }
    next.status = ObjectiveStatus::Done;
    (ObjectiveStep::GatePass, next, Ending::RunComplete { published })
}

/// FAIL: another attempt by itself, or BLOCKED with a blocker that says why (S-f, S-g, S-m).
fn failed<'a>(
    ctx: &WorkerContext,
    case: &Case<'_>,
    objective: &StoredObjective,
    failure: &'a Failure,
    trials: Trials,
    now: Timestamp,
) -> Result<(ObjectiveStep, Objective, Ending<'a>), WorkerError> {
    let mut next = Objective { updated_at: now, ..objective.objective.clone() };
    let cancelled = next.metadata.remove("cancel").is_some();
    let over_budget = case.bundle.metadata.runner_status == RunnerStatus::BudgetExhausted;
    // A blocker of the operator's, added meanwhile, is a reason not to go on alone (S-f).
    let again = !cancelled
        && failure.next == AfterFailure::Retry
        && trials.overwhelm.is_none()
        && !has_open_blocker(&next);
    let blocker = BlockerRef {
        blocker_id: machine_blocker(&next.objective_id, objective.todo_entry)?,
        kind: if is_of_environment(case) { BlockerKind::EnvironmentAccess } else { BlockerKind::UserInput },
        description: bounded(&failure.reason),
        resolved: again,
    };
    add_blocker(&mut next, blocker);
    if again {
        next.status = ObjectiveStatus::Todo;
        next.blocked_reason = None;
        let attempts_max = ctx.settings.attempts_max;
        return Ok((
            ObjectiveStep::GateFailRetry,
            next,
            Ending::Retried { attempt: trials.attempts + 1, attempts_max, over_budget },
        ));
    }
    next.status = ObjectiveStatus::Blocked;
    next.blocked_reason = Some(bounded(&match trials.overwhelm {
        // A cancelled run is not tried again either way.
        Some(overwhelm) if failure.next == AfterFailure::Retry => overwhelm.summary(&failure.reason),
        _ => failure.reason.clone(),
    }));
    // O-1: whoever comes back to it finds one thing to do.
    let is_overwhelmed = trials.overwhelm.is_some();
    let step = if cancelled { ObjectiveStep::Cancel } else { ObjectiveStep::GateFailBlock };
    let own =
        |blocker: &BlockerRef| !blocker.resolved && !is_machine_made(&next.objective_id, &blocker.blocker_id);
    let ending = match &failure.next {
        _ if next.blocked_on.iter().any(own) => Ending::FailedAndBlocked { over_budget, is_overwhelmed },
        _ if cancelled => Ending::Cancelled,
        AfterFailure::Block(Some(action)) => Ending::GateFailed { action: Some(action) },
        _ if over_budget => {
            Ending::BudgetExhausted { budget_ms: case.stored.workorder.budget_ms, is_overwhelmed }
        }
        // What could be tried again and is not, without a blocker of the operator's.
        AfterFailure::Retry => Ending::Overwhelmed,
        AfterFailure::Block(None) => Ending::GateFailed { action: None },
    };
    Ok((step, next, ending))
}

fn is_of_environment(case: &Case<'_>) -> bool {
    let failure = case.bundle.metadata.more.get("failure");
    failure.is_some_and(|failure| failure == "SETUP" || failure == "REPOSITORY")
}

fn open_blockers(objective: &Objective) -> String {
    let open = objective.blocked_on.iter().filter(|blocker| !blocker.resolved);
    bounded(&open.map(|blocker| blocker.description.as_str()).collect::<Vec<_>>().join("; "))
}

/// What came of the attempts since the operator's last step, this one included.
struct Trials {
    attempts: u64,
    /// Why no other one follows by itself (O-1).
    overwhelm: Option<Overwhelm>,
}

/// Looks at the attempts since the operator's last step that put the objective into TODO (O-1). They are counted in
/// the journal and compared by what the store has of them, so that no restart or takeover resets anything.
async fn trials(ctx: &WorkerContext, case: &Case<'_>, failure: &Failure) -> Result<Trials, SubstrateError> {
    let id = &case.attempt.objective_id;
    let journal = ctx.read().journal_of(id.as_str()).await?;
    let entered = |step| matches!(step, JournalStep::Sb | JournalStep::Sh | JournalStep::Si);
    let since = journal.iter().rposition(|entry| entered(entry.step)).unwrap_or(0);
    let attempts = journal[since..].iter().filter(|entry| entry.step == JournalStep::Sc).count() as u64;
    let mut before = None;
    if attempts > 1
        && let Some(run) = ctx.read().runs_of(id).await?.pop()
        && let Some(output) = ctx.read().output_bundle(&run.output_id).await?
    {
        before = Some((run, output));
    }
    let before = before.as_ref().map(|(run, output)| Trial::new(&run.gate_reason, output));
    // As the run record has it.
    let reason = bounded(&failure.reason);
    let trial = Trial::new(&reason, &case.bundle);
    let overwhelm = overwhelm::detect(trial, before, attempts, ctx.settings.attempts_max);
    Ok(Trials { attempts, overwhelm })
}
