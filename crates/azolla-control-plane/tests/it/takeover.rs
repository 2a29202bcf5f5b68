//! Wherever the flow is cut, whoever comes next ends it as if nothing had happened (C-6, W-5, B-3).

use std::time::Duration;

use azolla_control_plane::{Tick, repo::RepositoryError, workers};
use azolla_protocol::{GateResult, ObjectiveId, ObjectiveStatus, ResourceRef};
use azolla_testkit::{Backend, World, cycle::LEASE_MS};

use crate::{gate::cut_off_after_publishing, runner::workorder};

/// What is left of a run when ids, times and claims are taken out.
#[derive(Debug, PartialEq, Eq)]
struct Outline {
    status: ObjectiveStatus,
    bundles: usize,
    runs: Vec<GateResult>,
    pauses: Vec<Vec<String>>,
    is_published: bool,
    findings: Vec<String>,
}

async fn outline(world: &World, id: &ObjectiveId) -> Outline {
    let read = world.store.read();
    let workorders = read.workorders_of(id).await.expect("a read");
    let mut bundles = 0;
    for stored in &workorders {
        bundles +=
            usize::from(read.output_of(&stored.workorder.work_order_id).await.expect("a read").is_some());
    }
    let runs = read.runs_of(id).await.expect("a read");
    let pauses = read.current_pause_states().await.expect("a read");
    let findings = azolla_substrate::verify(read).await.expect("it can be verified");
    Outline {
        status: world.objective(id).await.objective.status,
        bundles,
        runs: runs.iter().map(|run| run.gate_result).collect(),
        pauses: pauses.into_iter().map(|pause| pause.prioritized_actions).collect(),
        is_published: world.repository.published(&format!("azolla/{id}")) == runs[0].commit_sha,
        findings: findings.into_iter().map(|finding| finding.what).collect(),
    }
}

/// W-5, B-3, C-6: cut after every commit of the flow, and inside every claim.
async fn takeover_after_any_cut(backend: Backend) {
    let whole = World::new(backend).await;
    let id = whole.approved().await;
    whole.run_to_pause().await.expect("the whole flow");
    let expected = outline(&whole, &id).await;
    assert_eq!((expected.bundles, expected.runs.len(), expected.pauses.len()), (1, 1, 1));
    for steps in 0..=5 {
        let mut world = World::new(backend).await;
        let id = world.approved().await;
        cut(&world, &id, steps).await;
        world.store.advance(LEASE_MS).await;
        world.as_another_owner();
        world.run_to_pause().await.expect("the takeover");
        assert_eq!(outline(&world, &id).await, expected, "cut after {steps} steps");
        // W-5: rerunning every worker changes nothing more.
        for tick in
            [world.readiness().await, world.scheduler().await, world.runner().await, world.gate().await]
        {
            assert_eq!(tick, Tick::Idle);
        }
        assert_eq!(outline(&world, &id).await, expected, "after another round");
    }
}

/// Goes `steps` into the flow and dies there.
async fn cut(world: &World, id: &ObjectiveId, steps: usize) {
    if steps >= 1 {
        workers::readiness::tick(&world.ctx).await.expect("readiness");
    }
    if steps >= 2 {
        workers::scheduler::tick(&world.ctx).await.expect("scheduler");
    }
    if steps == 3 {
        // In the runner, after its claim.
        world.store.granted(&ResourceRef::from(&workorder(id, 1))).await;
    }
    if steps >= 4 {
        workers::runner::tick(&world.ctx).await.expect("runner");
    }
    if steps == 5 {
        // In the gate, after its claim.
        world.store.granted(&ResourceRef::from(&workorder(id, 1))).await;
    }
}

mod sqlite {
    #[tokio::test]
    async fn w5_b3_c6_takeover_after_any_cut() {
        super::takeover_after_any_cut(super::Backend::Sqlite).await;
    }
}

mod postgres {
    #[tokio::test]
    async fn w5_b3_c6_takeover_after_any_cut() {
        super::takeover_after_any_cut(super::Backend::Postgres).await;
    }
}

/// G-1, invariant 11: a gate that dies between its FAIL and the branch, or right after it published late, may be the last of its
/// objective. Whoever starts next takes the branch away, and whoever runs on does so in time.
#[tokio::test(start_paused = true)]
async fn g1_what_nobody_lived_to_withdraw_is_taken_away() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    let branch = format!("azolla/{id}");
    world.operator().cancel(&id, "wrong file").await.expect("cancelled");
    assert_eq!(world.gate().await, Tick::Advanced);
    assert_eq!(world.gate().await, Tick::Idle);
    let late = async |world: &World| cut_off_after_publishing(world, &*world.repository, &id, 1).await;

    late(&world).await;
    world.as_another_owner();
    assert_eq!(world.gate().await, Tick::Idle);
    assert_eq!(world.repository.published(&branch), None, "at the start");

    late(&world).await;
    assert_eq!(world.gate().await, Tick::Idle);
    assert!(world.repository.published(&branch).is_some(), "it is looked at now and then");
    tokio::time::advance(Duration::from_secs(600)).await;
    assert_eq!(world.gate().await, Tick::Idle);
    assert_eq!(world.repository.published(&branch), None, "after a while");
}

/// PF-7, G-1: a mirror that fails for a moment costs the operator no branch: the same patch is gated again.
#[tokio::test(start_paused = true)]
async fn pf7_a_branch_is_published_again_where_the_mirror_failed_in_passing() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    world.repository.fail_publishing([RepositoryError::Unavailable("the disk is full".into())]);
    let Tick::Waiting(wait) = world.gate().await else { panic!("it waits") };
    tokio::time::advance(wait).await;
    world.store.advance(i64::try_from(wait.as_millis()).expect("a short time")).await;
    assert_eq!(world.gate().await, Tick::Advanced);
    assert!(world.repository.published(&format!("azolla/{id}")).is_some());
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Done);
}
