//! `claim_record`: who may work on an event or a workorder, until when (section 5).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::named_enum;
use crate::{EventId, OwnerId, Timestamp, WorkOrderId};

/// A lease with a fence. It outlives its release, so that `claim_version` only grows (C-2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimRecord {
    /// What sort of resource is claimed.
    pub resource_type: ResourceType,
    /// Its id.
    pub resource_id: String,
    /// Who holds it, or held it last.
    pub owner_id: OwnerId,
    /// From then on anyone may take it (C-1).
    pub lease_expires_at: Timestamp,
    /// The last grant or renewal.
    pub heartbeat_at: Timestamp,
    /// The fence (C-4).
    pub claim_version: u64,
}

impl ClaimRecord {
    /// The last `claim_version`: no document could carry the next one (T38).
    pub const VERSION_LAST: u64 = (1 << 53) - 1;

    /// Tells whether the claim is held at `now`, as far as it can be known: a heartbeat in the future is of a clock that
    /// has been set back since, and its lease says nothing.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.heartbeat_at <= now && now < self.lease_expires_at
    }
}

named_enum! {
    /// What can be claimed.
    pub enum ResourceType {
        /// An event, by a scheduler.
        Event = "EVENT",
        /// A workorder, by a runner or a gate.
        Workorder = "WORKORDER",
    }
}

/// Names what a claim is on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceRef {
    /// What sort of resource.
    pub resource_type: ResourceType,
    /// Its id.
    pub resource_id: String,
}

impl fmt::Display for ResourceRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.resource_type, self.resource_id)
    }
}

impl From<&EventId> for ResourceRef {
    fn from(id: &EventId) -> Self {
        Self { resource_type: ResourceType::Event, resource_id: id.to_string() }
    }
}

impl From<&WorkOrderId> for ResourceRef {
    fn from(id: &WorkOrderId) -> Self {
        Self { resource_type: ResourceType::Workorder, resource_id: id.to_string() }
    }
}
