//! Claims and leases (PROTOCOL.md section 5), on a clock that the test moves.

use azolla_protocol::{Actor, GateResult, ResourceRef, Timestamp};
use azolla_substrate::{
    ClaimOutcome, Commit, CommitOutcome, Fence, Release, RenewOutcome, SubstrateError, Write, verify,
};
use azolla_testkit::{
    PatchCycle, TestStore,
    cycle::{LEASE_MS, ROOM, lease, output_bundle, valid},
};

use crate::seed;

const TWO_DAYS_MS: i64 = 2 * 24 * 3_600_000;

fn lost(outcome: Result<CommitOutcome, SubstrateError>, fence: &Fence) {
    match outcome {
        Err(SubstrateError::FenceLost { resource, claim_version }) => {
            assert_eq!((resource, claim_version), (fence.resource.clone(), fence.claim_version));
        }
        other => panic!("the fence held: {other:?}"),
    }
}

async fn renewed(world: &TestStore, fence: &Fence) -> RenewOutcome {
    world.store.renew_claim(fence, lease()).await.expect("the store answers")
}

fn after(start: Timestamp, ms: i64) -> Timestamp {
    start.plus_ms(ms)
}

on_both_backends! {
    async fn c1_a_whole_cycle_holds_every_invariant(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        cycle.run(GateResult::Pass).await;
        assert_eq!(verify(world.read()).await.unwrap(), []);
    }

    async fn c1_a_live_claim_is_held_and_an_expired_one_is_taken_over(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let resource: ResourceRef = (&cycle.scheduled().await).into();
        let start = world.now().await;
        let first = world.granted(&resource).await;
        assert_eq!((first.fence.claim_version, first.lease_expires_at), (1, after(start, LEASE_MS)));

        world.advance(LEASE_MS - 1).await;
        assert_eq!(world.acquire(&resource).await, ClaimOutcome::Held);
        // Exactly at its end a lease has expired: `lease_expires_at <= now`.
        world.advance(1).await;
        let second = world.granted(&resource).await;
        assert_eq!((second.fence.claim_version, second.granted_at), (2, after(start, LEASE_MS)));
        assert_ne!(second.fence.owner_id, first.fence.owner_id);
        let record = world.read().claim(&resource).await.unwrap().unwrap();
        assert_eq!((record.owner_id, record.claim_version), (second.fence.owner_id, 2));
    }

    async fn c1_t36_a_claim_that_was_given_back_is_free_whatever_the_clock_says(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let resource: ResourceRef = (&cycle.scheduled().await).into();
        world.advance(TWO_DAYS_MS).await;
        let first = world.granted(&resource).await;
        world.store.release_claim(&first.fence, Release::Unused, Actor::Runner).await.unwrap();
        world.advance(-TWO_DAYS_MS).await;
        assert_eq!(world.granted(&resource).await.fence.claim_version, 2);
        assert_eq!(verify(world.read()).await.unwrap(), []);
    }

    async fn c1_t36_a_lease_of_a_clock_that_was_ahead_can_be_ended_while_nobody_renews_it(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let resource: ResourceRef = (&cycle.scheduled().await).into();
        let record = async || world.read().claim(&resource).await.unwrap().unwrap();
        world.advance(TWO_DAYS_MS).await;
        let gone = world.granted(&resource).await;
        let seen = record().await;
        world.advance(-TWO_DAYS_MS).await;
        assert_eq!(world.acquire(&resource).await, ClaimOutcome::Held);

        // Renewed since, by the clock as it is now: it is alive, and that is no heartbeat of the future any more.
        assert!(matches!(renewed(&world, &gone.fence).await, RenewOutcome::Renewed(_)));
        world.store.expire_claim(&seen).await.unwrap();
        world.store.expire_claim(&record().await).await.unwrap();
        assert_eq!(world.acquire(&resource).await, ClaimOutcome::Held);
        world.advance(LEASE_MS).await;

        world.advance(TWO_DAYS_MS).await;
        let gone = world.granted(&resource).await;
        let seen = record().await;
        world.advance(-TWO_DAYS_MS).await;
        world.store.expire_claim(&seen).await.unwrap();
        let next = world.granted(&resource).await;
        assert_eq!(next.fence.claim_version, gone.fence.claim_version + 1);
        lost(cycle.execute(gone.fence.clone()).await, &gone.fence);
        assert_eq!(cycle.execute(next.fence).await.unwrap(), CommitOutcome::Done);
        // What was given back is left alone.
        let ended = record().await;
        world.store.expire_claim(&ended).await.unwrap();
        assert_eq!(record().await, ended);
        assert_eq!(verify(world.read()).await.unwrap(), []);
    }

    async fn c1_the_holder_itself_cannot_acquire_again(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let resource: ResourceRef = (&cycle.scheduled().await).into();
        let owner = world.ids.owner_id();
        let acquire = || world.store.acquire_claim(&resource, &owner, lease(), Actor::Runner);
        assert!(matches!(acquire().await.unwrap(), ClaimOutcome::Granted(_)));
        assert_eq!(acquire().await.unwrap(), ClaimOutcome::Held);
    }

    async fn c1_what_is_closed_or_missing_cannot_be_claimed(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let event_id = cycle.emitted().await;
        cycle.schedule(&event_id, &world.ids.owner_id(), ROOM).await.unwrap();
        assert_eq!(world.acquire(&(&event_id).into()).await, ClaimOutcome::Held);
        let gone = azolla_protocol::WorkOrderId::new("wo-gone").unwrap();
        assert_eq!(world.acquire(&(&gone).into()).await, ClaimOutcome::Held);
        assert_eq!(world.read().claim(&(&gone).into()).await.unwrap(), None);
    }

    async fn c2_versions_only_grow_over_release_loss_and_both_phases(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let work_order_id = cycle.scheduled().await;
        let resource: ResourceRef = (&work_order_id).into();
        let mut versions = Vec::new();
        let grant = world.granted(&resource).await;
        versions.push(grant.fence.claim_version);
        world.store.release_claim(&grant.fence, Release::Unused, Actor::Runner).await.unwrap();
        versions.push(world.granted(&resource).await.fence.claim_version);
        world.advance(LEASE_MS).await;
        let grant = world.granted(&resource).await;
        versions.push(grant.fence.claim_version);
        cycle.execute(grant.fence).await.unwrap();
        let gate = world.granted(&resource).await;
        versions.push(gate.fence.claim_version);
        cycle.gate(gate.fence, GateResult::Pass).await.unwrap();
        assert_eq!(versions, [1, 2, 3, 4]);
        // The record stays after the last release, expired.
        let record = world.read().claim(&resource).await.unwrap().unwrap();
        assert_eq!((record.claim_version, record.lease_expires_at), (4, world.now().await));
    }

    async fn c3_renewal_extends_an_unexpired_lease_only(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let resource: ResourceRef = (&cycle.scheduled().await).into();
        let start = world.now().await;
        let grant = world.granted(&resource).await;
        world.advance(LEASE_MS - 1).await;
        let until = after(start, 2 * LEASE_MS - 1);
        assert_eq!(renewed(&world, &grant.fence).await, RenewOutcome::Renewed(until));
        let record = world.read().claim(&resource).await.unwrap().unwrap();
        assert_eq!((record.heartbeat_at, record.lease_expires_at), (after(start, LEASE_MS - 1), until));
        // Nobody took it, and still it cannot be revived.
        world.advance(LEASE_MS).await;
        assert_eq!(renewed(&world, &grant.fence).await, RenewOutcome::Lost);
    }

    async fn c3_renewal_compares_owner_and_version(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let resource: ResourceRef = (&cycle.scheduled().await).into();
        let first = world.granted(&resource).await.fence;
        world.advance(LEASE_MS).await;
        let second = world.granted(&resource).await.fence;
        assert_eq!(renewed(&world, &first).await, RenewOutcome::Lost);
        let other_owner = Fence { owner_id: first.owner_id.clone(), ..second.clone() };
        assert_eq!(renewed(&world, &other_owner).await, RenewOutcome::Lost);
        let other_version = Fence { claim_version: 1, ..second.clone() };
        assert_eq!(renewed(&world, &other_version).await, RenewOutcome::Lost);
        assert!(matches!(renewed(&world, &second).await, RenewOutcome::Renewed(_)));
    }

    async fn c4_r1_a_stale_owner_commits_nothing(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let work_order_id = cycle.scheduled().await;
        let stale = world.granted(&(&work_order_id).into()).await.fence;
        world.advance(LEASE_MS).await;
        // Expired and not taken over yet: refused all the same.
        lost(cycle.execute(stale.clone()).await, &stale);
        let fresh = world.granted(&(&work_order_id).into()).await.fence;
        lost(cycle.execute(stale.clone()).await, &stale);
        assert_eq!(world.read().output_of(&work_order_id).await.unwrap(), None);
        assert_eq!(cycle.execute(fresh).await.unwrap(), CommitOutcome::Done);
        // And after the work was done by another.
        lost(cycle.execute(stale.clone()).await, &stale);
        assert_eq!(verify(world.read()).await.unwrap().len(), 0);
    }

    async fn c4_r3_the_version_alone_and_the_owner_alone_are_not_enough(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let work_order_id = cycle.scheduled().await;
        let held = world.granted(&(&work_order_id).into()).await.fence;
        let impostor = Fence { owner_id: world.ids.owner_id(), ..held.clone() };
        lost(cycle.execute(impostor.clone()).await, &impostor);
        let guess = Fence { claim_version: held.claim_version + 1, ..held.clone() };
        lost(cycle.execute(guess.clone()).await, &guess);
        assert_eq!(cycle.execute(held).await.unwrap(), CommitOutcome::Done);
    }

    async fn c4_r2_a_released_claim_protects_nothing(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let work_order_id = cycle.scheduled().await;
        let held = world.granted(&(&work_order_id).into()).await.fence;
        world.store.release_claim(&held, Release::Unused, Actor::Runner).await.unwrap();
        lost(cycle.execute(held.clone()).await, &held);
        let again = world.store.release_claim(&held, Release::Unused, Actor::Runner).await;
        assert!(matches!(again, Err(SubstrateError::FenceLost { .. })), "{again:?}");
    }

    async fn c5_the_terminal_commit_and_the_release_are_one(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let work_order_id = cycle.scheduled().await;
        let fence = world.granted(&(&work_order_id).into()).await.fence;
        cycle.execute(fence).await.unwrap();
        // No wait for the lease: whoever comes next finds the claim free and the bundle there.
        assert!(world.read().output_of(&work_order_id).await.unwrap().is_some());
        assert!(matches!(world.acquire(&(&work_order_id).into()).await, ClaimOutcome::Granted(_)));
    }

    async fn c6_b2_w7_takeover_counts_the_attempt_and_charges_the_lost_lease(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let resource: ResourceRef = (&cycle.scheduled().await).into();
        let first = world.granted(&resource).await;
        assert_eq!((first.claim_count, first.budget_consumed_ms), (1, 0));
        world.advance(20_000).await;
        assert!(matches!(renewed(&world, &first.fence).await, RenewOutcome::Renewed(_)));
        // Lost at 80 s; the hour after that is downtime and costs nothing.
        world.advance(3_600_000).await;
        let second = world.granted(&resource).await;
        assert_eq!((second.claim_count, second.budget_consumed_ms), (2, 80_000));
        world.advance(5_000).await;
        cycle.execute(second.fence).await.unwrap();
        let id = azolla_protocol::WorkOrderId::new(resource.resource_id.clone()).unwrap();
        let stored = world.read().workorder(&id).await.unwrap().unwrap();
        assert_eq!((stored.claim_count, stored.budget_consumed_ms), (0, 85_000));
        // The gate's time is not the diazotroph's.
        let gate = world.granted(&resource).await;
        world.advance(LEASE_MS).await;
        let again = world.granted(&resource).await;
        assert_eq!((gate.claim_count, again.claim_count, again.budget_consumed_ms), (1, 2, 85_000));
    }

    async fn w7_an_unused_claim_is_not_counted_and_a_failed_one_is(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let event_id = cycle.emitted().await;
        for (release, counted) in [(Release::Unused, 1), (Release::Failed, 1), (Release::Failed, 2)] {
            let grant = world.granted(&(&event_id).into()).await;
            assert_eq!(grant.claim_count, counted);
            world.advance(1_000).await;
            world.store.release_claim(&grant.fence, release, Actor::ManifestScheduler).await.unwrap();
        }
        assert_eq!(world.read().event(&event_id).await.unwrap().unwrap().claim_count, 2);
    }

    async fn b2_a_released_claim_is_charged_to_the_budget(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let work_order_id = cycle.scheduled().await;
        let grant = world.granted(&(&work_order_id).into()).await;
        world.advance(7_000).await;
        world.store.release_claim(&grant.fence, Release::Unused, Actor::Runner).await.unwrap();
        assert_eq!(world.granted(&(&work_order_id).into()).await.budget_consumed_ms, 7_000);
    }

    async fn b2_a_claim_that_is_given_back_with_its_usage_is_charged_once(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let work_order_id = cycle.scheduled().await;
        for (release, version, charged) in [(Release::Unused, 1, 7_000), (Release::Failed, 2, 14_000)] {
            let fence = world.granted(&(&work_order_id).into()).await.fence;
            assert_eq!(fence.claim_version, version);
            world.advance(7_000).await;
            let usage = seed::usage(&fence, &work_order_id, world.now().await);
            let commit = Commit::new(world.ids.commit_id(), Actor::Runner)
                .with(Write::RecordUsage(valid(usage)))
                .with(Write::GiveBack(release));
            assert_eq!(world.store.commit(commit.fenced(fence)).await.unwrap(), CommitOutcome::Done);
            let stored = world.read().workorder(&work_order_id).await.unwrap().unwrap();
            assert_eq!(stored.budget_consumed_ms, charged);
        }
        let stored = world.read().workorder(&work_order_id).await.unwrap().unwrap();
        assert_eq!(stored.claim_count, 1, "the one that failed");
    }

    async fn b2_w7_a_commit_that_comes_to_no_outcome_is_charged_and_counted(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let work_order_id = cycle.scheduled().await;
        let fence = world.granted(&(&work_order_id).into()).await.fence;
        world.advance(7_000).await;
        let usage = seed::usage(&fence, &work_order_id, world.now().await);
        let commit = Commit::new(world.ids.commit_id(), Actor::Runner).with(Write::RecordUsage(valid(usage)));
        assert_eq!(world.store.commit(commit.fenced(fence)).await.unwrap(), CommitOutcome::Done);
        let stored = world.read().workorder(&work_order_id).await.unwrap().unwrap();
        assert_eq!((stored.claim_count, stored.budget_consumed_ms), (1, 7_000));
    }

    async fn b2_a_commit_that_takes_a_lost_claim_over_charges_it_up_to_its_end(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let work_order_id = cycle.scheduled().await;
        world.granted(&(&work_order_id).into()).await;
        // The hour after the lease is downtime and costs nothing.
        world.advance(LEASE_MS + 3_600_000).await;
        let bundle = output_bundle(&work_order_id, &cycle.objective_id, world.now().await);
        let commit = Commit::new(world.ids.commit_id(), Actor::Runner).with(Write::Execute(valid(bundle)));
        let commit = commit.claiming((&work_order_id).into(), world.ids.owner_id());
        assert_eq!(world.store.commit(commit).await.unwrap(), CommitOutcome::Done);
        let stored = world.read().workorder(&work_order_id).await.unwrap().unwrap();
        assert_eq!(stored.budget_consumed_ms, 60_000);
        assert_eq!(verify(world.read()).await.unwrap(), []);
    }

    async fn b2_a_claim_that_comes_to_an_outcome_is_not_given_back(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let work_order_id = cycle.scheduled().await;
        let fence = world.granted(&(&work_order_id).into()).await.fence;
        let bundle = output_bundle(&work_order_id, &cycle.objective_id, world.now().await);
        let commit = Commit::new(world.ids.commit_id(), Actor::Runner)
            .with(Write::Execute(valid(bundle)))
            .with(Write::GiveBack(Release::Unused));
        let refused = world.store.commit(commit.fenced(fence)).await;
        assert!(matches!(refused, Err(SubstrateError::Malformed(_))), "{refused:?}");
        assert_eq!(world.read().output_of(&work_order_id).await.unwrap(), None);
    }

    async fn c8_a_claiming_commit_is_held_by_a_live_claim_and_writes_nothing(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let event_id = cycle.emitted().await;
        world.granted(&(&event_id).into()).await;
        let owner = world.ids.owner_id();
        assert_eq!(cycle.schedule(&event_id, &owner, ROOM).await.unwrap(), CommitOutcome::Held);
        assert_eq!(world.read().stream().await.unwrap().open, 0);
        world.advance(LEASE_MS).await;
        let late = cycle.schedule_commit(&event_id, ROOM).await.claiming((&event_id).into(), world.ids.owner_id());
        assert_eq!(cycle.schedule(&event_id, &owner, ROOM).await.unwrap(), CommitOutcome::Done);
        let record = world.read().claim(&(&event_id).into()).await.unwrap().unwrap();
        assert_eq!((record.claim_version, record.lease_expires_at), (2, world.now().await));
        // W-5: another scheduler that had loaded the same event is too late.
        assert_eq!(world.store.commit(late).await.unwrap(), CommitOutcome::Held);
        assert_eq!(verify(world.read()).await.unwrap(), []);
    }

    async fn t36_runs_come_in_the_order_of_their_entries(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let first = cycle.run(GateResult::Fail).await;
        world.advance(-3_600_000).await;
        let second = cycle.run(GateResult::Pass).await;
        let runs = world.read().runs_of(&cycle.objective_id).await.unwrap();
        let ran: Vec<_> = runs.into_iter().map(|run| run.work_order_id).collect();
        assert_eq!(ran, [first, second]);
    }

    async fn c7_a_clock_that_jumps_back_never_shortens_a_lease(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let resource: ResourceRef = (&cycle.scheduled().await).into();
        let held = world.granted(&resource).await.fence;
        world.advance(-3_600_000).await;
        assert_eq!(world.acquire(&resource).await, ClaimOutcome::Held);
        assert_eq!(cycle.execute(held).await.unwrap(), CommitOutcome::Done);
        assert_eq!(verify(world.read()).await.unwrap(), []);
    }
}
