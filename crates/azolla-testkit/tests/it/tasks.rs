//! What the screens of task management read: triage outputs, manifests, where an objective came from.

use azolla_protocol::{
    Actor, CandidateOutcome, EventId, EventType, GateResult, IdSource, OutputId, WorkOrderId,
};
use azolla_substrate::{Before, TriageOutput, Write};
use azolla_testkit::{
    PatchCycle, TestStore, TriageCycle,
    cycle::{ROOM, event, valid},
    store::azolla_id,
};

use crate::seed::manifest;

fn ids(found: &[TriageOutput]) -> Vec<OutputId> {
    found.iter().map(|found| found.output.output_id.clone()).collect()
}

on_both_backends! {
    async fn o3_tf8_open_outputs_are_listed_oldest_first_with_what_was_resolved(world: TestStore) {
        let cycle = TriageCycle::new(&world).await;
        let mut made = Vec::new();
        for candidates in [2, 1, 0, 1] {
            world.advance(1_000).await;
            made.push(OutputId::of(&cycle.passed(candidates).await.1));
        }
        let [first, second, none, last] = &made[..] else { panic!() };
        cycle.resolve(first, 1, CandidateOutcome::Deferred).await.unwrap();
        cycle.resolve(second, 0, CandidateOutcome::Promoted).await.unwrap();
        let open = world.read().open_candidates(10).await.unwrap();
        assert_eq!(ids(&open), [first.clone(), last.clone()]);
        assert_eq!(world.read().count_open_candidates().await.unwrap(), 2);
        let resolved: Vec<_> = open.iter().map(|found| found.resolutions.len()).collect();
        assert_eq!(resolved, [1, 0]);
        assert_eq!(open[0].resolutions, world.read().resolutions_of(first).await.unwrap());
        assert_eq!(open[0].output, world.read().output_bundle(first).await.unwrap().unwrap());
        assert_eq!(ids(&world.read().open_candidates(1).await.unwrap()), std::slice::from_ref(first));
        // The next page also goes on after one that is resolved meanwhile.
        for after in [first, second, none] {
            let next = world.read().open_candidates_after(after, 10).await.unwrap();
            assert_eq!(ids(&next), std::slice::from_ref(last));
        }
        let nowhere = OutputId::new("out-nowhere").unwrap();
        for after in [last, &nowhere] {
            assert!(world.read().open_candidates_after(after, 10).await.unwrap().is_empty());
        }

        // The runs behind them, newest first, page by page.
        let run = world.read().run_of(&open[0].output.metadata.work_order_id).await.unwrap().unwrap();
        let mut runs = world.read().runs_of(&run.objective_id).await.unwrap();
        runs.reverse();
        let newest = world.read().runs_before(&run.objective_id, None, 3).await.unwrap();
        let rest = world.read().runs_before(&run.objective_id, Some(&newest[2].run_id), 3).await.unwrap();
        assert_eq!((runs.len(), newest.len(), rest.len()), (4, 3, 1));
        assert_eq!([newest, rest].concat(), runs);

        // All that passed, newest first, page by page; not what failed, and no other workers' outputs.
        let capture_id = cycle.captured().await;
        let event_id = cycle.emitted(&capture_id, 1).await;
        cycle.schedule(&event_id, std::slice::from_ref(&capture_id), ROOM).await.unwrap();
        let failed = WorkOrderId::of(&event_id);
        cycle.execute(&failed, &[capture_id], 1).await;
        assert_eq!(world.read().triage_outputs(None, 10).await.unwrap().len(), 4);
        cycle.gate(&failed, GateResult::Fail, vec![]).await.unwrap();
        PatchCycle::todo(&world).await.run(GateResult::Pass).await;
        let (mut found, mut pages) = (Vec::new(), 0);
        loop {
            let after = found.last().map(|last: &TriageOutput| last.output.clone());
            let page = world.read().triage_outputs(after.as_ref(), 3).await.unwrap();
            if page.is_empty() {
                break;
            }
            pages += 1;
            found.extend(page);
        }
        assert_eq!((ids(&found), pages), ([last, none, second, first].map(Clone::clone).to_vec(), 2));
        assert_eq!(found[2].resolutions[0].outcome, CandidateOutcome::Promoted);
    }

    async fn mf7_manifests_are_listed_newest_first(world: TestStore) {
        let cycle = TriageCycle::new(&world).await;
        assert_eq!(world.read().latest_manifest().await.unwrap(), None);
        let mut made = Vec::new();
        for _ in 0..3 {
            world.advance(1_000).await;
            let capture_id = cycle.captured().await;
            let event_id = cycle.emitted(&capture_id, 1).await;
            cycle.schedule(&event_id, &[], ROOM).await.unwrap();
            let work_order_id = WorkOrderId::of(&event_id);
            cycle.execute(&work_order_id, &[], 0).await;
            let manifest = manifest(&work_order_id, world.now().await);
            made.insert(0, manifest.clone());
            let write = Write::InsertManifest { manifest: valid(manifest), work_order_id: work_order_id.clone() };
            cycle.gate(&work_order_id, GateResult::Pass, vec![write]).await.unwrap();
        }
        let read = world.read();
        assert_eq!(read.manifests_before(None, 10).await.unwrap(), made);
        assert_eq!(read.manifests_before(None, 2).await.unwrap(), made[..2]);
        let before = Before { created_at: made[0].created_at, id: made[0].manifest_id.to_string() };
        assert_eq!(read.manifests_before(Some(&before), 10).await.unwrap(), made[1..]);
        assert_eq!(read.latest_manifest().await.unwrap().as_ref(), made.first());
        assert_eq!(read.manifest(&made[2].manifest_id).await.unwrap().as_ref(), made.last());
    }

    async fn mf1_the_newest_request_for_a_manifest_is_found_processed_or_not(world: TestStore) {
        assert_eq!(world.read().latest_manifest_event().await.unwrap(), None);
        let mut newest = None;
        for processed in [true, true, false] {
            world.advance(1_000).await;
            let event_id = EventId::from_body(&world.ids.body());
            let asked =
                event(event_id.clone(), EventType::ManifestRequested, azolla_id().as_str(), world.now().await);
            world.done(Actor::Client, Write::EmitEvent { event: valid(asked), entry: None }).await;
            if processed {
                let reason = azolla_protocol::ProcessedReason::NoReachableAzollas;
                let commit = azolla_substrate::Commit::new(world.ids.commit_id(), Actor::ManifestScheduler)
                    .with(Write::ProcessEvent { event_id: event_id.clone(), reason })
                    .claiming((&event_id).into(), world.ids.owner_id());
                world.store.commit(commit).await.unwrap();
            }
            let before = newest;
            newest = world.read().event(&event_id).await.unwrap();
            let event = &newest.as_ref().unwrap().event;
            assert_eq!(world.read().manifest_event_before(event).await.unwrap(), before);
            assert_eq!(world.read().latest_manifest_event().await.unwrap(), newest);
        }
        assert!(newest.is_some_and(|stored| !stored.event.processed));
    }

    async fn t36_requests_for_a_manifest_come_in_the_order_of_their_emission(world: TestStore) {
        let mut emitted = Vec::new();
        // The second one by a clock that is an hour ahead.
        for step_ms in [1_000, 3_600_000, -3_599_000] {
            world.advance(step_ms).await;
            let event_id = EventId::from_body(&world.ids.body());
            let asked =
                event(event_id.clone(), EventType::ManifestRequested, azolla_id().as_str(), world.now().await);
            world.done(Actor::Client, Write::EmitEvent { event: valid(asked), entry: None }).await;
            let reason = azolla_protocol::ProcessedReason::NoReachableAzollas;
            let commit = azolla_substrate::Commit::new(world.ids.commit_id(), Actor::ManifestScheduler)
                .with(Write::ProcessEvent { event_id: event_id.clone(), reason })
                .claiming((&event_id).into(), world.ids.owner_id());
            world.store.commit(commit).await.unwrap();
            emitted.push(world.read().event(&event_id).await.unwrap().unwrap());
        }
        let [first, ahead, last] = &emitted[..] else { panic!() };
        let read = world.read();
        let by = async || read.manifest_event_by(world.now().await).await.unwrap();
        assert_eq!(by().await.as_ref(), Some(last));
        assert_eq!(read.manifest_event_before(&last.event).await.unwrap().as_ref(), Some(first), "what is to come is not seen");
        world.advance(3_600_000).await;
        assert_eq!(by().await.as_ref(), Some(last), "that time has come");
        assert_eq!(read.manifest_event_before(&last.event).await.unwrap().as_ref(), Some(ahead));
        assert_eq!(read.manifest_event_before(&ahead.event).await.unwrap().as_ref(), Some(first));
        assert_eq!(read.manifest_event_before(&first.event).await.unwrap(), None);
    }
}
