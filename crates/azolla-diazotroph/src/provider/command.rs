//! Any program as a worker: a command-line agent that edits files, or one that prints its answer.
//!
//! Exit code 0 proves nothing: what changed is found by git afterwards, and an empty change is the runner's to name.

mod place;
mod template;

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, pin::Pin, time::Duration};

use azolla_process::{Bounds, Capture, Containment, Exit, Finished, Program, ResourceLimits, SpawnError};
use azolla_protocol::{Diazotroph, FailureKind, Generation, GenerationOutcome, GenerationRequest, Usage};
use serde_json::Value;

use self::{
    place::Place,
    template::{Template, Words},
};
use super::{ANSWER_BYTES_MAX, InvalidSettings};
use crate::said::{Secrets, said};

/// The system refuses a longer argument, at 128 KiB.
const PROMPT_ARGUMENT_BYTES_MAX: usize = 100_000;

/// What is kept of output that is only quoted: more than is quoted, so that a secret at the cut is recognised.
const QUOTED_BYTES_MAX: usize = 64 * 1024;

/// Between asking and killing; all is over within the budget and two seconds (B-2, T30).
const GRACE: Duration = Duration::from_secs(1);

/// What these variables are is up to us.
const RESERVED: [&str; 4] = ["AZOLLA_WORK_ORDER_ID", "HOME", "PATH", "TMPDIR"];

/// How a program is run as a worker.
#[derive(Clone, Debug)]
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
    /// What the program sees of the operator's environment, beside what every worker sees. The values are taken for
    /// secrets: what the program says is kept without them (T29).
    pub environment: BTreeMap<OsString, OsString>,
    /// Limits of the system on each of its processes.
    pub limits: ResourceLimits,
    /// Where each run gets a fresh HOME and TMPDIR, side by side; they are removed with its end.
    pub state_dir: PathBuf,
    /// Where programs are looked for, as in `PATH`; the worker sees it too.
    pub path: OsString,
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
    /// By printing it.
    Stdout,
}

/// A program as a worker.
#[derive(Clone, Debug)]
pub struct CommandProvider {
    settings: CommandSettings,
    program: OsString,
    arguments: Vec<Template>,
    secrets: Secrets,
    /// The values of variables that are named as secrets are: those must not be in an answer either.
    keys: Secrets,
}

impl CommandProvider {
    /// Makes the provider, or says what is wrong with its settings. Whether the program is there is found out at each
    /// call.
    pub fn new(settings: CommandSettings) -> Result<Self, InvalidSettings> {
        let invalid = |what: String| InvalidSettings { name: settings.name.clone(), what };
        let (program, arguments) = template::parse(&settings.argv, settings.prompt, settings.result)
            .map_err(|what| invalid(format!("argv: {what}")))?;
        for reserved in RESERVED {
            if settings.environment.contains_key(&OsString::from(reserved)) {
                return Err(invalid(format!(
                    "environment: {reserved} is set for every run and cannot be passed on"
                )));
            }
        }
        for name in settings.environment.keys() {
            let name = name.to_string_lossy();
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(invalid(format!("environment: {name:?} is no name of a variable")));
            }
        }
        if !settings.state_dir.is_absolute() {
            return Err(invalid(format!("state_dir: {} is not absolute", settings.state_dir.display())));
        }
        let secrets = Secrets::new(settings.environment.values().map(OsString::as_os_str));
        let named =
            settings.environment.iter().filter(|(name, _)| is_named_as_a_secret(&name.to_string_lossy()));
        let keys = Secrets::new(named.map(|(_, value)| value.as_os_str()));
        Ok(Self { program, arguments, secrets, keys, settings })
    }

    async fn run(&self, request: GenerationRequest<'_>) -> Generation {
        let mut usage = Usage::default();
        let outcome = match self.started(request, &mut usage).await {
            Ok(finished) => self.outcome(&finished),
            Err(outcome) => outcome,
        };
        Generation { outcome, usage }
    }

    /// Runs the program to its end, or says why it was not started.
    async fn started(
        &self,
        request: GenerationRequest<'_>,
        usage: &mut Usage,
    ) -> Result<Finished, GenerationOutcome> {
        if request.remaining.is_zero() {
            return Err(GenerationOutcome::OverBudget { said: String::new() });
        }
        if self.settings.prompt == PromptBy::Argument && request.prompt.len() > PROMPT_ARGUMENT_BYTES_MAX {
            return Err(setup(format!(
                "the prompt has {} bytes, and an argument at most {PROMPT_ARGUMENT_BYTES_MAX}; give provider {} its \
                 prompt by stdin or by file",
                request.prompt.len(),
                self.settings.name
            )));
        }
        let path = azolla_process::find(&self.program, &self.settings.path).ok_or_else(|| {
            setup(format!(
                "the program {} was not found; install it, or correct `argv` of provider {}",
                self.program.display(),
                self.settings.name
            ))
        })?;
        let place = self.place(&request).await?;
        let program = self.program(path, &place, &request)?;
        (request.progress)(&format!("running {}", self.settings.name));
        usage.requests = 1;
        let finished = azolla_process::run(&program, &self.bounds(request.remaining)).await;
        place.remove().await;
        finished.map_err(|error| not_started(&error))
    }

    async fn place(&self, request: &GenerationRequest<'_>) -> Result<Place, GenerationOutcome> {
        let state_dir = self.settings.state_dir.clone();
        let name = format!("{}-{}", request.work_order_id, request.claim_version);
        let prompt = (self.settings.prompt == PromptBy::File).then(|| request.prompt.to_owned());
        let made = tokio::task::spawn_blocking(move || Place::make(&state_dir, &name, prompt.as_deref()));
        made.await.expect("making directories does not panic").map_err(|error| {
            let state_dir = self.settings.state_dir.display();
            setup(format!("no directory for the run can be made in {state_dir}: {error}"))
        })
    }

    fn program(
        &self,
        path: PathBuf,
        place: &Place,
        request: &GenerationRequest<'_>,
    ) -> Result<Program, GenerationOutcome> {
        let directory = match (self.settings.result, request.worktree) {
            (ResultBy::Worktree, Some(worktree)) => worktree.to_owned(),
            (ResultBy::Worktree, None) => return Err(failed("no directory to work in was given")),
            (ResultBy::Stdout, _) => place.work(),
        };
        let prompt_file = place.prompt_file();
        let words = Words { prompt: request.prompt, prompt_file: &prompt_file, worktree: &directory };
        let input = match self.settings.prompt {
            PromptBy::Stdin => request.prompt.as_bytes().to_vec(),
            PromptBy::File | PromptBy::Argument => Vec::new(),
        };
        Ok(Program {
            path,
            arguments: self.arguments.iter().map(|template| template.fill(&words)).collect(),
            environment: self.environment(place, request),
            directory,
            input,
        })
    }

    /// All that the program sees: a fresh home, where to find programs, and what is listed.
    fn environment(&self, place: &Place, request: &GenerationRequest<'_>) -> BTreeMap<OsString, OsString> {
        let locale = || OsString::from("C.UTF-8");
        let mut environment = BTreeMap::from([
            ("LANG".into(), locale()),
            ("LC_ALL".into(), locale()),
            ("TERM".into(), "dumb".into()),
        ]);
        environment.extend(self.settings.environment.clone());
        environment.extend([
            ("AZOLLA_WORK_ORDER_ID".into(), request.work_order_id.as_str().into()),
            ("HOME".into(), place.home().into_os_string()),
            ("PATH".into(), self.settings.path.clone()),
            ("TMPDIR".into(), place.tmp().into_os_string()),
        ]);
        environment
    }

    fn bounds(&self, remaining: Duration) -> Bounds {
        Bounds {
            time: Some(remaining),
            grace: GRACE,
            stdout: match self.settings.result {
                ResultBy::Worktree => Capture::Tail(QUOTED_BYTES_MAX),
                ResultBy::Stdout => Capture::All(ANSWER_BYTES_MAX),
            },
            stderr: Capture::Tail(QUOTED_BYTES_MAX),
            containment: Containment::Tree,
            limits: self.settings.limits,
        }
    }

    fn outcome(&self, finished: &Finished) -> GenerationOutcome {
        let said = || said(&finished.stdout, &finished.stderr, &self.secrets);
        match finished.exit {
            Exit::TimedOut => GenerationOutcome::OverBudget { said: said() },
            Exit::TooMuchOutput => {
                failed(format!("the program printed more than {ANSWER_BYTES_MAX} bytes and was ended"))
            }
            Exit::Signal(signal) => {
                failed(with_said(&format!("the program was ended by signal {signal}"), &said()))
            }
            Exit::Code(0) => {
                self.answer(finished).unwrap_or_else(|reason| failed(with_said(&reason, &said())))
            }
            // A shell, or `env`, did not find or could not start what it was to run.
            Exit::Code(code @ (126 | 127)) => setup(with_said(
                &format!("the program ended with exit code {code}: a program is missing"),
                &said(),
            )),
            // What it edited before it failed is not its answer.
            Exit::Code(code) => {
                failed(with_said(&format!("the program ended with exit code {code}"), &said()))
            }
        }
    }

    /// Returns what a program that ended well gave, or why that is no answer.
    fn answer(&self, finished: &Finished) -> Result<GenerationOutcome, String> {
        if reports_error(&finished.stdout.bytes) {
            return Err("the program ended with exit code 0 and reports an error".to_owned());
        }
        if self.settings.result == ResultBy::Worktree {
            return Ok(GenerationOutcome::Edited {
                said: said(&finished.stdout, &finished.stderr, &self.secrets),
            });
        }
        let text = std::str::from_utf8(&finished.stdout.bytes)
            .map_err(|_| "the program printed bytes that are no UTF-8 text")?;
        if text.trim().is_empty() {
            return Err("the program printed nothing on stdout".to_owned());
        }
        if self.keys.are_in(text) {
            return Err("the answer holds a secret of the environment".to_owned());
        }
        Ok(GenerationOutcome::Text(text.to_owned()))
    }
}

impl Diazotroph for CommandProvider {
    fn provider(&self) -> &str {
        &self.settings.name
    }

    fn needs_worktree(&self) -> bool {
        self.settings.result == ResultBy::Worktree
    }

    fn generate<'a>(
        &'a self,
        request: GenerationRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Generation> + Send + 'a>> {
        Box::pin(self.run(request))
    }
}

/// Tells whether the output is, or ends with, a JSON object that says `"is_error": true`: agents do so with exit code 0.
fn reports_error(stdout: &[u8]) -> bool {
    let is_error = |bytes: &[u8]| {
        serde_json::from_slice::<Value>(bytes)
            .is_ok_and(|value| value.get("is_error") == Some(&Value::Bool(true)))
    };
    let output = stdout.trim_ascii();
    let last_line = output.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    output.ends_with(b"}") && (is_error(output) || is_error(last_line))
}

fn is_named_as_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"]
        .iter()
        .any(|part| name.contains(part))
}

fn not_started(error: &SpawnError) -> GenerationOutcome {
    use std::io::ErrorKind::{ArgumentListTooLong, InvalidInput};
    let kind = match error.source.kind() {
        // It is this prompt that cannot be given, not the program.
        ArgumentListTooLong | InvalidInput => FailureKind::Other,
        _ => FailureKind::Setup,
    };
    GenerationOutcome::Failed { kind, reason: error.to_string() }
}

fn with_said(fact: &str, said: &str) -> String {
    if said.is_empty() { fact.to_owned() } else { format!("{fact}; it printed:\n{said}") }
}

fn failed(reason: impl Into<String>) -> GenerationOutcome {
    GenerationOutcome::Failed { kind: FailureKind::Other, reason: reason.into() }
}

fn setup(reason: impl Into<String>) -> GenerationOutcome {
    GenerationOutcome::Failed { kind: FailureKind::Setup, reason: reason.into() }
}
