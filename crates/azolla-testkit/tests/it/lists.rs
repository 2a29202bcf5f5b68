//! The lists of the screens: pages by key, the newest first.

use azolla_protocol::{
    Actor, GateResult, Objective, ObjectiveId, ObjectiveStatus, RunId, lifecycle::ObjectiveStep,
};
use azolla_substrate::{Before, Commit, ObjectiveMark, StoredObjective, SubstrateRead, Tickets, Write};
use azolla_testkit::{PatchCycle, TestStore, cycle::valid};

/// Reads page after page to the end.
async fn all(read: &dyn SubstrateRead, which: Tickets, limit: u64) -> Vec<ObjectiveId> {
    let mut found: Vec<StoredObjective> = Vec::new();
    loop {
        let before = found.last().map(|last| Before {
            created_at: last.objective.created_at,
            id: last.objective.objective_id.to_string(),
        });
        let page = read.tickets_before(which, before.as_ref(), limit).await.unwrap();
        assert!(page.len() as u64 <= limit);
        if page.is_empty() {
            return found.into_iter().map(|stored| stored.objective.objective_id).collect();
        }
        found.extend(page);
    }
}

/// Takes a step that also writes a key of the metadata.
async fn step(cycle: &PatchCycle<'_>, step: ObjectiveStep, key: &str, value: serde_json::Value) {
    let (was, now) = (cycle.stored().await, cycle.world.now().await);
    let mut next = Objective { updated_at: now, ..was.objective.clone() };
    next.metadata.insert(key.to_owned(), value);
    let write = Write::AdvanceObjective { was: ObjectiveMark::from(&was), step, next: valid(next) };
    let commit = Commit::new(cycle.world.ids.commit_id(), Actor::Operator).with(write);
    cycle.world.store.commit(commit).await.unwrap();
}

on_both_backends! {
    async fn a_list_of_what_is_open_tells_whether_it_is_whole(world: TestStore) {
        for _ in 0..3 {
            PatchCycle::created(&world).await;
        }
        for (limit, count, are_all) in [(2, 2, false), (3, 3, true), (4, 3, true)] {
            let found = world.read().open_objectives_and_whether_all(limit).await.unwrap();
            assert_eq!((found.0.len(), found.1), (count, are_all), "at most {limit}");
        }
    }

    async fn tickets_and_runs_are_paged_by_key_newest_first(world: TestStore) {
        let mut made = Vec::new();
        for at in 0..7 {
            // Two of them in the same instant: the id tells them apart.
            if at != 3 {
                world.advance(1_000).await;
            }
            made.push(PatchCycle::todo(&world).await);
        }
        let new = PatchCycle::created(&world).await;
        let archived = PatchCycle::created(&world).await;
        let now = serde_json::json!(world.now().await);
        step(&archived, ObjectiveStep::Archive, "archived_at", now).await;
        let mut passed: Vec<RunId> = Vec::new();
        for cycle in &made[..2] {
            world.advance(1_000).await;
            passed.push(RunId::of(&cycle.run(GateResult::Pass).await));
        }
        world.advance(1_000).await;
        passed.push(RunId::of(&made[2].run(GateResult::Fail).await));
        made[2].advance(Actor::Operator, ObjectiveStep::Block, ObjectiveStatus::Blocked).await;
        let completion = serde_json::json!({"confirmed_by": "op", "confirmed_at": world.now().await,
                                            "run_id": passed[0]});
        step(&made[0], ObjectiveStep::Confirm, "completion", completion).await;
        let mut newest: Vec<_> = Vec::new();
        for cycle in made.iter().chain([&new]) {
            newest.push(cycle.stored().await.objective);
        }
        newest.sort_by_key(|objective| std::cmp::Reverse((objective.created_at, objective.objective_id.clone())));
        let newest: Vec<_> = newest.into_iter().map(|objective| objective.objective_id).collect();
        for limit in [1, 2, 3, 10] {
            assert_eq!(all(world.read(), Tickets::All, limit).await, newest, "{limit} on a page");
            for (which, only) in [(Tickets::New, &new), (Tickets::Confirmed, &made[0]), (Tickets::Archived, &archived)]
            {
                assert_eq!(all(world.read(), which, limit).await, std::slice::from_ref(&only.objective_id));
            }
            let blocked = all(world.read(), Tickets::Blocked, limit).await;
            assert_eq!(blocked, std::slice::from_ref(&made[2].objective_id));
        }
        let (mut runs, mut before) = (Vec::new(), None);
        loop {
            let page = world.read().runs_listed(before.as_ref(), 2).await.unwrap();
            let Some(last) = page.last() else { break };
            before = Some(Before { created_at: last.created_at, id: last.run_id.to_string() });
            runs.extend(page.into_iter().map(|run| run.run_id));
        }
        passed.reverse();
        assert_eq!(runs, passed);
    }
}
