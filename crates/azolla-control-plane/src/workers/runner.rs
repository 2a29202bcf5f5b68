//! Runner Worker: one CREATED workorder gets its one output_bundle, whatever happens (PF-6, TF-5, MF-5, B-3).

mod answer;
mod bundle;
mod meter;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use azolla_protocol::{
    Actor, ContextSnapshot, DiazotrophType, FailureKind, JsonObject, ObjectiveId, ResourceRef, RunnerStatus,
    Timestamp, Usage, Validated, Wait, Withheld, Workorder, WorkorderStatus,
};
use azolla_substrate::{Commit, Release, StoredWorkorder, SubstrateError, Write};
use tokio::time::timeout;

use self::{
    bundle::{Subject, bundle, usage_record},
    meter::Meter,
};
use crate::{
    caught::caught,
    context::{Tick, WorkerContext, WorkerError, between},
    flow::Flow,
    generation::{self, Asking, GRACE, Work, Worked, Yield},
    lease::{self, Claim, Held},
    pause::patch::then_retry,
    repo::{Attempt, RepositoryError},
    snapshot::patch,
    spending::RunAccount,
    workers::{CANDIDATES, claimed},
};

/// Runs the oldest workorder that can be claimed.
pub async fn tick(ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    let mut tick = Tick::Idle;
    let workorders = ctx.read().created_workorders(CANDIDATES).await?;
    if workorders.is_empty() {
        return Ok(tick);
    }
    let mut is_shown = false;
    for stored in workorders {
        // A quota or a cap of the day: workorders wait unclaimed, and cost nothing.
        if let Some(wait) = ctx.ledger.waits(provider(ctx, &stored.workorder))
            && !ends_unasked(ctx, &stored).await
        {
            if !is_shown {
                let step = format!("waiting: {}", wait.reason);
                ctx.show(&stored.workorder.objective_id, step, Some(wait.time));
                is_shown = true;
            }
            continue;
        }
        let resource = ResourceRef::from(&stored.workorder.work_order_id);
        if let Some(wait) = ctx.backs_off(&resource, stored.claim_count).await?
            && !(ctx.may_end_at_once(stored.claim_count) && ends_unasked(ctx, &stored).await)
        {
            tick = tick.or_wait(wait);
            continue;
        }
        let Some(claim) = lease::acquire(ctx, &resource, Actor::Runner).await? else {
            // C-8: on to the next candidate.
            if let Some(left) = ctx.refused_for(&resource, Some(&stored.workorder.objective_id)).await? {
                tick = tick.or_wait(left);
            }
            continue;
        };
        let work = async {
            // C-1: eligibility is read again under the claim.
            match ctx.read().workorder(&stored.workorder.work_order_id).await? {
                Some(again) if again.workorder.status == WorkorderStatus::Created => {
                    run(ctx, &claim, again).await.map(Some)
                }
                _ => Ok(None),
            }
        };
        match caught(Box::pin(work)).await {
            Ok(Some(ended)) => return ended,
            Ok(None) => lease::release(ctx, &claim, Release::Unused).await?,
            Err(error) => {
                let id = &stored.workorder.objective_id;
                return give_up_for_now(ctx, &claim, id, error).await;
            }
        }
    }
    Ok(tick)
}

/// Returns the name of the provider for a workorder; empty if this azolla has none for its type.
fn provider<'a>(ctx: &'a WorkerContext, workorder: &Workorder) -> &'a str {
    ctx.flow.diazotroph(workorder.diazotroph_type).map_or("", |diazotroph| diazotroph.provider())
}

/// Tells whether a workorder ends without anybody being asked: it was cancelled (S-m), its claims are used up (W-7), or
/// its budget is (B-2). `run` says which.
async fn ends_unasked(ctx: &WorkerContext, stored: &StoredWorkorder) -> bool {
    stored.claim_count >= ctx.settings.claims_without_outcome_max
        || stored.budget_consumed_ms >= stored.workorder.budget_ms
        || lease::is_cancelled(ctx, &stored.workorder.objective_id).await
}

/// How a run ended whose claim is dealt with: nobody gives that back any more, whatever the error is.
type Ended = Result<Tick, WorkerError>;

async fn run(ctx: &WorkerContext, claim: &Claim, stored: StoredWorkorder) -> Result<Ended, WorkerError> {
    let budget_ms = stored.workorder.budget_ms;
    let current = ctx.read().objective(&stored.workorder.objective_id).await?;
    let current = current.ok_or_else(|| WorkerError::Broken("the objective is gone".to_owned()))?;
    let is_cancelled = current.objective.metadata.contains_key("cancel");
    let subject = Subject { workorder: stored.workorder, objective: current.objective };
    let remaining = budget_ms.saturating_sub(claim.grant.budget_consumed_ms);
    if claim.grant.claim_count > ctx.settings.claims_without_outcome_max {
        let notes = format!("{} runs of this workorder ended without a result.", claim.grant.claim_count - 1);
        return Ok(finish(ctx, claim, &subject, Yield::failed(Some("POISON"), notes)).await);
    }
    if is_cancelled {
        return Ok(finish(ctx, claim, &subject, cancelled()).await);
    }
    if remaining == 0 {
        let result = Yield::over_budget(budget_ms, "Earlier claims used all of it.");
        return Ok(finish(ctx, claim, &subject, result).await);
    }
    let Some(diazotroph) = ctx.flow.diazotroph(subject.workorder.diazotroph_type) else {
        let notes = format!("This azolla has nobody for {}.", subject.workorder.diazotroph_type);
        return Ok(
            finish(ctx, claim, &subject, Yield::failed(Some(FailureKind::Setup.as_str()), notes)).await
        );
    };
    // The limit of retries is one for all claims (O-1).
    let before = match claim.grant.fence.claim_version {
        1 => Vec::new(),
        _ => ctx.read().usage_of(&subject.workorder.work_order_id).await?,
    };
    let retries_before = before.iter().fold(0_u64, |sum, usage| sum.saturating_add(usage.retries));
    let account = account(ctx, &subject.workorder);
    let meter = match ctx.ledger.begin(&account) {
        Ok(allowance) => Meter::new(allowance),
        Err(Withheld::Wait(wait)) => return wait_for(ctx, claim, &subject, &wait, None).await.map(Ok),
        Err(Withheld::Cap(reason)) => {
            return Ok(
                finish(ctx, claim, &subject, Yield::failed(Some(FailureKind::Cap.as_str()), reason)).await
            );
        }
    };
    let job = match load(ctx, claim, subject).await {
        Ok(job) => job,
        Err(error) => {
            ctx.ledger.end(&account, claim.grant.budget_consumed_ms);
            return Err(error);
        }
    };
    let left = Duration::from_millis(remaining);
    let show = |step: &str, detail: Option<&str>, limit| {
        ctx.show_detail(&job.subject.workorder.objective_id, step, detail, limit);
    };
    let asking = Asking {
        diazotroph,
        snapshot: &job.snapshot,
        budget_ms,
        remaining: left,
        retries_before,
        allowance: &meter,
        show: &show,
        is_asked: &job.is_asked,
    };
    // All of it is bounded: preparing and taking too, not only what the diazotroph does.
    let work = async {
        match (&ctx.flow, &job.attempt) {
            (Flow::Patch(flow), Some(attempt)) => {
                let work = Work { repository: &*flow.repository, attempt, asking };
                generation::generate(work).await.map_err(WorkerError::from)
            }
            _ => Ok(answer::generate(asking, &job.subject.workorder, claim).await),
        }
    };
    let work = timeout(left + GRACE, caught(Box::pin(work)));
    // Asked once the work is over or dropped: a request that was under way is settled by then.
    let used = || meter.usage(job.is_asked.load(Ordering::Relaxed));
    let result = match lease::hold(ctx, claim, &job.subject.workorder.objective_id, work).await {
        Held::Done(Ok(Ok(Worked::Done(result)))) => *result,
        Held::Done(Ok(Ok(Worked::Wait(wait, usage)))) => {
            ctx.ledger.hold(diazotroph.provider(), &wait);
            return wait_for(ctx, claim, &job.subject, &wait, Some(&usage)).await.map(Ok);
        }
        Held::Done(Ok(Err(WorkerError::Repository(RepositoryError::Unusable { what, action })))) => {
            let action = then_retry(&action, &job.subject.workorder.objective_id);
            let more = JsonObject::from_iter([("action".to_owned(), action.into())]);
            Yield { usage: used(), more, ..Yield::failed(Some("REPOSITORY"), what) }
        }
        Held::Done(Ok(Err(error))) => {
            return Ok(count_failure(ctx, claim, &job.subject, used().as_ref(), error).await);
        }
        Held::Done(Err(_)) => {
            let over = Yield::over_budget(budget_ms, "");
            Yield { usage: used(), sandbox_mode: meter.sandbox_mode(), ..over }
        }
        Held::Cancelled => Yield { usage: used(), sandbox_mode: meter.sandbox_mode(), ..cancelled() },
        // PF-6e: no further shared-state write. The time stays set aside, for whoever has the claim now.
        Held::Lost => return Ok(Ok(Tick::Advanced)),
        Held::Stopping => {
            give_back(ctx, claim, &job.subject, used().as_ref(), Release::Unused).await?;
            return Ok(Ok(Tick::Idle));
        }
    };
    Ok(finish(ctx, claim, &job.subject, result).await)
}

fn account(ctx: &WorkerContext, workorder: &Workorder) -> RunAccount {
    RunAccount {
        azolla_id: ctx.identity.azolla_id.clone(),
        objective_id: workorder.objective_id.clone(),
        is_standing: matches!(ctx.flow, Flow::TaskMgmt(_)),
        work_order_id: workorder.work_order_id.clone(),
        provider: provider(ctx, workorder).to_owned(),
        budget_ms: workorder.budget_ms,
    }
}

/// Nothing failed, and nothing can be done now: the workorder goes back as it is, with what was used so far on record
/// (B-3), and is not counted (W-7).
async fn wait_for(
    ctx: &WorkerContext,
    claim: &Claim,
    subject: &Subject,
    wait: &Wait,
    usage: Option<&Usage>,
) -> Result<Tick, WorkerError> {
    ctx.show(&subject.workorder.objective_id, format!("waiting: {}", wait.reason), Some(wait.time));
    give_back(ctx, claim, subject, usage, Release::Unused).await?;
    Ok(Tick::Idle)
}

/// Gives a claim back without an outcome, with what was used under it on record (B-3) and its time accounted for.
async fn give_back(
    ctx: &WorkerContext,
    claim: &Claim,
    subject: &Subject,
    usage: Option<&Usage>,
    release: Release,
) -> Result<(), WorkerError> {
    let now = lease::now(ctx, claim).await?;
    ctx.ledger.end(&account(ctx, &subject.workorder), consumed(claim, now));
    let Some(usage) = usage else { return Ok(lease::release(ctx, claim, release).await?) };
    let usage = Validated::new(usage_record(provider(ctx, &subject.workorder), claim, subject, usage, now))?;
    let commit = Commit::new(ctx.commit_id(), Actor::Runner)
        .with(Write::RecordUsage(usage))
        .with(Write::GiveBack(release));
    match lease::commit(ctx, claim, commit).await {
        Ok(_) | Err(SubstrateError::FenceLost { .. } | SubstrateError::OutcomeUnknown { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Budget consumed by all claims so far, by the store's clock (B-2).
fn consumed(claim: &Claim, now: Timestamp) -> u64 {
    claim.grant.budget_consumed_ms
        + u64::try_from(between(claim.grant.granted_at, now).as_millis()).unwrap_or(u64::MAX)
}

fn cancelled() -> Yield {
    Yield::failed(Some("CANCELLED"), "The operator cancelled the run.")
}

/// A fault of this workorder that may pass: its claim counts as one without an outcome (W-7), and it waits a little. Any other
/// ends the tick.
async fn give_up_for_now(
    ctx: &WorkerContext,
    claim: &Claim,
    objective_id: &ObjectiveId,
    error: WorkerError,
) -> Result<Tick, WorkerError> {
    let error = claimed::failed(ctx, claim, error, Release::Unused).await?;
    Ok(back_off(ctx, claim, objective_id, &error))
}

fn back_off(ctx: &WorkerContext, claim: &Claim, objective_id: &ObjectiveId, error: &WorkerError) -> Tick {
    let wait = ctx.backoff.failed(&claim.grant.fence.resource);
    ctx.show(objective_id, format!("waiting: {error}"), Some(wait));
    Tick::Waiting(wait)
}

/// All that a claimed workorder needs.
struct Job {
    subject: Subject,
    snapshot: ContextSnapshot,
    /// What a commit is made of; none where there is none to make.
    attempt: Option<Attempt>,
    /// Set once the diazotroph was asked: that may have cost something (B-3).
    is_asked: AtomicBool,
}

async fn load(ctx: &WorkerContext, claim: &Claim, subject: Subject) -> Result<Job, WorkerError> {
    let workorder = subject.workorder;
    let missing = |what: &str| WorkerError::Broken(format!("{} has no {what}", workorder.work_order_id));
    let snapshot = ctx.read().context_snapshot(&workorder.context_snapshot_id).await?;
    let snapshot = snapshot.ok_or_else(|| missing("context_snapshot"))?;
    let version = snapshot.metadata.as_ref().and_then(|metadata| metadata.get("objective_version")?.as_u64());
    let version = version.ok_or_else(|| missing("version of its objective"))?;
    let objective = ctx.read().objective_at(&workorder.objective_id, version).await?;
    let objective = objective.ok_or_else(|| missing("objective of its snapshot's version"))?;
    let attempt = match workorder.diazotroph_type {
        DiazotrophType::Patch => {
            let attempt = patch::attempt(&workorder, &snapshot, &objective.title);
            let attempt = attempt.ok_or_else(|| missing("base commit"))?;
            Some(Attempt { claim_version: claim.grant.fence.claim_version, ..attempt })
        }
        DiazotrophType::Triage | DiazotrophType::ManifestBuilder => None,
    };
    let subject = Subject { workorder, objective };
    Ok(Job { subject, snapshot, attempt, is_asked: AtomicBool::new(false) })
}

/// Ends a run with its bundle. One that cannot be recorded counts.
async fn finish(ctx: &WorkerContext, claim: &Claim, subject: &Subject, result: Yield) -> Ended {
    let usage = result.usage.clone();
    match record(ctx, claim, subject, result).await {
        Err(error) => count_failure(ctx, claim, subject, usage.as_ref(), error).await,
        recorded => recorded,
    }
}

/// A claim that may have been paid for counts, whatever failed, also where the disk has room for it and not for what came of
/// it: it would be paid for again and again (W-7). What was used stays on record (B-3). A fault of this workorder alone waits,
/// any other ends the tick.
async fn count_failure(
    ctx: &WorkerContext,
    claim: &Claim,
    subject: &Subject,
    usage: Option<&Usage>,
    error: WorkerError,
) -> Ended {
    if give_back(ctx, claim, subject, usage, Release::Failed).await.is_err() {
        // Not even that fits. What the store does not answer now, the end of the lease does.
        let _ = lease::release(ctx, claim, Release::Failed).await;
    }
    let waiting = back_off(ctx, claim, &subject.workorder.objective_id, &error);
    if error.is_of_one_resource() { Ok(waiting) } else { Err(error) }
}

/// The bundle and EXECUTED, in one fenced commit; then the branch, which is only a projection of it (G-1).
async fn record(
    ctx: &WorkerContext,
    claim: &Claim,
    subject: &Subject,
    mut result: Yield,
) -> Result<Tick, WorkerError> {
    let now = lease::now(ctx, claim).await?;
    let elapsed = consumed(claim, now);
    ctx.ledger.end(&account(ctx, &subject.workorder), elapsed);
    if result.status == RunnerStatus::Completed && elapsed > subject.workorder.budget_ms {
        // By the store's clock, which is the one that counts (B-2).
        let over = Yield::over_budget(subject.workorder.budget_ms, &result.notes);
        result = Yield {
            usage: result.usage,
            sandbox_mode: result.sandbox_mode,
            answer_form: result.answer_form,
            ..over
        };
    }
    answer::complete(ctx, claim, &subject.workorder, &mut result).await?;
    let stored = match Validated::new(bundle(subject, &result, elapsed, now)) {
        Ok(bundle) => bundle,
        Err(error) => {
            // What came back does not fit an artifact: the run still ends, with that as its reason (B-3).
            result = Yield { usage: result.usage, ..Yield::failed(None, error.to_string()) };
            answer::complete(ctx, claim, &subject.workorder, &mut result).await?;
            Validated::new(bundle(subject, &result, elapsed, now))?
        }
    };
    let mut commit = Commit::new(ctx.commit_id(), Actor::Runner).with(Write::Execute(stored));
    if let Some(usage) = &result.usage {
        let usage = usage_record(provider(ctx, &subject.workorder), claim, subject, usage, now);
        commit = commit.with(Write::RecordUsage(Validated::new(usage)?));
    }
    match lease::commit(ctx, claim, commit).await {
        Ok(_) => {
            ctx.backoff.moved(&claim.grant.fence.resource);
            ctx.backoff.know(&claim.grant.fence.resource);
        }
        // Taken over, or nobody can say: whoever claims it next finds out (PF-6e, C-9).
        Err(SubstrateError::FenceLost { .. } | SubstrateError::OutcomeUnknown { .. }) => {
            return Ok(Tick::Advanced);
        }
        Err(error) => return Err(error.into()),
    }
    if let (Flow::Patch(flow), Some((attempt, taken))) = (&ctx.flow, &result.taken) {
        // The gate verifies or repairs it, so a failure here loses nothing.
        let _ = flow.repository.project(attempt, &taken.commit).await;
    }
    Ok(Tick::Advanced)
}
