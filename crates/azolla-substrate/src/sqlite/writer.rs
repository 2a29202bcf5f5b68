//! The one connection that writes a file. A job that finds it free is written at once, by whoever has the job: that takes
//! less time than two wake-ups. The others go to a thread, where those that wait together become one transaction with a
//! savepoint each, so that many writers share one sync. A reply leaves only after COMMIT has returned.
//!
//! The thread also sees what other programs commit: `data_version` moves on a connection with every commit but its own.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use azolla_protocol::Clock;
use rusqlite::Connection;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::{oneshot, watch},
    task::block_in_place,
};

use super::{
    connection::{BUSY_LIMIT, JobTime, query_if_reads},
    fault::Fault,
    sql,
};
use crate::{
    error::SubstrateError,
    statement::{Row, Statement},
};

/// Jobs in one transaction at the most.
const BATCH_MAX: usize = 256;

/// How often the file is looked at for commits of other programs, once somebody asked. It syncs nothing.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Runs inside the transaction, or hears why there is none. What it returns is called once all is over.
type Job = Box<dyn FnOnce(Result<&Connection, Fault>) -> Finish + Send>;

/// What is left of a job once it ran.
struct Finish {
    /// Whether what it wrote stays.
    keep: bool,
    /// Whether roles have something new to look at.
    wake: bool,
    /// What it met, if that is no fault of its own: the others of the batch are told the same.
    fault: Option<Fault>,
    reply: Reply,
}

/// Tells the caller the end. An error is the batch's, and outweighs what the job itself came to.
type Reply = Box<dyn FnOnce(Result<(), Fault>)>;

/// How a job that met no error ends.
pub(super) enum Ending<T> {
    /// What it wrote stays.
    Keep(T),
    /// What it wrote goes: an expected outcome, such as a claim that somebody else holds.
    Undo(T),
}

/// Whether a job is worth a look of the roles: a commit is, a claim or its renewal is not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    Roles,
    Nobody,
}

/// The connection and its thread. Dropping it ends the thread after the jobs that wait.
pub(super) struct Writer {
    shared: Arc<Shared>,
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread and those who write by themselves have in common.
struct Shared {
    pen: Mutex<Pen>,
    /// Jobs that were sent to the thread and are not under way yet.
    waiting: AtomicUsize,
    watching: AtomicBool,
}

impl Shared {
    fn pen(&self) -> MutexGuard<'_, Pen> {
        // A panic of a job is caught, and whatever it left is rolled back.
        self.pen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the pen if nobody has it or waits for it.
    fn free_pen(&self) -> Option<MutexGuard<'_, Pen>> {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            return None;
        }
        match self.pen.try_lock() {
            Ok(pen) => Some(pen),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl Writer {
    /// Starts the thread on its own connection, at the version that the store was opened with.
    pub(super) fn start(
        connection: Connection,
        version: i64,
        now: JobTime,
        clock: Arc<dyn Clock>,
        changes: watch::Sender<u64>,
    ) -> std::io::Result<Self> {
        let (sender, jobs) = mpsc::channel();
        let pen = Pen { connection, version, now, clock, changes };
        // Not by the thread: it may begin after somebody has written.
        let seen = pen.data_version();
        let pen = Mutex::new(pen);
        let shared = Arc::new(Shared { pen, waiting: AtomicUsize::new(0), watching: AtomicBool::new(false) });
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new()
            .name("azolla-writer".into())
            .spawn(move || of_thread.run(&jobs, seen))?;
        Ok(Self { shared, jobs: Some(sender), thread: Some(thread) })
    }

    /// Runs `work` in a transaction and returns what it returned, once that is durable. An error undoes what `work`
    /// wrote and nothing else. It may be run on the thread that asks, which then waits for the disk.
    pub(super) async fn submit<T: Send + 'static>(
        &self,
        wake: Wake,
        work: impl FnOnce(&Connection) -> Result<Ending<T>, SubstrateError> + Send + 'static,
    ) -> Result<T, SubstrateError> {
        let (job, answer) = job(wake, work);
        if let Some(job) = self.write_at_once(job) {
            self.send(job)?;
        }
        answer.await.map_err(|_| stopped())?
    }

    /// The same, on the thread: for who has something else to do while a disk hangs, and for work that itself waits.
    pub(super) async fn submit_elsewhere<T: Send + 'static>(
        &self,
        wake: Wake,
        work: impl FnOnce(&Connection) -> Result<Ending<T>, SubstrateError> + Send + 'static,
    ) -> Result<T, SubstrateError> {
        let (job, answer) = job(wake, work);
        self.send(job)?;
        answer.await.map_err(|_| stopped())?
    }

    /// Reads on the writing connection if nobody writes or waits to: what it wrote last is in its cache, and every other
    /// connection drops its own after each commit. What would write is left to a connection that cannot (M-4).
    pub(super) fn read(&self, statement: &Statement) -> Option<Result<Vec<Row>, SubstrateError>> {
        let pen = self.shared.free_pen()?;
        let rows = query_if_reads(&pen.connection, statement).transpose()?;
        Some(rows.map_err(|error| Fault::from(&error).into()))
    }

    /// Writes a job if nobody else writes or waits to; returns it otherwise.
    fn write_at_once(&self, job: Job) -> Option<Job> {
        let Some(pen) = self.shared.free_pen() else { return Some(job) };
        match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            // Whatever else this thread has to do is taken over by another meanwhile.
            Ok(RuntimeFlavor::MultiThread) => block_in_place(|| pen.write_one(job)),
            _ => pen.write_one(job),
        }
    }

    /// From now on commits of other programs are seen too.
    pub(super) fn watch(&self) {
        if !self.shared.watching.swap(true, Ordering::SeqCst) {
            // Ends the wait that has no time limit. A writer that has stopped sees nothing anyway.
            let _ = self.send(Box::new(|_| Finish {
                keep: false,
                wake: false,
                fault: None,
                reply: Box::new(|_| {}),
            }));
        }
    }

    fn send(&self, job: Job) -> Result<(), SubstrateError> {
        self.shared.waiting.fetch_add(1, Ordering::SeqCst);
        self.jobs.as_ref().and_then(|jobs| jobs.send(job).ok()).ok_or_else(stopped)
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

/// Makes a job of `work`, and the place where its answer will be.
fn job<T: Send + 'static>(
    wake: Wake,
    work: impl FnOnce(&Connection) -> Result<Ending<T>, SubstrateError> + Send + 'static,
) -> (Job, oneshot::Receiver<Result<T, SubstrateError>>) {
    let (sender, receiver) = oneshot::channel();
    let job = Box::new(move |connection: Result<&Connection, Fault>| {
        let result = connection.map_err(SubstrateError::from).and_then(work);
        let keep = matches!(result, Ok(Ending::Keep(_)));
        let fault = result.as_ref().err().and_then(Fault::told);
        let reply = Box::new(move |fate: Result<(), Fault>| {
            // Nobody may be waiting.
            let _ = sender.send(match fate {
                Ok(()) => result.map(|(Ending::Keep(value) | Ending::Undo(value))| value),
                Err(fault) => Err(fault.into()),
            });
        });
        Finish { keep, wake: keep && wake == Wake::Roles, fault, reply }
    });
    (job, receiver)
}

fn stopped() -> SubstrateError {
    SubstrateError::Unavailable("the writer of this store dropped the write".into())
}

impl Shared {
    /// The thread; `seen` is the version of the data when the store was opened.
    fn run(&self, jobs: &mpsc::Receiver<Job>, mut seen: Option<i64>) {
        let mut looked_at = Instant::now();
        loop {
            let first = if self.watching.load(Ordering::SeqCst) {
                jobs.recv_timeout(LOOK_EVERY.saturating_sub(looked_at.elapsed()))
            } else {
                jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match first {
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
                Ok(first) => {
                    // First the pen, then the jobs: what came while somebody else had it is in this batch.
                    let pen = self.pen();
                    let mut batch = vec![first];
                    batch.extend(jobs.try_iter().take(BATCH_MAX - 1));
                    self.waiting.fetch_sub(batch.len(), Ordering::SeqCst);
                    pen.write(batch);
                }
            }
            if self.watching.load(Ordering::SeqCst) && looked_at.elapsed() >= LOOK_EVERY {
                looked_at = Instant::now();
                let pen = self.pen();
                let version = pen.data_version();
                if version != seen {
                    pen.signal();
                }
                seen = version;
            }
        }
    }
}

/// What writes, one at a time.
struct Pen {
    connection: Connection,
    version: i64,
    now: JobTime,
    clock: Arc<dyn Clock>,
    changes: watch::Sender<u64>,
}

impl Pen {
    /// Writes one job, unless another program is writing; then the job is returned.
    fn write_one(&self, job: Job) -> Option<Job> {
        // Waiting for another program is left to the thread.
        let _ = self.connection.busy_timeout(Duration::ZERO);
        let begun = self.begin();
        let _ = self.connection.busy_timeout(BUSY_LIMIT);
        if let Err(Fault::Busy) = begun {
            self.roll_back();
            return Some(job);
        }
        self.guarded(|| self.write_batch(begun, vec![job]));
        None
    }

    /// Writes a batch as one transaction.
    fn write(&self, batch: Vec<Job>) {
        self.guarded(|| self.write_batch(self.begin(), batch));
    }

    /// A panic costs a batch its replies, not the store its writer. It has been printed.
    fn guarded(&self, write: impl FnOnce()) {
        let _ = catch_unwind(AssertUnwindSafe(write));
        self.roll_back();
    }

    fn signal(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn write_batch(&self, begun: Result<(), Fault>, batch: Vec<Job>) {
        let savepoints = batch.len() > 1;
        let mut waiting = batch.into_iter();
        let mut ran = Vec::new();
        let fate = begun.and_then(|()| {
            for job in waiting.by_ref() {
                // Read here and not when the job was sent: it may have waited longer than a lease (C-7).
                self.now.set(self.clock.now());
                self.run_job(job, savepoints, &mut ran)?;
            }
            if self.connection.is_autocommit() { Ok(()) } else { run(&self.connection, sql::COMMIT) }
        });
        self.roll_back();
        if let Err(fault) = &fate {
            ran.extend(waiting.map(|job| job(Err(fault.clone()))));
        }
        let changed = fate.is_ok() && ran.iter().any(|finish| finish.wake);
        if changed {
            // Before the replies: who has heard of a commit finds it signalled.
            self.signal();
        }
        // What a job came to may rest on what one before it wrote. If that is gone, the job's answer is gone too.
        let mut stands = true;
        for finish in ran {
            let told = if stands && !finish.keep { Ok(()) } else { fate.clone() };
            stands &= !finish.keep || fate.is_ok();
            (finish.reply)(told);
        }
    }

    /// Begins, unless a newer program has upgraded the store meanwhile.
    fn begin(&self) -> Result<(), Fault> {
        run(&self.connection, sql::BEGIN)?;
        match self.number(sql::READ_VERSION)? {
            version if version == self.version => Ok(()),
            _ => Err(Fault::Upgraded),
        }
    }

    /// Runs one job; what it wrote goes away again unless it is to be kept.
    fn run_job(&self, job: Job, savepoint: bool, ran: &mut Vec<Finish>) -> Result<(), Fault> {
        if savepoint {
            run(&self.connection, sql::SAVEPOINT)?;
        }
        let finish = job(Ok(&self.connection));
        let (keep, fault) = (finish.keep, finish.fault.clone());
        ran.push(finish);
        if self.connection.is_autocommit() {
            // Some failures (a full disk) make SQLite end the whole transaction by itself.
            return Err(fault.unwrap_or_else(|| Fault::Broken("the transaction was rolled back".into())));
        }
        match (savepoint, keep) {
            (true, true) => run(&self.connection, sql::KEEP),
            (true, false) => self.connection.execute_batch(sql::UNDO).map_err(|error| Fault::from(&error)),
            (false, true) => Ok(()),
            // The only job of its transaction: the transaction goes, and COMMIT has nothing to do.
            (false, false) => run(&self.connection, sql::ROLLBACK),
        }
    }

    /// Ends a transaction that did not end well. Nothing to do if that fails: the next BEGIN reports it.
    fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            let _ = run(&self.connection, sql::ROLLBACK);
        }
    }

    fn data_version(&self) -> Option<i64> {
        self.number(sql::DATA_VERSION).ok()
    }

    fn number(&self, text: &str) -> Result<i64, Fault> {
        let number = self
            .connection
            .prepare_cached(text)
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)));
        number.map_err(|error| Fault::from(&error))
    }
}

fn run(connection: &Connection, text: &str) -> Result<(), Fault> {
    let done = connection.prepare_cached(text).and_then(|mut statement| statement.execute([]));
    done.map(drop).map_err(|error| Fault::from(&error))
}
