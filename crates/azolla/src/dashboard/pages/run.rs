//! One run: the whole chain that led to it and what it left, as `azolla explain` tells it.

use azolla_protocol::{Objective, RunId, Timestamp, WorkOrderId};
use maud::{Markup, html};

use super::{
    change::Part,
    load::{self, away},
    result,
};
use crate::{
    actions,
    cli::{
        explain::{
            self, Cycle,
            origin::{self, Origin},
        },
        review::{self, Reviewed},
    },
    dashboard::{Ask, PageError, Shown, frame::Tab, part},
    deployment::STANDING,
    ledger,
    line::first_line,
    screen::{day_and_time, duration},
};

/// What the page says.
pub(super) struct Page {
    pub(super) run_id: RunId,
    pub(super) objective: Objective,
    pub(super) now: Timestamp,
    pub(super) cycle: Cycle,
    pub(super) result: Option<Reviewed>,
    pub(super) origin: Option<Origin>,
    pub(super) part: Part,
}

/// Shows it.
pub(crate) async fn show(ask: &Ask<'_>) -> Result<Shown, PageError> {
    let azolla = load::azolla(ask)?;
    let run_id: RunId = ask.id("run")?;
    let missing = || PageError::Missing(format!("There is no run {run_id} in {}.", azolla.id));
    let id = WorkOrderId::new(format!("wo-{}", run_id.body())).map_err(|_| missing())?;
    let store = ask.app.stores.whole(azolla).await.map_err(away)?;
    let stored = store.read().workorder(&id).await.map_err(away)?.ok_or_else(missing)?;
    let found = load::objective(ask, azolla, &stored.workorder.objective_id).await?;
    let origin = match origin::place(&found.stored.objective) {
        Some(place) => match ask.app.stores.azolla(&place.azolla_id) {
            Some(notes) => {
                let notes = ask.app.stores.looking(notes).await.map_err(away)?;
                origin::load(&*notes, place).await.map_err(away)?
            }
            None => None,
        },
        None => None,
    };
    let page = Page {
        now: store.read().now().await.map_err(away)?,
        cycle: explain::load(&found, &id).await.map_err(away)?,
        result: review::result(&found, Some(id)).await.map_err(away)?,
        origin,
        objective: found.stored.objective.clone(),
        run_id,
        part: Part::of(ask),
    };
    Ok(Shown { title: page.run_id.to_string(), tab: Tab::Runs, main: view(&page) })
}

pub(super) fn view(page: &Page) -> Markup {
    let (objective, cycle) = (&page.objective, &page.cycle);
    let is_standing = objective.objective_id.as_str() == STANDING;
    let asked = cycle.asked.as_ref().unwrap_or(objective);
    html! {
        h1 tabindex="-1" { "Run " code { (page.run_id) } }
        p.facts {
            @if let Some(run) = &cycle.run { (part::verdict(run.gate_result)) span.fact { (part::when(run.created_at, page.now)) } }
            @else { span.state.s-run { "under way" } }
            span.fact {
                @if is_standing { "notes and orientation of " (objective.azolla_id) }
                @else { "of " a href=(part::objective_path(&objective.azolla_id, &objective.objective_id)) { (part::words(&objective.title)) } }
            }
        }
        div data-live="run" {
            section { h2 { "How it came about" } (chain(page)) }
            @if let Some(found) = &page.result {
                @if is_standing { section #change { h2 { "Output" } (part::beginning(&found.bundle.content, &found.command())) @if !found.bundle.notes.trim().is_empty() { (part::text(&found.bundle.notes)) } } }
                @else {
                    (result::evidence(&asked.acceptance_criteria, found))
                    (result::change(found, &part::run_path(&objective.azolla_id, &page.run_id), page.part))
                }
            }
        }
        p.faint { "The whole chain with every artifact: " (part::command(&format!("azolla explain {} --json", page.run_id))) }
    }
}

fn chain(page: &Page) -> Markup {
    let cycle = &page.cycle;
    let workorder = &cycle.stored.workorder;
    html! {
        dl.chain {
            @if let Some(origin) = &page.origin { (origin_view(origin)) }
            @if let Some(stored) = &cycle.event {
                (link("event", stored.event.event_id.as_str(), html! {
                    (stored.event.processed_reason.map_or("waits", |reason| reason.as_str()).to_lowercase().replace('_', " "))
                }))
            }
            @if let Some(snapshot) = &cycle.snapshot {
                (link("prompt", snapshot.snapshot_id.as_str(), html! {
                    (ledger::number(snapshot.full_prompt_text.len() as u64)) " bytes, from "
                    @match &snapshot.repo_commit_sha { Some(commit) => { "commit " (part::reason(commit)) }, None => "no commit" }
                }))
            }
            (link("workorder", workorder.work_order_id.as_str(), html! {
                (part::budget(cycle.stored.budget_consumed_ms, workorder.budget_ms, "Budget used")) span.fact { "made " (day_and_time(workorder.created_at)) " UTC" }
            }))
            @for usage in &cycle.usage {
                (link("worker", &usage.provider, html! {
                    (part::words(usage.model.as_deref().unwrap_or("no model"))) ", " (part::counted(usize::try_from(usage.requests).unwrap_or(usize::MAX), "request", "requests"))
                    @if usage.retries > 0 { " (" (usage.retries) " repeated)" }
                    ", " (ledger::number(usage.input_tokens)) " tokens in, " (ledger::number(usage.output_tokens)) " out"
                    @if let Some(cost) = usage.cost_microusd { ", " (ledger::cents(cost)) }
                }))
            }
            @if let Some(bundle) = &cycle.bundle {
                (link("output", bundle.output_id.as_str(), html! {
                    (bundle.metadata.runner_status.as_str().to_lowercase().replace('_', " ")) " after " (duration(bundle.metadata.elapsed_ms))
                    @if let Some(commit) = bundle.metadata.more.get("commit_sha").and_then(|commit| commit.as_str()) { ", commit " (part::reason(commit)) }
                }))
            }
            @if let Some(run) = &cycle.run {
                (link("run", run.run_id.as_str(), html! { (part::verdict(run.gate_result)) " " (part::reason(&run.gate_reason)) }))
            }
            @if let Some(pause) = &cycle.pause {
                (link("then", &pause.reason.as_str().to_lowercase().replace('_', " "), html! {
                    @for action in &pause.prioritized_actions {
                        div { @match actions::split(action) { Some((words, command)) => { (part::words(words)) " " (part::command(command)) }, None => (part::words(action)) } }
                    }
                }))
            }
        }
    }
}

fn link(name: &str, id: &str, what: Markup) -> Markup {
    html! { div { dt { (name) } dd { code { (part::words(id)) } div { (what) } } } }
}

fn origin_view(origin: &Origin) -> Markup {
    html! {
        @for capture in &origin.captures {
            (link("note", capture.capture_id.as_str(), html! {
                (part::words(&first_line(&capture.raw_content))) span.fact { (part::words(&capture.source_label)) ", " (day_and_time(capture.created_at)) " UTC" }
            }))
        }
        @if let Some(candidate) = &origin.candidate {
            (link("candidate", &format!("{}/{}", origin.bundle.output_id, origin.index + 1), html! { (part::words(&candidate.title)) }))
        }
    }
}
