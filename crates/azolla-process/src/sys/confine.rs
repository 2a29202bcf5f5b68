//! What a process puts on itself before it becomes the program: namespaces, capabilities, Landlock, a socket filter.

use std::{
    ffi::{CStr, CString, c_char},
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
    ptr,
};

use rustix::{
    fs::{Mode, OFlags, open},
    process::Pid,
};

/// A program with its arguments, in the form that the system takes them in: nothing is allocated to start it.
pub(crate) struct Arguments {
    strings: Vec<CString>,
    /// Into `strings`, with a null pointer at the end.
    pointers: Vec<*const c_char>,
}

// SAFETY: the pointers lead into strings that the value owns and nobody changes.
unsafe impl Send for Arguments {}
// SAFETY: as above.
unsafe impl Sync for Arguments {}

impl Arguments {
    /// Takes the program's path and its arguments.
    pub(crate) fn new(strings: Vec<CString>) -> Self {
        let pointers = strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect();
        Self { strings, pointers }
    }

    /// Becomes the program, with an empty environment. Returns only if it cannot.
    pub(crate) fn exec(&self) {
        let Some(path) = self.strings.first() else { return };
        let environment = [ptr::null()];
        // SAFETY: both lists end with a null pointer, and what they lead to lives through the call.
        unsafe { libc::execve(path.as_ptr(), self.pointers.as_ptr(), environment.as_ptr()) };
    }
}

/// Makes these the descriptors 0, 1, 2 and 3 of a process that is about to become another program.
pub(crate) fn set_streams(descriptors: [RawFd; 4]) -> io::Result<()> {
    // Above all targets first, so that none is overwritten before it was copied.
    let mut above = [0; 4];
    for (above, descriptor) in above.iter_mut().zip(descriptors) {
        // SAFETY: plain numbers go in.
        *above = checked(unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 4) })?;
    }
    for (target, above) in above.into_iter().enumerate() {
        // SAFETY: plain numbers go in. What was open there is used by nobody: the process is about to be another.
        checked(unsafe { libc::dup2(above, target as RawFd) })?;
    }
    Ok(())
}

/// Splits the calling process as [`super::fork`] does, but the child is a child of the caller's own parent.
pub(crate) fn fork_beside() -> io::Result<Option<Pid>> {
    let flags = libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: without a stack and without shared memory this is a fork, of a process with one thread.
    match unsafe {
        libc::syscall(libc::SYS_clone, flags as libc::c_ulong, 0_usize, 0_usize, 0_usize, 0_usize)
    } {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(Pid::from_raw(child as i32)),
    }
}

/// Moves the calling process into the namespaces of another one of the same user: its files and, where
/// `with_network` says so, its network at once, its processes with the next fork. `users` is that one's user
/// namespace.
pub(crate) fn join(process: BorrowedFd<'_>, users: BorrowedFd<'_>, with_network: bool) -> io::Result<()> {
    let net = if with_network { libc::CLONE_NEWNET } else { 0 };
    let rest = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | net;
    let set = |descriptor: BorrowedFd<'_>, kind| {
        // SAFETY: plain numbers go in, and the descriptors are open.
        checked(unsafe { libc::setns(descriptor.as_raw_fd(), kind) }).map(drop)
    };
    // bubblewrap makes one user namespace, or for an ordinary user a second one inside it. The other namespaces
    // belong to the first, and only what is in that one, or outside, can enter them.
    let outer = parent_of(users)?;
    match set(outer.as_fd(), libc::CLONE_NEWUSER) {
        Ok(()) => {
            set(process, rest)?;
            set(users, libc::CLONE_NEWUSER)
        }
        // That is where this process is already.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            set(users, libc::CLONE_NEWUSER)?;
            set(process, rest)
        }
        Err(error) => Err(error),
    }
}

/// Returns the user namespace around another.
fn parent_of(users: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    const NS_GET_PARENT: libc::c_ulong = 0xb702;
    // SAFETY: the call takes nothing and returns a new descriptor.
    let descriptor = checked(unsafe { libc::ioctl(users.as_raw_fd(), NS_GET_PARENT as _) })?;
    // SAFETY: the call has just opened it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Gives up every capability, for good: root, too, has none after exec. With some of them a process can read the memory
/// of others past Landlock.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    // SAFETY: plain numbers go in; the header and the six zeroes live through the call.
    unsafe {
        let mut capability: libc::c_ulong = 0;
        // The first that the kernel does not know ends the list.
        while libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) == 0 {
            capability += 1;
        }
        // An ordinary user may not, and need not: nothing that it becomes has any, as no privileges can be gained.
        if capability == 0 && rustix::process::geteuid().is_root() {
            return Err(io::Error::last_os_error());
        }
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        let header = Header { version: VERSION_3, pid: 0 };
        let none = [0_u32; 6];
        checked(libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) as i32).map(drop)
    }
}

/// Leaves the keys of the operator's session, which every process of it can use. Where the kernel has none there is
/// nothing to leave.
pub(crate) fn leave_keys() {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: without a name the call takes nothing, and makes an empty keyring.
    unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, 0_usize) };
}

/// Returns the version of Landlock that the kernel has, 0 for none.
pub(crate) fn landlock_version() -> u32 {
    const VERSION: libc::c_long = 1;
    // SAFETY: with this flag the call takes no ruleset, and only returns a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<u8>(), 0_usize, VERSION) };
    u32::try_from(version).unwrap_or(0)
}

/// Adds what is at `path` to a ruleset; nothing where there is nothing.
pub(crate) fn landlock_allow(ruleset: RawFd, path: &CStr, access: u64) -> io::Result<()> {
    #[repr(C, packed)]
    struct Beneath {
        allowed_access: u64,
        parent: RawFd,
    }
    const PATH_BENEATH: libc::c_int = 1;
    let Ok(parent) = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else { return Ok(()) };
    let rule = Beneath { allowed_access: access, parent: parent.as_raw_fd() };
    // SAFETY: the rule lives through the call.
    let added =
        unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset, PATH_BENEATH, &raw const rule, 0) };
    checked(added as i32).map(drop)
}

/// Puts a ruleset in force for the calling process, for good. Privileges must have been given up before.
pub(crate) fn landlock_restrict(ruleset: RawFd) -> io::Result<()> {
    // SAFETY: plain numbers go in.
    checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) } as i32).map(drop)
}

/// Whether [`refuse_sockets`] can be done here.
pub(crate) fn can_refuse_sockets() -> bool {
    const GET_ACTION_AVAILABLE: libc::c_long = 2;
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the number lives through the call.
    FILTER.is_some()
        && unsafe { libc::syscall(libc::SYS_seccomp, GET_ACTION_AVAILABLE, 0, &raw const action) } == 0
}

/// Gives up making sockets, but for pairs that are connected to each other, and `io_uring`, which makes them past any
/// filter. Privileges must have been given up before.
pub(crate) fn refuse_sockets() -> io::Result<()> {
    let Some(filter) = &FILTER else { return Err(io::ErrorKind::Unsupported.into()) };
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program lives through the call, which copies it.
    checked(unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0) })
        .map(drop)
}

#[cfg(target_arch = "x86_64")]
const FILTER: Option<[libc::sock_filter; 8]> = Some(filter(0xc000_003e));
#[cfg(target_arch = "aarch64")]
const FILTER: Option<[libc::sock_filter; 8]> = Some(filter(0xc000_00b7));
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FILTER: Option<[libc::sock_filter; 8]> = None;

/// Returns the filter for one architecture. Calls in the manner of any other are refused altogether, as their numbers
/// mean something else; so are those of x32, which begin at 2^30.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const fn filter(architecture: u32) -> [libc::sock_filter; 8] {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    const fn step(code: u16, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
        libc::sock_filter { code, jt, jf, k }
    }
    [
        step(LOAD, 0, 0, 4),
        step(EQUAL, 0, 5, architecture),
        step(LOAD, 0, 0, 0),
        step(AT_LEAST, 3, 0, 1 << 30),
        step(EQUAL, 2, 0, libc::SYS_socket as u32),
        step(EQUAL, 1, 0, libc::SYS_io_uring_setup as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
    ]
}

fn checked(result: i32) -> io::Result<i32> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
