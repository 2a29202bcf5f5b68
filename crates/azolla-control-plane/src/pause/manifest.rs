//! The pause_states of the manifest flow, all of them on the standing objective: why it stopped, and what to type next.

use azolla_protocol::{
    AzollaId, ObjectiveId, PauseReason, PauseState, RunId, Timestamp, Validated, ValidationError, limits,
};

use super::pause_state;

/// How a step of the manifest flow ended, as the operator will find it.
pub(crate) enum Ending<'a> {
    /// PASS: the first of its actions (MF-7).
    RunComplete { actions: &'a [String] },
    /// FAIL, and the operator acts next.
    GateFailed { run_id: &'a RunId, action: Option<&'a str> },
    /// FAIL, the same way as the time before: it is not made by itself any more (O-1).
    Overwhelmed { run_id: &'a RunId },
    /// FAIL: the budget was over.
    BudgetExhausted { run_id: &'a RunId, budget_ms: u64, is_overwhelmed: bool },
    /// Nobody answered (MF-2).
    NobodyAnswered { remarks: &'a [String], captures_pending: u64, candidates_open: u64 },
    /// The Manifest Scheduler could not build the snapshot, or never came to an end (W-7, O-1).
    NoSnapshot { what: &'a str, action: &'a str },
}

impl Ending<'_> {
    fn reason(&self) -> PauseReason {
        match self {
            Self::RunComplete { .. } => PauseReason::RunComplete,
            Self::GateFailed { .. } | Self::Overwhelmed { .. } => PauseReason::GateFailed,
            Self::BudgetExhausted { .. } => PauseReason::BudgetExhausted,
            Self::NobodyAnswered { .. } | Self::NoSnapshot { .. } => PauseReason::Blocked,
        }
    }

    fn actions(&self) -> Vec<String> {
        /// A pause_state has room for so many.
        const ACTIONS_MAX: usize = 3;
        match self {
            Self::RunComplete { actions } => actions.iter().take(ACTIONS_MAX).cloned().collect(),
            Self::GateFailed { action: Some(action), .. } => vec![(*action).to_owned()],
            Self::GateFailed { run_id, action: None } => vec![
                format!("Review gate failure reason: azolla explain {run_id}"),
                "Retry manifest build: azolla manifest".to_owned(),
            ],
            Self::Overwhelmed { run_id } => vec![format!(
                "Review gate failure reason, the same as before; until it is asked for, no orientation is made by \
                 itself: azolla explain {run_id} && azolla manifest"
            )],
            Self::BudgetExhausted { run_id, budget_ms, is_overwhelmed } => {
                let larger =
                    budget_ms.saturating_mul(2).min(limits::BUDGET_MANIFEST_MS.maximum.unwrap_or(u64::MAX));
                let retry = format!(
                    "Retry with a larger budget (budget_manifest_ms = {larger} in [limits]): azolla manifest"
                );
                match is_overwhelmed {
                    true => vec![retry],
                    false => vec![format!("Review partial output: azolla explain {run_id}"), retry],
                }
            }
            Self::NobodyAnswered { remarks, captures_pending, candidates_open } => {
                let here = format!(
                    "{} for triage, {} to look at",
                    of(*captures_pending, "capture"),
                    of(*candidates_open, "candidate")
                );
                vec![nobody(remarks, &here)]
            }
            Self::NoSnapshot { what, action } => vec![format!("{what}. {action}")],
        }
    }

    /// Returns the pause_state of this ending.
    pub(crate) fn pause(
        &self,
        azolla_id: &AzollaId,
        standing: &ObjectiveId,
        now: Timestamp,
    ) -> Result<Validated<PauseState>, ValidationError> {
        pause_state(azolla_id, standing, self.reason(), &self.actions(), now)
    }
}

/// The one action where nobody answered. The command comes last, so the names give way if there are many.
fn nobody(remarks: &[String], here: &str) -> String {
    const NAMED_CHARS_MAX: usize = 700;
    if remarks.is_empty() {
        return format!(
            "No other azolla is registered, so there is nothing to give orientation over (here: {here}). Add one, in \
             a repository: azolla init && azolla manifest"
        );
    }
    let mut named = String::new();
    for (at, remark) in remarks.iter().enumerate() {
        let and = if at == 0 { "" } else { "; " };
        if named.chars().count() + remark.chars().count() > NAMED_CHARS_MAX {
            named.push_str(&format!("{and}and {} more", remarks.len() - at));
            break;
        }
        named.push_str(and);
        // What a screen takes for the command comes last, and is ours.
        named.push_str(&remark.replace(": azolla ", ", azolla "));
    }
    format!("No azolla answered ({named}; here: {here}). Find out why: azolla doctor && azolla manifest")
}

fn of(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
