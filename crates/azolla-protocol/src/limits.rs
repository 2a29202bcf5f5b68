//! The limits of PROTOCOL.md section 11, and the caps on what is spent, in tables that the operator can print (O-2).

use crate::names::named_enum;

/// One limit: its default and the range that configuration may choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Its name in configuration.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// What holds where nothing is configured.
    pub default: u64,
    /// The least value.
    pub minimum: u64,
    /// The greatest value, if there is one.
    pub maximum: Option<u64>,
}

named_enum! {
    /// What a limit counts.
    pub enum Unit {
        /// Milliseconds.
        Milliseconds = "ms",
        /// Bytes.
        Bytes = "bytes",
        /// Things.
        Count = "count",
        /// Tokens sent to a model and received.
        Tokens = "tokens",
        /// Millionths of a US dollar. Configuration names whole dollars, with up to six decimals.
        MicroUsd = "microusd",
    }
}

/// A configured value outside its limit's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} must be {}, not {value}", .limit.name, .limit.range())]
pub struct OutOfRange {
    /// The limit.
    pub limit: Limit,
    /// The value refused.
    pub value: u64,
}

impl Limit {
    /// Returns `value`, or refuses one outside the range.
    pub fn check(&self, value: u64) -> Result<u64, OutOfRange> {
        let in_range = value >= self.minimum && self.maximum.is_none_or(|maximum| value <= maximum);
        if in_range { Ok(value) } else { Err(OutOfRange { limit: *self, value }) }
    }

    fn range(&self) -> String {
        match self.maximum {
            Some(maximum) => format!("{} to {maximum} ({})", self.minimum, self.unit),
            None => format!("{} or more ({})", self.minimum, self.unit),
        }
    }
}

macro_rules! limits {
    ($(#[$described:meta])* $table:ident $count:literal: $(
        $(#[$attribute:meta])*
        $name:ident = $text:literal $unit:ident $default:literal, $minimum:literal, $maximum:expr;
    )+) => {
        $(
            $(#[$attribute])*
            pub const $name: Limit = Limit {
                name: $text, unit: Unit::$unit, default: $default, minimum: $minimum, maximum: $maximum,
            };
        )+

        $(#[$described])*
        pub const $table: [Limit; $count] = [$($name,)+];
    };
}

limits! {
    /// Every limit, in the order of section 11.
    LIMITS 18:
    /// How long a claim holds without renewal (C-7). Tests take less through [`LeaseLength`].
    LEASE_MS = "lease_ms" Milliseconds 60_000, 30_000, Some(120_000);
    /// Open workorders of a CODE_PATCH azolla (W-4).
    MAX_CONCURRENT = "max_concurrent" Count 1, 1, Some(3);
    /// Waiting results plus open workorders (O-3); 0 is no limit.
    REVIEW_LIMIT = "review_limit" Count 3, 0, None;
    /// Automatic attempts per objective or capture, in all.
    ATTEMPTS_MAX = "attempts_max" Count 2, 1, Some(5);
    /// Claims without an outcome before a resource is poison (W-7).
    CLAIMS_WITHOUT_OUTCOME_MAX = "claims_without_outcome_max" Count 3, 1, Some(10);
    /// Captures in one triage.
    TRIAGE_BATCH = "triage_batch" Count 20, 1, Some(100);
    /// Budget of a patch workorder.
    BUDGET_PATCH_MS = "budget_patch_ms" Milliseconds 600_000, 1, Some(86_400_000);
    /// Budget of a triage workorder.
    BUDGET_TRIAGE_MS = "budget_triage_ms" Milliseconds 120_000, 1, Some(86_400_000);
    /// Budget of a manifest workorder.
    BUDGET_MANIFEST_MS = "budget_manifest_ms" Milliseconds 120_000, 1, Some(86_400_000);
    /// Time for one check of a repository.
    CHECK_MS = "check_ms" Milliseconds 600_000, 1, Some(3_600_000);
    /// Size of a whole prompt.
    PROMPT_BYTES = "prompt_bytes" Bytes 400_000, 1, Some(4_000_000);
    /// Size of the repository's part of a prompt.
    PROMPT_REPOSITORY_BYTES = "prompt_repository_bytes" Bytes 200_000, 1, Some(4_000_000);
    /// Retries of a provider in one run (B-4).
    PROVIDER_RETRIES = "provider_retries" Count 8, 0, Some(50);
    /// Time for one query to a peer (M-4).
    PEER_QUERY_MS = "peer_query_ms" Milliseconds 5_000, 1, Some(60_000);
    /// Size of a peer's answer; an answer is a document, so never above what a document may have.
    PEER_ANSWER_BYTES = "peer_answer_bytes" Bytes 1_048_576, 1, Some(crate::DOCUMENT_BYTES_MAX as u64);
    /// Size of a patch.
    PATCH_BYTES = "patch_bytes" Bytes 5_000_000, 1, Some(50_000_000);
    /// Files that a patch touches.
    PATCH_FILES = "patch_files" Count 500, 1, Some(5_000);
    /// Size of one file after a patch.
    PATCH_FILE_BYTES = "patch_file_bytes" Bytes 5_000_000, 1, Some(50_000_000);
}

limits! {
    /// Every cap on what is spent over all azollas of a machine: by one run, for one objective, on one day (UTC). 0 is
    /// no cap.
    CAPS 10:
    /// Tokens of one run.
    RUN_TOKENS = "run_tokens" Tokens 0, 0, Some(1_000_000_000_000);
    /// Money for one run.
    RUN_USD = "run_usd" MicroUsd 2_000_000, 0, Some(1_000_000_000_000);
    /// Tokens for one objective, over all its runs.
    OBJECTIVE_TOKENS = "objective_tokens" Tokens 0, 0, Some(1_000_000_000_000);
    /// Money for one objective, over all its runs.
    OBJECTIVE_USD = "objective_usd" MicroUsd 5_000_000, 0, Some(1_000_000_000_000);
    /// Time of the workers for one objective, over all its runs.
    OBJECTIVE_MS = "objective_ms" Milliseconds 0, 0, Some(1_000_000_000_000);
    /// Runs for one objective.
    OBJECTIVE_RUNS = "objective_runs" Count 0, 0, Some(1_000_000);
    /// Tokens of one day.
    DAY_TOKENS = "day_tokens" Tokens 0, 0, Some(1_000_000_000_000);
    /// Money of one day.
    DAY_USD = "day_usd" MicroUsd 20_000_000, 0, Some(1_000_000_000_000);
    /// Time of the workers on one day.
    DAY_MS = "day_ms" Milliseconds 0, 0, Some(1_000_000_000_000);
    /// Runs of one day.
    DAY_RUNS = "day_runs" Count 0, 0, Some(1_000_000);
}

/// How long a claim holds, and so how often it is renewed (C-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseLength(u64);

impl LeaseLength {
    /// 60 seconds.
    pub const DEFAULT: Self = Self(LEASE_MS.default);

    /// Returns a lease of 1 to 120,000 ms. Configuration is held to [`LEASE_MS`], which begins at 30 s.
    pub fn new(ms: u64) -> Result<Self, OutOfRange> {
        Limit { minimum: 1, ..LEASE_MS }.check(ms).map(Self)
    }

    /// Returns its length.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// Returns a third of it, at least 1 ms.
    pub const fn renew_every_ms(self) -> u64 {
        if self.0 < 3 { 1 } else { self.0 / 3 }
    }
}

impl Default for LeaseLength {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests;
