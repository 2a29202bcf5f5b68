//! The pause_state of a deadline that passed (7.4): a fact, and what can be done about it.

use azolla_protocol::{
    AzollaId, ObjectiveId, PauseReason, PauseState, Timestamp, Validated, ValidationError,
};

use super::pause_state;

/// An objective that should have moved by now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Overdue {
    /// Whose it is.
    pub(crate) azolla_id: AzollaId,
    /// Which one.
    pub(crate) objective_id: ObjectiveId,
    /// Its urgency.
    pub(crate) urgency: u8,
    /// When it should have moved.
    pub(crate) deadline: Timestamp,
}

impl Overdue {
    /// Returns the pause_state. It names the azolla whose objective it is, and is stored here (D-2). That azolla may be
    /// of another machine: what can be typed only there says so, and a snooze, which is of here, names it.
    pub(crate) fn pause(&self, now: Timestamp) -> Result<Validated<PauseState>, ValidationError> {
        let Self { azolla_id, objective_id: id, urgency, .. } = self;
        let actions = [
            format!(
                "Review overdue objective {id} (urgency {urgency}) of {azolla_id}, on its machine: \
                 azolla objective show {id}"
            ),
            format!(
                "Update objective urgency or address the item, on its machine: \
                 azolla objective edit {id} --urgency N"
            ),
            format!("Put it off: azolla snooze {id} --azolla {azolla_id} --days 3"),
        ];
        pause_state(azolla_id, id, PauseReason::RunComplete, &actions, now)
    }
}
