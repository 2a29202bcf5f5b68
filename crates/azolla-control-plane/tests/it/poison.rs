//! P18, W-7: one workorder that kills whoever runs it, among a thousand.

use std::{pin::Pin, sync::Arc};

use azolla_control_plane::{Tick, operator::NewObjective, workers};
use azolla_protocol::{
    AnswerForm, Diazotroph, GateResult, Generation, GenerationOutcome, GenerationRequest, ObjectiveId,
    RunnerStatus, Usage,
};
use azolla_testkit::{ScriptedDiazotroph, TestStore, World, cycle::LEASE_MS, diazotroph::PATCH, world::REPO};
use tokio::sync::Notify;

use crate::runner::workorder;

const OBJECTIVES: usize = 1_000;
const POISONED: usize = 100;
const POISON: &str = "poison";

/// Answers with a patch; asked for the poisoned one, says so and never answers.
#[derive(Default)]
struct Deadly {
    struck: Notify,
}

impl Diazotroph for Deadly {
    fn provider(&self) -> &str {
        "deadly"
    }

    fn answer_form(&self) -> AnswerForm {
        AnswerForm::Diff
    }

    fn generate<'a>(
        &'a self,
        request: GenerationRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Generation> + Send + 'a>> {
        Box::pin(async move {
            if request.prompt.contains(POISON) {
                self.struck.notify_one();
                std::future::pending::<()>().await;
            }
            let usage = Usage { requests: 1, ..Usage::default() };
            let outcome = GenerationOutcome::Text(PATCH.to_owned());
            Generation { outcome, usage, sandbox_mode: None }
        })
    }
}

/// Creates and approves them all; returns their ids, in the order in which they are taken up.
async fn approved(world: &World) -> Vec<ObjectiveId> {
    let mut ids = Vec::new();
    for n in 0..OBJECTIVES {
        let criterion = if n == POISONED { POISON } else { "0.5 rounds to 1" };
        let new = NewObjective {
            title: format!("Change {n}"),
            acceptance_criteria: format!("- {criterion}"),
            repo_ref: REPO.into(),
            base_branch: "main".into(),
            importance: 2,
            urgency: 3,
        };
        let id = world.operator().create(new).await.expect("an objective is created");
        world.operator().approve(&id).await.expect("it is approved");
        ids.push(id);
    }
    ids
}

/// P18, W-7: it ends after three claims without an outcome; meanwhile every round takes one of the others through its gate.
#[tokio::test]
async fn p18_w7_one_poisoned_workorder_among_a_thousand_starves_nobody() {
    let mut world = World::on(TestStore::without_disk().await, ScriptedDiazotroph::patch());
    let deadly = Arc::new(Deadly::default());
    world.patch().diazotroph = deadly.clone();
    // A place for the poisoned one, and one for everybody else. No second workorder for what failed.
    world.ctx.settings.room.max_concurrent = 2;
    world.ctx.settings.attempts_max = 1;
    let ids = approved(&world).await;
    while world.readiness().await == Tick::Advanced {}

    let (mut gated, mut died) = (0, 0);
    for round in 1.. {
        while world.scheduler().await == Tick::Advanced {}
        tokio::select! {
            tick = workers::runner::tick(&world.ctx) => assert_eq!(tick.expect("runner"), Tick::Advanced),
            // The process is gone, and its claim is not.
            () = deadly.struck.notified() => {
                died += 1;
                world.as_another_owner();
            }
        }
        gated += usize::from(world.gate().await == Tick::Advanced);
        // No round is lost but those in which the runner died.
        assert_eq!(gated, round - died, "after {died} deaths");
        if gated == OBJECTIVES {
            break;
        }
        // The lease of the dead ends while a few others go through.
        world.store.advance(LEASE_MS / 8).await;
    }
    assert_eq!(died, 3);
    assert_ended_as_they_should(&world, &ids).await;
}

/// Every other one passed with its first workorder; the poisoned one failed, with one bundle that says why.
async fn assert_ended_as_they_should(world: &World, ids: &[ObjectiveId]) {
    let read = world.store.read();
    for (n, id) in ids.iter().enumerate() {
        let results: Vec<GateResult> =
            read.runs_of(id).await.expect("a read").iter().map(|run| run.gate_result).collect();
        let expected = if n == POISONED { GateResult::Fail } else { GateResult::Pass };
        assert_eq!(results, [expected], "objective {n}");
    }
    let poisoned = workorder(&ids[POISONED], 1);
    assert_eq!(read.workorders_of(&ids[POISONED]).await.expect("a read").len(), 1);
    let bundle = read.output_of(&poisoned).await.expect("a read").expect("it has ended");
    assert_eq!(bundle.metadata.runner_status, RunnerStatus::GenerationFailed);
    assert_eq!(bundle.metadata.more["failure"], "POISON");
    assert_eq!(bundle.notes, "3 runs of this workorder ended without a result.");
    let findings = azolla_substrate::verify(read).await.expect("it can be verified");
    assert_eq!(findings.into_iter().map(|finding| finding.what).collect::<Vec<_>>(), [] as [&str; 0]);
}
