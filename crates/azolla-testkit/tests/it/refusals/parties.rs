//! S-1, S-3, C-4: who may write what, from where, and on what it was built.

use azolla_protocol::{
    Actor, GateResult, Objective, ObjectiveId, ObjectiveStatus, Party, PauseReason, ProcessedReason,
    WorkOrderId,
    lifecycle::{ObjectiveStep, TABLE, Target, advance},
};
use azolla_substrate::{Commit, Fence, ObjectiveMark, PauseKey, Release, StreamRoom, SubstrateError, Write};
use azolla_testkit::{
    PatchCycle, TestStore,
    cycle::{ROOM, objective, output_bundle, pause_state, run_record, snapshot, valid, workorder},
};

use crate::seed::{capture, confirm, evidence, full, manifest, place, refused, refused_commit, usage};

fn malformed(error: &SubstrateError) -> &str {
    match error {
        SubstrateError::Malformed(text) => text,
        other => panic!("{other:?} is not Malformed"),
    }
}

on_both_backends! {
    async fn c4_a_write_that_a_claim_protects_needs_that_claim(world: TestStore) {
        let full = full(&world).await;
        let now = world.now().await;
        let (created, todo_event) = (&full.created, &full.todo_event);
        let pause =
            |key| Write::Pause { key, pause: valid(pause_state(&full.open, PauseReason::Blocked, now)) };
        let protected = [
            (
                Write::ProcessEvent { event_id: todo_event.clone(), reason: ProcessedReason::Blocked },
                todo_event.as_str(),
            ),
            (
                Write::CreateWorkorder {
                    workorder: valid(workorder(todo_event, &full.todo, now)),
                    event_id: todo_event.clone(),
                    room: ROOM,
                },
                todo_event.as_str(),
            ),
            (pause(PauseKey::Event(todo_event.clone())), todo_event.as_str()),
            (Write::Execute(valid(output_bundle(created, &full.open, now))), created.as_str()),
            (Write::RecordUsage(valid(usage(&full.fence, created, now))), created.as_str()),
            (Write::Gate(valid(run_record(created, &full.open, GateResult::Pass, now))), created.as_str()),
            (Write::RecordEvidence(valid(evidence(created, now))), created.as_str()),
            (pause(PauseKey::Workorder(created.clone())), created.as_str()),
            (
                Write::InsertManifest {
                    manifest: valid(manifest(created, now)),
                    work_order_id: created.clone(),
                },
                created.as_str(),
            ),
        ];
        let other = world.granted(&(&full.pending_event).into()).await.fence;
        for (write, resource) in protected {
            for fence in [None, Some(&other)] {
                let error = refused(&world, Actor::Gate, fence, [write.clone()]).await;
                let text = malformed(&error);
                assert!(text.starts_with("it needs the claim on ") && text.ends_with(resource), "{text}");
            }
        }
    }

    async fn c4_a_snapshot_is_written_under_a_claim(world: TestStore) {
        let full = full(&world).await;
        let stored = world.read().objective(&full.todo).await.unwrap().unwrap();
        let snapshot = valid(snapshot(&full.todo_event, &full.todo, world.now().await));
        let write = Write::InsertSnapshot { snapshot, objective_version: stored.version };
        assert_eq!(malformed(&refused(&world, Actor::Scheduler, None, [write]).await), "it needs a claim");
    }

    /// C-4: a claim on one objective's event or workorder moves no other objective.
    async fn c4_a_step_under_a_claim_is_about_the_objective_of_what_is_claimed(world: TestStore) {
        let (own, other) = (PatchCycle::todo(&world).await, PatchCycle::todo(&world).await);
        let (own_event, other_event) = (own.emitted().await, other.emitted().await);
        let step = async |step, status| {
            let stored = other.stored().await;
            let next = valid(Objective { status, ..stored.objective.clone() });
            Write::AdvanceObjective { was: (&stored).into(), step, next }
        };
        let held = world.granted(&(&own_event).into()).await.fence;
        let write = step(ObjectiveStep::Schedule, ObjectiveStatus::InProgress).await;
        let error = refused(&world, Actor::Scheduler, Some(&held), [write]).await;
        assert!(matches!(error, SubstrateError::Changed { artifact: "event" }), "{error:?}");

        world.store.release_claim(&held, Release::Unused, Actor::Scheduler).await.unwrap();
        let room = StreamRoom { max_concurrent: 2, ..ROOM };
        for (cycle, event_id) in [(&own, &own_event), (&other, &other_event)] {
            cycle.schedule(event_id, &world.ids.owner_id(), room).await.unwrap();
        }
        let held = world.granted(&(&WorkOrderId::of(&own_event)).into()).await.fence;
        let write = step(ObjectiveStep::GateFailRetry, ObjectiveStatus::Todo).await;
        let error = refused(&world, Actor::Gate, Some(&held), [write]).await;
        assert!(matches!(error, SubstrateError::Changed { artifact: "workorder" }), "{error:?}");
    }

    async fn c4_a_fence_that_nobody_was_granted_writes_nothing(world: TestStore) {
        let full = full(&world).await;
        let now = world.now().await;
        let execute = || Write::Execute(valid(output_bundle(&full.created, &full.open, now)));
        let held = &full.fence;
        for fence in [
            Fence { owner_id: world.ids.owner_id(), ..held.clone() },
            Fence { claim_version: held.claim_version - 1, ..held.clone() },
            Fence { claim_version: held.claim_version + 1, ..held.clone() },
        ] {
            let error = refused(&world, Actor::Runner, Some(&fence), [execute()]).await;
            assert!(
                matches!(&error, SubstrateError::FenceLost { resource, claim_version }
                if *resource == fence.resource && *claim_version == fence.claim_version),
                "{error:?}"
            );
        }
    }

    /// Each line of the table with every actor but its own.
    async fn s1_a_step_by_the_wrong_party_is_refused(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let stored = cycle.stored().await;
        for row in TABLE {
            let party = match row.party {
                Party::Operator => Actor::Operator,
                Party::Scheduler => Actor::Scheduler,
                Party::Gate => Actor::Gate,
                Party::Init => Actor::Init,
            };
            for actor in Actor::ALL.iter().filter(|actor| **actor != party) {
                let was = ObjectiveMark::from(&stored);
                let write =
                    Write::AdvanceObjective { was, step: row.step, next: valid(stored.objective.clone()) };
                let error = refused(&world, *actor, None, [write]).await;
                assert_eq!(malformed(&error), format!("{} is for {party}, not {actor}", row.step));
            }
            if matches!(party, Actor::Scheduler | Actor::Gate) {
                let was = ObjectiveMark::from(&stored);
                let write =
                    Write::AdvanceObjective { was, step: row.step, next: valid(stored.objective.clone()) };
                let error = refused(&world, party, None, [write]).await;
                assert_eq!(malformed(&error), format!("{} needs a claim", row.step));
            }
        }
    }

    /// Each status with every operator's step that the table has not from there.
    async fn s1_an_illegal_transition_names_both_states(world: TestStore) {
        let full = full(&world).await;
        let stored = world.read().objective(&full.todo).await.unwrap().unwrap();
        let mut refusals = 0;
        for row in TABLE.iter().filter(|row| row.party == Party::Operator && !row.from.is_empty()) {
            for &status in ObjectiveStatus::ALL {
                let Err(expected) = advance(stored.objective.objective_type, Some(status), row.step) else {
                    continue;
                };
                let to = match row.to {
                    Target::Status(to) => to,
                    Target::Same => status,
                };
                let next = Objective { status: to, ..stored.objective.clone() };
                let was = ObjectiveMark { version: stored.version, status, archived: false };
                let write = Write::AdvanceObjective { was, step: row.step, next: valid(next) };
                let error = refused(&world, Actor::Operator, None, [write]).await;
                assert!(
                    matches!(&error, SubstrateError::Transition(found) if *found == expected),
                    "{error:?}"
                );
                let needs = row.from.iter().map(|status| status.as_str()).collect::<Vec<_>>().join(" or ");
                assert_eq!(error.to_string(), format!("objective is {status}; {} needs {needs}", row.step));
                refusals += 1;
            }
        }
        assert_eq!(refusals, 4 + 4 + 4 + 4 + 3 + 4 + 2 + 2);
    }

    async fn s1_a_step_that_leads_elsewhere_is_malformed(world: TestStore) {
        let cycle = PatchCycle::created(&world).await;
        let error = {
            let stored = cycle.stored().await;
            let next = Objective { status: ObjectiveStatus::Done, ..stored.objective.clone() };
            let was = ObjectiveMark::from(&stored);
            let write = Write::AdvanceObjective { was, step: ObjectiveStep::Approve, next: valid(next) };
            refused(&world, Actor::Operator, None, [write]).await
        };
        assert_eq!(malformed(&error), format!("{} says DONE, the step leads to TODO", cycle.objective_id));
        let stored = cycle.stored().await;
        let next = Objective { status: ObjectiveStatus::Todo, ..stored.objective.clone() };
        let edit = Write::EditObjective { was: ObjectiveMark::from(&stored), next: valid(next) };
        let error = refused(&world, Actor::Operator, None, [edit]).await;
        assert_eq!(malformed(&error), format!("{} says TODO, the step leads to NEW", cycle.objective_id));
    }

    /// S-2, S-j: completion is recorded by the operator's confirmation and by nothing else.
    async fn s2_sj_completion_comes_from_confirm_alone(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let gated = cycle.run(GateResult::Pass).await;
        let stored = cycle.stored().await;
        let was = || ObjectiveMark::from(&stored);
        let Write::AdvanceObjective { next: complete, .. } = confirm(&cycle, &gated).await else {
            unreachable!()
        };

        let error = refused(
            &world,
            Actor::Operator,
            None,
            [Write::EditObjective { was: was(), next: complete.clone() }],
        )
        .await;
        assert_eq!(malformed(&error), "an edit sets metadata.completion");
        let bare = Write::AdvanceObjective {
            was: was(),
            step: ObjectiveStep::Confirm,
            next: valid(stored.objective.clone()),
        };
        let error = refused(&world, Actor::Operator, None, [bare]).await;
        assert_eq!(malformed(&error), "confirm sets metadata.completion");
        let todo = valid(Objective { status: ObjectiveStatus::Todo, ..(*complete).clone() });
        let kept = Write::AdvanceObjective { was: was(), step: ObjectiveStep::Reject, next: todo };
        let error = refused(&world, Actor::Operator, None, [kept]).await;
        assert_eq!(malformed(&error), "reject does not keep metadata.completion");

        world
            .done(
                Actor::Operator,
                Write::AdvanceObjective { was: was(), step: ObjectiveStep::Confirm, next: complete },
            )
            .await;
        // Final: neither a rejection nor an edit gets through any more.
        let stored = cycle.stored().await;
        let mut next = stored.objective.clone();
        next.metadata.remove("completion");
        let edit = Write::EditObjective { was: ObjectiveMark::from(&stored), next: valid(next.clone()) };
        next.status = ObjectiveStatus::Todo;
        let reject = Write::AdvanceObjective {
            was: ObjectiveMark::from(&stored),
            step: ObjectiveStep::Reject,
            next: valid(next),
        };
        for write in [edit, reject] {
            let error = refused(&world, Actor::Operator, None, [write]).await;
            assert_eq!(place(&error), "objective.status S-j");
        }
    }

    async fn s3_a_write_built_on_an_old_version_is_refused(world: TestStore) {
        let cycle = PatchCycle::created(&world).await;
        let old = cycle.stored().await;
        let edit = |title: &str, was: ObjectiveMark| {
            let next = Objective { title: title.into(), ..old.objective.clone() };
            Write::EditObjective { was, next: valid(next) }
        };
        world.done(Actor::Operator, edit("first", ObjectiveMark::from(&old))).await;
        let next = Objective { status: ObjectiveStatus::Todo, ..old.objective.clone() };
        let current = ObjectiveMark::from(&cycle.stored().await);
        for write in [
            edit("second", ObjectiveMark::from(&old)),
            edit("early", ObjectiveMark { version: current.version + 1, ..current.clone() }),
            Write::AdvanceObjective {
                was: ObjectiveMark::from(&old),
                step: ObjectiveStep::Approve,
                next: valid(next.clone()),
            },
            // The right version with a status that it never had.
            Write::EditObjective {
                was: ObjectiveMark { status: ObjectiveStatus::Todo, ..current },
                next: valid(next),
            },
        ] {
            let error = refused(&world, Actor::Operator, None, [write]).await;
            assert!(matches!(error, SubstrateError::Changed { artifact: "objective" }), "{error:?}");
        }
        assert_eq!(cycle.stored().await.objective.title, "first");
    }

    async fn s2_a_new_objective_is_neither_confirmed_nor_archived(world: TestStore) {
        let now = world.now().await;
        let run = serde_json::json!({"confirmed_at": now, "confirmed_by": "x", "run_id": "run-x"});
        for (key, value) in [("completion", run), ("archived_at", serde_json::json!(now))] {
            let mut new = objective(&ObjectiveId::new("obj-x").unwrap(), ObjectiveStatus::New, now);
            new.metadata.insert(key.into(), value);
            let write = Write::InsertObjective { objective: valid(new), step: ObjectiveStep::Create };
            let error = refused(&world, Actor::Operator, None, [write]).await;
            assert_eq!(malformed(&error), "a new objective is neither confirmed nor archived");
        }
    }

    async fn w5_half_of_a_step_is_malformed(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let (event_id, now) = (cycle.emitted().await, world.now().await);
        let claim = world.granted(&(&event_id).into()).await.fence;
        let create = Write::CreateWorkorder {
            workorder: valid(workorder(&event_id, &cycle.objective_id, now)),
            event_id: event_id.clone(),
            room: ROOM,
        };
        let scheduled = Write::ProcessEvent { event_id, reason: ProcessedReason::Scheduled };
        for (half, needs) in [
            (create, "a workorder is created with its event processed SCHEDULED"),
            (scheduled, "an event is processed SCHEDULED with its workorder"),
        ] {
            assert_eq!(malformed(&refused(&world, Actor::Scheduler, Some(&claim), [half]).await), needs);
        }
        let other = PatchCycle::todo(&world).await;
        let work_order_id = other.scheduled().await;
        let runner = world.granted(&(&work_order_id).into()).await.fence;
        other.execute(runner).await.unwrap();
        let gate = world.granted(&(&work_order_id).into()).await.fence;
        let run = Write::Gate(valid(run_record(&work_order_id, &other.objective_id, GateResult::Pass, now)));
        let error = refused(&world, Actor::Gate, Some(&gate), [run]).await;
        assert_eq!(malformed(&error), "a run_record comes with the pause_state of its workorder");
    }

    async fn s3_only_the_operator_and_clients_edit(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let stored = cycle.stored().await;
        for actor in Actor::ALL.iter().filter(|actor| !matches!(actor, Actor::Operator | Actor::Client)) {
            let urgent = Objective { urgency: 0, ..stored.objective.clone() };
            let edit = Write::EditObjective { was: (&stored).into(), next: valid(urgent) };
            assert_eq!(malformed(&refused(&world, *actor, None, [edit]).await), format!("{actor} edits nothing"));
        }
    }

    async fn c4_the_usage_of_another_claim_is_refused(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let work_order_id = cycle.scheduled().await;
        let fence = world.granted(&(&work_order_id).into()).await.fence;
        let mut other = usage(&fence, &work_order_id, world.now().await);
        other.claim_version = fence.claim_version + 1;
        let write = Write::RecordUsage(valid(other));
        let error = refused(&world, Actor::Runner, Some(&fence), [write]).await;
        assert_eq!(malformed(&error), "the usage is that of another claim");
    }

    async fn sl_what_was_approved_changes_only_by_withdrawing_approval(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let stored = cycle.stored().await;
        let retitled = Objective { title: "Another".into(), ..stored.objective.clone() };
        let edit = Write::EditObjective { was: (&stored).into(), next: valid(retitled.clone()) };
        assert_eq!(place(&refused(&world, Actor::Operator, None, [edit]).await), "objective.title S-3");
        let next = valid(Objective { status: ObjectiveStatus::New, ..retitled });
        let step = ObjectiveStep::WithdrawApproval;
        world.done(Actor::Operator, Write::AdvanceObjective { was: (&stored).into(), step, next }).await;
        assert_eq!(cycle.stored().await.objective.title, "Another");
    }

    async fn s3_title_and_repository_are_fixed_while_in_progress(world: TestStore) {
        let full = full(&world).await;
        let stored = world.read().objective(&full.open).await.unwrap().unwrap();
        let mut moved = stored.objective.clone();
        moved.metadata.insert("base_branch".into(), "next".into());
        let mut looser = stored.objective.clone();
        looser.acceptance_criteria.clear();
        let retitled = Objective { title: "Another".into(), ..stored.objective.clone() };
        for next in [moved, looser, retitled] {
            let edit = Write::EditObjective { was: ObjectiveMark::from(&stored), next: valid(next) };
            let error = refused(&world, Actor::Operator, None, [edit]).await;
            assert_eq!(place(&error), "objective.title S-3");
        }
        let urgent = Objective { urgency: 0, ..stored.objective.clone() };
        world
            .done(Actor::Operator, Write::EditObjective { was: (&stored).into(), next: valid(urgent) })
            .await;
    }

    /// Neither the first nor the last of three writes is there when the second is refused, whatever their order.
    async fn a5_a_batch_is_never_half_written(world: TestStore) {
        full(&world).await;
        let mut good = Vec::new();
        for _ in 0..2 {
            good.push(Write::InsertCapture(valid(capture(&world).await)));
        }
        let bad = good[0].clone();
        for at in 1..=2 {
            let mut writes = good.clone();
            writes.insert(at, bad.clone());
            let commit =
                writes.into_iter().fold(Commit::new(world.ids.commit_id(), Actor::Client), Commit::with);
            let error = refused_commit(&world, commit).await;
            assert_eq!(place(&error), "capture_buffer.capture_id A-2");
        }
    }
}
