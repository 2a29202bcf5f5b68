//! Tests of the writer: who writes a job, what each job of a batch is told, and that nothing stops the thread.

use std::sync::mpsc;

use azolla_protocol::{AzollaId, AzollaType};
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::super::{
    writer::{Ending, Wake},
    *,
};
use crate::system::SystemClock;

async fn store() -> (TempDir, SqliteSubstrate) {
    let directory = TempDir::new().unwrap();
    let identity = Identity { azolla_id: AzollaId::new("az-x").unwrap(), azolla_type: AzollaType::CodePatch };
    let path = directory.path().join("x.sqlite");
    let store =
        SqliteSubstrate::open(&path, Opening::OrCreate(identity), Arc::new(SystemClock)).await.unwrap();
    (directory, store)
}

/// Holds the writer until the sender is used, so that the jobs after it wait together.
async fn hold(store: &Arc<SqliteSubstrate>) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel::<()>();
    let (started, start) = oneshot::channel();
    let holder = store.clone();
    tokio::spawn(async move {
        let work = move |_: &Connection| {
            started.send(()).unwrap();
            released.recv().unwrap();
            Ok(Ending::Keep(()))
        };
        holder.writer.submit(Wake::Nobody, work).await.unwrap();
    });
    start.await.unwrap();
    release
}

/// Makes COMMIT fail: a link to nothing that is checked only then.
fn break_commit(connection: &Connection) -> Result<Ending<&'static str>, SubstrateError> {
    let broken = "PRAGMA defer_foreign_keys = ON; DROP TRIGGER usage_record_insert;
        INSERT INTO usage_record (work_order_id, claim_version, created_at, document) VALUES ('wo-x', 1, '', '')";
    connection.execute_batch(broken).map_err(|error| refusal(&error, "usage_record"))?;
    Ok(Ending::Keep("kept"))
}

fn refused() -> SubstrateError {
    SubstrateError::Malformed("refused".into())
}

/// An answer that rests on a write that is rolled back after all would be false.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_commit_is_told_to_every_job_that_came_after_a_kept_one() {
    let (_directory, store) = store().await;
    let store = Arc::new(store);
    let release = hold(&store).await;
    // Polled in order, so sent in order; all of them wait for the first one, and so are one batch.
    let before = store.writer.submit(Wake::Nobody, |_| Err::<Ending<&str>, _>(refused()));
    let kept = store.writer.submit(Wake::Nobody, break_commit);
    let undone = store.writer.submit(Wake::Nobody, |_| Ok(Ending::Undo("undone")));
    let after = store.writer.submit(Wake::Nobody, |_| Err::<Ending<&str>, _>(refused()));
    let release = async {
        release.send(()).unwrap();
    };
    let (before, kept, undone, after, ()) = tokio::join!(before, kept, undone, after, release);
    assert!(matches!(before, Err(SubstrateError::Malformed(_))), "{before:?}");
    for told in [kept, undone, after] {
        assert!(matches!(told, Err(SubstrateError::Unavailable(_))), "{told:?}");
    }
    let kept = store.writer.submit(Wake::Nobody, |_| Ok(Ending::Keep("the writer goes on"))).await;
    assert_eq!(kept.unwrap(), "the writer goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_panics_does_not_stop_the_writer() {
    let (_directory, store) = store().await;
    let panicked =
        store.writer.submit(Wake::Nobody, |_| -> Result<Ending<()>, _> { panic!("on purpose") }).await;
    assert!(matches!(panicked, Err(SubstrateError::Unavailable(_))), "{panicked:?}");
    store.writer.submit(Wake::Nobody, |_| Ok(Ending::Keep(()))).await.unwrap();
}

/// Waiting for another program is the thread's part: whoever asked can do something else meanwhile, as here.
#[tokio::test]
async fn a_job_is_written_at_once_or_waits_for_another_program_on_the_thread() {
    let (directory, store) = store().await;
    let by_whom = || {
        let name = |_: &Connection| Ok(Ending::Keep(std::thread::current().name() == Some("azolla-writer")));
        store.writer.submit(Wake::Nobody, name)
    };
    // The thread still has the connection for a moment after a reply.
    let at_once = async || {
        for _ in 0..1_000 {
            if !by_whom().await.unwrap() {
                return true;
            }
        }
        false
    };
    assert!(at_once().await);
    let other = rusqlite::Connection::open(directory.path().join("x.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let end = async { other.execute_batch("COMMIT").unwrap() };
    let (waited, ()) = tokio::join!(by_whom(), end);
    assert!(waited.unwrap());
    assert!(at_once().await);
}

/// A newer program upgraded the file: this one writes nothing more into what it does not know.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_was_upgraded_meanwhile_is_not_written() {
    let (directory, store) = store().await;
    let upgrade = rusqlite::Connection::open(directory.path().join("x.sqlite")).unwrap();
    upgrade.execute_batch("PRAGMA user_version = 2").unwrap();
    let refused = store.writer.submit(Wake::Nobody, |_| Ok(Ending::Keep(()))).await.unwrap_err();
    assert!(refused.to_string().contains("upgraded by a newer azolla"), "{refused}");
}

/// Whoever copies the file after the program has ended gets all of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_closed_store_is_whole_in_its_one_file() {
    let (directory, store) = store().await;
    let read: &dyn SubstrateRead = &store;
    read.identity().await.unwrap();
    drop(store);
    let files: Vec<_> =
        std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["x.sqlite"]);
    let copy = directory.path().join("copy.sqlite");
    std::fs::copy(directory.path().join("x.sqlite"), &copy).unwrap();
    SqliteSubstrate::open(&copy, Opening::Existing, Arc::new(SystemClock)).await.unwrap();
}
