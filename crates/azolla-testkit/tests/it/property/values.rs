//! What the numbers in an operation stand for: ids, marks, entries, leases.

use azolla_protocol::{
    Actor, AzollaId, CaptureId, LeaseLength, ObjectiveId, ObjectiveStatus, OwnerId, ResourceType, Timestamp,
    UsageRecord, WorkOrderId,
};
use azolla_substrate::{Fence, ObjectiveMark, StoredObjective};
use azolla_testkit::store::azolla_id;

use super::operation::{Entry, Lease, Mark, Party};

impl Party {
    pub(super) fn or(self, right: Actor) -> Actor {
        match self {
            Self::Right => right,
            Self::Wrong => Actor::Client,
        }
    }
}

impl Mark {
    pub(super) fn of(self, stored: &StoredObjective) -> ObjectiveMark {
        let mark = ObjectiveMark::from(stored);
        match self {
            Self::Current => mark,
            Self::OldVersion => ObjectiveMark { version: mark.version - 1, ..mark },
            Self::OtherStatus if mark.status == ObjectiveStatus::New => {
                ObjectiveMark { status: ObjectiveStatus::Todo, ..mark }
            }
            Self::OtherStatus => ObjectiveMark { status: ObjectiveStatus::New, ..mark },
        }
    }
}

impl Entry {
    pub(super) fn of(self, current: u64) -> u64 {
        match self {
            Self::Current => current.max(1),
            Self::Before => current.saturating_sub(1).max(1),
            Self::Next => current + 1,
        }
    }
}

impl Lease {
    pub(super) fn length(self) -> LeaseLength {
        LeaseLength::new(match self {
            Self::Short => 30_000,
            Self::Long => 60_000,
        })
        .expect("a lease")
    }
}

pub(super) fn objective_id(number: u8) -> ObjectiveId {
    ObjectiveId::new(format!("obj-{number}")).expect("an id")
}

pub(super) fn standing_id() -> ObjectiveId {
    objective_id(9)
}

pub(super) fn capture_id(number: u8) -> CaptureId {
    CaptureId::new(format!("cap-c{number}")).expect("an id")
}

pub(super) fn owner_id(number: u8) -> OwnerId {
    OwnerId::new(format!("own-{number}")).expect("an id")
}

/// A workorder that never is.
pub(super) fn no_workorder() -> WorkOrderId {
    WorkOrderId::new("wo-none").expect("an id")
}

pub(super) fn workorder_of(fence: &Fence) -> WorkOrderId {
    WorkOrderId::new(fence.resource.resource_id.clone()).expect("a workorder's claim")
}

pub(super) fn is_workorder(fence: &Fence) -> bool {
    fence.resource.resource_type == ResourceType::Workorder
}

pub(super) fn azolla_of(remote: bool) -> AzollaId {
    if remote { AzollaId::new("az-other").expect("an id") } else { azolla_id() }
}

pub(super) fn deadline(day: u8) -> Timestamp {
    format!("2026-12-0{}T00:00:00.000Z", day + 1).parse().expect("a timestamp")
}

pub(super) fn usage(work_order_id: &WorkOrderId, claim_version: u64, created_at: Timestamp) -> UsageRecord {
    UsageRecord {
        work_order_id: work_order_id.clone(),
        claim_version,
        provider: "scripted".into(),
        model: None,
        requests: 1,
        retries: 0,
        input_tokens: 10,
        output_tokens: 20,
        cost_microusd: None,
        created_at,
    }
}
