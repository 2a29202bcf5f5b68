//! Once nothing runs any more, nothing may be left but what waits for the operator or for a limit (invariant 12).

use azolla_protocol::{AzollaType, DiazotrophType, EventType};
use azolla_substrate::{Finding, StoredEvent, StreamRoom, SubstrateError, SubstrateRead};

/// How many of each kind are named.
const NAMED_MAX: u64 = 1_000;

/// What may keep work waiting in an azolla, as it is configured.
pub struct Limits<'a> {
    /// Open workorders and waiting results (W-4, O-3).
    pub room: StreamRoom,
    /// Automatic attempts after an operator's step.
    pub attempts_max: u64,
    /// Tells whether a quota or a cap of the day holds back whoever does such work.
    pub is_held_back: &'a dyn Fn(DiazotrophType) -> bool,
}

/// Returns what the workers have left to do. Only for a store that nobody works on: what is under way is in it.
pub async fn left_to_do(
    read: &dyn SubstrateRead,
    limits: &Limits<'_>,
) -> Result<Vec<Finding>, SubstrateError> {
    let mut left = Vec::new();
    let mut add = |resource: &dyn ToString, what: &str| {
        left.push(Finding { invariant: 12, resource: resource.to_string(), what: what.into() });
    };
    for stored in read.objectives_awaiting_event(NAMED_MAX).await? {
        add(&stored?.objective.objective_id, "is TODO and has no event");
    }
    for (capture_id, _) in read.captures_awaiting_event(limits.attempts_max, NAMED_MAX).await? {
        add(&capture_id, "is PENDING and has no event");
    }
    for (event_type, work) in kinds(read.identity().await?.azolla_type) {
        for stored in waiting_events(read, limits, *event_type, *work).await? {
            add(&stored.event.event_id, "is unprocessed, and nothing limits it");
        }
    }
    for stored in read.created_workorders(NAMED_MAX).await? {
        if !(limits.is_held_back)(stored.workorder.diazotroph_type) {
            add(&stored.workorder.work_order_id, "is CREATED and was not run");
        }
    }
    for stored in read.ungated_workorders(NAMED_MAX).await? {
        add(&stored.workorder.work_order_id, "is EXECUTED and was not gated");
    }
    let now = read.now().await?;
    for claim in read.unreleased_claims(NAMED_MAX).await? {
        // One whose lease is over was lost with its holder.
        if claim.lease_expires_at > now {
            add(&claim.resource_id, &format!("is claimed until {}", claim.lease_expires_at));
        }
    }
    Ok(left)
}

/// What leads to work in an azolla of a type.
fn kinds(azolla_type: AzollaType) -> &'static [(EventType, DiazotrophType)] {
    match azolla_type {
        AzollaType::CodePatch => &[(EventType::TicketReady, DiazotrophType::Patch)],
        AzollaType::TaskMgmt => &[
            (EventType::CaptureReady, DiazotrophType::Triage),
            (EventType::ManifestRequested, DiazotrophType::ManifestBuilder),
        ],
    }
}

async fn waiting_events(
    read: &dyn SubstrateRead,
    limits: &Limits<'_>,
    event_type: EventType,
    work: DiazotrophType,
) -> Result<Vec<StoredEvent>, SubstrateError> {
    let stream = read.stream().await?;
    // What waits for the operator does not limit an orientation, which is about what waits (O-3).
    let review_limit = if work == DiazotrophType::ManifestBuilder { 0 } else { limits.room.review_limit };
    let is_full = stream.open >= limits.room.max_concurrent
        || (review_limit > 0 && stream.open + stream.waiting >= review_limit);
    if is_full || (limits.is_held_back)(work) {
        return Ok(Vec::new());
    }
    read.unprocessed_events(event_type, NAMED_MAX).await
}
