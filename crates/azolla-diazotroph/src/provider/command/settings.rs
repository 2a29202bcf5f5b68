//! What configuration says about a program as a worker.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use azolla_process::{ResourceLimits, SandboxMode, SandboxSettings};
use azolla_protocol::{AnswerForm, Clock};

/// What these variables are is up to us.
const RESERVED: [&str; 4] = ["AZOLLA_WORK_ORDER_ID", "HOME", "PATH", "TMPDIR"];

/// How a program is run as a worker.
#[derive(Clone)]
pub struct CommandSettings {
    /// The provider's configured name.
    pub name: String,
    /// The program, by name or absolute path, and its arguments. In an argument `{prompt}`, `{prompt_file}` and
    /// `{worktree}` are replaced; `{{prompt}}` stands for `{prompt}` itself.
    pub argv: Vec<String>,
    /// How the program gets the prompt.
    pub prompt: PromptBy,
    /// How the program gives its answer.
    pub result: ResultBy,
    /// What the program prints.
    pub output: OutputKind,
    /// What the program sees of the operator's environment, beside what every worker sees. The values are taken for
    /// secrets: what the program says is kept without them (T29).
    pub environment: BTreeMap<OsString, OsString>,
    /// The operator's home.
    pub home: PathBuf,
    /// Files below the operator's home, such as a login, that are copied into the fresh home of each run. Those that
    /// are not there are passed over, and the operator's own are never written. Secrets in them are kept as those of
    /// the environment are (T29).
    pub home_files: Vec<String>,
    /// What of the machine the program can reach, beside its worktree and its own home.
    pub sandbox: SandboxSettings,
    /// The most that one run costs, in millionths of a US dollar, where the operator says so. It is set aside before
    /// the start, and stays so where the program does not tell what the run did cost.
    pub most_microusd: Option<u64>,
    /// Limits of the system on each of its processes.
    pub limits: ResourceLimits,
    /// Where each run gets a fresh HOME and TMPDIR, side by side; they are removed with its end, and what a killed
    /// run left by [`super::CommandProvider::sweep`].
    pub state_dir: PathBuf,
    /// Where programs are looked for, as in `PATH`; the worker sees it too.
    pub path: OsString,
    /// Tells how far off the time is at which a quota is there again.
    pub clock: Arc<dyn Clock>,
}

/// How a program gets the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptBy {
    /// On stdin, which then closes.
    Stdin,
    /// In a file, which `{prompt_file}` names.
    File,
    /// As `{prompt}` in an argument. Other users of the machine can see it, and it cannot be large.
    Argument,
}

/// How a program gives its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultBy {
    /// By editing files.
    Worktree,
    /// By printing it, in this form; any but [`AnswerForm::Files`].
    Stdout(AnswerForm),
}

/// What a program prints: how what it said, whether it failed, and what it cost are told from that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// Text, and nothing else is known about it.
    Plain,
    /// The JSON object of `claude --output-format json`, or the last line of `stream-json`.
    Claude,
    /// The JSON lines of `codex exec --json`.
    Codex,
    /// The JSON object of `goose run --output-format json`.
    Goose,
    /// The prose of `aider`. It reads settings from the repository too, such as where the key is sent: a worktree that
    /// has such a file is refused (R13).
    Aider,
}

impl CommandSettings {
    /// Returns what is wrong, but for the argv.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.result == ResultBy::Stdout(AnswerForm::Files) {
            return Err("form: what is printed cannot be files; use result = \"worktree\"".to_owned());
        }
        if self.output == OutputKind::Aider && self.result != ResultBy::Worktree {
            return Err("output: aider edits files; what it prints is no answer".to_owned());
        }
        let own_sandbox = ["workspace-write", "read-only"];
        if self.output == OutputKind::Codex
            && self.sandbox.mode != SandboxMode::Off
            && self.argv.iter().any(|argument| own_sandbox.contains(&argument.as_str()))
        {
            // It would run none of its commands, change nothing, and end with exit code 0.
            return Err(
                "sandbox: codex confines what it runs by itself, which fails inside another sandbox; turn \
                        ours off for it, or use `-s danger-full-access`"
                    .to_owned(),
            );
        }
        for reserved in RESERVED {
            if self.environment.contains_key(&OsString::from(reserved)) {
                return Err(format!("environment: {reserved} is set for every run and cannot be passed on"));
            }
        }
        for name in self.environment.keys() {
            let name = name.to_string_lossy();
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(format!("environment: {name:?} is no name of a variable"));
            }
        }
        for path in &self.home_files {
            if !is_below(path) {
                return Err(format!("home_files: {path:?} is no path below the home directory"));
            }
        }
        if !self.home_files.is_empty() && !self.home.is_absolute() {
            return Err(format!("home_files: the home directory {:?} is not absolute", self.home));
        }
        if !self.state_dir.is_absolute() {
            return Err(format!("state_dir: {} is not absolute", self.state_dir.display()));
        }
        let relative = self.sandbox.read.iter().chain(&self.sandbox.write).find(|path| !path.is_absolute());
        match relative {
            Some(path) => Err(format!("sandbox: {} is not absolute", path.display())),
            None => Ok(()),
        }
    }
}

fn is_below(path: &str) -> bool {
    let mut parts = Path::new(path).components().peekable();
    parts.peek().is_some() && !path.contains('\0') && parts.all(|part| matches!(part, Component::Normal(_)))
}

impl fmt::Debug for CommandSettings {
    /// Shows the names of variables and not their values (T29).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandSettings")
            .field("name", &self.name)
            .field("argv", &self.argv)
            .field("prompt", &self.prompt)
            .field("result", &self.result)
            .field("output", &self.output)
            .field("environment", &self.environment.keys())
            .field("home", &self.home)
            .field("home_files", &self.home_files)
            .field("sandbox", &self.sandbox)
            .field("most_microusd", &self.most_microusd)
            .field("limits", &self.limits)
            .field("state_dir", &self.state_dir)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
