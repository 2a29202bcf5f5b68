//! A file that is no store, or that cannot be written. Where permissions do not bind, because the tests run as root,
//! a test runs itself again in a namespace in which they do.

use std::{
    collections::BTreeSet,
    fs::Permissions,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use azolla_protocol::{Actor, AzollaType};
use azolla_substrate::{
    Commit, CommitOutcome, Opening, SqliteSubstrate, Substrate, SubstrateError, SubstrateRead, Write, verify,
};
use azolla_testkit::{
    Backend, ManualClock, SequentialIds, TestStore,
    cycle::valid,
    store::{Place, identity},
};
use tempfile::TempDir;

use super::refusal;
use crate::seed::{capture, new_capture};

async fn open(path: &Path, opening: Opening) -> Result<Arc<dyn Substrate>, SubstrateError> {
    let opened = SqliteSubstrate::open(path, opening, Arc::new(ManualClock::default())).await?;
    Ok(Arc::new(opened))
}

fn or_create() -> Opening {
    Opening::OrCreate(identity(AzollaType::CodePatch))
}

#[tokio::test]
async fn a_missing_file_or_folder_is_named() {
    let directory = TempDir::new().unwrap();
    let missing = directory.path().join("none.sqlite");
    let text = refusal(open(&missing, Opening::Existing).await);
    let expected = |path: &Path| {
        format!("there is no store at {}; check the path, and that its folder exists", path.display())
    };
    assert_eq!(text, expected(&missing));
    assert!(!missing.exists(), "a store that was not asked for was made");
    let nowhere = directory.path().join("none/none.sqlite");
    for opening in [Opening::Existing, or_create()] {
        assert_eq!(refusal(open(&nowhere, opening).await), expected(&nowhere));
    }
    let text = refusal(open(directory.path(), or_create()).await);
    assert!(text.starts_with(&format!("{} cannot be opened: ", directory.path().display())), "{text}");
}

#[tokio::test]
async fn an_empty_file_is_no_store_but_can_become_one() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("empty.sqlite");
    std::fs::write(&path, "").unwrap();
    let text = refusal(open(&path, Opening::Existing).await);
    assert_eq!(text, "there is no Substrate here; check the name of the store");
    open(&path, or_create()).await.unwrap();
}

#[tokio::test]
async fn bytes_that_are_no_database_are_refused_and_kept() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("notes.txt");
    let bytes = b"Remember the milk.\n".repeat(1_000);
    std::fs::write(&path, &bytes).unwrap();
    let expected = "the file is damaged or is no SQLite database; restore it from a backup, or import an export \
                    into a new store";
    for opening in [Opening::Existing, or_create()] {
        assert_eq!(refusal(open(&path, opening).await), expected);
    }
    assert!(std::fs::read(&path).unwrap() == bytes, "the file was changed");
}

#[tokio::test]
async fn a_database_of_another_program_is_refused_and_kept() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("other.sqlite");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE bookmark (url TEXT); INSERT INTO bookmark VALUES ('x')").unwrap();
    drop(other);
    let bytes = std::fs::read(&path).unwrap();
    for opening in [Opening::Existing, or_create()] {
        let expected = format!("{} is a database of another program; name another file", path.display());
        assert_eq!(refusal(open(&path, opening).await), expected);
    }
    assert!(std::fs::read(&path).unwrap() == bytes, "the file was changed");
}

#[tokio::test]
async fn a_new_store_is_for_its_owner_alone() {
    let world = TestStore::new(Backend::Sqlite).await;
    let Place::File(path, _) = &world.place else { unreachable!() };
    world.done(Actor::Client, Write::InsertCapture(valid(capture(&world).await))).await;
    for ending in ["", "-wal", "-shm"] {
        let file = PathBuf::from(format!("{}{ending}", path.display()));
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

/// SQLite's hold on the file tells other programs not to clear away the log that this one writes to. It is the
/// process's, so that closing any other handle of the file would end it.
#[tokio::test]
async fn t40_opening_a_store_again_leaves_the_locks_of_this_program_alone() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("substrate.sqlite");
    // As this process's own handles tell it: a list of all locks of the machine misses some while others come and go.
    let held = || {
        let inode = format!(":{} ", std::fs::metadata(&path).unwrap().ino());
        let handles = std::fs::read_dir("/proc/self/fdinfo").unwrap();
        // One that was closed meanwhile has nothing to tell.
        let told = handles.filter_map(|handle| std::fs::read_to_string(handle.unwrap().path()).ok());
        let locks = told.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
        // Every handle of a file tells of the same lock.
        locks.filter(|line| line.starts_with("lock:") && line.contains(&inode)).collect::<BTreeSet<_>>().len()
    };
    let store = open(&path, or_create()).await.unwrap();
    assert_eq!(held(), 1, "a program that has it open says so");
    for opening in [Opening::Existing, or_create()] {
        drop(open(&path, opening).await.unwrap());
        assert_eq!(held(), 1, "and goes on saying so");
    }
    store.now().await.unwrap();
}

const DIRECTORY: &str = "AZOLLA_TEST_NAMESPACE_DIRECTORY";

/// Returns the directory to test in, if this is already the process inside the namespace.
fn inside() -> Option<PathBuf> {
    std::env::var_os(DIRECTORY).map(PathBuf::from)
}

/// Runs the named test of this binary once more in a namespace, after a line of shell; `$D` is the directory.
#[expect(clippy::disallowed_methods, reason = "a test starts itself again in a namespace of its own")]
fn in_namespace(unshare: &[&str], prepare: &str, test: &str, directory: &Path) {
    let script = format!("{prepare} && exec \"$@\"");
    let output = std::process::Command::new("unshare")
        .args(unshare)
        .args(["sh", "-c", &script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(DIRECTORY, directory)
        .env("D", directory)
        .output()
        .expect("unshare, of util-linux, is installed");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // "1 passed" and not only success: a name that no test has passes with none.
    let ran = output.status.success() && stdout.contains("1 passed");
    assert!(ran, "{test} in a namespace: {}\n{stdout}\n{stderr}", output.status);
}

const NOT_WRITABLE: &str = "the store cannot be written; check that the file, its folder and the disk are writable \
                            by this user";

async fn is_not_writable(directory: &Path) {
    for opening in [Opening::Existing, or_create()] {
        assert_eq!(refusal(open(&directory.join("substrate.sqlite"), opening).await), NOT_WRITABLE);
    }
}

/// Makes a store that nobody has open, in a directory of its own.
async fn closed_store() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("substrate.sqlite");
    drop(open(&path, or_create()).await.unwrap());
    (directory, path)
}

#[tokio::test]
async fn a_file_or_folder_without_permission_is_said() {
    if let Some(directory) = inside() {
        return is_not_writable(&directory).await;
    }
    let (directory, path) = closed_store().await;
    // As a user who owns the file and is not root: the tests' own user, under another number.
    let run = || {
        let test = "opening::place::a_file_or_folder_without_permission_is_said";
        in_namespace(&["--user", "--map-user=1000", "--map-group=1000"], "true", test, directory.path());
    };
    let allow = |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    allow(&path, 0o400);
    run();
    allow(&path, 0o600);
    // The file may be written, but nothing beside it, which is where SQLite's log goes.
    allow(directory.path(), 0o500);
    run();
    allow(directory.path(), 0o700);
    open(&path, Opening::Existing).await.unwrap();
}

#[tokio::test]
async fn a_read_only_disk_is_said() {
    if let Some(directory) = inside() {
        return is_not_writable(&directory).await;
    }
    let (directory, path) = closed_store().await;
    let mount = "mount --bind \"$D\" \"$D\" && mount -o remount,bind,ro \"$D\"";
    let test = "opening::place::a_read_only_disk_is_said";
    in_namespace(&["--mount", "--map-root-user"], mount, test, directory.path());
    open(&path, Opening::Existing).await.unwrap();
}

/// The error says so, every acknowledged commit is there, and the same handle goes on once there is room.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_said_and_loses_nothing() {
    if let Some(directory) = inside() {
        return fill(&directory).await;
    }
    let directory = TempDir::new().unwrap();
    let mount = "mount -t tmpfs -o size=4m,mode=700 none \"$D\"";
    let test = "opening::place::a_full_disk_is_said_and_loses_nothing";
    in_namespace(&["--mount", "--map-root-user"], mount, test, directory.path());
}

async fn fill(directory: &Path) {
    let (path, ballast) = (directory.join("substrate.sqlite"), directory.join("ballast"));
    std::fs::write(&ballast, vec![0; 1 << 20]).unwrap();
    let store = open(&path, or_create()).await.unwrap();
    let (ids, content) = (SequentialIds::default(), "x".repeat(60_000));
    let mut kept = Vec::new();
    let write = async || {
        let capture = new_capture(&ids, &content, store.now().await.unwrap());
        let id = capture.capture_id.clone();
        let commit = Commit::new(ids.commit_id(), Actor::Client).with(Write::InsertCapture(valid(capture)));
        assert_eq!(store.commit(commit).await?, CommitOutcome::Done);
        Ok::<_, SubstrateError>(id)
    };
    let error = loop {
        match write().await {
            Ok(id) => kept.push(id),
            Err(error) => break error,
        }
        assert!(kept.len() < 1_000, "4 MB hold 60 MB");
    };
    assert!(matches!(error, SubstrateError::Unusable { .. }), "{error:?}");
    assert_eq!(error.to_string(), "the disk is full; free some space, then run the command again");
    assert!(kept.len() > 5, "the disk was full after {} commits", kept.len());

    std::fs::remove_file(&ballast).unwrap();
    kept.push(write().await.unwrap());
    drop(store);
    let store = open(&path, Opening::Existing).await.unwrap();
    let read: &dyn SubstrateRead = &*store;
    assert_eq!(verify(read).await.unwrap(), []);
    let found = read.pending_captures(1, 10_000).await.unwrap();
    let found: Vec<_> = found.into_iter().map(|stored| stored.capture.capture_id).collect();
    assert_eq!(found, kept, "what is there is what was acknowledged");
}
