//! Gate: PF-7 and PF-8, every way out. Checks on real files are in `tests/repo` and in the program's tests.

use std::sync::Arc;

use azolla_control_plane::{
    RepositoryFile, RepositoryFileReader, Tick,
    checks::Check,
    repo::{Attempt, Published, Repository, RepositoryError},
    verify::branches,
};
use azolla_protocol::{
    AnswerForm, BlockerKind, FailureKind, GateResult, GenerationOutcome, ObjectiveId, ObjectiveStatus,
    OutputBundle, PauseReason, PauseState, ResourceRef, RunId, RunRecord, lifecycle::has_open_blocker,
};
use azolla_testkit::{
    Answer, Backend, MemoryRepository, ScriptedDiazotroph, World,
    cycle::{LATER_MS, LEASE_MS},
};

use crate::runner::{bundle, workorder};

pub(crate) async fn run(world: &World, id: &ObjectiveId, entry: u64) -> RunRecord {
    let found = world.store.read().run_of(&workorder(id, entry)).await.expect("a read");
    found.expect("the workorder has its run_record")
}

pub(crate) async fn pause(world: &World) -> PauseState {
    let mut pauses = world.store.read().current_pause_states().await.expect("a read");
    assert_eq!(pauses.len(), 1);
    pauses.remove(0)
}

fn text(patch: &str) -> Answer {
    Answer::Outcome(GenerationOutcome::Text(patch.to_owned()))
}

fn broken() -> Answer {
    text("BROKEN")
}

/// PF-7, PF-8, S-e: every condition holds.
#[tokio::test]
async fn pf7_pf8_a_pass_is_done_and_waits_for_the_operator() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    assert_eq!(world.gate().await, Tick::Advanced);
    let run = run(&world, &id, 1).await;
    let commit = bundle(&world, &id).await.metadata.more["commit_sha"].as_str().map(str::to_owned);
    assert_eq!((run.gate_result, run.commit_sha), (GateResult::Pass, commit.clone()));
    let stored = world.objective(&id).await;
    assert_eq!((stored.objective.status, stored.waiting), (ObjectiveStatus::Done, true));
    let pause = pause(&world).await;
    assert_eq!(pause.reason, PauseReason::RunComplete);
    assert_eq!(
        pause.prioritized_actions,
        [
            format!("Review PR on azolla/{id}: azolla review {id}"),
            format!("Confirm completion: azolla objective confirm {id}"),
        ]
    );
    assert_eq!(world.repository.published(&format!("azolla/{id}")), commit);
    let evidence = world.store.read().evidence_of(&RunId::of(&workorder(&id, 1))).await.expect("a read");
    assert_eq!(
        evidence.and_then(|evidence| evidence.base_commit_sha).as_deref(),
        Some(MemoryRepository::BASE)
    );
    // W-5: one workorder, one run record.
    assert_eq!(world.gate().await, Tick::Idle);
}

/// PF-8: a repository that turned unusable while the runner worked has its own action, not that of a worker to set up.
#[tokio::test]
async fn pf8_a_repository_that_the_runner_cannot_use_is_a_fail_with_its_action() {
    let world = World::new(Backend::Sqlite).await;
    // There are no files in memory.
    world.diazotroph().answer_in(AnswerForm::Files);
    let id = world.executed().await;
    assert_eq!(world.gate().await, Tick::Advanced);
    let run = run(&world, &id, 1).await;
    assert_eq!(run.gate_reason, "GENERATION_FAILED: there are no files in memory");
    let objective = world.objective(&id).await.objective;
    assert_eq!(objective.status, ObjectiveStatus::Blocked, "another attempt would fail alike");
    assert_eq!(objective.blocked_on[0].kind, BlockerKind::EnvironmentAccess);
    let action = format!("Use git; then: azolla objective retry {id}");
    assert_eq!(pause(&world).await.prioritized_actions, [action]);
}

/// G-2: a branch that cannot be moved does not undo the PASS; the pause_state says so.
#[tokio::test]
async fn g2_a_branch_that_is_not_moved_is_named_in_the_pause_state() {
    let world = World::new(Backend::Sqlite).await;
    world.repository.publish_as(Published::ByHand {
        reason: "the branch is checked out".into(),
        command: "git fetch mirror".into(),
    });
    let id = world.executed().await;
    world.gate().await;
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Done);
    assert_eq!(
        pause(&world).await.prioritized_actions[1],
        "Fetch the branch by hand (the branch is checked out): git fetch mirror"
    );
}

/// PF-8, S-g, PF-4: a first FAIL goes back to TODO, and the next prompt has its reason.
#[tokio::test]
async fn pf8_a_first_failure_is_tried_again_with_its_reason_in_the_prompt() {
    let world = World::with(Backend::Sqlite, ScriptedDiazotroph::new([broken(), text("good")])).await;
    let id = world.executed().await;
    assert_eq!(world.gate().await, Tick::Advanced);
    let first = run(&world, &id, 1).await;
    assert_eq!((first.gate_result, first.commit_sha), (GateResult::Fail, None));
    let objective = world.objective(&id).await.objective;
    assert_eq!((objective.status, objective.blocked_reason.as_deref()), (ObjectiveStatus::Todo, None));
    assert_eq!(objective.blocked_on.len(), 1);
    assert!(objective.blocked_on[0].resolved, "resolved by the retry");
    let said = pause(&world).await;
    assert_eq!(said.reason, PauseReason::GateFailed);
    assert_eq!(said.prioritized_actions, ["Nothing is needed: attempt 2 of 2 is scheduled"]);

    world.run_to_pause().await.expect("the second attempt");
    let prompts = world.diazotroph().prompts();
    assert!(prompts[1].contains("Attempt 1 failed") && prompts[1].contains("the patch does not apply"));
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Done);
    let snapshot = azolla_protocol::SnapshotId::new(format!("snap-{}-2", id.body())).expect("an id");
    let snapshot = world.store.read().context_snapshot(&snapshot).await.expect("a read").expect("it");
    assert_eq!(snapshot.related_yield_refs, [bundle(&world, &id).await.output_id]);
}

/// PF-8, S-f: no attempt is left.
#[tokio::test]
async fn pf8_the_last_failure_blocks_with_a_blocker_that_says_why() {
    let world = World::with(Backend::Sqlite, ScriptedDiazotroph::new([broken()])).await;
    let id = world.approved().await;
    world.run_to_pause().await.expect("two attempts");
    assert_eq!(world.diazotroph().calls(), 2);
    let stored = world.objective(&id).await;
    assert_eq!((stored.objective.status, stored.waiting), (ObjectiveStatus::Blocked, true));
    let reason = run(&world, &id, 2).await.gate_reason;
    assert_eq!(stored.objective.blocked_reason, Some(format!("the same failure twice running: {reason}")));
    let open: Vec<_> = stored.objective.blocked_on.iter().filter(|blocker| !blocker.resolved).collect();
    assert_eq!(open.iter().map(|blocker| blocker.kind).collect::<Vec<_>>(), [BlockerKind::UserInput]);
    assert_eq!(
        pause(&world).await.prioritized_actions,
        [format!("Review gate failure reason: azolla review {id}")]
    );
    // O-1: the operator's step begins a new count.
    world.operator().retry(&id, None).await.expect("a retry");
    world.run_to_pause().await.expect("two more attempts");
    assert_eq!(world.diazotroph().calls(), 4);
}

/// PF-7, PF-8: BUDGET_EXHAUSTED fails with that reason, and the pause_state says so.
#[tokio::test]
async fn pf7_pf8_an_exhausted_budget_is_its_own_reason() {
    let over = Answer::Outcome(GenerationOutcome::OverBudget { said: String::new() });
    let world = World::with(Backend::Sqlite, ScriptedDiazotroph::new([over])).await;
    let id = world.approved().await;
    world.run_to_pause().await.expect("two attempts");
    assert!(run(&world, &id, 2).await.gate_reason.contains("BUDGET_EXHAUSTED"));
    let said = pause(&world).await;
    assert_eq!(said.reason, PauseReason::BudgetExhausted);
    let retry = format!("Retry with a larger budget: azolla objective retry {id} --budget-ms 1200000");
    assert_eq!(said.prioritized_actions, [retry]);
    world.operator().retry(&id, Some(1_200_000)).await.expect("a larger budget");
    world.readiness().await;
    world.scheduler().await;
    let stored = world.store.read().workorder(&workorder(&id, 3)).await.expect("a read").expect("it");
    assert_eq!(stored.workorder.budget_ms, 1_200_000);
}

/// PF-8: what another attempt cannot help goes straight to BLOCKED.
#[tokio::test]
async fn pf8_a_missing_credential_blocks_at_once() {
    let failed = GenerationOutcome::Failed { kind: FailureKind::Setup, reason: "no key".into() };
    let mut world = World::with(Backend::Sqlite, ScriptedDiazotroph::new([Answer::Outcome(failed)])).await;
    world.ctx.settings.attempts_max = 1;
    let id = world.approved().await;
    world.run_to_pause().await.expect("one attempt");
    assert_eq!(world.diazotroph().calls(), 1);
    let objective = world.objective(&id).await.objective;
    let reason = run(&world, &id, 1).await.gate_reason;
    assert_eq!(objective.blocked_reason, Some(reason), "the attempts have nothing to do with it");
    assert_eq!(objective.status, ObjectiveStatus::Blocked);
    assert_eq!(objective.blocked_on[0].kind, BlockerKind::EnvironmentAccess);
}

/// PF-7: a base that moved on is no obstacle unless the patch no longer applies to it.
#[tokio::test]
async fn pf7_the_patch_has_to_apply_to_the_base_as_it_is_now() {
    let moved = "2222222222222222222222222222222222222222";
    for (conflicts, result) in [(false, GateResult::Pass), (true, GateResult::Fail)] {
        let world = World::new(Backend::Sqlite).await;
        let id = world.executed().await;
        world.repository.move_base(moved, conflicts);
        world.gate().await;
        assert_eq!(run(&world, &id, 1).await.gate_result, result);
        let evidence = world.store.read().evidence_of(&RunId::of(&workorder(&id, 1))).await.expect("a read");
        assert_eq!(evidence.and_then(|evidence| evidence.base_commit_sha).as_deref(), Some(moved));
    }
}

/// PF-7: what does not apply to the base as it is now needs no check.
#[tokio::test]
async fn pf7_a_patch_that_does_not_apply_is_not_checked() {
    let mut world = World::new(Backend::Sqlite).await;
    let command = vec!["true".to_owned()];
    world.ctx.settings.checks = vec![Check { name: "unit".into(), command, time_ms: 1_000 }];
    let id = world.executed().await;
    world.repository.move_base("2222222222222222222222222222222222222222", true);
    assert_eq!(world.gate().await, Tick::Advanced);
    assert_eq!(run(&world, &id, 1).await.gate_result, GateResult::Fail);
    let evidence = world.store.read().evidence_of(&RunId::of(&workorder(&id, 1))).await.expect("a read");
    assert_eq!(evidence.expect("it looked").checks, []);
}

/// PF-7: a run that failed already is judged without the repository.
#[tokio::test]
async fn pf7_a_run_that_failed_needs_no_look_at_the_repository() {
    let world = World::with(Backend::Sqlite, ScriptedDiazotroph::new([broken()])).await;
    let id = world.executed().await;
    assert_ne!(bundle(&world, &id).await.content, "", "what did not apply is kept");
    world.repository.fail_next([RepositoryError::Unavailable("no route to host".into())]);
    assert_eq!(world.gate().await, Tick::Advanced);
    assert_eq!(run(&world, &id, 1).await.gate_result, GateResult::Fail);
}

/// S-e, S-g: the objective changed when it was gated, whatever came of it.
#[tokio::test]
async fn se_sg_an_objective_is_as_new_as_its_verdict() {
    for answer in [text("good"), broken()] {
        let world = World::with(Backend::Sqlite, ScriptedDiazotroph::new([answer])).await;
        let id = world.executed().await;
        world.store.advance(1_000).await;
        assert_eq!(world.gate().await, Tick::Advanced);
        assert_eq!(world.objective(&id).await.objective.updated_at, world.store.now().await);
    }
}

/// S-f: a PASS while the operator had added a blocker ends BLOCKED.
#[tokio::test]
async fn sf_a_blocker_that_came_in_meanwhile_blocks_a_pass() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    world.operator().block(&id, "legal has to look", BlockerKind::UserInput).await.expect("a blocker");
    world.gate().await;
    assert_eq!(run(&world, &id, 1).await.gate_result, GateResult::Pass);
    let objective = world.objective(&id).await.objective;
    assert_eq!(objective.status, ObjectiveStatus::Blocked);
    assert!(has_open_blocker(&objective));
    assert_eq!(objective.blocked_reason.as_deref(), Some("legal has to look"));
    assert_eq!(pause(&world).await.reason, PauseReason::Blocked);
}

/// S-f, S-h: what failed while a blocker of the operator's is open is not told to be retried, which would be refused.
#[tokio::test]
async fn sf_a_blocker_that_came_in_meanwhile_comes_first_after_a_fail() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    world.operator().block(&id, "legal has to look", BlockerKind::UserInput).await.expect("a blocker");
    world.operator().cancel(&id, "wrong file").await.expect("cancelled");
    world.gate().await;
    assert_eq!(run(&world, &id, 1).await.gate_result, GateResult::Fail);
    let actions = pause(&world).await.prioritized_actions;
    let last = format!("Run it again after that: azolla objective unblock {id}");
    assert_eq!(actions.last(), Some(&last), "{actions:?}");
    world.operator().retry(&id, None).await.expect_err("a blocker is open");
    world.operator().unblock(&id, None).await.expect("what it says");
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Todo);
}

/// S-m: a cancelled run has its bundle, a FAIL record, and ends BLOCKED.
#[tokio::test]
async fn sm_a_cancelled_run_ends_blocked() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    world.operator().cancel(&id, "wrong file").await.expect("cancelled");
    world.gate().await;
    let run = run(&world, &id, 1).await;
    assert_eq!(run.gate_result, GateResult::Fail);
    assert_eq!(run.gate_reason, "the operator cancelled the run");
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Blocked);
    assert_eq!(world.repository.published(&format!("azolla/{id}")), None);
    assert_eq!(
        pause(&world).await.prioritized_actions,
        [
            format!("Review what there is: azolla review {id}"),
            format!("Run it again: azolla objective retry {id}"),
        ]
    );
    world.operator().retry(&id, None).await.expect("it can be run again");
    world.run_to_pause().await.expect("the second run");
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Done);
}

/// G-1, W-7: a gate that was cut off between the branch and its record, and a FAIL after it: the operator is not left with
/// what failed.
#[tokio::test]
async fn g1_w7_what_fails_after_it_was_published_is_withdrawn() {
    let world = World::new(Backend::Sqlite).await;
    let cancelled = world.executed().await;
    cut_off_after_publishing(&world, &*world.repository, &cancelled, 1).await;
    world.operator().cancel(&cancelled, "wrong file").await.expect("cancelled");
    world.gate().await;
    assert_eq!(run(&world, &cancelled, 1).await.gate_result, GateResult::Fail);
    assert_eq!(world.repository.published(&format!("azolla/{cancelled}")), None);

    let world = World::new(Backend::Sqlite).await;
    let deadly = world.executed().await;
    cut_off_after_publishing(&world, &*world.repository, &deadly, 1).await;
    for _ in 0..3 {
        world.store.granted(&ResourceRef::from(&workorder(&deadly, 1))).await;
        world.store.advance(LEASE_MS).await;
    }
    world.gate().await;
    assert_eq!(run(&world, &deadly, 1).await.gate_result, GateResult::Fail);
    assert_eq!(world.repository.published(&format!("azolla/{deadly}")), None);
}

/// G-1: a gate that is killed between its FAIL and the branch leaves that to the next attempt, also if that one fails, and
/// whether or not it has a commit of its own.
#[tokio::test]
async fn g1_what_a_killed_gate_left_goes_with_the_next_attempt_that_fails() {
    for second in [text("another"), broken()] {
        let answers = ScriptedDiazotroph::new([text("one"), second]);
        let world = World::with(Backend::Sqlite, answers).await;
        let id = world.executed().await;
        let branch = format!("azolla/{id}");
        world.operator().cancel(&id, "wrong file").await.expect("cancelled");
        world.gate().await;
        // Its gate had been cut off after it published, and this one right before it looked at the branch.
        cut_off_after_publishing(&world, &*world.repository, &id, 1).await;
        world.operator().retry(&id, None).await.expect("a second attempt");
        world.readiness().await;
        world.scheduler().await;
        world.runner().await;
        assert!(world.repository.published(&branch).is_some());
        if bundle_of(&world, &id, 2).await.metadata.more.contains_key("commit_sha") {
            world.operator().cancel(&id, "wrong file again").await.expect("cancelled");
        }
        world.gate().await;
        assert_eq!(run(&world, &id, 2).await.gate_result, GateResult::Fail);
        assert_eq!(world.repository.published(&branch), None);
    }
}

/// Invariant 11, G-1: a branch at a patch that failed is found; one that passed, and one that is being gated, is not.
#[tokio::test]
async fn g1_verify_finds_the_branch_of_a_patch_that_failed() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    let findings = async || {
        let found = branches(world.store.read(), &*world.repository).await.expect("a look");
        found.into_iter().map(|left| left.objective_id).collect::<Vec<_>>()
    };
    cut_off_after_publishing(&world, &*world.repository, &id, 1).await;
    assert_eq!(findings().await, [], "it is being gated");
    world.operator().cancel(&id, "wrong file").await.expect("cancelled");
    world.gate().await;
    cut_off_after_publishing(&world, &*world.repository, &id, 1).await;
    assert_eq!(findings().await, std::slice::from_ref(&id));
    world.operator().retry(&id, None).await.expect("a second attempt");
    world.run_to_pause().await.expect("it passes");
    assert!(world.repository.published(&format!("azolla/{id}")).is_some());
    assert_eq!(findings().await, []);
}

/// C-6, G-1: what passed before, and was replaced by what then failed, is the operator's again.
#[tokio::test]
async fn c6_g1_what_a_failed_attempt_replaced_comes_back() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    world.gate().await;
    let branch = format!("azolla/{id}");
    let passed = world.repository.published(&branch).expect("the first passed");
    world.operator().reject(&id, None, "also handle -0.5").await.expect("rejected");
    world.readiness().await;
    world.scheduler().await;
    world.runner().await;
    cut_off_after_publishing(&world, &*world.repository, &id, 2).await;
    assert_ne!(world.repository.published(&branch), Some(passed.clone()));
    world.operator().cancel(&id, "wrong file").await.expect("cancelled");
    world.gate().await;
    assert_eq!(run(&world, &id, 2).await.gate_result, GateResult::Fail);
    assert_eq!(world.repository.published(&branch), Some(passed));
}

async fn bundle_of(world: &World, id: &ObjectiveId, entry: u64) -> OutputBundle {
    let found = world.store.read().output_of(&workorder(id, entry)).await.expect("a read");
    found.expect("its bundle")
}

/// What a gate does that dies right before it records its PASS.
pub(crate) async fn cut_off_after_publishing(
    world: &World,
    repository: &dyn Repository,
    id: &ObjectiveId,
    entry: u64,
) {
    let bundle = bundle_of(world, id, entry).await;
    let attempt = Attempt {
        objective_id: id.clone(),
        work_order_id: bundle.metadata.work_order_id.clone(),
        claim_version: 1,
        base: bundle.metadata.more["base_commit_sha"].as_str().expect("a base").to_owned(),
        title: bundle.title,
        created_at: bundle.created_at,
    };
    let commit = bundle.metadata.more["commit_sha"].as_str().expect("a commit");
    let runs = world.store.read().runs_of(id).await.expect("a read");
    let earlier: Vec<String> = runs.into_iter().filter_map(|run| run.commit_sha).collect();
    assert_eq!(repository.publish(&attempt, commit, &earlier).await.expect("an answer"), Published::Done);
}

/// R13: checks of a file that nobody pinned are not run, and the one action says how to pin it.
#[tokio::test]
async fn r13_an_untrusted_repository_file_pauses_with_one_action() {
    struct Distrust;
    impl RepositoryFileReader for Distrust {
        fn read(&self, _bytes: &[u8], _base_branch: &str) -> Result<RepositoryFile, RepositoryError> {
            Ok(RepositoryFile::Untrusted { action: "Look at it and pin it: azolla trust".into() })
        }
    }
    let mut world = World::new(Backend::Sqlite).await;
    world.patch().repository_file = Arc::new(Distrust);
    world.repository.put(".azolla.toml", b"checks = []");
    let id = world.executed().await;
    world.gate().await;
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Blocked);
    let action = format!("Look at it and pin it: azolla trust && azolla objective retry {id}");
    assert_eq!(pause(&world).await.prioritized_actions, [action]);
    assert_eq!(world.repository.published(&format!("azolla/{id}")), None);
}

/// W-7: after three gate runs without an outcome it is a FAIL, without another look.
#[tokio::test]
async fn w7_a_workorder_that_kills_its_gate_fails() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    for _ in 0..3 {
        world.store.granted(&ResourceRef::from(&workorder(&id, 1))).await;
        world.store.advance(LEASE_MS).await;
    }
    assert_eq!(world.gate().await, Tick::Advanced);
    let run = run(&world, &id, 1).await;
    assert_eq!(run.gate_result, GateResult::Fail);
    assert_eq!(run.gate_reason, "3 gate runs ended without a result");
    assert_eq!(world.objective(&id).await.objective.status, ObjectiveStatus::Blocked);
}

/// W-7: a process that dies in a gate without checks leaves a count behind, though that gate claims with its commit.
#[tokio::test]
async fn w7_a_death_in_a_gate_without_checks_is_counted() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    for death in 0..3 {
        world.as_another_owner();
        world.repository.hang_next();
        assert_eq!(world.repository.died(world.gate()).await, None, "death {death}");
        world.store.advance(LEASE_MS).await;
    }
    world.as_another_owner();
    assert_eq!(world.gate().await, Tick::Advanced);
    let run = run(&world, &id, 1).await;
    assert_eq!(run.gate_result, GateResult::Fail);
    assert_eq!(run.gate_reason, "3 gate runs ended without a result");
}

/// C-6: a workorder that another process executed is gated, its branch published.
#[tokio::test]
async fn c6_a_workorder_that_another_process_executed_is_gated() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    world.as_another_owner();
    assert_eq!(world.gate().await, Tick::Advanced);
    assert_eq!(run(&world, &id, 1).await.gate_result, GateResult::Pass);
    assert!(world.repository.published(&format!("azolla/{id}")).is_some());
}

/// W-7: a workorder that makes its gate panic is counted and waits, whether this process executed it or another.
#[tokio::test]
async fn w7_a_panic_of_a_gate_is_counted() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    for panics in 1..=2 {
        world.repository.panic_next();
        assert!(matches!(world.gate().await, Tick::Waiting(_)));
        let stored = world.store.read().workorder(&workorder(&id, 1)).await.expect("a read");
        assert_eq!(stored.expect("it is there").claim_count, panics);
        world.as_another_owner();
        world.store.advance(LATER_MS).await;
    }
    assert_eq!(world.gate().await, Tick::Advanced);
    assert_eq!(run(&world, &id, 1).await.gate_result, GateResult::Pass);
}

/// W-7: a repository that stays away is counted by the gate too, and in the end is a FAIL.
#[tokio::test]
async fn w7_a_repository_that_stays_away_is_a_fail_in_the_end() {
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    let away = || RepositoryError::Unavailable("no route to host".into());
    world.repository.fail_next([away(), away(), away()]);
    for _ in 0..3 {
        assert!(matches!(world.gate().await, Tick::Waiting(_)));
        world.as_another_owner();
        world.store.advance(LATER_MS).await;
    }
    assert_eq!(world.gate().await, Tick::Advanced);
    assert_eq!(run(&world, &id, 1).await.gate_result, GateResult::Fail);
}

/// S-m: a cancel does not wait until what failed in passing is tried again.
#[tokio::test]
async fn sm_a_cancel_does_not_wait_for_a_gate_that_backs_off() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    world.repository.fail_next([RepositoryError::Unavailable("no route to host".into())]);
    assert!(matches!(world.gate().await, Tick::Waiting(_)));
    world.operator().cancel(&id, "wrong file").await.expect("cancelled");
    assert_eq!(world.gate().await, Tick::Advanced);
    assert_eq!(run(&world, &id, 1).await.gate_result, GateResult::Fail);
}

/// A repository that is gone when the gate looks is a FAIL with what to do, and nothing is lost.
#[tokio::test]
async fn pf7_a_repository_that_disappeared_is_a_fail_with_its_action() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    world.repository.fail_next([RepositoryError::Unusable {
        what: "/repos/app is not there".into(),
        action: "Put it back".into(),
    }]);
    assert_eq!(world.gate().await, Tick::Advanced);
    assert_eq!(run(&world, &id, 1).await.gate_reason, "/repos/app is not there");
    let action = format!("Put it back; then: azolla objective retry {id}");
    assert_eq!(pause(&world).await.prioritized_actions, [action]);
}

/// S-i, PF-4: what the operator said about a rejected result is in the next prompt.
#[tokio::test]
async fn si_pf4_feedback_goes_into_the_next_snapshot() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    world.gate().await;
    world.operator().reject(&id, None, "also handle -0.5").await.expect("rejected");
    world.run_to_pause().await.expect("the next run");
    let prompts = world.diazotroph().prompts();
    assert!(prompts[1].contains("also handle -0.5"), "{}", prompts[1]);
    assert!(prompts[1].contains("passed its checks and was not accepted"));
}
