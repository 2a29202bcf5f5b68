//! What of the machine a program can reach: two layers, and the truth about which of them are there (R11, T30).
//!
//! bubblewrap builds a room (namespaces with only the files that were asked for) and the program is started inside.
//! Landlock is the second layer there. Where there is no bubblewrap, Landlock and a socket filter are what remains.

use std::{
    ffi::CString,
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::sync::OnceCell;

use crate::{
    Available, Bounds, Capture, Confinement, Containment, Exit, Program, ResourceLimits, Sandbox, run, sys,
    tree::Room,
};

mod bubblewrap;
mod landlock;
mod view;

#[cfg(test)]
mod tests;

pub(crate) use landlock::Rules;

/// The first version of Landlock that keeps files from being cut off (Linux 6.2).
const LANDLOCK_ALONE: u32 = 3;

/// How long the attempt to build a room may take.
const ATTEMPT: Duration = Duration::from_secs(20);

/// What a program puts on itself, made ready before its process is there.
#[derive(Default)]
pub(crate) struct Confined {
    /// The room that it is started in.
    pub(crate) room: Option<Room>,
    /// Its rules.
    pub(crate) rules: Option<Rules>,
    /// Whether it makes no sockets.
    pub(crate) no_sockets: bool,
    /// All of this, in words.
    pub(crate) mode: String,
}

impl Confined {
    /// Whether there is anything to it.
    pub(crate) fn is_on(&self) -> bool {
        self.room.is_some() || self.rules.is_some()
    }

    /// Returns what is behind an error in starting the program that has to do with its sandbox.
    pub(crate) fn explain(&self, program: &Program, error: &io::Error) -> Option<String> {
        if let Some(complaint) = self.room.as_ref().and_then(Room::complaint) {
            return Some(format!("its sandbox cannot be built: {complaint}"));
        }
        if self.room.is_some() && error.kind() == io::ErrorKind::TimedOut {
            return Some("its sandbox took too long to build".to_owned());
        }
        let hidden = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied);
        let is_there = program.path.is_file();
        (self.is_on() && hidden && is_there).then(|| {
            let (path, directory) = (program.path.display(), program.directory.display());
            format!("{error}: its sandbox may not show {path} or {directory}; add what is missing to [sandbox] read")
        })
    }
}

/// What this system has to confine a program with.
#[derive(Clone, Debug)]
pub(crate) struct Layers {
    /// bubblewrap, or why it is of no use.
    pub(crate) bubblewrap: Result<PathBuf, String>,
    /// The version of Landlock, 0 for none.
    pub(crate) landlock: u32,
    /// Whether sockets can be refused.
    pub(crate) no_sockets: bool,
}

impl Layers {
    /// Returns what there is.
    pub(crate) async fn here() -> Self {
        Self { bubblewrap: usable_bubblewrap().await, ..Self::of_the_kernel() }
    }

    /// Returns what is enough for a program that is not confined.
    pub(crate) fn none() -> Self {
        Self { bubblewrap: Err("it was not looked for".to_owned()), landlock: 0, no_sockets: false }
    }

    fn of_the_kernel() -> Self {
        Self { landlock: sys::landlock_version(), no_sockets: sys::can_refuse_sockets(), ..Self::none() }
    }

    /// Makes everything ready that `sandbox` asks for. Refuses where more is required than there is.
    pub(crate) fn confine(&self, program: &Program, bounds: &Bounds) -> io::Result<Confined> {
        let (confinement, required) = match &bounds.sandbox {
            Sandbox::Off => return Ok(Confined { mode: OFF.to_owned(), ..Confined::default() }),
            Sandbox::BestEffort(confinement) => (confinement, false),
            Sandbox::Required(confinement) => (confinement, true),
        };
        if bounds.containment != Containment::Tree {
            let text = "a sandbox needs the containment of a tree";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        match &self.bubblewrap {
            Ok(bubblewrap) => self.in_a_room(bubblewrap, program, confinement, bounds.time),
            // Landlock hides nothing, and leaves modes and times of files that it does not let a program open.
            Err(why) if required => Err(refusal(why)),
            Err(_) => self.without_a_room(confinement),
        }
    }

    fn in_a_room(
        &self,
        bubblewrap: &Path,
        program: &Program,
        confinement: &Confinement,
        time: Option<Duration>,
    ) -> io::Result<Confined> {
        let view = view::View::of(confinement, home().as_deref())?;
        let arguments = bubblewrap::arguments(bubblewrap, &view, confinement.network)?;
        let directory = CString::new(program.directory.as_os_str().as_bytes())?;
        let room = Room::new(arguments, directory, confinement.network, time)?;
        let (rules, mode) = match self.landlock {
            0 => (None, "bubblewrap"),
            _ => (Some(Rules::inside_a_room(&view)?), "bubblewrap+landlock"),
        };
        let mut mode = mode.to_owned();
        if confinement.network {
            mode.push_str(NETWORK);
        }
        Ok(Confined { room: Some(room), rules, no_sockets: false, mode })
    }

    fn without_a_room(&self, confinement: &Confinement) -> io::Result<Confined> {
        let mode = self.mode_without_a_room(confinement);
        if mode == OFF {
            return Ok(Confined { mode, ..Confined::default() });
        }
        let view = view::View::of(confinement, None)?;
        let rules = Some(Rules::alone(&view, confinement.network)?);
        let no_sockets = self.no_sockets && !confinement.network;
        Ok(Confined { room: None, rules, no_sockets, mode })
    }

    fn mode_without_a_room(&self, confinement: &Confinement) -> String {
        if self.landlock < LANDLOCK_ALONE {
            return OFF.to_owned();
        }
        let mut mode = match (confinement.network, self.no_sockets) {
            (true, _) => format!("landlock{NETWORK}"),
            (false, true) => "landlock+seccomp".to_owned(),
            (false, false) => "landlock without network isolation".to_owned(),
        };
        // Landlock has no right for them, and a filter cannot tell one file from another: builds change those of theirs.
        mode.push_str(", modes and times not protected");
        if !confinement.keep.is_empty() {
            // Nothing can be taken out of a directory that may be written.
            mode.push_str(", kept files not protected");
        }
        mode
    }
}

const OFF: &str = "off";

/// Said of a program that has the machine's network.
const NETWORK: &str = ", network";

fn refusal(why: &str) -> io::Error {
    let text = format!(
        "a sandbox is required, and this system cannot hide files and network from it: {why}; install bubblewrap, or \
         set [sandbox] mode to best-effort"
    );
    io::Error::new(io::ErrorKind::Unsupported, text)
}

/// Returns what a sandbox comes to here, and why not to more. Tries it, so it needs a Tokio runtime as [`run()`] does.
pub async fn available() -> Available {
    Layers::here().await.report()
}

impl Layers {
    fn report(&self) -> Available {
        let mut missing = Vec::new();
        let required = self.bubblewrap.is_ok();
        if let Err(why) = &self.bubblewrap {
            missing.push(why.clone());
        }
        if self.landlock == 0 {
            missing.push(
                "the kernel has no Landlock (Linux 5.13, and `landlock` among its security modules)".into(),
            );
        } else if !required && self.landlock < LANDLOCK_ALONE {
            missing.push("the kernel's Landlock is of no use by itself (Linux 6.2 has what it takes)".into());
        }
        let mode = match (required, self.landlock) {
            (true, 0) => "bubblewrap".to_owned(),
            (true, _) => "bubblewrap+landlock".to_owned(),
            (false, _) => self.mode_without_a_room(&Confinement::default()),
        };
        Available { mode, required, missing }
    }
}

/// Returns bubblewrap if a program can be run with it. The system may forbid that in many ways, so it is tried, once:
/// the answer is remembered, unless the attempt went wrong for another reason.
async fn usable_bubblewrap() -> Result<PathBuf, String> {
    static ANSWER: OnceCell<Result<PathBuf, String>> = OnceCell::const_new();
    let Some(bubblewrap) = bubblewrap::installed() else {
        return Err("bubblewrap is not installed (bwrap in /usr/bin, /usr/local/bin or /bin)".to_owned());
    };
    ANSWER.get_or_try_init(|| attempt(bubblewrap)).await.cloned().unwrap_or_else(Err)
}

/// Runs a program in a room. Fails where that says nothing about the next time.
async fn attempt(bubblewrap: PathBuf) -> Result<Result<PathBuf, String>, String> {
    let program = Program {
        path: "/bin/sh".into(),
        arguments: ["-c", ":"].map(Into::into).to_vec(),
        directory: "/".into(),
        environment: Default::default(),
        input: Vec::new(),
    };
    let bounds = Bounds {
        time: Some(ATTEMPT),
        grace: Duration::ZERO,
        stdout: Capture::Head(0),
        stderr: Capture::Tail(1024),
        containment: Containment::Tree,
        limits: ResourceLimits::default(),
        sandbox: Sandbox::Required(Confinement::default()),
    };
    let layers = Layers { bubblewrap: Ok(bubblewrap.clone()), ..Layers::of_the_kernel() };
    let name = bubblewrap.display().to_string();
    // Boxed: what runs a program asks for the layers, and they run a program.
    match Box::pin(run::run_with(&program, &bounds, &layers)).await {
        Ok(finished) => match finished.exit {
            Exit::Code(0) => Ok(Ok(bubblewrap)),
            Exit::TimedOut => Err(format!("{name} took too long")),
            _ => Ok(Err(format!("{name} does not work here: {}", last_words(&finished.stderr.bytes)))),
        },
        Err(error) if is_passing(&error.source) => {
            Err(format!("{name} could not be tried: {}", error.source))
        }
        Err(error) => Ok(Err(format!("{name} does not work here: {}", error.source))),
    }
}

fn last_words(stderr: &[u8]) -> String {
    String::from_utf8_lossy(stderr).trim().to_owned()
}

/// Whether there was no time, memory, process or descriptor to be had just then.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{OutOfMemory, TimedOut, WouldBlock};
    matches!(error.kind(), OutOfMemory | TimedOut | WouldBlock)
        || matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Returns the operator's home. It is covered where it would be seen.
fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}
