//! The endings of a triage (TF-7), and of an event that came to none (W-7, O-1).

use azolla_protocol::{
    AzollaId, ObjectiveId, OutputId, PauseReason, PauseState, RunId, Timestamp, Validated, ValidationError,
    limits,
};

use super::pause_state;
use crate::operator::CandidateRef;

/// How a step of the triage flow ended, as the operator will find it.
pub(crate) enum Ending<'a> {
    /// PASS.
    Triaged { output_id: &'a OutputId, run_id: &'a RunId, candidates: usize, captures: usize },
    /// FAIL, and each capture is tried again by itself.
    Retried { attempt: u64, attempts_max: u64, captures: usize, over_budget: bool },
    /// FAIL, and the operator processed the captures meanwhile.
    Settled { over_budget: bool },
    /// FAIL, and the captures are held for what the operator has to do.
    Held { action: &'a str },
    /// FAIL, and the captures are held: no other attempt by itself makes sense (O-1).
    Overwhelmed { retry: &'a str },
    /// FAIL, and the captures are held: the budget was over.
    BudgetExhausted { budget_ms: u64, retry: &'a str },
    /// FAIL without a look at the answer, and the captures are held (W-7).
    Unjudged { run_id: &'a RunId, retry: &'a str },
    /// The Scheduler made no workorder of the event, and the captures are held.
    NotScheduled { action: &'a str },
}

impl Ending<'_> {
    fn reason(&self) -> PauseReason {
        match self {
            Self::Triaged { .. } => PauseReason::RunComplete,
            Self::Retried { over_budget: true, .. }
            | Self::Settled { over_budget: true }
            | Self::BudgetExhausted { .. } => PauseReason::BudgetExhausted,
            Self::Retried { .. }
            | Self::Settled { .. }
            | Self::Held { .. }
            | Self::Overwhelmed { .. }
            | Self::Unjudged { .. } => PauseReason::GateFailed,
            Self::NotScheduled { .. } => PauseReason::Blocked,
        }
    }

    fn actions(&self, standing: &ObjectiveId) -> Vec<String> {
        match self {
            Self::Triaged { run_id, candidates: 0, captures, .. } => {
                let need =
                    if *captures == 1 { "1 capture needs" } else { &format!("{captures} captures need") };
                vec![format!("Nothing is needed: {need} no action; to see why: azolla explain {run_id}")]
            }
            Self::Triaged { output_id, .. } => {
                let first = CandidateRef { output_id: (*output_id).clone(), index: 0 };
                vec![
                    format!("Review triage output for {standing}: azolla triage"),
                    format!("Promote candidate to objective or discard: azolla triage promote {first}"),
                ]
            }
            Self::Retried { attempt, attempts_max, captures, .. } => {
                let how = if *captures == 1 { "" } else { ", one capture at a time" };
                vec![format!("Nothing is needed: attempt {attempt} of {attempts_max} is scheduled{how}")]
            }
            Self::Settled { .. } => vec!["Nothing is needed: its captures were processed by hand".to_owned()],
            Self::Held { action } | Self::NotScheduled { action } => vec![(*action).to_owned()],
            Self::Overwhelmed { retry } => {
                vec![format!("Retry triage or manually process captures: {retry}")]
            }
            Self::BudgetExhausted { budget_ms, retry } => {
                let most = limits::BUDGET_TRIAGE_MS.maximum.unwrap_or(u64::MAX);
                let larger = budget_ms.saturating_mul(2).min(most);
                vec![format!(
                    "Retry with a larger budget: set budget_triage_ms = {larger} in [limits], then run: {retry}"
                )]
            }
            Self::Unjudged { run_id, retry } => vec![
                format!("Review gate failure reason: azolla explain {run_id}"),
                format!("Retry triage or manually process captures: {retry}"),
            ],
        }
    }

    /// Returns the pause_state of this ending, on the standing objective.
    pub(crate) fn pause(
        &self,
        azolla_id: &AzollaId,
        standing: &ObjectiveId,
        now: Timestamp,
    ) -> Result<Validated<PauseState>, ValidationError> {
        pause_state(azolla_id, standing, self.reason(), &self.actions(standing), now)
    }
}
