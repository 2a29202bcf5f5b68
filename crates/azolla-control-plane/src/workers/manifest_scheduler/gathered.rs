//! All that an orientation is made from: what the others said, and what is here (MF-2, MF-3).

use azolla_protocol::{
    DiazotrophType, EventId, EventType, Objective, PauseState, QueryStatus, Timestamp, WorkOrderId,
};
use azolla_substrate::{StoredObjective, SubstrateError};

use crate::{
    asking::{self, Heard},
    context::{WorkerContext, WorkerError},
    flow::TaskMgmtFlow,
    snapshot::manifest::{ManifestInputs, Snoozes, Source},
    workers::deadline_monitor,
};

/// What there is to say, as of one moment.
pub(super) struct Gathered {
    pub(super) now: Timestamp,
    pub(super) standing_version: u64,
    pub(super) captures_pending: u64,
    pub(super) candidates_open: u64,
    pause_states: Vec<PauseState>,
    pub(super) sources: Vec<Source>,
    snoozes: Snoozes,
}

impl Gathered {
    /// Asks everybody, then looks at what is here.
    pub(super) async fn new(ctx: &WorkerContext, flow: &TaskMgmtFlow) -> Result<Self, WorkerError> {
        const EVERY_URGENCY: u8 = 4;
        let asked_at = ctx.read().now().await?;
        let (pauses, objectives) = tokio::join!(
            asking::pause_states(ctx, flow, asked_at),
            asking::objectives(ctx, flow, EVERY_URGENCY, asked_at)
        );
        if deadline_monitor::is_due(ctx) {
            ctx.overheard.keep(objectives.clone());
        }
        let mut sources: Vec<Source> = pauses
            .into_iter()
            .zip(objectives)
            .map(|(pauses, objectives)| source(pauses, objectives))
            .collect();
        let own = asking::own_objectives(ctx, EVERY_URGENCY).await?;
        if !own.is_empty() {
            sources.push(Source {
                azolla_id: ctx.identity.azolla_id.clone(),
                status: QueryStatus::Ok,
                remark: String::new(),
                pause_states: Vec::new(),
                objectives: own,
            });
        }
        let standing = ctx.read().objective(&flow.standing).await?;
        let standing = standing.ok_or_else(|| {
            WorkerError::Broken(format!("there is no standing objective {}", flow.standing))
        })?;
        let snoozes = ctx.read().snoozes().await?.into_iter();
        let snoozes = snoozes.map(|snooze| ((snooze.azolla_id, snooze.objective_id), snooze.until)).collect();
        Ok(Self {
            now: ctx.read().now().await?,
            standing_version: standing.version,
            captures_pending: ctx.read().count_pending_captures().await?,
            candidates_open: ctx.read().count_open_candidates().await?,
            pause_states: own_pauses(ctx, &standing).await?,
            sources,
            snoozes,
        })
    }

    /// Returns what the snapshot for an event is built from.
    pub(super) fn inputs<'a>(
        &'a self,
        ctx: &'a WorkerContext,
        flow: &'a TaskMgmtFlow,
        event_id: &'a EventId,
    ) -> ManifestInputs<'a> {
        ManifestInputs {
            event_id,
            standing: (&flow.standing, self.standing_version),
            azolla_id: &ctx.identity.azolla_id,
            now: self.now,
            captures_pending: self.captures_pending,
            candidates_open: self.candidates_open,
            pause_states: &self.pause_states,
            sources: &self.sources,
            deadlines: &ctx.settings.deadlines,
            snoozes: &self.snoozes,
            prompt_bytes: ctx.settings.prompt_bytes,
        }
    }
}

/// The current pause_states here, but for that of an earlier orientation: what it said is said anew.
async fn own_pauses(
    ctx: &WorkerContext,
    standing: &StoredObjective,
) -> Result<Vec<PauseState>, SubstrateError> {
    let mut pauses = ctx.read().current_pause_states().await?;
    if is_of_orientation(ctx, standing.pause_key.as_deref().unwrap_or_default()).await? {
        pauses.retain(|pause| pause.objective_id != standing.objective.objective_id);
    }
    Ok(pauses)
}

async fn is_of_orientation(ctx: &WorkerContext, pause_key: &str) -> Result<bool, SubstrateError> {
    if let Some(id) = pause_key.strip_prefix("workorder:").and_then(|id| WorkOrderId::new(id).ok()) {
        let stored = ctx.read().workorder(&id).await?;
        return Ok(
            stored.is_some_and(|stored| stored.workorder.diazotroph_type == DiazotrophType::ManifestBuilder)
        );
    }
    let Some(id) = pause_key.strip_prefix("event:").and_then(|id| EventId::new(id).ok()) else {
        return Ok(false);
    };
    let stored = ctx.read().event(&id).await?;
    Ok(stored.is_some_and(|stored| stored.event.event_type == EventType::ManifestRequested))
}

/// Both answers of one azolla. It answered if it gave its pause_states; that its objectives are missing is a remark.
fn source(pauses: Heard<PauseState>, objectives: Heard<Objective>) -> Source {
    if pauses.status != QueryStatus::Ok {
        let Heard { azolla_id, status, remark, .. } = pauses;
        return Source { azolla_id, status, remark, pause_states: Vec::new(), objectives: Vec::new() };
    }
    let remark = match (pauses.remark.as_str(), objectives.remark.as_str()) {
        (said, "") => said.to_owned(),
        (said, again) if said == again => said.to_owned(),
        ("", missing) => format!("objectives: {missing}"),
        (said, missing) => format!("{said}; objectives: {missing}"),
    };
    Source {
        azolla_id: pauses.azolla_id,
        status: pauses.status,
        remark,
        pause_states: pauses.found,
        objectives: objectives.found,
    }
}
