//! Runs a repository's checks on a tree and records what came out (PF-7).

use std::{collections::BTreeMap, ffi::OsString, io, path::Path, time::Duration};

use azolla_process::{Bounds, Capture, Containment, Exit, Program, ResourceLimits, Sandbox};
use azolla_protocol::{CheckEvidence, CheckSubject};

use crate::sandbox::{PrivateHome, SandboxMode, SandboxSettings, with_objects_of, with_toolchains};

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
const TAIL_BYTES: usize = 16 * 1024;

/// The time between being asked to stop and being stopped.
const GRACE: Duration = Duration::from_secs(1);

/// The largest file that a check may write: a runaway one must not fill the disk.
const FILE_BYTES_MAX: u64 = 8 << 30;

/// Runs one check in `directory`, which holds the files of `tree`. A check that cannot be started has failed.
pub async fn run(
    check: &Check,
    subject: CheckSubject,
    directory: &Path,
    tree: &str,
    environment: &BTreeMap<OsString, OsString>,
    sandbox: &SandboxSettings,
) -> CheckEvidence {
    let mut evidence = CheckEvidence {
        name: check.name.clone(),
        subject,
        command: check.command.clone(),
        exit_code: None,
        timed_out: false,
        duration_ms: 0,
        output_tail: String::new(),
        tree: Some(tree.to_owned()),
        // Until it has run, it was not confined.
        sandbox_mode: "off".to_owned(),
    };
    let surroundings = match Surroundings::new(directory, environment, sandbox) {
        Ok(surroundings) => surroundings,
        Err(error) => {
            evidence.output_tail = format!("there is no place for its temporary files: {error}");
            return evidence;
        }
    };
    let Some(program) = program(check, directory, &surroundings.environment) else {
        evidence.output_tail = format!("{} was not found on PATH", check.command.join(" "));
        return evidence;
    };
    match azolla_process::run(&program, &bounds(check, surroundings.sandbox.clone())).await {
        Ok(finished) => {
            evidence.duration_ms = u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX);
            evidence.timed_out = finished.exit == Exit::TimedOut;
            if let Exit::Code(code) = finished.exit {
                evidence.exit_code = Some(code.into());
            }
            evidence.output_tail = tail(&finished.stdout.bytes, &finished.stderr.bytes);
            evidence.sandbox_mode = finished.sandbox_mode;
        }
        Err(error) => evidence.output_tail = error.to_string(),
    }
    evidence
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
        let settings = with_objects_of(&with_toolchains(sandbox, environment), directory);
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

fn program(check: &Check, directory: &Path, environment: &BTreeMap<OsString, OsString>) -> Option<Program> {
    let (name, arguments) = check.command.split_first()?;
    let path = environment.get(&OsString::from("PATH")).cloned().unwrap_or_default();
    // A check may be a file of the repository, such as ./scripts/check.
    let path = if name.contains('/') && !name.starts_with('/') {
        directory.join(name)
    } else {
        azolla_process::find(name.as_ref(), &path)?
    };
    Some(Program {
        path,
        arguments: arguments.iter().map(OsString::from).collect(),
        directory: directory.to_owned(),
        environment: environment.clone(),
        input: Vec::new(),
    })
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
