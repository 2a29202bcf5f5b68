//! The resume page in words.

use azolla_protocol::{AzollaId, AzollaType, ObjectiveStatus, Timestamp, limits};

use super::{
    desk::{Content, Desk},
    next::{self, Action},
    notes::Notes,
    spending::{Held, NextStep, Spending},
};
use crate::{
    cli::log::line,
    config::Config,
    deployment::Deployment,
    screen::{BAD, FAINT, PLAIN, Page, STRONG, age, ago, day_and_time, duration},
};

/// Actions that are shown; more would be a list, not a next thing.
const ACTIONS_MAX: usize = 3;

/// Changes that are shown.
const CHANGES_MAX: usize = 10;

/// Puts the page together.
pub(super) fn page(deployment: &Deployment, desks: &[Desk], spending: &Spending) -> Page {
    let config = &deployment.config;
    let mut page = Page::default();
    let actions = next::actions(desks);
    add_actions(&mut page, &actions);
    add_running(&mut page, desks);
    add_waiting(&mut page, deployment, desks, spending);
    if actions.is_empty() {
        add_start(&mut page, config, desks);
    }
    add_changes(&mut page, desks);
    add_unreachable(&mut page, desks);
    if let Some(today) = spending.today(&config.limits) {
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
        page.add(PLAIN, &format!("  {}. {}: ", number + 1, action.text)).add(STRONG, &action.title);
        page.line(FAINT, &facts(action));
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

/// What there is to know about an action, in brackets.
fn facts(action: &Action) -> String {
    let mut facts = Vec::new();
    facts.extend(action.unconfirmed.then(|| "awaiting confirmation".to_owned()));
    facts.extend(action.overdue.then(|| "its time is over".to_owned()));
    facts.extend(action.due.as_ref().map(|day| format!("due {day}")));
    if facts.is_empty() { String::new() } else { format!("  ({})", facts.join(", ")) }
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
            page.add(PLAIN, &format!("  {title}")).line(
                FAINT,
                &format!("  {} since it was started, budget {}", duration(since), duration(budget)),
            );
        }
    }
}

fn add_waiting(page: &mut Page, deployment: &Deployment, desks: &[Desk], spending: &Spending) {
    let review_limit = deployment.config.limits.get(&limits::REVIEW_LIMIT);
    let mut lines = Vec::new();
    for (desk, content) in contents(desks) {
        let approved = content.with_status(ObjectiveStatus::Todo).count();
        let idle = content.runs.iter().filter(|run| !run.live).count();
        let busy = content.runs.len() - idle;
        let (waiting, id) = (content.stream.waiting, &desk.azolla_id);
        if approved > 0 && review_limit > 0 && waiting + content.stream.open >= review_limit && waiting > 0 {
            let results = match waiting {
                1 => "1 result waits".to_owned(),
                _ => format!("{waiting} results wait"),
            };
            let text = format!(
                "{id}: {approved} approved, held back: {results} for you and the limit is {review_limit}"
            );
            lines.push((text, None));
        } else if let (1.., Some(held)) = (approved + idle, spending.held(id)) {
            let text = format!("{id}: {} ready to run, held back {}", approved + idle, held.until_and_why());
            lines.push((text, Some(held.action(deployment))));
        } else if approved + idle > 0 && busy == 0 {
            let text = format!("{id}: {} ready to run", approved + idle);
            lines.push((text, Some(NextStep::Type("azolla run --until-idle".to_owned()))));
        } else if approved > 0 {
            lines.push((format!("{id}: {approved} approved, next in line"), None));
        }
        if let Some(notes) = &content.notes {
            add_notes(&mut lines, id, notes, content, review_limit, spending.held(id));
        }
    }
    if !lines.is_empty() {
        page.heading("Waiting");
    }
    for (text, command) in lines {
        page.line(PLAIN, &format!("  {text}"));
        match command {
            Some(NextStep::Type(command)) => page.command("     ", &command),
            Some(NextStep::Edit(what)) => page.line(PLAIN, &format!("     {what}")),
            None => continue,
        };
    }
}

fn add_notes(
    lines: &mut Vec<(String, Option<NextStep>)>,
    id: &AzollaId,
    notes: &Notes,
    content: &Content,
    review_limit: u64,
    held: Option<&Held>,
) {
    let untried = notes.pending.saturating_sub(notes.held);
    let waiting = match untried {
        1 => "1 note to triage".to_owned(),
        _ => format!("{untried} notes to triage"),
    };
    match (untried, held) {
        (0, _) => {}
        _ if review_limit > 0 && content.stream.waiting >= review_limit => {
            lines.push((format!("{id}: {waiting}, held back until candidates are settled"), None));
        }
        (_, Some(held)) => lines.push((format!("{id}: {waiting}, held back {}", held.until_and_why()), None)),
        (_, None) => {
            let command = NextStep::Type("azolla triage --now".to_owned());
            lines.push((format!("{id}: {waiting}"), Some(command)));
        }
    }
    for remark in &notes.remarks {
        lines.push((format!("{id}: at the last orientation: {remark}"), None));
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
    let mut changes: Vec<(Timestamp, String)> = Vec::new();
    for (_, content) in contents(desks) {
        let azolla_type = content.azolla_type;
        let entries = content.since.entries.iter();
        let (notes, others): (Vec<_>, Vec<_>) = entries.partition(|entry| line::is_new_note(entry));
        changes.extend(others.into_iter().map(|entry| {
            let title = line::objective_id(entry, azolla_type);
            let title = title
                .and_then(|id| content.title(&id))
                .map_or_else(String::new, |title| format!(" ({title})"));
            (entry.at, format!("{}{title}", line::words(entry, azolla_type)))
        }));
        // Many notes are one change.
        if let Some(last) = notes.last() {
            let words = match notes.len() {
                1 => line::words(last, azolla_type),
                count => format!("{count} notes were captured"),
            };
            changes.push((last.at, words));
        }
    }
    if changes.is_empty() {
        return;
    }
    changes.sort_by_key(|(at, _)| *at);
    let looks = contents(desks).filter_map(|(_, content)| Some((content.since.looked_at?, content.now)));
    let looked = looks.max_by_key(|(looked_at, _)| *looked_at).map(|(at, now)| ago(at, now));
    page.heading(&format!("Since you last looked, {}", looked.unwrap_or_default()));
    let skipped = changes.len().saturating_sub(CHANGES_MAX);
    let is_cut = contents(desks).any(|(_, content)| content.since.is_cut);
    if skipped > 0 {
        let more = if is_cut { "more than " } else { "" };
        page.add(FAINT, &format!("  {more}{skipped} earlier: ")).command("", "azolla log");
    }
    for (at, words) in changes.iter().skip(skipped) {
        page.add(FAINT, &format!("  {}  ", day_and_time(*at))).line(PLAIN, words);
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
