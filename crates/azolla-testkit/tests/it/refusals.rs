//! What the Substrate refuses through its own interface: a typed error that names the artifact, the field and the
//! rule, and nothing written, not even the writes of the same commit that nothing objects to.

mod captures;
mod deadlines;
mod history;
mod limits;
mod links;
mod parties;
mod triage;

use azolla_protocol::{
    Actor, CandidateOutcome, EventId, EventType, GateResult, JournalStep, ObjectiveStatus, OutputId,
    PauseReason, ProcessedReason, RunId, lifecycle::ObjectiveStep,
};
use azolla_substrate::{Commit, CommitOutcome, PauseKey, StreamRoom, SubstrateError, Write};
use azolla_testkit::{
    PatchCycle, TestStore, TriageCycle,
    cycle::{ROOM, event, objective, output_bundle, pause_state, run_record, snapshot, valid, workorder},
    store::azolla_id,
};

use crate::seed::{
    capture, evidence, exported, full, manifest, place, refused, refused_commit, resolution, usage,
};

on_both_backends! {
    /// Every artifact that can be inserted, with an id that is taken.
    async fn a1_a2_w1_w5_a_second_artifact_with_the_same_id_is_refused(world: TestStore) {
        let full = full(&world).await;
        let now = world.now().await;
        let taken = valid(objective(&full.done, ObjectiveStatus::New, now));
        let step = ObjectiveStep::Create;
        let write = Write::InsertObjective { objective: taken, step };
        assert_eq!(
            place(&refused(&world, Actor::Operator, None, [write]).await),
            "objective.objective_id A-2"
        );

        let mut taken = capture(&world).await;
        taken.capture_id = full.processed.clone();
        let write = Write::InsertCapture(valid(taken));
        assert_eq!(
            place(&refused(&world, Actor::Client, None, [write]).await),
            "capture_buffer.capture_id A-2"
        );

        let taken = event(full.todo_event.clone(), EventType::TicketReady, full.todo.as_str(), now);
        let write = Write::EmitEvent { event: valid(taken), entry: Some(9) };
        assert_eq!(place(&refused(&world, Actor::Readiness, None, [write]).await), "event.event_id W-1");

        let resolved = resolution(&OutputId::of(&full.triaged), 0, CandidateOutcome::Promoted, now);
        let error = refused(&world, Actor::Operator, None, [azolla_testkit::triage::resolving(resolved)]).await;
        assert_eq!(place(&error), "candidate_resolution.outcome TF-8");
    }

    /// The same for what only a claim may write.
    async fn a1_w5_a_second_artifact_with_the_same_id_is_refused_under_a_claim(world: TestStore) {
        let full = full(&world).await;
        let now = world.now().await;
        let fence = Some(&full.fence);

        let claim = world.granted(&(&full.todo_event).into()).await.fence;
        let answered = EventId::new(format!("evt-{}", full.gated.body())).unwrap();
        let taken = valid(snapshot(&answered, &full.done, now));
        let write = Write::InsertSnapshot { snapshot: taken, objective_version: 1 };
        let error = refused(&world, Actor::Scheduler, Some(&claim), [write]).await;
        assert_eq!(place(&error), "context_snapshot.snapshot_id A-1");

        let mut taken = workorder(&full.todo_event, &full.todo, now);
        taken.work_order_id = full.gated.clone();
        let room = StreamRoom { max_concurrent: 3, ..ROOM };
        let create =
            Write::CreateWorkorder { workorder: valid(taken), event_id: full.todo_event.clone(), room };
        let reason = ProcessedReason::Scheduled;
        let scheduled = Write::ProcessEvent { event_id: full.todo_event.clone(), reason };
        let error = refused(&world, Actor::Scheduler, Some(&claim), [create, scheduled]).await;
        assert_eq!(place(&error), "workorder.work_order_id W-5");

        let mut taken = output_bundle(&full.created, &full.open, now);
        taken.output_id = OutputId::of(&full.gated);
        let error = refused(&world, Actor::Runner, fence, [Write::Execute(valid(taken))]).await;
        assert_eq!(place(&error), "output_bundle.output_id A-1");

        let used = || Write::RecordUsage(valid(usage(&full.fence, &full.created, now)));
        let error = refused(&world, Actor::Runner, fence, [used(), used()]).await;
        assert_eq!(place(&error), "usage_record.claim_version A-1");

        let pause = || Write::Pause {
            key: PauseKey::Workorder(full.created.clone()),
            pause: valid(pause_state(&full.open, PauseReason::RunComplete, now)),
        };
        let execute = || Write::Execute(valid(output_bundle(&full.created, &full.open, now)));
        let gate = || Write::Gate(valid(run_record(&full.created, &full.open, GateResult::Pass, now)));
        let mut taken = run_record(&full.created, &full.open, GateResult::Pass, now);
        taken.run_id = RunId::of(&full.gated);
        let error = refused(&world, Actor::Gate, fence, [execute(), Write::Gate(valid(taken)), pause()]).await;
        assert_eq!(place(&error), "run_record.run_id A-1");
        let error = refused(&world, Actor::Gate, fence, [execute(), gate(), gate(), pause()]).await;
        assert_eq!(place(&error), "run_record.run_id A-1");

        let checked = || Write::RecordEvidence(valid(evidence(&full.created, now)));
        let error = refused(&world, Actor::Gate, fence, [execute(), gate(), checked(), checked(), pause()]).await;
        assert_eq!(place(&error), "gate_evidence.run_id A-1");

        let error = refused(&world, Actor::Gate, fence, [pause(), pause()]).await;
        assert_eq!(place(&error), "pause_state.pause_key A-1");

        let built = || Write::InsertManifest {
            manifest: valid(manifest(&full.created, now)),
            work_order_id: full.created.clone(),
        };
        let error = refused(&world, Actor::Gate, fence, [built(), built()]).await;
        assert_eq!(place(&error), "session_manifest.manifest_id A-1");

        // The claim outlived every refusal: the commit that is in order gets through.
        let commit = Commit::new(world.ids.commit_id(), Actor::Runner).with(used()).with(execute());
        assert_eq!(world.store.commit(commit.fenced(full.fence.clone())).await.unwrap(), CommitOutcome::Done);
    }

    async fn w1_w2_a_second_event_for_the_same_thing_is_refused(world: TestStore) {
        let full = full(&world).await;
        let now = world.now().await;
        let emit = |event_type, resource: &str, entry| {
            let fresh = event(EventId::new("evt-x").unwrap(), event_type, resource, now);
            Write::EmitEvent { event: valid(fresh), entry }
        };
        for (write, rule) in [
            (emit(EventType::TicketReady, full.todo.as_str(), Some(2)), "event.entry W-1"),
            (emit(EventType::TicketReady, full.todo.as_str(), None), "event.entry W-1"),
            (emit(EventType::TicketReady, full.todo.as_str(), Some(0)), "event.entry W-1"),
            (emit(EventType::CaptureReady, full.pending.as_str(), Some(2)), "event.resource_id W-2"),
            (emit(EventType::ManifestRequested, azolla_id().as_str(), None), "event.resource_id W-2"),
        ] {
            let error = refused(&world, Actor::Readiness, None, [write]).await;
            assert_eq!(place(&error), rule);
            assert!(error.is_refused_by(&rule[rule.len() - 3..]), "{error}");
        }
    }

    /// A duplicate, a link to nothing and a value that cannot be: the operator reads the same on both backends.
    async fn a5_a_refusal_says_what_is_wrong_in_words(world: TestStore) {
        let full = full(&world).await;
        let now = world.now().await;
        let taken = valid(objective(&full.done, ObjectiveStatus::New, now));
        let ready = event(EventId::new("evt-x").unwrap(), EventType::TicketReady, full.todo.as_str(), now);
        for (actor, write, text) in [
            (
                Actor::Operator,
                Write::InsertObjective { objective: taken, step: ObjectiveStep::Create },
                "objective.objective_id: exists already (A-2)",
            ),
            (
                Actor::Gate,
                Write::RecordEvidence(valid(evidence(&full.created, now))),
                "gate_evidence.run_id: does not exist (A-3)",
            ),
            (
                Actor::Readiness,
                Write::EmitEvent { event: valid(ready), entry: None },
                "event.entry: breaks a constraint (W-1)",
            ),
        ] {
            let fence = (actor == Actor::Gate).then_some(&full.fence);
            assert_eq!(refused(&world, actor, fence, [write]).await.to_string(), text);
        }
    }

    /// C-9: a commit that is sent again, because its answer was lost, finds itself there.
    async fn c9_the_same_commit_sent_again_is_refused_and_doubles_nothing(world: TestStore) {
        let full = full(&world).await;
        let retry = Commit::new(world.ids.commit_id(), Actor::Operator)
            .with(Write::RetryCapture { capture_id: full.pending.clone(), attempts: 0 });
        assert_eq!(world.store.commit(retry.clone()).await.unwrap(), CommitOutcome::Done);
        let error = refused_commit(&world, retry).await;
        assert_eq!(place(&error), "journal.commit_id C-9");
        let journal = world.read().journal_of(full.pending.as_str()).await.unwrap();
        assert_eq!(journal.iter().filter(|entry| entry.step == JournalStep::Retry).count(), 1);
    }

    async fn a_commit_that_writes_nothing_is_malformed(world: TestStore) {
        let error = refused_commit(&world, Commit::new(world.ids.commit_id(), Actor::Operator)).await;
        assert!(matches!(error, SubstrateError::Malformed(_)), "{error:?}");
        assert_eq!(error.to_string(), "the commit is not well-formed: it writes nothing");
    }

    async fn w5_w6_a_processed_event_is_closed(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let event_id = cycle.emitted().await;
        let commit = |commit_id| async {
            cycle
                .schedule_commit(&event_id, ROOM)
                .await
                .with(Write::ProcessEvent { event_id: event_id.clone(), reason: ProcessedReason::Scheduled })
                .claiming((&event_id).into(), commit_id)
        };
        // Twice in one commit: the second finds it processed.
        let error = refused_commit(&world, commit(world.ids.owner_id()).await).await;
        assert!(matches!(error, SubstrateError::Changed { artifact: "event" }), "{error:?}");

        let owner = world.ids.owner_id();
        let stale = cycle.schedule_commit(&event_id, ROOM).await.claiming((&event_id).into(), owner.clone());
        assert_eq!(cycle.schedule(&event_id, &owner, ROOM).await.unwrap(), CommitOutcome::Done);
        let before = exported(&world).await;
        assert_eq!(world.store.commit(stale).await.unwrap(), CommitOutcome::Held);
        assert_eq!(exported(&world).await, before);
    }

    async fn s4_w2_a_capture_is_processed_once_and_counts_no_attempt_after_that(world: TestStore) {
        let cycle = TriageCycle::new(&world).await;
        let (id, at) = (cycle.captured().await, world.now().await);
        let count = |attempts| Write::CountAttempt { capture_id: id.clone(), attempts };
        for attempt in 1..=2 {
            let waiting = world.read().captures_awaiting_event(5, 10).await.unwrap();
            assert_eq!(waiting, [(id.clone(), attempt)]);
            assert_eq!(world.read().capture(&id).await.unwrap().unwrap().attempts, attempt - 1);
            let event_id = cycle.emitted(&id, attempt).await;
            let reason = ProcessedReason::NoPendingCaptures;
            let commit = Commit::new(world.ids.commit_id(), Actor::Scheduler)
                .with(count(attempt - 1))
                .with(Write::ProcessEvent { event_id: event_id.clone(), reason })
                .claiming((&event_id).into(), world.ids.owner_id());
            assert_eq!(world.store.commit(commit).await.unwrap(), CommitOutcome::Done);
            assert_eq!(world.read().capture(&id).await.unwrap().unwrap().attempts, attempt);
        }
        assert_eq!(world.read().pending_captures(2, 10).await.unwrap(), []);
        let process = || Write::ProcessCapture { capture_id: id.clone(), at, no_action: None };
        let error = refused(&world, Actor::Operator, None, [process(), process()]).await;
        assert!(matches!(error, SubstrateError::Changed { artifact: "capture_buffer" }), "{error:?}");
        let event_id = cycle.emitted(&id, 3).await;
        world.done(Actor::Operator, process()).await;
        let fence = world.granted(&(&event_id).into()).await.fence;
        for (actor, claim, write) in
            [(Actor::Operator, None, process()), (Actor::Scheduler, Some(&fence), count(2))]
        {
            let error = refused(&world, actor, claim, [write]).await;
            assert!(matches!(error, SubstrateError::Changed { artifact: "capture_buffer" }), "{error:?}");
        }
    }
}
