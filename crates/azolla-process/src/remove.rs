//! Removes a directory that a program wrote into, however it nested, named or closed what is in it.
//!
//! A directory inside a directory is moved up to the root before anything in it is looked at. So no path is ever longer
//! than two names, and stack, memory and open files are the same for one directory and for a million nested ones.

use std::{
    ffi::CStr,
    io,
    path::Path,
    time::{Duration, Instant},
};

use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{AtFlags, CWD, Dir, Mode, OFlags, fchmod, openat, renameat, unlinkat},
    io::Errno,
    path::Arg,
};

#[cfg(test)]
mod tests;

/// How long a removal may take: what writes on while we remove would otherwise keep us for ever.
const TIME: Duration = Duration::from_secs(600);
/// How often the root is read again though nothing was moved up to it.
const QUIET_PASSES: u32 = 64;

/// Removes a file, a link, or a directory with everything in it. Links are not followed, and directories that their
/// owner closed are opened. What is not there is removed already.
///
/// # Errors
///
/// The first thing that cannot be removed; the rest is gone. Also where something writes into the directory faster than
/// it is emptied. What is left may have been moved to other names inside it.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    remove_within(path, TIME)
}

fn remove_within(path: &Path, time: Duration) -> io::Result<()> {
    // Without a slash at its end, with which the system would follow a link.
    let path = path.components().as_path();
    if path.file_name().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a path to remove has to end with a name"));
    }
    if remove_simple(CWD, path)? == Left::Nothing {
        return Ok(());
    }
    match open(CWD, path) {
        Ok(root) => Removal { root: root.as_fd(), until: Instant::now() + time, names: 0 }.run()?,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    match unlinkat(CWD, path, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// What is left of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Nothing,
    /// A directory with something in it.
    Full,
}

/// One removal.
struct Removal<'a> {
    root: BorrowedFd<'a>,
    until: Instant,
    /// How many names for directories that are moved up were tried.
    names: u64,
}

/// What one pass through a directory did.
#[derive(Debug, Default)]
struct Pass {
    found: bool,
    removed: bool,
    moved: bool,
    failed: Option<Errno>,
}

impl Removal<'_> {
    /// Empties the root.
    fn run(mut self) -> io::Result<()> {
        let mut root = Dir::read_from(self.root)?;
        let mut quiet = 0;
        loop {
            let mut pass = Pass::default();
            while let Some(entry) = root.read() {
                let entry = entry?;
                let name = entry.file_name();
                if is_dots(name) {
                    continue;
                }
                pass.found = true;
                if let Err(error) = self.remove_entry(name, &mut pass) {
                    pass.failed.get_or_insert(error);
                }
                self.check_time()?;
            }
            quiet = if pass.moved { 0 } else { quiet + 1 };
            if !pass.found {
                return Ok(());
            }
            if !(pass.removed || pass.moved) || quiet > QUIET_PASSES {
                return Err(pass.failed.unwrap_or(Errno::NOTEMPTY).into());
            }
            // Moved directories may stand before the place where reading was; some systems also pass over entries
            // while others are removed.
            root.rewind();
        }
    }

    /// Removes an entry of the root; directories in it that are not empty are moved up.
    fn remove_entry(&mut self, name: &CStr, pass: &mut Pass) -> Result<(), Errno> {
        if remove_simple(self.root, name)? == Left::Nothing {
            pass.removed = true;
            return Ok(());
        }
        let mut directory = match open(self.root, name) {
            Ok(directory) => Dir::new(directory)?,
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error),
        };
        while let Some(entry) = directory.read() {
            let entry = entry?;
            let inner = entry.file_name();
            if is_dots(inner) {
                continue;
            }
            let done = match remove_simple(directory.fd()?, inner) {
                Ok(Left::Nothing) => {
                    pass.removed = true;
                    Ok(())
                }
                Ok(Left::Full) => self.move_up(directory.fd()?, inner).map(|()| pass.moved = true),
                Err(error) => Err(error),
            };
            if let Err(error) = done {
                pass.failed.get_or_insert(error);
            }
            // The pass through the root says so.
            if self.check_time().is_err() {
                return Ok(());
            }
        }
        // One that has more again is for the next pass.
        pass.removed |= remove_simple(self.root, name)? == Left::Nothing;
        Ok(())
    }

    /// Moves a directory to the root, under a name that nothing there has.
    fn move_up(&mut self, at: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
        let mut is_opened = false;
        loop {
            let fresh = format!(".removed-{}", self.names);
            match renameat(at, name, self.root, fresh.as_str()) {
                Ok(()) | Err(Errno::NOENT) => return Ok(()),
                // Taken, by a directory or a file. Names are not tried twice, so all of them together cost no more than
                // it cost to take them.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => self.names += 1,
                // A directory that moves gets another `..`, which takes the right to write into it.
                Err(Errno::ACCESS) if !is_opened => {
                    open_up(at, name)?;
                    is_opened = true;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn check_time(&self) -> io::Result<()> {
        if Instant::now() < self.until {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the directory is not empty after the time for removing it",
        ))
    }
}

/// Removes what is no directory, or an empty one.
fn remove_simple(at: BorrowedFd<'_>, name: impl Arg + Copy) -> Result<Left, Errno> {
    let error = match unlinkat(at, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(Left::Nothing),
        // Linux says the first of a directory, others the second.
        Err(error @ (Errno::ISDIR | Errno::PERM)) => error,
        Err(error) => return Err(error),
    };
    match unlinkat(at, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(Left::Nothing),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(Left::Full),
        Err(Errno::NOTDIR) => Err(error),
        Err(error) => Err(error),
    }
}

/// Opens a directory, with the rights to empty it if they can be had.
fn open(at: BorrowedFd<'_>, name: impl Arg + Copy) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = match openat(at, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            open_up(at, name)?;
            openat(at, name, flags, Mode::empty())?
        }
        opened => opened?,
    };
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&directory)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        // Of another's directory this fails, and so does then the removal, with its own reason.
        let _ = fchmod(&directory, Mode::RWXU);
    }
    Ok(directory)
}

/// Gives its owner all rights to a directory that cannot be opened, and to nothing that a link names.
#[cfg(target_os = "linux")]
fn open_up(at: BorrowedFd<'_>, name: impl Arg + Copy) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(at, name, flags, Mode::empty())?;
    // Kernels before 6.6 have no other way to change the mode of exactly this directory.
    rustix::fs::chmod(format!("/proc/self/fd/{}", directory.as_raw_fd()), Mode::RWXU)
}

/// Gives its owner all rights to a directory that cannot be opened, and to nothing that a link names.
#[cfg(not(target_os = "linux"))]
fn open_up(at: BorrowedFd<'_>, name: impl Arg + Copy) -> Result<(), Errno> {
    rustix::fs::chmodat(at, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}
