//! What the pure rules take from outside: the time, fresh ids, and the yield of a diazotroph.

use std::{path::Path, pin::Pin, time::Duration};

use crate::{IdBody, Timestamp, WorkOrderId, names::named_enum};

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

    /// Returns how an answer changes files, which the prompt asks for.
    fn answer_form(&self) -> AnswerForm;

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
    /// Retries under earlier claims of the same workorder: the limit is one for the whole run (B-4, O-1).
    pub retries_before: u64,
    /// The base commit as files, if asked for.
    pub worktree: Option<&'a Path>,
    /// What an answer has to look like, where that is a JSON document.
    pub schema: Option<&'a serde_json::Value>,
    /// Asked before every request and before every start of a program.
    pub allowance: &'a dyn Allowance,
    /// Called when there is something to show; never stored.
    pub progress: &'a (dyn Fn(&str) + Send + Sync),
}

named_enum! {
    /// How an answer changes files.
    pub enum AnswerForm {
        /// By edits in a directory that has the base commit in it.
        Files = "files",
        /// By blocks of text to search for and to put there instead.
        SearchReplace = "search-replace",
        /// By a unified diff.
        Diff = "diff",
        /// By files as they are to be.
        WholeFile = "whole-file",
        /// By a JSON document of edits.
        Json = "json",
    }
}

/// Keeps what is spent within the operator's caps: what a call may cost at most is set aside, durably, before the call.
pub trait Allowance: Send + Sync {
    /// Sets aside the most that one call can cost, or withholds it. What is not known beforehand is zero.
    fn reserve(&self, most: Spending) -> Result<Reservation, Withheld>;

    /// Replaces what was set aside by what the call did cost. What is never settled stays set aside.
    fn settle(&self, reservation: Reservation, spent: Spending);

    /// Told all that was counted so far, whenever it changed: work that is dropped in the middle returns nothing (B-3).
    fn counted(&self, _usage: &Usage) {}

    /// Told how the program of a worker is really confined, once it was started, for the same reason.
    fn started(&self, _sandbox_mode: &str) {}
}

/// An account without caps: for a request that is tiny and that the operator asked for, such as a probe.
#[derive(Clone, Copy, Debug)]
pub struct Unlimited;

impl Allowance for Unlimited {
    fn reserve(&self, _most: Spending) -> Result<Reservation, Withheld> {
        Ok(Reservation(0))
    }

    fn settle(&self, _reservation: Reservation, _spent: Spending) {}
}

/// What was set aside for one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation(pub u64);

/// What one call costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// Tokens sent and received.
    pub tokens: u64,
    /// Millionths of a US dollar, where the price is known.
    pub cost_microusd: Option<u64>,
}

/// Why a call must not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Withheld {
    /// Not now: it may be made later without anybody doing anything.
    Wait(Wait),
    /// A cap of the run or of the objective is reached: the operator acts first. The text names the cap.
    Cap(String),
}

/// Work that goes on by itself after some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// What is waited for.
    pub reason: String,
    /// How long.
    pub time: Duration,
    /// Who asks for it.
    pub source: WaitSource,
}

/// Who asks for time: what helps depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitSource {
    /// The provider, which has to be left alone.
    Provider,
    /// A cap of the day, which is on record where it was reached.
    Cap,
    /// The account itself, which cannot be used now.
    Ledger,
}

/// What came back, and what it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// How it went.
    pub outcome: GenerationOutcome,
    /// What it cost.
    pub usage: Usage,
    /// How a program that did the work was really confined; none where no program was started.
    pub sandbox_mode: Option<String>,
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
    /// The provider has no quota left, or a cap of the day is reached: the same work goes on later.
    Wait(Wait),
}

named_enum! {
    /// What sort of failure ended a generation: what comes next depends on it.
    pub enum FailureKind {
        /// A key, a login or a program is missing: another attempt would fail alike, so the operator acts first (PF-8).
        Setup = "SETUP",
        /// The model refused.
        Refused = "REFUSED",
        /// The answer was cut off at the model's or the configured limit.
        Truncated = "TRUNCATED",
        /// The answer came to no end: a stream that stopped in the middle.
        Unfinished = "UNFINISHED",
        /// The provider kept failing in passing until the retries were used up (B-4, O-1).
        Retries = "RETRIES",
        /// A cap of the run or the objective.
        Cap = "CAP",
        /// The prompt does not fit the model: another attempt, which would have a larger one, would fail alike (O-1).
        PromptTooLarge = "PROMPT_TOO_LARGE",
        /// Anything else.
        Other = "OTHER",
    }
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
