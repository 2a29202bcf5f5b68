//! Scheduler Worker: one TICKET_READY becomes one workorder, or a reason why not (PF-1 to PF-5).

use std::time::Duration;

use azolla_protocol::{
    Actor, BlockerId, BlockerKind, BlockerRef, ContextSnapshot, DiazotrophType, EventType, Objective,
    ObjectiveId, ObjectiveStatus, ProcessedReason, ResourceRef, Timestamp, Validated, WorkOrderId, Workorder,
    WorkorderStatus,
    lifecycle::{ObjectiveStep, has_open_blocker, is_archived},
    limits,
};
use azolla_substrate::{
    Commit, CommitOutcome, ObjectiveMark, PauseKey, Release, StoredEvent, StoredObjective, SubstrateError,
    Write,
};

use crate::{
    context::{RepositoryFile, Tick, WorkerContext, WorkerError},
    lease,
    operator::is_machine_made,
    pause::Ending,
    repo::RepositoryError,
    snapshot::{
        patch::{self, EarlierAttempt, PatchInputs},
        survey::survey,
    },
    workers::{CANDIDATES, repository_file},
};

/// Schedules the oldest event that can move.
pub async fn tick(ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    let mut tick = Tick::Idle;
    let events = ctx.read().unprocessed_events(EventType::TicketReady, CANDIDATES).await?;
    if events.is_empty() || !has_room(ctx).await? {
        // W-4, O-3: while there is no room, events wait unprocessed and unclaimed.
        return Ok(tick);
    }
    if let Some(wait) = ctx.ledger.waits(ctx.diazotroph.provider()) {
        // A quota or a cap of the day: events wait the same way, and are looked at again by the clock.
        if let Some(id) = events.first().and_then(|event| ObjectiveId::new(&*event.event.resource_id).ok()) {
            ctx.show(&id, format!("waiting: {}", wait.reason), Some(wait.time));
        }
        return Ok(tick);
    }
    for event in events {
        let resource = ResourceRef::from(&event.event.event_id);
        if let Some(wait) = ctx.backoff.wait(&resource) {
            tick = tick.or_wait(wait);
            continue;
        }
        let Some(evaluated) = ctx.unless_stopping(evaluate(ctx, &event)).await else { return Ok(Tick::Idle) };
        let commit = match evaluated {
            Ok(Some(commit)) => commit.claiming(resource.clone(), ctx.owner_id.clone()),
            Ok(None) => continue,
            Err(error) if error.is_of_one_resource() => {
                tick = tick.or_wait(give_up_for_now(ctx, &event, &error).await?);
                continue;
            }
            Err(error) => return Err(error),
        };
        // One transaction: claim, artifacts, transition, event, release (C-1, C-4, C-5).
        match ctx.substrate.commit(commit).await {
            Ok(CommitOutcome::Done) => {
                ctx.backoff.moved(&resource);
                return Ok(Tick::Advanced);
            }
            // C-8: on to the next candidate.
            Ok(CommitOutcome::Held) => {
                if let Some(left) = ctx.held_for(&resource, None).await? {
                    tick = tick.or_wait(left);
                }
            }
            // Somebody else was faster, or took the last place.
            Ok(CommitOutcome::StreamFull | CommitOutcome::ReviewLimit) => return Ok(tick),
            // What it was built on has changed since: look again.
            Err(SubstrateError::Changed { .. }) => return Ok(Tick::Advanced),
            Err(error) => {
                let error = WorkerError::from(error);
                if !error.is_of_one_resource() {
                    return Err(error);
                }
                tick = tick.or_wait(give_up_for_now(ctx, &event, &error).await?);
            }
        }
    }
    Ok(tick)
}

async fn has_room(ctx: &WorkerContext) -> Result<bool, SubstrateError> {
    let stream = ctx.read().stream().await?;
    let room = ctx.settings.room;
    Ok(stream.open < room.max_concurrent
        && (room.review_limit == 0 || stream.open + stream.waiting < room.review_limit))
}

/// A fault that may pass: the event's claim is counted as one without an outcome (W-7), and it waits a little.
async fn give_up_for_now(
    ctx: &WorkerContext,
    event: &StoredEvent,
    error: &WorkerError,
) -> Result<Duration, WorkerError> {
    let resource = ResourceRef::from(&event.event.event_id);
    if let Some(claim) = lease::acquire(ctx, &resource, Actor::Scheduler).await? {
        lease::release(ctx, &claim, Release::Failed).await?;
    }
    let wait = ctx.backoff.failed(&resource);
    if let Ok(id) = ObjectiveId::new(event.event.resource_id.clone()) {
        ctx.show(&id, format!("waiting: {error}"), Some(wait));
    }
    Ok(wait)
}

/// Steps 2 to 5 for one event: what to commit. None if the event stays as it is.
async fn evaluate(ctx: &WorkerContext, event: &StoredEvent) -> Result<Option<Commit>, WorkerError> {
    let found = match ObjectiveId::new(event.event.resource_id.clone()) {
        Ok(id) => ctx.read().objective(&id).await?,
        Err(_) => None,
    };
    let Some(stored) = found else {
        return Ok(Some(processed(ctx, event, ProcessedReason::MissingTicket)));
    };
    if is_archived(&stored.objective) {
        // Hidden and never scheduled, but reversible: the event waits for the objective to come back (S-o).
        return Ok(None);
    }
    if stored.objective.status != ObjectiveStatus::Todo || event.entry != Some(stored.todo_entry) {
        return Ok(Some(processed(ctx, event, ProcessedReason::NonExecutableStatus)));
    }
    if has_open_blocker(&stored.objective) {
        return block(ctx, event, &stored, None).await.map(Some);
    }
    if event.claim_count >= ctx.settings.claims_without_outcome_max {
        let what = format!("scheduling failed {} times in a row", event.claim_count);
        let action = "Check the repository and the disk: azolla doctor".to_owned();
        return block(ctx, event, &stored, Some(RepositoryError::Unusable { what, action })).await.map(Some);
    }
    ctx.show(&stored.objective.objective_id, "reading the repository", None);
    match schedule(ctx, event, &stored).await {
        Err(WorkerError::Repository(error @ RepositoryError::Unusable { .. })) => {
            block(ctx, event, &stored, Some(error)).await.map(Some)
        }
        outcome => outcome.map(Some),
    }
}

fn processed(ctx: &WorkerContext, event: &StoredEvent, reason: ProcessedReason) -> Commit {
    let event_id = event.event.event_id.clone();
    Commit::new(ctx.commit_id(), Actor::Scheduler).with(Write::ProcessEvent { event_id, reason })
}

/// PF-3: the objective becomes BLOCKED, by its own blockers or by one that the machine adds.
async fn block(
    ctx: &WorkerContext,
    event: &StoredEvent,
    stored: &StoredObjective,
    cause: Option<RepositoryError>,
) -> Result<Commit, WorkerError> {
    let now = ctx.read().now().await?;
    let mut next =
        Objective { status: ObjectiveStatus::Blocked, updated_at: now, ..stored.objective.clone() };
    let (reason, action) = match cause {
        None => {
            let open: Vec<&str> =
                next.blocked_on.iter().filter(|b| !b.resolved).map(|b| b.description.as_str()).collect();
            (open.join("; "), None)
        }
        Some(error) => {
            let reason = error.to_string();
            let action = match error {
                RepositoryError::Unusable { action, .. } => action,
                RepositoryError::Unavailable(_) => "Check the repository: azolla doctor".to_owned(),
            };
            let blocker_id = machine_blocker(&stored.objective.objective_id, stored.todo_entry)?;
            let (kind, description) = (BlockerKind::EnvironmentAccess, bounded(&reason));
            add_blocker(&mut next, BlockerRef { blocker_id, kind, description, resolved: false });
            (reason, Some(action))
        }
    };
    next.blocked_reason = Some(bounded(&reason));
    let ending = match &action {
        Some(action) => Ending::NoSnapshot { action },
        None => Ending::Blocked,
    };
    let event_id = event.event.event_id.clone();
    let pause = ending.pause(&ctx.identity.azolla_id, &stored.objective.objective_id, now)?;
    Ok(Commit::new(ctx.commit_id(), Actor::Scheduler)
        .with(Write::AdvanceObjective {
            was: ObjectiveMark::from(stored),
            step: ObjectiveStep::BlockByScheduler,
            next: Validated::new(next)?,
        })
        .with(Write::Pause { key: PauseKey::Event(event_id.clone()), pause })
        .with(Write::ProcessEvent { event_id, reason: ProcessedReason::Blocked }))
}

/// PF-4 and PF-5: snapshot and workorder, in one commit.
async fn schedule(
    ctx: &WorkerContext,
    event: &StoredEvent,
    stored: &StoredObjective,
) -> Result<Commit, WorkerError> {
    let objective = &stored.objective;
    let base_branch = text(objective, "base_branch");
    let repo_ref = text(objective, "repo_ref");
    if repo_ref != ctx.repo_ref {
        let what = format!("the objective is for {repo_ref}, this azolla works on {}", ctx.repo_ref);
        // Quoted for a shell: a path may have blanks in it.
        let repo = format!("'{}'", ctx.repo_ref.replace('\'', r"'\''"));
        let id = &objective.objective_id;
        let action =
            format!("Point it to this azolla's repository: azolla objective edit {id} --repo {repo}");
        return Err(RepositoryError::Unusable { what, action }.into());
    }
    let commit = match ctx.repository.base(base_branch).await {
        Err(RepositoryError::Unusable { what, action }) => {
            let elsewhere = format!("azolla objective edit {} --base BRANCH", objective.objective_id);
            let action = format!("{action} (to start from another branch: {elsewhere})");
            return Err(RepositoryError::Unusable { what, action }.into());
        }
        commit => commit?,
    };
    let earlier = earlier_attempts(ctx, &objective.objective_id).await?;
    let survey = survey(&*ctx.repository, &commit, patch::query(stored, &earlier)).await?;
    let now = ctx.read().now().await?;
    let inputs = PatchInputs {
        event_id: &event.event.event_id,
        stored,
        commit: &commit,
        base_branch,
        survey: &survey,
        earlier: &earlier,
        form: ctx.diazotroph.answer_form(),
        prompt_bytes: ctx.settings.prompt_bytes,
        repository_bytes: ctx.settings.prompt_repository_bytes,
    };
    let snapshot = patch::build(&inputs, now).map_err(|error| RepositoryError::Unusable {
        what: error.to_string(),
        action: format!("Shorten it with azolla objective edit {} --criteria TEXT", objective.objective_id),
    })?;
    let budget_ms = budget(ctx, objective, &repository_file(ctx, &commit).await?);
    let workorder = workorder(event, &snapshot, budget_ms, now);
    let next = Objective { status: ObjectiveStatus::InProgress, updated_at: now, ..objective.clone() };
    let event_id = event.event.event_id.clone();
    Ok(Commit::new(ctx.commit_id(), Actor::Scheduler)
        .with(Write::InsertSnapshot {
            snapshot: Validated::new(snapshot)?,
            objective_version: stored.version,
        })
        .with(Write::CreateWorkorder {
            workorder: Validated::new(workorder)?,
            event_id: event_id.clone(),
            room: ctx.settings.room,
        })
        .with(Write::AdvanceObjective {
            was: ObjectiveMark::from(stored),
            step: ObjectiveStep::Schedule,
            next: Validated::new(next)?,
        })
        .with(Write::ProcessEvent { event_id, reason: ProcessedReason::Scheduled }))
}

fn workorder(event: &StoredEvent, snapshot: &ContextSnapshot, budget_ms: u64, now: Timestamp) -> Workorder {
    Workorder {
        work_order_id: WorkOrderId::of(&event.event.event_id),
        objective_id: snapshot.objective_id.clone(),
        diazotroph_type: DiazotrophType::Patch,
        context_snapshot_id: snapshot.snapshot_id.clone(),
        branch_name: Some(format!("azolla/{}", snapshot.objective_id)),
        budget_ms,
        status: WorkorderStatus::Created,
        created_at: now,
    }
}

/// The operator's budget, for this objective or in general; a repository that is trusted may only make it smaller.
fn budget(ctx: &WorkerContext, objective: &Objective, file: &Option<RepositoryFile>) -> u64 {
    let asked = objective.metadata.get("budget_ms").and_then(|value| value.as_u64());
    let budget =
        asked.and_then(|ms| limits::BUDGET_PATCH_MS.check(ms).ok()).unwrap_or(ctx.settings.budget_patch_ms);
    match file {
        Some(RepositoryFile::Trusted(settings)) => {
            settings.budget_ms.map_or(budget, |ms| ms.clamp(1, budget))
        }
        _ => budget,
    }
}

/// Every attempt so far, oldest first: a retry sees what went wrong (PF-4).
async fn earlier_attempts(ctx: &WorkerContext, id: &ObjectiveId) -> Result<Vec<EarlierAttempt>, WorkerError> {
    /// What is further back helps nobody and fills the prompt.
    const EARLIER_MAX: usize = 5;
    let runs = ctx.read().runs_of(id).await?;
    let mut earlier = Vec::new();
    for run in runs.into_iter().rev().take(EARLIER_MAX) {
        if let Some(output) = ctx.read().output_bundle(&run.output_id).await? {
            earlier.push(EarlierAttempt { run, output });
        }
    }
    earlier.reverse();
    Ok(earlier)
}

/// The id of the blocker that the machine adds for an entry into TODO: told apart from an operator's by its body.
pub(crate) fn machine_blocker(id: &ObjectiveId, entry: u64) -> Result<BlockerId, WorkerError> {
    BlockerId::new(format!("blk-{}-{entry}", id.body()))
        .map_err(|error| WorkerError::Broken(format!("{id} can have no blocker: {error}")))
}

/// Adds a blocker. An objective holds so many at most: the oldest ones that the machine made and that are resolved make
/// room; earlier versions of the objective keep them (A-4).
pub(crate) fn add_blocker(objective: &mut Objective, blocker: BlockerRef) {
    const BLOCKERS_MAX: usize = 200;
    if objective.blocked_on.len() >= BLOCKERS_MAX {
        let id = objective.objective_id.clone();
        let old = |b: &BlockerRef| b.resolved && is_machine_made(&id, &b.blocker_id);
        if let Some(at) = objective.blocked_on.iter().position(old) {
            objective.blocked_on.remove(at);
        }
    }
    objective.blocked_on.push(blocker);
}

/// Cuts a reason to what a blocker may hold.
pub(crate) fn bounded(reason: &str) -> String {
    const BYTES_MAX: usize = 2_000;
    reason[..reason.floor_char_boundary(BYTES_MAX)].to_owned()
}

fn text<'a>(objective: &'a Objective, key: &str) -> &'a str {
    objective.metadata.get(key).and_then(|value| value.as_str()).unwrap_or_default()
}
