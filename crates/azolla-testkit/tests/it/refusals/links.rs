//! A-3, Y-1: links to nothing, links that disagree, documents of another azolla.

use azolla_protocol::{
    Actor, AzollaId, CandidateOutcome, EventId, EventType, GateResult, ObjectiveId, ObjectiveStatus,
    OutputId, PauseReason, ProcessedReason, RunId, SnapshotId, lifecycle::ObjectiveStep,
};
use azolla_substrate::{PauseKey, StreamRoom, Write};
use azolla_testkit::{
    TestStore,
    cycle::{ROOM, event, objective, output_bundle, pause_state, run_record, snapshot, valid, workorder},
};

use crate::seed::{capture, evidence, full, manifest, place, refused, resolution};

on_both_backends! {
    async fn a3_links_to_nothing_or_to_something_else_are_refused(world: TestStore) {
        let full = full(&world).await;
        let (now, none) = (world.now().await, ObjectiveId::new("obj-none").unwrap());
        let claim = world.granted(&(&full.todo_event).into()).await.fence;
        let fresh = EventId::new("evt-x").unwrap();
        let room = StreamRoom { max_concurrent: 3, ..ROOM };
        let snap = |objective_id: &ObjectiveId, objective_version| Write::InsertSnapshot {
            snapshot: valid(snapshot(&fresh, objective_id, now)),
            objective_version,
        };
        let create = |objective_id: &ObjectiveId, from: &EventId| {
            let mut workorder = workorder(&full.todo_event, objective_id, now);
            workorder.context_snapshot_id = SnapshotId::of(from);
            Write::CreateWorkorder { workorder: valid(workorder), event_id: full.todo_event.clone(), room }
        };
        let scheduled = || Write::ProcessEvent {
            event_id: full.todo_event.clone(),
            reason: ProcessedReason::Scheduled,
        };
        let scheduler = [
            (vec![snap(&none, 1)], "context_snapshot.objective_id A-3"),
            (vec![snap(&full.todo, 99)], "context_snapshot.objective_id A-3"),
            (vec![create(&full.todo, &fresh), scheduled()], "workorder.context_snapshot_id A-3"),
            (vec![create(&none, &fresh), scheduled()], "workorder.objective_id A-3"),
            (vec![snap(&full.open, 1), create(&full.todo, &fresh), scheduled()], "workorder.context_snapshot_id A-3"),
        ];
        for (writes, rule) in scheduler {
            assert_eq!(place(&refused(&world, Actor::Scheduler, Some(&claim), writes).await), rule);
        }

        let execute = |objective_id: &ObjectiveId| {
            Write::Execute(valid(output_bundle(&full.created, objective_id, now)))
        };
        let gate = |objective_id: &ObjectiveId| {
            Write::Gate(valid(run_record(&full.created, objective_id, GateResult::Pass, now)))
        };
        let pause = |objective_id: &ObjectiveId| Write::Pause {
            key: PauseKey::Workorder(full.created.clone()),
            pause: valid(pause_state(objective_id, PauseReason::RunComplete, now)),
        };
        let checked = Write::RecordEvidence(valid(evidence(&full.created, now)));
        let mut of_another = evidence(&full.created, now);
        of_another.run_id = RunId::of(&full.failed);
        let worker = [
            (vec![execute(&full.todo)], "output_bundle.objective_id A-3"),
            (vec![gate(&full.open), pause(&full.open)], "run_record.output_id A-3"),
            (vec![execute(&full.open), gate(&full.todo), pause(&full.open)], "run_record.output_id A-3"),
            (vec![checked], "gate_evidence.run_id A-3"),
            (vec![Write::RecordEvidence(valid(of_another))], "gate_evidence.work_order_id A-3"),
            (vec![pause(&full.todo)], "pause_state.objective_id A-3"),
            (vec![pause(&none)], "pause_state.objective_id A-3"),
        ];
        for (writes, rule) in worker {
            assert_eq!(place(&refused(&world, Actor::Gate, Some(&full.fence), writes).await), rule);
        }

        let nothing = resolution(&OutputId::new("out-none").unwrap(), 0, CandidateOutcome::Discarded, now);
        let error = refused(&world, Actor::Operator, None, [azolla_testkit::triage::resolving(nothing)]).await;
        assert_eq!(place(&error), "candidate_resolution.output_id A-3");
        let late = Write::Pause {
            key: PauseKey::Deadline { at: now, urgency: 2 },
            pause: valid(pause_state(&none, PauseReason::RunComplete, now)),
        };
        let error = refused(&world, Actor::DeadlineMonitor, None, [late]).await;
        assert_eq!(place(&error), "pause_state.objective_id A-3");
    }

    async fn y1_a_document_of_another_azolla_is_refused(world: TestStore) {
        let full = full(&world).await;
        let (now, other) = (world.now().await, AzollaId::new("az-other").unwrap());
        let mut ticket = objective(&ObjectiveId::new("obj-x").unwrap(), ObjectiveStatus::New, now);
        ticket.azolla_id = other.clone();
        let mut note = capture(&world).await;
        note.azolla_id = other.clone();
        let mut ready =
            event(EventId::new("evt-x").unwrap(), EventType::TicketReady, full.open.as_str(), now);
        ready.azolla_id = other.clone();
        let mut built = manifest(&full.created, now);
        built.azolla_id = other.clone();
        let mut paused = pause_state(&full.open, PauseReason::RunComplete, now);
        paused.azolla_id = other.clone();
        let stored = world.read().objective(&full.todo).await.unwrap().unwrap();
        let mut moved = stored.objective.clone();
        moved.azolla_id = other.clone();
        let step = ObjectiveStep::Create;
        for (write, artifact) in [
            (Write::InsertObjective { objective: valid(ticket), step }, "objective"),
            (Write::EditObjective { was: (&stored).into(), next: valid(moved) }, "objective"),
            (Write::InsertCapture(valid(note)), "capture_buffer"),
            (Write::EmitEvent { event: valid(ready), entry: Some(7) }, "event"),
            (
                Write::InsertManifest { manifest: valid(built), work_order_id: full.created.clone() },
                "session_manifest",
            ),
            (
                Write::Pause { key: PauseKey::Workorder(full.created.clone()), pause: valid(paused.clone()) },
                "pause_state",
            ),
        ] {
            let error = refused(&world, Actor::Operator, Some(&full.fence), [write]).await;
            assert_eq!(place(&error), format!("{artifact}.azolla_id Y-1"));
            assert!(
                error.to_string().contains("az-other") && error.to_string().contains("az-test"),
                "{error}"
            );
        }
        // A deadline is the one thing that another azolla's objective has a pause_state here for (section 7.4).
        world
            .done(Actor::DeadlineMonitor, Write::Pause { key: PauseKey::Deadline { at: now, urgency: 2 }, pause: valid(paused) })
            .await;
    }
}
