//! What can be done with an objective as it stands: one or two main acts where its state is told, the rest at the end.

use azolla_protocol::BlockerKind;
use maud::{Markup, html};

use super::Page;
use crate::{
    actions,
    acts::{Act, DAYS_MAX, TITLE_CHARS_MAX},
    dashboard::{form::form, part, session::Session},
};

/// Puts a form together whose azolla and objective are those of the page.
fn act(page: &Page, session: &Session, act: Act, more: &[(&str, &str)], inside: Markup) -> Markup {
    let mut fixed = vec![
        ("azolla", page.objective.azolla_id.as_str()),
        ("objective", page.objective.objective_id.as_str()),
    ];
    fixed.extend(more);
    form(session, act.name(), &page.path(), &fixed, inside)
}

/// An act that asks for something first: closed until it is opened.
fn asking(key: Option<&str>, label: &str, inside: Markup) -> Markup {
    html! { details.act { summary.button data-key=[key] { (label) "…" } (inside) } }
}

/// The acts that lead on from here.
pub(super) fn main(page: &Page, session: &Session) -> Markup {
    let can = |step: Act| page.allowed.contains(&step);
    // The one whose change is on the page, which may not be the latest by now; without one there is nothing to confirm.
    let run = page.result.as_ref().and_then(|result| result.run.as_ref());
    let run = run.map(|run| [("run", run.run_id.as_str())]);
    let larger = budget(page);
    // What is let run, or goes on, is what is on the page.
    let version = page.version.to_string();
    let seen = ("version", version.as_str());
    html! {
        div.acts {
            @if can(Act::Approve) {
                (act(page, session, Act::Approve, &[seen], html! { button.main data-key="a" { "Approve: let it run" } }))
            }
            @if let (Some(run), true) = (&run, can(Act::Confirm)) {
                (act(page, session, Act::Confirm, run, html! { button.main data-key="y" { "Confirm: it is done" } }))
            }
            @if let (Some(run), true) = (&run, can(Act::Reject)) {
                (asking(Some("x"), "Send it back", act(page, session, Act::Reject, run, html! {
                    label { "What has to change" textarea name="feedback" rows="4" required {} }
                    p.faint { "The next attempt gets these words." }
                    button.main { "Send it back" }
                })))
            }
            @if can(Act::Unblock) && unblocks(page) {
                (act(page, session, Act::Unblock, &[seen], html! { button.main data-key="u" { "What was missing is there: go on" } }))
            }
            @if can(Act::Retry) {
                @let more: Vec<_> = larger.iter().map(|budget| ("budget_ms", budget.as_str())).chain([seen]).collect();
                (act(page, session, Act::Retry, &more, html! { button.main data-key="r" { "Run it again" @if larger.is_some() { ", with more time" } } }))
            }
            @if can(Act::Cancel) {
                (asking(Some("x"), "Stop the run", act(page, session, Act::Cancel, &[], html! {
                    label { "Why (may be empty)" input name="reason" autocomplete="off"; }
                    button.main { "Stop the run" }
                })))
            }
            @if can(Act::Unarchive) {
                (act(page, session, Act::Unarchive, &[], html! { button.main { "Bring it back" } }))
            }
        }
    }
}

/// Returns the budget that the pause_state names for the next attempt, if it names one.
fn budget(page: &Page) -> Option<String> {
    let command = actions::continuing(&page.objective, page.pause.as_ref());
    let (_, budget) = command.split_once(" --budget-ms ")?;
    budget.parse::<u64>().ok().map(|budget| budget.to_string())
}

/// Tells whether it goes on once what the operator named is there; else trying again is the way (S-h).
fn unblocks(page: &Page) -> bool {
    actions::continuing(&page.objective, page.pause.as_ref()).contains(" unblock ")
}

/// The other acts.
pub(super) fn more(page: &Page, session: &Session) -> Markup {
    let can = |step: Act| page.allowed.contains(&step);
    html! {
        section #more data-live="more" aria-labelledby="more-title" hidden[page.allowed.is_empty()] {
            h2 #more-title { "Other things to do with it" }
            div.acts {
                @if can(Act::Edit) {
                    (asking(Some("e"), "Edit", edit(page, session)))
                }
                @if can(Act::Withdraw) {
                    (act(page, session, Act::Withdraw, &[], html! { button { "Take the approval back" } }))
                }
                @if can(Act::Block) { (asking(Some("b"), "Block", block(page, session))) }
                @if can(Act::Snooze) { (asking(Some("s"), "Leave it alone for a while", snooze(page, session))) }
                @if can(Act::Archive) {
                    (asking(None, "Archive", act(page, session, Act::Archive, &[], html! {
                        p.faint { "It is out of sight and never runs. You can bring it back." }
                        button.main { "Archive" }
                    })))
                }
            }
            p.faint { "The same on the command line: " (part::command("azolla objective --help")) }
        }
    }
}

fn edit(page: &Page, session: &Session) -> Markup {
    let objective = &page.objective;
    let base = objective.metadata.get("base_branch").and_then(|base| base.as_str());
    act(
        page,
        session,
        Act::Edit,
        &[("version", &page.version.to_string())],
        html! {
            @if page.may_reword {
                // The first line end in a textarea is not part of it.
                label { "Title" input name="title" value=(objective.title) required maxlength=(TITLE_CHARS_MAX) autocomplete="off"; }
                label { "Done when" textarea name="criteria" rows="6" { "\n" (objective.acceptance_criteria) } }
                @if let Some(base) = base { label { "From branch" input name="base" value=(base) autocomplete="off"; } }
            } @else {
                p.faint { "Its words can be changed while it does not run." }
            }
            div.pair {
                (part::level("importance", "Importance", objective.importance))
                (part::level("urgency", "Urgency", objective.urgency))
            }
            button.main { "Store the changes" }
        },
    )
}

fn block(page: &Page, session: &Session) -> Markup {
    act(
        page,
        session,
        Act::Block,
        &[],
        html! {
            label { "What is missing" textarea name="reason" rows="3" required {} }
            label { "Kind" select name="kind" {
                @for kind in BlockerKind::ALL { option value=(kind.as_str()) { (kind.as_str().to_lowercase().replace('_', " ")) } }
            } }
            button.main { "Block it" }
        },
    )
}

fn snooze(page: &Page, session: &Session) -> Markup {
    act(
        page,
        session,
        Act::Snooze,
        &[],
        html! {
            label { "For how many days" input type="number" name="days" min="1" max=(DAYS_MAX) value="7"; }
            label { "Or until the beginning of a day (UTC)" input type="date" name="until"; }
            p.faint { "It is not called overdue before that." }
            button.main { "Leave it alone" }
        },
    )
}
