//! What is in the stores, made once by the Substrate itself: a piece of history, and what is open. `history.rs` copies it.
//!
//! Everything that a template holds is of one minute, and its ids begin alike: a copy is the same text with another minute
//! and another beginning.

use azolla_protocol::{
    Actor, AzollaId, AzollaType, DiazotrophType, EventId, EventType, GateResult, IdSource, ManifestId,
    ObjectiveId, ObjectiveStatus, OutputId, PauseReason, PauseState, ProcessedReason, RunId, SessionManifest,
    WorkOrderId, Workorder, lifecycle::ObjectiveStep,
};
use azolla_substrate::{Commit, CommitOutcome, ObjectiveMark, PauseKey, Write};
use azolla_testkit::{
    Backend, PatchCycle, SequentialIds, TestStore, TriageCycle,
    cycle::{ROOM, event, output_bundle, pause_state, snapshot, valid, workorder},
    store::{Place, azolla_id},
    triage::standing,
};

use crate::home::{STANDING, patch_azolla};

/// The minute of everything in a template.
pub(crate) const MINUTE: &str = "2026-11-01T08:00";

/// A store that is copied from.
pub(crate) struct Template {
    world: TestStore,
}

impl Template {
    /// Two objectives that were confirmed; the second needed a second attempt.
    pub(crate) async fn patch_history() -> anyhow::Result<Self> {
        let world = TestStore::new(Backend::Sqlite).await;
        for first_attempt in [GateResult::Pass, GateResult::Fail] {
            let cycle = PatchCycle::todo(&world).await;
            let mut work_order_id = cycle.run(first_attempt).await;
            if first_attempt == GateResult::Fail {
                work_order_id = cycle.run(GateResult::Pass).await;
            }
            confirm(&cycle, &work_order_id).await;
        }
        Ok(Self { world })
    }

    /// A result that waits, a failed attempt that is ready for the next, one that is blocked, two that need a yes.
    pub(crate) async fn patch_open() -> anyhow::Result<Self> {
        let world = TestStore::new(Backend::Sqlite).await;
        // The first ids are those that `overdue` counts on.
        for _ in 0..2 {
            PatchCycle::created(&world).await;
        }
        PatchCycle::created(&world)
            .await
            .advance(Actor::Operator, ObjectiveStep::Block, ObjectiveStatus::Blocked)
            .await;
        PatchCycle::todo(&world).await.run(GateResult::Pass).await;
        PatchCycle::todo(&world).await.run(GateResult::Fail).await;
        Ok(Self { world })
    }

    /// A note that was triaged and settled, an orientation, and a deadline of something that has moved since.
    pub(crate) async fn task_history() -> anyhow::Result<Self> {
        let world = task_store().await?;
        let cycle = TriageCycle { world: &world, standing: ObjectiveId::new(STANDING)? };
        const CANDIDATES: u64 = 2;
        let (_, work_order_id) = cycle.passed(CANDIDATES).await;
        for index in 0..CANDIDATES {
            let outcome = azolla_protocol::CandidateOutcome::Discarded;
            cycle.resolve(&OutputId::of(&work_order_id), index, outcome).await?;
        }
        oriented(&cycle).await?;
        let confirmed = ObjectiveId::from_body(&world.ids.body());
        overdue(&world, &patch_azolla(2), &confirmed).await?;
        Ok(Self { world })
    }

    /// Notes that wait for triage, candidates that wait for the operator, and what is overdue in other azollas.
    pub(crate) async fn task_open() -> anyhow::Result<Self> {
        let world = task_store().await?;
        let cycle = TriageCycle { world: &world, standing: ObjectiveId::new(STANDING)? };
        for candidates in [3, 1] {
            cycle.passed(candidates).await;
        }
        for _ in 0..4 {
            cycle.captured().await;
        }
        oriented(&cycle).await?;
        let first = ObjectiveId::from_body(&SequentialIds::default().body());
        for number in 1..=5 {
            overdue(&world, &patch_azolla(number), &first).await?;
        }
        Ok(Self { world })
    }

    /// Returns its file.
    pub(crate) fn path(&self) -> &std::path::Path {
        match &self.world.place {
            Place::File(path, _) => path,
            Place::Database(_) => unreachable!("templates are files"),
        }
    }

    /// Returns the ids' common beginning.
    pub(crate) fn ids_begin() -> String {
        SequentialIds::default().body().to_string().chars().take(8).collect()
    }
}

/// A store with the standing objective that `azolla init` makes, which is not copied.
async fn task_store() -> anyhow::Result<TestStore> {
    let world = TestStore::of_type(Backend::Sqlite, AzollaType::TaskMgmt).await;
    let objective = valid(standing(&ObjectiveId::new(STANDING)?, world.now().await));
    world.done(Actor::Init, Write::InsertObjective { objective, step: ObjectiveStep::OpenStanding }).await;
    // What is copied starts behind it, as it does in a patch template.
    Ok(world)
}

/// The operator's confirmation (S-j).
async fn confirm(cycle: &PatchCycle<'_>, work_order_id: &WorkOrderId) {
    let stored = cycle.stored().await;
    let mut next = stored.objective.clone();
    let completion = serde_json::json!({
        "confirmed_at": cycle.world.now().await, "confirmed_by": "operator", "run_id": RunId::of(work_order_id),
    });
    next.metadata.insert("completion".into(), completion);
    let was = ObjectiveMark::from(&stored);
    let write = Write::AdvanceObjective { was, step: ObjectiveStep::Confirm, next: valid(next) };
    cycle.world.done(Actor::Operator, write).await;
}

/// A whole orientation, from its request to its manifest (7.3).
async fn oriented(cycle: &TriageCycle<'_>) -> anyhow::Result<()> {
    let (world, now) = (cycle.world, cycle.world.now().await);
    let event_id = EventId::from_body(&world.ids.body());
    let asked = event(event_id.clone(), EventType::ManifestRequested, azolla_id().as_str(), now);
    world.done(Actor::Operator, Write::EmitEvent { event: valid(asked), entry: None }).await;

    let workorder = Workorder {
        diazotroph_type: DiazotrophType::ManifestBuilder,
        branch_name: None,
        ..workorder(&event_id, &cycle.standing, now)
    };
    let work_order_id = workorder.work_order_id.clone();
    let mut snapshot = snapshot(&event_id, &cycle.standing, now);
    snapshot.full_prompt_text = "What each azolla said, line by line.\n".repeat(200);
    let remarks = serde_json::json!({"remarks": ["az-away: TARGET_UNAVAILABLE: no connection in time"]});
    snapshot.metadata = remarks.as_object().cloned();
    let commit = Commit::new(world.ids.commit_id(), Actor::ManifestScheduler)
        .with(Write::InsertSnapshot { snapshot: valid(snapshot), objective_version: 1 })
        .with(Write::CreateWorkorder { workorder: valid(workorder), event_id: event_id.clone(), room: ROOM })
        .with(Write::ProcessEvent { event_id: event_id.clone(), reason: ProcessedReason::Scheduled })
        .claiming((&event_id).into(), world.ids.owner_id());
    anyhow::ensure!(world.store.commit(commit).await? == CommitOutcome::Done, "an orientation is scheduled");

    let fence = world.granted(&(&work_order_id).into()).await.fence;
    let bundle = valid(output_bundle(&work_order_id, &cycle.standing, now));
    let commit = Commit::new(world.ids.commit_id(), Actor::Runner).with(Write::Execute(bundle)).fenced(fence);
    anyhow::ensure!(world.store.commit(commit).await? == CommitOutcome::Done, "an orientation is written");

    let manifest = SessionManifest {
        manifest_id: ManifestId::of(&work_order_id),
        azolla_id: azolla_id(),
        queried_azolla_ids: (1..=19).map(patch_azolla).collect(),
        pause_state_summary: Vec::new(),
        prioritized_orientation: vec!["Review one result: azolla".into()],
        created_at: now,
    };
    let more =
        vec![Write::InsertManifest { manifest: valid(manifest), work_order_id: work_order_id.clone() }];
    let gated = cycle.gate(&work_order_id, GateResult::Pass, more).await?;
    anyhow::ensure!(gated == CommitOutcome::Done, "an orientation passes its gate");
    Ok(())
}

/// A deadline that passed in another azolla (7.4).
async fn overdue(world: &TestStore, azolla_id: &AzollaId, objective_id: &ObjectiveId) -> anyhow::Result<()> {
    let now = world.now().await;
    let pause = PauseState {
        azolla_id: azolla_id.clone(),
        prioritized_actions: vec![
            format!(
                "Review overdue objective {objective_id} (urgency 3): azolla objective show {objective_id}"
            ),
            "Update objective urgency or address the item".into(),
        ],
        ..pause_state(objective_id, PauseReason::RunComplete, now)
    };
    let write = Write::Pause { key: PauseKey::Deadline { at: now, urgency: 3 }, pause: valid(pause) };
    world.done(Actor::DeadlineMonitor, write).await;
    Ok(())
}
