//! Wherever the manifest flow is cut, whoever comes next ends it as if nothing had happened (C-6, W-5, B-3).

use azolla_control_plane::Tick;
use azolla_protocol::{EventId, GateResult, ProcessedReason, ResourceRef, WorkOrderId};
use azolla_substrate::verify;
use azolla_testkit::{Backend, TaskWorld, cycle::LEASE_MS};

use super::{ended, request, world};

/// What is left of a run when ids, times and claims are taken out.
#[derive(Debug, PartialEq, Eq)]
struct Outline {
    event: Option<ProcessedReason>,
    runs: Vec<GateResult>,
    orientation: Option<Vec<String>>,
    pause: Vec<String>,
    findings: Vec<String>,
}

async fn outline(world: &TaskWorld, event_id: &EventId) -> Outline {
    let read = world.store.read();
    let standing = world.standing().await;
    let runs = read.runs_of(&standing.objective.objective_id).await.expect("a read");
    let manifest = read.latest_manifest().await.expect("a read");
    Outline {
        event: ended(world, event_id).await,
        runs: runs.iter().map(|run| run.gate_result).collect(),
        orientation: manifest.map(|manifest| manifest.prioritized_orientation),
        pause: world.pause().await.prioritized_actions,
        findings: verify(read).await.expect("a read").into_iter().map(|finding| finding.what).collect(),
    }
}

async fn takeover_after_any_cut(backend: Backend) {
    let whole = world(backend).await;
    let event_id = request(&whole, "evt-1").await;
    whole.run_to_pause().await.expect("nothing breaks");
    let expected = outline(&whole, &event_id).await;
    assert_eq!((&expected.runs[..], expected.findings.len()), (&[GateResult::Pass][..], 0));
    for steps in 0..=5 {
        let mut world = world(backend).await;
        let event_id = request(&world, "evt-1").await;
        cut(&world, &event_id, steps).await;
        world.store.advance(LEASE_MS).await;
        world.as_another_owner();
        world.run_to_pause().await.expect("nothing breaks");
        assert_eq!(outline(&world, &event_id).await, expected, "cut after {steps} steps");
        // W-5: rerunning every worker changes nothing more.
        for tick in [world.manifest_scheduler().await, world.runner().await, world.gate().await] {
            assert_eq!(tick, Tick::Idle);
        }
        assert_eq!(outline(&world, &event_id).await, expected, "after another round");
    }
}

/// Goes `steps` into the flow and dies there.
async fn cut(world: &TaskWorld, event_id: &EventId, steps: usize) {
    let workorder = ResourceRef::from(&WorkOrderId::of(event_id));
    if steps == 1 {
        // While the others are asked.
        world.store.granted(&ResourceRef::from(event_id)).await;
    }
    if steps >= 2 {
        world.manifest_scheduler().await;
    }
    if steps == 3 {
        // In the runner, after its claim.
        world.store.granted(&workorder).await;
    }
    if steps >= 4 {
        world.runner().await;
    }
    if steps == 5 {
        // In the gate, after a claim.
        world.store.granted(&workorder).await;
    }
}

mod sqlite {
    #[tokio::test]
    async fn c6_w5_b3_a_manifest_is_taken_over_after_any_cut() {
        super::takeover_after_any_cut(super::Backend::Sqlite).await;
    }
}

mod postgres {
    #[tokio::test]
    async fn c6_w5_b3_a_manifest_is_taken_over_after_any_cut() {
        super::takeover_after_any_cut(super::Backend::Postgres).await;
    }
}
