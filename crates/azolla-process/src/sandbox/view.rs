//! Which files a confined program sees: what was asked for and what every program needs, resolved to real paths.

use std::{
    collections::{BTreeMap, VecDeque},
    ffi::OsString,
    fs, io,
    path::{Component, Path, PathBuf},
};

use crate::Confinement;

#[cfg(test)]
mod tests;

/// Where programs and libraries are, and what they look up there. Of `/etc` only what says how names, users, time and
/// certificates are found: the rest can hold secrets, which root could read even without its privileges.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
    "/sys/devices/system/cpu",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/debian_version",
    "/etc/dotnet",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/magic",
    "/etc/maven",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/R",
    "/etc/passwd",
    "/etc/perl",
    "/etc/php",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/protocols",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/static",
    "/etc/terminfo",
    "/etc/texmf",
    "/etc/timezone",
];

/// How the names begin, in `/etc`, of what belongs to the version of a language.
const ETC_PREFIXES: &[&str] = &["ImageMagick-", "java-", "python3"];

/// How names of the network are found.
const NAMES: &str = "/etc/resolv.conf";

/// As many links one after the other as the kernel follows.
const LINKS_MAX: usize = 40;

/// Real paths: no component of them is a link.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    /// The system's own, read-only.
    pub(super) system: Vec<PathBuf>,
    /// What else may be read, and is not in `write`.
    pub(super) read: Vec<PathBuf>,
    /// What may be changed.
    pub(super) write: Vec<PathBuf>,
    /// What of that may not.
    pub(super) keep: Vec<PathBuf>,
    /// The operator's home, to be covered.
    pub(super) home: Option<PathBuf>,
    /// Links on the way to any of these that are in none of them, with where they lead.
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
}

impl View {
    /// Resolves what was asked for, as it is now. What may be read and is not there is passed over.
    pub(super) fn of(confinement: &Confinement, home: Option<&Path>) -> io::Result<Self> {
        let mut links = BTreeMap::new();
        let names = confinement.network.then_some(NAMES);
        let mut system = Vec::new();
        for path in SYSTEM.iter().copied().chain(names).map(PathBuf::from).chain(versions()) {
            system.extend(resolve(&path, &mut links).ok());
        }
        let mut write = Vec::new();
        for path in &confinement.write {
            write.push(real(path, &mut links)?.ok_or_else(|| missing(path))?);
        }
        let mut read = Vec::new();
        for path in &confinement.read {
            read.extend(real(path, &mut links)?);
        }
        let mut view = Self { system, read, write, ..Self::default() };
        for path in &confinement.keep {
            view.keep.extend(kept(path, &view.write)?);
        }
        view.home =
            home.and_then(|home| resolve(home, &mut links).ok()).filter(|home| home.parent().is_some());
        view.prune();
        links.retain(|link, _| !view.shows(link));
        view.links = links;
        Ok(view)
    }

    /// Leaves out what is below something else that allows as much.
    fn prune(&mut self) {
        outermost(&mut self.system);
        outermost(&mut self.write);
        outermost(&mut self.read);
        self.read.retain(|path| !is_below(path, &self.write));
    }

    /// Whether what is at `path` is there for the program by one of the directories.
    fn shows(&self, path: &Path) -> bool {
        let covered = self.home.as_deref().is_some_and(|home| path.starts_with(home));
        is_below(path, &self.read)
            || is_below(path, &self.write)
            || (!covered && is_below(path, &self.system))
    }
}

/// Returns what there is of [`ETC_PREFIXES`].
fn versions() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/etc").into_iter().flatten().filter_map(Result::ok);
    let is_one =
        |name: OsString| ETC_PREFIXES.iter().any(|prefix| name.to_string_lossy().starts_with(prefix));
    entries.filter(move |entry| is_one(entry.file_name())).map(|entry| entry.path())
}

/// Resolves a path that the caller named.
fn real(path: &Path, links: &mut BTreeMap<PathBuf, PathBuf>) -> io::Result<Option<PathBuf>> {
    if !path.is_absolute() {
        return Err(invalid(format!("{} in its sandbox is not an absolute path", path.display())));
    }
    match resolve(path, links) {
        Ok(real) if real.parent().is_none() => {
            Err(invalid("a sandbox with the whole file system in it confines nothing".to_owned()))
        }
        Ok(real) => Ok(Some(real)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
    }
}

/// Resolves what is to stay as it is. A program that ran before could have put a link in its place: what that leads to
/// is not shown for it.
fn kept(path: &Path, write: &[PathBuf]) -> io::Result<Option<PathBuf>> {
    match real(path, &mut BTreeMap::new())? {
        Some(real) if is_below(&real, write) => Ok(Some(real)),
        Some(_) => {
            Err(invalid(format!("{} is to be kept and is not below what may be written", path.display())))
        }
        None => Ok(None),
    }
}

/// Returns the real path of what is there, and notes the links on the way.
fn resolve(path: &Path, links: &mut BTreeMap<PathBuf, PathBuf>) -> io::Result<PathBuf> {
    let mut real = PathBuf::from("/");
    let mut rest: VecDeque<OsString> = names(path).collect();
    let mut followed = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&name);
        let target = match fs::read_link(&next) {
            Ok(target) => target,
            // It is there and no link.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                real = next;
                continue;
            }
            Err(error) => return Err(error),
        };
        followed += 1;
        if followed > LINKS_MAX {
            return Err(invalid(format!("{} leads through too many links", path.display())));
        }
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        names(&target).rev().for_each(|name| rest.push_front(name));
        links.insert(next, target);
    }
    Ok(real)
}

fn names(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

/// Leaves the paths that are below no other, outer ones first.
fn outermost(paths: &mut Vec<PathBuf>) {
    paths.sort();
    paths.dedup_by(|later, earlier| later.starts_with(&*earlier));
}

fn is_below(path: &Path, directories: &[PathBuf]) -> bool {
    directories.iter().any(|directory| path.starts_with(directory))
}

fn missing(path: &Path) -> io::Error {
    let text = format!("{} is to be writable in its sandbox and does not exist", path.display());
    io::Error::new(io::ErrorKind::NotFound, text)
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}
