//! Which workorders wait for a gate.

use azolla_protocol::{EventId, ObjectiveId, SnapshotId, Workorder};

use super::*;

#[test]
fn c1_w4_an_executed_workorder_waits_while_it_has_its_place() {
    let stored = |status, stream_slot| StoredWorkorder {
        workorder: Workorder {
            work_order_id: WorkOrderId::new("wo-1").unwrap(),
            objective_id: ObjectiveId::new("obj-1").unwrap(),
            diazotroph_type: DiazotrophType::Patch,
            context_snapshot_id: SnapshotId::new("snap-1").unwrap(),
            branch_name: None,
            budget_ms: 1_000,
            status,
            created_at: "2026-11-16T10:00:00.000Z".parse().unwrap(),
        },
        event_id: EventId::new("evt-1").unwrap(),
        budget_consumed_ms: 0,
        claim_count: 0,
        stream_slot,
    };
    assert!(waits(&stored(WorkorderStatus::Executed, Some(1))));
    assert!(!waits(&stored(WorkorderStatus::Executed, None)), "it is gated");
    assert!(!waits(&stored(WorkorderStatus::Created, Some(1))), "it has no bundle yet");
}
