//! The signals that end a run: in good order at the first, at once at the second.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    task::JoinHandle,
};

use crate::screen::remark;

/// Listens until it is ended.
pub(super) struct Signals {
    task: JoinHandle<()>,
    first: Arc<AtomicU8>,
}

/// The exit code of a program that a signal ended, as a shell has it: 128 and the signal's number.
fn code(kind: SignalKind) -> u8 {
    u8::try_from(128 + kind.as_raw_value()).unwrap_or(u8::MAX)
}

impl Signals {
    /// Ends the work in good order at the first signal, and at once at the second. What is under way then is taken up
    /// again by the next run.
    pub(super) fn stop(stop: watch::Sender<bool>) -> std::io::Result<Self> {
        let first = Arc::new(AtomicU8::new(0));
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        // Who started this with nohup has said that it outlives the terminal.
        let mut hangup = if is_hangup_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
        let noted = first.clone();
        let task = tokio::spawn(async move {
            loop {
                let code = tokio::select! {
                    _ = interrupt.recv() => code(SignalKind::interrupt()),
                    _ = terminate.recv() => code(SignalKind::terminate()),
                    () = received(&mut hangup) => code(SignalKind::hangup()),
                };
                if noted.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                    std::process::exit(code.into());
                }
                remark("stopping; once more stops at once");
                stop.send_replace(true);
            }
        });
        Ok(Self { task, first })
    }

    /// Stops listening and returns the exit code of the signal that came, if one did.
    pub(super) fn end(self) -> Option<u8> {
        self.task.abort();
        Some(self.first.load(Ordering::Relaxed)).filter(|code| *code != 0)
    }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Tells whether SIGHUP is ignored, where the system says so; listening would end that.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored(&status) & 1 != 0
}

/// Reads the set of ignored signals, the lowest bit for the first.
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
