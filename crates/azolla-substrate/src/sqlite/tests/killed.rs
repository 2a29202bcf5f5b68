//! P14: an upgrade whose process is killed, at every step of it. The test runs itself again as the process that dies.

use std::{
    ffi::{c_char, c_int},
    os::unix::process::ExitStatusExt,
    process::{Command, ExitStatus, Stdio},
};

use rusqlite::{auto_extension, ffi, functions::FunctionFlags};

use super::*;

/// What the process that dies is given: the store, then after how many statements it ends.
const STORE: &str = "AZOLLA_TEST_UPGRADE_OF";
const STATEMENTS_DONE: &str = "AZOLLA_TEST_UPGRADE_DONE";

const ABORTED: i32 = 6;
const FILE_TOO_LARGE: i32 = 25;

/// An upgrade that makes, fills and changes tables, and is too long for the first pages of a log.
const STEPS: [&str; 5] = [
    "CREATE TABLE extra (x TEXT) STRICT",
    "INSERT INTO extra VALUES ('new')",
    "ALTER TABLE journal ADD COLUMN extra TEXT",
    "INSERT INTO journal (at, actor, step, resource_type, resource_id, extra)
     VALUES ('2026-11-01T08:00:00.000Z', 'INIT', 'EDIT', 'objective', 'obj-added', 'x')",
    "INSERT INTO extra VALUES (hex(zeroblob(750000)))",
];

/// Returns that upgrade, which ends its process after `done` statements.
fn upgrade(done: usize) -> &'static [Migration] {
    let mut steps = STEPS.to_vec();
    if done < usize::MAX {
        steps.insert(done, "SELECT azolla_abort()");
    }
    vec![MIGRATIONS[0], Migration { sqlite: steps.join(";\n").leak(), postgres: "" }].leak()
}

/// In the process that dies, opens the store and does not return. Elsewhere, does nothing.
async fn die_if_told() {
    let Some(path) = std::env::var_os(STORE) else { return };
    #[expect(unsafe_code, reason = "there is no other way to a function on a connection of the store's own")]
    // SAFETY: the extension opens no database, closes none, and leaves the list of extensions alone.
    unsafe {
        auto_extension::register_auto_extension(add_abort).unwrap();
    }
    let migrations = match std::env::var(STATEMENTS_DONE).unwrap().as_str() {
        "made" => MIGRATIONS,
        done => upgrade(done.parse().unwrap()),
    };
    let opened = open(Path::new(&path), migrations).await.map(drop);
    eprintln!("{opened:?}");
    std::process::exit(0);
}

#[expect(unsafe_code, reason = "as SQLite calls it")]
unsafe extern "C" fn add_abort(
    database: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    _: *const ffi::sqlite3_api_routines,
) -> c_int {
    let add = |connection: Connection| {
        let abort =
            |_: &rusqlite::functions::Context<'_>| -> rusqlite::Result<bool> { std::process::abort() };
        connection.create_scalar_function("azolla_abort", 0, FunctionFlags::SQLITE_UTF8, abort)
    };
    // SAFETY: SQLite hands over its own connection and place for a message.
    unsafe { auto_extension::init_auto_extension(database, message, add) }
}

/// Opens the store in a process of its own, which may make no file longer than `kib`. Returns how it ended.
#[expect(clippy::disallowed_methods, reason = "a process that is to die, not one that is run to its end")]
fn die(name: &str, path: &Path, done: &str, kib: u64) -> ExitStatus {
    // A POSIX shell counts in blocks of 512 bytes; a signal ends who writes beyond.
    let limited = format!("ulimit -c 0; ulimit -f {}; exec \"$0\" \"$@\"", kib * 2);
    Command::new("sh")
        .args(["-c", &limited])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("sqlite::tests::killed::{name}")])
        .env("POSIXLY_CORRECT", "1")
        .env(STORE, path)
        .env(STATEMENTS_DONE, done)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap()
}

/// A store at version 1 with one note in it.
async fn old_store() -> (TempDir, PathBuf) {
    let (directory, path, store) = fresh().await;
    drop(store);
    connection(&path).execute_batch(NOTE).unwrap();
    (directory, path)
}

fn tables(path: &Path) -> Vec<String> {
    let connection = connection(path);
    let mut statement = connection.prepare("SELECT sql FROM sqlite_schema ORDER BY name").unwrap();
    let texts = statement.query_map([], |row| row.get::<_, Option<String>>(0)).unwrap();
    texts.filter_map(Result::unwrap).collect()
}

/// Expects the store as it was before the upgrade, for the old program too; then upgrades it, all the way.
async fn assert_old_then_upgrade(path: &Path, before: &[String], after: &str) {
    let store = open(path, MIGRATIONS).await.unwrap();
    let read: &dyn SubstrateRead = &store;
    assert_eq!(read.identity().await.unwrap(), identity(), "{after}");
    assert_eq!(read.integrity().await.unwrap(), [] as [&str; 0], "{after}");
    drop(store);
    assert_eq!((version(path), notes(path)), (1, vec!["obj-kept".to_owned()]), "{after}");
    assert_eq!(tables(path), before, "half an upgrade stayed {after}");

    assert_upgraded(path, before, after).await;
}

/// Opens the store with the new program, and expects the whole upgrade and the whole backup.
async fn assert_upgraded(path: &Path, before: &[String], after: &str) {
    let store = open(path, upgrade(usize::MAX)).await.unwrap();
    let read: &dyn SubstrateRead = &store;
    assert_eq!(read.integrity().await.unwrap(), [] as [&str; 0], "{after}");
    drop(store);
    assert_eq!(version(path), 2, "{after}");
    assert_eq!(notes(path), ["obj-kept", "obj-added"], "{after}");
    let count: i64 = connection(path).query_row("SELECT COUNT(*) FROM extra", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 2, "{after}");
    let [partial, backup] = beside(path);
    assert!(!partial.exists(), "{after}");
    assert_eq!((version(&backup), notes(&backup)), (1, vec!["obj-kept".to_owned()]), "{after}");
    assert_eq!(tables(&backup), before, "{after}");
}

fn beside(path: &Path) -> [PathBuf; 2] {
    ["partial", "backup"].map(|ending| PathBuf::from(format!("{}.v1.{ending}", path.display())))
}

/// P14: after none of its statements, which is between the backup and the upgrade, and after each of them.
#[tokio::test]
async fn p14_an_upgrade_killed_after_any_statement_leaves_the_old_store() {
    die_if_told().await;
    for done in 0..=STEPS.len() {
        let (_directory, path) = old_store().await;
        let before = tables(&path);
        let name = "p14_an_upgrade_killed_after_any_statement_leaves_the_old_store";
        let ended = die(name, &path, &done.to_string(), 1 << 20);
        assert_eq!(ended.signal(), Some(ABORTED), "after {done} statements: {ended}");
        let [partial, backup] = beside(&path);
        assert!(backup.exists() && !partial.exists(), "the backup comes before the upgrade");
        assert_old_then_upgrade(&path, &before, &format!("after {done} statements")).await;
    }
}

/// P14: wherever a file gets longer: in the backup, in the log while the upgrade is committed, and, once it is, in the file
/// that the log is moved into.
#[tokio::test]
async fn p14_an_upgrade_killed_while_it_writes_leaves_the_old_store() {
    die_if_told().await;
    let (mut in_backup, mut in_log, mut committed) = (0, 0, 0);
    // The index of the log has 32 KiB at once, and no upgrade without it.
    for kib in (64..).step_by(96) {
        let (_directory, path) = old_store().await;
        let before = tables(&path);
        let name = "p14_an_upgrade_killed_while_it_writes_leaves_the_old_store";
        let ended = die(name, &path, &usize::MAX.to_string(), kib);
        if ended.success() {
            assert_eq!(version(&path), 2, "files of {kib} KiB were enough");
            break;
        }
        assert_eq!(ended.signal(), Some(FILE_TOO_LARGE), "files of {kib} KiB: {ended}");
        let after = format!("with files of {kib} KiB");
        match (beside(&path).map(|file| file.exists()), version(&path)) {
            ([true, false], 1) => in_backup += 1,
            ([false, true], 1) => in_log += 1,
            ([false, true], 2) => {
                committed += 1;
                assert_upgraded(&path, &before, &after).await;
                continue;
            }
            found => panic!("{after}: (partial, backup), version: {found:?}"),
        }
        assert_old_then_upgrade(&path, &before, &after).await;
    }
    println!("killed {in_backup} times in the backup, {in_log} in the log, {committed} after the commit");
    assert!(in_backup > 1 && in_log > 1 && committed > 0);
}

/// P14: a store that was not there is made by the next who asks for it.
#[tokio::test]
async fn p14_a_store_that_was_killed_while_it_was_made_is_made_by_the_next() {
    die_if_told().await;
    let mut killed = 0;
    for kib in (32..).step_by(96) {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("x.sqlite");
        let name = "p14_a_store_that_was_killed_while_it_was_made_is_made_by_the_next";
        let ended = die(name, &path, "made", kib);
        if ended.success() {
            break;
        }
        assert_eq!(ended.signal(), Some(FILE_TOO_LARGE), "files of {kib} KiB: {ended}");
        killed += 1;
        let store = open(&path, MIGRATIONS).await.unwrap();
        let read: &dyn SubstrateRead = &store;
        assert_eq!(read.identity().await.unwrap(), identity());
        assert_eq!(read.integrity().await.unwrap(), [] as [&str; 0]);
        assert_eq!((version(&path), notes(&path)), (1, Vec::new()));
    }
    println!("killed {killed} times");
    assert!(killed > 1);
}
