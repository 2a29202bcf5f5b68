//! no link points to nothing, and links that go the long way round agree.

use azolla_protocol::{OutputId, RunId};
use azolla_testkit::TestStore;

use super::{allows, copy, refuses, together};
use crate::seed::full;

on_both_backends! {
    async fn a3_a_link_to_nothing_is_refused(world: TestStore) {
        let full = full(&world).await;
        let (created, open) = (format!("'{}'", full.created), format!("'{}'", full.open));
        let todo_event = format!("'{}'", full.todo_event);
        let of_gated = format!("work_order_id = '{}'", full.gated);
        let snapshot = format!("snapshot_id = 'snap-{}'", full.created.body());
        let workorder = |changes: &[(&str, &str)]| {
            let fresh =
                [("work_order_id", "'wo-x'"), ("stream_slot", "1"), ("event_id", todo_event.as_str())];
            copy("workorder", &format!("work_order_id = {created}"), &[changes, &fresh[..]].concat())
        };
        let run = |changes: &[(&str, &str)]| {
            copy("run_record", &of_gated, &[changes, &[("run_id", "'run-x'")]].concat())
        };
        let bundle = |changes: &[(&str, &str)]| {
            copy("output_bundle", &of_gated, &[changes, &[("output_id", "'out-x'")]].concat())
        };
        let pause = |changes: &[(&str, &str)]| {
            copy("pause_state", &of_gated, &[changes, &[("pause_key", "'x'")]].concat())
        };
        refuses(
            &world,
            vec![
                (
                    copy(
                        "objective_version",
                        &format!("version = 1 AND objective_id = {open}"),
                        &[("objective_id", "'obj-none'")],
                    ),
                    "objective_version.objective_id A-4",
                ),
                (
                    copy(
                        "context_snapshot",
                        &snapshot,
                        &[("snapshot_id", "'snap-x'"), ("objective_id", "'obj-none'")],
                    ),
                    "context_snapshot.objective_id A-3",
                ),
                (
                    copy(
                        "context_snapshot",
                        &snapshot,
                        &[("snapshot_id", "'snap-x'"), ("objective_version", "99")],
                    ),
                    "context_snapshot.objective_id A-3",
                ),
                (
                    workorder(&[("objective_id", "'obj-none'"), ("context_snapshot_id", "'snap-none'")]),
                    "workorder.objective_id A-3",
                ),
                (workorder(&[("context_snapshot_id", "'snap-none'")]), "workorder.context_snapshot_id A-3"),
                (
                    together([
                        copy("context_snapshot", &snapshot, &[("snapshot_id", "'snap-x'")]),
                        workorder(&[("context_snapshot_id", "'snap-x'"), ("event_id", "'evt-none'")]),
                    ]),
                    "workorder.event_id A-3",
                ),
                (bundle(&[("work_order_id", "'wo-none'")]), "output_bundle.work_order_id A-3"),
                (
                    bundle(&[("work_order_id", &created), ("objective_id", "'obj-none'")]),
                    "output_bundle.objective_id A-3",
                ),
                (
                    run(&[("work_order_id", "'wo-none'"), ("output_id", "'out-none'")]),
                    "run_record.work_order_id A-3",
                ),
                (
                    run(&[("work_order_id", &created), ("objective_id", &open), ("output_id", "'out-none'")]),
                    "run_record.output_id A-3",
                ),
                (copy("gate_evidence", &of_gated, &[("run_id", "'run-none'")]), "gate_evidence.run_id A-3"),
                (
                    copy(
                        "gate_evidence",
                        &of_gated,
                        &[("run_id", "'run-none'"), ("work_order_id", "'wo-none'")],
                    ),
                    "gate_evidence.run_id A-3",
                ),
                (
                    copy("usage_record", &of_gated, &[("work_order_id", "'wo-none'")]),
                    "usage_record.work_order_id A-3",
                ),
                (pause(&[("work_order_id", "'wo-none'")]), "pause_state.work_order_id A-3"),
                (pause(&[("work_order_id", "NULL"), ("event_id", "'evt-none'")]), "pause_state.event_id A-3"),
                (
                    pause(&[
                        ("work_order_id", "NULL"),
                        ("objective_id", "'obj-none'"),
                        ("local_objective_id", "'obj-none'"),
                        ("urgency", "2"),
                    ]),
                    "pause_state.objective_id A-3",
                ),
                (
                    copy(
                        "session_manifest",
                        &of_gated,
                        &[("manifest_id", "'man-x'"), ("work_order_id", "'wo-none'")],
                    ),
                    "session_manifest.work_order_id A-3",
                ),
                (
                    copy("candidate", "open = 1", &[("output_id", "'out-none'")]),
                    "candidate.output_id A-3",
                ),
                // A bundle that passed, but is no triage's.
                (
                    copy(
                        "candidate",
                        "open = 1",
                        &[("output_id", &format!("'{}'", OutputId::of(&full.gated)))],
                    ),
                    "candidate.output_id A-3",
                ),
                (
                    copy("candidate_resolution", "candidate_index = 0", &[("output_id", "'out-none'")]),
                    "candidate_resolution.output_id A-3",
                ),
                (
                    copy("candidate_resolution", "candidate_index = 0", &[("candidate_index", "4")]),
                    "candidate_resolution.output_id A-3",
                ),
                (
                    format!("UPDATE objective SET pause_key = 'none' WHERE objective_id = {open}"),
                    "objective.pause_key A-6",
                ),
            ],
        )
        .await;
        // The same statements with links to something get through.
        allows(
            &world,
            together([
                copy("context_snapshot", &snapshot, &[("snapshot_id", "'snap-x'")]),
                workorder(&[("context_snapshot_id", "'snap-x'")]),
                bundle(&[("work_order_id", "'wo-x'"), ("objective_id", &open)]),
                run(&[("work_order_id", "'wo-x'"), ("objective_id", &open), ("output_id", "'out-x'")]),
                copy("gate_evidence", &of_gated, &[("run_id", "'run-x'"), ("work_order_id", "'wo-x'")]),
                copy("usage_record", &of_gated, &[("work_order_id", "'wo-x'")]),
                pause(&[("work_order_id", "'wo-x'"), ("objective_id", &open), ("local_objective_id", &open)]),
                copy(
                    "session_manifest",
                    &of_gated,
                    &[("manifest_id", "'man-x'"), ("work_order_id", "'wo-x'")],
                ),
                copy("candidate", "open = 1", &[("candidate_index", "4")]),
                copy("candidate_resolution", "candidate_index = 0", &[("candidate_index", "4")]),
                format!("UPDATE objective SET pause_key = 'x' WHERE objective_id = {open}"),
            ]),
        )
        .await;
    }

    async fn a3_links_that_disagree_are_refused(world: TestStore) {
        let full = full(&world).await;
        let (created, failed, open) =
            (format!("'{}'", full.created), format!("'{}'", full.failed), format!("'{}'", full.open));
        let of_gated = format!("work_order_id = '{}'", full.gated);
        let snapshot = format!("objective_id = {open}");
        let evidence = |changes: &[(&str, &str)]| copy("gate_evidence", &of_gated, changes);
        let failed_run = format!("'{}'", RunId::of(&full.failed));
        refuses(
            &world,
            vec![
                // The workorder of one objective with the snapshot of another.
                (
                    together([
                        copy("context_snapshot", &snapshot, &[("snapshot_id", "'snap-x'")]),
                        copy(
                            "workorder",
                            &of_gated,
                            &[
                                ("work_order_id", "'wo-x'"),
                                ("event_id", &format!("'{}'", full.todo_event)),
                                ("context_snapshot_id", "'snap-x'"),
                            ],
                        ),
                    ]),
                    "workorder.context_snapshot_id A-3",
                ),
                // A bundle for another objective than its workorder's.
                (
                    copy(
                        "output_bundle",
                        &of_gated,
                        &[("output_id", "'out-x'"), ("work_order_id", &created)],
                    ),
                    "output_bundle.objective_id A-3",
                ),
                // A run of a workorder with the output of another, and with its own output for another objective.
                (
                    together([
                        copy(
                            "output_bundle",
                            &of_gated,
                            &[("output_id", "'out-x'"), ("work_order_id", &created), ("objective_id", &open)],
                        ),
                        copy(
                            "run_record",
                            &of_gated,
                            &[("run_id", "'run-x'"), ("work_order_id", &created), ("output_id", "'out-x'")],
                        ),
                    ]),
                    "run_record.output_id A-3",
                ),
                (
                    together([
                        copy(
                            "output_bundle",
                            &of_gated,
                            &[("output_id", "'out-x'"), ("work_order_id", &created), ("objective_id", &open)],
                        ),
                        copy(
                            "run_record",
                            &of_gated,
                            &[
                                ("run_id", "'run-x'"),
                                ("work_order_id", "'wo-none'"),
                                ("objective_id", &open),
                                ("output_id", "'out-x'"),
                            ],
                        ),
                    ]),
                    "run_record.output_id A-3",
                ),
                // The checks of one run under the workorder of another.
                (evidence(&[("run_id", &failed_run)]), "gate_evidence.work_order_id A-3"),
                // A pause_state of another objective than its workorder's, and one that names two things that it ends.
                (
                    copy("pause_state", &of_gated, &[("pause_key", "'x'"), ("work_order_id", &created)]),
                    "pause_state.objective_id A-3",
                ),
                (
                    copy(
                        "pause_state",
                        &of_gated,
                        &[
                            ("pause_key", "'x'"),
                            ("work_order_id", &created),
                            ("objective_id", &open),
                            ("local_objective_id", &open),
                            ("event_id", &format!("'{}'", full.todo_event)),
                        ],
                    ),
                    "pause_state.pause_key A-3",
                ),
                (
                    copy(
                        "pause_state",
                        &of_gated,
                        &[
                            ("pause_key", "'x'"),
                            ("work_order_id", &created),
                            ("objective_id", &open),
                            ("local_objective_id", "NULL"),
                        ],
                    ),
                    "pause_state.objective_id A-3",
                ),
                // The pause_state of another objective as the current one.
                (
                    format!(
                        "UPDATE objective SET pause_key = 'workorder:{}' WHERE objective_id = {open}",
                        full.gated
                    ),
                    "objective.pause_key A-6",
                ),
            ],
        )
        .await;
        allows(&world, together([evidence(&[("run_id", &failed_run), ("work_order_id", &failed)])])).await;
    }
}
