//! What is under way: one line on a terminal, redrawn about once a second; elsewhere one plain line per step.

use std::{
    io::IsTerminal,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use azolla_control_plane::{Activity, WorkerContext};
use azolla_protocol::{ObjectiveId, ObjectiveStatus};
use tokio::{sync::Notify, task::JoinHandle};

use crate::{
    cli::progress::draw,
    screen::{duration, remark},
};

/// What is under way, as far as the roles have told.
#[derive(Default)]
pub(super) struct Progress {
    steps: Mutex<Vec<Step>>,
    told: Notify,
    /// Whose steps they are.
    contexts: Mutex<Vec<Arc<WorkerContext>>>,
}

struct Step {
    activity: Activity,
    since: Instant,
}

/// The line on a terminal, if there is one.
pub(crate) struct Drawing(Option<JoinHandle<()>>);

/// How often the line is redrawn.
const REDRAWN_EVERY: Duration = Duration::from_secs(1);

impl Progress {
    /// Takes note of a step, and prints it where nobody sees a line change.
    pub(super) fn show(&self, activity: &Activity) {
        let Some(objective_id) = &activity.objective_id else {
            // No step that ends: a line that stays.
            if std::io::stderr().is_terminal() {
                draw("");
            }
            return remark(&format!("{} {}", activity.azolla_id, activity.step));
        };
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let known = steps.iter().position(|step| step.activity.objective_id == activity.objective_id);
        if let Some(known) = known {
            if steps[known].activity.step == activity.step {
                // How far it is shows on a terminal alone, the next time the line is drawn.
                steps[known].activity.detail.clone_from(&activity.detail);
                return;
            }
            steps.remove(known);
        }
        steps.push(Step { activity: activity.clone(), since: Instant::now() });
        if std::io::stderr().is_terminal() {
            self.told.notify_one();
        } else {
            remark(&format!("{objective_id} {}", activity.step));
        }
    }

    /// Takes note of an azolla that works.
    pub(super) fn follow(&self, context: Arc<WorkerContext>) {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner).push(context);
    }

    fn contexts(&self) -> Vec<Arc<WorkerContext>> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Draws the line until the drawing is ended.
    pub(super) fn draw(self: &Arc<Self>) -> Drawing {
        if !std::io::stderr().is_terminal() {
            return Drawing(None);
        }
        let progress = self.clone();
        Drawing(Some(tokio::spawn(async move {
            let mut tick = tokio::time::interval(REDRAWN_EVERY);
            loop {
                match progress.line() {
                    // Nothing is under way: nothing is drawn, and nothing wakes up.
                    None => progress.told.notified().await,
                    Some(line) => {
                        draw(&line);
                        tokio::select! {
                            _ = tick.tick() => {}
                            () = progress.told.notified() => {}
                        }
                        progress.forget(&over(&progress.contexts(), &progress.activities()).await);
                    }
                }
            }
        })))
    }

    fn line(&self) -> Option<String> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let latest = steps.last()?;
        let limit = latest.activity.limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        let of = limit.map_or_else(String::new, |limit| format!(" of {}", duration(limit)));
        // In whole seconds, as the line changes.
        let elapsed = match latest.since.elapsed().as_secs() {
            0 => "0 s".to_owned(),
            seconds => duration(seconds.saturating_mul(1_000)),
        };
        let more = if steps.len() > 1 { format!("  (and {} more)", steps.len() - 1) } else { String::new() };
        let Activity { step, detail, .. } = &latest.activity;
        let objective_id = latest.activity.objective_id.as_ref()?;
        let detail = detail.as_ref().map_or_else(String::new, |detail| format!(", {detail}"));
        Some(format!("{objective_id}  {step}{detail}  {elapsed}{of}{more}"))
    }

    fn activities(&self) -> Vec<Activity> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.iter().map(|step| step.activity.clone()).collect()
    }

    /// Drops the steps of objectives that nobody works on any more.
    fn forget(&self, over: &[ObjectiveId]) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.retain(|step| !step.activity.objective_id.as_ref().is_some_and(|id| over.contains(id)));
        if steps.is_empty() {
            draw("");
        }
    }
}

/// Returns the objectives of `steps` that nobody works on any more.
async fn over(contexts: &[Arc<WorkerContext>], steps: &[Activity]) -> Vec<ObjectiveId> {
    let mut over = Vec::new();
    for activity in steps {
        let Some(context) = contexts.iter().find(|context| context.identity.azolla_id == activity.azolla_id)
        else {
            continue;
        };
        let Some(objective_id) = &activity.objective_id else { continue };
        let found = context.read().objective(objective_id).await.ok().flatten();
        let status = found.map(|stored| stored.objective.status);
        if !matches!(status, Some(ObjectiveStatus::Todo | ObjectiveStatus::InProgress)) {
            over.push(objective_id.clone());
        }
    }
    over
}

impl Drawing {
    /// Leaves the line clean for what is printed next.
    pub(crate) async fn end(self) {
        if let Some(task) = self.0 {
            task.abort();
            let _ = task.await;
            draw("");
        }
    }
}
