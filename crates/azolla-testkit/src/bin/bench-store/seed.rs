//! Fills a store by plain SQL, behind the Substrate's back: finished cycles for history, and open workorders.

use anyhow::anyhow;
use azolla_protocol::{ObjectiveId, WorkOrderId};
use azolla_testkit::{TestStore, store::Place};

// Ids of both kinds sort by age, as real ids do: finished first, then open, each in the order of its number.
const FINISHED: &str = "a";
const OPEN: &str = "b";
const FIRST: usize = 100_000_000;

/// Returns the id of the n-th open workorder.
pub(crate) fn open_workorder(n: usize) -> anyhow::Result<WorkOrderId> {
    Ok(WorkOrderId::new(format!("wo-{}-{}", OPEN, FIRST + n))?)
}

/// Inserts `finished` finished cycles and `open` CREATED workorders of one objective.
pub(crate) async fn seed(
    world: &TestStore,
    objective_id: &ObjectiveId,
    finished: usize,
    open: usize,
) -> anyhow::Result<()> {
    let run = |sql: String| async move { world.raw(&sql).await.map_err(|error| anyhow!("seeding: {error}")) };
    match &world.place {
        Place::File(..) => {
            let numbers = |n: usize| {
                format!(
                    "WITH RECURSIVE n(i) AS (SELECT 0 WHERE {n} > 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {n})"
                )
            };
            let fill = script(objective_id, |n| (numbers(n), "n".to_owned()), finished, open);
            // Checking what was just made up would only take time; the triggers come back before anything is measured.
            run(format!(
                "PRAGMA synchronous = OFF; BEGIN; DROP INDEX workorder_slot; {}
                 {fill} {} COMMIT; ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)",
                drop_insert_triggers(),
                insert_triggers()
            ))
            .await
        }
        Place::Database(_) => {
            let series = |n: usize| (String::new(), format!("generate_series(0, {n} - 1) AS n(i)"));
            let fill = script(objective_id, series, finished, open);
            run(format!(
                "SET session_replication_role TO replica; DROP INDEX \"workorder.stream_slot W-4 unique\";
                 {fill} ANALYZE; CHECKPOINT"
            ))
            .await
        }
    }
}

/// The statements, the same on both backends but for where the numbers come from.
fn script(
    objective_id: &ObjectiveId,
    numbers: impl Fn(usize) -> (String, String),
    finished: usize,
    open: usize,
) -> String {
    let at = "'2026-01-01T00:00:00.000Z'";
    let mut text = String::new();
    let mut insert = |n: usize, table: &str, columns: &str, values: &str| {
        let (with, from) = numbers(n);
        text.push_str(&format!("INSERT INTO {table} ({columns}) {with} SELECT {values} FROM {from};\n"));
    };
    for (kind, n, status, slot) in [(FINISHED, finished, "EXECUTED", "NULL"), (OPEN, open, "CREATED", "0")] {
        insert(
            n,
            "event",
            "event_id, type, resource_id, azolla_id, created_at, processed, processed_reason, processed_at, entry",
            &format!(
                "'evt-{kind}-' || ({FIRST} + i), 'TICKET_READY', 'obj-{kind}-' || ({FIRST} + i), 'az-test', {at}, 1, 'SCHEDULED', {at}, 1"
            ),
        );
        insert(
            n,
            "context_snapshot",
            "snapshot_id, objective_id, created_at, document, objective_version",
            &format!("'snap-{kind}-' || ({FIRST} + i), '{objective_id}', {at}, '{{}}', 1"),
        );
        insert(
            n,
            "workorder",
            "work_order_id, objective_id, diazotroph_type, context_snapshot_id, budget_ms, status, created_at, \
             event_id, stream_slot",
            &format!(
                "'wo-{kind}-' || ({FIRST} + i), '{objective_id}', 'PATCH_DIAZOTROPH', 'snap-{kind}-' || ({FIRST} + i), 600000, '{status}', \
                 {at}, 'evt-{kind}-' || ({FIRST} + i), {slot}"
            ),
        );
    }
    insert(
        finished,
        "output_bundle",
        "output_id, objective_id, created_at, document, work_order_id",
        &format!(
            "'out-{FINISHED}-' || ({FIRST} + i), '{objective_id}', {at}, '{}', 'wo-{FINISHED}-' || ({FIRST} + i)",
            "x".repeat(300)
        ),
    );
    insert(
        finished,
        "run_record",
        "run_id, work_order_id, objective_id, output_id, gate_result, created_at, document",
        &format!(
            "'run-{FINISHED}-' || ({FIRST} + i), 'wo-{FINISHED}-' || ({FIRST} + i), '{objective_id}', 'out-{FINISHED}-' || ({FIRST} + i), 'PASS', {at}, '{{}}'"
        ),
    );
    insert(
        finished,
        "pause_state",
        "pause_key, objective_id, azolla_id, reason, created_at, document, work_order_id, local_objective_id",
        &format!(
            "'workorder:wo-{FINISHED}-' || ({FIRST} + i), '{objective_id}', 'az-test', 'RUN_COMPLETE', {at}, '{{}}', \
             'wo-{FINISHED}-' || ({FIRST} + i), '{objective_id}'"
        ),
    );
    for kind in ["EVENT", "WORKORDER"] {
        let prefix = if kind == "EVENT" { "evt" } else { "wo" };
        insert(
            finished,
            "claim_record",
            "resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at, claim_version, granted_at, \
             released_at",
            &format!(
                "'{kind}', '{prefix}-{FINISHED}-' || ({FIRST} + i), 'own-past', {at}, {at}, 2, {at}, {at}"
            ),
        );
    }
    for step in ["GRANT", "EXECUTE", "GATE", "RELEASE"] {
        insert(
            finished,
            "journal",
            "at, actor, owner_id, claim_version, step, resource_type, resource_id, commit_id",
            &format!(
                "{at}, 'GATE', 'own-past', 2, '{step}', 'workorder', 'wo-{FINISHED}-' || ({FIRST} + i), NULL"
            ),
        );
    }
    text
}

/// The insert triggers, read from the migration itself so that no list can go stale.
fn insert_trigger_texts() -> Vec<(String, String)> {
    let migration = include_str!("../../../../azolla-substrate/migrations/sqlite/0001_foundation.sql");
    let triggers = migration.split("CREATE TRIGGER ").skip(1).filter_map(|text| {
        let name = text.split_whitespace().next()?.to_owned();
        let (body, _) = text.split_once("END;")?;
        name.ends_with("_insert").then(|| (name, format!("CREATE TRIGGER {body}END;")))
    });
    triggers.collect()
}

fn insert_triggers() -> String {
    insert_trigger_texts().into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n")
}

fn drop_insert_triggers() -> String {
    insert_trigger_texts().iter().map(|(name, _)| format!("DROP TRIGGER {name};")).collect()
}
