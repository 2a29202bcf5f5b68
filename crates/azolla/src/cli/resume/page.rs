//! The resume page in words.

use azolla_protocol::AzollaType;

use crate::{
    config::Config,
    deployment::Deployment,
    desk::{self, Action, Content, Desk, Look, NextStep, Remark},
    screen::{BAD, FAINT, PLAIN, Page, STRONG, age, cut, day_and_time, duration},
};

/// Actions that are shown; more would be a list, not a next thing.
const ACTIONS_MAX: usize = 3;

/// Columns of a title: what it is about is told by its beginning, and the rest of the page has to stay in sight.
const TITLE_COLUMNS_MAX: usize = 100;

/// Changes that are shown.
const CHANGES_MAX: usize = 10;

/// Puts the page together.
pub(super) fn page(deployment: &Deployment, look: &Look) -> Page {
    let (config, desks) = (&deployment.config, &look.desks[..]);
    let mut page = Page::default();
    let actions = desk::actions(desks);
    add_actions(&mut page, &actions);
    add_running(&mut page, desks);
    add_waiting(&mut page, deployment, look);
    if actions.is_empty() {
        add_start(&mut page, config, desks);
    }
    add_changes(&mut page, desks);
    add_unreachable(&mut page, desks);
    if let Some(today) = look.spending.today(&config.limits) {
        page.line(PLAIN, "").line(FAINT, &today);
    }
    page
}

fn contents(desks: &[Desk]) -> impl Iterator<Item = (&Desk, &Content)> {
    desks.iter().filter_map(|desk| Some((desk, desk.content.as_ref().ok()?)))
}

fn add_actions(page: &mut Page, actions: &[Action]) {
    if actions.is_empty() {
        page.line(PLAIN, "Nothing needs you.");
        return;
    }
    page.heading(if actions.len() == 1 { "Waiting for you" } else { "Waiting for you, first things first" });
    for (number, action) in actions.iter().take(ACTIONS_MAX).enumerate() {
        page.add(PLAIN, &format!("  {}. ", number + 1)).hang();
        page.add(PLAIN, &format!("{}: ", action.text)).add(STRONG, &cut(&action.title, TITLE_COLUMNS_MAX));
        let facts = action.facts();
        let facts = if facts.is_empty() { String::new() } else { format!("  ({})", facts.join(", ")) };
        page.line(FAINT, &facts);
        page.command("     ", &action.command);
        if let Some(then) = &action.then {
            page.add(FAINT, "     then: ").command("", then);
        }
        if let Some(by_hand) = &action.by_hand {
            page.line(PLAIN, &format!("     {by_hand}"));
        }
    }
    if actions.len() > ACTIONS_MAX {
        let more = actions.len() - ACTIONS_MAX;
        page.add(FAINT, &format!("  and {more} more: ")).command("", "azolla objective list");
    }
}

fn add_running(page: &mut Page, desks: &[Desk]) {
    let mut heading = true;
    for (_, content) in contents(desks) {
        for run in content.runs.iter().filter(|run| run.live) {
            if std::mem::take(&mut heading) {
                page.heading("Running");
            }
            let workorder = &run.stored.workorder;
            let title = content.title(&workorder.objective_id).unwrap_or(workorder.objective_id.as_str());
            let (since, budget) = (age(workorder.created_at, content.now), workorder.budget_ms);
            page.add(PLAIN, &format!("  {}", cut(title, TITLE_COLUMNS_MAX))).line(
                FAINT,
                &format!("  {} since it was started, budget {}", duration(since), duration(budget)),
            );
        }
    }
}

fn add_waiting(page: &mut Page, deployment: &Deployment, look: &Look) {
    let remarks = desk::waiting(deployment, look);
    if !remarks.is_empty() {
        page.heading("Waiting");
    }
    for Remark { text, next } in remarks {
        page.line(PLAIN, &format!("  {text}"));
        match next {
            Some(NextStep::Type(command)) => page.command("     ", &command),
            Some(NextStep::Edit(what)) => page.line(PLAIN, &format!("     {what}")),
            None => continue,
        };
    }
}

/// Says how to begin, where there is nothing to go on with.
fn add_start(page: &mut Page, config: &Config, desks: &[Desk]) {
    if contents(desks).any(|(_, content)| !content.open.is_empty() || !content.runs.is_empty()) {
        return;
    }
    if config.azollas.iter().any(|azolla| azolla.azolla_type == AzollaType::CodePatch) {
        page.heading("Next: describe a piece of work")
            .command("  ", "azolla objective new \"Title\" --criteria \"what has to hold when it is done\"");
    } else {
        page.heading("Next: set it up for a repository").command("  ", "cd REPOSITORY && azolla init");
    }
}

fn add_changes(page: &mut Page, desks: &[Desk]) {
    let Some(changes) = desk::changes(desks, CHANGES_MAX) else { return };
    page.heading(&format!("Since you last looked, {}", changes.looked.unwrap_or_default()));
    if let Some(earlier) = changes.earlier {
        page.add(FAINT, &format!("  {earlier}: ")).command("", "azolla log");
    }
    for (at, words) in changes.lines {
        page.add(FAINT, &format!("  {}  ", day_and_time(at))).hang().line(PLAIN, &words);
    }
}

fn add_unreachable(page: &mut Page, desks: &[Desk]) {
    for desk in desks {
        if let Err(error) = &desk.content {
            page.heading(&format!("{} cannot be read", desk.azolla_id)).line(BAD, &format!("  {error}"));
            page.command("     ", "azolla doctor");
        }
    }
}
