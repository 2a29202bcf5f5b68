//! What the pure rules take from outside: the time, fresh ids, and the yield of a diazotroph.

use std::{path::Path, pin::Pin, time::Duration};

use crate::{IdBody, Timestamp, WorkOrderId};

/// Where `now` comes from, except for leases, which use the store's clock (C-7).
pub trait Clock: Send + Sync {
    /// Returns the present instant.
    fn now(&self) -> Timestamp;
}

/// Where fresh ids come from.
pub trait IdSource: Send + Sync {
    /// Returns a body that no earlier call returned.
    fn body(&self) -> IdBody;
}

/// A stateless worker outside the azolla, reached through a provider (PROTOCOL.md section 8).
///
/// It sees the request and nothing else (B-1). Dropping the future cancels the work and ends every process and
/// request that was started for it (B-2).
pub trait Diazotroph: Send + Sync {
    /// Returns the provider's configured name.
    fn provider(&self) -> &str;

    /// Tells whether the work happens in files: then the request has a directory with the base commit in it.
    fn needs_worktree(&self) -> bool;

    /// Does the work of one claim. What fails for good is an outcome, not an error.
    fn generate<'a>(
        &'a self,
        request: GenerationRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Generation> + Send + 'a>>;
}

/// All that a diazotroph gets (PF-6).
#[derive(Clone, Copy)]
pub struct GenerationRequest<'a> {
    /// The workorder.
    pub work_order_id: &'a WorkOrderId,
    /// The claim under which it runs: another one may be running the same workorder elsewhere.
    pub claim_version: u64,
    /// The snapshot's `full_prompt_text`.
    pub prompt: &'a str,
    /// What is left of the budget.
    pub remaining: Duration,
    /// The base commit as files, if asked for.
    pub worktree: Option<&'a Path>,
    /// Called when there is something to show; never stored.
    pub progress: &'a (dyn Fn(&str) + Send + Sync),
}

/// What came back, and what it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// How it went.
    pub outcome: GenerationOutcome,
    /// What it cost.
    pub usage: Usage,
}

/// How a generation went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GenerationOutcome {
    /// The answer is text.
    Text(String),
    /// The answer is what changed in the worktree.
    Edited {
        /// What the worker printed, in short.
        said: String,
    },
    /// There is no answer and there will be none.
    Failed {
        /// What sort of failure.
        kind: FailureKind,
        /// What happened, and what the worker printed, in short.
        reason: String,
    },
    /// The budget was over first.
    OverBudget {
        /// What the worker had printed, in short.
        said: String,
    },
}

/// What sort of failure ended a generation: what comes next depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// A key, a login or a program is missing: another attempt would fail alike, so the operator acts first (PF-8).
    Setup,
    /// Anything else.
    Other,
}

/// What a generation cost, as far as the provider tells (B-3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The model, where there is one.
    pub model: Option<String>,
    /// Requests sent or programs started, retries included.
    pub requests: u64,
    /// Those that repeated an earlier one.
    pub retries: u64,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Millionths of a US dollar, where the price is known.
    pub cost_microusd: Option<u64>,
}
