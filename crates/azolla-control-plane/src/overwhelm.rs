//! When to stop trying (O-1): judged by outcomes since the operator's last step, never by anything kept in memory.

use azolla_protocol::{OutputBundle, RunnerStatus};

/// What one attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trial<'a> {
    /// The gate's reason.
    pub(crate) reason: &'a str,
    /// The tree that came back, if any.
    pub(crate) tree: Option<&'a str>,
    /// Whether its budget was over first.
    pub(crate) is_over_budget: bool,
}

impl<'a> Trial<'a> {
    /// Returns the trial of a bundle that failed its gate for `reason`.
    pub(crate) fn new(reason: &'a str, bundle: &'a OutputBundle) -> Self {
        Self {
            reason,
            tree: bundle.metadata.more.get("tree").and_then(|tree| tree.as_str()),
            is_over_budget: bundle.metadata.runner_status == RunnerStatus::BudgetExhausted,
        }
    }
}

/// Why another attempt by itself would only cost more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overwhelm {
    /// The budget was over twice running.
    BudgetTwice,
    /// The same tree came back twice running.
    SameTree,
    /// The gate gave the same reason twice running.
    SameReason,
    /// All automatic attempts are used up.
    Attempts(u64),
}

impl Overwhelm {
    /// Returns what goes into `blocked_reason`.
    pub(crate) fn summary(self, reason: &str) -> String {
        match self {
            Self::BudgetTwice => format!("the budget was over twice running: {reason}"),
            Self::SameTree => format!("the same change came back twice running: {reason}"),
            Self::SameReason => format!("the same failure twice running: {reason}"),
            Self::Attempts(1) => format!("1 attempt failed: {reason}"),
            Self::Attempts(attempts) => format!("{attempts} attempts failed, the last one: {reason}"),
        }
    }
}

/// Returns why to stop after `trial`, the last of `attempts` since the operator's last step, if there is a reason.
pub(crate) fn detect(
    trial: Trial<'_>,
    before: Option<Trial<'_>>,
    attempts: u64,
    attempts_max: u64,
) -> Option<Overwhelm> {
    if let Some(before) = before {
        if trial.is_over_budget && before.is_over_budget {
            return Some(Overwhelm::BudgetTwice);
        }
        if trial.tree.is_some() && trial.tree == before.tree {
            return Some(Overwhelm::SameTree);
        }
        if trial.reason == before.reason {
            return Some(Overwhelm::SameReason);
        }
    }
    (attempts >= attempts_max).then_some(Overwhelm::Attempts(attempts))
}

#[cfg(test)]
mod tests;
