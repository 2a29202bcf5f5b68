//! W-1, W-2, W-4, W-5, W-6, B-2, B-3: what happens once, or one at a time.

use azolla_protocol::WorkOrderId;
use azolla_testkit::TestStore;

use super::{allows, copy, refuses, together};
use crate::seed::{Full, full};

/// A second workorder for the open objective in one transaction with a snapshot of its own.
fn second_workorder(full: &Full, changes: &[(&str, &str)]) -> String {
    let event_id = format!("'{}'", full.todo_event);
    let fresh = [
        ("work_order_id", "'wo-x'"),
        ("context_snapshot_id", "'snap-x'"),
        ("event_id", event_id.as_str()),
        ("stream_slot", "1"),
    ];
    together([
        copy("context_snapshot", &format!("objective_id = '{}'", full.open), &[("snapshot_id", "'snap-x'")]),
        copy("workorder", &format!("work_order_id = '{}'", full.created), &[changes, &fresh[..]].concat()),
    ])
}

on_both_backends! {
    async fn w1_one_event_per_entry_into_todo(world: TestStore) {
        let full = full(&world).await;
        let ticket = format!("event_id = '{}'", full.todo_event);
        let manifest = format!("event_id = '{}'", full.manifest_event);
        let fresh = ("event_id", "'evt-x'");
        refuses(
            &world,
            vec![
                (copy("event", &ticket, &[fresh]), "event.entry W-1"),
                (
                    copy(
                        "event",
                        &ticket,
                        &[
                            fresh,
                            ("processed", "1"),
                            ("processed_reason", "'BLOCKED'"),
                            ("processed_at", "'x'"),
                        ],
                    ),
                    "event.entry W-1",
                ),
                (copy("event", &ticket, &[fresh, ("entry", "NULL")]), "event.entry W-1"),
                (copy("event", &ticket, &[fresh, ("entry", "0")]), "event.entry W-1"),
                (
                    copy(
                        "event",
                        &manifest,
                        &[
                            fresh,
                            ("entry", "1"),
                            ("processed", "1"),
                            ("processed_reason", "'SCHEDULED'"),
                            ("processed_at", "'x'"),
                        ],
                    ),
                    "event.entry W-1",
                ),
                (
                    format!(
                        "UPDATE objective SET todo_entry = todo_entry - 1, version = version + 1
                      WHERE objective_id = '{}'",
                        full.todo
                    ),
                    "objective.todo_entry W-1",
                ),
            ],
        )
        .await;
        allows(&world, together([copy("event", &ticket, &[fresh, ("entry", "3")])])).await;
    }

    async fn w2_one_unprocessed_event_per_capture_and_one_for_a_manifest(world: TestStore) {
        let full = full(&world).await;
        let (ready, fresh) = (format!("event_id = '{}'", full.pending_event), ("event_id", "'evt-x'"));
        let done = [("processed", "1"), ("processed_reason", "'SCHEDULED'"), ("processed_at", "'x'")];
        let manifest = format!("event_id = '{}'", full.manifest_event);
        refuses(
            &world,
            vec![
                (copy("event", &ready, &[fresh, ("entry", "2")]), "event.resource_id W-2"),
                (copy("event", &manifest, &[fresh]), "event.resource_id W-2"),
                (
                    format!(
                        "UPDATE capture_buffer SET attempts = attempts - 1 WHERE capture_id = '{}'",
                        full.pending
                    ),
                    "capture_buffer.attempts W-2",
                ),
            ],
        )
        .await;
        // Beside processed ones there may be any number.
        allows(
            &world,
            together([
                copy("event", &ready, &[&[fresh, ("entry", "2")], &done[..]].concat()),
                copy("event", &manifest, &[&[("event_id", "'evt-y'")], &done[..]].concat()),
            ]),
        )
        .await;
    }

    async fn w4_a_place_in_the_stream_is_one_of_three_and_held_until_the_run_record(world: TestStore) {
        let full = full(&world).await;
        let slot = |id: &WorkOrderId, to: &str| {
            format!("UPDATE workorder SET stream_slot = {to} WHERE work_order_id = '{id}'")
        };
        let executed = [
            copy(
                "output_bundle",
                &format!("work_order_id = '{}'", full.gated),
                &[
                    ("output_id", "'out-x'"),
                    ("work_order_id", &format!("'{}'", full.created)),
                    ("objective_id", &format!("'{}'", full.open)),
                ],
            ),
            format!("UPDATE workorder SET status = 'EXECUTED' WHERE work_order_id = '{}'", full.created),
        ];
        let [bundle, execute] = executed;
        let rule = "workorder.stream_slot W-4";
        refuses(
            &world,
            vec![
                (second_workorder(&full, &[("stream_slot", "0")]), rule),
                (second_workorder(&full, &[("stream_slot", "3")]), rule),
                (second_workorder(&full, &[("stream_slot", "-1")]), rule),
                (second_workorder(&full, &[("stream_slot", "NULL")]), rule),
                (slot(&full.created, "NULL"), rule),
                (slot(&full.created, "1"), rule),
                (together([bundle, execute, slot(&full.created, "NULL")]), rule),
                (slot(&full.gated, "1"), rule),
            ],
        )
        .await;
        for place in ["1", "2"] {
            allows(&world, second_workorder(&full, &[("stream_slot", place)])).await;
        }
    }

    async fn w5_nothing_is_made_twice_for_the_same_thing(world: TestStore) {
        let full = full(&world).await;
        let of_gated = format!("work_order_id = '{}'", full.gated);
        let (gated_event, event) = (format!("'evt-{}'", full.gated.body()), format!("'{}'", full.todo_event));
        let snapshot = format!("'snap-{}'", full.created.body());
        let pause = |key: &'static str| {
            copy(
                "pause_state",
                &of_gated,
                &[("pause_key", key), ("work_order_id", "NULL"), ("event_id", event.as_str())],
            )
        };
        refuses(
            &world,
            vec![
                (second_workorder(&full, &[("event_id", &gated_event)]), "workorder.event_id W-5"),
                (
                    second_workorder(&full, &[("context_snapshot_id", &snapshot)]),
                    "workorder.context_snapshot_id W-5",
                ),
                (
                    copy("output_bundle", &of_gated, &[("output_id", "'out-x'")]),
                    "output_bundle.work_order_id W-5",
                ),
                (copy("run_record", &of_gated, &[("run_id", "'run-x'")]), "run_record.work_order_id W-5"),
                (copy("pause_state", &of_gated, &[("pause_key", "'x'")]), "pause_state.pause_key A-1"),
                (together([pause("'x'"), pause("'y'")]), "pause_state.pause_key A-1"),
                (
                    copy("session_manifest", &of_gated, &[("manifest_id", "'man-x'")]),
                    "session_manifest.manifest_id A-1",
                ),
            ],
        )
        .await;
        allows(&world, together([pause("'x'")])).await;
    }

    async fn w6_an_event_is_processed_once(world: TestStore) {
        let full = full(&world).await;
        let open = |change: &str| format!("UPDATE event SET {change} WHERE event_id = '{}'", full.todo_event);
        let closed =
            |change: &str| format!("UPDATE event SET {change} WHERE event_id = 'evt-{}'", full.gated.body());
        let process = "processed = 1, processed_reason = 'BLOCKED', processed_at = 'x'";
        let once = "event.processed W-6";
        let mut attempts = vec![
            (closed("processed = 0, processed_reason = NULL, processed_at = NULL"), once),
            (closed("processed_reason = 'BLOCKED'"), once),
            (closed("processed_at = 'x'"), once),
            (closed(process), once),
            (open("processed = 1"), once),
            (open("processed = 1, processed_reason = 'BLOCKED'"), once),
            (open("processed_reason = 'BLOCKED'"), once),
        ];
        for change in [
            "event_id = 'evt-x'",
            "type = 'CAPTURE_READY'",
            "resource_id = 'obj-x'",
            "azolla_id = 'az-x'",
            "created_at = 'x'",
            "entry = 7",
        ] {
            attempts.push((open(change), " W-6"));
            attempts.push((open(&format!("{process}, {change}")), "event.event_id W-6"));
        }
        refuses(&world, attempts).await;
        allows(&world, together([open(process)])).await;
    }

    async fn w6_b3_a_workorder_is_executed_once_and_only_with_its_bundle(world: TestStore) {
        let full = full(&world).await;
        let of = |id: &WorkOrderId, change: &str| {
            format!("UPDATE workorder SET {change} WHERE work_order_id = '{id}'")
        };
        let mut attempts = vec![
            (of(&full.gated, "status = 'CREATED'"), "workorder.status W-6"),
            (of(&full.created, "status = 'EXECUTED'"), "workorder.status B-3"),
            (
                of(&full.gated, "budget_consumed_ms = budget_consumed_ms - 1"),
                "workorder.budget_consumed_ms B-2",
            ),
        ];
        for change in [
            "work_order_id = 'wo-x'",
            "objective_id = 'obj-x'",
            "diazotroph_type = 'TRIAGE_DIAZOTROPH'",
            "context_snapshot_id = 'snap-x'",
            "branch_name = NULL",
            "budget_ms = 1",
            "created_at = 'x'",
            "event_id = 'evt-x'",
        ] {
            attempts.push((of(&full.created, change), "workorder.work_order_id W-6"));
        }
        refuses(&world, attempts).await;
    }
}
