//! The home store keeps what it is told, for its owner alone.

use std::{
    os::unix::fs::{MetadataExt, PermissionsExt},
    sync::Barrier,
};

use super::*;

#[test]
fn pins_and_looks_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("home.sqlite");
    let (id, at) = (AzollaId::new("az-a").unwrap(), Timestamp::from_millisecond(5).unwrap());
    {
        let mut home = Home::open(&path).unwrap();
        assert_eq!((home.is_pinned("/r", b"one").unwrap(), home.look(&id).unwrap()), (false, None));
        home.pin("/r", "main", &Pin { base_branch: "main", file: b"one", at }).unwrap();
        home.pin("/r", "main", &Pin { base_branch: "main", file: b"two", at }).unwrap();
        home.pin("/r", "main", &Pin { base_branch: "dev", file: b"three", at }).unwrap();
        home.looked(&[(&id, Look { cursor: "0:7".into(), at })]).unwrap();
        home.leave();
    }
    let home = Home::open(&path).unwrap();
    let found = [&b"one"[..], b"two", b"three"].map(|file| home.is_pinned("/r", file).unwrap());
    assert_eq!(found, [false, true, true], "a branch has one pin, whatever others have");
    assert!(!home.is_pinned("/s", b"two").unwrap());
    assert_eq!(home.pins("/r").unwrap(), HashMap::from([("main".into(), at), ("dev".into(), at)]));
    assert_eq!(home.pins("/s").unwrap(), HashMap::new());
    assert_eq!(home.look(&id).unwrap(), Some(Look { cursor: "0:7".into(), at }));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

/// What must not be lost waits for the disk, also on a connection that has noted what was seen, and where that failed.
#[test]
fn only_what_was_seen_does_not_wait_for_the_disk() {
    const FULL: i64 = 2;
    let directory = tempfile::tempdir().unwrap();
    let mut home = Home::open(&directory.path().join("home.sqlite")).unwrap();
    let synchronous = |home: &Home| -> i64 {
        home.connection.query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap()
    };
    let (id, at) = (AzollaId::new("az-a").unwrap(), Timestamp::from_millisecond(5).unwrap());
    let looks = [(&id, Look { cursor: "0:7".into(), at })];
    assert_eq!(synchronous(&home), FULL);
    home.looked(&looks).unwrap();
    assert_eq!(synchronous(&home), FULL);
    home.connection.execute_batch("DROP TABLE look").unwrap();
    home.looked(&looks).unwrap_err();
    assert_eq!((synchronous(&home), home.connection.is_autocommit()), (FULL, true));
}

#[test]
fn a_newer_home_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("home.sqlite");
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 9").unwrap();
    assert!(matches!(Home::open(&path), Err(HomeError::Newer(9))));
}

/// What version 1 made, with something in it.
const VERSION_1: &str = "
    CREATE TABLE trust (repo TEXT PRIMARY KEY, file BLOB NOT NULL, pinned_at TEXT NOT NULL) STRICT;
    CREATE TABLE look (azolla_id TEXT PRIMARY KEY, cursor TEXT NOT NULL, looked_at TEXT NOT NULL) STRICT;
    INSERT INTO trust VALUES ('/r', x'6f6e65', '2026-11-01T08:00:00.000Z');
    PRAGMA user_version = 1;";

#[test]
fn p14_an_older_home_is_brought_forward_with_what_it_holds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("home.sqlite");
    Connection::open(&path).unwrap().execute_batch(VERSION_1).unwrap();
    // Several programs start at once, and all find the same.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let home = Home::open(&path).unwrap();
                assert!(home.is_pinned("/r", b"one").unwrap());
                assert_eq!(
                    home.look_at_account().unwrap().spent_on_day("2026-11-01").unwrap(),
                    Spent::default()
                );
            });
        }
    });
    assert_eq!(version(&Connection::open(&path).unwrap()).unwrap(), sql::VERSION);
}

/// A pin from before branches had their own is of the azolla's own base: another branch's leaves it, the next of its own
/// takes its place.
#[test]
fn p14_r13_a_pin_without_a_branch_is_that_of_the_own_base() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("home.sqlite");
    Connection::open(&path).unwrap().execute_batch(VERSION_1).unwrap();
    let mut home = Home::open(&path).unwrap();
    let at = Timestamp::from_millisecond(5).unwrap();
    for (base_branch, file, others) in [("dev", &b"two"[..], true), ("main", b"three", false)] {
        home.pin("/r", "main", &Pin { base_branch, file, at }).unwrap();
        assert_eq!(
            (home.is_pinned("/r", b"one").unwrap(), home.is_pinned("/r", file).unwrap()),
            (others, true)
        );
    }
    assert_eq!(home.pins("/r").unwrap(), HashMap::from([("main".into(), at), ("dev".into(), at)]));
}

#[test]
fn p14_a_step_that_fails_leaves_the_older_home_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("home.sqlite");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(VERSION_1).unwrap();
    // The last table of the step is in the way, so everything before it has to be undone.
    old.execute_batch("CREATE TABLE hold (x INTEGER)").unwrap();
    assert!(matches!(Home::open(&path), Err(HomeError::Database(_))));
    assert_eq!(version(&old).unwrap(), 1);
    old.execute_batch("DROP TABLE hold").unwrap();
    Home::open(&path).unwrap();
}

/// Whichever of them makes the file, the others wait for it.
#[test]
fn t40_programs_that_start_at_once_all_open_a_new_home() {
    for round in 0..25 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("home.sqlite");
        let start = Barrier::new(8);
        let opened = std::thread::scope(|scope| {
            let programs = [(); 8].map(|()| {
                scope.spawn(|| {
                    start.wait();
                    Home::open(&path).map(|home| version(&home.connection).unwrap())
                })
            });
            programs.map(|program| program.join().unwrap())
        });
        for found in opened {
            assert_eq!(found.unwrap(), sql::VERSION, "round {round}");
        }
    }
}

/// SQLite's hold on the file tells other programs not to clear away the log that this one writes to. It is the
/// process's, so that closing any other handle of the file would end it.
#[test]
fn t40_opening_the_home_again_leaves_the_locks_of_this_program_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("home.sqlite");
    let mut home = Home::open(&path).unwrap();
    home.pin("/r", "main", &Pin { base_branch: "main", file: b"one", at: Timestamp::MIN }).unwrap();
    let inode = format!(":{} ", std::fs::metadata(&path).unwrap().ino());
    let held = || {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        locks.lines().filter(|line| line.contains(&inode)).count()
    };
    assert_eq!(held(), 1, "a program that has it open says so");
    drop(Home::open(&path).unwrap());
    assert_eq!(held(), 1, "and goes on saying so");
}
