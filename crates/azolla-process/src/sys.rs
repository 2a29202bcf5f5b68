//! The calls for which there is no safe wrapper, and all the unsafe code of the project.
//!
//! What runs between fork and exec makes system calls only: it allocates nothing, takes no lock and does not panic.

#![expect(unsafe_code, reason = "fork, signal masks and descriptors have no safe interface")]

use std::{os::unix::process::CommandExt, process::Command};

use crate::{ResourceLimits, limits};

#[cfg(target_os = "linux")]
mod confine;

#[cfg(target_os = "linux")]
pub(crate) use {confine::*, linux::*};

/// Sets limits in the process of `command` before it becomes the program.
pub(crate) fn limit_before_exec(command: &mut Command, resources: ResourceLimits) {
    // SAFETY: the closure makes system calls only.
    unsafe { command.pre_exec(move || limits::apply(resources)) };
}

/// Marks every descriptor of this process above 2 as closed on exec. Those of Rust's own are; what this process itself
/// was started with need not be.
pub(crate) fn seal_descriptors() {
    #[cfg(target_os = "linux")]
    // SAFETY: plain numbers go in, and no descriptor is closed.
    if unsafe { libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int) } == 0 {
        return;
    }
    for descriptor in 3..descriptors_end() {
        // SAFETY: plain numbers go in. F_SETFD has no other flag than this one.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Returns a number above every descriptor, for systems on which a range cannot be named (Linux before 5.11).
fn descriptors_end() -> i32 {
    const UNLIMITED: u64 = 1 << 16;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.unwrap_or(UNLIMITED).min(1 << 20) as i32
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        io,
        os::fd::{FromRawFd, OwnedFd, RawFd},
        ptr,
        sync::Arc,
        time::Duration,
    };

    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    use tokio::io::{Interest, unix::AsyncFd};

    use super::*;
    use crate::{sandbox::Confined, tree::keeper};

    /// What [`keep_only`] makes of its first descriptor.
    pub(crate) const FIRST: RawFd = 0;
    /// What [`keep_only`] makes of its second descriptor.
    pub(crate) const SECOND: RawFd = 1;

    /// Puts a keeper between this process and the program of `command`; see [`keeper::enter`]. Both descriptors must
    /// be open until the command was spawned.
    pub(crate) fn keep_before_exec(
        command: &mut Command,
        ends: keeper::Ends,
        resources: ResourceLimits,
        confined: Arc<Confined>,
    ) {
        // SAFETY: the closure makes system calls only, and only reads what it captures.
        unsafe { command.pre_exec(move || keeper::enter(ends, resources, &confined)) };
    }

    /// Splits the calling process, which has one thread. Returns the child to the parent, and nothing to the child.
    pub(crate) fn fork() -> io::Result<Option<Pid>> {
        // SAFETY: the caller is itself the child of a fork, so that no other thread can hold a lock.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            child => Ok(Pid::from_raw(child)),
        }
    }

    /// Waits until a child has ended; it is not collected. Fails on kernels that are too old (before 5.3).
    pub(crate) async fn ended(child: Pid) -> io::Result<()> {
        let descriptor = pidfd_open(child, PidfdFlags::empty())?;
        // SAFETY: the descriptor is owned by what is registered, and nothing else closes it.
        let registered = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
        registered?.readable().await.map(drop)
    }

    /// Ends the calling process at once.
    pub(crate) fn exit() -> ! {
        // SAFETY: nothing of the process runs after it.
        unsafe { libc::_exit(0) }
    }

    /// Blocks every signal that can be blocked.
    pub(crate) fn block_signals() -> io::Result<()> {
        set_mask(|mask| {
            // SAFETY: the mask is a valid place to write to.
            unsafe { libc::sigfillset(mask) };
        })
    }

    /// Gives every signal its default action and blocks none, as for a program that nobody started.
    pub(crate) fn default_signals() -> io::Result<()> {
        for signal in 1..=libc::SIGRTMAX() {
            // SAFETY: no handler is installed. It fails for SIGKILL, SIGSTOP and the C library's own, which is fine.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        set_mask(|mask| {
            // SAFETY: the mask is a valid place to write to.
            unsafe { libc::sigemptyset(mask) };
        })
    }

    fn set_mask(fill: impl FnOnce(&mut libc::sigset_t)) -> io::Result<()> {
        // SAFETY: all zeroes is a value of the type, and it is filled before use.
        let mut mask = unsafe { std::mem::zeroed() };
        fill(&mut mask);
        // SAFETY: the mask lives through the call, and no old one is asked for.
        match unsafe { libc::sigprocmask(libc::SIG_SETMASK, &mask, ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns a descriptor that is readable when a child has ended. SIGCHLD must be blocked.
    pub(crate) fn child_events() -> io::Result<OwnedFd> {
        // SAFETY: all zeroes is a value of the type, and it is emptied and filled before use.
        let mut mask = unsafe { std::mem::zeroed() };
        // SAFETY: the mask lives through the calls.
        let descriptor = unsafe {
            // Ignored, as a parent may have left it, children would vanish without a word.
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            libc::sigemptyset(&mut mask);
            libc::sigaddset(&mut mask, libc::SIGCHLD);
            libc::signalfd(-1, &mask, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC)
        };
        match descriptor {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: the call has just opened it.
            descriptor => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        }
    }

    /// Waits until one of the descriptors is readable or at its end, and says which; -1 is passed over.
    pub(crate) fn wait_readable(descriptors: [RawFd; 2], at_most: Option<Duration>) -> [bool; 2] {
        let mut polled = descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        let timeout = at_most.map_or(-1, |time| time.as_millis() as libc::c_int);
        // SAFETY: the array lives through the call and has that length.
        let found = unsafe { libc::poll(polled.as_mut_ptr(), 2, timeout) };
        polled.map(|one| found > 0 && one.revents != 0)
    }

    /// Writes a number to a pipe. Nobody may be reading it any more, which is no error.
    pub(crate) fn report(descriptor: RawFd, number: i32) {
        let bytes = number.to_ne_bytes();
        // SAFETY: the bytes live through the call. A pipe takes so few at once or not at all.
        unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
    }

    /// Makes two descriptors [`FIRST`] and [`SECOND`] and closes all others.
    pub(crate) fn keep_only(first: RawFd, second: RawFd) -> io::Result<()> {
        // SAFETY: plain numbers go in. What is closed is used by nobody: the process has left all other code behind.
        unsafe {
            if libc::dup2(first, FIRST) == -1 || libc::dup2(second, SECOND) == -1 {
                return Err(io::Error::last_os_error());
            }
            if libc::close_range(2, libc::c_uint::MAX, 0) != 0 {
                (2..descriptors_end()).for_each(|descriptor| {
                    libc::close(descriptor);
                });
            }
        }
        Ok(())
    }

    /// Gives up every way to gain privileges, for good.
    pub(crate) fn no_new_privileges() -> io::Result<()> {
        // SAFETY: plain numbers go in.
        match unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Gives up signals to all but what this process starts from now on, and tracing of them. Does nothing where the
    /// kernel has no Landlock scopes. Privileges must have been given up before.
    pub(crate) fn confine_signals() {
        #[repr(C)]
        struct Ruleset {
            handled_access_fs: u64,
            handled_access_net: u64,
            scoped: u64,
        }
        const SCOPE_SIGNAL: u64 = 1 << 1;
        let ruleset = Ruleset { handled_access_fs: 0, handled_access_net: 0, scoped: SCOPE_SIGNAL };
        // SAFETY: the ruleset lives through the call and has that size; the descriptor is ours to close.
        unsafe {
            let size = size_of::<Ruleset>();
            let descriptor = libc::syscall(libc::SYS_landlock_create_ruleset, &raw const ruleset, size, 0);
            if descriptor >= 0 {
                libc::syscall(libc::SYS_landlock_restrict_self, descriptor, 0);
                libc::close(descriptor as RawFd);
            }
        }
    }
}
