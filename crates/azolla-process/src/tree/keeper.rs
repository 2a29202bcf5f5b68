//! The keeper: a process between this one and the program, to which every process of the tree falls back.
//!
//! It is the subreaper of the tree: whatever loses its parent, by a double fork or because the parent was killed,
//! becomes its child. So killing its children until it has none misses nothing, and it kills only what nobody but
//! itself can collect, so never a stranger who got the number of a dead process. It does that when the program has
//! ended and when its lifeline is cut, whose other end only azolla's own process holds, and holds open by living.
//! All of this runs after a fork: system calls only.

use std::{
    ffi::CStr,
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

use super::room::Entered;
use crate::{ResourceLimits, limits, sandbox::Confined, sys};

/// The file that lists the children of a thread.
pub(super) const CHILDREN: &CStr = c"/proc/thread-self/children";

/// How long a kill may take before it is looked at again, when no child ends in between.
const AGAIN: Duration = Duration::from_millis(10);

/// No descriptor, where one is waited for.
pub(super) const NONE: RawFd = -1;

/// The keeper's ends of its two pipes, as they are before the fork.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    /// Nothing is ever written to it; its end says that azolla's process has let go.
    pub(super) lifeline: RawFd,
    /// Takes the number of the program's process, then its wait status, both as four bytes.
    pub(super) report: RawFd,
}

/// Splits a process that is about to become the program: the child goes on to be it, inside its room if it has one, the
/// calling one stays as keeper and never returns.
pub(crate) fn enter(ends: Ends, limits: ResourceLimits, confined: &Confined) -> io::Result<()> {
    // Signals to azolla's group or from its terminal are not for the keeper.
    setsid()?;
    let keeper = getpid();
    set_child_subreaper(Some(keeper))?;
    // azolla's handlers are still installed; they must not run here.
    sys::block_signals()?;
    if let Some(room) = &confined.room {
        return match room.enter()? {
            Entered::Keeper(program) => keep(ends, program, Place::Room),
            Entered::Program => {
                room.settle()?;
                // Outside of what it can see there is no parent; another one is there if the keeper has died.
                become_program(None, limits, confined)
            }
        };
    }
    match sys::fork()? {
        Some(program) => keep(ends, program, Place::Here),
        None => become_program(Some(keeper), limits, confined),
    }
}

/// Prepares the program's process. What is called here last is in force when the program starts.
fn become_program(parent: Option<Pid>, resources: ResourceLimits, confined: &Confined) -> io::Result<()> {
    // `kill 0`, as shell scripts do it, is not for the keeper either.
    setsid()?;
    if confined.is_on() {
        sys::leave_keys();
        // Those over its room, which come with entering it, or root's. Changing them undoes what is next.
        sys::drop_capabilities()?;
    }
    // If the keeper is killed, at least the program does not run on.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != parent {
        return Err(Errno::SRCH.into());
    }
    limits::apply(resources)?;
    limits::no_core_dumps()?;
    sys::seal_descriptors();
    sys::default_signals()?;
    sys::no_new_privileges()?;
    match &confined.rules {
        Some(rules) => rules.enforce()?,
        None => sys::confine_signals(),
    }
    if confined.no_sockets {
        sys::refuse_sockets()?;
    }
    Ok(())
}

/// Where a program runs.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// In the namespaces of azolla.
    Here,
    /// In a room. The first process of that ends, once it is killed, only when all others of the room are collected:
    /// the program is one of them, and its parent is the keeper.
    Room,
}

/// Waits until the program ends or azolla lets go, then kills until there is nothing left.
fn keep(ends: Ends, program: Pid, place: Place) -> ! {
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
        if ending && (kill_children() == Children::AllDead || place == Place::Room) {
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
fn each_child(act: impl FnMut(Pid)) -> bool {
    each_child_in(CHILDREN, act)
}

/// Calls `act` for every process in a file that lists children. Returns whether it could be read.
pub(super) fn each_child_in(list: &CStr, mut act: impl FnMut(Pid)) -> bool {
    let Ok(list) = open(list, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else { return false };
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
