//! A program and everything that it ever starts: the side of azolla's own process (B-2, T30, R11).

use std::{
    io::{self, PipeReader, PipeWriter, Read},
    os::{fd::AsRawFd, unix::process::ExitStatusExt},
    process::{Child, Command, ExitStatus},
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::{
    fs::{Access, access},
    process::{Pid, Signal, kill_process},
};
use tokio::{io::AsyncReadExt, net::unix::pipe};

use crate::{ResourceLimits, contained::SETTLE, reap, sandbox::Confined, sys};

pub(crate) mod keeper;
mod processes;
mod room;

pub(crate) use room::Room;

/// How long the keeper works alone.
const HELPED_AFTER: Duration = Duration::from_millis(30);

/// A program behind its keeper. Dropping it makes the keeper kill the tree.
pub(crate) struct Tree {
    keeper: Option<Child>,
    keeper_pid: Pid,
    program: Pid,
    /// Never written to. Dropping it is the order to kill, and so is our death.
    lifeline: Option<PipeWriter>,
    report: Report,
}

impl Tree {
    /// Starts `command` behind a keeper, confined. Refuses where the keeper could not see its children.
    pub(crate) fn spawn(
        command: &mut Command,
        limits: ResourceLimits,
        confined: Arc<Confined>,
    ) -> io::Result<Self> {
        access(keeper::CHILDREN, Access::READ_OK).map_err(|error| {
            let text =
                "the system does not list the children of a process in /proc, so its processes could escape";
            io::Error::new(io::Error::from(error).kind(), text)
        })?;
        let (lifeline_end, lifeline) = io::pipe()?;
        let (report, report_end) = io::pipe()?;
        let ends = keeper::Ends { lifeline: lifeline_end.as_raw_fd(), report: report_end.as_raw_fd() };
        sys::keep_before_exec(command, ends, limits, confined);
        let mut keeper = command.spawn()?;
        drop((lifeline_end, report_end));
        let keeper_pid = Pid::from_child(&keeper);
        match Report::new(report) {
            Ok((program, report)) => {
                Ok(Self { keeper: Some(keeper), keeper_pid, program, lifeline: Some(lifeline), report })
            }
            Err(error) => {
                drop(lifeline);
                reap::later(move || drop(keeper.wait()));
                Err(error)
            }
        }
    }

    /// Waits until the program has ended, or its keeper has.
    pub(crate) async fn exited(&mut self) {
        self.report.status().await;
    }

    /// Asks every process of the tree to stop, as far as that is done by `until`.
    pub(crate) fn ask(&self, until: Instant) {
        processes::signal_descendants(self.keeper_pid, Signal::TERM, Some(until));
    }

    /// Has the keeper kill what is left, and waits until it is done.
    pub(crate) async fn end(&mut self) -> Option<ExitStatus> {
        self.let_go();
        let closed = tokio::time::timeout(SETTLE, self.all_dead()).await.is_ok();
        if closed && let Some(mut keeper) = self.keeper.take() {
            // It has closed its pipes, so it is all but gone.
            let ended = keeper.wait();
            clean_up_after(ended, self.program);
        }
        self.report.status
    }

    /// Waits until the keeper has ended. It kills one generation after the other; where that takes long, as with many
    /// processes that fork and found sessions as fast as they can, all of them are killed from here.
    async fn all_dead(&mut self) {
        let mut wait = HELPED_AFTER;
        while tokio::time::timeout(wait, self.report.closed()).await.is_err() {
            processes::signal_descendants(self.keeper_pid, Signal::KILL, Some(Instant::now() + SETTLE));
            // Thousands that are dying need the processors more than another look at them.
            wait *= 2;
        }
    }

    fn let_go(&mut self) {
        self.lifeline = None;
        // A stopped keeper would not notice.
        let _gone: rustix::io::Result<()> = kill_process(self.keeper_pid, Signal::CONT);
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let Some(mut keeper) = self.keeper.take() else { return };
        self.let_go();
        let (keeper_pid, program) = (self.keeper_pid, self.program);
        reap::later(move || {
            processes::signal_descendants(keeper_pid, Signal::KILL, None);
            clean_up_after(keeper.wait(), program);
        });
    }
}

/// Kills what can still be found of the tree of a keeper that was killed itself. The tree cannot do that where the
/// kernel has Landlock scopes; a person can, and the system when it is out of memory.
fn clean_up_after(keeper: io::Result<ExitStatus>, program: Pid) {
    if !keeper.is_ok_and(|status| status.success()) {
        processes::kill_session(program);
    }
}

/// Our end of the pipe on which the keeper reports.
struct Report {
    pipe: pipe::Receiver,
    bytes: [u8; 4],
    length: usize,
    closed: bool,
    status: Option<ExitStatus>,
}

impl Report {
    /// Reads the number of the program's process, which the keeper has written before it let the spawn return.
    fn new(mut pipe: PipeReader) -> io::Result<(Pid, Self)> {
        let mut number = [0; 4];
        pipe.read_exact(&mut number)?;
        let program = Pid::from_raw(i32::from_ne_bytes(number)).ok_or(io::ErrorKind::InvalidData)?;
        let pipe = pipe::Receiver::from_owned_fd(pipe.into())?;
        Ok((program, Self { pipe, bytes: [0; 4], length: 0, closed: false, status: None }))
    }

    /// Reads until there is a status, or the pipe is closed without one.
    async fn status(&mut self) {
        while self.status.is_none() && !self.closed {
            self.read().await;
        }
    }

    /// Reads until the keeper has closed the pipe by ending.
    async fn closed(&mut self) {
        while !self.closed {
            self.read().await;
        }
    }

    async fn read(&mut self) {
        // One byte of room more than is kept, so that the end is seen as the end; a status may come twice.
        let mut bytes = [0; 5];
        match self.pipe.read(&mut bytes[..5 - self.length]).await {
            Ok(0) | Err(_) => self.closed = true,
            Ok(read) => {
                let read = read.min(4 - self.length);
                self.bytes[self.length..][..read].copy_from_slice(&bytes[..read]);
                self.length += read;
            }
        }
        if self.length == 4 {
            self.status = Some(ExitStatus::from_raw(i32::from_ne_bytes(self.bytes)));
        }
    }
}
