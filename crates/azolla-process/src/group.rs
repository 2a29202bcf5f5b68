//! A program and its process group.

use std::{
    io,
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus},
    sync::mpsc,
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::{ResourceLimits, contained::SETTLE, reap, sys};

/// The leader of a group and what it started in it. The leader is collected last of all, so its number is not used
/// again and no signal to the group goes elsewhere. Dropping this ends the group.
pub(crate) struct Group {
    leader: Option<Child>,
    pid: Pid,
    grace: Option<Duration>,
}

impl Group {
    /// Starts `command` as the leader of a new group. Without limits no code of ours runs between fork and exec, so
    /// the standard library can use `posix_spawn`, which is cheaper. When it is dropped, it is asked to stop and has the
    /// `grace` to do so; without any it is killed at once.
    pub(crate) fn spawn(
        command: &mut Command,
        limits: ResourceLimits,
        grace: Option<Duration>,
    ) -> io::Result<Self> {
        sys::seal_descriptors();
        command.process_group(0);
        if limits != ResourceLimits::default() {
            sys::limit_before_exec(command, limits);
        }
        let leader = command.spawn()?;
        let pid = Pid::from_child(&leader);
        Ok(Self { leader: Some(leader), pid, grace })
    }

    /// Waits until the leader has ended; it is not collected.
    pub(crate) async fn exited(&self) {
        #[cfg(target_os = "linux")]
        if sys::ended(self.pid).await.is_ok() {
            return;
        }
        let pid = self.pid;
        let _joined = tokio::task::spawn_blocking(move || wait_for(pid)).await;
    }

    /// Asks every process of the group to stop.
    pub(crate) fn ask(&self) {
        let _gone: rustix::io::Result<()> = kill_process_group(self.pid, Signal::TERM);
    }

    /// Kills the group and collects the leader. Returns nothing if the leader cannot be killed for now, as happens in
    /// a system call that never returns.
    pub(crate) async fn end(&mut self) -> Option<ExitStatus> {
        self.kill();
        tokio::time::timeout(SETTLE, self.exited()).await.ok()?;
        self.leader.take()?.wait().ok()
    }

    fn kill(&self) {
        kill(self.pid);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(mut leader) = self.leader.take() else { return };
        let (pid, grace) = (self.pid, self.grace);
        match grace {
            // A git that is killed leaves its locks, and nobody can set that ref from then on. One that is asked
            // removes them, also where this process ends before the grace does.
            Some(_) => self.ask(),
            None => self.kill(),
        }
        let is_watched = reap::later(move || {
            if let Some(grace) = grace {
                wait_at_most(pid, grace);
                kill(pid);
            }
            drop(leader.wait());
        });
        if !is_watched {
            self.kill();
        }
    }
}

fn kill(leader: Pid) {
    let _gone: rustix::io::Result<()> = kill_process_group(leader, Signal::KILL);
}

/// Blocks until a leader has ended; it is not collected.
fn wait_for(leader: Pid) {
    let _ended = waitid(WaitId::Pid(leader), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
}

/// Blocks as [`wait_for`] does, for that long at most. The wait itself has no limit, so it is another thread's, which
/// ends when the leader does.
fn wait_at_most(leader: Pid, time: Duration) {
    let (ended, told) = mpsc::channel::<()>();
    reap::later(move || {
        wait_for(leader);
        drop(ended);
    });
    let _ended_or_not = told.recv_timeout(time);
}
