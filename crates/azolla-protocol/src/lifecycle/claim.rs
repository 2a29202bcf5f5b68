//! The claim rules as plain functions (section 5). A store enforces them in its statements; these say what
//! those statements mean.

use crate::{ClaimRecord, OwnerId, Timestamp};

/// Tells whether anyone may take the claim over: from the instant of expiry on (C-1).
pub fn is_expired(claim: &ClaimRecord, now: Timestamp) -> bool {
    claim.lease_expires_at <= now
}

/// Tells whether `owner` may still write under `claim_version` (C-4).
pub fn holds(claim: &ClaimRecord, owner: &OwnerId, claim_version: u64, now: Timestamp) -> bool {
    claim.owner_id == *owner && claim.claim_version == claim_version && !is_expired(claim, now)
}
