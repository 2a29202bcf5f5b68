//! A program and its process group.

use std::{
    io,
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::{ResourceLimits, contained::SETTLE, reap, sys};

/// The leader of a group and what it started in it. The leader is collected last of all, so its number is not used
/// again and no signal to the group goes elsewhere. Dropping this kills the group.
pub(crate) struct Group {
    leader: Option<Child>,
    pid: Pid,
}

impl Group {
    /// Starts `command` as the leader of a new group. Without limits no code of ours runs between fork and exec, so
    /// the standard library can use `posix_spawn`, which is cheaper.
    pub(crate) fn spawn(command: &mut Command, limits: ResourceLimits) -> io::Result<Self> {
        sys::seal_descriptors();
        command.process_group(0);
        if limits != ResourceLimits::default() {
            sys::limit_before_exec(command, limits);
        }
        let leader = command.spawn()?;
        let pid = Pid::from_child(&leader);
        Ok(Self { leader: Some(leader), pid })
    }

    /// Waits until the leader has ended; it is not collected.
    pub(crate) async fn exited(&self) {
        #[cfg(target_os = "linux")]
        if sys::ended(self.pid).await.is_ok() {
            return;
        }
        let pid = self.pid;
        let wait = move || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).is_ok();
        let _joined = tokio::task::spawn_blocking(wait).await;
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
        let _gone: rustix::io::Result<()> = kill_process_group(self.pid, Signal::KILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(mut leader) = self.leader.take() {
            self.kill();
            reap::later(move || drop(leader.wait()));
        }
    }
}
