//! Tests of the SQLite backend's inside: its statements, its plans, its upgrades.

mod conditions;
mod killed;
mod writer;

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use azolla_protocol::{AzollaId, AzollaType};
use rusqlite::OpenFlags;
use tempfile::TempDir;

use super::*;
use crate::{
    journal::all_texts,
    sql::{
        self as shared,
        tests::{ALL, TASKS, assert_complete, named},
    },
    system::SystemClock,
    tasks::sql as tasks,
};

/// Every single statement of `sql.rs` here.
#[rustfmt::skip] // A list.
static OWN: &[(&str, &str)] = &named!(crate::sqlite::sql:
    BEGIN COMMIT ROLLBACK SAVEPOINT KEEP BEGIN_READING WRITER_CACHE JOURNAL_MODE DATA_VERSION INTEGRITY
    FOREIGN_KEYS READ_APPLICATION_ID READ_VERSION COUNT_TABLES BACK_UP GRANT_EVENT_AGAIN GRANT_EVENT_FIRST
    GRANT_WORKORDER_AGAIN GRANT_WORKORDER_FIRST CLAIM_EVENT_AGAIN CLAIM_EVENT_FIRST CLAIM_WORKORDER_AGAIN
    CLAIM_WORKORDER_FIRST COUNT_EVENT COUNT_WORKORDER JOURNAL_AFTER JOURNAL_LATEST JOURNAL_TOLD
);

/// Several statements each, which run without parameters every time that a connection opens or a job fails.
const BATCHES: [&str; 2] = ["SETTINGS", "UNDO"];

fn identity() -> Identity {
    Identity { azolla_id: AzollaId::new("az-x").unwrap(), azolla_type: AzollaType::CodePatch }
}

async fn open(path: &Path, migrations: &'static [Migration]) -> Result<SqliteSubstrate, SubstrateError> {
    let opening = Opening::OrCreate(identity());
    SqliteSubstrate::open_at(path.to_owned(), opening, Arc::new(SystemClock), migrations).await
}

async fn fresh() -> (TempDir, PathBuf, SqliteSubstrate) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("x.sqlite");
    let store = open(&path, MIGRATIONS).await.unwrap();
    (directory, path, store)
}

fn connection(path: &Path) -> Connection {
    connection::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, &JobTime::default()).unwrap()
}

#[test]
fn every_statement_is_listed() {
    assert_complete(include_str!("sql.rs"), OWN.iter().map(|(name, _)| *name).chain(BATCHES));
}

/// SQLite numbers parameters by first appearance, so `$2` before `$1` would bind the wrong value without a word.
#[tokio::test]
async fn every_statement_prepares_with_its_values_in_order() {
    let (_directory, path, _store) = fresh().await;
    let connection = connection(&path);
    let journal = all_texts().map(|text| ("journal", text));
    let mut wrong = Vec::new();
    for (name, text) in ALL.iter().chain(TASKS).chain(OWN).copied().chain(journal) {
        match connection.prepare(text) {
            Err(error) => wrong.push(format!("{name}: {error}")),
            Ok(statement) => {
                for index in 1..=statement.parameter_count() {
                    let named = statement.parameter_name(index).unwrap_or("no name");
                    if named != format!("${index}") {
                        wrong.push(format!("{name}: value {index} goes to {named}"));
                    }
                }
            }
        }
    }
    assert_eq!(wrong, [] as [&str; 0]);
}

/// (statement, the indexes that its cost rests on).
const PLANNED: &[(&str, &[&str])] = &[
    (shared::OPEN_WORKORDERS, &["workorder_slot"]),
    (shared::UNPROCESSED_EVENTS, &["event_open"]),
    (tasks::PENDING_CAPTURES, &["capture_pending"]),
    (
        tasks::CAPTURES_AWAITING_EVENT,
        &["capture_pending", "event_open_capture", "event_entry", "workorder_slot"],
    ),
    (tasks::FRESH_CAPTURES, &["capture_pending"]),
    (tasks::CAPTURES, &["sqlite_autoindex_capture_buffer_1"]),
    (tasks::CAPTURES_PENDING, &["capture_pending"]),
    (tasks::COUNT_PENDING, &["capture_pending"]),
    (tasks::COUNT_HELD, &["capture_held"]),
    (tasks::HELD_CAPTURES, &["capture_held"]),
    (tasks::HAS_PENDING_CAPTURE, &["capture_pending"]),
    (tasks::COUNT_OPEN_CANDIDATES, &["candidate_open"]),
    (tasks::OPEN_OUTPUTS, &["candidate_open", "sqlite_autoindex_output_bundle_1"]),
    (tasks::TRIAGE_OUTPUTS, &["workorder_triage", "sqlite_autoindex_run_record_2"]),
    (tasks::MANIFESTS_BEFORE, &["manifest_latest"]),
    (tasks::LATEST_MANIFEST_EVENT, &["event_manifest"]),
    (tasks::MANIFEST_EVENT_BEFORE, &["event_manifest", "journal_resource"]),
    (tasks::SNOOZES, &["snooze_until"]),
    (tasks::LATEST_DEADLINE, &["pause_deadline"]),
    (tasks::DEADLINES, &["pause_deadline_latest", "pause_deadline"]),
    (shared::OBJECTIVES_AWAITING_EVENT, &["objective_todo", "event_entry"]),
    (shared::OBJECTIVES_RESTING, &["objective_resting"]),
    (shared::OBJECTIVES_TODO, &["objective_todo"]),
    (shared::OBJECTIVES_WAITING, &["objective_waiting"]),
    (shared::TICKETS_BEFORE, &["objective_listed"]),
    (shared::TICKETS_NEW_BEFORE, &["objective_resting"]),
    (shared::TICKETS_BLOCKED_BEFORE, &["objective_resting"]),
    (shared::TICKETS_CONFIRMED_BEFORE, &["objective_listed"]),
    (shared::TICKETS_ARCHIVED_BEFORE, &["objective_archived"]),
    (shared::RUNS_BEFORE, &["run_listed"]),
    (shared::CURRENT_PAUSES, &["objective_paused", "sqlite_autoindex_pause_state_1"]),
    (shared::CURRENT_PAUSES_LATEST, &["objective_paused", "sqlite_autoindex_pause_state_1"]),
    (shared::CURRENT_PAUSE_OF, &["sqlite_autoindex_objective_1", "sqlite_autoindex_pause_state_1"]),
    (shared::CHECK_REVIEW_LIMIT, &["objective_waiting", "candidate_open", "workorder_slot"]),
    (tasks::CHECK_TRIAGE_FIRST, &["capture_pending", "event_open", "objective_waiting", "candidate_open"]),
    (shared::STREAM, &["objective_waiting", "candidate_open", "workorder_slot"]),
    (shared::COMMITTED, &["journal_commit"]),
    (shared::JOURNAL_OF_TAIL, &["journal_resource"]),
];

/// The cost of a poll does not grow with history: no table is read as a whole, and nothing old is sorted.
#[tokio::test]
async fn open_work_is_found_through_partial_indexes() {
    let (_directory, path, _store) = fresh().await;
    let connection = connection(&path);
    for (text, indexes) in PLANNED {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
        let values = vec![rusqlite::types::Null; statement.parameter_count()];
        let rows =
            statement.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
        let plan: Vec<String> = rows.map(Result::unwrap).collect();
        for index in *indexes {
            let uses = |line: &&String| line.contains(&format!("INDEX {index}"));
            assert!(plan.iter().any(|line| uses(&line)), "{text}\n{index} is not in {plan:#?}");
        }
        for line in plan.iter().filter(|line| line.starts_with("SCAN") && !line.starts_with("SCAN CONSTANT"))
        {
            assert!(indexes.iter().any(|index| line.ends_with(&format!("INDEX {index}"))), "{text}\n{line}");
        }
    }
}

/// What an upgrade would do.
static UPGRADED: &[Migration] = &[
    MIGRATIONS[0],
    Migration {
        sqlite: "CREATE TABLE extra (x TEXT) STRICT; INSERT INTO extra VALUES ('new')",
        postgres: "",
    },
];

/// An upgrade with a statement that fails.
static CUT: &[Migration] = &[
    MIGRATIONS[0],
    Migration { sqlite: "CREATE TABLE extra (x TEXT) STRICT; SELECT nobody_knows()", postgres: "" },
];

const NOTE: &str = "INSERT INTO journal (at, actor, step, resource_type, resource_id)
                    VALUES ('2026-11-01T08:00:00.000Z', 'INIT', 'EDIT', 'objective', 'obj-kept')";

fn version(path: &Path) -> i64 {
    connection(path).query_row(sql::READ_VERSION, [], |row| row.get(0)).unwrap()
}

fn notes(path: &Path) -> Vec<String> {
    let connection = connection(path);
    let mut statement = connection.prepare("SELECT resource_id FROM journal").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn an_upgrade_leaves_a_backup_that_opens_as_the_old_store() {
    let (directory, path, store) = fresh().await;
    drop(store);
    connection(&path).execute_batch(NOTE).unwrap();

    drop(open(&path, UPGRADED).await.unwrap());
    assert_eq!(version(&path), 2);
    let added: String = connection(&path).query_row("SELECT x FROM extra", [], |row| row.get(0)).unwrap();
    assert_eq!((added.as_str(), notes(&path)), ("new", vec!["obj-kept".to_owned()]));

    let backup = directory.path().join("x.sqlite.v1.backup");
    let mode = std::fs::metadata(&backup).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "a backup is for its owner alone, as the store is");
    let old =
        SqliteSubstrate::open_at(backup.clone(), Opening::Existing, Arc::new(SystemClock), MIGRATIONS).await;
    let old = old.unwrap();
    let read: &dyn SubstrateRead = &old;
    assert_eq!(read.identity().await.unwrap(), identity());
    assert_eq!(read.integrity().await.unwrap(), [] as [&str; 0]);
    assert_eq!((version(&backup), notes(&backup)), (1, vec!["obj-kept".to_owned()]));

    // The program from before the upgrade is told, and changes nothing.
    let error = open(&path, MIGRATIONS).await.map(drop).unwrap_err();
    assert!(error.to_string().starts_with("the store has version 2, this program knows 1"), "{error}");
    // No second upgrade, no second backup.
    std::fs::remove_file(&backup).unwrap();
    drop(open(&path, UPGRADED).await.unwrap());
    assert!(!backup.exists());
}

#[tokio::test]
async fn an_upgrade_that_fails_half_way_leaves_the_old_store() {
    let (directory, path, store) = fresh().await;
    drop(store);
    connection(&path).execute_batch(NOTE).unwrap();
    // What a kill in the middle of the backup leaves behind.
    std::fs::write(directory.path().join("x.sqlite.v1.partial"), "half").unwrap();

    assert!(open(&path, CUT).await.is_err());
    assert_eq!((version(&path), notes(&path)), (1, vec!["obj-kept".to_owned()]));
    assert!(connection(&path).prepare("SELECT x FROM extra").is_err(), "half an upgrade stayed");
    drop(open(&path, MIGRATIONS).await.unwrap());
    // The next try goes all the way.
    drop(open(&path, UPGRADED).await.unwrap());
    assert_eq!((version(&path), notes(&path)), (2, vec!["obj-kept".to_owned()]));
    assert!(!directory.path().join("x.sqlite.v1.partial").exists());
}

/// M-4, T34: a write over the read half fails at the database.
#[tokio::test]
async fn m4_t34_a_write_by_a_reader_is_refused_by_sqlite() {
    let (_directory, path, store) = fresh().await;
    let reader = SqliteReader::open(&path, &identity(), Arc::new(SystemClock)).await.unwrap();
    for read in [&reader as &dyn SubstrateRead, &store] {
        assert_eq!(read.identity().await.unwrap(), identity());
        let refused = read.rows(Statement::new(shared::LOCK_STREAM, [])).await.unwrap_err();
        assert!(refused.to_string().starts_with("the store cannot be written"), "{refused}");
    }
    // The statement itself is fine.
    connection(&path).execute_batch(shared::LOCK_STREAM).unwrap();
}

#[tokio::test]
async fn m4_a_reader_makes_and_upgrades_nothing() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("x.sqlite");
    let opened = async |identity| {
        SqliteReader::open(&path, &identity, Arc::new(SystemClock)).await.map(drop).unwrap_err().to_string()
    };
    assert!(opened(identity()).await.starts_with("there is no store at"));
    assert!(!path.exists());
    std::fs::write(&path, "").unwrap();
    assert!(opened(identity()).await.starts_with("the store has version 0 and has to be upgraded"));
    assert_eq!(std::fs::read(&path).unwrap(), b"");
    std::fs::remove_file(&path).unwrap();
    drop(open(&path, MIGRATIONS).await.unwrap());
    let other = Identity { azolla_type: AzollaType::TaskMgmt, ..identity() };
    assert!(opened(other).await.starts_with("the store belongs to az-x"));
    drop(open(&path, UPGRADED).await.unwrap());
    assert!(opened(identity()).await.starts_with("the store has version 2, this program knows 1"));
}

#[tokio::test]
async fn m4_a_reader_sees_the_changes_of_others() {
    let (_directory, path, _store) = fresh().await;
    let reader = SqliteReader::open(&path, &identity(), Arc::new(SystemClock)).await.unwrap();
    let mut changes = reader.changes();
    // The first look at the file.
    changes.changed().await.unwrap();
    connection(&path).execute_batch(NOTE).unwrap();
    let seen = tokio::time::timeout(std::time::Duration::from_secs(30), changes.changed()).await;
    seen.expect("the reader did not see the change").unwrap();
}

/// What SQLite itself finds wrong with a file: a page that nothing leads to, and a link to nothing.
#[tokio::test]
async fn what_is_wrong_below_the_tables_is_named() {
    let (_directory, path, store) = fresh().await;
    assert_eq!(store.integrity().await.unwrap(), [] as [&str; 0]);
    let broken = "PRAGMA foreign_keys = OFF; DROP TRIGGER usage_record_insert;
        INSERT INTO usage_record (work_order_id, claim_version, created_at, document) VALUES ('wo-x', 1, '', '');
        PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'objective_listed'";
    connection(&path).execute_batch(broken).unwrap();
    let found = store.integrity().await.unwrap();
    let [page, link] = &found[..] else { panic!("{found:?}") };
    assert!(page.contains("Page ") && page.contains(": never used"), "{page}");
    assert_eq!(link, r#"a link to nothing: [Text("usage_record"), Int(1), Text("workorder"), Int(0)]"#);
}
