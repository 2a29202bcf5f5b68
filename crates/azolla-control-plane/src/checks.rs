//! Runs a repository's checks on a tree and records what came out (PF-7).

use std::{collections::BTreeMap, ffi::OsString, io, path::Path, time::Duration};

use azolla_exchange_membrane::gates::patch::NOT_RUN;
use azolla_process::{Bounds, Capture, Containment, Exit, Program, ResourceLimits, Sandbox};
use azolla_protocol::{CheckEvidence, CheckSubject};

use crate::sandbox::{PrivateHome, SandboxMode, SandboxSettings, with_toolchains};

/// A command of the repository's that has to succeed on a patched tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// How long it may run.
    pub time_ms: u64,
}

/// What a check prints is kept from its end.
const TAIL_BYTES: usize = 16_384;

/// The time between being asked to stop and being stopped.
const GRACE: Duration = Duration::from_secs(1);

/// The largest file that a check may write, 8 GiB: a runaway one must not fill the disk.
const FILE_BYTES_MAX: u64 = 0x2_0000_0000;

/// A check that was not run: there is nothing to say about the tree from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotStarted {
    /// Why.
    pub reason: String,
    /// The one thing that helps.
    pub action: String,
    /// Whether the program is a file of the tree, so that another tree may have it.
    pub is_of_tree: bool,
}

/// Runs one check in `directory`, which holds the files of `tree`.
pub async fn run(
    check: &Check,
    subject: CheckSubject,
    directory: &Path,
    tree: &str,
    environment: &BTreeMap<OsString, OsString>,
    sandbox: &SandboxSettings,
) -> Result<CheckEvidence, NotStarted> {
    let surroundings = Surroundings::new(directory, environment, sandbox)
        .map_err(|error| not_started(check, &format!("no place for its temporary files: {error}")))?;
    let program = program(check, directory, &surroundings.environment)?;
    let finished = azolla_process::run(&program, &bounds(check, surroundings.sandbox.clone()))
        .await
        .map_err(|error| {
            // Where the files are differs with every attempt; the same failure has to read the same (O-1).
            let why = error.source.to_string().replace(&*directory.to_string_lossy(), "the repository");
            not_started(check, &why)
        })?;
    Ok(CheckEvidence {
        exit_code: match finished.exit {
            Exit::Code(code) => Some(code.into()),
            _ => None,
        },
        timed_out: finished.exit == Exit::TimedOut,
        duration_ms: u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX),
        output_tail: tail(&finished.stdout.bytes, &finished.stderr.bytes),
        sandbox_mode: finished.sandbox_mode,
        ..not_run(check, subject, tree, "")
    })
}

/// Returns the evidence of a check that did not start on a tree: it ran nothing, and was confined by nothing.
pub fn not_run(check: &Check, subject: CheckSubject, tree: &str, reason: &str) -> CheckEvidence {
    CheckEvidence {
        name: check.name.clone(),
        subject,
        command: check.command.clone(),
        exit_code: None,
        timed_out: false,
        duration_ms: 0,
        output_tail: reason.to_owned(),
        tree: Some(tree.to_owned()),
        sandbox_mode: NOT_RUN.to_owned(),
    }
}

/// What the system or the sandbox is short of is told in `why`, with what helps.
fn not_started(check: &Check, why: &str) -> NotStarted {
    let name = &check.name;
    NotStarted {
        reason: format!("check {name} cannot be started: {why}"),
        action: format!("Let check {name} start ({why})"),
        is_of_tree: is_of_tree(check),
    }
}

/// What a check sees beside its files.
struct Surroundings {
    environment: BTreeMap<OsString, OsString>,
    sandbox: Sandbox,
    /// Removed with this.
    _home: Option<PrivateHome>,
}

impl Surroundings {
    /// Without a sandbox the operator's own home and environment. In one a home of its own beside the checkout, and the
    /// toolchains where they are, to be read.
    fn new(
        directory: &Path,
        environment: &BTreeMap<OsString, OsString>,
        sandbox: &SandboxSettings,
    ) -> io::Result<Self> {
        if sandbox.mode == SandboxMode::Off {
            return Ok(Self { environment: environment.clone(), sandbox: Sandbox::Off, _home: None });
        }
        let home = PrivateHome::new_in(directory.parent().unwrap_or(directory))?;
        let settings = with_toolchains(sandbox, environment).with_objects_of(directory);
        let git = directory.join(".git");
        Ok(Self {
            environment: home.environment(environment),
            sandbox: settings.confine(&[directory, home.path()], &[&git]),
            _home: Some(home),
        })
    }
}

fn bounds(check: &Check, sandbox: Sandbox) -> Bounds {
    Bounds {
        time: Some(Duration::from_millis(check.time_ms)),
        grace: GRACE,
        stdout: Capture::Tail(TAIL_BYTES),
        stderr: Capture::Tail(TAIL_BYTES),
        containment: Containment::Tree,
        limits: ResourceLimits { file_size: Some(FILE_BYTES_MAX), ..ResourceLimits::default() },
        sandbox,
    }
}

fn program(
    check: &Check,
    directory: &Path,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<Program, NotStarted> {
    let (name, arguments) =
        check.command.split_first().ok_or_else(|| not_started(check, "its command is empty"))?;
    let path = if is_of_tree(check) {
        let path = directory.join(name);
        if !path.is_file() {
            return Err(missing(check, &format!("{name} is not in the repository"), &format!("Add {name}")));
        }
        path
    } else {
        let path = environment.get(&OsString::from("PATH")).cloned().unwrap_or_default();
        azolla_process::find(name.as_ref(), &path).ok_or_else(|| {
            let why = if name.starts_with('/') { "is no program" } else { "was not found on PATH" };
            missing(check, &format!("{name} {why}"), &format!("Install {name}"))
        })?
    };
    Ok(Program {
        path,
        arguments: arguments.iter().map(OsString::from).collect(),
        directory: directory.to_owned(),
        environment: environment.clone(),
        input: Vec::new(),
    })
}

fn missing(check: &Check, why: &str, action: &str) -> NotStarted {
    NotStarted { action: format!("{action}, or correct check {}", check.name), ..not_started(check, why) }
}

/// A check may be a file of the repository, such as ./scripts/check.
fn is_of_tree(check: &Check) -> bool {
    check.command.first().is_some_and(|name| name.contains('/') && !name.starts_with('/'))
}

/// Both streams as text, without NUL, which no store keeps.
fn tail(stdout: &[u8], stderr: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(stdout).into_owned();
    if !text.is_empty() && !text.ends_with('\n') && !stderr.is_empty() {
        text.push('\n');
    }
    text.push_str(&String::from_utf8_lossy(stderr));
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests;
