//! `azolla manifest`: one page over all azollas, with the next actions (7.3).

use std::{path::Path, process::ExitCode};

use azolla_protocol::{
    AzollaType, EventId, GateResult, ManifestId, OutputBundle, PauseReason, SessionManifest, WorkOrderId,
};
use azolla_substrate::SubstrateRead;
use clap::Args;
use serde_json::json;

use super::{Which, run};
use crate::{
    acts::Acts,
    failure::Failure,
    screen::{self, FAINT, PLAIN, Page, STRONG, ago},
};

/// Ask for orientation over all azollas, and show it
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla manifest             make one and show it\n  \
                        azolla manifest --last      show the last one\n  azolla manifest --last --json")]
pub(crate) struct Manifest {
    /// Show the last one instead of making one.
    #[arg(long)]
    pub(super) last: bool,

    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    which: Which,
}

impl Manifest {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let acts = Acts::load(home)?;
        let azolla = acts.one(self.which.azolla.as_ref(), AzollaType::TaskMgmt)?;
        let store = acts.store(azolla).await?;
        let manifest =
            if self.last {
                store.read().latest_manifest().await?.ok_or_else(|| {
                    Failure::not_found("there is no orientation yet").hint("azolla manifest")
                })?
            } else {
                let (requested, _) = acts.manifest(azolla).await?;
                run::until_idle(acts.shared(), azolla, run::Tell::Waits).await?;
                made(store.read(), &requested.event_id).await?
            };
        if self.json {
            screen::show_json("session_manifest", json!(manifest))?;
            return Ok(ExitCode::SUCCESS);
        }
        // What the text says besides its actions, and what is known of its sources.
        let work_order_id = WorkOrderId::new(format!("wo-{}", manifest.manifest_id.body()))?;
        let bundle = store.read().output_of(&work_order_id).await?;
        page(&manifest, bundle.as_ref(), store.read().now().await?).show()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the manifest that a request led to, or says why there is none.
async fn made(read: &dyn SubstrateRead, event_id: &EventId) -> anyhow::Result<SessionManifest> {
    let work_order_id = WorkOrderId::of(event_id);
    if let Some(manifest) = read.manifest(&ManifestId::of(&work_order_id)).await? {
        return Ok(manifest);
    }
    for key in [format!("workorder:{work_order_id}"), format!("event:{event_id}")] {
        let Some(pause) = read.pause_state(&key).await? else { continue };
        let run = read.run_of(&work_order_id).await?.filter(|run| run.gate_result == GateResult::Fail);
        let failure = match run {
            Some(run) if pause.reason == PauseReason::BudgetExhausted => Failure::cap(run.gate_reason),
            Some(run) => Failure::gate(run.gate_reason),
            None => Failure::refused("no orientation could be made"),
        };
        return Err(failure.hint(pause.prioritized_actions.join("; ")).into());
    }
    let what = "the orientation is asked for and waits: for other work of this azolla, or for its worker";
    Err(Failure::temporary(what).hint("azolla, then: azolla manifest --last").into())
}

fn page(manifest: &SessionManifest, bundle: Option<&OutputBundle>, now: azolla_protocol::Timestamp) -> Page {
    let mut page = Page::default();
    let answered = match manifest.queried_azolla_ids.len() {
        1 => "1 azolla".to_owned(),
        count => format!("{count} azollas"),
    };
    page.add(STRONG, "Orientation").line(
        FAINT,
        &format!("  {}, from {answered}: {}", ago(manifest.created_at, now), manifest.manifest_id),
    );
    let overview = bundle.map_or("", |bundle| bundle.content.split("\n1. ").next().unwrap_or_default());
    if !overview.trim().is_empty() && !overview.starts_with("1. ") {
        page.line(PLAIN, "").block("", PLAIN, overview.trim());
    }
    page.line(PLAIN, "");
    for (number, action) in manifest.prioritized_orientation.iter().enumerate() {
        page.line(PLAIN, &format!("  {}. {action}", number + 1));
    }
    if let Some(notes) = bundle.map(|bundle| bundle.notes.trim()).filter(|notes| !notes.is_empty()) {
        page.heading("About the sources").block("  ", FAINT, notes);
    }
    page
}
