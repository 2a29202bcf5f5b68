//! The one thread that writes a file. Jobs that wait together become one transaction with a savepoint each, so
//! that many writers share one sync; a reply leaves only after COMMIT has returned.

use std::{
    sync::{Arc, mpsc},
    thread::JoinHandle,
};

use azolla_protocol::Clock;
use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use super::{connection::JobTime, fault::Fault, sql};
use crate::error::SubstrateError;

/// Jobs in one transaction at the most.
const BATCH_MAX: usize = 256;

/// Runs inside the transaction, or hears why there is none. What it returns is called once all is over.
type Job = Box<dyn FnOnce(Result<&Connection, Fault>) -> Finish + Send>;

/// What is left of a job: whether it is to be kept, and how its caller is told the end.
struct Finish {
    keep: bool,
    reply: Reply,
}

type Reply = Box<dyn FnOnce(Result<(), Fault>)>;

/// How a job that met no error ends.
pub(super) enum Ending<T> {
    /// What it wrote stays.
    Keep(T),
    /// What it wrote goes: an expected outcome, such as a claim that somebody else holds.
    Undo(T),
}

/// The handle of the writer thread. Dropping it ends the thread after the jobs that wait.
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread on its own connection.
    pub(super) fn start(
        connection: Connection,
        now: JobTime,
        clock: Arc<dyn Clock>,
        changes: watch::Sender<u64>,
    ) -> std::io::Result<Self> {
        let (sender, jobs) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("azolla-writer".into())
            .spawn(move || write_batches(&connection, &jobs, &now, &*clock, &changes))?;
        Ok(Self { jobs: Some(sender), thread: Some(thread) })
    }

    /// Runs `work` in a transaction and returns what it returned, once that is durable. An error undoes what `work`
    /// wrote and nothing else.
    pub(super) async fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<Ending<T>, SubstrateError> + Send + 'static,
    ) -> Result<T, SubstrateError> {
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let result = connection.map_err(SubstrateError::from).and_then(work);
            let keep = matches!(result, Ok(Ending::Keep(_)));
            let reply = Box::new(move |fate: Result<(), Fault>| {
                // A refusal stands whatever became of the others; a success does not. Nobody may be waiting.
                let _ = sender.send(match (result, fate) {
                    (Ok(Ending::Keep(value)), Ok(())) | (Ok(Ending::Undo(value)), _) => Ok(value),
                    (Ok(Ending::Keep(_)), Err(fault)) => Err(fault.into()),
                    (Err(error), _) => Err(error),
                });
            });
            Finish { keep, reply }
        });
        let stopped = || SubstrateError::Unavailable("the writer of this store has stopped".into());
        self.jobs.as_ref().and_then(|jobs| jobs.send(job).ok()).ok_or_else(stopped)?;
        receiver.await.map_err(|_| stopped())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // An error is a panic of that thread, which has been printed.
            let _ = thread.join();
        }
    }
}

fn write_batches(
    connection: &Connection,
    jobs: &mpsc::Receiver<Job>,
    now: &JobTime,
    clock: &dyn Clock,
    changes: &watch::Sender<u64>,
) {
    while let Ok(first) = jobs.recv() {
        let mut batch = vec![first];
        batch.extend(jobs.try_iter().take(BATCH_MAX - 1));
        write_batch(connection, batch, now, clock);
        changes.send_modify(|count| *count += 1);
    }
}

fn write_batch(connection: &Connection, batch: Vec<Job>, now: &JobTime, clock: &dyn Clock) {
    let savepoints = batch.len() > 1;
    let mut waiting = batch.into_iter();
    let mut replies = Vec::new();
    let fate = run::<Stopped>(connection, sql::BEGIN).and_then(|()| {
        for job in waiting.by_ref() {
            // Read here and not when the job was sent: it may have waited longer than a lease (C-7).
            now.set(clock.now());
            replies.push(run_job(connection, job, savepoints)?);
        }
        run(connection, sql::COMMIT)
    });
    let fate = fate.map_err(|Stopped { fault, reply }| {
        replies.extend(reply);
        fault
    });
    if let Err(fault) = &fate {
        if !connection.is_autocommit() {
            // Nothing to do about a failed rollback: the next BEGIN reports it.
            let _ = run::<Fault>(connection, sql::ROLLBACK);
        }
        replies.extend(waiting.map(|job| job(Err(fault.clone())).reply));
    }
    for reply in replies {
        reply(fate.clone());
    }
}

/// Why a batch ended early, and the job that ended it.
struct Stopped {
    fault: Fault,
    reply: Option<Reply>,
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        Self { fault, reply: None }
    }
}

/// Runs one job; what it wrote goes away again if it failed.
fn run_job(connection: &Connection, job: Job, savepoint: bool) -> Result<Reply, Stopped> {
    if savepoint {
        run::<Stopped>(connection, sql::SAVEPOINT)?;
    }
    let Finish { keep, reply } = job(Ok(connection));
    let ended = match (savepoint, keep) {
        // Some failures (a full disk) make SQLite end the whole transaction by itself.
        _ if connection.is_autocommit() => Err("the transaction was rolled back"),
        (false, true) => Ok(()),
        (false, false) => Err("there was nothing to keep"),
        (true, true) => run::<Fault>(connection, sql::KEEP).map_err(|_| "a savepoint was lost"),
        (true, false) => connection.execute_batch(sql::UNDO).map_err(|_| "a savepoint was lost"),
    };
    match ended {
        Ok(()) => Ok(reply),
        Err(why) => Err(Stopped { fault: Fault::Broken(why.into()), reply: Some(reply) }),
    }
}

fn run<E: From<Fault>>(connection: &Connection, text: &str) -> Result<(), E> {
    let done = connection.prepare_cached(text).and_then(|mut statement| statement.execute([]));
    done.map(drop).map_err(|error| Fault::from(&error).into())
}
