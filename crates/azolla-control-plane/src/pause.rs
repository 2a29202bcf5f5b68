//! The pause_states of the flows: why one stopped, and one to three next actions with the command to type. One file per
//! flow has its endings.

pub(crate) mod deadline;
pub(crate) mod manifest;
pub(crate) mod patch;
pub(crate) mod triage;

use azolla_protocol::{
    AzollaId, ObjectiveId, PauseReason, PauseState, Timestamp, Validated, ValidationError,
};

/// Returns a pause_state, with every action cut to what one may hold.
pub(crate) fn pause_state(
    azolla_id: &AzollaId,
    objective_id: &ObjectiveId,
    reason: PauseReason,
    actions: &[String],
    now: Timestamp,
) -> Result<Validated<PauseState>, ValidationError> {
    const CHARS_MAX: usize = 1_000;
    Validated::new(PauseState {
        objective_id: objective_id.clone(),
        azolla_id: azolla_id.clone(),
        reason,
        prioritized_actions: actions.iter().map(|action| action.chars().take(CHARS_MAX).collect()).collect(),
        created_at: now,
    })
}
