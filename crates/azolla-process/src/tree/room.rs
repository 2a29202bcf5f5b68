//! A room and the way into it: bubblewrap builds namespaces, and the program is started inside them (R11).
//!
//! bubblewrap is not put in front of the program. It would report a signal as a code, and Landlock, which forbids
//! mounts, could not be put on between the two. So it builds a room around a process that does nothing, and the
//! program's own process moves in before it becomes the program. The first process of the room collects orphans; when
//! the keeper kills it, the kernel ends everything inside. All of [`Room::enter`] runs after a fork: system calls only.

use std::{
    ffi::{CStr, CString},
    io::{self, PipeReader, PipeWriter, Read},
    os::fd::{AsFd, AsRawFd},
    time::Duration,
};

use rustix::{
    fs::{Mode, OFlags, open},
    io::{Errno, read},
    process::{
        Pid, PidfdFlags, Signal, WaitOptions, chdir, getpid, getppid, kill_process, pidfd_open,
        set_parent_process_death_signal, setsid, waitpid,
    },
};

use super::keeper::{NONE, each_child_in};
use crate::sys;

/// How long bubblewrap may take, where the program's time is not shorter.
const BUILT_WITHIN: Duration = Duration::from_secs(10);

/// What bubblewrap says when it cannot is kept up to here.
const COMPLAINT_BYTES: usize = 2048;

/// A room that is to be built.
pub(crate) struct Room {
    arguments: sys::Arguments,
    directory: CString,
    network: bool,
    within: Duration,
    complaints: (PipeReader, PipeWriter),
}

/// Who returns from [`Room::enter`].
pub(super) enum Entered {
    /// The keeper, with the program's process, which is its child.
    Keeper(Pid),
    /// That process, inside.
    Program,
}

impl Room {
    /// Takes how bubblewrap is called, the directory in the room where the program starts, whether the network is the
    /// machine's, and how long the program may run.
    pub(crate) fn new(
        arguments: sys::Arguments,
        directory: CString,
        network: bool,
        time: Option<Duration>,
    ) -> io::Result<Self> {
        let within = time.unwrap_or(BUILT_WITHIN).min(BUILT_WITHIN);
        Ok(Self { arguments, directory, network, within, complaints: io::pipe()? })
    }

    /// Returns what bubblewrap had to say, once the room could not be built.
    pub(crate) fn complaint(&self) -> Option<String> {
        let mut complaint = &self.complaints.0;
        // The other end is open, here for one, so its end is not waited for.
        rustix::io::ioctl_fionbio(complaint, true).ok()?;
        let mut text = vec![0; COMPLAINT_BYTES];
        let length = complaint.read(&mut text).ok()?;
        let text = String::from_utf8_lossy(&text[..length]).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// Builds the room and starts a process in it. The calling one stays outside, as keeper.
    pub(super) fn enter(&self) -> io::Result<Entered> {
        let keeper = getpid();
        let (ready, ready_end) = io::pipe()?;
        let Some(builder) = sys::fork()? else {
            // What went wrong is what bubblewrap says, or that nothing is ready.
            let _failed: io::Result<()> = self.build(keeper, &ready_end);
            sys::exit();
        };
        drop(ready_end);
        self.start_inside(builder, &ready).inspect_err(|_| {
            let _ended: rustix::io::Result<()> = kill_process(builder, Signal::KILL);
            let _collected: rustix::io::Result<_> = waitpid(Some(builder), WaitOptions::empty());
        })
    }

    /// Becomes bubblewrap.
    fn build(&self, keeper: Pid, ready: &PipeWriter) -> io::Result<()> {
        setsid()?;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(keeper) {
            return Err(Errno::SRCH.into());
        }
        sys::default_signals()?;
        // The program is asked to stop, not its room: that takes nothing but a kill.
        sys::block_signals()?;
        sys::no_new_privileges()?;
        let (nothing, nothing_end) = io::pipe()?;
        sys::seal_descriptors();
        sys::set_streams([
            nothing.as_raw_fd(),
            ready.as_raw_fd(),
            self.complaints.1.as_raw_fd(),
            nothing_end.as_raw_fd(),
        ])?;
        self.arguments.exec();
        Ok(())
    }

    /// Waits for the room and has a process move in.
    fn start_inside(&self, builder: Pid, ready: &PipeReader) -> io::Result<Entered> {
        wait_for(ready, self.within)?;
        let first = only_child(builder)?;
        let inhabitant = only_child(first)?;
        let (told, told_end) = io::pipe()?;
        if sys::fork()?.is_none() {
            return self.move_in(inhabitant, &told_end);
        }
        drop(told_end);
        let mut number = [0; 4];
        // So few bytes come at once.
        let length = read(&told, &mut number)?;
        match Pid::from_raw(i32::from_ne_bytes(number).max(0)) {
            Some(program) if length == number.len() => Ok(Entered::Keeper(program)),
            _ if length == number.len() => Err(io::Error::from_raw_os_error(-i32::from_ne_bytes(number))),
            _ => Err(Errno::IO.into()),
        }
    }

    /// Joins the namespaces. That of processes is entered only by what is forked next: so the program is another
    /// process, a child of the keeper, and this one ends.
    fn move_in(&self, inhabitant: Pid, told: &PipeWriter) -> io::Result<Entered> {
        match self.join(inhabitant).and_then(|()| sys::fork_beside()) {
            Ok(None) => Ok(Entered::Program),
            Ok(Some(program)) => {
                sys::report(told.as_raw_fd(), program.as_raw_pid());
                sys::exit()
            }
            Err(error) => {
                sys::report(told.as_raw_fd(), -error.raw_os_error().unwrap_or(libc::EIO));
                sys::exit()
            }
        }
    }

    fn join(&self, inhabitant: Pid) -> io::Result<()> {
        let process = pidfd_open(inhabitant, PidfdFlags::empty())?;
        let mut path = ProcPath::new();
        let users = path.of(inhabitant, b"/ns/user");
        let users = open(users, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        sys::join(process.as_fd(), users.as_fd(), !self.network)
    }

    /// Goes to the program's directory, once inside.
    pub(super) fn settle(&self) -> io::Result<()> {
        Ok(chdir(self.directory.as_c_str())?)
    }
}

fn wait_for(ready: &PipeReader, within: Duration) -> io::Result<()> {
    let [_, is_readable] = sys::wait_readable([NONE, ready.as_raw_fd()], Some(within));
    if !is_readable {
        return Err(Errno::TIMEDOUT.into());
    }
    match read(ready, &mut [0; 1])? {
        0 => Err(Errno::PROTO.into()),
        _ => Ok(()),
    }
}

/// Returns the child of a process that has one.
fn only_child(parent: Pid) -> io::Result<Pid> {
    let mut path = ProcPath::new();
    let mut found = None;
    each_child_in(path.children_of(parent), |child| found = Some(child));
    found.ok_or_else(|| Errno::CHILD.into())
}

/// The name of a file in `/proc`, made without memory to allocate.
struct ProcPath {
    bytes: [u8; 64],
    length: usize,
}

impl ProcPath {
    fn new() -> Self {
        Self { bytes: [0; 64], length: 0 }
    }

    fn of(&mut self, process: Pid, file: &[u8]) -> &CStr {
        self.length = 0;
        self.add(b"/proc/");
        self.add_number(process);
        self.add(file);
        self.finish()
    }

    fn children_of(&mut self, process: Pid) -> &CStr {
        self.length = 0;
        self.add(b"/proc/");
        self.add_number(process);
        self.add(b"/task/");
        self.add_number(process);
        self.add(b"/children");
        self.finish()
    }

    fn add(&mut self, text: &[u8]) {
        for byte in text {
            // Never more than fits: two numbers of ten digits and the fixed words have 45 bytes.
            if self.length + 1 < self.bytes.len() {
                self.bytes[self.length] = *byte;
                self.length += 1;
            }
        }
    }

    fn add_number(&mut self, process: Pid) {
        let mut digits = [0; 10];
        let mut rest = process.as_raw_pid();
        let mut first = digits.len();
        while rest > 0 && first > 0 {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.add(&digits[first..]);
    }

    fn finish(&mut self) -> &CStr {
        self.bytes[self.length] = 0;
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"/proc")
    }
}
