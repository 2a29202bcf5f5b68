//! A TICKET_READY becomes the workorder of a patch, or a reason why not (PF-2 to PF-5).

use azolla_protocol::{
    Actor, BlockerId, BlockerKind, BlockerRef, ContextSnapshot, DiazotrophType, Objective, ObjectiveId,
    ObjectiveStatus, ProcessedReason, Timestamp, Validated, WorkOrderId, Workorder, WorkorderStatus,
    lifecycle::{ObjectiveStep, has_open_blocker, is_archived},
    limits,
};
use azolla_substrate::{Commit, ObjectiveMark, PauseKey, StoredEvent, StoredObjective, Write};

use super::processed;
use crate::{
    context::{RepositoryFile, WorkerContext, WorkerError},
    flow::PatchFlow,
    operator::is_machine_made,
    pause::patch::Ending,
    repo::RepositoryError,
    snapshot::{
        patch::{self, EarlierAttempt, PatchInputs},
        survey::survey,
    },
    workers::{base_of, repository_file},
};

/// Steps 2 to 5 for one event: what to commit. None if the event stays as it is.
pub(super) async fn evaluate(
    ctx: &WorkerContext,
    flow: &PatchFlow,
    event: &StoredEvent,
) -> Result<Option<Commit>, WorkerError> {
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
    match schedule(ctx, flow, event, &stored).await {
        Err(WorkerError::Repository(error @ RepositoryError::Unusable { .. })) => {
            block(ctx, event, &stored, Some(error)).await.map(Some)
        }
        outcome => outcome.map(Some),
    }
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
    flow: &PatchFlow,
    event: &StoredEvent,
    stored: &StoredObjective,
) -> Result<Commit, WorkerError> {
    let objective = &stored.objective;
    let base_branch = text(objective, "base_branch");
    let repo_ref = text(objective, "repo_ref");
    if repo_ref != flow.repo_ref {
        let what = format!("the objective is for {repo_ref}, this azolla works on {}", flow.repo_ref);
        // Quoted for a shell: a path may have blanks in it.
        let repo = format!("'{}'", flow.repo_ref.replace('\'', r"'\''"));
        let id = &objective.objective_id;
        let action =
            format!("Point it to this azolla's repository: azolla objective edit {id} --repo {repo}");
        return Err(RepositoryError::Unusable { what, action }.into());
    }
    let commit = base_of(flow, &objective.objective_id, base_branch).await?;
    let earlier = match stored.todo_entry {
        1 => Vec::new(),
        _ => earlier_attempts(ctx, &objective.objective_id).await?,
    };
    let survey = survey(&*flow.repository, &commit, patch::query(stored, &earlier)).await?;
    let now = ctx.read().now().await?;
    let inputs = PatchInputs {
        event_id: &event.event.event_id,
        stored,
        commit: &commit,
        base_branch,
        survey: &survey,
        earlier: &earlier,
        form: flow.diazotroph.answer_form(),
        prompt_bytes: ctx.settings.prompt_bytes,
        repository_bytes: ctx.settings.prompt_repository_bytes,
    };
    let snapshot = patch::build(&inputs, now).map_err(|error| RepositoryError::Unusable {
        what: error.to_string(),
        action: format!("Shorten it with azolla objective edit {} --criteria TEXT", objective.objective_id),
    })?;
    let budget_ms = budget(ctx, objective, &repository_file(flow, &commit, base_branch).await?);
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
