//! One process of the program that is killed, stopped and started again, and what becomes of it when nobody does.

use std::{
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, ExitStatus},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::site::{Site, ended_within};

/// How long an end in good order may take: work is given back, and what was started is ended.
const END_LIMIT: Duration = Duration::from_secs(60);

/// How long after its start a process may not listen to signals yet.
const START_LIMIT: Duration = Duration::from_secs(10);

/// A process, or the place of one that is away.
pub(super) struct Hand<'a> {
    site: &'a Site,
    number: usize,
    log: PathBuf,
    child: Option<Child>,
    /// When it was started.
    since: Instant,
}

impl<'a> Hand<'a> {
    /// Starts a process: `azolla up` with a dashboard on any port, or `azolla run`, in turns. With a database it is always
    /// the first: a run in the foreground does not begin while that is away.
    pub(super) fn start(site: &'a Site, number: usize) -> anyhow::Result<Self> {
        let log = site.path(&format!("logs/{number}.log"));
        let mut hand = Self { site, number, log, child: None, since: Instant::now() };
        hand.start_again()?;
        Ok(hand)
    }

    /// Starts it, if it is away.
    pub(super) fn start_again(&mut self) -> anyhow::Result<()> {
        if self.child.is_none() {
            let is_up = self.number.is_multiple_of(2) || self.site.database.is_some();
            let arguments: &[&str] = if is_up { &["up", "--listen", "127.0.0.1:0"] } else { &["run"] };
            self.child = Some(self.site.start(self.number, arguments, &self.log)?);
            self.since = Instant::now();
        }
        Ok(())
    }

    /// Sends it a signal that it does not see coming.
    pub(super) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let child = self.child.as_ref().context("the process is away")?;
        Ok(kill_process(Pid::from_child(child), signal)?)
    }

    /// Kills it.
    pub(super) fn kill(&mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Returns how it ended, if it did by itself; it is away then.
    pub(super) fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        let Some(child) = &mut self.child else { return Ok(None) };
        let status = child.try_wait()?;
        if status.is_some() {
            self.child = None;
        }
        Ok(status)
    }

    /// Ends it in good order.
    pub(super) fn end(mut self) -> anyhow::Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let is_new = self.since.elapsed() < START_LIMIT;
        kill_process(Pid::from_child(&child), Signal::TERM)?;
        let status = ended_within(&mut child, END_LIMIT)?;
        match status {
            Some(status) if status.success() => Ok(()),
            // Poison may come to the very end, and a process that has just been started does not listen yet.
            Some(status) if is_killed(status) => Ok(()),
            Some(status) if status.signal() == Some(Signal::TERM.as_raw()) && is_new => Ok(()),
            Some(status) => bail!("process {} ended with {status}", self.number),
            None => {
                child.kill()?;
                child.wait()?;
                bail!("process {} did not end within {END_LIMIT:?} of SIGTERM", self.number)
            }
        }
    }
}

impl Drop for Hand<'_> {
    fn drop(&mut self) {
        // Nothing of a run that failed goes on.
        let _ = self.kill();
    }
}

/// Tells whether a process was ended by SIGKILL.
pub(super) fn is_killed(status: ExitStatus) -> bool {
    status.signal() == Some(Signal::KILL.as_raw())
}
