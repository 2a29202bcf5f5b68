//! The one caller of the git program (R10): absolute path, explicit git directory, an environment of our own, nothing
//! configured from outside, bounded time and output.
//!
//! What could run code or change meaning is set for every call, because some calls are made in the operator's
//! repository, whose configuration is read too: hooks, monitors, filters, alternates commands, maintenance.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use azolla_process::{Bounds, Capture, Containment, Exit, Program, ResourceLimits, Sandbox, SpawnError};

use super::{
    RepositoryError,
    mirror::{Mirror, in_use},
    refusal::visible,
};

/// Time for a call that touches only local files.
pub(super) const LOCAL_TIME: Duration = Duration::from_secs(300);
/// Time for a fetch, the first one of a large repository included.
pub(super) const FETCH_TIME: Duration = Duration::from_secs(1_800);
/// Bytes of stdout that a call with a short answer may print.
const ANSWER_BYTES: usize = 1 << 20;
/// Bytes of stderr that are kept.
pub(super) const STDERR_BYTES: usize = 16 << 10;

const IDENTITY_NAME: &str = "azolla";
const IDENTITY_EMAIL: &str = "azolla@localhost.invalid";

/// Configuration of every call; it wins over that of the repository in which the call is made.
#[rustfmt::skip] // A table.
const CONFIGURATION: [(&str, &str); 28] = [
    ("core.hooksPath",               "/dev/null"),
    ("core.fsmonitor",               "false"),
    ("core.untrackedCache",          "false"),
    ("core.splitIndex",              "false"),
    ("core.sparseCheckout",          "false"),
    ("core.protectHFS",              "true"),
    ("core.protectNTFS",             "true"),
    ("core.attributesFile",          "/dev/null"),
    ("core.excludesFile",            "/dev/null"),
    ("core.quotePath",               "false"),
    ("core.autocrlf",                "false"),
    // A shell command by itself; `:` prints nothing.
    ("core.alternateRefsCommand",    ":"),
    // Two processes may use one mirror, and two gates one branch of the operator's: git waits for the other's lock.
    ("core.filesRefLockTimeout",     "5000"),
    ("core.packedRefsTimeout",       "5000"),
    // Every object and ref is handed to the disk before it gets a name, so that none can be torn. One flush, which is
    // ours, then makes all of them durable at once; one by git for each would cost five of them per patch.
    ("core.fsync",                   "committed,reference"),
    ("core.fsyncMethod",             "writeout-only"),
    // It would start a program of the repository's own choice.
    ("log.showSignature",            "false"),
    ("gc.auto",                      "0"),
    ("maintenance.auto",             "false"),
    ("fetch.writeCommitGraph",       "false"),
    ("fetch.prune",                  "false"),
    ("fetch.pruneTags",              "false"),
    ("protocol.ext.allow",           "never"),
    ("submodule.recurse",            "false"),
    ("commit.gpgSign",               "false"),
    ("i18n.commitEncoding",          "UTF-8"),
    ("diff.algorithm",               "histogram"),
    ("apply.whitespace",             "nowarn"),
];

/// The git program, its environment, and how often it was started.
#[derive(Debug)]
pub(super) struct Git {
    program: PathBuf,
    environment: BTreeMap<OsString, OsString>,
    /// Where it is started.
    directory: PathBuf,
    use_lock: PathBuf,
    spawns: AtomicU64,
}

/// One call of git.
#[derive(Debug)]
pub(super) struct Call<'a> {
    git_dir: &'a Path,
    configuration: Vec<&'static str>,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    work_tree: Option<&'a Path>,
    input: Vec<u8>,
    stdout: Capture,
    time: Duration,
}

/// What a call gave.
#[derive(Debug)]
pub(super) struct Output {
    /// Its exit code; none if it printed more than it may.
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl Git {
    /// Returns the caller of `program` for this mirror, which has to be prepared before a call.
    pub(super) fn new(program: PathBuf, mirror: &Mirror, protocol: &str) -> Self {
        let mut environment = fixed_environment(&program, protocol);
        environment.insert("GIT_CONFIG_GLOBAL".into(), mirror.global_config().into());
        let (directory, use_lock) = (mirror.git_dir().to_owned(), mirror.use_lock());
        Self { program, environment, directory, use_lock, spawns: AtomicU64::new(0) }
    }

    /// Returns how often git was started.
    pub(super) fn spawns(&self) -> u64 {
        self.spawns.load(Ordering::Relaxed)
    }

    /// Runs git to its end. A time-out, a signal and a program that is not there are errors; an exit code is not.
    pub(super) async fn run(&self, call: Call<'_>) -> Result<Output, RepositoryError> {
        self.spawns.fetch_add(1, Ordering::Relaxed);
        let name = call.arguments.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let bounds = Bounds {
            time: Some(call.time),
            grace: Duration::from_secs(2),
            stdout: call.stdout,
            stderr: Capture::Head(STDERR_BYTES),
            containment: Containment::Group,
            limits: ResourceLimits::default(),
            sandbox: Sandbox::Off,
        };
        let program = self.program_of(call);
        // Until git has ended, or was asked to: whoever finds a lock of git's then knows whether anybody may hold it.
        let _in_use = in_use(&self.use_lock).await?;
        let finished = azolla_process::run(&program, &bounds)
            .await
            .map_err(|error| cannot_start(&error, &program.directory))?;
        let code = match finished.exit {
            Exit::Code(code) => Some(code),
            Exit::TooMuchOutput => None,
            Exit::TimedOut => return Err(unavailable(format!("git {name} did not end in time"))),
            Exit::Signal(signal) => {
                return Err(unavailable(format!("git {name} was ended by signal {signal}")));
            }
        };
        let stderr = String::from_utf8_lossy(&finished.stderr.bytes).into_owned();
        Ok(Output { code, stdout: finished.stdout.bytes, stderr })
    }

    /// Runs git and returns what it printed; any exit code but 0 is an error of the mirror.
    pub(super) async fn answer(&self, call: Call<'_>) -> Result<Vec<u8>, RepositoryError> {
        let name = call.arguments.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.run(call).await?.answer(&name)
    }

    fn program_of(&self, call: Call<'_>) -> Program {
        let mut environment = self.environment.clone();
        environment.extend(call.environment.into_iter().map(|(name, value)| (name.into(), value)));
        let mut git_dir = OsString::from("--git-dir=");
        git_dir.push(call.git_dir);
        let mut arguments = vec![git_dir];
        if let Some(work_tree) = call.work_tree {
            let mut argument = OsString::from("--work-tree=");
            argument.push(work_tree);
            arguments.push(argument);
        }
        arguments.extend(call.configuration.into_iter().flat_map(|setting| ["-c".into(), setting.into()]));
        arguments.extend(call.arguments);
        Program {
            path: self.program.clone(),
            arguments,
            // The work tree itself, so that paths in git's messages are those of the repository. Never a directory of the
            // operator's: on a mount that is dead nobody gets into it, and who starts a program waits for that.
            directory: call.work_tree.unwrap_or(&self.directory).to_owned(),
            environment,
            input: call.input,
        }
    }
}

impl<'a> Call<'a> {
    /// Returns a call of git on a repository.
    pub(super) fn new<A: AsRef<OsStr>>(git_dir: &'a Path, arguments: impl IntoIterator<Item = A>) -> Self {
        Self {
            git_dir,
            configuration: Vec::new(),
            arguments: arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect(),
            environment: Vec::new(),
            work_tree: None,
            input: Vec::new(),
            stdout: Capture::All(ANSWER_BYTES),
            time: LOCAL_TIME,
        }
    }

    /// Sets one more thing, `key=value`, for this call.
    pub(super) fn config(mut self, setting: &'static str) -> Self {
        self.configuration.push(setting);
        self
    }

    /// Uses this index file.
    pub(super) fn index(mut self, index: &Path) -> Self {
        self.environment.push(("GIT_INDEX_FILE", index.into()));
        self
    }

    /// Uses the files in this directory.
    pub(super) fn work_tree(mut self, work_tree: &'a Path) -> Self {
        self.work_tree = Some(work_tree);
        self
    }

    /// Reads and writes objects in this directory instead of that of the repository.
    pub(super) fn objects(mut self, objects: &Path) -> Self {
        self.environment.push(("GIT_OBJECT_DIRECTORY", objects.into()));
        self
    }

    /// Dates what is made: seconds since 1970, UTC.
    pub(super) fn dated(mut self, seconds: i64) -> Self {
        // The `@` keeps git from reading a small number as a calendar date.
        let date = OsString::from(format!("@{seconds} +0000"));
        self.environment.push(("GIT_AUTHOR_DATE", date.clone()));
        self.environment.push(("GIT_COMMITTER_DATE", date));
        self
    }

    /// Bounds how many bytes it may ask for at once; it ends where it would need more.
    pub(super) fn room(mut self, bytes: u64) -> Self {
        self.environment.push(("GIT_ALLOC_LIMIT", bytes.to_string().into()));
        self
    }

    /// Gives it this on stdin.
    pub(super) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Bounds what is kept of stdout.
    pub(super) fn stdout(mut self, capture: Capture) -> Self {
        self.stdout = capture;
        self
    }

    /// Bounds how long it runs.
    pub(super) fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }
}

impl Output {
    /// Returns what git printed; any exit code but 0 is an error of the mirror. `name` is what it was called for.
    pub(super) fn answer(self, name: &str) -> Result<Vec<u8>, RepositoryError> {
        match self.code {
            Some(0) => Ok(self.stdout),
            Some(_) => Err(unavailable(format!("git {name}: {}", self.complaint()))),
            None => Err(unavailable(format!("git {name} printed too much"))),
        }
    }

    /// Returns the first lines of what git complained of, on one line and without control characters.
    pub(super) fn complaint(&self) -> String {
        let lines = self.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines = lines.map(|line| line.trim_start_matches("error: ").trim_start_matches("fatal: "));
        let text = lines.take(4).collect::<Vec<_>>().join("; ");
        if text.is_empty() { "git failed without a word".to_owned() } else { visible(&text) }
    }
}

/// Returns the error for what may work later.
pub(super) fn unavailable(text: impl Into<String>) -> RepositoryError {
    RepositoryError::Unavailable(text.into())
}

/// Tells a git that is not there, which the operator installs, from a machine that is short of something, which passes.
fn cannot_start(error: &SpawnError, directory: &Path) -> RepositoryError {
    match error.source.kind() {
        // Without the directory to start in the system says the same.
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied if directory.is_dir() => {
            RepositoryError::Unusable {
                what: error.to_string(),
                action: "install git 2.39 or newer, then `azolla doctor`".to_owned(),
            }
        }
        _ => unavailable(error.to_string()),
    }
}

fn fixed_environment(program: &Path, protocol: &str) -> BTreeMap<OsString, OsString> {
    // git looks for ssh here, and for its own parts in its compiled-in place first.
    let mut path = program.parent().map(|parent| parent.as_os_str().to_owned()).unwrap_or_default();
    path.push(":/usr/local/bin:/usr/bin:/bin");
    let mut environment: BTreeMap<OsString, OsString> = BTreeMap::from([("PATH".into(), path)]);
    for (name, value) in [
        ("HOME", "/nonexistent"),
        ("LC_ALL", "C"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        // An operator's partial clone gets no objects behind their back (G-2).
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
        ("GIT_ALLOW_PROTOCOL", protocol),
        ("GIT_AUTHOR_NAME", IDENTITY_NAME),
        ("GIT_AUTHOR_EMAIL", IDENTITY_EMAIL),
        ("GIT_COMMITTER_NAME", IDENTITY_NAME),
        ("GIT_COMMITTER_EMAIL", IDENTITY_EMAIL),
    ] {
        environment.insert(name.into(), value.into());
    }
    environment.insert("GIT_CONFIG_COUNT".into(), CONFIGURATION.len().to_string().into());
    for (n, (key, value)) in CONFIGURATION.iter().enumerate() {
        environment.insert(format!("GIT_CONFIG_KEY_{n}").into(), key.into());
        environment.insert(format!("GIT_CONFIG_VALUE_{n}").into(), value.into());
    }
    // Keys of a fetch over ssh are the operator's agent's; nothing else of our own environment gets through.
    if protocol == "ssh"
        && let Some(socket) = std::env::var_os("SSH_AUTH_SOCK")
    {
        environment.insert("SSH_AUTH_SOCK".into(), socket);
    }
    environment
}

#[cfg(test)]
mod tests;
