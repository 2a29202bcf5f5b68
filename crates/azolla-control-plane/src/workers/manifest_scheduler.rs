//! Manifest Scheduler Worker: one MANIFEST_REQUESTED becomes one workorder, or a reason why not (MF-1 to MF-4).

mod gathered;
mod period;

use azolla_protocol::{
    Actor, ContextSnapshot, DiazotrophType, EventId, EventType, ProcessedReason, ResourceRef, Timestamp,
    Validated, WorkOrderId, Workorder, WorkorderStatus,
};
use azolla_substrate::{Commit, PauseKey, StoredEvent, StreamRoom, Write};

use self::gathered::Gathered;
pub(super) use self::period::is_overwhelmed;
use crate::{
    context::{Tick, WorkerContext, WorkerError},
    flow::{Flow, TaskMgmtFlow},
    pause::manifest::Ending,
    snapshot::manifest,
    workers::{
        CANDIDATES,
        claimed::{self, Claimed},
        scheduler::has_schedulable_triage,
    },
};

/// The work stream of a TASK_MGMT azolla is one wide (W-4). What waits for the operator limits triage, not orientation,
/// which is about what waits (O-3).
const ROOM: StreamRoom = StreamRoom { max_concurrent: 1, review_limit: 0 };

/// Emits what the period asks for, then schedules the oldest request that can move.
pub async fn tick(ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    let Flow::TaskMgmt(flow) = &ctx.flow else { return Ok(Tick::Idle) };
    let emitted = period::emit_due(ctx).await?;
    match schedule_oldest(ctx, flow).await? {
        Tick::Idle => Ok(emitted),
        tick => Ok(tick),
    }
}

async fn schedule_oldest(ctx: &WorkerContext, flow: &TaskMgmtFlow) -> Result<Tick, WorkerError> {
    let mut tick = Tick::Idle;
    let events = ctx.read().unprocessed_events(EventType::ManifestRequested, CANDIDATES).await?;
    if events.is_empty() || ctx.read().stream().await?.open >= ROOM.max_concurrent {
        // W-4: while the stream is full, events wait unprocessed and unclaimed.
        return Ok(tick);
    }
    if has_schedulable_triage(ctx).await? {
        // W-4: triage goes first. What comes later is noticed in the commit.
        return Ok(tick);
    }
    if let Some(wait) = ctx.ledger.waits(flow.manifest.provider()) {
        ctx.show(&flow.standing, format!("waiting: {}", wait.reason), Some(wait.time));
        return Ok(tick);
    }
    for event in events {
        let resource = ResourceRef::from(&event.event.event_id);
        if let Some(wait) = ctx.backs_off(&resource, event.claim_count).await? {
            tick = tick.or_wait(wait);
            continue;
        }
        // Asking takes long, so it happens under a claim that is held meanwhile (MF-2).
        let work = Box::pin(answer(ctx, flow, &event.event.event_id));
        match claimed::commit(ctx, &resource, Actor::ManifestScheduler, &flow.standing, work).await? {
            Claimed::Moved => return Ok(Tick::Advanced),
            Claimed::Stays => {}
            // Something else took the place meanwhile: the event waits for it.
            Claimed::Full => return Ok(tick),
            // C-8: on to the next candidate.
            Claimed::Held => {
                if let Some(left) = ctx.refused_for(&resource, Some(&flow.standing)).await? {
                    tick = tick.or_wait(left);
                }
            }
            Claimed::Failed(error) => {
                let wait = ctx.backoff.failed(&resource);
                ctx.show(&flow.standing, format!("waiting: {error}"), Some(wait));
                tick = tick.or_wait(wait);
            }
            Claimed::Stopping => return Ok(Tick::Idle),
        }
    }
    Ok(tick)
}

/// What a request comes to, under its claim. None if it was answered meanwhile (C-1).
async fn answer(
    ctx: &WorkerContext,
    flow: &TaskMgmtFlow,
    event_id: &EventId,
) -> Result<Option<Commit>, WorkerError> {
    let event = match ctx.read().event(event_id).await? {
        Some(event) if !event.event.processed => event,
        _ => return Ok(None),
    };
    // Without the claim of this look.
    let claims = event.claim_count.saturating_sub(1);
    if claims >= ctx.settings.claims_without_outcome_max {
        return poisoned(ctx, flow, &event, claims).await.map(Some);
    }
    ctx.show(&flow.standing, "asking the other azollas", Some(ctx.settings.peer_query));
    let gathered = Gathered::new(ctx, flow).await?;
    evaluate(ctx, flow, &event, &gathered).map(Some)
}

/// Steps 2 to 4: what to commit.
fn evaluate(
    ctx: &WorkerContext,
    flow: &TaskMgmtFlow,
    event: &StoredEvent,
    gathered: &Gathered,
) -> Result<Commit, WorkerError> {
    if manifest::answered(&gathered.sources, &ctx.identity.azolla_id).is_empty() {
        let remarks: Vec<String> = gathered
            .sources
            .iter()
            .filter(|source| source.azolla_id != ctx.identity.azolla_id)
            .map(|source| format!("{}: {}", source.azolla_id, source.remark))
            .collect();
        let ending = Ending::NobodyAnswered {
            remarks: &remarks,
            captures_pending: gathered.captures_pending,
            candidates_open: gathered.candidates_open,
        };
        return end(ctx, flow, event, ProcessedReason::NoReachableAzollas, &ending, gathered.now);
    }
    let snapshot = match manifest::build(&gathered.inputs(ctx, flow, &event.event.event_id)) {
        Ok(snapshot) => snapshot,
        Err(too_large) => {
            let ending = Ending::NoSnapshot {
                what: &too_large.to_string(),
                action: "Raise prompt_bytes in [limits] of the configuration, then run: azolla manifest",
            };
            return end(ctx, flow, event, ProcessedReason::Blocked, &ending, gathered.now);
        }
    };
    let workorder = workorder(ctx, event, &snapshot, gathered.now);
    let event_id = event.event.event_id.clone();
    let mut commit = Commit::new(ctx.commit_id(), Actor::ManifestScheduler)
        .with(Write::InsertSnapshot {
            snapshot: Validated::new(snapshot)?,
            objective_version: gathered.standing_version,
        })
        .with(Write::CreateWorkorder {
            workorder: Validated::new(workorder)?,
            event_id: event_id.clone(),
            room: ROOM,
        });
    if ctx.ledger.waits(flow.triage.provider()).is_none() {
        // W-4: notes can have come while others were asked.
        let attempts_max = ctx.settings.attempts_max;
        commit =
            commit.with(Write::TriageFirst { attempts_max, review_limit: ctx.settings.room.review_limit });
    }
    Ok(commit.with(Write::ProcessEvent { event_id, reason: ProcessedReason::Scheduled }))
}

fn workorder(
    ctx: &WorkerContext,
    event: &StoredEvent,
    snapshot: &ContextSnapshot,
    now: Timestamp,
) -> Workorder {
    Workorder {
        work_order_id: WorkOrderId::of(&event.event.event_id),
        objective_id: snapshot.objective_id.clone(),
        diazotroph_type: DiazotrophType::ManifestBuilder,
        context_snapshot_id: snapshot.snapshot_id.clone(),
        branch_name: None,
        budget_ms: ctx.settings.budget_manifest_ms,
        status: WorkorderStatus::Created,
        created_at: now,
    }
}

/// Ends an event without a workorder. The standing objective stays as it is; its pause_state says what is next.
fn end(
    ctx: &WorkerContext,
    flow: &TaskMgmtFlow,
    event: &StoredEvent,
    reason: ProcessedReason,
    ending: &Ending<'_>,
    now: Timestamp,
) -> Result<Commit, WorkerError> {
    let event_id = event.event.event_id.clone();
    let pause = ending.pause(&ctx.identity.azolla_id, &flow.standing, now)?;
    Ok(Commit::new(ctx.commit_id(), Actor::ManifestScheduler)
        .with(Write::Pause { key: PauseKey::Event(event_id.clone()), pause })
        .with(Write::ProcessEvent { event_id, reason }))
}

/// W-7: too many claims on the event came to nothing.
async fn poisoned(
    ctx: &WorkerContext,
    flow: &TaskMgmtFlow,
    event: &StoredEvent,
    claims: u64,
) -> Result<Commit, WorkerError> {
    let what = format!("Scheduling an orientation failed {claims} times in a row");
    let action = "Check the stores and the disk: azolla doctor && azolla manifest";
    let ending = Ending::NoSnapshot { what: &what, action };
    end(ctx, flow, event, ProcessedReason::Blocked, &ending, ctx.read().now().await?)
}
