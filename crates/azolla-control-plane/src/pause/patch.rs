//! The pause_states of the patch flow: why it stopped, and one to three next actions with the command to type.

use azolla_protocol::{
    AzollaId, ObjectiveId, PauseReason, PauseState, Timestamp, Validated, ValidationError, limits,
};

use super::pause_state;
use crate::repo::Published;

/// How a step of the patch flow ended, as the operator will find it.
pub(crate) enum Ending<'a> {
    /// PASS (PF-8).
    RunComplete { published: &'a Published },
    /// PASS, but a blocker came in meanwhile (S-f).
    PassedButBlocked,
    /// FAIL, and another attempt follows by itself.
    Retried { attempt: u64, attempts_max: u64, over_budget: bool },
    /// FAIL, and the operator acts next.
    GateFailed { action: Option<&'a str> },
    /// FAIL, and no other attempt by itself makes sense (O-1).
    Overwhelmed,
    /// FAIL: the budget was over.
    BudgetExhausted { budget_ms: u64, is_overwhelmed: bool },
    /// FAIL, with an open blocker of the operator's, which comes first (S-f).
    FailedAndBlocked { over_budget: bool, is_overwhelmed: bool },
    /// FAIL: the operator cancelled the run (S-m).
    Cancelled,
    /// The Scheduler found open blockers (PF-3a).
    Blocked,
    /// The Scheduler could not build the snapshot (PF-3b).
    NoSnapshot { action: &'a str },
}

impl Ending<'_> {
    fn reason(&self) -> PauseReason {
        match self {
            Self::RunComplete { .. } => PauseReason::RunComplete,
            Self::Retried { over_budget: true, .. }
            | Self::FailedAndBlocked { over_budget: true, .. }
            | Self::BudgetExhausted { .. } => PauseReason::BudgetExhausted,
            Self::Retried { .. }
            | Self::FailedAndBlocked { .. }
            | Self::GateFailed { .. }
            | Self::Overwhelmed
            | Self::Cancelled => PauseReason::GateFailed,
            Self::PassedButBlocked | Self::Blocked | Self::NoSnapshot { .. } => PauseReason::Blocked,
        }
    }

    fn actions(&self, id: &ObjectiveId) -> Vec<String> {
        match self {
            Self::RunComplete { published: Published::Done } => vec![
                format!("Review PR on azolla/{id}: azolla review {id}"),
                format!("Confirm completion: azolla objective confirm {id}"),
            ],
            Self::RunComplete { published: Published::ByHand { reason, command } } => vec![
                format!("Review PR on azolla/{id}: azolla review {id}"),
                format!("Fetch the branch by hand ({reason}): {command}"),
                format!("Confirm completion: azolla objective confirm {id}"),
            ],
            Self::PassedButBlocked => vec![
                format!("Resolve blockers for {id}: azolla objective show {id}"),
                format!("Run it again after that: azolla objective unblock {id}"),
            ],
            Self::Retried { attempt, attempts_max, .. } => {
                vec![format!("Nothing is needed: attempt {attempt} of {attempts_max} is scheduled")]
            }
            Self::GateFailed { action: Some(action) } => vec![(*action).to_owned()],
            Self::GateFailed { action: None } => vec![
                format!("Review gate failure reason: azolla review {id}"),
                format!("Refine objective and retry: azolla objective retry {id}"),
            ],
            Self::Overwhelmed => vec![format!("Review gate failure reason: azolla review {id}")],
            Self::BudgetExhausted { budget_ms, is_overwhelmed } => {
                let larger =
                    budget_ms.saturating_mul(2).min(limits::BUDGET_PATCH_MS.maximum.unwrap_or(u64::MAX));
                let retry =
                    format!("Retry with a larger budget: azolla objective retry {id} --budget-ms {larger}");
                match is_overwhelmed {
                    true => vec![retry],
                    false => vec![format!("Review partial output: azolla review {id}"), retry],
                }
            }
            // A retry would be refused.
            Self::FailedAndBlocked { is_overwhelmed, .. } => {
                let resolve = format!("Resolve blockers for {id}: azolla objective show {id}");
                match is_overwhelmed {
                    true => vec![resolve],
                    false => vec![
                        format!("Review what there is: azolla review {id}"),
                        resolve,
                        format!("Run it again after that: azolla objective unblock {id}"),
                    ],
                }
            }
            Self::Cancelled => vec![
                format!("Review what there is: azolla review {id}"),
                format!("Run it again: azolla objective retry {id}"),
            ],
            Self::Blocked => vec![
                format!("Resolve blockers for {id}: azolla objective show {id}"),
                format!("Re-emit TICKET_READY after resolution: azolla objective unblock {id}"),
            ],
            Self::NoSnapshot { action } => {
                vec![then_retry(action, id)]
            }
        }
    }

    /// Returns the pause_state of this ending.
    pub(crate) fn pause(
        &self,
        azolla_id: &AzollaId,
        objective_id: &ObjectiveId,
        now: Timestamp,
    ) -> Result<Validated<PauseState>, ValidationError> {
        pause_state(azolla_id, objective_id, self.reason(), &self.actions(objective_id), now)
    }
}

/// An action that has to come first, with the command that goes on from there: one line to type if it is a command too.
pub(crate) fn then_retry(action: &str, id: &ObjectiveId) -> String {
    let and = if action.contains(": azolla ") { " && azolla" } else { "; then: azolla" };
    let mut characters = action.chars();
    let first: String = characters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}{and} objective retry {id}", characters.as_str())
}

#[cfg(test)]
mod tests;
