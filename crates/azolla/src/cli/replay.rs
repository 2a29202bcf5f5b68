//! `azolla replay`: the task of an earlier run on another worker, outside the lifecycle, and both results side by side.

mod side;

use std::{
    path::Path,
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use azolla_control_plane::{
    generation::{self, Asking, GRACE, Work, Worked},
    repo::Attempt,
    snapshot::patch,
    spending::RunAccount,
};
use azolla_protocol::{ContextSnapshot, IdSource, Usage, Wait, WaitSource, Withheld, WorkOrderId, Workorder};
use azolla_substrate::SystemIds;
use clap::Args;
use serde_json::json;
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use self::side::Side;
use super::{Which, run::signals::Signals};
use crate::{
    deployment::Deployment,
    failure::{Code, Failure},
    find::{self, Found, IdPart},
    screen::{self, FAINT, GOOD, PLAIN, Page, STRONG, padded, remark},
    workers,
};

/// Run the task of an earlier run on another worker, and compare both
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla replay 4k2 --provider local\n  azolla replay wo-0snkpkppcghv-1 --provider claude --diff\n\n\
                        The worker gets what the earlier one got; only where it answers in another form \
                        (files it edits, search and replace, a diff), the part that asks for the answer is exchanged, and that is said. Nothing about the objective changes: no run, \
                        no branch, no check. What it costs counts towards the caps.\n\
                        Ctrl-C ends the worker with everything that it started; the exit code is then 130."
)]
pub(crate) struct Replay {
    /// A run, or an objective and then its latest run.
    #[arg(value_name = "WORKORDER|ID")]
    id: IdPart,

    /// The worker, by its name in the configuration.
    #[arg(long, value_name = "NAME")]
    provider: String,

    /// Also show the change that came back.
    #[arg(long)]
    diff: bool,

    /// Print one JSON document, with both changes in it.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    which: Which,
}

impl Replay {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let deployment = Deployment::load(home)?;
        let (found, named) = find::workorder(&deployment, self.which.azolla.as_ref(), &self.id).await?;
        let id = match named {
            Some(id) => id,
            None => latest(&found).await?,
        };
        let task = load(&found, &id).await?;
        let recorded = side::recorded(&found, &id).await?;
        let replayed = self.replay(&deployment, &found, task).await?;
        if self.json {
            let data = json!({"work_order_id": id, "recorded": recorded.document(), "replayed": replayed.document()});
            screen::show_json("replay", data)?;
        } else {
            show(&recorded, &replayed, self.diff)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn replay(&self, deployment: &Deployment, found: &Found, task: Task) -> anyhow::Result<Side> {
        let diazotroph = workers::provider(deployment, &self.provider)?;
        let repository = deployment.repository(&found.azolla)?;
        let ledger = workers::ledger(deployment);
        let account = RunAccount {
            azolla_id: found.azolla.id.clone(),
            objective_id: found.id().clone(),
            is_standing: false,
            work_order_id: task.attempt.work_order_id.clone(),
            provider: self.provider.clone(),
            budget_ms: task.workorder.budget_ms,
        };
        let allowance = ledger.begin(&account).map_err(withheld)?;
        let last = Mutex::new(String::new());
        let show = |step: &str, _: Option<&str>, limit: Option<Duration>| {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            if *last != step {
                let limit = limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
                let most =
                    limit.map_or_else(String::new, |limit| format!(", at most {}", screen::duration(limit)));
                remark(&format!("{step}{most}"));
                step.clone_into(&mut last);
            }
        };
        let began = Instant::now();
        let (remaining, is_asked) = (Duration::from_millis(task.workorder.budget_ms), AtomicBool::new(false));
        let asking = Asking {
            diazotroph: &*diazotroph,
            snapshot: &task.snapshot,
            budget_ms: task.workorder.budget_ms,
            remaining,
            retries_before: 0,
            allowance: &*allowance,
            show: &show,
            is_asked: &is_asked,
        };
        let work = generation::generate(Work { repository: &repository, attempt: &task.attempt, asking });
        let (stop, mut stopping) = watch::channel(false);
        let signals = Signals::stop(stop)?;
        let worked = tokio::select! {
            worked = timeout(remaining + GRACE, work) => Some(worked),
            _ = stopping.changed() => None,
        };
        let stopped = signals.end();
        let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        // Nobody begins this one again: what is set aside for it now would stay so.
        ledger.end(&account, elapsed_ms);
        let Some(worked) = worked else {
            let code = stopped.unwrap_or(Code::Interrupted);
            return Err(Failure::stopped("the replay was stopped; nothing was changed", code).into());
        };
        Ok(match worked {
            Ok(worked) => match worked? {
                Worked::Done(result) => Side::of(&self.provider, *result, elapsed_ms),
                Worked::Wait(wait, _) => return Err(withheld(Withheld::Wait(wait)).into()),
            },
            Err(_) => {
                let usage = Usage { requests: is_asked.load(Ordering::Relaxed).into(), ..Usage::default() };
                Side::over_budget(&self.provider, usage, elapsed_ms)
            }
        })
    }
}

fn withheld(withheld: Withheld) -> Failure {
    match withheld {
        Withheld::Wait(Wait { reason, source: WaitSource::Ledger, .. }) => {
            Failure::temporary(reason).hint("see what is wrong with it: azolla doctor")
        }
        Withheld::Wait(Wait { reason, time, .. }) => {
            let wait = screen::duration(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
            Failure::temporary(reason).hint(format!("try again in {wait}"))
        }
        Withheld::Cap(reason) => Failure::cap(reason).hint("raise it in [caps] of the configuration"),
    }
}

/// What the earlier worker got.
struct Task {
    workorder: Workorder,
    snapshot: ContextSnapshot,
    attempt: Attempt,
}

async fn latest(found: &Found) -> anyhow::Result<WorkOrderId> {
    let all = found.read().workorders_of(found.id()).await?;
    let latest = all.into_iter().next_back().map(|stored| stored.workorder.work_order_id);
    Ok(latest.ok_or_else(|| {
        Failure::refused(format!("{} has not run yet", found.id()))
            .hint(format!("azolla objective show {}", found.id()))
    })?)
}

async fn load(found: &Found, id: &WorkOrderId) -> anyhow::Result<Task> {
    let missing = |what: &str| Failure::new(format!("{id} has no {what}")).hint("azolla verify");
    let stored = found.read().workorder(id).await?;
    let workorder =
        stored.ok_or_else(|| Failure::not_found(format!("there is no workorder {id}")))?.workorder;
    let snapshot = found.read().context_snapshot(&workorder.context_snapshot_id).await?;
    let snapshot = snapshot.ok_or_else(|| missing("context_snapshot"))?;
    // As it was then: the prompt has it, and the commit.
    let version = snapshot.metadata.as_ref().and_then(|metadata| metadata.get("objective_version")?.as_u64());
    let version = version.ok_or_else(|| missing("version of its objective"))?;
    let objective = found.read().objective_at(&workorder.objective_id, version).await?;
    let objective = objective.ok_or_else(|| missing("objective of its snapshot's version"))?;
    let attempt = patch::attempt(&workorder, &snapshot, &objective.title);
    let attempt = attempt.ok_or_else(|| missing("base commit"))?;
    // A name of its own: its files are nobody else's, and a run of the same workorder is not in its way (G-1).
    let work_order_id = WorkOrderId::new(format!("wo-replay-{}", SystemIds::default().body()))?;
    Ok(Task { workorder, snapshot, attempt: Attempt { work_order_id, ..attempt } })
}

/// What two results side by side take.
const SIDES_COLUMNS: usize = 80;

fn show(recorded: &Side, replayed: &Side, diff: bool) -> std::io::Result<()> {
    let mut page = Page::default();
    let rows = [recorded.rows(), replayed.rows()];
    // Side by side where there is room for both, and else one below the other.
    let is_wide = screen::terminal().is_none_or(|columns| columns >= SIDES_COLUMNS);
    if is_wide {
        page.line(STRONG, &format!("{:12}{:<34}  {}", "", "as recorded", "replayed"));
    }
    for (name, left) in &rows[0] {
        let right = rows[1].iter().find(|(other, _)| other == name).map_or("", |(_, text)| text.as_str());
        if is_wide {
            page.add(FAINT, &format!("{name:<12}")).line(PLAIN, &format!("{}  {right}", padded(left, 34)));
        } else {
            page.line(STRONG, name);
            page.add(FAINT, "  as recorded  ").hang().line(PLAIN, left);
            page.add(FAINT, "  replayed     ").hang().line(PLAIN, right);
        }
    }
    if let Some(form) = replayed.answer_form {
        let text =
            format!("The worker was asked for its answer as {form}; the rest of the task is as recorded.");
        page.line(FAINT, &text);
    }
    match recorded.same_tree(replayed) {
        Some(true) => page.line(GOOD, "Both came to the same files."),
        Some(false) => page.line(PLAIN, "They came to different files."),
        None => page.line(PLAIN, "There are no two changes to compare."),
    };
    for (name, side) in [("as recorded", recorded), ("replayed", replayed)] {
        if !side.notes.trim().is_empty() {
            page.heading(&format!("Said, {name}"));
            page.block("  ", FAINT, &side.notes);
        }
    }
    if diff {
        page.heading("The change that came back");
        page.diff(&replayed.content);
    }
    page.show_paged()
}
