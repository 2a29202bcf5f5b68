//! The next actions, in order: what is overdue, then results, then what is stuck, then what only needs a yes.

use std::collections::HashMap;

use azolla_protocol::{
    AzollaId, Objective, ObjectiveId, ObjectiveStatus, PauseReason, PauseState, Timestamp, due_day, is_blank,
    lifecycle,
};
use azolla_substrate::DeadlinePause;
use serde_json::{Value, json};

use super::{
    content::{Content, Desk},
    notes::{self, Notes},
};
use crate::{actions, deployment::STANDING};

/// One thing for the operator to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Action {
    /// Where.
    pub(crate) azolla_id: AzollaId,
    /// About what.
    pub(crate) objective_id: ObjectiveId,
    /// Its title.
    pub(crate) title: String,
    /// What to do, in words.
    pub(crate) text: String,
    /// What to type.
    pub(crate) command: String,
    /// What to type once that is done, where the first alone does not lead on.
    pub(crate) then: Option<String>,
    /// How to get a branch that could not be published, in words.
    pub(crate) by_hand: Option<String>,
    /// Whether it passed its gate and completion is not confirmed (S-2).
    pub(crate) unconfirmed: bool,
    /// Whether it should have moved by now (7.4).
    pub(crate) overdue: bool,
    /// The day it is due, if one was named.
    pub(crate) due: Option<String>,
    rank: (u8, u8, u8),
}

impl Action {
    /// One that says the same everywhere.
    #[cfg(test)]
    pub(crate) fn for_a_test(azolla_id: &AzollaId, id: &ObjectiveId, said: &str) -> Self {
        let said = || said.to_owned();
        let (then, by_hand, due) = (Some(said()), Some(said()), Some(said()));
        Self { title: said(), then, by_hand, due, ..plain(azolla_id, id, &said(), &said()) }
    }

    /// Returns it for a program.
    pub(crate) fn document(&self) -> Value {
        json!({"azolla_id": self.azolla_id, "objective_id": self.objective_id, "title": self.title,
               "text": self.text, "command": self.command, "then": self.then, "by_hand": self.by_hand})
    }

    /// Returns what else there is to know, in words.
    pub(crate) fn facts(&self) -> Vec<String> {
        let mut facts = Vec::new();
        facts.extend(self.unconfirmed.then(|| "awaiting confirmation".to_owned()));
        facts.extend(self.overdue.then(|| "its time is over".to_owned()));
        facts.extend(self.due.as_ref().map(|day| format!("due {day}")));
        facts
    }
}

/// What comes before what.
const RESULT: u8 = 0;
const STUCK: u8 = 1;
const YES: u8 = 2;

/// Returns everything that needs the operator, the most important first.
pub(crate) fn actions(desks: &[Desk]) -> Vec<Action> {
    let mut actions: Vec<_> = desks
        .iter()
        .filter_map(|desk| Some((&desk.azolla_id, desk.content.as_ref().ok()?)))
        .flat_map(|(azolla_id, content)| {
            let notes = content.notes.iter().flat_map(|notes| of_notes(azolla_id, content, notes));
            of(azolla_id, content).into_iter().chain(notes)
        })
        .collect();
    for action in &mut actions {
        action.overdue = notes::is_overdue(desks, &action.azolla_id, &action.objective_id);
    }
    let unlisted = notes::still_overdue(desks).filter(|deadline| {
        let pause = &deadline.pause;
        !actions.iter().any(|a| a.azolla_id == pause.azolla_id && a.objective_id == pause.objective_id)
    });
    let unlisted: Vec<_> = unlisted.filter_map(|deadline| overdue(desks, deadline)).collect();
    actions.extend(unlisted);
    actions.sort_by_key(|action| (!action.overdue, action.rank));
    actions
}

/// What should have moved and needs nothing else of the operator: it waits, or it is elsewhere.
fn overdue(desks: &[Desk], deadline: &DeadlinePause) -> Option<Action> {
    let pause = &deadline.pause;
    let (text, command) = actions::split(pause.prioritized_actions.first()?)?;
    let (azolla_id, id) = (&pause.azolla_id, &pause.objective_id);
    let rank = (YES, 2, deadline.urgency);
    let Some(desk) = desks.iter().find(|desk| desk.azolla_id == *azolla_id) else {
        // Its commands are for its own machine; here it can only be left alone.
        let text =
            format!("Overdue in {azolla_id}, to be settled on its machine (urgency {})", deadline.urgency);
        let snooze = format!("azolla snooze {id} --azolla {azolla_id}");
        let action = plain(azolla_id, id, &text, &snooze);
        return Some(Action { title: id.to_string(), overdue: true, rank, ..action });
    };
    // It is here.
    let text = text.trim_end_matches(", on its machine");
    let objective = desk.content.as_ref().ok()?.objective(id)?;
    let (title, due) = (objective.title.clone(), due_day(objective).map(str::to_owned));
    Some(Action { title, overdue: true, due, rank, ..plain(azolla_id, id, text, command) })
}

fn plain(azolla_id: &AzollaId, objective_id: &ObjectiveId, text: &str, command: &str) -> Action {
    Action {
        azolla_id: azolla_id.clone(),
        objective_id: objective_id.clone(),
        title: String::new(),
        text: text.to_owned(),
        command: command.to_owned(),
        then: None,
        by_hand: None,
        unconfirmed: false,
        overdue: false,
        due: None,
        rank: (YES, 2, 4),
    }
}

/// What came of notes: candidates to choose from, and what could not be done.
fn of_notes(azolla_id: &AzollaId, content: &Content, notes: &Notes) -> Vec<Action> {
    // Everything here is about the standing objective, which its pause_states name.
    // What is held and what is open again stays so when none is left.
    let pause = content.pauses.values().next();
    let standing = pause.map(|pause| pause.objective_id.clone()).or_else(|| ObjectiveId::new(STANDING).ok());
    let Some(standing) = &standing else { return Vec::new() };
    let mut found = Vec::new();
    let is_stuck = pause.is_some_and(|pause| {
        matches!(pause.reason, PauseReason::GateFailed | PauseReason::BudgetExhausted | PauseReason::Blocked)
    });
    let said =
        pause.and_then(|pause| pause.prioritized_actions.first()).and_then(|said| actions::split(said));
    let first = notes.first_held.as_deref().unwrap_or_default();
    let held = match notes.held {
        1 => format!("A note could not be triaged ({first})"),
        count => format!("{count} notes could not be triaged, the first ({first})"),
    };
    if let (true, Some((said, command))) = (is_stuck, said) {
        // What it says may be a whole sentence, so it comes last.
        let text = if notes.held > 0 { &held } else { "Notes and orientation" };
        let rank = (STUCK, 2, 3);
        // A retry of some of them, where more are held, is one of all.
        let is_retry = notes.held > 1 && command.starts_with("azolla triage retry ");
        let command = if is_retry { "azolla triage retry" } else { command };
        found.push(Action { title: said.to_owned(), rank, ..plain(azolla_id, standing, text, command) });
    } else if notes.held > 0 {
        let action = plain(azolla_id, standing, &held, "azolla triage retry");
        found.push(Action { title: "try again".to_owned(), rank: (STUCK, 2, 3), ..action });
    }
    if let Some(first) = &notes.candidate {
        let text = match notes.candidates {
            1 => "Choose what becomes of a candidate".to_owned(),
            count => format!("Choose what becomes of {count} candidates, the first"),
        };
        found.push(Action { title: first.clone(), ..plain(azolla_id, standing, &text, "azolla triage") });
    }
    found
}

fn of(azolla_id: &AzollaId, content: &Content) -> Vec<Action> {
    let mut objectives: Vec<&Objective> = content.open.iter().map(|stored| &stored.objective).collect();
    objectives.sort_by_key(|objective| objective.updated_at);
    let action = |objective: &Objective| {
        let pause = content.pauses.get(&objective.objective_id);
        let Needed { kind, text, command, then } = needed(objective, pause, &content.trusted_at)?;
        let is_done = objective.status == ObjectiveStatus::Done;
        Some(Action {
            azolla_id: azolla_id.clone(),
            objective_id: objective.objective_id.clone(),
            title: objective.title.clone(),
            text,
            command,
            then,
            by_hand: pause.filter(|_| is_done).and_then(actions::by_hand).map(str::to_owned),
            unconfirmed: is_done,
            overdue: false,
            due: due_day(objective).map(str::to_owned),
            rank: (kind, objective.importance, objective.urgency),
        })
    };
    objectives.into_iter().filter_map(action).collect()
}

/// What an objective needs of the operator.
struct Needed {
    kind: u8,
    text: String,
    command: String,
    then: Option<String>,
}

fn needed(
    objective: &Objective,
    pause: Option<&PauseState>,
    trusted_at: &HashMap<String, Timestamp>,
) -> Option<Needed> {
    let id = &objective.objective_id;
    let one =
        |kind, text: &str, command: String| Some(Needed { kind, text: text.to_owned(), command, then: None });
    match objective.status {
        ObjectiveStatus::Done => {
            // The pause_state says it best: "words: azolla …".
            let said = pause.and_then(|pause| actions::split(pause.prioritized_actions.first()?));
            match said {
                Some((text, command)) => one(RESULT, text, command.to_owned()),
                None => one(RESULT, "Review the result", format!("azolla review {id}")),
            }
        }
        ObjectiveStatus::Blocked => Some(blocked(objective, pause, trusted_at)),
        ObjectiveStatus::New if is_blank(&objective.acceptance_criteria) => {
            let command =
                format!("azolla objective edit {id} --criteria \"what has to hold when it is done\"");
            one(YES, "Say when it is done", command)
        }
        ObjectiveStatus::New | ObjectiveStatus::Todo if lifecycle::has_open_blocker(objective) => {
            Some(Needed {
                kind: YES,
                text: "See what it waits for".to_owned(),
                command: format!("azolla objective show {id}"),
                then: Some(format!("azolla objective unblock {id}")),
            })
        }
        ObjectiveStatus::New => one(YES, "Let it run", format!("azolla objective approve {id}")),
        ObjectiveStatus::Todo | ObjectiveStatus::InProgress => None,
    }
}

/// What is blocked is looked at or put right first; then another command lets it go on, and the page names both, so
/// that it still leads on after the first.
fn blocked(
    objective: &Objective,
    pause: Option<&PauseState>,
    trusted_at: &HashMap<String, Timestamp>,
) -> Needed {
    let then = actions::continuing(objective, pause);
    let trusted_at = actions::base_branch(objective).and_then(|branch| trusted_at.get(branch));
    let is_trusted_since = |pause: &PauseState| {
        actions::waits_for_trust(pause) && trusted_at.is_some_and(|at| *at >= pause.created_at)
    };
    if pause.is_some_and(is_trusted_since) {
        let text = "Run it again, .azolla.toml is trusted now".to_owned();
        return Needed { kind: STUCK, text, command: then, then: None };
    }
    let first = pause.and_then(|pause| pause.prioritized_actions.first());
    let (text, command) = match first.map(|action| (action, actions::split(action))) {
        Some((_, Some((text, command)))) => (without_then(text).to_owned(), command.to_owned()),
        // Something to do by hand, outside of this program.
        Some((action, None)) => (action.trim_end_matches('.').to_owned(), then.clone()),
        None => {
            let shown = format!("azolla objective show {}", objective.objective_id);
            ("See what it waits for".to_owned(), shown)
        }
    };
    // One command may be the whole way already.
    let then = (!command.ends_with(&then)).then_some(then);
    Needed { kind: STUCK, text, command, then }
}

/// The title follows, so the word that led to the command goes.
fn without_then(text: &str) -> &str {
    let ends = ["; then", ", then run", ", then"];
    ends.into_iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text)
}
