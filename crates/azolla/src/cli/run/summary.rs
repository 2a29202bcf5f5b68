//! How a run ended, objective by objective, and the exit code that it stands for.

use std::{process::ExitCode, sync::Arc};

use azolla_control_plane::WorkerContext;
use azolla_protocol::{
    Clock, FailureKind, ObjectiveStatus, ObjectiveType, PauseReason, PauseState, Wait, WaitSource,
};
use azolla_substrate::SystemClock;

use super::has_work;
use crate::{
    deployment::Deployment,
    home::Home,
    ledger::{self, Waiting, Why},
    screen::{BAD, FAINT, GOOD, PLAIN, Page, day_and_time},
};

/// What is told at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tell {
    /// Everything that paused, on stdout.
    All,
    /// What did not go well, on stderr: the rest is shown by whoever asked for it.
    Failures,
    /// What waits for a cap or a quota, on stderr: the rest is shown by whoever asked for it.
    Waits,
}

/// What a run began with.
pub(super) struct Summary {
    contexts: Vec<(Arc<WorkerContext>, Vec<PauseState>)>,
}

/// Exit codes of a run whose work did not go through: gate, budget or cap, what could not run at all, and what may run
/// later by itself.
const GATE_FAILED: u8 = 5;
const BUDGET_EXHAUSTED: u8 = 6;
const BLOCKED: u8 = 4;
const TEMPORARY: u8 = 75;

impl Summary {
    /// Notes where everything paused before. By what is there and not by the time: a clock that was ahead wrote times that are
    /// still to come.
    pub(super) async fn begin(contexts: &[Arc<WorkerContext>]) -> anyhow::Result<Self> {
        let mut begun = Vec::new();
        for context in contexts {
            begun.push((context.clone(), context.read().current_pause_states().await?));
        }
        Ok(Self { contexts: begun })
    }

    /// Shows where everything paused since then, and what waits for a cap or a quota.
    pub(super) async fn show(self, deployment: &Deployment, tell: Tell) -> anyhow::Result<ExitCode> {
        let mut page = Page::default();
        let mut codes = Vec::new();
        for (context, before) in &self.contexts {
            let read = context.read();
            for pause in read.current_pause_states().await? {
                if before.contains(&pause) {
                    continue;
                }
                let Some(stored) = read.objective(&pause.objective_id).await? else { continue };
                let objective = stored.objective;
                let is_standing = objective.objective_type == ObjectiveType::Standing;
                let is_good = objective.status == ObjectiveStatus::Done
                    || (is_standing && pause.reason == PauseReason::RunComplete);
                let (style, word) = match (objective.status, pause.reason) {
                    (ObjectiveStatus::Done, _) => (GOOD, "passed"),
                    _ if is_good => (GOOD, "done"),
                    (_, PauseReason::BudgetExhausted) => (BAD, "over its budget"),
                    (_, PauseReason::GateFailed) => (BAD, "failed its gate"),
                    (_, PauseReason::RunComplete | PauseReason::Blocked) => (BAD, "blocked"),
                };
                if tell == Tell::All || (tell == Tell::Failures && !is_good) {
                    page.add(style, word).line(PLAIN, &format!(": {}", objective.title));
                    for action in &pause.prioritized_actions {
                        page.line(FAINT, &format!("  {action}"));
                    }
                }
                if objective.status == ObjectiveStatus::Blocked || (is_standing && !is_good) {
                    codes.push(match pause.reason {
                        _ if waits_for_cap(context, &pause).await? => BUDGET_EXHAUSTED,
                        PauseReason::GateFailed => GATE_FAILED,
                        PauseReason::BudgetExhausted => BUDGET_EXHAUSTED,
                        PauseReason::RunComplete | PauseReason::Blocked => BLOCKED,
                    });
                }
            }
        }
        // What still waits comes last, where it is seen.
        for (context, _) in &self.contexts {
            if let Some(waiting) = waiting(context, deployment).await? {
                codes.push(show_waiting(&mut page, context, &waiting));
            } else if let Some(wait) = unusable(context).await? {
                let id = &context.identity.azolla_id;
                page.add(BAD, "waits").line(PLAIN, &format!(": {id}: {}", wait.reason));
                page.line(FAINT, "  See what is wrong with it: azolla doctor");
                codes.push(TEMPORARY);
            } else if let Some(waiting) = held_by_results(context).await? {
                let id = &context.identity.azolla_id;
                let results = match waiting {
                    1 => "a result waits".to_owned(),
                    _ => format!("{waiting} results wait"),
                };
                page.line(PLAIN, &format!("{id}: nothing new starts while {results} for you: azolla"));
            }
        }
        match tell {
            Tell::All => page.show()?,
            Tell::Failures | Tell::Waits => page.remark(),
        }
        let order = [GATE_FAILED, BUDGET_EXHAUSTED, BLOCKED, TEMPORARY];
        let first = order.into_iter().find(|code| codes.contains(code));
        Ok(first.map_or(ExitCode::SUCCESS, ExitCode::from))
    }
}

/// Tells whether an objective was stopped by a cap of its run or its own.
async fn waits_for_cap(context: &WorkerContext, pause: &PauseState) -> anyhow::Result<bool> {
    let Some(run) = context.read().runs_of(&pause.objective_id).await?.pop() else { return Ok(false) };
    let output = context.read().output_bundle(&run.output_id).await?;
    let failure = output.and_then(|output| Some(output.metadata.more.get("failure")?.as_str()?.to_owned()));
    Ok(failure.as_deref() == Some(FailureKind::Cap.as_str()))
}

/// Returns what keeps the rest of an azolla's work from running, if there is any and something does.
async fn waiting(context: &WorkerContext, deployment: &Deployment) -> anyhow::Result<Option<Waiting>> {
    if !has_work(context).await? {
        return Ok(None);
    }
    // An account that cannot be opened says so itself, like one that cannot be written.
    let Ok(home) = Home::open(&deployment.place.home_store()) else { return Ok(None) };
    for provider in context.flow.providers() {
        let waiting = ledger::waiting(&home, &deployment.config.limits, provider, SystemClock.now())?;
        if waiting.is_some() {
            return Ok(waiting);
        }
    }
    Ok(None)
}

/// Returns what the account says where it could not be written: that is on no record.
async fn unusable(context: &WorkerContext) -> anyhow::Result<Option<Wait>> {
    let mut waits =
        context.flow.providers().into_iter().filter_map(|provider| context.ledger.waits(provider));
    let wait = waits.find(|wait| wait.source == WaitSource::Ledger);
    Ok(if has_work(context).await? { wait } else { None })
}

/// Returns how many results keep the rest of an azolla's work from starting, if they do (O-3).
async fn held_by_results(context: &WorkerContext) -> anyhow::Result<Option<u64>> {
    let (stream, limit) = (context.read().stream().await?, context.settings.room.review_limit);
    let is_full = limit > 0 && stream.open + stream.waiting >= limit;
    Ok(if is_full && has_work(context).await? { Some(stream.waiting) } else { None })
}

fn show_waiting(page: &mut Page, context: &WorkerContext, waiting: &Waiting) -> u8 {
    let (id, until) = (&context.identity.azolla_id, day_and_time(waiting.until));
    page.add(BAD, "waits").line(PLAIN, &format!(": {id} until {until} UTC: {}", waiting.reason));
    match waiting.why {
        Why::Cap(name) => {
            page.line(FAINT, &format!("  Raise {name} under [caps], or run it again after that"));
            BUDGET_EXHAUSTED
        }
        Why::Provider => {
            page.line(FAINT, "  Run it again after that; to ask before: azolla run --until-idle --now");
            TEMPORARY
        }
    }
}
