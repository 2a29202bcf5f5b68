//! Tests of the PostgreSQL backend's inside: its statements, its plans, its upgrades.

mod killed;
mod outcome;

use azolla_protocol::AzollaType;
use azolla_testkit::postgres::{TestDatabase, fresh_database};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage, types::Type};

use super::*;
use crate::{
    journal::all_texts,
    sql::{
        self as shared,
        tests::{ALL, TASKS, assert_complete, named},
    },
    tasks::sql as tasks,
};

/// Every single statement of `sql.rs` here.
#[rustfmt::skip] // A list.
static OWN: &[(&str, &str)] = &named!(crate::postgres::sql:
    BEGIN COMMIT ROLLBACK BEGIN_READING NOW SERVER NOTIFIER_SESSION NOTIFY READ_ONLY LIMITS TRANSACTION TRANSACTION_STATUS LOCK_OPENING LOCK_UPGRADE READ_VERSION
    WRITE_VERSION NUMBER_JOURNAL JOURNAL_AFTER JOURNAL_LATEST JOURNAL_TOLD ACQUIRE_WORKORDER ACQUIRE_EVENT CLAIM_EVENT EVENT_IS_OPEN
    WORKORDER_IS_OPEN CLAIM_WORKORDER
);

/// Two that compare with a name of the server's own, whose type is neither; and one that is several statements.
const OPENING: [&str; 4] = ["FIND_SCHEMA", "FIND_TABLES", "FIND_VERSION", "MAKE_VERSION"];

fn azolla() -> AzollaId {
    AzollaId::new("az-x").unwrap()
}

async fn open(address: &str, migrations: &[Migration]) -> Result<PostgresSubstrate, SubstrateError> {
    let identity = Identity { azolla_id: azolla(), azolla_type: AzollaType::CodePatch };
    PostgresSubstrate::open_at(address, &azolla(), Opening::OrCreate(identity), migrations).await
}

/// A new store, and a session in its schema beside it.
async fn fresh() -> (TestDatabase, PostgresSubstrate, Client) {
    let database = fresh_database().await.unwrap();
    let store = open(database.url(), MIGRATIONS).await.unwrap();
    let (client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(&sql::session(&azolla())).await.unwrap();
    (database, store, client)
}

#[test]
fn every_statement_is_listed() {
    assert_complete(include_str!("sql.rs"), OWN.iter().map(|(name, _)| *name).chain(OPENING));
}

/// A `Cell` is sent as text or as a 64-bit integer, so every parameter has to be one of the two.
#[tokio::test]
async fn every_statement_prepares_with_text_and_integers() {
    let (_database, _store, client) = fresh().await;
    let mut texts: Vec<(String, String)> = Vec::new();
    for (name, text) in ALL.iter().chain(TASKS).chain(OWN) {
        texts.push(((*name).into(), (*text).into()));
        // As a step of a commit, where the server itself has to notice a miss.
        let words = text.trim_start();
        if (words.starts_with("UPDATE") || words.starts_with("INSERT")) && !words.contains("RETURNING") {
            texts.push((format!("{name}, required"), sql::required(text, Expect::Written(Miss::Changed))));
        }
        if name.starts_with("CHECK_") {
            texts.push((format!("{name}, required"), sql::required(text, Expect::Found(Miss::Changed))));
        }
    }
    texts.extend(all_texts().map(|text| ("journal".to_owned(), text.to_owned())));
    let mut wrong = Vec::new();
    for (name, text) in texts {
        match client.prepare(&text).await {
            Err(error) => wrong.push(format!("{name}: {error:?}")),
            Ok(statement) => {
                for (position, of) in statement.params().iter().enumerate() {
                    if *of != Type::TEXT && *of != Type::INT8 {
                        wrong.push(format!("{name}: value {} is {of}", position + 1));
                    }
                }
            }
        }
    }
    assert_eq!(wrong, [] as [&str; 0]);
}

/// (statement, what stands for its values, the indexes that its cost rests on).
const PLANNED: &[(&str, &[&str], &[&str])] = &[
    (shared::OPEN_WORKORDERS, &["'CREATED'"], &["workorder.stream_slot W-4 unique"]),
    (shared::UNPROCESSED_EVENTS, &["'TICKET_READY'", "10"], &["event_open"]),
    (tasks::PENDING_CAPTURES, &["2", "10"], &["capture_pending"]),
    (tasks::CAPTURES_AWAITING_EVENT, &["2", "10"], &["capture_pending", "workorder.stream_slot W-4 unique"]),
    (tasks::FRESH_CAPTURES, &["10"], &["capture_pending"]),
    (tasks::CAPTURES, &["'~'", "NULL", "10"], &["capture_buffer.capture_id A-2"]),
    (tasks::CAPTURES_PENDING, &["''", "10"], &["capture_pending"]),
    (tasks::COUNT_PENDING, &[], &["capture_pending"]),
    (tasks::COUNT_HELD, &[], &["capture_held"]),
    (tasks::HELD_CAPTURES, &["10"], &["capture_held"]),
    (tasks::HAS_PENDING_CAPTURE, &["2"], &["capture_pending"]),
    (tasks::COUNT_OPEN_CANDIDATES, &[], &["candidate_open"]),
    (tasks::OPEN_OUTPUTS, &["10"], &["candidate_open", "output_bundle.output_id A-1"]),
    (tasks::TRIAGE_OUTPUTS, &["''", "10"], &["workorder_triage"]),
    (tasks::MANIFESTS_BEFORE, &["'x'", "'man-9'", "30"], &["manifest_latest"]),
    (tasks::LATEST_MANIFEST_EVENT, &[], &["event_manifest"]),
    (tasks::MANIFEST_EVENT_BEFORE, &["'2026-11-01T08:00:00.000Z'", "'evt-1'"], &["event_manifest"]),
    (tasks::LATEST_DEADLINE, &["'az-x'", "'obj-1'"], &["pause_deadline"]),
    (tasks::DEADLINES, &["3"], &["pause_deadline"]),
    (shared::OBJECTIVES_AWAITING_EVENT, &["10"], &["objective_todo"]),
    (shared::OBJECTIVES_RESTING, &["10"], &["objective_resting"]),
    (shared::OBJECTIVES_TODO, &["10"], &["objective_todo"]),
    (shared::OBJECTIVES_WAITING, &["10"], &["objective_waiting"]),
    (shared::TICKETS_BEFORE, &["'x'", "'obj-9'", "50"], &["objective_listed"]),
    (shared::TICKETS_NEW_BEFORE, &["'x'", "'obj-9'", "50"], &["objective_resting"]),
    (shared::TICKETS_BLOCKED_BEFORE, &["'x'", "'obj-9'", "50"], &["objective_resting"]),
    (shared::TICKETS_CONFIRMED_BEFORE, &["'x'", "'obj-9'", "50"], &["objective_listed"]),
    (shared::TICKETS_ARCHIVED_BEFORE, &["'x'", "'obj-9'", "50"], &["objective_archived"]),
    (shared::RUNS_BEFORE, &["'x'", "'run-9'", "50"], &["run_listed"]),
    (shared::CURRENT_PAUSES, &[], &["objective_paused"]),
    (shared::CURRENT_PAUSES_LATEST, &["NULL", "''", "10"], &["objective_paused"]),
    (
        shared::CHECK_REVIEW_LIMIT,
        &["3"],
        &["objective_waiting", "candidate_open", "workorder.stream_slot W-4 unique"],
    ),
    (shared::STREAM, &[], &["objective_waiting", "candidate_open", "workorder.stream_slot W-4 unique"]),
    (sql::JOURNAL_LATEST, &["1", "0", "0"], &["journal.seq A-2"]),
    (sql::JOURNAL_TOLD, &["1", "0", "0"], &["journal.seq A-2"]),
    (shared::COMMITTED, &["'com-x'"], &["journal.commit_id C-9"]),
    (shared::JOURNAL_OF_TAIL, &["'obj-1'"], &["journal_resource"]),
];

/// With history in every table, the planner takes the partial indexes by itself: where it may read whole tables, and
/// before it knows the values, which is how our sessions plan.
#[tokio::test]
async fn open_work_is_found_through_partial_indexes() {
    let (_database, _store, client) = fresh().await;
    client.batch_execute(HISTORY).await.unwrap();
    client.batch_execute("SET enable_seqscan TO on").await.unwrap();
    assert_eq!(strings(&client, "SHOW plan_cache_mode").await, ["force_generic_plan"]);
    for (text, values, indexes) in PLANNED {
        client.batch_execute(&format!("DEALLOCATE ALL; PREPARE planned AS {text}")).await.unwrap();
        let values = if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
        let explained = client.simple_query(&format!("EXPLAIN EXECUTE planned{values}")).await.unwrap();
        let plan: Vec<String> = explained
            .iter()
            .filter_map(|answer| match answer {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            })
            .collect();
        for index in *indexes {
            let quoted = format!("\"{index}\"");
            let uses = |line: &String| {
                line.contains(&format!("using {index} "))
                    || line.contains(&quoted)
                    || line.contains(&format!("on {index} "))
            };
            assert!(plan.iter().any(uses), "{text}\n{index} is not in {plan:#?}");
        }
        assert!(!plan.iter().any(|line| line.contains("Seq Scan")), "{text}\n{plan:#?}");
    }
}

/// 5,000 finished cycles beside one that is open. Without triggers: this is about the planner, not the rules.
const HISTORY: &str = "
    SET session_replication_role TO replica;
    INSERT INTO objective (objective_id, azolla_id, title, acceptance_criteria, objective_type, status, importance,
        urgency, blocked_on, metadata, created_at, updated_at, version, todo_entry, waiting, confirmed, archived)
    SELECT 'obj-' || n, 'az-x', 't', 'a', 'TICKET', CASE n WHEN 1 THEN 'TODO' ELSE 'DONE' END, 2, 2, '[]', '{}',
        'x', 'x', 1, 1, 0, 1, 0 FROM generate_series(1, 5000) AS n;
    INSERT INTO event (event_id, type, resource_id, azolla_id, created_at, processed, processed_reason, processed_at,
        entry)
    SELECT 'evt-' || n, 'TICKET_READY', 'obj-' || n, 'az-x', 'x', 1, 'SCHEDULED', 'x', 1
    FROM generate_series(1, 5000) AS n;
    INSERT INTO context_snapshot SELECT 'snap-' || n, 'obj-' || n, 'x', '{}', 1 FROM generate_series(1, 5000) AS n;
    INSERT INTO workorder SELECT 'wo-' || n, 'obj-' || n, 'PATCH_DIAZOTROPH', 'snap-' || n, NULL, 1, 'EXECUTED', 'x',
        'evt-' || n, 0, 0, NULL FROM generate_series(1, 5000) AS n;
    INSERT INTO output_bundle SELECT 'out-' || n, 'obj-' || n, 'x', '{}', 'wo-' || n FROM generate_series(1, 5000) AS n;
    INSERT INTO run_record SELECT 'run-' || n, 'wo-' || n, 'obj-' || n, 'out-' || n, 'PASS', 'x', '{}'
    FROM generate_series(1, 5000) AS n;
    INSERT INTO candidate SELECT 'out-' || n, 0, 0 FROM generate_series(1, 5000) AS n;
    INSERT INTO candidate_resolution SELECT 'out-' || n, 0, 'DISCARDED', NULL, 'x', 'x', 0 FROM generate_series(1, 5000) AS n;
    INSERT INTO capture_buffer SELECT 'cap-' || n, 'az-x', 'x', 'x', 'PROCESSED', 'x', 'x', 1, 0, 0
    FROM generate_series(1, 5000) AS n;
    INSERT INTO pause_state SELECT 'workorder:wo-' || n, 'obj-' || n, 'az-x', 'RUN_COMPLETE', 'x', '{}', 'wo-' || n,
        NULL, 'obj-' || n, NULL FROM generate_series(1, 5000) AS n;
    INSERT INTO pause_state SELECT 'deadline:az-y:obj-' || n || ':x', 'obj-' || n, 'az-y', 'RUN_COMPLETE', 'x' || n,
        '{}', NULL, NULL, NULL, 2 FROM generate_series(1, 5000) AS n;
    INSERT INTO journal (at, actor, step, resource_type, resource_id, commit_id)
    SELECT 'x', 'GATE', CASE n % 2 WHEN 0 THEN 'EXECUTE' ELSE 'GATE' END, 'workorder', 'wo-' || n, 'com-' || n
    FROM generate_series(1, 5000) AS n;
    ANALYZE objective, event, context_snapshot, workorder, output_bundle, run_record, candidate, candidate_resolution,
        capture_buffer, pause_state, journal;
    SET session_replication_role TO origin";

/// What an upgrade would do.
static UPGRADED: &[Migration] = &[
    MIGRATIONS[0],
    Migration { sqlite: "", postgres: "CREATE TABLE extra (x TEXT); INSERT INTO extra VALUES ('new')" },
];

/// An upgrade with a statement that fails.
static CUT: &[Migration] = &[
    MIGRATIONS[0],
    Migration { sqlite: "", postgres: "CREATE TABLE extra (x TEXT); SELECT nobody_knows()" },
];

const NOTE: &str = "INSERT INTO journal (at, actor, step, resource_type, resource_id)
                    VALUES ('2026-11-01T08:00:00.000Z', 'INIT', 'EDIT', 'objective', 'obj-kept')";

async fn strings(client: &Client, text: &str) -> Vec<String> {
    client.query(text, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

const VERSION: &str = "SELECT version::text FROM store_version";
const NOTES: &str = "SELECT resource_id FROM journal";

#[tokio::test]
async fn an_upgrade_leaves_a_backup_with_every_row() {
    let (database, store, client) = fresh().await;
    drop(store);
    client.batch_execute(NOTE).await.unwrap();

    drop(open(database.url(), UPGRADED).await.unwrap());
    assert_eq!(strings(&client, VERSION).await, ["2"]);
    assert_eq!(strings(&client, "SELECT x FROM extra").await, ["new"]);
    assert_eq!(strings(&client, NOTES).await, ["obj-kept"]);
    let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'az-x@v1'
                  EXCEPT SELECT tablename::text FROM pg_tables WHERE schemaname = 'az-x'";
    assert_eq!(strings(&client, tables).await, [] as [&str; 0]);
    assert_eq!(strings(&client, r#"SELECT resource_id FROM "az-x@v1".journal"#).await, ["obj-kept"]);
    assert_eq!(strings(&client, r#"SELECT azolla_id FROM "az-x@v1".azolla"#).await, ["az-x"]);
    assert_eq!(strings(&client, r#"SELECT version::text FROM "az-x@v1".store_version"#).await, ["1"]);
    let missing = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'az-x' AND tablename <> 'extra'
                   EXCEPT SELECT tablename::text FROM pg_tables WHERE schemaname = 'az-x@v1'";
    assert_eq!(strings(&client, missing).await, [] as [&str; 0]);

    // The program from before the upgrade is told, and the new one upgrades no second time.
    let error = open(database.url(), MIGRATIONS).await.map(drop).unwrap_err();
    assert!(error.to_string().starts_with("the store has version 2, this program knows 1"), "{error}");
    drop(open(database.url(), UPGRADED).await.unwrap());
}

#[tokio::test]
async fn an_upgrade_that_fails_half_way_leaves_the_old_store() {
    let (database, store, client) = fresh().await;
    drop(store);
    client.batch_execute(NOTE).await.unwrap();

    assert!(open(database.url(), CUT).await.is_err());
    assert_eq!(strings(&client, VERSION).await, ["1"]);
    assert_eq!(strings(&client, NOTES).await, ["obj-kept"]);
    let left = "SELECT schemaname || '.' || tablename FROM pg_tables
                WHERE schemaname LIKE 'az-x@%' OR tablename = 'extra'";
    assert_eq!(strings(&client, left).await, [] as [&str; 0]);
    drop(open(database.url(), MIGRATIONS).await.unwrap());
    // The next try goes all the way.
    drop(open(database.url(), UPGRADED).await.unwrap());
    assert_eq!(strings(&client, VERSION).await, ["2"]);
    assert_eq!(strings(&client, NOTES).await, ["obj-kept"]);
}

/// A running program holds the lock that an upgrade waits for; one without a connection finds out when it connects.
#[tokio::test]
async fn an_upgrade_and_a_running_older_program_exclude_each_other() {
    let (database, store, client) = fresh().await;
    let idle = open(database.url(), MIGRATIONS).await.unwrap();
    let read: &dyn SubstrateRead = &store;
    read.identity().await.unwrap();
    let refused = open(database.url(), UPGRADED).await.map(drop).unwrap_err();
    assert!(refused.to_string().contains("other programs use it"), "{refused}");
    assert_eq!(strings(&client, VERSION).await, ["1"]);

    drop(store);
    drop(open(database.url(), UPGRADED).await.unwrap());
    let read: &dyn SubstrateRead = &idle;
    let late = read.identity().await.unwrap_err();
    assert!(late.to_string().contains("upgraded by a newer azolla"), "{late}");
}

/// M-4, T34: a write over the read half fails at the server.
#[tokio::test]
async fn m4_t34_a_write_by_a_reader_is_refused_by_the_server() {
    let (database, store, _client) = fresh().await;
    let identity = store.identity.clone();
    let reader = PostgresReader::open(database.url(), &identity).await.unwrap();
    let read: &dyn SubstrateRead = &reader;
    assert_eq!(read.identity().await.unwrap(), identity);
    let refused = read.rows(Statement::new(shared::LOCK_STREAM, [])).await.unwrap_err();
    assert!(refused.to_string().starts_with("the server is read-only"), "{refused}");
}

#[tokio::test]
async fn m4_a_reader_makes_and_upgrades_nothing() {
    let database = fresh_database().await.unwrap();
    let identity = Identity { azolla_id: azolla(), azolla_type: AzollaType::CodePatch };
    let opened =
        async || PostgresReader::open(database.url(), &identity).await.map(drop).unwrap_err().to_string();
    assert!(opened().await.starts_with("there is no Substrate here"));
    drop(open(database.url(), MIGRATIONS).await.unwrap());
    let other = Identity { azolla_type: AzollaType::TaskMgmt, ..identity.clone() };
    let error = PostgresReader::open(database.url(), &other).await.map(drop).unwrap_err();
    assert!(error.to_string().starts_with("the store belongs to az-x"), "{error}");
}
