//! `azolla objective show`.

use std::path::Path;

use azolla_protocol::{Objective, PauseState, RunRecord, Timestamp, due_day};
use clap::Args;
use serde_json::json;

use super::Target;
use crate::screen::{self, BAD, FAINT, PLAIN, Page, STRONG, TYPE, ago, status};

/// Show an objective: its criteria, its blockers, its runs, what is next
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla objective show 4k2")]
pub(super) struct Show {
    #[command(flatten)]
    target: Target,

    /// Print the objective as it is stored, in one JSON document.
    #[arg(long)]
    pub(super) json: bool,
}

impl Show {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (_, found) = self.target.find(home).await?;
        let objective = &found.stored.objective;
        if self.json {
            return Ok(screen::show_json("objective", json!(objective))?);
        }
        let now = found.read().now().await?;
        let runs = found.read().runs_of(found.id()).await?;
        let pause = match &found.stored.pause_key {
            Some(key) => found.read().pause_state(key).await?,
            None => None,
        };
        let mut page = Page::default();
        head(&mut page, objective, now);
        add_blockers(&mut page, objective);
        add_runs(&mut page, &runs, now);
        add_next(&mut page, pause.as_ref());
        page.show()?;
        Ok(())
    }
}

fn head(page: &mut Page, objective: &Objective, now: Timestamp) {
    page.line(STRONG, &objective.title);
    let changed = ago(objective.updated_at, now);
    let id = &objective.objective_id;
    page.line(FAINT, &format!("{id} in {}: {}, changed {changed}", objective.azolla_id, status(objective)));
    let metadata = |key: &str| objective.metadata.get(key).and_then(|value| value.as_str());
    if let (Some(repo), Some(base)) = (metadata("repo_ref"), metadata("base_branch")) {
        page.line(FAINT, &format!("{repo}, from {base}"));
    }
    let due = due_day(objective).map_or_else(String::new, |day| format!(", due {day}"));
    page.line(
        FAINT,
        &format!("importance {}, urgency {} (0 is most){due}", objective.importance, objective.urgency),
    );
    page.heading("Done when");
    match objective.acceptance_criteria.trim() {
        "" => page.line(BAD, "  (nothing is said yet)"),
        criteria => page.block("  ", PLAIN, criteria),
    };
}

fn add_blockers(page: &mut Page, objective: &Objective) {
    if let Some(reason) = &objective.blocked_reason {
        page.heading("Blocked").block("  ", PLAIN, reason);
    }
    let open: Vec<_> = objective.blocked_on.iter().filter(|blocker| !blocker.resolved).collect();
    if !open.is_empty() {
        page.heading("Open blockers");
    }
    for blocker in open {
        page.add(PLAIN, &format!("  {}  ", blocker.blocker_id)).line(PLAIN, &blocker.description);
    }
}

fn add_runs(page: &mut Page, runs: &[RunRecord], now: Timestamp) {
    if !runs.is_empty() {
        page.heading("Runs");
    }
    for run in runs {
        let when = ago(run.created_at, now);
        page.add(PLAIN, &format!("  {}  {}  ", run.run_id, run.gate_result))
            .add(PLAIN, &run.gate_reason)
            .line(FAINT, &format!("  ({when})"));
    }
}

fn add_next(page: &mut Page, pause: Option<&PauseState>) {
    let Some(pause) = pause else { return };
    page.heading("Next");
    for action in &pause.prioritized_actions {
        page.add(PLAIN, "  ").line(TYPE, action);
    }
}
