//! Landlock: what a process gives up by itself. Inside a room it is the second layer, without one the only one.

use std::{
    ffi::CString,
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};

use super::{bubblewrap, view::View};
use crate::sys;

/// The rights that are handled, as far as the kernel knows them.
const RIGHTS: ABI = ABI::V8;

/// Devices that any program may use.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// A ruleset that is ready but for what is only there inside a room.
pub(crate) struct Rules {
    ruleset: OwnedFd,
    inside: Vec<(CString, u64)>,
}

impl Rules {
    /// Returns the rules of the second layer. The network is the room's own and needs none.
    pub(super) fn inside_a_room(view: &View) -> io::Result<Self> {
        let all = AccessFs::from_all(RIGHTS);
        let home = view.home.iter().map(|home| home.as_path());
        let own = bubblewrap::PRIVATE.iter().map(Path::new).chain(home);
        // Added late, so they have to be what the kernel knows: the crate sees to that for all others.
        let known = all.bits() & known_rights(sys::landlock_version());
        let mut inside = Vec::new();
        for path in own.chain(["/dev", "/proc"].map(Path::new)) {
            inside.push((CString::new(path.as_os_str().as_bytes())?, known));
        }
        // The names of what there is are no secret in there.
        inside.push((c"/".to_owned(), BitFlags::from(AccessFs::ReadDir).bits()));
        let ruleset = created(false)?;
        let ruleset = allow(ruleset, &view.system, AccessFs::from_read(RIGHTS))?;
        Self::finish(ruleset, view, inside)
    }

    /// Returns the rules where Landlock is all there is: what it cannot do without a room, such as hiding, is not done.
    pub(super) fn alone(view: &View, network: bool) -> io::Result<Self> {
        let ruleset = created(!network)?;
        let read = AccessFs::from_read(RIGHTS);
        let ruleset = allow(ruleset, &view.system, read)?;
        let ruleset = allow(ruleset, ["/proc"], read)?;
        let ruleset = allow(ruleset, DEVICES, AccessFs::from_file(RIGHTS) | AccessFs::ReadDir)?;
        Self::finish(ruleset, view, Vec::new())
    }

    fn finish(ruleset: RulesetCreated, view: &View, inside: Vec<(CString, u64)>) -> io::Result<Self> {
        let ruleset = allow(ruleset, &view.read, AccessFs::from_read(RIGHTS))?;
        let ruleset = allow(ruleset, &view.write, AccessFs::from_all(RIGHTS))?;
        let ruleset: Option<OwnedFd> = ruleset.into();
        let ruleset = ruleset.ok_or(io::ErrorKind::Unsupported)?;
        Ok(Self { ruleset, inside })
    }

    /// Puts the rules in force. Runs between fork and exec.
    pub(crate) fn enforce(&self) -> io::Result<()> {
        let ruleset = self.ruleset.as_raw_fd();
        for (path, access) in &self.inside {
            sys::landlock_allow(ruleset, path, *access)?;
        }
        sys::landlock_restrict(ruleset)
    }
}

/// Begins a ruleset. Signals and abstract sockets end at its border too, where the kernel has that.
fn created(without_network: bool) -> io::Result<RulesetCreated> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(RIGHTS))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(RIGHTS)));
    let ruleset = if without_network {
        ruleset.and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(RIGHTS)))
    } else {
        ruleset
    };
    ruleset.and_then(Ruleset::create).map_err(io::Error::other)
}

fn allow<P: AsRef<Path>>(
    mut ruleset: RulesetCreated,
    paths: impl IntoIterator<Item = P>,
    access: BitFlags<AccessFs>,
) -> io::Result<RulesetCreated> {
    for path in paths {
        // What went away in between is not there for the program either.
        let Ok(file) = PathFd::new(path) else { continue };
        ruleset = ruleset.add_rule(PathBeneath::new(file, access)).map_err(io::Error::other)?;
    }
    Ok(ruleset)
}

fn known_rights(version: u32) -> u64 {
    let abi = match version {
        0 => ABI::Unsupported,
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        _ => ABI::V5,
    };
    AccessFs::from_all(abi).bits()
}
