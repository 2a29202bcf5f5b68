//! What the state of an objective allows, for the buttons of a page. The server refuses all the same.

use azolla_control_plane::operator::{self, OperatorStep};
use azolla_protocol::{AzollaType, ObjectiveType, lifecycle};
use azolla_substrate::StoredObjective;

use super::Act;

/// Returns what the operator can do with an objective as it stands, what leads on first. Pure: the rules that would take
/// the steps are asked.
pub(crate) fn allowed(stored: &StoredObjective, azolla_type: AzollaType) -> Vec<Act> {
    let objective = &stored.objective;
    let mut acts: Vec<Act> = Vec::new();
    for step in steps(stored, azolla_type) {
        let act = match step {
            OperatorStep::Approve => Act::Approve,
            OperatorStep::Withdraw => Act::Withdraw,
            OperatorStep::Confirm => Act::Confirm,
            OperatorStep::Reject => Act::Reject,
            OperatorStep::Retry => Act::Retry,
            OperatorStep::Unblock => Act::Unblock,
            OperatorStep::Cancel => Act::Cancel,
            OperatorStep::Block => Act::Block,
            OperatorStep::Reword | OperatorStep::Rank => Act::Edit,
            OperatorStep::Archive => Act::Archive,
            OperatorStep::Unarchive => Act::Unarchive,
        };
        if !acts.contains(&act) {
            acts.push(act);
        }
    }
    // A reminder is no step of the objective: it moves for whatever is still open.
    let is_open = objective.objective_type == ObjectiveType::Ticket
        && !lifecycle::is_confirmed(objective)
        && !lifecycle::is_archived(objective);
    if is_open {
        acts.push(Act::Snooze);
    }
    acts
}

/// Tells whether title, criteria and base can be changed; where not, an edit is of importance and urgency alone.
pub(crate) fn may_reword(stored: &StoredObjective, azolla_type: AzollaType) -> bool {
    steps(stored, azolla_type).contains(&OperatorStep::Reword)
}

fn steps(stored: &StoredObjective, azolla_type: AzollaType) -> Vec<OperatorStep> {
    operator::allowed(stored, azolla_type, stored.objective.updated_at)
}
