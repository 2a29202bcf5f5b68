//! A CAPTURE_READY becomes the workorder of a triage, or a reason why not (TF-2 to TF-4).

use std::collections::{BTreeMap, BTreeSet};

use azolla_protocol::{
    Actor, CaptureBuffer, CaptureId, CaptureStatus, ContextSnapshot, DiazotrophType, EventType,
    ProcessedReason, ResourceRef, Timestamp, Validated, WorkOrderId, Workorder, WorkorderStatus,
    content::TargetAzolla,
};
use azolla_substrate::{Commit, PauseKey, StoredCapture, StoredEvent, StoredObjective, Write};

use super::{has_room, processed, room};
use crate::{
    context::{WorkerContext, WorkerError},
    flow::{Flow, TaskMgmtFlow},
    pause::triage::Ending,
    snapshot::triage::{Built, TriageInputs, build},
    triage::{attempts_of, is_eligible},
    workers::CANDIDATES,
};

/// Steps 2 to 4 for one event: what to commit. None if the event stays as it is.
pub(super) async fn evaluate(
    ctx: &WorkerContext,
    flow: &TaskMgmtFlow,
    event: &StoredEvent,
) -> Result<Option<Commit>, WorkerError> {
    let before = own_capture(ctx, event).await?;
    let standing = ctx.read().objective(&flow.standing).await?;
    if event.claim_count >= ctx.settings.claims_without_outcome_max {
        return poisoned(ctx, event, standing.as_ref(), before.as_ref()).await.map(Some);
    }
    let missing = || WorkerError::Broken(format!("the standing objective {} is missing", flow.standing));
    let standing = standing.ok_or_else(missing)?;
    if first(ctx, before.as_ref()).await?.is_none() {
        return Ok(Some(processed(ctx, event, ProcessedReason::NoPendingCaptures)));
    }
    ctx.show(&flow.standing, "collecting captures", None);
    // Asking takes long, and others try captures meanwhile: what the commit compares is read after it.
    let targets = flow.targets.targets().await;
    let own = own_capture(ctx, event).await?;
    let Some(first) = first(ctx, own.as_ref()).await? else {
        return Ok(Some(processed(ctx, event, ProcessedReason::NoPendingCaptures)));
    };
    schedule(ctx, event, &standing, own.as_ref(), first, targets).await.map(Some)
}

/// The capture that an event is about.
async fn own_capture(ctx: &WorkerContext, event: &StoredEvent) -> Result<Option<StoredCapture>, WorkerError> {
    match CaptureId::new(event.event.resource_id.clone()) {
        Ok(id) => Ok(ctx.read().capture(&id).await?),
        Err(_) => Ok(None),
    }
}

/// Tells whether an event could become a triage now, as the commit of an orientation sees it, which waits for those (W-4).
pub async fn has_schedulable_triage(ctx: &WorkerContext) -> Result<bool, WorkerError> {
    let Flow::TaskMgmt(flow) = &ctx.flow else { return Ok(false) };
    if ctx.ledger.waits(flow.triage.provider()).is_some() || !has_room(ctx).await? {
        return Ok(false);
    }
    for event in ctx.read().unprocessed_events(EventType::CaptureReady, CANDIDATES).await? {
        let resource = ResourceRef::from(&event.event.event_id);
        let wait = match event.claim_count {
            // What waits in this process alone, that commit does not see: an orientation that went ahead would be refused, and
            // tried again at once. The wait has an end, and W-7 counts what fails after it.
            0 => None,
            claim_count => ctx.backs_off(&resource, claim_count).await?,
        };
        if wait.is_none() && ctx.held_for(&resource, None).await?.is_none() {
            return Ok(ctx.read().has_pending_capture(ctx.settings.attempts_max).await?);
        }
    }
    Ok(false)
}

/// The event's own capture, if it can be tried; else the oldest that can, so that none is left behind without an event.
async fn first(
    ctx: &WorkerContext,
    own: Option<&StoredCapture>,
) -> Result<Option<StoredCapture>, WorkerError> {
    let attempts_max = ctx.settings.attempts_max;
    match own {
        Some(own) if is_eligible(own, attempts_max) => Ok(Some(own.clone())),
        _ => Ok(ctx.read().pending_captures(attempts_max, 1).await?.pop()),
    }
}

/// TF-2: a capture that was tried before goes alone. Others go together, oldest first, `first` always among them.
async fn batch(ctx: &WorkerContext, first: &StoredCapture) -> Result<Vec<StoredCapture>, WorkerError> {
    if first.attempts > first.attempts_before {
        return Ok(vec![first.clone()]);
    }
    let limit = ctx.settings.triage_batch.max(1);
    let mut fresh = ctx.read().fresh_captures(limit).await?;
    if !fresh.iter().any(|stored| stored.capture.capture_id == first.capture.capture_id) {
        fresh.truncate(usize::try_from(limit - 1).unwrap_or(usize::MAX));
        fresh.push(first.clone());
    }
    Ok(fresh)
}

/// TF-3 and TF-4: snapshot, workorder and counted attempts, in one commit.
async fn schedule(
    ctx: &WorkerContext,
    event: &StoredEvent,
    standing: &StoredObjective,
    own: Option<&StoredCapture>,
    first: StoredCapture,
    targets: Vec<TargetAzolla>,
) -> Result<Commit, WorkerError> {
    let captured = batch(ctx, &first).await?;
    let attempts: BTreeMap<CaptureId, u64> =
        captured.iter().map(|stored| (stored.capture.capture_id.clone(), stored.attempts)).collect();
    let captures: Vec<CaptureBuffer> = captured.into_iter().map(|stored| stored.capture).collect();
    let earlier = earlier_failures(ctx, &first).await?;
    let now = ctx.read().now().await?;
    let inputs = TriageInputs {
        event_id: &event.event.event_id,
        standing,
        first: &first.capture,
        captures: &captures,
        targets,
        earlier: &earlier,
        prompt_bytes: ctx.settings.prompt_bytes,
    };
    let Built { snapshot, batch } = match build(inputs, now) {
        Ok(built) => built,
        Err(too_large) => {
            // The limit leaves no room for any capture, so all of them are held at once (O-1).
            let action = format!(
                "Raise prompt_bytes in [limits] above {}, then run: azolla triage retry",
                too_large.bytes
            );
            let mut held: BTreeSet<CaptureId> = attempts.into_keys().collect();
            held.extend(own.and_then(to_hold));
            return not_scheduled(ctx, event, Some(standing), held, &action, now);
        }
    };
    let workorder = workorder(ctx, event, &snapshot, now);
    let event_id = event.event.event_id.clone();
    let mut commit = Commit::new(ctx.commit_id(), Actor::Scheduler)
        .with(Write::InsertSnapshot {
            snapshot: Validated::new(snapshot)?,
            objective_version: standing.version,
        })
        .with(Write::CreateWorkorder {
            workorder: Validated::new(workorder)?,
            event_id: event_id.clone(),
            room: room(ctx),
        });
    for capture_id in batch {
        let attempts = attempts[&capture_id];
        commit = commit.with(Write::CountAttempt { capture_id, attempts });
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
        diazotroph_type: DiazotrophType::Triage,
        context_snapshot_id: snapshot.snapshot_id.clone(),
        branch_name: None,
        budget_ms: ctx.settings.budget_triage_ms,
        status: WorkorderStatus::Created,
        created_at: now,
    }
}

/// Why earlier attempts on a capture failed: the next answer need not fail on the same.
async fn earlier_failures(ctx: &WorkerContext, first: &StoredCapture) -> Result<Vec<String>, WorkerError> {
    if first.attempts == first.attempts_before {
        return Ok(Vec::new());
    }
    let attempted = attempts_of(ctx.read(), &first.capture.capture_id).await?;
    Ok(attempted.into_iter().map(|attempt| attempt.run.gate_reason).collect())
}

/// W-7: scheduling this event was begun too often without an end. Its capture is held, so that the others go on.
async fn poisoned(
    ctx: &WorkerContext,
    event: &StoredEvent,
    standing: Option<&StoredObjective>,
    own: Option<&StoredCapture>,
) -> Result<Commit, WorkerError> {
    let now = ctx.read().now().await?;
    let check = format!(
        "Scheduling a triage failed {} times in a row; check the store and the disk: azolla doctor",
        event.claim_count
    );
    let held: BTreeSet<CaptureId> = own.and_then(to_hold).into_iter().collect();
    let action = match held.first() {
        Some(id) => format!("{check} && azolla triage retry {id}"),
        None => check,
    };
    not_scheduled(ctx, event, standing, held, &action, now)
}

/// The capture's id, if another event would follow for it.
fn to_hold(stored: &StoredCapture) -> Option<CaptureId> {
    let is_open = stored.capture.status == CaptureStatus::Pending && !stored.held;
    is_open.then(|| stored.capture.capture_id.clone())
}

/// The event ends BLOCKED, with captures that wait for the operator and what to do about it. The standing objective stays
/// as it is (O-1). Without one there is no pause_state: it would be of nothing.
fn not_scheduled(
    ctx: &WorkerContext,
    event: &StoredEvent,
    standing: Option<&StoredObjective>,
    held: BTreeSet<CaptureId>,
    action: &str,
    now: Timestamp,
) -> Result<Commit, WorkerError> {
    let event_id = event.event.event_id.clone();
    let ending = Ending::NotScheduled { action };
    let mut commit = Commit::new(ctx.commit_id(), Actor::Scheduler);
    if let Some(standing) = standing {
        let pause = ending.pause(&ctx.identity.azolla_id, &standing.objective.objective_id, now)?;
        commit = commit.with(Write::Pause { key: PauseKey::Event(event_id.clone()), pause });
    }
    for id in held {
        commit = commit.with(Write::HoldCapture(id));
    }
    Ok(commit.with(Write::ProcessEvent { event_id, reason: ProcessedReason::Blocked }))
}
