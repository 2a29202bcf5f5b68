//! what was written stays as it was written, whoever asks and however.

use azolla_testkit::TestStore;

use super::{TABLES, columns, copy, is_sqlite, named, refuses};
use crate::seed::{full, strings};

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
    ("session_manifest", "session_manifest.document A-2"),
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
                // Without recursive triggers a REPLACE removes the old row and fires no delete trigger.
                attempts.push((again.replacen("INSERT", "INSERT OR REPLACE", 1), second));
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
            let again = copy(table, key, &[]);
            if is_sqlite(&world) {
                attempts.push((again.replacen("INSERT", "INSERT OR REPLACE", 1), *rule));
            }
            attempts.push((again, *rule));
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
