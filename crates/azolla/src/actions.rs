//! What a pause_state's actions say to a screen: the words, the command in them, and what leads on after it.

use azolla_control_plane::operator::is_machine_made;
use azolla_protocol::{Objective, PauseState};

/// Splits an action into its words and the command of ours that it ends with.
pub(crate) fn split(action: &str) -> Option<(&str, &str)> {
    let at = action.find(": azolla ")?;
    Some((&action[..at], &action[at + 2..]))
}

/// Returns the command that lets a BLOCKED objective go on, once what is in the way is dealt with: as the pause_state
/// has it (it may carry a budget), else by whose blockers are open (S-h).
pub(crate) fn continuing(objective: &Objective, pause: Option<&PauseState>) -> String {
    let id = &objective.objective_id;
    let own = objective
        .blocked_on
        .iter()
        .any(|blocker| !blocker.resolved && !is_machine_made(id, &blocker.blocker_id));
    let plain = format!("azolla objective {} {id}", if own { "unblock" } else { "retry" });
    let said = pause.into_iter().flat_map(|pause| &pause.prioritized_actions);
    let mut commands = said.filter_map(|action| Some(split(action)?.1));
    commands.find(|command| command.starts_with(&plain)).map_or(plain.clone(), str::to_owned)
}

/// Tells whether an objective was stopped by a repository's file that nobody had looked at (R13).
pub(crate) fn waits_for_trust(pause: &PauseState) -> bool {
    pause.prioritized_actions.iter().any(|action| action.contains("azolla trust"))
}

/// Returns the branch that an objective starts from.
pub(crate) fn base_branch(objective: &Objective) -> Option<&str> {
    objective.metadata.get("base_branch")?.as_str()
}

/// Returns how to get a branch that could not be published, if that is so: the reason and the command.
pub(crate) fn by_hand(pause: &PauseState) -> Option<&str> {
    let mut actions = pause.prioritized_actions.iter();
    actions.find(|action| action.starts_with("Fetch the branch by hand")).map(String::as_str)
}

#[cfg(test)]
mod tests;
