//! Claims as their holder sees them (PROTOCOL.md section 5).

use azolla_protocol::{ClaimRecord, LeaseLength, OwnerId, ResourceRef, Timestamp};

use crate::{sql, statement::Statement};

/// Proof of a claim: what every write under it is checked against (C-4, R1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// What is claimed.
    pub resource: ResourceRef,
    /// Who holds it: fresh per process start (R3).
    pub owner_id: OwnerId,
    /// The version that the grant returned; it never comes again for this resource (C-2).
    pub claim_version: u64,
}

impl Fence {
    /// Returns the statement that extends this claim by compare-and-swap (C-3).
    pub(crate) fn renewal(&self, lease: LeaseLength) -> Statement {
        let values = [
            lease.as_ms().into(),
            self.resource.resource_type.as_str().into(),
            self.resource.resource_id.as_str().into(),
            self.owner_id.as_str().into(),
            self.claim_version.into(),
        ];
        Statement::new(sql::RENEW, values)
    }
}

/// Returns the statement that ends a lease of a clock that was ahead, as it was seen.
pub(crate) fn expiry(seen: &ClaimRecord) -> Statement {
    let values = [
        seen.resource_type.as_str().into(),
        seen.resource_id.as_str().into(),
        seen.claim_version.into(),
        seen.heartbeat_at.into(),
    ];
    Statement::new(sql::EXPIRE, values)
}

/// A granted claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What to commit, renew and release with.
    pub fence: Fence,
    /// When the claim began, by the store's clock.
    pub granted_at: Timestamp,
    /// When it ends unless renewed, by the store's clock.
    pub lease_expires_at: Timestamp,
    /// Claims without an outcome, this one included (W-7).
    pub claim_count: u64,
    /// Budget used by earlier claims, lost ones included (B-2); 0 for an event.
    pub budget_consumed_ms: u64,
}

/// The answer to an attempt to acquire (C-1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The claim is this owner's until the lease expires.
    Granted(Grant),
    /// Somebody holds it, or there is nothing left to do on it: on to the next candidate (C-8).
    Held,
}

/// The answer to a renewal (C-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewOutcome {
    /// The lease runs until this instant of the store's clock.
    Renewed(Timestamp),
    /// The claim is gone: the work stops and writes nothing more.
    Lost,
}

/// Why a claim is given back without an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// There was nothing to do, or the process ends in good order: this claim is not counted.
    Unused,
    /// The work failed in a way that may come again: the claim counts towards the limit of W-7.
    Failed,
}
