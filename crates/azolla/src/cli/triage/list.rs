//! `azolla triage`: the candidates.

use std::{path::Path, process::ExitCode, sync::Arc};

use azolla_protocol::{AzollaType, limits};
use clap::Args;
use serde_json::{Value, json};

use crate::{
    acts::{self, Listed, outcome},
    cli::{Which, run},
    deployment::Deployment,
    screen::{self, FAINT, PLAIN, Page, STRONG},
};

#[derive(Args)]
pub(super) struct List {
    /// Triage new notes first.
    #[arg(long)]
    pub(super) now: bool,

    /// Also what is settled, the newest first.
    #[arg(long)]
    all: bool,

    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    which: Which,
}

impl List {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let deployment = Arc::new(Deployment::load(home)?);
        let azolla = deployment.one(self.which.azolla.as_ref(), AzollaType::TaskMgmt)?;
        let code = match self.now {
            true => run::until_idle(&deployment, azolla, run::Tell::Failures).await?,
            false => ExitCode::SUCCESS,
        };
        let store = deployment.open(azolla).await?;
        let listed = match self.all {
            true => acts::all_candidates(store.read()).await?,
            false => acts::open_candidates(store.read()).await?,
        };
        let pending = store.read().count_pending_captures().await?;
        let held = store.read().count_held_captures().await?;
        if self.json {
            let candidates: Vec<Value> = listed.iter().map(document).collect();
            let data = json!({
                "azolla_id": azolla.id, "candidates": candidates, "captures_pending": pending,
                "captures_held": held,
            });
            screen::show_json("triage", data)?;
            return Ok(code);
        }
        let mut page = Page::default();
        match (listed.is_empty(), pending) {
            (true, 0) => page.line(PLAIN, "No candidate waits for you."),
            (true, _) => page.line(PLAIN, "No candidate waits for you yet."),
            (false, _) => &mut page,
        };
        for (at, listed) in listed.iter().enumerate() {
            if at > 0 {
                page.line(PLAIN, "");
            }
            add(&mut page, listed);
        }
        if let Some(first) = listed.iter().find(|listed| listed.is_open()) {
            let id = &first.id;
            page.heading("Next")
                .command("  ", &format!("azolla triage promote {id}"))
                .line(FAINT, "  or discard, defer, duplicate; each can be undone until the work is approved");
        }
        let untried = pending.saturating_sub(held);
        if untried > 0 {
            let is_full = is_full(&deployment, store.read().stream().await?.waiting);
            let are = if untried == 1 { "is" } else { "are" };
            page.heading(&format!("{untried} of your notes {are} not triaged yet"));
            match is_full {
                true => page.line(FAINT, "  They wait until you have settled the candidates above."),
                false => page.command("  ", "azolla triage --now"),
            };
        }
        if held > 0 {
            page.heading(&format!("{held} of your notes could not be triaged"))
                .command("  ", "azolla triage retry")
                .line(
                    FAINT,
                    "  or by hand: azolla triage process ID --reason TEXT; azolla triage captures lists them",
                );
        }
        page.show_paged()?;
        Ok(code)
    }
}

/// Adds a candidate to a page.
fn add(page: &mut Page, listed: &Listed) {
    let candidate = &listed.candidate;
    page.add(STRONG, &candidate.title).line(FAINT, &format!("  {}", listed.id));
    let mut facts = vec![format!("confidence {}", candidate.confidence.as_str().to_lowercase())];
    facts.extend(candidate.suggested_azolla_id.as_ref().map(|id| format!("for {id}")));
    facts.extend(candidate.urgency.map(|urgency| format!("urgency {urgency}")));
    facts.extend(candidate.due.as_ref().map(|due| format!("due {due}")));
    facts.extend(listed.resolution.as_ref().map(outcome));
    page.line(FAINT, &format!("  {}", facts.join(", ")));
    page.block("  ", PLAIN, &candidate.acceptance_criteria);
    for ambiguity in &candidate.ambiguities {
        page.line(FAINT, &format!("  not clear: {ambiguity}"));
    }
}

/// O-3: while enough triage waits for the operator, no more is made.
fn is_full(deployment: &Deployment, waiting: u64) -> bool {
    let limit = deployment.config.limits.get(&limits::REVIEW_LIMIT);
    limit > 0 && waiting >= limit
}

fn document(listed: &Listed) -> Value {
    json!({
        "candidate": listed.id.to_string(),
        "output_id": listed.id.output_id,
        "candidate_index": listed.id.index,
        "content": listed.candidate,
        "resolution": listed.resolution,
    })
}
