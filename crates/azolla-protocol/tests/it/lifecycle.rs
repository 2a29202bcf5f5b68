//! The changes that happen once (W-6, S-4) and the claim rules (C-1, C-4).

use azolla_protocol::lifecycle::{capture_buffer, claim, event, workorder};
use azolla_protocol::{
    CaptureStatus, ClaimRecord, Event, OwnerId, ProcessedReason, ResourceRef, Timestamp, WorkOrderId,
    WorkorderStatus,
};

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

#[test]
fn w6_a_workorder_is_executed_once() {
    assert_eq!(workorder::execute(WorkorderStatus::Created), Ok(WorkorderStatus::Executed));
    let again = workorder::execute(WorkorderStatus::Executed).unwrap_err();
    assert_eq!(again.to_string(), "workorder is EXECUTED; execute needs CREATED");
}

#[test]
fn w6_an_event_is_processed_once() {
    let text = include_str!("../fixtures/event/sparse.json");
    let fresh: Event = serde_json::from_str(text).unwrap();
    let done = event::process(fresh.clone(), ProcessedReason::NoPendingCaptures, at(5)).unwrap();
    let expected = Event {
        processed: true,
        processed_reason: Some(ProcessedReason::NoPendingCaptures),
        processed_at: Some(at(5)),
        ..fresh
    };
    assert_eq!(done, expected);
    let again = event::process(done, ProcessedReason::Scheduled, at(6)).unwrap_err();
    assert_eq!(again.to_string(), "event is processed; process needs an unprocessed one");
}

#[test]
fn s4_a_capture_is_processed_once() {
    assert_eq!(capture_buffer::process(CaptureStatus::Pending), Ok(CaptureStatus::Processed));
    let again = capture_buffer::process(CaptureStatus::Processed).unwrap_err();
    assert_eq!(again.to_string(), "capture_buffer is PROCESSED; process needs PENDING");
}

#[test]
fn c1_c4_a_claim_holds_until_the_instant_it_expires() {
    let resource = ResourceRef::from(&WorkOrderId::new("wo-1").unwrap());
    assert_eq!(resource.to_string(), "WORKORDER wo-1");
    let (owner, other) = (OwnerId::new("own-a").unwrap(), OwnerId::new("own-b").unwrap());
    let record = ClaimRecord {
        resource_type: resource.resource_type,
        resource_id: resource.resource_id,
        owner_id: owner.clone(),
        lease_expires_at: at(100),
        heartbeat_at: at(40),
        claim_version: 7,
    };
    assert!(!claim::is_expired(&record, at(99)) && claim::is_expired(&record, at(100)));
    assert!(claim::holds(&record, &owner, 7, at(99)));
    assert!(!claim::holds(&record, &owner, 7, at(100)), "expired");
    assert!(!claim::holds(&record, &owner, 6, at(99)), "an older fence");
    assert!(!claim::holds(&record, &other, 7, at(99)), "another owner");
}
