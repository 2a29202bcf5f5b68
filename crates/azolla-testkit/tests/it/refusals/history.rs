//! and the journal: what a store remembers of a cycle.

use azolla_protocol::{
    Actor, GateResult, JournalEntry, JsonObject, Objective, ObjectiveStatus, lifecycle::ObjectiveStep,
};
use azolla_substrate::{ObjectiveMark, Write};
use azolla_testkit::{PatchCycle, TestStore, cycle::valid};
use serde_json::json;

use crate::seed::exported;

on_both_backends! {
    async fn a4_every_version_of_an_objective_is_kept(world: TestStore) {
        let cycle = PatchCycle::created(&world).await;
        let mut versions = vec![cycle.stored().await.objective];
        world.advance(1_000).await;
        cycle.advance(Actor::Operator, ObjectiveStep::Approve, ObjectiveStatus::Todo).await;
        versions.push(cycle.stored().await.objective);
        world.advance(1_000).await;
        let stored = cycle.stored().await;
        let next = Objective { urgency: 0, updated_at: world.now().await, ..stored.objective.clone() };
        world.done(Actor::Operator, Write::EditObjective { was: (&stored).into(), next: valid(next) }).await;
        versions.push(cycle.stored().await.objective);
        world.advance(1_000).await;
        cycle.scheduled().await;
        versions.push(cycle.stored().await.objective);

        let mut kept = Vec::new();
        for version in 1..=4 {
            kept.extend(world.read().objective_at(&cycle.objective_id, version).await.unwrap());
        }
        assert_eq!(kept, versions);
        for version in [0, 5] {
            assert_eq!(world.read().objective_at(&cycle.objective_id, version).await.unwrap(), None);
        }
    }

    async fn a6_a_pause_state_is_current_until_the_next_one_or_an_operators_step(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        assert_eq!(world.read().current_pause_states().await.unwrap(), []);
        let first = cycle.run(GateResult::Fail).await;
        let first = world.read().pause_state(&format!("workorder:{first}")).await.unwrap().unwrap();
        assert_eq!(world.read().current_pause_states().await.unwrap(), vec![first.clone()]);

        // The next cycle of the same objective: its pause_state takes the place of the first, which stays.
        world.advance(1_000).await;
        let second = cycle.run(GateResult::Pass).await;
        let key = format!("workorder:{second}");
        let second = world.read().pause_state(&key).await.unwrap().unwrap();
        assert_ne!(second, first);
        assert_eq!(world.read().current_pause_states().await.unwrap(), vec![second.clone()]);
        assert_eq!(cycle.stored().await.pause_key, Some(key.clone()));

        let stored = cycle.stored().await;
        let urgent = Objective { urgency: 0, ..stored.objective.clone() };
        world
            .done(Actor::Operator, Write::EditObjective { was: (&stored).into(), next: valid(urgent) })
            .await;
        assert_eq!(world.read().current_pause_states().await.unwrap(), []);
        assert_eq!(cycle.stored().await.pause_key, None);
        assert_eq!(world.read().pause_state(&key).await.unwrap(), Some(second));
    }

    async fn so_an_archived_objective_is_hidden_from_readiness_and_comes_back(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let waiting = async || world.read().objectives_awaiting_event(9).await.unwrap().len();
        assert_eq!(waiting().await, 1);
        for (step, left) in [(ObjectiveStep::Archive, 0), (ObjectiveStep::Unarchive, 1)] {
            let stored = cycle.stored().await;
            let mut next = stored.objective.clone();
            match step {
                ObjectiveStep::Archive => {
                    next.metadata.insert("archived_at".into(), json!(world.now().await));
                }
                _ => drop(next.metadata.remove("archived_at")),
            }
            let was = ObjectiveMark::from(&stored);
            world.done(Actor::Operator, Write::AdvanceObjective { was, step, next: valid(next) }).await;
            assert_eq!(waiting().await, left);
            // No new entry into TODO, so no second event for the old one.
            assert_eq!(cycle.stored().await.todo_entry, 1);
        }
        // Both are S-o, from TODO to TODO: the journal says which was which.
        let journal = world.read().journal_of(cycle.objective_id.as_str()).await.unwrap();
        let details: Vec<_> = journal.into_iter().filter_map(|entry| entry.detail).collect();
        let archived = |archived: bool| JsonObject::from_iter([("archived".to_owned(), json!(archived))]);
        assert_eq!(details, [archived(true), archived(false)]);
    }

    async fn the_journal_tells_a_cycle_in_order(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        cycle.run(GateResult::Pass).await;
        // From the export: a follower may get the last rows later, while other transactions run on the server.
        let lines = exported(&world).await;
        let journal: Vec<JournalEntry> = lines
            .lines()
            .filter(|line| line.contains("\"kind\":\"journal\""))
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["document"].take())
            .map(|document| serde_json::from_value(document).unwrap())
            .collect();
        let told: Vec<_> = journal
            .iter()
            .map(|entry| {
                let status = |status: &Option<String>| status.clone().unwrap_or_default();
                let claim = entry.claim_version.map_or_else(String::new, |version| format!(" [{version}]"));
                let change = format!("{}>{}", status(&entry.from_status), status(&entry.to_status));
                format!("{} {} {} {change}{claim}", entry.actor, entry.step, entry.resource_type)
            })
            .collect();
        assert_eq!(
            told,
            [
                "OPERATOR S-a objective >NEW",
                "OPERATOR S-b objective NEW>TODO",
                "READINESS EMIT event >TICKET_READY",
                "SCHEDULER GRANT event > [1]",
                "SCHEDULER INSERT context_snapshot > [1]",
                "SCHEDULER INSERT workorder >CREATED [1]",
                "SCHEDULER S-c objective TODO>IN_PROGRESS [1]",
                "SCHEDULER PROCESS event >SCHEDULED [1]",
                "SCHEDULER RELEASE event > [1]",
                "RUNNER GRANT workorder > [1]",
                "RUNNER INSERT output_bundle >COMPLETED [1]",
                "RUNNER EXECUTE workorder CREATED>EXECUTED [1]",
                "RUNNER RELEASE workorder > [1]",
                "RUNNER GRANT workorder > [2]",
                "GATE INSERT run_record >PASS [2]",
                "GATE GATE workorder EXECUTED>EXECUTED [2]",
                "GATE S-e objective IN_PROGRESS>DONE [2]",
                "GATE INSERT pause_state >RUN_COMPLETE [2]",
                "GATE RELEASE workorder > [2]",
            ]
        );
        let numbers: Vec<_> = journal.iter().map(|entry| entry.seq).collect();
        assert!(numbers.is_sorted() && numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    }
}
