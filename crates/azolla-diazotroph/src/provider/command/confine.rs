//! What a confined program can reach: its worktree, its own home, and what it consists of (SECURITY.md).

use std::{
    ffi::OsStr,
    fs::File,
    io::{BufRead, BufReader, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use azolla_process::{Confinement, Sandbox, SandboxMode, SandboxSettings};

use super::place::Place;

/// Scripts that are run by scripts; no real one goes further.
const INTERPRETERS_MAX: usize = 4;

/// The system reads no longer first line.
const FIRST_LINE_BYTES_MAX: u64 = 256;

/// Where the program is, and where it may work.
pub(super) struct Surroundings<'a> {
    pub(super) program: &'a Path,
    pub(super) directory: &'a Path,
    pub(super) place: &'a Place,
    /// Where interpreters are looked for.
    pub(super) path: &'a OsStr,
    /// The operator's home, which is not shown as a whole.
    pub(super) home: &'a Path,
    /// Whether the program does no work without writing to the worktree's git repository.
    pub(super) writes_git: bool,
}

/// Returns how the program is confined.
pub(super) fn sandbox(settings: &SandboxSettings, around: &Surroundings<'_>) -> Sandbox {
    match settings.mode {
        SandboxMode::Off => Sandbox::Off,
        SandboxMode::BestEffort => Sandbox::BestEffort(confinement(settings, around)),
        SandboxMode::Required => Sandbox::Required(confinement(settings, around)),
    }
}

fn confinement(settings: &SandboxSettings, around: &Surroundings<'_>) -> Confinement {
    let git = around.directory.join(".git");
    let mut read = installation(around);
    read.push(around.place.prompt_file());
    read.extend(settings.with_objects_of(around.directory).read);
    let own = [around.directory.to_owned(), around.place.home(), around.place.tmp()];
    Confinement {
        read: there(read),
        write: there(own.into_iter().chain(settings.write.iter().cloned()).collect()),
        // Depth only: nobody reads it afterwards, whatever is written there.
        keep: if around.writes_git { Vec::new() } else { there(vec![git]) },
        network: settings.network,
    }
}

fn there(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.retain(|path| path.exists());
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Returns where the program, what it is a link to, and what interprets it are installed.
fn installation(around: &Surroundings<'_>) -> Vec<PathBuf> {
    let mut shown = Vec::new();
    let mut next = Some(around.program.to_owned());
    for _ in 0..INTERPRETERS_MAX {
        let Some(program) = next.take() else { break };
        let real = program.canonicalize().unwrap_or_else(|_| program.clone());
        next = interpreter(&real, around.path);
        for file in links(program).into_iter().chain([real]) {
            show(&file, around.home, &mut shown);
        }
    }
    shown
}

/// Returns a program and each link on the way to what it is, but for those in directories above.
fn links(program: PathBuf) -> Vec<PathBuf> {
    let mut links = vec![program];
    while let Some(last) = links.last()
        && links.len() < 16
        && let Ok(target) = last.read_link()
        && let Some(directory) = last.parent()
        && let Some(next) = without_detours(&directory.join(target))
    {
        links.push(next);
    }
    links
}

/// Returns the same place with its directory as it really is.
fn without_detours(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

fn show(file: &Path, home: &Path, shown: &mut Vec<PathBuf>) {
    let Some(directory) = file.parent() else { return };
    // A package of node finds its dependencies in the outermost of them.
    if let Some(modules) =
        directory.ancestors().filter(|at| at.file_name() == Some("node_modules".as_ref())).last()
    {
        shown.push(modules.to_owned());
    }
    let above = directory.parent().filter(|above| !home.starts_with(above));
    match (directory.file_name().map(OsStr::as_bytes), above) {
        // What stands for many programs at once: it looks up the real one beside itself.
        (Some(b"shims"), Some(above)) => shown.push(above.to_owned()),
        // An installation, such as a virtual environment: no more of it than is run.
        (Some(b"bin"), Some(above)) => {
            shown.extend(["lib", "lib64", "libexec", "pyvenv.cfg"].map(|name| above.join(name)));
        }
        _ => {}
    }
    // A program that lies in the home itself does not open it.
    let is_home = home.starts_with(directory);
    shown.push(if is_home { file.to_owned() } else { directory.to_owned() });
}

/// Returns what runs a script, by its first line.
fn interpreter(script: &Path, path: &OsStr) -> Option<PathBuf> {
    let mut line = Vec::new();
    let file = File::open(script).ok()?;
    BufReader::new(file).take(FIRST_LINE_BYTES_MAX).read_until(b'\n', &mut line).ok()?;
    let words = line.strip_prefix(b"#!")?.split(|byte| byte.is_ascii_whitespace());
    let mut words = words.filter(|word| !word.is_empty()).map(OsStr::from_bytes);
    let first = words.next()?;
    let name = if Path::new(first).file_name() == Some("env".as_ref()) {
        words.find(|word| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'='))?
    } else {
        first
    };
    azolla_process::find(name, path)
}

#[cfg(test)]
mod tests;
