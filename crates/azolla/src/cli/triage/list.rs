//! `azolla triage`: the candidates.

use std::{path::Path, process::ExitCode, sync::Arc};

use azolla_protocol::{AzollaType, limits};
use azolla_substrate::SubstrateRead;
use clap::Args;
use serde_json::{Value, json};

use crate::{
    acts::{self, Listed, Triaged, outcome},
    cli::{Which, run},
    deployment::Deployment,
    line,
    screen::{self, FAINT, PLAIN, Page, STRONG, plain},
};

/// For how long `azolla triage` says that notes needed nothing.
const LATELY_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

#[derive(Args)]
pub(super) struct List {
    /// Triage new notes first.
    #[arg(long)]
    pub(super) now: bool,

    /// Also what is settled, the newest first: candidates, and notes that needed nothing.
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
        let triages = match self.all {
            true => acts::all_triages(store.read()).await?,
            false => acts::open_triages(store.read()).await?,
        };
        let listed: Vec<&Listed> = triages.iter().flat_map(|triaged| &triaged.candidates).collect();
        let pending = store.read().count_pending_captures().await?;
        let held = store.read().count_held_captures().await?;
        if self.json {
            let candidates: Vec<Value> = listed.iter().map(|listed| document(listed)).collect();
            let no_action = triages.iter().flat_map(|triaged| &triaged.no_action).collect::<Vec<_>>();
            let notes: Vec<Value> = triages.iter().filter_map(notes_document).collect();
            let data = json!({
                "azolla_id": azolla.id, "candidates": candidates, "no_action": no_action, "notes": notes,
                "captures_pending": pending, "captures_held": held,
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
        let mut is_first = true;
        for triaged in &triages {
            for listed in &triaged.candidates {
                if !std::mem::take(&mut is_first) {
                    page.line(PLAIN, "");
                }
                add(&mut page, listed);
            }
            add_notes(&mut page, triaged);
            if self.all {
                add_no_action(&mut page, triaged);
            }
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
        if !self.all {
            add_lately(&mut page, store.read()).await?;
        }
        if let [first, ..] = &store.read().held_captures(1).await?[..] {
            let stored = store.read().capture(first).await?;
            let text = stored.map(|stored| line::first_line(&stored.capture.raw_content)).unwrap_or_default();
            page.heading(&format!("{held} of your notes could not be triaged"))
                .line(FAINT, &format!("  the first: {first}  {}", plain(&text)))
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

/// Adds what a triage could not tell over all of its notes.
fn add_notes(page: &mut Page, triaged: &Triaged) {
    if !triaged.notes.trim().is_empty() {
        page.line(FAINT, &format!("Said by {}:", triaged.output_id)).block("  ", FAINT, &triaged.notes);
    }
}

/// Adds the notes that needed nothing, and how to have one triaged all the same.
fn add_no_action(page: &mut Page, triaged: &Triaged) {
    for entry in &triaged.no_action {
        page.add(STRONG, entry.capture_id.as_str())
            .line(PLAIN, &format!("  needed nothing: {}", plain(&entry.reason)))
            .line(FAINT, &format!("  otherwise: azolla triage retry {}", entry.capture_id));
    }
}

/// Adds one line about the notes that needed nothing of late.
async fn add_lately(page: &mut Page, read: &dyn SubstrateRead) -> anyhow::Result<()> {
    const LOOKED_AT: u64 = 20;
    let since = read.now().await?.plus_ms(-LATELY_MS);
    let latest = read.triage_outputs(None, LOOKED_AT).await?.into_iter().map(Triaged::from);
    let latest = latest.filter(|triaged| triaged.created_at > since);
    let notes = match latest.map(|triaged| triaged.no_action.len()).sum::<usize>() {
        0 => return Ok(()),
        1 => "1 note".to_owned(),
        count => format!("{count} notes"),
    };
    page.line(FAINT, &format!("{notes} of the last days needed nothing; azolla triage --all says why"));
    Ok(())
}

fn notes_document(triaged: &Triaged) -> Option<Value> {
    let said = Some(&triaged.notes).filter(|notes| !notes.trim().is_empty())?;
    Some(json!({"output_id": triaged.output_id, "notes": said}))
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
