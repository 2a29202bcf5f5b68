//! S-1, S-3, S-j, S-4, C-1, C-2, TF-8, Y-1: what may change, from where to where.

use azolla_protocol::{CaptureId, Clock, ObjectiveStatus, ObjectiveType, lifecycle::is_allowed_change};
use azolla_testkit::{ManualClock, PatchCycle, TestStore};

use super::{allows, copy, refuses, together};
use crate::seed::{full, strings};

/// Moves a fresh objective from one status to another, in a transaction that leaves nothing behind.
fn move_status(of_type: ObjectiveType, from: ObjectiveStatus, to: ObjectiveStatus, base: &str) -> String {
    let (of_type, from) = (format!("'{of_type}'"), format!("'{from}'"));
    let changes = [("objective_id", "'obj-x'"), ("objective_type", &of_type), ("status", &from)];
    let insert = copy("objective", &format!("objective_id = '{base}'"), &changes);
    let update = "UPDATE objective SET version = version + 1, status";
    together([insert, format!("{update} = '{to}' WHERE objective_id = 'obj-x'")])
}

on_both_backends! {
    async fn s1_a_status_changes_by_a_row_of_the_table_only(world: TestStore) {
        let full = full(&world).await;
        let mut refused = Vec::new();
        for &from in ObjectiveStatus::ALL {
            for &to in ObjectiveStatus::ALL {
                let ticket = move_status(ObjectiveType::Ticket, from, to, full.open.as_str());
                let standing = move_status(ObjectiveType::Standing, from, to, full.open.as_str());
                match from == to || is_allowed_change(from, to) {
                    true => allows(&world, ticket).await,
                    false => refused.push((ticket, "objective.status S-1")),
                }
                match from == to {
                    true => allows(&world, standing).await,
                    false => refused.push((standing, "objective.status S-1")),
                }
            }
        }
        let (tickets, standing) = (25 - 5 - 10, 25 - 5);
        assert_eq!(refused.len(), tickets + standing);
        refuses(&world, refused).await;
    }

    async fn s3_an_objective_changes_with_its_version_only(world: TestStore) {
        let full = full(&world).await;
        let new = PatchCycle::created(&world).await.objective_id;
        let change = |change: &str| format!("UPDATE objective SET {change} WHERE objective_id = '{new}'");
        let mut attempts = vec![
            (change("version = version + 2"), "objective.version S-3"),
            (change("version = version - 1"), "objective.version S-3"),
            (change("version = version + 2, status = 'BLOCKED'"), "objective.version S-3"),
        ];
        for alone in [
            "title = 'x'",
            "acceptance_criteria = 'x'",
            "status = 'BLOCKED'",
            "importance = 0",
            "urgency = 0",
            "blocked_reason = 'x'",
            "blocked_on = '[1]'",
            "metadata = '{}'",
            "todo_entry = todo_entry + 1",
            "waiting = 1 - waiting",
            "confirmed = 1",
            "archived = 1",
        ] {
            attempts.push((change(alone), "objective.version S-3"));
            allows(&world, together([change(&format!("version = version + 1, {alone}"))])).await;
        }
        for fixed in [
            "objective_id = 'obj-x'",
            "azolla_id = 'az-x'",
            "objective_type = 'STANDING'",
            "created_at = 'x'",
        ] {
            attempts.push((change(fixed), "objective.objective_id A-2"));
        }
        let running = |change: &str| {
            format!(
                "UPDATE objective SET version = version + 1, {change} WHERE objective_id = '{}'",
                full.open
            )
        };
        let approved = |change: &str| {
            format!(
                "UPDATE objective SET version = version + 1, {change} WHERE objective_id = '{}'",
                full.todo
            )
        };
        for kept in [
            "title = 'x'",
            "acceptance_criteria = 'x'",
            "metadata = '{\"repo_ref\":\"/repos/app\"}'",
            "metadata = '{\"base_branch\":\"main\",\"repo_ref\":\"/x\"}'",
        ] {
            attempts.push((running(kept), "objective.title S-3"));
            attempts.push((approved(kept), "objective.title S-3"));
            allows(&world, together([approved(&format!("status = 'NEW', {kept}"))])).await;
        }
        refuses(&world, attempts).await;
        allows(&world, together([running("importance = 0, urgency = 0, blocked_on = '[1]'")])).await;
    }

    async fn sj_a_confirmed_objective_is_final(world: TestStore) {
        let full = full(&world).await;
        let change = |change: &str| {
            format!(
                "UPDATE objective SET version = version + 1, {change} WHERE objective_id = '{}'",
                full.done
            )
        };
        refuses(
            &world,
            vec![
                (change("confirmed = 0"), "objective.status S-j"),
                (change("status = 'TODO'"), "objective.status S-j"),
                (change("metadata = '{}'"), "objective.status S-j"),
            ],
        )
        .await;
    }

    async fn s4_a_capture_is_kept_as_it_came_and_processed_once(world: TestStore) {
        let full = full(&world).await;
        let of = |id: &CaptureId, change: &str| {
            format!("UPDATE capture_buffer SET {change} WHERE capture_id = '{id}'")
        };
        let mut attempts = vec![(of(&full.processed, "status = 'PENDING'"), "capture_buffer.status S-4")];
        for change in [
            "capture_id = 'cap-x'",
            "azolla_id = 'az-x'",
            "raw_content = 'x'",
            "source_label = 'x'",
            "created_at = 'x'",
        ] {
            attempts.push((of(&full.pending, change), "capture_buffer.raw_content A-2"));
        }
        refuses(&world, attempts).await;
        allows(&world, together([of(&full.pending, "status = 'PROCESSED', updated_at = 'x'")])).await;
    }

    async fn w2_what_was_used_up_before_a_retry_only_grows_up_to_what_was_used(world: TestStore) {
        let full = full(&world).await;
        let change =
            |change: &str| format!("UPDATE capture_buffer SET {change} WHERE capture_id = '{}'", full.pending);
        let (tried, retried) = (change("attempts = 3"), change("attempts_before = 2"));
        let rule = "capture_buffer.attempts_before W-2";
        let fresh = copy(
            "capture_buffer",
            "status = 'PENDING'",
            &[("capture_id", "'cap-x'"), ("attempts_before", "1")],
        );
        refuses(
            &world,
            vec![
                (fresh, rule),
                (change("attempts_before = 1"), rule),
                (change("attempts_before = -1"), rule),
                (together([tried.clone(), change("attempts_before = 4")]), rule),
                (together([tried.clone(), retried.clone(), change("attempts_before = 1")]), rule),
                (together([tried.clone(), retried.clone(), change("attempts = 2, attempts_before = 1")]), " W-2"),
            ],
        )
        .await;
        allows(&world, together([tried, retried, change("attempts_before = 3, held = 1"), change("held = 0")])).await;
    }

    async fn c1_c2_a_claim_changes_hands_only_after_it_expired_and_with_the_next_version(world: TestStore) {
        let full = full(&world).await;
        let before = world.read().claim(&full.fence.resource).await.unwrap();
        let live =
            |change: &str| format!("UPDATE claim_record SET {change} WHERE resource_id = '{}'", full.created);
        let ended = |change: &str| {
            format!("UPDATE claim_record SET {change} WHERE resource_id = 'evt-{}'", full.created.body())
        };
        let now = world.now().await;
        let taken = |granted_at: &str| {
            format!("claim_version = claim_version + 1, owner_id = 'own-x', granted_at = {granted_at}")
        };
        refuses(
            &world,
            vec![
                (live("claim_version = claim_version - 1"), "claim_record.claim_version C-2"),
                (
                    live("claim_version = claim_version + 2, granted_at = lease_expires_at"),
                    "claim_record.claim_version C-2",
                ),
                (ended("claim_version = claim_version + 2"), "claim_record.claim_version C-2"),
                (live("owner_id = 'own-x'"), "claim_record.owner_id C-1"),
                (live("granted_at = 'x'"), "claim_record.owner_id C-1"),
                (ended("released_at = NULL"), "claim_record.owner_id C-1"),
                (live(&taken(&format!("'{now}'"))), "claim_record.lease_expires_at C-1"),
                (live("resource_id = 'wo-x'"), "claim_record.resource_id C-2"),
                (live("resource_type = 'EVENT'"), "claim_record.resource_id C-2"),
                (
                    copy(
                        "claim_record",
                        &format!("resource_id = '{}'", full.created),
                        &[("owner_id", "'own-x'")],
                    ),
                    "claim_record.resource_id C-1",
                ),
                (
                    format!("DELETE FROM claim_record WHERE resource_id = '{}'", full.created),
                    "claim_record.claim_version C-2",
                ),
            ],
        )
        .await;
        assert_eq!(world.read().claim(&full.fence.resource).await.unwrap(), before);
        allows(&world, together([live(&taken("lease_expires_at"))])).await;
        allows(&world, together([live("lease_expires_at = '9', heartbeat_at = '9'")])).await;
    }

    async fn tf8_an_outcome_but_deferred_is_recorded_once_and_taken_back_as_it_stands(world: TestStore) {
        full(&world).await;
        let of = |outcome: &str, change: &str| {
            format!("UPDATE candidate_resolution SET {change} WHERE outcome = '{outcome}'")
        };
        let upsert = |from: &str, to: &str| {
            format!(
                "{} ON CONFLICT (output_id, candidate_index) DO UPDATE SET outcome = excluded.outcome,
                 taken_back = excluded.taken_back",
                copy("candidate_resolution", &format!("outcome = '{from}'"), &[("outcome", to), ("taken_back", "0")])
            )
        };
        let rule = "candidate_resolution.outcome TF-8";
        let mut attempts = vec![
            (of("PROMOTED", "resolved_by = 'x'"), rule),
            (of("DISCARDED", "resolved_by = 'x'"), rule),
            (of("DEFERRED", "candidate_index = 7"), rule),
            (of("DEFERRED", "output_id = 'out-x'"), rule),
        ];
        let outcomes = ["PROMOTED", "DISCARDED", "DEFERRED", "DUPLICATE"];
        let back = "taken_back = 1";
        for from in ["PROMOTED", "DISCARDED", "DEFERRED"] {
            for to in outcomes {
                let change = of(from, &format!("outcome = '{to}', resolved_by = 'x', created_at = 'x'"));
                let again = upsert(from, &format!("'{to}'"));
                match from == "DEFERRED" {
                    true => allows(&world, together([again.clone()])).await,
                    false => attempts.extend([(again.clone(), rule), (change.clone(), rule)]),
                }
                // Once it is taken back, anything can follow, and nothing but an outcome that stands.
                allows(&world, together([of(from, back), again])).await;
                attempts.push((together([of(from, back), change]), rule));
            }
            for with in ["outcome = 'DUPLICATE'", "resolved_by = 'x'", "created_at = 'x'", "objective_id = 'obj-x'"] {
                attempts.push((of(from, &format!("{back}, {with}")), rule));
            }
            attempts.push((together([of(from, back), of(from, back)]), rule));
            allows(&world, together([of(from, back), of(from, "taken_back = 0, outcome = 'DEFERRED'")])).await;
        }
        assert_eq!(attempts.len(), 4 + 2 * 2 * 4 + 3 * (4 + 4 + 1));
        refuses(&world, attempts).await;
    }

    async fn o3_a_candidate_is_open_unless_a_resolution_of_it_stands(world: TestStore) {
        let full = full(&world).await;
        let rule = "candidate.open O-3";
        let closed = copy("candidate", "candidate_index = 3", &[("candidate_index", "4"), ("open", "0")]);
        let resolve = copy("candidate_resolution", "candidate_index = 0", &[("candidate_index", "3")]);
        let mut attempts = vec![(closed, rule)];
        for change in [
            "open = 1 WHERE open = 0",
            "open = 0 WHERE open = 0",
            "open = 1 WHERE open = 1",
            "open = 0 WHERE open = 1",
            "candidate_index = 7 WHERE open = 1",
            "candidate_index = 7, open = 0 WHERE open = 1",
            "output_id = 'out-x' WHERE open = 1",
        ] {
            attempts.push((format!("UPDATE candidate SET {change}"), rule));
        }
        attempts.push((together([resolve.clone(), "UPDATE candidate SET open = 1".to_owned()]), rule));
        refuses(&world, attempts).await;
        allows(&world, together([resolve.clone()])).await;
        // By the resolution itself, in its own statement.
        let open = async || strings(&world, "SELECT CAST(candidate_index AS TEXT) FROM candidate WHERE open = 1").await;
        world.raw(&resolve).await.unwrap();
        assert_eq!(open().await, [] as [&str; 0], "{}", full.triaged);
        world.raw("UPDATE candidate_resolution SET taken_back = 1 WHERE candidate_index <> 1").await.unwrap();
        assert_eq!(open().await, ["0", "2", "3"]);
        world.raw("UPDATE candidate_resolution SET taken_back = 0, outcome = 'DISCARDED' WHERE candidate_index = 3")
            .await
            .unwrap();
        assert_eq!(open().await, ["0", "2"]);
    }

    async fn d1_a_deadline_has_an_urgency_and_comes_once_a_day_unless_that_rises(world: TestStore) {
        let full = full(&world).await;
        let of_event = copy(
            "pause_state",
            &format!("work_order_id = '{}'", full.gated),
            &[
                ("pause_key", "'x'"),
                ("work_order_id", "NULL"),
                ("event_id", &format!("'{}'", full.pending_event)),
                ("urgency", "2"),
            ],
        );
        // The one that is there is of urgency 2; a lower number is more urgent.
        let deadline = |ms: i64, urgency: &str, more: &[(&str, &str)]| {
            let at = format!("'{}'", ManualClock::default().now().plus_ms(ms));
            let key = format!("'deadline:{ms}:{urgency}'");
            let changes = [("pause_key", key.as_str()), ("created_at", &at), ("urgency", urgency)];
            copy("pause_state", "objective_id = 'obj-other'", &[more, &changes[..]].concat())
        };
        let (day, once) = (86_400_000, "pause_state.created_at D-1");
        let mut attempts = vec![
            (deadline(day, "NULL", &[]), "pause_state.urgency D-1"),
            (deadline(day, "5", &[]), "pause_state.urgency D-1"),
            (deadline(day, "-1", &[]), "pause_state.urgency D-1"),
            (of_event, "pause_state.urgency D-1"),
        ];
        for urgency in ["2", "3", "4"] {
            for ms in [1, day - 1] {
                attempts.push((deadline(ms, urgency, &[]), once));
            }
            allows(&world, together([deadline(day, urgency, &[])])).await;
        }
        for urgency in ["0", "1"] {
            // A rise is heard at once, and then counts itself. In the very same instant there is no rise.
            allows(&world, together([deadline(1, urgency, &[])])).await;
            attempts.push((together([deadline(1, urgency, &[]), deadline(2, urgency, &[])]), once));
            attempts.push((deadline(0, urgency, &[]), once));
            // Before it, less urgent ones are as they would have come.
            attempts.push((deadline(-1, urgency, &[]), once));
        }
        allows(&world, together([deadline(-1, "3", &[])])).await;
        allows(&world, together([deadline(-day, "2", &[])])).await;
        // Of another objective, and of the same name in another azolla.
        allows(&world, together([deadline(1, "2", &[("objective_id", "'obj-x'")])])).await;
        allows(&world, together([deadline(1, "2", &[("azolla_id", "'az-x'")])])).await;
        refuses(&world, attempts).await;
    }

    async fn d1_a_snooze_is_of_its_objective(world: TestStore) {
        full(&world).await;
        let rule = "snooze.objective_id D-1";
        refuses(
            &world,
            vec![
                ("UPDATE snooze SET azolla_id = 'az-x'".to_owned(), rule),
                ("UPDATE snooze SET objective_id = 'obj-x'".to_owned(), rule),
            ],
        )
        .await;
        allows(&world, together(["UPDATE snooze SET until = 'x'".to_owned()])).await;
    }

    async fn y1_the_azolla_of_a_store_is_fixed(world: TestStore) {
        full(&world).await;
        let mut attempts = vec![
            (copy("azolla", "one = 1", &[("azolla_id", "'az-x'")]), "azolla.azolla_id Y-1"),
            (copy("azolla", "one = 1", &[("one", "2"), ("azolla_id", "'az-x'")]), "azolla.azolla_id Y-1"),
        ];
        for change in
            ["one = 2", "azolla_id = 'az-x'", "azolla_type = 'TASK_MGMT_AZOLLA'", "created_at = 'x'"]
        {
            attempts.push((format!("UPDATE azolla SET {change}"), "azolla.azolla_id Y-1"));
        }
        refuses(&world, attempts).await;
    }
}
