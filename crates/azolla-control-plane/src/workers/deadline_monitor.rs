//! Deadline Monitor Worker: what should have moved is pointed at (7.4, D-1, D-2). No claim, and no write but here.

use std::time::Duration;

use azolla_protocol::{Actor, Deadlines, EventType, Objective, ResourceRef, Timestamp, WorkerRole};
use azolla_substrate::{Commit, PauseKey, Write};

use crate::{
    asking,
    context::{Tick, WorkerContext, WorkerError},
    flow::{Flow, TaskMgmtFlow},
    pause::deadline::Overdue,
};

/// How often it looks. Deadlines are days, and every look asks all azollas.
const EVERY: Duration = Duration::from_secs(15 * 60);

/// What is pointed at in one look, the most urgent first; the rest follows with the next ones.
const OVERDUE_MAX: usize = 200;

/// One look, when it is time for one. A run that ends when idle does not wait for the next.
pub async fn tick(ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    let Flow::TaskMgmt(flow) = &ctx.flow else { return Ok(Tick::Idle) };
    if !is_due(ctx) || is_asked_soon(ctx, flow).await? {
        return Ok(Tick::Idle);
    }
    let Some(looked) = ctx.unless_stopping(look(ctx, flow)).await else { return Ok(Tick::Idle) };
    let tick = looked?;
    ctx.backoff.looked(WorkerRole::DeadlineMonitor);
    Ok(tick)
}

/// Tells whether it is time for a look.
pub(super) fn is_due(ctx: &WorkerContext) -> bool {
    ctx.settings.roles.contains(&WorkerRole::DeadlineMonitor)
        && ctx.backoff.is_due(WorkerRole::DeadlineMonitor, EVERY)
}

/// Tells whether an orientation is about to ask everybody the same: then its answers serve both. One that waits for
/// something else than a place in the work stream is not waited for.
async fn is_asked_soon(ctx: &WorkerContext, flow: &TaskMgmtFlow) -> Result<bool, WorkerError> {
    const ONE: u64 = 1;
    if !ctx.settings.roles.contains(&WorkerRole::ManifestScheduler)
        || ctx.ledger.waits(flow.manifest.provider()).is_some()
    {
        return Ok(false);
    }
    let requests = ctx.read().unprocessed_events(EventType::ManifestRequested, ONE).await?;
    Ok(requests.iter().any(|request| {
        request.claim_count == 0 && ctx.backoff.wait(&ResourceRef::from(&request.event.event_id)).is_none()
    }))
}

async fn look(ctx: &WorkerContext, flow: &TaskMgmtFlow) -> Result<Tick, WorkerError> {
    // Also those whose urgency has no deadline: a day that they are due is one.
    const EVERY_URGENCY: u8 = 4;
    let asked_at = ctx.read().now().await?;
    let mut objectives = asking::own_objectives(ctx, EVERY_URGENCY).await?;
    let heard = match ctx.overheard.take() {
        Some(heard) => heard,
        None => asking::objectives(ctx, flow, EVERY_URGENCY, asked_at).await,
    };
    for heard in heard {
        // Whoever did not answer is named elsewhere; what did come counts (M-4).
        objectives.extend(heard.found);
    }
    let now = ctx.read().now().await?;
    let mut tick = Tick::Idle;
    let mut left = OVERDUE_MAX;
    for mut overdue in overdue(&objectives, &ctx.settings.deadlines, now) {
        if left == 0 {
            break;
        }
        // One that is over has moved the deadline too: to where it ended (D-1).
        let snoozed = ctx.read().snooze(&overdue.azolla_id, &overdue.objective_id).await?;
        overdue.deadline = snoozed.map_or(overdue.deadline, |until| until.max(overdue.deadline));
        if overdue.deadline <= now
            && !is_pointed_at(ctx, &overdue, now).await?
            && point_at(ctx, &overdue, now).await?
        {
            left -= 1;
            tick = Tick::Advanced;
        }
    }
    Ok(tick)
}

/// Returns what should have moved by now if nothing is put off, the most urgent first, then what has waited longest.
fn overdue(objectives: &[Objective], deadlines: &Deadlines, now: Timestamp) -> Vec<Overdue> {
    const NOT_SNOOZED: Option<Timestamp> = None;
    let mut overdue: Vec<Overdue> = objectives
        .iter()
        .filter_map(|objective| {
            let deadline = deadlines.of_objective(objective, NOT_SNOOZED)?;
            (deadline <= now).then(|| Overdue {
                azolla_id: objective.azolla_id.clone(),
                objective_id: objective.objective_id.clone(),
                urgency: objective.urgency,
                deadline,
            })
        })
        .collect();
    overdue.sort_by_key(|overdue| (overdue.urgency, overdue.deadline, overdue.objective_id.clone()));
    overdue
}

/// Tells whether D-1 leaves nothing to write: this deadline is on record, or one of the last 24 hours that was no less
/// urgent. The database refuses what comes in between.
async fn is_pointed_at(ctx: &WorkerContext, overdue: &Overdue, now: Timestamp) -> Result<bool, WorkerError> {
    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
    let latest = ctx.read().latest_deadline_pause(&overdue.azolla_id, &overdue.objective_id).await?;
    Ok(latest.is_some_and(|latest| {
        // To both sides, as the database counts it: one from a time when the clock was ahead silences nothing.
        let written_at = latest.pause.created_at;
        let is_recent = written_at.plus_ms(DAY_MS) > now && written_at < now.plus_ms(DAY_MS);
        latest.at == overdue.deadline || (is_recent && latest.urgency <= overdue.urgency)
    }))
}

/// Writes the one pause_state of a deadline; false if the store has one already, or one of the last 24 hours (D-1).
async fn point_at(ctx: &WorkerContext, overdue: &Overdue, now: Timestamp) -> Result<bool, WorkerError> {
    let key = PauseKey::Deadline { at: overdue.deadline, urgency: overdue.urgency };
    let write = Write::Pause { key, pause: overdue.pause(now)? };
    let commit = Commit::new(ctx.commit_id(), Actor::DeadlineMonitor).with(write);
    match ctx.substrate.commit(commit).await {
        Ok(_) => Ok(true),
        // Another machine was first.
        Err(error) if error.is_refused_by("D-1") || error.is_refused_by("A-1") => Ok(false),
        Err(error) => Err(error.into()),
    }
}
