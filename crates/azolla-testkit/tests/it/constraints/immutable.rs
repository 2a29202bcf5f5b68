//! what was written stays as it was written, whoever asks and however.

use std::fmt::Display;

use azolla_testkit::{Backend, TestStore};

use super::{TABLES, allows, columns, copy, is_sqlite, named, refuses, together};
use crate::seed::{Full, full, strings};

/// (table, its key, a column that is no key, what an update breaks, what a second row breaks on either database).
const IMMUTABLE: &[(&str, &str, &str, &str, [&str; 2])] = &[
    (
        "context_snapshot",
        "snapshot_id",
        "document",
        "context_snapshot.document A-1",
        ["context_snapshot.snapshot_id A-1"; 2],
    ),
    (
        "output_bundle",
        "output_id",
        "document",
        "output_bundle.document A-1",
        ["output_bundle.output_id A-1"; 2],
    ),
    ("run_record", "run_id", "document", "run_record.document A-1", ["run_record.run_id A-1"; 2]),
    ("pause_state", "pause_key", "document", "pause_state.document A-1", ["pause_state.pause_key A-1"; 2]),
    (
        "session_manifest",
        "manifest_id",
        "document",
        "session_manifest.document A-1",
        ["session_manifest.manifest_id A-1"; 2],
    ),
    ("gate_evidence", "run_id", "document", "gate_evidence.document A-1", ["gate_evidence.run_id A-1"; 2]),
    (
        "usage_record",
        "work_order_id, claim_version",
        "document",
        "usage_record.document A-1",
        ["usage_record.claim_version A-1"; 2],
    ),
    (
        "objective_version",
        "objective_id, version",
        "document",
        "objective_version.document A-4",
        ["objective_version.version A-4"; 2],
    ),
    ("journal", "seq", "detail", "journal.seq A-2", ["journal.commit_id C-9", "journal.seq A-2"]),
];

/// (table, what a delete breaks).
const DELETES: &[(&str, &str)] = &[
    ("azolla", "azolla.azolla_id A-2"),
    ("objective", "objective.objective_id A-2"),
    ("objective_version", "objective_version.document A-2"),
    ("capture_buffer", "capture_buffer.capture_id A-2"),
    ("event", "event.event_id A-2"),
    ("context_snapshot", "context_snapshot.document A-2"),
    ("workorder", "workorder.work_order_id A-2"),
    ("output_bundle", "output_bundle.document A-2"),
    ("run_record", "run_record.document A-2"),
    ("gate_evidence", "gate_evidence.document A-2"),
    ("usage_record", "usage_record.document A-2"),
    ("pause_state", "pause_state.document A-2"),
    ("snooze", "snooze.until A-2"),
    ("session_manifest", "session_manifest.document A-2"),
    ("candidate", "candidate.candidate_index A-2"),
    ("candidate_resolution", "candidate_resolution.outcome A-2"),
    ("claim_record", "claim_record.claim_version C-2"),
    ("journal", "journal.seq A-2"),
];

/// (a mutable table, which rows of it, what a second row with the same key breaks on either database).
const KEYS: &[(&str, &str, &str)] = &[
    ("azolla", "one = 1", "azolla.azolla_id Y-1"),
    ("objective", "status = 'TODO'", "objective.objective_id A-2"),
    ("capture_buffer", "status = 'PENDING'", "capture_buffer.capture_id A-2"),
    ("event", "type = 'TICKET_READY'", "event.event_id W-1"),
    ("workorder", "status = 'CREATED'", "workorder.work_order_id W-5"),
    ("candidate", "open = 1", "candidate.candidate_index TF-8"),
    ("candidate_resolution", "outcome = 'PROMOTED'", "candidate_resolution.outcome TF-8"),
    ("claim_record", "resource_type = 'EVENT'", "claim_record.resource_id C-1"),
];

on_both_backends! {
    async fn a1_an_immutable_artifact_cannot_be_updated_in_any_column(world: TestStore) {
        full(&world).await;
        let mut attempts = Vec::new();
        for (table, _, other, rule, _) in IMMUTABLE {
            attempts.push((format!("UPDATE {table} SET {other} = 'x'"), *rule));
            // A change of nothing is refused too, so each column counts for itself.
            attempts.extend(
                columns(table).map(|column| (format!("UPDATE {table} SET {column} = {column}"), *rule)),
            );
        }
        refuses(&world, attempts).await;
    }

    async fn a1_an_immutable_artifact_cannot_be_written_over(world: TestStore) {
        full(&world).await;
        let mut attempts = Vec::new();
        for (table, key, other, update, [on_sqlite, on_postgres]) in IMMUTABLE {
            let again = copy(table, "1 = 1", &[]);
            let second = named(&world, on_sqlite, on_postgres);
            let upsert = format!("{again} ON CONFLICT ({key}) DO UPDATE SET {other} = 'x'");
            attempts.push((upsert, named(&world, on_sqlite, update)));
            if is_sqlite(&world) {
                attempts.push((again.replacen("INSERT", "INSERT OR IGNORE", 1), second));
            }
            attempts.push((again, second));
        }
        refuses(&world, attempts).await;
    }

    async fn a2_a_mutable_artifact_cannot_be_written_over(world: TestStore) {
        full(&world).await;
        let mut attempts = Vec::new();
        for (table, key, rule) in KEYS {
            attempts.push((copy(table, key, &[]), *rule));
        }
        refuses(&world, attempts).await;
    }

    async fn a2_no_row_can_be_deleted(world: TestStore) {
        full(&world).await;
        let mut attempts = Vec::new();
        for (table, rule) in DELETES {
            attempts.push((format!("DELETE FROM {table}"), *rule));
            if !is_sqlite(&world) {
                attempts.push((format!("TRUNCATE {table} CASCADE"), *rule));
            }
        }
        refuses(&world, attempts).await;
    }

    /// So that a later table cannot be forgotten.
    async fn a2_every_table_of_the_schema_is_among_the_attempts(world: TestStore) {
        let ours: Vec<_> = DELETES.iter().map(|(table, _)| format!("'{table}'")).collect();
        let every = match is_sqlite(&world) {
            true => "SELECT name AS found FROM sqlite_master WHERE type = 'table'",
            false => "SELECT tablename AS found FROM pg_tables WHERE schemaname = current_schema()",
        };
        let others = format!(
            "SELECT found FROM ({every}) AS tables
             WHERE found NOT IN ({}, 'store_version', 'test_clock') ORDER BY found",
            ours.join(", ")
        );
        assert_eq!(strings(&world, &others).await, [] as [&str; 0]);
        let beside = if is_sqlite(&world) { 0 } else { ["store_version", "test_clock"].len() };
        assert_eq!(strings(&world, every).await.len(), DELETES.len() + beside);
        let copied: Vec<_> = TABLES.iter().map(|(table, _)| *table).collect();
        assert_eq!(copied, DELETES.iter().map(|(table, _)| *table).collect::<Vec<_>>());
    }

    /// The seed itself: a guard that fires per row says nothing about an empty table.
    async fn every_table_has_a_row_in_these_tests(world: TestStore) {
        full(&world).await;
        for (table, _) in TABLES {
            let rows = strings(&world, &format!("SELECT 'row' FROM {table}")).await;
            assert!(!rows.is_empty(), "{table} is empty");
        }
    }
}

/// A row that the rules allow, after the rows that it needs: (table, those rows, the row, what it breaks in the place
/// of another).
fn further_rows(full: &Full) -> Vec<(&'static str, Vec<String>, String, &'static str)> {
    let quoted = |id: &dyn Display| format!("'{id}'");
    let of_gated = format!("work_order_id = '{}'", full.gated);
    let (created, open) = (quoted(&full.created), quoted(&full.open));
    let (created, open) = (created.as_str(), open.as_str());
    let row = |table, changes: &[(&str, &str)]| copy(table, &of_gated, changes);
    let bundle =
        row("output_bundle", &[("output_id", "'out-x'"), ("work_order_id", created), ("objective_id", open)]);
    let run = row(
        "run_record",
        &[
            ("run_id", "'run-x'"),
            ("work_order_id", created),
            ("objective_id", open),
            ("output_id", "'out-x'"),
        ],
    );
    let version = format!("version = 1 AND objective_id = '{}'", full.todo);
    let event = quoted(&full.todo_event);
    vec![
        (
            "objective",
            vec![],
            copy("objective", &format!("objective_id = '{}'", full.todo), &[("objective_id", "'obj-x'")]),
            "objective.objective_id A-2",
        ),
        (
            "objective_version",
            vec![],
            copy("objective_version", &version, &[("version", "99")]),
            "objective_version.version A-4",
        ),
        (
            "capture_buffer",
            vec![],
            copy("capture_buffer", "status = 'PENDING'", &[("capture_id", "'cap-x'")]),
            "capture_buffer.capture_id A-2",
        ),
        (
            "context_snapshot",
            vec![],
            copy("context_snapshot", &format!("objective_id = {open}"), &[("snapshot_id", "'snap-x'")]),
            "context_snapshot.snapshot_id A-1",
        ),
        ("output_bundle", vec![], bundle.clone(), "output_bundle.output_id A-1"),
        ("run_record", vec![bundle.clone()], run.clone(), "run_record.run_id A-1"),
        (
            "gate_evidence",
            vec![bundle, run],
            row("gate_evidence", &[("run_id", "'run-x'"), ("work_order_id", created)]),
            "gate_evidence.run_id A-1",
        ),
        (
            "usage_record",
            vec![],
            row("usage_record", &[("claim_version", "99")]),
            "usage_record.claim_version A-1",
        ),
        (
            "pause_state",
            vec![],
            row("pause_state", &[("pause_key", "'x'"), ("work_order_id", "NULL"), ("event_id", &event)]),
            "pause_state.pause_key A-1",
        ),
        (
            "session_manifest",
            vec![],
            row("session_manifest", &[("manifest_id", "'man-x'"), ("work_order_id", created)]),
            "session_manifest.manifest_id A-1",
        ),
        (
            "journal",
            vec![],
            copy("journal", "seq = 1", &[("seq", "NULL"), ("commit_id", "'com-x'")]),
            "journal.commit_id C-9",
        ),
    ]
}

/// A row has a number besides its key, and whoever says the number has the row.
#[tokio::test]
async fn a2_no_row_is_removed_by_its_rowid_on_sqlite() {
    let world = TestStore::new(Backend::Sqlite).await;
    let full = full(&world).await;
    let rows = further_rows(&full);
    let mut attempts = Vec::new();
    for (table, needed, row, rule) in &rows {
        // The row is refused for nothing but its place.
        allows(&world, together([&needed[..], std::slice::from_ref(row)].concat())).await;
        for name in ["rowid", "_rowid_", "oid"] {
            let placed = match *table {
                "journal" => row.replacen("SELECT NULL", "SELECT seq", 1),
                _ => row.replacen(&format!("{table} ("), &format!("{table} ({name}, "), 1).replacen(
                    "SELECT ",
                    "SELECT rowid, ",
                    1,
                ),
            };
            attempts.push((together([&needed[..], &[placed]].concat()), *rule));
        }
    }
    for table in ["objective", "capture_buffer"] {
        let of = |choice| format!("(SELECT {choice}(rowid) FROM {table})");
        let rule = rows.iter().find(|row| row.0 == table).unwrap().3;
        for to in [of("min"), "99".to_owned(), "-1".to_owned()] {
            attempts.push((format!("UPDATE {table} SET rowid = {to} WHERE rowid = {}", of("max")), rule));
        }
    }
    for (table, _, _, rule, _) in IMMUTABLE {
        let of = |choice| format!("(SELECT {choice}(rowid) FROM {table})");
        attempts
            .push((format!("UPDATE {table} SET rowid = {} WHERE rowid = {}", of("min"), of("max")), *rule));
    }
    refuses(&world, attempts).await;

    // So that a later table cannot be forgotten; the one row of azolla has the one number that it can have.
    let tables = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND wr = 0
                  AND name NOT LIKE 'sqlite%' AND name <> 'azolla' ORDER BY name";
    let mut tried: Vec<_> = rows.iter().map(|row| row.0).collect();
    tried.sort_unstable();
    assert_eq!(strings(&world, tables).await, tried);
}

/// An UPDATE OR REPLACE removes whatever has the key that it changes to.
#[tokio::test]
async fn a2_no_row_is_removed_by_an_update_to_its_key_on_sqlite() {
    let world = TestStore::new(Backend::Sqlite).await;
    let full = full(&world).await;
    let event = |change: &str| format!("UPDATE event SET {change} WHERE event_id = '{}'", full.todo_event);
    let process = "processed = 1, processed_reason = 'BLOCKED', processed_at = 'x'";
    let reopened = "processed = 0, processed_reason = NULL, processed_at = NULL";
    let other_entry = "(type, resource_id, entry) = (SELECT type, resource_id, entry FROM event
                       WHERE type = 'TICKET_READY' AND processed = 1 LIMIT 1)";
    let workorder =
        |change: &str| format!("UPDATE workorder SET {change} WHERE work_order_id = '{}'", full.gated);
    let (created, pending) = (full.created.body(), &full.pending_event);
    let attempts = vec![
        (event(&format!("event_id = '{pending}'")), "event.processed W-6"),
        (event(&format!("{process}, event_id = '{pending}'")), "event.event_id W-6"),
        (event(&format!("{process}, {other_entry}")), "event.event_id W-6"),
        (event(&format!("type = 'CAPTURE_READY', resource_id = '{}'", full.pending)), "event.processed W-6"),
        (event("type = 'MANIFEST_REQUESTED', entry = NULL"), "event.processed W-6"),
        (format!("UPDATE event SET {reopened} WHERE processed = 1"), "event.processed W-6"),
        (workorder(&format!("work_order_id = 'wo-{created}'")), "workorder.work_order_id W-6"),
        (workorder(&format!("context_snapshot_id = 'snap-{created}'")), "workorder.work_order_id W-6"),
        (workorder(&format!("event_id = 'evt-{created}'")), "workorder.work_order_id W-6"),
        (workorder("stream_slot = 0"), "workorder.stream_slot W-4"),
        (
            format!(
                "UPDATE claim_record SET resource_id = '{}' WHERE resource_type = 'WORKORDER'",
                full.created
            ),
            "claim_record.resource_id C-2",
        ),
        ("UPDATE claim_record SET resource_type = 'EVENT'".to_owned(), "claim_record.resource_id C-2"),
        (
            "UPDATE candidate_resolution SET candidate_index = (SELECT candidate_index FROM candidate_resolution
             WHERE outcome = 'PROMOTED') WHERE outcome = 'DEFERRED'"
                .to_owned(),
            "candidate_resolution.outcome TF-8",
        ),
        (
            "UPDATE snooze SET objective_id = 'obj-elsewhere' WHERE objective_id = 'obj-other'".to_owned(),
            "snooze.objective_id D-1",
        ),
        (
            "UPDATE candidate SET candidate_index = 0, open = 0 WHERE candidate_index = 1".to_owned(),
            "candidate.open O-3",
        ),
        (
            format!("UPDATE objective SET objective_id = '{}' WHERE objective_id = '{}'", full.open, full.todo),
            "objective.objective_id A-2",
        ),
        (
            format!(
                "UPDATE capture_buffer SET capture_id = '{}' WHERE capture_id = '{}'",
                full.processed, full.pending
            ),
            "capture_buffer.raw_content A-2",
        ),
    ];
    refuses(&world, attempts).await;
    // Where a column has a default, REPLACE takes it for a null.
    let null = workorder("budget_consumed_ms = NULL");
    refuses(&world, vec![(null, "workorder.budget_consumed_ms B-2")]).await;
}
