//! The next actions, in order: results first, then what is stuck, then what only needs a yes.

use azolla_protocol::{AzollaId, Objective, ObjectiveId, ObjectiveStatus, PauseState, lifecycle};

use super::desk::{Content, Desk};

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
        let (kind, text, command) = needed(objective, content.pauses.get(&objective.objective_id))?;
        Some(Action {
            azolla_id: azolla_id.clone(),
            objective_id: objective.objective_id.clone(),
            title: objective.title.clone(),
            text,
            command,
            unconfirmed: objective.status == ObjectiveStatus::Done,
            rank: (kind, objective.importance, objective.urgency),
        })
    };
    objectives.into_iter().filter_map(action).collect()
}

/// Returns what an objective needs of the operator: its rank, the words and the command.
fn needed(objective: &Objective, pause: Option<&PauseState>) -> Option<(u8, String, String)> {
    let id = &objective.objective_id;
    // The pause_state says it best: "words: azolla …".
    let said = pause.and_then(|pause| pause.prioritized_actions.first());
    let said = said.and_then(|action| action.split_once(": azolla "));
    let said = said.map(|(text, command)| (text.to_owned(), format!("azolla {command}")));
    let or = |text: &str, command: String| said.clone().unwrap_or_else(|| (text.to_owned(), command));
    match objective.status {
        ObjectiveStatus::Done => {
            let (text, command) = or("Review the result", format!("azolla review {id}"));
            Some((0, text, command))
        }
        ObjectiveStatus::Blocked => {
            let shown = format!("azolla objective show {id}");
            let (text, command) = match pause {
                Some(_) => or("See what it waits for", shown),
                None => ("See what it waits for".to_owned(), shown),
            };
            Some((1, text, command))
        }
        ObjectiveStatus::New if objective.acceptance_criteria.trim().is_empty() => {
            let command = format!("azolla objective edit {id} --criteria \"…\"");
            Some((2, "Say when it is done".to_owned(), command))
        }
        ObjectiveStatus::New if lifecycle::has_open_blocker(objective) => {
            Some((2, "See what it waits for".to_owned(), format!("azolla objective show {id}")))
        }
        ObjectiveStatus::New => Some((2, "Let it run".to_owned(), format!("azolla objective approve {id}"))),
        ObjectiveStatus::Todo | ObjectiveStatus::InProgress => None,
    }
}
