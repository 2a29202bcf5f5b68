//! `usage_record`: what one claim of a workorder used at its provider (B-3: every attempt is counted).

use serde::{Deserialize, Serialize};

use crate::{Timestamp, WorkOrderId};

/// Requests, tokens and money of one claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageRecord {
    /// The workorder.
    pub work_order_id: WorkOrderId,
    /// The claim under which it was used.
    pub claim_version: u64,
    /// The provider's configured name.
    pub provider: String,
    /// The model, where there is one.
    pub model: Option<String>,
    /// Requests sent, retries included.
    pub requests: u64,
    /// Requests that repeated an earlier one.
    pub retries: u64,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Millionths of a US dollar, where the price is known.
    pub cost_microusd: Option<u64>,
    /// When it was recorded.
    pub created_at: Timestamp,
}
