//! `azolla explain`: the whole chain of a run, from the note that it began with to where it paused; or what became of a
//! note.

mod note;
pub(crate) mod origin;

use std::{path::Path, process::ExitCode};

use azolla_protocol::{
    ContextSnapshot, GateEvidence, ManifestId, Objective, OutputBundle, PauseState, RunRecord,
    SessionManifest, UsageRecord, WorkOrderId,
};
use azolla_substrate::{StoredEvent, StoredWorkorder};
use clap::Args;
use serde_json::{Value, json};

use self::note::Note;
use super::Which;
use crate::{
    deployment::Deployment,
    failure::Failure,
    find::{self, Found, IdPart},
    screen::{self, FAINT, PLAIN, Page, STRONG, day_and_time, duration},
};

/// Show how a result came about: note, candidate, objective, snapshot, workorder, output, run, pause
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla explain run-0snkpkppcghv-1\n  azolla explain 4k2\n  azolla explain 4k2 --json\n  \
                  azolla explain cap-0sp95scwe5f6      what became of a note\n  \
                  azolla explain man-0sp95scwe5f6      what an orientation was made from"
)]
pub(crate) struct Explain {
    /// A run, an objective with all of its runs, a note (cap-…) or an orientation (man-…).
    #[arg(value_name = "RUN|ID")]
    id: IdPart,

    /// Print one JSON document, with every artifact as it is stored.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    which: Which,
}

/// Everything that one workorder links.
pub(crate) struct Cycle {
    pub(crate) event: Option<StoredEvent>,
    pub(crate) asked: Option<Objective>,
    pub(crate) snapshot: Option<ContextSnapshot>,
    pub(crate) stored: StoredWorkorder,
    pub(crate) bundle: Option<OutputBundle>,
    pub(crate) run: Option<RunRecord>,
    pub(crate) evidence: Option<GateEvidence>,
    pub(crate) usage: Vec<UsageRecord>,
    pub(crate) manifest: Option<SessionManifest>,
    pub(crate) pause: Option<PauseState>,
}

impl Explain {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let deployment = Deployment::load(home)?;
        if self.id.as_str().starts_with("cap-") {
            let note = Note::find(&deployment, self.which.azolla.as_ref(), &self.id).await?;
            match self.json {
                true => screen::show_json("explanation", note.document())?,
                false => note.page().show_paged()?,
            }
            return Ok(ExitCode::SUCCESS);
        }
        let (found, named) = find::workorder(&deployment, self.which.azolla.as_ref(), &self.id).await?;
        let ids: Vec<WorkOrderId> = match named {
            Some(id) => vec![id],
            None => {
                let all = found.read().workorders_of(found.id()).await?;
                all.into_iter().map(|stored| stored.workorder.work_order_id).collect()
            }
        };
        let mut cycles = Vec::new();
        for id in &ids {
            cycles.push(load(&found, id).await?);
        }
        let origin = match origin::place(&found.stored.objective) {
            Some(place) => match deployment.config.azolla(&place.azolla_id) {
                Some(azolla) => origin::load(deployment.open(azolla).await?.read(), place).await?,
                None => None,
            },
            None => None,
        };
        if self.json {
            let data = json!({
                "origin": origin.as_ref().map(origin::Origin::document),
                "objective": found.stored.objective,
                "cycles": cycles.iter().map(document).collect::<Vec<_>>(),
            });
            screen::show_json("explanation", data)?;
            return Ok(ExitCode::SUCCESS);
        }
        if cycles.is_empty() && origin.is_none() {
            let what = format!("{} has not run yet", found.id());
            return Err(Failure::refused(what).hint(format!("azolla objective show {}", found.id())).into());
        }
        let mut page = Page::default();
        page.line(STRONG, &found.stored.objective.title);
        page.line(FAINT, &format!("{} in {}", found.id(), found.azolla.id));
        if let Some(origin) = &origin {
            origin.add_to(&mut page);
        }
        for cycle in &cycles {
            add(&mut page, cycle);
        }
        page.show_paged()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Loads it.
pub(crate) async fn load(found: &Found, id: &WorkOrderId) -> anyhow::Result<Cycle> {
    let read = found.read();
    let stored = read.workorder(id).await?;
    let stored = stored.ok_or_else(|| Failure::not_found(format!("there is no workorder {id}")))?;
    let snapshot = read.context_snapshot(&stored.workorder.context_snapshot_id).await?;
    let run = read.run_of(id).await?;
    let version =
        snapshot.as_ref().and_then(|snapshot| snapshot.metadata.as_ref()?.get("objective_version")?.as_u64());
    Ok(Cycle {
        event: read.event(&stored.event_id).await?,
        asked: match version {
            Some(version) => read.objective_at(found.id(), version).await?,
            None => None,
        },
        snapshot,
        bundle: read.output_of(id).await?,
        evidence: match &run {
            Some(run) => read.evidence_of(&run.run_id).await?,
            None => None,
        },
        usage: read.usage_of(id).await?,
        manifest: read.manifest(&ManifestId::of(id)).await?,
        pause: read.pause_state(&format!("workorder:{id}")).await?,
        run,
        stored,
    })
}

fn document(cycle: &Cycle) -> Value {
    json!({
        "event": cycle.event.as_ref().map(|stored| &stored.event),
        "objective_as_asked": cycle.asked,
        "context_snapshot": cycle.snapshot,
        "workorder": cycle.stored.workorder,
        "budget_consumed_ms": cycle.stored.budget_consumed_ms,
        "output_bundle": cycle.bundle,
        "usage": cycle.usage,
        "run_record": cycle.run,
        "gate_evidence": cycle.evidence,
        "session_manifest": cycle.manifest,
        "pause_state": cycle.pause,
    })
}

fn add(page: &mut Page, cycle: &Cycle) {
    let workorder = &cycle.stored.workorder;
    page.heading(&format!("Run of {}", day_and_time(workorder.created_at)));
    let mut row = |name: &str, id: &str, what: &str| {
        page.add(PLAIN, &format!("  {name:<10}")).hang().add(STRONG, id).line(FAINT, &format!("  {what}"));
    };
    if let Some(stored) = &cycle.event {
        let reason = stored.event.processed_reason.map_or("waits", |reason| reason.as_str());
        row("event", stored.event.event_id.as_str(), reason);
    }
    if let Some(snapshot) = &cycle.snapshot {
        let commit = snapshot.repo_commit_sha.as_deref().unwrap_or("no commit");
        let what = format!("prompt of {} bytes, from commit {commit}", snapshot.full_prompt_text.len());
        row("snapshot", snapshot.snapshot_id.as_str(), &what);
    }
    let budget = format!(
        "budget {}, used {}",
        duration(workorder.budget_ms),
        duration(cycle.stored.budget_consumed_ms)
    );
    row("workorder", workorder.work_order_id.as_str(), &budget);
    for usage in &cycle.usage {
        let model = usage.model.as_deref().unwrap_or("no model");
        let tokens = usage.input_tokens + usage.output_tokens;
        let what =
            format!("{model}, {} requests, {} retries, {tokens} tokens", usage.requests, usage.retries);
        row("worker", &usage.provider, &what);
    }
    if let Some(bundle) = &cycle.bundle {
        let metadata = &bundle.metadata;
        let commit = metadata.more.get("commit_sha").and_then(Value::as_str).unwrap_or("no commit");
        let what = format!("{} after {}, {commit}", metadata.runner_status, duration(metadata.elapsed_ms));
        row("output", bundle.output_id.as_str(), &what);
    }
    if let Some(run) = &cycle.run {
        row("run", run.run_id.as_str(), &format!("{}: {}", run.gate_result, run.gate_reason));
    }
    for check in cycle.evidence.iter().flat_map(|evidence| &evidence.checks) {
        let exit = check.exit_code.map_or_else(|| "no exit code".to_owned(), |code| format!("exit {code}"));
        let what = format!(
            "{} on {}: {exit}, {}",
            check.command.join(" "),
            check.subject,
            duration(check.duration_ms)
        );
        row("check", &check.name, &what);
    }
    if let Some(manifest) = &cycle.manifest {
        let queried = manifest.queried_azolla_ids.len();
        row("manifest", manifest.manifest_id.as_str(), &format!("from {queried} other azollas"));
    }
    if let Some(pause) = &cycle.pause {
        row("pause", pause.reason.as_str(), &pause.prioritized_actions.join("; "));
    }
}
