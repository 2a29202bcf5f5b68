//! What a process costs itself: syncs and CPU time.

// Counting syncs means standing where SQLite calls them. This binary defines the two symbols, so the linker takes
// them before the C library's; they count and make the same system call.
#![allow(unsafe_code)]

use std::{
    os::fd::BorrowedFd,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

static SYNCS: AtomicU64 = AtomicU64::new(0);

#[unsafe(no_mangle)]
extern "C" fn fdatasync(fd: i32) -> i32 {
    counted(fd, |fd| rustix::fs::fdatasync(fd))
}

#[unsafe(no_mangle)]
extern "C" fn fsync(fd: i32) -> i32 {
    counted(fd, |fd| rustix::fs::fsync(fd))
}

fn counted(fd: i32, sync: impl Fn(BorrowedFd<'_>) -> rustix::io::Result<()>) -> i32 {
    SYNCS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the caller of a C function passes a descriptor that is open for the length of the call.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    if sync(fd).is_ok() { 0 } else { -1 }
}

/// Returns the syncs of this process so far.
pub(crate) fn syncs() -> u64 {
    SYNCS.load(Ordering::Relaxed)
}

/// Returns the CPU time of this process.
pub(crate) fn own_cpu_ms() -> f64 {
    milliseconds(ClockId::ProcessCPUTime)
}

/// Returns the CPU time of this thread.
#[allow(dead_code, reason = "not every benchmark tells its threads apart")]
pub(crate) fn thread_cpu_ms() -> f64 {
    milliseconds(ClockId::ThreadCPUTime)
}

fn milliseconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Lets time pass with nothing to do: the thing that is measured is the absence of work.
pub(crate) async fn pass(time: Duration) {
    let _ = tokio::time::timeout(time, std::future::pending::<()>()).await;
}
