//! The room that bubblewrap builds: namespaces of its own, with the files of a [`View`] and nothing else (R11).

use std::{
    ffi::{CString, OsStr},
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::view::View;
use crate::{find, sys::Arguments};

#[cfg(test)]
mod tests;

/// Where bubblewrap is looked for: not on the operator's own list, where a program could have put something.
const PLACES: &str = "/usr/bin:/usr/local/bin:/bin";

/// Directories of the room that are its own and empty.
pub(super) const PRIVATE: [&str; 2] = ["/tmp", "/var/tmp"];

/// Runs in the room until that ends: says that it is there, then waits for what never comes, because it holds the
/// other end of its input itself, as descriptor 3. bubblewrap collects orphans beside it.
const HOLDER: [&str; 3] = ["/bin/sh", "-c", "echo; read -r never"];

/// Returns where bubblewrap is installed.
pub(super) fn installed() -> Option<PathBuf> {
    find(OsStr::new("bwrap"), OsStr::new(PLACES))
}

/// Returns how bubblewrap is called to build the room.
pub(super) fn arguments(bubblewrap: &Path, view: &View, network: bool) -> io::Result<Arguments> {
    words(bubblewrap, view, network).map(Arguments::new)
}

fn words(bubblewrap: &Path, view: &View, network: bool) -> io::Result<Vec<CString>> {
    let mut words = Words(Vec::new());
    words.push([bubblewrap.as_os_str()])?;
    words.push(["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"].map(OsStr::new))?;
    if !network {
        words.push([OsStr::new("--unshare-net")])?;
    }
    // A name that resolves without a network. Root would otherwise have every privilege over its namespaces.
    let options = ["--hostname", "localhost", "--die-with-parent", "--cap-drop", "ALL", "--chdir", "/"];
    words.push(options.map(OsStr::new))?;
    words.push(["--proc", "/proc", "--dev", "/dev"].map(OsStr::new))?;
    for path in PRIVATE {
        words.push(["--tmpfs", path].map(OsStr::new))?;
    }
    for path in &view.system {
        words.bind("--ro-bind", path)?;
    }
    // After the system's directories, one of which may hold it, and before what of it is to be seen.
    if let Some(home) = &view.home {
        words.push([OsStr::new("--tmpfs"), home.as_os_str()])?;
    }
    for (link, target) in &view.links {
        words.push([OsStr::new("--symlink"), target.as_os_str(), link.as_os_str()])?;
    }
    for (how, path) in outer_first(view) {
        words.bind(how, path)?;
    }
    for path in &view.keep {
        words.bind("--ro-bind", path)?;
    }
    // What holds the mounts together is not a place to write to.
    words.push(["--remount-ro", "/", "--"].map(OsStr::new))?;
    words.push(HOLDER.map(OsStr::new))?;
    Ok(words.0)
}

/// Returns what is shown beside the system, each directory before what is below it.
fn outer_first(view: &View) -> Vec<(&'static str, &Path)> {
    let read = view.read.iter().map(|path| ("--ro-bind", path.as_path()));
    let write = view.write.iter().map(|path| ("--bind", path.as_path()));
    let mut all: Vec<_> = read.chain(write).collect();
    all.sort_by_key(|(_, path)| *path);
    all
}

struct Words(Vec<CString>);

impl Words {
    fn push<const N: usize>(&mut self, words: [&OsStr; N]) -> io::Result<()> {
        for word in words {
            self.0.push(CString::new(word.as_bytes())?);
        }
        Ok(())
    }

    /// The place of a file in the room is its place outside.
    fn bind(&mut self, how: &str, path: &Path) -> io::Result<()> {
        self.push([OsStr::new(how), path.as_os_str(), path.as_os_str()])
    }
}
