//! The first page: what needs the operator, what runs, what waits, what changed.
//!
//! The mark of what was seen moves by a button and by nothing else. A page that follows what happens is open while nobody
//! looks at it; if showing it counted as a look, news would be gone before anybody read it.

use azolla_protocol::{AzollaType, Objective, ObjectiveStatus, Timestamp, is_blank};
use maud::{Markup, html};

use crate::{
    acts::{self, Act},
    dashboard::{
        Ask, PageError, Shown,
        form::form,
        frame::{self, Tab},
        part, seen,
        session::Session,
    },
    deployment::STANDING,
    desk::{self, Action, Content, Desk, NextStep, Remark},
    screen::{age, cut, day_and_time},
    under_way::Step,
};

/// Actions that are shown; more would be a list, not a next thing.
const ACTIONS_MAX: usize = 3;

/// Changes that are shown.
const CHANGES_MAX: usize = 12;

/// Everything that the page says.
#[derive(Default)]
pub(super) struct Now {
    pub(super) needs: Vec<Need>,
    pub(super) more: usize,
    pub(super) running: Vec<Running>,
    pub(super) waiting: Vec<Remark>,
    pub(super) changes: Option<desk::Changes>,
    /// How far the journals are shown here, for the button that says that it was seen.
    pub(super) marks: Vec<String>,
    /// Azollas that cannot be read, and why.
    pub(super) away: Vec<(String, String)>,
    pub(super) today: Option<String>,
    /// Where notes go.
    pub(super) desks: Vec<String>,
    /// How to begin, where there is nothing to go on with.
    pub(super) start: Option<&'static str>,
}

/// One thing for the operator.
pub(super) struct Need {
    pub(super) action: Action,
    /// Where it is dealt with, and what the button there says; none where that is on another machine.
    pub(super) way: Option<(String, &'static str)>,
}

/// A run under way.
pub(super) struct Running {
    pub(super) azolla_id: String,
    pub(super) objective_id: String,
    pub(super) title: String,
    pub(super) path: Option<String>,
    /// What is done at the moment, where that is known here.
    pub(super) step: String,
    pub(super) used_ms: u64,
    pub(super) budget_ms: u64,
}

/// Shows it.
pub(crate) async fn show(ask: &Ask<'_>) -> Result<Shown, PageError> {
    let now = load(ask).await;
    Ok(Shown { title: title(&now), tab: Tab::Home, main: view(&now, ask.session) })
}

async fn load(ask: &Ask<'_>) -> Now {
    let (look, steps, deployment) = (ask.app.look().await, ask.app.under_way().await, &ask.app.deployment);
    let mut actions = desk::actions(&look.desks);
    let more = actions.len().saturating_sub(ACTIONS_MAX);
    actions.truncate(ACTIONS_MAX);
    seen::begin(ask.app, &look.desks).await;
    let marks = look.desks.iter().filter_map(seen::mark);
    let is_empty =
        contents(&look.desks).all(|(_, content)| content.open.is_empty() && content.runs.is_empty());
    let mut patching = deployment.config.azollas.iter().map(|azolla| azolla.azolla_type);
    let start = match patching.any(|azolla_type| azolla_type == AzollaType::CodePatch) {
        true => "azolla objective new \"Title\" --criteria \"what has to hold when it is done\"",
        false => "cd REPOSITORY && azolla init",
    };
    Now {
        start: (is_empty && actions.is_empty()).then_some(start),
        needs: actions.into_iter().map(|action| Need { way: way(&look.desks, &action), action }).collect(),
        more,
        running: contents(&look.desks).flat_map(|(desk, content)| running(desk, content, &steps)).collect(),
        waiting: waiting(ask, desk::waiting(deployment, &look)),
        changes: desk::changes(&look.desks, CHANGES_MAX),
        marks: marks.collect(),
        away: look
            .desks
            .iter()
            .filter_map(|desk| Some((desk.azolla_id.to_string(), desk.content.as_ref().err()?.clone())))
            .collect(),
        today: look.spending.today(&deployment.config.limits),
        desks: frame::desks(ask.app),
    }
}

fn contents(desks: &[Desk]) -> impl Iterator<Item = (&Desk, &Content)> {
    desks.iter().filter_map(|desk| Some((desk, desk.content.as_ref().ok()?)))
}

fn running<'a>(
    desk: &'a Desk,
    content: &'a Content,
    steps: &'a [Step],
) -> impl Iterator<Item = Running> + 'a {
    content.runs.iter().filter(|run| run.live).map(move |run| {
        let workorder = &run.stored.workorder;
        let id = &workorder.objective_id;
        let title = match id.as_str() {
            STANDING => "Notes and orientation".to_owned(),
            id => content.title(&workorder.objective_id).unwrap_or(id).to_owned(),
        };
        let is_this = |step: &&Step| step.azolla_id == desk.azolla_id && step.objective_id == *id;
        let step = steps.iter().find(is_this);
        let (used_ms, budget_ms) = step
            .and_then(|step| Some((step.elapsed_ms(), step.limit_ms?)))
            .unwrap_or((age(workorder.created_at, content.now), workorder.budget_ms));
        Running {
            step: step.map(part::step).unwrap_or_default(),
            used_ms,
            budget_ms,
            azolla_id: desk.azolla_id.to_string(),
            objective_id: id.to_string(),
            title,
            path: (id.as_str() != STANDING).then(|| part::objective_path(&desk.azolla_id, id)),
        }
    })
}

/// What is worked on by itself here needs no command.
fn waiting(ask: &Ask<'_>, mut remarks: Vec<Remark>) -> Vec<Remark> {
    let is_done_here = |next: &NextStep| {
        ask.app.works() && matches!(next, NextStep::Type(command) if acts::WORKS.contains(&command.as_str()))
    };
    for remark in &mut remarks {
        remark.next = remark.next.take().filter(|next| !is_done_here(next));
    }
    remarks
}

/// Returns where an action is dealt with.
fn way(desks: &[Desk], action: &Action) -> Option<(String, &'static str)> {
    let (_, content) = contents(desks).find(|(desk, _)| desk.azolla_id == action.azolla_id)?;
    if action.objective_id.as_str() == STANDING {
        return Some((
            "/notes".to_owned(),
            if action.command == "azolla triage" { "Choose" } else { "Look" },
        ));
    }
    let label = content.objective(&action.objective_id).map_or("Look", label);
    Some((part::objective_path(&action.azolla_id, &action.objective_id), label))
}

fn label(objective: &Objective) -> &'static str {
    match objective.status {
        ObjectiveStatus::Done => "Review",
        ObjectiveStatus::Blocked => "See why",
        ObjectiveStatus::New if is_blank(&objective.acceptance_criteria) => "Describe it",
        ObjectiveStatus::New => "Read and approve",
        ObjectiveStatus::Todo | ObjectiveStatus::InProgress => "Look",
    }
}

/// The page in a sentence.
fn title(now: &Now) -> String {
    match now.needs.len() + now.more {
        0 => "Nothing needs you".to_owned(),
        1 => "One thing needs you".to_owned(),
        count => format!("{count} things need you"),
    }
}

pub(super) fn view(now: &Now, session: &Session) -> Markup {
    html! {
        div.now {
            div.first {
                section #needs data-live="needs" aria-labelledby="page" {
                    h1 #page tabindex="-1" { (title(now)) }
                    @if now.needs.is_empty() { (nothing(now)) }
                    @else {
                        ol.needs {
                            @for need in &now.needs { (need_view(need, session)) }
                        }
                    }
                    @if now.more > 0 {
                        p.faint { "and " (now.more) " more, in " a href="/objectives" { "all objectives" } " and " a href="/notes" { "notes" } }
                    }
                }
                (away_view(now))
                section #running data-live="running" hidden[now.running.is_empty()] {
                    h2 { "Running" }
                    ul.rows { @for run in &now.running { (running_view(run)) } }
                }
                section #waiting data-live="waiting" hidden[now.waiting.is_empty()] {
                    h2 { "Waiting" }
                    ul.rows { @for remark in &now.waiting { (remark_view(remark)) } }
                }
            }
            div.second {
                @if !now.desks.is_empty() {
                    section #capture aria-labelledby="capture-title" {
                        h2 #capture-title { "Capture" }
                        (frame::capture(session, &now.desks, "/"))
                    }
                }
                (changes_view(now, session))
                section data-live="today" hidden[now.today.is_none()] {
                    @if let Some(today) = &now.today { p.faint { (part::words(today)) } }
                }
            }
        }
    }
}

fn nothing(now: &Now) -> Markup {
    html! {
        @match now.start {
            Some(command) => {
                p { "Nothing is open. To begin:" }
                p { (part::command(command)) }
            }
            None if now.running.is_empty() => p { "You can close this page. Whatever comes will be here." },
            None => p { "Work is under way. What comes of it will be here." },
        }
    }
}

fn need_view(need: &Need, session: &Session) -> Markup {
    /// What it is about is told by the beginning of its title; its own page has all of it.
    const TITLE_COLUMNS_MAX: usize = 200;
    let action = &need.action;
    let title = part::words(&cut(&action.title, TITLE_COLUMNS_MAX));
    html! {
        li.need {
            div {
                h2 {
                    @match &need.way {
                        Some((path, _)) => a href=(path) { (title) },
                        None => (title),
                    }
                }
                p {
                    (part::words(&action.text))
                    @for fact in action.facts() { span.fact { (part::words(&fact)) } }
                    span.fact { (action.azolla_id) }
                }
                @if let Some(by_hand) = &action.by_hand { p { (part::words(by_hand)) } }
                p.typed { (part::command(&action.command)) @if let Some(then) = &action.then { " then " (part::command(then)) } }
            }
            @match &need.way {
                Some((path, label)) => a.button.main href=(path) { (*label) span.unseen { ": " (title) } },
                None => (snooze(action, session)),
            }
        }
    }
}

/// What is on another machine is settled there; here it can be left alone.
fn snooze(action: &Action, session: &Session) -> Markup {
    let fixed =
        [("azolla", action.azolla_id.as_str()), ("objective", action.objective_id.as_str()), ("days", "7")];
    form(session, Act::Snooze.name(), "/", &fixed, html! { button { "Leave it for 7 days" } })
}

fn running_view(run: &Running) -> Markup {
    html! {
        li {
            div.split {
                @match &run.path {
                    Some(path) => a href=(path) { (part::words(&run.title)) },
                    None => span { (part::words(&run.title)) },
                }
                (part::budget(run.used_ms, run.budget_ms, &format!("Time used by {}", run.title)))
            }
            p.faint { (run.azolla_id) span.fact data-step={ (run.azolla_id) " " (run.objective_id) } { (part::words(&run.step)) } }
        }
    }
}

fn remark_view(remark: &Remark) -> Markup {
    html! {
        li {
            p { (part::words(&remark.text)) }
            @match &remark.next {
                Some(NextStep::Type(command)) => p.typed { (part::command(command)) },
                Some(NextStep::Edit(what)) => p.faint { (part::words(what)) },
                None => {}
            }
        }
    }
}

fn away_view(now: &Now) -> Markup {
    html! {
        section data-live="away" hidden[now.away.is_empty()] {
            @for (azolla_id, why) in &now.away {
                div.remark {
                    h2 { (azolla_id) " cannot be read" }
                    p { (part::words(why)) }
                    p.typed { (part::command("azolla doctor")) }
                }
            }
        }
    }
}

fn changes_view(now: &Now, session: &Session) -> Markup {
    let Some(changes) = &now.changes else {
        return html! { section #changes data-live="changes" hidden {} };
    };
    let line = |(at, words): &(Timestamp, String)| {
        let (title, words) = titled(words);
        html! { li { time datetime=(at) title={ (day_and_time(*at)) " UTC" } { (&day_and_time(*at)[5..16]) } " " @if let Some(title) = title { strong { (part::words(title)) } " " } (part::words(words)) } }
    };
    let marks: Vec<_> = now.marks.iter().map(|mark| (seen::FIELD, mark.as_str())).collect();
    html! {
        section #changes data-live="changes" {
            div.split {
                h2 { "Since you last looked" @if let Some(looked) = &changes.looked { span.fact { (part::words(looked)) } } }
                (form(session, Act::Seen.name(), "/", &marks, html! { button.small { "Seen" } }))
            }
            @if let Some(earlier) = &changes.earlier { p.faint { (part::words(earlier)) ": " (part::command("azolla log")) } }
            ul.lines { @for change in changes.lines.iter().rev() { (line(change)) } }
        }
    }
}

/// Takes `obj-… was approved (Title)` apart: a person knows it by its title.
fn titled(words: &str) -> (Option<&str>, &str) {
    let parts = || {
        let (id, rest) = words.split_once(' ')?;
        let (what, title) = rest.strip_suffix(')')?.split_once(" (")?;
        id.starts_with("obj-").then_some((title, what))
    };
    parts().map_or((None, words), |(title, what)| (Some(title), what))
}
