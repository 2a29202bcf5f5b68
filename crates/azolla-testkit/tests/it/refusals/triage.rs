//! TF-7, TF-8, O-3: candidates wait for the operator from the gate's commit on, and every word on them is kept.

use azolla_protocol::{Actor, CandidateOutcome, GateResult, OutputId, PauseReason, WorkOrderId};
use azolla_substrate::{
    Commit, CommitOutcome, Fence, PauseKey, StreamRoom, StreamState, SubstrateError, Write,
};
use azolla_testkit::{
    TestStore, TriageCycle,
    cycle::{ROOM, pause_state, run_record, valid},
    triage::{passing, reopening, resolving},
};

use crate::seed::{exported, full, place, refused, resolution};

/// A triage workorder that has its bundle, and the gate's claim on it.
async fn executed(cycle: &TriageCycle<'_>, candidates: usize) -> (WorkOrderId, Fence) {
    let capture_id = cycle.captured().await;
    let event_id = cycle.emitted(&capture_id, 1).await;
    let scheduled = cycle.schedule(&event_id, std::slice::from_ref(&capture_id), ROOM).await.unwrap();
    assert_eq!(scheduled, CommitOutcome::Done);
    let work_order_id = WorkOrderId::of(&event_id);
    cycle.execute(&work_order_id, &[capture_id], candidates).await;
    let fence = cycle.world.granted(&(&work_order_id).into()).await.fence;
    (work_order_id, fence)
}

on_both_backends! {
    async fn tf8_an_outcome_stands_until_it_is_taken_back(world: TestStore) {
        use CandidateOutcome::{Deferred, Discarded, Duplicate, Promoted};
        let cycle = TriageCycle::new(&world).await;
        let (_, work_order_id) = cycle.passed(1).await;
        let output_id = OutputId::of(&work_order_id);
        let open = async || world.read().count_open_candidates().await.unwrap();
        for outcome in [Deferred, Deferred, Discarded, Duplicate, Deferred, Promoted, Promoted] {
            assert_eq!(cycle.resolve(&output_id, 0, outcome).await.unwrap(), CommitOutcome::Done);
            assert_eq!(open().await, 0);
            for next in CandidateOutcome::ALL.iter().filter(|_| outcome.is_final()) {
                let write = resolving(resolution(&output_id, 0, *next, world.now().await));
                let error = refused(&world, Actor::Operator, None, [write]).await;
                assert_eq!(place(&error), "candidate_resolution.outcome TF-8", "{outcome} -> {next}");
            }
            // Not what it was, not another candidate, and by nobody but the operator.
            let other = if outcome == Discarded { Promoted } else { Discarded };
            for (index, was) in [(0, other), (1, outcome)] {
                let error = refused(&world, Actor::Operator, None, [reopening(&output_id, index, was)]).await;
                assert!(matches!(error, SubstrateError::Changed { .. }), "{error:?}");
            }
            let error = refused(&world, Actor::Client, None, [reopening(&output_id, 0, outcome)]).await;
            assert!(matches!(error, SubstrateError::Malformed(_)), "{error:?}");
            if outcome.is_final() {
                world.done(Actor::Operator, reopening(&output_id, 0, outcome)).await;
                assert_eq!((open().await, world.read().resolutions_of(&output_id).await.unwrap()), (1, vec![]));
                let error = refused(&world, Actor::Operator, None, [reopening(&output_id, 0, outcome)]).await;
                assert!(matches!(error, SubstrateError::Changed { .. }), "{error:?}");
            }
        }
        cycle.resolve(&output_id, 0, Promoted).await.unwrap();
        // The row holds the last word, the journal every one of them, with the objective that it named.
        let [last] = &world.read().resolutions_of(&output_id).await.unwrap()[..] else { panic!() };
        assert_eq!(last.outcome, Promoted);
        let journal = world.read().journal_of(&format!("{output_id}#0")).await.unwrap();
        let told: Vec<_> = journal
            .iter()
            .map(|entry| {
                let named = entry.detail.as_ref().and_then(|detail| detail.get("objective_id"));
                (entry.from_status.as_deref(), entry.to_status.as_deref(), named.is_some())
            })
            .collect();
        let (to, back) = (|to, named| (None, Some(to), named), |from| (Some(from), None, false));
        let expected = [to("DEFERRED", false), to("DEFERRED", false), to("DISCARDED", false), back("DISCARDED"),
            to("DUPLICATE", true), back("DUPLICATE"), to("DEFERRED", false), to("PROMOTED", true),
            back("PROMOTED"), to("PROMOTED", true), back("PROMOTED"), to("PROMOTED", true)];
        assert_eq!(told, expected);
    }

    /// Whoever closes the last candidate but one, as it looked, does not do so once another is the last.
    async fn a6_the_last_open_candidate_is_known_in_the_transaction(world: TestStore) {
        let cycle = TriageCycle::new(&world).await;
        let (_, work_order_id) = cycle.passed(2).await;
        let output_id = OutputId::of(&work_order_id);
        let others = |count| Write::OthersOpen { output_id: output_id.clone(), candidate_index: 0, count };
        let resolve = resolving(resolution(&output_id, 0, CandidateOutcome::Discarded, world.now().await));
        cycle.resolve(&output_id, 1, CandidateOutcome::Discarded).await.unwrap();
        let error = refused(&world, Actor::Operator, None, [others(1), resolve.clone()]).await;
        assert!(matches!(error, SubstrateError::Changed { artifact: "candidate" }), "{error:?}");
        let commit = Commit::new(world.ids.commit_id(), Actor::Operator).with(others(0)).with(resolve);
        assert_eq!(world.store.commit(commit).await.unwrap(), CommitOutcome::Done);
    }

    async fn tf8_a_candidate_that_no_gate_opened_cannot_be_resolved(world: TestStore) {
        let full = full(&world).await;
        let now = world.now().await;
        let triaged = OutputId::of(&full.triaged);
        for (output_id, index) in [(&triaged, 4), (&OutputId::of(&full.gated), 0), (&OutputId::of(&full.failed), 0)] {
            let write = resolving(resolution(output_id, index, CandidateOutcome::Deferred, now));
            let error = refused(&world, Actor::Operator, None, [write]).await;
            assert_eq!(place(&error), "candidate_resolution.output_id A-3");
        }
        let write = || resolving(resolution(&triaged, 3, CandidateOutcome::Discarded, now));
        for actor in Actor::ALL.iter().filter(|actor| **actor != Actor::Operator) {
            let error = refused(&world, *actor, None, [write()]).await;
            assert!(error.to_string().ends_with("only the operator resolves a candidate"), "{error}");
        }
        world.done(Actor::Operator, write()).await;
    }

    async fn tf7_candidates_are_opened_by_the_gate_with_its_pass_and_nowhere_else(world: TestStore) {
        let cycle = TriageCycle::new(&world).await;
        let (_, passed) = cycle.passed(0).await;
        let (work_order_id, fence) = executed(&cycle, 2).await;
        let now = world.now().await;
        let open = |work_order_id: &WorkOrderId, output: &WorkOrderId| Write::OpenCandidates {
            output_id: OutputId::of(output),
            work_order_id: work_order_id.clone(),
            count: 2,
        };
        let gate = |result| Write::Gate(valid(run_record(&work_order_id, &cycle.standing, result, now)));
        let pause = || Write::Pause {
            key: PauseKey::Workorder(work_order_id.clone()),
            pause: valid(pause_state(&cycle.standing, PauseReason::RunComplete, now)),
        };
        let own = || open(&work_order_id, &work_order_id);
        let needs_pass = "candidates are opened with the run_record that passed their bundle";
        let needs_claim = format!("it needs the claim on WORKORDER {passed}");
        for (actor, writes, problem) in [
            (Actor::Runner, vec![gate(GateResult::Pass), own(), pause()], "only the gate opens candidates"),
            (Actor::Operator, vec![gate(GateResult::Pass), own(), pause()], "only the gate opens candidates"),
            (Actor::Gate, vec![own()], needs_pass),
            (Actor::Gate, vec![gate(GateResult::Fail), own(), pause()], needs_pass),
            (Actor::Gate, vec![gate(GateResult::Pass), open(&work_order_id, &passed), pause()], needs_pass),
            (Actor::Gate, vec![gate(GateResult::Pass), open(&passed, &passed), pause()], needs_claim.as_str()),
        ] {
            let error = refused(&world, actor, Some(&fence), writes).await;
            assert!(matches!(&error, SubstrateError::Malformed(text) if text == problem), "{error:?}, not {problem}");
        }
        // Before its run_record the bundle has not passed; and a candidate is opened once.
        let error = refused(&world, Actor::Gate, Some(&fence), [own(), gate(GateResult::Pass), pause()]).await;
        assert_eq!(place(&error), "candidate.output_id A-3");
        let error = refused(&world, Actor::Gate, Some(&fence), [gate(GateResult::Pass), own(), own(), pause()]).await;
        assert_eq!(place(&error), "candidate.candidate_index TF-8");
        let commit = [gate(GateResult::Pass), own(), pause()]
            .into_iter()
            .fold(Commit::new(world.ids.commit_id(), Actor::Gate), Commit::with);
        assert_eq!(world.store.commit(commit.fenced(fence)).await.unwrap(), CommitOutcome::Done);
    }

    async fn o3_a_triage_output_waits_until_all_its_candidates_are_resolved(world: TestStore) {
        let cycle = TriageCycle::new(&world).await;
        let waiting = async || world.read().stream().await.unwrap();
        let (_, first) = cycle.passed(2).await;
        // It counts once, however many candidates it has; one with none does not wait.
        assert_eq!(waiting().await, StreamState { open: 0, waiting: 1 });
        cycle.passed(0).await;
        assert_eq!(waiting().await, StreamState { open: 0, waiting: 1 });
        cycle.passed(3).await;
        assert_eq!(waiting().await, StreamState { open: 0, waiting: 2 });

        let capture_id = cycle.captured().await;
        let event_id = cycle.emitted(&capture_id, 1).await;
        let batch = [capture_id];
        let limited = StreamRoom { max_concurrent: 1, review_limit: 2 };
        let before = exported(&world).await;
        assert_eq!(cycle.schedule(&event_id, &batch, limited).await.unwrap(), CommitOutcome::ReviewLimit);
        assert_eq!(exported(&world).await, before);

        // Any outcome resolves, DEFERRED too; what is taken back waits again.
        let output_id = OutputId::of(&first);
        cycle.resolve(&output_id, 0, CandidateOutcome::Discarded).await.unwrap();
        assert_eq!(cycle.schedule(&event_id, &batch, limited).await.unwrap(), CommitOutcome::ReviewLimit);
        cycle.resolve(&output_id, 1, CandidateOutcome::Deferred).await.unwrap();
        assert_eq!(waiting().await, StreamState { open: 0, waiting: 1 });
        world.done(Actor::Operator, reopening(&output_id, 0, CandidateOutcome::Discarded)).await;
        assert_eq!(waiting().await, StreamState { open: 0, waiting: 2 });
        assert_eq!(cycle.schedule(&event_id, &batch, limited).await.unwrap(), CommitOutcome::ReviewLimit);
        cycle.resolve(&output_id, 0, CandidateOutcome::Promoted).await.unwrap();
        assert_eq!(cycle.schedule(&event_id, &batch, limited).await.unwrap(), CommitOutcome::Done);
        assert_eq!(azolla_substrate::verify(world.read()).await.unwrap(), []);
    }

    /// What was open becomes what waits in one commit, so that the sum never rises above the limit (O-3).
    async fn o3_the_gates_commit_moves_the_workorder_from_open_to_waiting(world: TestStore) {
        let cycle = TriageCycle::new(&world).await;
        let (work_order_id, fence) = executed(&cycle, 1).await;
        assert_eq!(world.read().stream().await.unwrap(), StreamState { open: 1, waiting: 0 });
        world.store.release_claim(&fence, azolla_substrate::Release::Unused, Actor::Gate).await.unwrap();
        let more = passing(&work_order_id, &[], 1, world.now().await);
        cycle.gate(&work_order_id, GateResult::Pass, more).await.unwrap();
        assert_eq!(world.read().stream().await.unwrap(), StreamState { open: 0, waiting: 1 });
    }
}
