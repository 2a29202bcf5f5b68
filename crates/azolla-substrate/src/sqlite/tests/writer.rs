//! Tests of the writer: who writes a job, what each job of a batch is told, and that nothing stops the thread.

use std::{
    pin::pin,
    sync::{Mutex, mpsc},
    task::{Context, Waker},
    time::Duration,
};

use azolla_protocol::{AzollaId, AzollaType};
use tempfile::TempDir;
use tokio::{sync::oneshot, time::Instant};

use super::super::{
    writer::{Ending, Wake},
    *,
};
use crate::system::SystemClock;

/// Longer than a busy machine takes, far shorter than for ever.
const PATIENCE: Duration = Duration::from_secs(30);

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
    let first = store.writer.submit(Wake::Nobody, |_| Err::<Ending<&str>, _>(refused()));
    let second = store.writer.submit(Wake::Nobody, |_| Err::<Ending<&str>, _>(refused()));
    let kept = store.writer.submit(Wake::Nobody, break_commit);
    let undone = store.writer.submit(Wake::Nobody, |_| Ok(Ending::Undo("undone")));
    let after = store.writer.submit(Wake::Nobody, |_| Err::<Ending<&str>, _>(refused()));
    let release = async {
        release.send(()).unwrap();
    };
    let (first, second, kept, undone, after, ()) = tokio::join!(first, second, kept, undone, after, release);
    for told in [first, second] {
        assert!(matches!(told, Err(SubstrateError::Malformed(_))), "{told:?}");
    }
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

/// Who finds the connection free does not go before a job that waits for it.
#[tokio::test]
async fn a_job_does_not_overtake_one_that_was_sent_before_it() {
    let (_directory, store) = store().await;
    let store = Arc::new(store);
    for _ in 0..100 {
        let order = Arc::new(Mutex::new(Vec::new()));
        let noting = |name: &'static str| {
            let order = order.clone();
            move |_: &Connection| {
                order.lock().unwrap().push(name);
                Ok(Ending::Keep(()))
            }
        };
        let (sender, first) = (store.clone(), noting("first"));
        let send = move |_: &Connection| {
            // This job still has the connection, so the one that it sends to the thread waits.
            let first = pin!(sender.writer.submit_elsewhere(Wake::Nobody, first));
            assert!(first.poll(&mut Context::from_waker(Waker::noop())).is_pending());
            Ok(Ending::Keep(()))
        };
        store.writer.submit(Wake::Nobody, send).await.unwrap();
        store.writer.submit(Wake::Nobody, noting("second")).await.unwrap();
        assert_eq!(*order.lock().unwrap(), ["first", "second"]);
    }
}

/// A job that waits for the disk holds up nothing else that the runtime's thread has to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn other_tasks_go_on_while_a_job_is_written() {
    let (_directory, store) = store().await;
    let writing = tokio::spawn(async move {
        let (sender, receiver) = mpsc::channel();
        // For the same thread, which is the only one.
        tokio::spawn(async move { sender.send("the other task").unwrap() });
        let work = move |_: &Connection| Ok(Ending::Keep(receiver.recv_timeout(PATIENCE)));
        store.writer.submit(Wake::Nobody, work).await.unwrap()
    });
    assert_eq!(writing.await.unwrap(), Ok("the other task"));
}

/// A read takes the writing connection only where nobody has it or waits for it: a disk that hangs holds up who writes.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_does_not_wait_for_a_job_that_is_written() {
    let (_directory, store) = store().await;
    let store = Arc::new(store);
    let release = hold(&store).await;
    let version = Statement::new(sql::READ_VERSION, []);
    assert!(store.writer.read(&version).is_none());
    let read: &dyn SubstrateRead = &*store;
    let identity = tokio::time::timeout(PATIENCE, read.identity()).await.unwrap();
    assert_eq!(identity.unwrap(), store.identity);
    release.send(()).unwrap();
    // Behind the one that was held.
    store.writer.submit(Wake::Nobody, |_| Ok(Ending::Keep(()))).await.unwrap();
    while store.writer.read(&version).is_none() {
        tokio::task::yield_now().await;
    }
}

/// The thread waits for jobs without a limit until somebody wants to know of other programs.
#[tokio::test]
async fn what_other_programs_write_is_seen_however_late_one_asks() {
    let (directory, store) = store().await;
    let job = |_: &Connection| Ok(Ending::Keep(()));
    store.writer.submit_elsewhere(Wake::Nobody, job).await.unwrap();
    // By the end of this the thread waits again.
    let read: &dyn SubstrateRead = &store;
    read.identity().await.unwrap();
    let mut changes = store.changes();
    let other = rusqlite::Connection::open(directory.path().join("x.sqlite")).unwrap();
    other.execute_batch(super::NOTE).unwrap();
    tokio::time::timeout(PATIENCE, changes.changed()).await.expect("it was not seen").unwrap();
    // Where nobody else writes, no look wakes anybody, and our own jobs do not look like another's.
    let three_looks = Instant::now() + Duration::from_millis(750);
    while Instant::now() < three_looks {
        store.writer.submit_elsewhere(Wake::Nobody, job).await.unwrap();
    }
    assert_eq!(*changes.borrow(), 1);
}

/// Many writers share one sync, and no transaction grows without a limit.
#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_wait_together_are_one_transaction_of_256_at_most() {
    let (_directory, store) = store().await;
    let store = Arc::new(store);
    // A batch is told once.
    let changes = store.changes.subscribe();
    for (jobs, batches) in [(256, 1), (257, 2)] {
        let before = *changes.borrow();
        let release = hold(&store).await;
        let submit = || Box::pin(store.writer.submit(Wake::Roles, |_| Ok(Ending::Keep(()))));
        let mut waiting: Vec<_> = (0..jobs).map(|_| submit()).collect();
        // All of them are sent before the first is written. By hand: a runtime polls so many in several goes.
        for job in &mut waiting {
            assert!(job.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        release.send(()).unwrap();
        for job in waiting {
            job.await.unwrap();
        }
        assert_eq!(*changes.borrow() - before, batches, "{jobs} jobs");
    }
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
