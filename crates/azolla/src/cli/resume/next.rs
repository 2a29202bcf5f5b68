//! The next actions, in order: results first, then what is stuck, then what only needs a yes.

use azolla_protocol::{AzollaId, Objective, ObjectiveId, ObjectiveStatus, PauseState, Timestamp, lifecycle};

use super::desk::{Content, Desk};
use crate::cli::actions;

/// One thing for the operator to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Action {
    /// Where.
    pub(super) azolla_id: AzollaId,
    /// About what.
    pub(super) objective_id: ObjectiveId,
    /// Its title.
    pub(super) title: String,
    /// What to do, in words.
    pub(super) text: String,
    /// What to type.
    pub(super) command: String,
    /// What to type once that is done, where the first alone does not lead on.
    pub(super) then: Option<String>,
    /// How to get a branch that could not be published, in words.
    pub(super) by_hand: Option<String>,
    /// Whether it passed its gate and completion is not confirmed (S-2).
    pub(super) unconfirmed: bool,
    rank: (u8, u8, u8),
}

/// Returns everything that needs the operator, the most important first.
pub(super) fn actions(desks: &[Desk]) -> Vec<Action> {
    let mut actions: Vec<_> = desks
        .iter()
        .filter_map(|desk| Some((&desk.azolla_id, desk.content.as_ref().ok()?)))
        .flat_map(|(azolla_id, content)| of(azolla_id, content))
        .collect();
    actions.sort_by_key(|action| action.rank);
    actions
}

fn of(azolla_id: &AzollaId, content: &Content) -> Vec<Action> {
    let mut objectives: Vec<&Objective> = content.open.iter().map(|stored| &stored.objective).collect();
    objectives.sort_by_key(|objective| objective.updated_at);
    let action = |objective: &Objective| {
        let pause = content.pauses.get(&objective.objective_id);
        let Needed { kind, text, command, then } = needed(objective, pause, content.trusted_at)?;
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
    trusted_at: Option<Timestamp>,
) -> Option<Needed> {
    let id = &objective.objective_id;
    let one =
        |kind, text: &str, command: String| Some(Needed { kind, text: text.to_owned(), command, then: None });
    match objective.status {
        ObjectiveStatus::Done => {
            // The pause_state says it best: "words: azolla …".
            let said = pause.and_then(|pause| actions::split(pause.prioritized_actions.first()?));
            match said {
                Some((text, command)) => one(0, text, command.to_owned()),
                None => one(0, "Review the result", format!("azolla review {id}")),
            }
        }
        ObjectiveStatus::Blocked => Some(blocked(objective, pause, trusted_at)),
        ObjectiveStatus::New if objective.acceptance_criteria.trim().is_empty() => {
            let command =
                format!("azolla objective edit {id} --criteria \"what has to hold when it is done\"");
            one(2, "Say when it is done", command)
        }
        ObjectiveStatus::New if lifecycle::has_open_blocker(objective) => {
            one(2, "See what it waits for", format!("azolla objective show {id}"))
        }
        ObjectiveStatus::New => one(2, "Let it run", format!("azolla objective approve {id}")),
        ObjectiveStatus::Todo | ObjectiveStatus::InProgress => None,
    }
}

/// What is blocked is looked at or put right first; then another command lets it go on, and the page names both, so
/// that it still leads on after the first.
fn blocked(objective: &Objective, pause: Option<&PauseState>, trusted_at: Option<Timestamp>) -> Needed {
    let then = actions::continuing(objective, pause);
    let is_trusted_since = |pause: &PauseState| {
        actions::waits_for_trust(pause) && trusted_at.is_some_and(|at| at >= pause.created_at)
    };
    if pause.is_some_and(is_trusted_since) {
        let text = "Run it again, .azolla.toml is trusted now".to_owned();
        return Needed { kind: 1, text, command: then, then: None };
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
    Needed { kind: 1, text, command, then }
}

/// The title follows, so the word that led to the command goes.
fn without_then(text: &str) -> &str {
    let ends = ["; then", ", then run", ", then"];
    ends.into_iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text)
}
