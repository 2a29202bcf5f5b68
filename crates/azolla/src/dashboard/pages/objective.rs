//! One objective: where it stands, what came of it, what happened, and what can be done now.

mod acts;

use azolla_protocol::{
    JournalEntry, Objective, ObjectiveId, PauseState, RunRecord, Timestamp, due_day, is_blank,
};
use azolla_substrate::StoredWorkorder;
use maud::{Markup, html};

use super::{
    change::Part,
    load::{self, away},
    result,
};
use crate::{
    actions,
    acts::{Act, allowed, may_reword},
    cli::{
        log,
        review::{self, Reviewed},
    },
    dashboard::{Ask, PageError, Shown, frame::Tab, part, session::Session},
    find::Found,
    line,
    screen::{age, day_and_time},
    under_way::Step,
};

/// Rows of the timeline, and runs, that are shown.
const TIMELINE_MAX: usize = 60;
const RUNS_MAX: u64 = 20;

/// Everything that the page says.
pub(super) struct Page {
    pub(super) objective: Objective,
    /// Its version, as every write compares it.
    pub(super) version: u64,
    pub(super) azolla_type: azolla_protocol::AzollaType,
    pub(super) now: Timestamp,
    pub(super) pause: Option<PauseState>,
    /// The run under way, with what is done at the moment, where that is known here.
    pub(super) running: Option<(StoredWorkorder, Option<Step>)>,
    pub(super) result: Option<Reviewed>,
    pub(super) runs: Vec<RunRecord>,
    pub(super) timeline: Vec<JournalEntry>,
    pub(super) allowed: Vec<Act>,
    /// Whether its words can be changed too, where it can be edited.
    pub(super) may_reword: bool,
    /// Which part of the change is asked for.
    pub(super) part: Part,
}

impl Page {
    fn path(&self) -> String {
        part::objective_path(&self.objective.azolla_id, &self.objective.objective_id)
    }
}

/// Shows it.
pub(crate) async fn show(ask: &Ask<'_>) -> Result<Shown, PageError> {
    let azolla = load::azolla(ask)?;
    let id: ObjectiveId = ask.id("objective")?;
    let found = load::objective(ask, azolla, &id).await?;
    let page = load(ask, &found).await.map_err(away)?;
    Ok(Shown {
        title: part::words(&page.objective.title),
        tab: Tab::Objectives,
        main: view(&page, ask.session),
    })
}

async fn load(ask: &Ask<'_>, found: &Found) -> Result<Page, azolla_substrate::SubstrateError> {
    let (read, stored) = (found.read(), &found.stored);
    let now = read.now().await?;
    let pause = match &stored.pause_key {
        Some(key) => read.pause_state(key).await?,
        None => None,
    };
    let open = [read.created_workorders(10).await?, read.ungated_workorders(10).await?].concat();
    let is_this = |step: &Step| step.azolla_id == found.azolla.id && step.objective_id == *found.id();
    let step = ask.app.under_way().await.into_iter().find(is_this);
    let mut timeline = log::of_objective(found).await?;
    timeline.retain(|entry| line::matters(entry, found.azolla.azolla_type));
    timeline.drain(..timeline.len().saturating_sub(TIMELINE_MAX));
    Ok(Page {
        now,
        pause,
        running: open
            .into_iter()
            .find(|open| open.workorder.objective_id == *found.id())
            .map(|open| (open, step)),
        result: review::result(found, None).await?,
        runs: read.runs_before(found.id(), None, RUNS_MAX).await?,
        timeline,
        allowed: allowed(stored, found.azolla.azolla_type),
        may_reword: may_reword(stored, found.azolla.azolla_type),
        azolla_type: found.azolla.azolla_type,
        objective: stored.objective.clone(),
        version: stored.version,
        part: Part::of(ask),
    })
}

pub(super) fn view(page: &Page, session: &Session) -> Markup {
    let objective = &page.objective;
    html! {
        // What is confirmed is what is shown: these two are of one moment, whatever somebody is doing in one of them.
        div #head data-live="head" data-together="result" {
            (head(page))
            (now(page))
            (acts::main(page, session))
        }
        (blockers(objective))
        div #result data-live="result" data-together="result" {
            @match &page.result {
                Some(found) => {
                    (result::evidence(&objective.acceptance_criteria, found))
                    (result::change(found, &page.path(), page.part))
                }
                None => section { h2 { "Done when" } (result::criteria_view(&objective.acceptance_criteria)) },
            }
        }
        (runs(page))
        (timeline(page))
        (acts::more(page, session))
    }
}

fn head(page: &Page) -> Markup {
    let objective = &page.objective;
    let metadata = |key: &str| objective.metadata.get(key).and_then(|value| value.as_str());
    html! {
        h1 tabindex="-1" { @if is_blank(&objective.title) { "(no title)" } @else { (part::words(&objective.title)) } }
        p.facts {
            (part::state(objective))
            span.fact { "changed " (part::when(objective.updated_at, page.now)) }
            span.fact { "importance " (objective.importance) ", urgency " (objective.urgency) " (0 is most)" }
            @if let Some(day) = due_day(objective) { span.fact { "due " (part::words(day)) } }
            @if let (Some(repo), Some(base)) = (metadata("repo_ref"), metadata("base_branch")) {
                span.fact { (part::words(repo)) ", from " (part::words(base)) }
            }
            span.fact { code { (objective.objective_id) } " in " (objective.azolla_id) }
        }
    }
}

/// What it does now, or why it does nothing.
fn now(page: &Page) -> Markup {
    let objective = &page.objective;
    html! {
        @if let Some((stored, step)) = &page.running {
            @let workorder = &stored.workorder;
            div.running {
                @let limited = step.as_ref().and_then(|step| Some((step.elapsed_ms(), step.limit_ms?)));
                @let (used, most) = limited.unwrap_or((age(workorder.created_at, page.now), workorder.budget_ms));
                (part::budget(used, most, "Time used by the run"))
                span.fact data-step={ (objective.azolla_id) " " (objective.objective_id) } { @if let Some(step) = step { (part::words(&part::step(step))) } }
            }
        }
        @if objective.metadata.contains_key("cancel") { p { "It is to stop: that happens at its next sign of life." } }
        @if let Some(reason) = &objective.blocked_reason { div.remark { h2 { "Blocked" } (part::text(reason)) } }
        @if let Some(pause) = &page.pause {
            ul.plain.next {
                @for action in &pause.prioritized_actions {
                    li {
                        @match actions::split(action) {
                            Some((words, command)) => { (part::words(words)) " " (part::command(command)) },
                            None => (part::words(action)),
                        }
                    }
                }
            }
        }
    }
}

fn blockers(objective: &Objective) -> Markup {
    // What is said above already is not said twice.
    let is_said = |said: &str| objective.blocked_reason.as_deref() == Some(said);
    let open =
        objective.blocked_on.iter().filter(|blocker| !blocker.resolved && !is_said(&blocker.description));
    let open: Vec<_> = open.collect();
    html! {
        section data-live="blockers" hidden[open.is_empty()] {
            @if !open.is_empty() {
                h2 { "What it waits for" }
                ul.plain {
                    @for blocker in open {
                        li { (part::words(&blocker.description)) span.fact { (blocker.kind.as_str().to_lowercase().replace('_', " ")) } span.fact { code { (blocker.blocker_id) } } }
                    }
                }
            }
        }
    }
}

fn runs(page: &Page) -> Markup {
    html! {
        section data-live="runs" hidden[page.runs.is_empty()] {
            h2 { "Runs" }
            ul.rows {
                @for run in &page.runs {
                    li {
                        a.row href=(part::run_path(&page.objective.azolla_id, &run.run_id)) { (run.run_id) }
                        " " (part::verdict(run.gate_result)) " " (part::reason(&run.gate_reason))
                        span.fact { (part::when(run.created_at, page.now)) }
                    }
                }
            }
            @if page.runs.len() as u64 == RUNS_MAX { p.faint { "The last " (RUNS_MAX) ". All: " (part::command(&format!("azolla explain {}", page.objective.objective_id))) } }
        }
    }
}

fn timeline(page: &Page) -> Markup {
    let id = page.objective.objective_id.as_str();
    html! {
        section data-live="timeline" {
            h2 { "Timeline" }
            ol.timeline {
                @for entry in page.timeline.iter().rev() {
                    @let words = line::words(entry, page.azolla_type);
                    li {
                        time datetime=(entry.at) { (day_and_time(entry.at)) }
                        // What everything here is about goes without saying.
                        " " (part::words(words.strip_prefix(id).map_or(words.as_str(), str::trim_start)))
                    }
                }
            }
            p.faint { "Times are UTC." @if page.timeline.len() == TIMELINE_MAX { " Earlier: " (part::command(&format!("azolla log {id}"))) } }
        }
    }
}
