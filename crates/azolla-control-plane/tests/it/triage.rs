//! The triage flow by hand-driven ticks on a real store (PROTOCOL.md 7.2).

// clippy.toml allows it in tests; helpers of an integration test are not seen as such.
#![allow(clippy::unwrap_used)]

mod candidates;
mod captures;
mod gate;
mod one_by_one;
mod poll;
mod requests;
mod runner;
mod scheduler;
mod takeover;

use azolla_protocol::{
    CaptureId, Event, EventId, GenerationOutcome, OutputBundle, OutputId, ProcessedReason, ResourceRef,
    RunRecord, WorkOrderId,
};
use azolla_testkit::{Answer, TaskWorld, cycle::LEASE_MS};

/// The id of a capture's `n`th event.
fn event_id(capture: &CaptureId, n: u64) -> EventId {
    EventId::for_attempt(capture, n).expect("a short id")
}

/// The workorder of a capture's `n`th event.
fn workorder(capture: &CaptureId, n: u64) -> WorkOrderId {
    WorkOrderId::of(&event_id(capture, n))
}

/// The output of a capture's `n`th event.
fn output(capture: &CaptureId, n: u64) -> OutputId {
    OutputId::of(&workorder(capture, n))
}

async fn event(world: &TaskWorld, id: &EventId) -> Event {
    world.store.read().event(id).await.expect("a read").expect("the event was emitted").event
}

async fn reason(world: &TaskWorld, capture: &CaptureId, n: u64) -> Option<ProcessedReason> {
    event(world, &event_id(capture, n)).await.processed_reason
}

async fn bundle(world: &TaskWorld, id: &WorkOrderId) -> OutputBundle {
    world.store.read().output_of(id).await.expect("a read").expect("the workorder has its bundle")
}

async fn run(world: &TaskWorld, id: &WorkOrderId) -> RunRecord {
    world.store.read().run_of(id).await.expect("a read").expect("the workorder has its run_record")
}

/// The captures of a workorder's snapshot.
async fn batch(world: &TaskWorld, id: &WorkOrderId) -> Vec<CaptureId> {
    let stored = world.store.read().workorder(id).await.expect("a read").expect("the workorder");
    let snapshot = world.store.read().context_snapshot(&stored.workorder.context_snapshot_id).await;
    let snapshot = snapshot.expect("a read").expect("the snapshot");
    let ids = snapshot.metadata.expect("it has metadata")["capture_ids"].clone();
    serde_json::from_value(ids).expect("capture ids")
}

/// Claims a resource so many times, and each time dies with the claim.
async fn claimed_in_vain(world: &TaskWorld, resource: &ResourceRef, times: u64) {
    for _ in 0..times {
        world.store.granted(resource).await;
        world.store.advance(LEASE_MS).await;
    }
}

fn text(text: impl Into<String>) -> Answer {
    Answer::Outcome(GenerationOutcome::Text(text.into()))
}

/// Every invariant holds (docs/invariants.md).
async fn assert_sound(world: &TaskWorld) {
    let findings = azolla_substrate::verify(world.store.read()).await.expect("it can be verified");
    assert!(findings.is_empty(), "{findings:?}");
}
