//! The signals that end a run: in good order at the first, at once at the second.

use std::sync::{Arc, OnceLock};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    task::JoinHandle,
};

use crate::{cli::progress, failure::Code, screen::remark};

/// Listens until it is ended.
pub(crate) struct Signals {
    task: JoinHandle<()>,
    first: Arc<OnceLock<Code>>,
}

impl Signals {
    /// Ends the work in good order at the first signal, and at once at the second. What is under way then is taken up
    /// again by the next run.
    pub(crate) fn stop(stop: watch::Sender<bool>) -> std::io::Result<Self> {
        let first = Arc::new(OnceLock::new());
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        // Who started this with nohup has said that it outlives the terminal.
        let mut hangup = if is_hangup_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
        let noted = first.clone();
        let task = tokio::spawn(async move {
            loop {
                let code = tokio::select! {
                    _ = interrupt.recv() => Code::Interrupted,
                    _ = terminate.recv() => Code::Terminated,
                    () = received(&mut hangup) => Code::HungUp,
                };
                if noted.set(code).is_err() {
                    std::process::exit(code as i32);
                }
                if progress::is_watched() {
                    // What is drawn there is over.
                    progress::draw("");
                }
                remark("stopping; once more stops at once");
                stop.send_replace(true);
            }
        });
        Ok(Self { task, first })
    }

    /// Tells whether a signal came.
    pub(crate) fn came(&self) -> bool {
        self.first.get().is_some()
    }

    /// Stops listening and returns the exit code of the signal that came, if one did.
    pub(crate) fn end(self) -> Option<Code> {
        self.task.abort();
        self.first.get().copied()
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
