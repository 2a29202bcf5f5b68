//! What the operator is told of: a pause_state that asks for something, or a result that passed its gate.

use azolla_protocol::{
    AzollaId, Objective, ObjectiveId, ObjectiveStatus, ObjectiveType, PauseReason, PauseState, Timestamp,
    lifecycle,
};
use serde::{Deserialize, Serialize};

use crate::{actions, screen::plain};

/// One thing that the operator is told of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notice {
    /// Which of the two kinds.
    pub(crate) kind: Kind,
    /// Whose objective it is.
    pub(crate) azolla_id: AzollaId,
    /// The objective.
    pub(crate) objective_id: ObjectiveId,
    /// Its title, on one line.
    pub(crate) title: String,
    /// What to do, in words, on one line.
    pub(crate) text: String,
    /// What to type.
    pub(crate) command: String,
    /// The key of the pause_state.
    pub(crate) pause_key: String,
    /// When it paused.
    pub(crate) at: Timestamp,
}

/// The only kinds of notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Nothing goes on without the operator.
    YourMove,
    /// A result passed its gate and waits for confirmation.
    Finished,
}

impl Kind {
    /// Returns it in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::YourMove => "Your move",
            Self::Finished => "Finished",
        }
    }
}

/// A pause_state with what it takes to judge it.
#[derive(Clone, Debug)]
pub(crate) struct Paused {
    /// Its key.
    pub(crate) key: String,
    /// The artifact.
    pub(crate) pause: PauseState,
    /// The objective that it is about, as it is now, if that can be read here.
    pub(crate) objective: Option<Objective>,
    /// Whether it still stands: nothing followed it.
    pub(crate) is_current: bool,
    /// Whether it is the end of an orientation.
    pub(crate) is_orientation: bool,
}

impl Notice {
    /// Returns what the operator is told of a pause_state; nothing if it asks for nothing.
    pub(crate) fn of(paused: &Paused) -> Option<Self> {
        let Paused { key, pause, objective, .. } = paused;
        let first = pause.prioritized_actions.first()?;
        // What an orientation lists was told of where it arose.
        let is_only_told = paused.is_orientation && pause.reason == PauseReason::RunComplete;
        if !paused.is_current || is_only_told || first.starts_with("Nothing is needed") {
            return None;
        }
        let is_ticket = |objective: &&Objective| objective.objective_type == ObjectiveType::Ticket;
        let ticket = objective.as_ref().filter(is_ticket);
        let kind = match ticket.map(|ticket| (ticket.status, key.starts_with(OVERDUE))) {
            Some((ObjectiveStatus::Done, _)) if ticket.is_some_and(lifecycle::is_confirmed) => return None,
            Some((ObjectiveStatus::Done, false)) => Kind::Finished,
            _ => Kind::YourMove,
        };
        let (text, command) = asked(paused, first);
        let title = objective.as_ref().map_or(pause.objective_id.as_str(), |objective| &objective.title);
        Some(Self {
            kind,
            azolla_id: pause.azolla_id.clone(),
            objective_id: pause.objective_id.clone(),
            title: plain(title),
            text: plain(text),
            command: plain(&command),
            pause_key: key.clone(),
            at: pause.created_at,
        })
    }

    /// Returns the form that is kept while it is held back.
    pub(crate) fn stored(&self) -> String {
        serde_json::to_string(self).expect("a notice is text and ids")
    }

    /// Reads that form; none if it is not one.
    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// How the keys of deadlines begin.
pub(super) const OVERDUE: &str = "deadline:";

/// Returns what a pause_state asks for first, in words, and the command for it.
fn asked<'a>(paused: &'a Paused, first: &'a str) -> (&'a str, String) {
    let id = &paused.pause.objective_id;
    let Some((text, command)) = actions::split(first) else {
        // Something to do by hand; then a command goes on from there.
        let command = match &paused.objective {
            Some(objective) if objective.status == ObjectiveStatus::Blocked => {
                actions::continuing(objective, Some(&paused.pause))
            }
            _ => format!("azolla objective show {id}"),
        };
        return (first.trim_end_matches('.'), command);
    };
    if !paused.key.starts_with(OVERDUE) {
        return (text.trim_end_matches("; then"), command.to_owned());
    }
    match paused.objective {
        Some(_) => (text.trim_end_matches(", on its machine"), command.to_owned()),
        // Its own commands are for its own machine; here it can only be put off.
        None => (text, format!("azolla snooze {id} --azolla {}", paused.pause.azolla_id)),
    }
}

#[cfg(test)]
mod tests;
