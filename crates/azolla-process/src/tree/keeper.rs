//! The keeper: a process between this one and the program, to which every process of the tree falls back.
//!
//! It is the subreaper of the tree: whatever loses its parent, by a double fork or because the parent was killed,
//! becomes its child. So killing its children until it has none misses nothing, and it kills only what nobody but
//! itself can collect, so never a stranger who got the number of a dead process. It does that when the program has
//! ended and when its lifeline is cut, whose other end only azolla's own process holds, and holds open by living.
//! All of this runs after a fork: system calls only.

use std::{
    io,
    os::fd::{AsRawFd, RawFd},
    time::Duration,
};

use rustix::{
    fs::{Mode, OFlags, open},
    io::{Errno, read},
    process::{
        DumpableBehavior, Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, chdir, getpid,
        getppid, kill_process, kill_process_group, set_child_subreaper, set_dumpable_behavior,
        set_parent_process_death_signal, setsid, wait, waitid,
    },
};

use crate::{ResourceLimits, limits, sys};

/// The file that lists the children of a thread.
pub(super) const CHILDREN: &std::ffi::CStr = c"/proc/thread-self/children";

/// How long a kill may take before it is looked at again, when no child ends in between.
const AGAIN: Duration = Duration::from_millis(10);

/// No descriptor, where one is waited for.
const NONE: RawFd = -1;

/// The keeper's ends of its two pipes, as they are before the fork.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    /// Nothing is ever written to it; its end says that azolla's process has let go.
    pub(super) lifeline: RawFd,
    /// Takes the number of the program's process, then its wait status, both as four bytes.
    pub(super) report: RawFd,
}

/// Splits a process that is about to become the program: the child goes on to be it, the calling one stays as keeper
/// and never returns.
pub(crate) fn enter(ends: Ends, limits: ResourceLimits) -> io::Result<()> {
    // Signals to azolla's group or from its terminal are not for the keeper.
    setsid()?;
    let keeper = getpid();
    set_child_subreaper(Some(keeper))?;
    // azolla's handlers are still installed; they must not run here.
    sys::block_signals()?;
    match sys::fork()? {
        Some(program) => keep(ends, program),
        None => become_program(keeper, limits),
    }
}

/// Prepares the program's process. What is called here last is in force when the program starts: the place for a
/// sandbox that a process puts on itself.
fn become_program(keeper: Pid, resources: ResourceLimits) -> io::Result<()> {
    // `kill 0`, as shell scripts do it, is not for the keeper either.
    setsid()?;
    // If the keeper is killed, at least the program does not run on.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(keeper) {
        return Err(Errno::SRCH.into());
    }
    limits::apply(resources)?;
    limits::no_core_dumps()?;
    sys::seal_descriptors();
    sys::default_signals()?;
    sys::no_new_privileges()?;
    sys::confine_signals();
    Ok(())
}

/// Waits until the program ends or azolla lets go, then kills until there is nothing left.
fn keep(ends: Ends, program: Pid) -> ! {
    sys::report(ends.report, program.as_raw_pid());
    // The standard library waits until every copy of a pipe of its own is closed, and readers of the program's output
    // wait for the end of theirs: so the keeper keeps no descriptor but its two.
    let kept = sys::keep_only(ends.lifeline, ends.report);
    // Its memory is a copy of azolla's, and the program runs as the same user.
    let _readable: rustix::io::Result<()> = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    // The program's directory is not to be held by the keeper.
    let _held: rustix::io::Result<()> = chdir(c"/");
    let child_events = sys::child_events();
    let events = child_events.as_ref().map_or(NONE, AsRawFd::as_raw_fd);
    // Without a lifeline there is nobody to work for.
    let mut ending = kept.is_err();
    loop {
        ending = ending || has_ended(program) || collect(program);
        if ending && kill_children() == Children::AllDead {
            collect(program);
        }
        let lifeline = if ending { NONE } else { sys::FIRST };
        let at_most = if ending || events == NONE { Some(AGAIN) } else { None };
        let [_, cut] = sys::wait_readable([events, lifeline], at_most);
        ending |= cut;
        if let Ok(child_events) = &child_events {
            // An event that is not read stays. What it says does not matter: every child is looked at.
            let _event: rustix::io::Result<usize> = read(child_events, &mut [0; 512]);
        }
    }
}

/// Whether the program has ended, which is then reported. It is not collected yet: so its number stays its own, and
/// its group can be killed by it.
fn has_ended(program: Pid) -> bool {
    let Some(status) = dead(program) else { return false };
    let code = status.exit_status().map(|code| code << 8);
    sys::report(sys::SECOND, code.or(status.terminating_signal()).unwrap_or_default());
    true
}

/// Collects the children that have ended, and ends the keeper when there are none left. Returns whether the program
/// is among them, after reporting how it ended.
fn collect(program: Pid) -> bool {
    let mut program_ended = false;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == program => {
                sys::report(sys::SECOND, status.as_raw());
                program_ended = true;
            }
            Ok(Some(_)) | Err(Errno::INTR) => (),
            Ok(None) => return program_ended,
            Err(_) => sys::exit(),
        }
    }
}

/// What is left of the tree.
#[derive(PartialEq)]
enum Children {
    SomeAlive,
    AllDead,
}

/// Kills every child that there is now, and the group that it leads. A killed one can start no others, and those that
/// it had come here. The dead are not collected before all are dead: as long as they are there they use up what the
/// user may have of processes, so what forks faster than it is killed runs into that limit.
fn kill_children() -> Children {
    let mut left = Children::AllDead;
    let complete = each_child(|child| {
        // A group is killed in one go, with no fork in between. Its number is the child's, so it is of this tree.
        let _none: rustix::io::Result<()> = kill_process_group(child, Signal::KILL);
        if dead(child).is_none() {
            let _ended: rustix::io::Result<()> = kill_process(child, Signal::KILL);
            left = Children::SomeAlive;
        }
    });
    if complete { left } else { Children::SomeAlive }
}

/// Returns how a child ended, if it has, and leaves it to be collected.
fn dead(child: Pid) -> Option<WaitIdStatus> {
    let now = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(child), now).ok().flatten()
}

/// Calls `act` for every child, dead ones too. Returns whether the list could be read.
fn each_child(mut act: impl FnMut(Pid)) -> bool {
    let Ok(list) = open(CHILDREN, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else { return false };
    let mut text = [0; 4096];
    let mut number = 0;
    loop {
        let length = match read(&list, &mut text) {
            Ok(0) => return true,
            Ok(length) => length,
            Err(_) => return false,
        };
        for byte in &text[..length] {
            if byte.is_ascii_digit() {
                number = number * 10 + i32::from(byte - b'0');
            } else {
                // Each number has a space after it.
                Pid::from_raw(number).into_iter().for_each(&mut act);
                number = 0;
            }
        }
    }
}
