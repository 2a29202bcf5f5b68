//! Any program as a worker: a command-line agent that edits files, or one that prints its answer.
//!
//! Exit code 0 proves nothing: what changed is found by git afterwards, and an empty change is the runner's to name.

mod confine;
mod home;
mod leak;
mod outcome;
mod place;
mod presets;
mod report;
mod settings;
mod template;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    pin::Pin,
    time::{Duration, Instant},
};

use azolla_process::{Bounds, Capture, Containment, Finished, Program, Sandbox, SpawnError};
use azolla_protocol::{
    AnswerForm, Diazotroph, FailureKind, Generation, GenerationOutcome, GenerationRequest, Reservation,
    Spending, Usage, Withheld,
};

#[cfg(test)]
pub(crate) use self::report::fuzz::check as check_report;
use self::{
    confine::Surroundings,
    home::Found,
    outcome::{Run, failed, setup},
    place::Place,
    template::{Template, Words},
};
pub use self::{
    presets::{Preset, presets},
    settings::{CommandSettings, OutputKind, PromptBy, ResultBy},
};
use super::{ANSWER_BYTES_MAX, InvalidSettings};
use crate::{chat::SCHEMA, said::Secrets};

/// The system refuses a longer argument, at 128 KiB.
const PROMPT_ARGUMENT_BYTES_MAX: usize = 100_000;

/// What is kept of output that is only quoted: more than is quoted, so that a secret at the cut is recognised.
const QUOTED_BYTES_MAX: usize = 64 * 1024;

/// What is kept of output that is read for what it tells, from its end, where agents say how it went.
const REPORT_BYTES_MAX: usize = ANSWER_BYTES_MAX;

/// Between asking and killing. What was killed has a second to be gone, and all is over within the budget and two
/// seconds (B-2, T30).
const GRACE: Duration = Duration::from_millis(700);

/// How long after the budget what a run left on disk is waited for, to be gone; then that goes on by itself.
const REMOVAL: Duration = Duration::from_millis(1_500);

/// Files of a repository from which aider takes settings, such as the address that the key is sent to (R13).
const AIDER_SETTINGS: [&str; 4] =
    [".env", ".aider.conf.yml", ".aider.model.settings.yml", ".aider.model.metadata.json"];

/// A program as a worker.
#[derive(Clone, Debug)]
pub struct CommandProvider {
    settings: CommandSettings,
    program: OsString,
    arguments: Vec<Template>,
}

impl CommandProvider {
    /// Makes the provider, or says what is wrong with its settings. Whether the program is there is found out at each
    /// call.
    pub fn new(settings: CommandSettings) -> Result<Self, InvalidSettings> {
        let invalid = |what: String| InvalidSettings { name: settings.name.clone(), what };
        let (program, arguments) = template::parse(&settings.argv, settings.prompt, settings.result)
            .map_err(|what| invalid(format!("argv: {what}")))?;
        settings.check().map_err(invalid)?;
        Ok(Self { program, arguments, settings })
    }

    /// Removes what killed runs left in a state directory, and returns how many they were. Runs that go on, also those
    /// of other processes, keep what they have.
    pub fn sweep(state_dir: &Path) -> io::Result<usize> {
        place::sweep(state_dir)
    }

    /// Returns how many [`CommandProvider::sweep`] would remove.
    pub fn count_left(state_dir: &Path) -> io::Result<usize> {
        place::count_left(state_dir)
    }

    async fn run(&self, request: GenerationRequest<'_>) -> Generation {
        let mut generation = Generation {
            outcome: GenerationOutcome::OverBudget { said: String::new() },
            usage: Usage::default(),
            sandbox_mode: None,
        };
        if let Err(outcome) = self.work(request, &mut generation).await {
            generation.outcome = outcome;
        }
        generation
    }

    /// Runs the program to its end and reads what it printed, or says why it was not started.
    async fn work(
        &self,
        request: GenerationRequest<'_>,
        generation: &mut Generation,
    ) -> Result<(), GenerationOutcome> {
        if request.remaining.is_zero() {
            return Ok(());
        }
        let begin = Instant::now();
        // A program has no other place for it than its prompt.
        let asked = request.schema.map(|schema| format!("{}\n{SCHEMA}\n{schema}\n", request.prompt));
        let request = GenerationRequest { prompt: asked.as_deref().unwrap_or(request.prompt), ..request };
        let start = self.prepared(&request).await?;
        // Without a word of the operator's, what it will cost is not known; whether a cap is reached already, is.
        let most = Spending { tokens: 0, cost_microusd: Some(self.settings.most_microusd.unwrap_or(0)) };
        let reservation = match request.allowance.reserve(most) {
            Ok(reservation) => reservation,
            Err(reason) => {
                start.place.remove_within(REMOVAL).await;
                return Err(withheld(reason));
            }
        };
        (request.progress)(&format!("running {}", self.settings.name));
        generation.usage.requests = 1;
        let bounds = self.bounds(request.remaining, start.sandbox.clone());
        let started = |sandbox_mode: &str| request.allowance.started(sandbox_mode);
        let finished = azolla_process::run_telling(&start.program, &bounds, &started).await;
        match finished {
            Ok(finished) => {
                self.read(&finished, &start.found, &request, reservation, generation);
                if matches!(generation.outcome, GenerationOutcome::Edited { .. }) {
                    self.refuse_leak(&start, &request, generation).await;
                }
            }
            Err(error) => {
                request.allowance.settle(reservation, Spending { tokens: 0, cost_microusd: Some(0) });
                generation.outcome = not_started(&error);
            }
        }
        // Only now: what the run left may be much, and the answer does not depend on it.
        start.place.remove_within((request.remaining + REMOVAL).saturating_sub(begin.elapsed())).await;
        Ok(())
    }

    /// Reads what the program printed, and settles what it cost.
    fn read(
        &self,
        finished: &Finished,
        found: &Found,
        request: &GenerationRequest<'_>,
        reservation: Reservation,
        generation: &mut Generation,
    ) {
        let (secrets, keys) = self.secrets(found);
        let report = report::read(self.settings.output, finished);
        generation.usage = used(report.usage.clone());
        // Printed by a program, and kept (T29).
        generation.usage.model.take_if(|model| keys.show_in(model));
        request.allowance.settle(reservation, spent(&generation.usage));
        generation.sandbox_mode = Some(finished.sandbox_mode.clone());
        let run = Run {
            settings: &self.settings,
            secrets: &secrets,
            keys: &keys,
            now: self.settings.clock.now(),
            is_utc: self.is_utc(),
        };
        generation.outcome = run.outcome(finished, &report);
    }

    /// Edits with a secret of the program's in them are no answer: they would be stored and published (T29).
    async fn refuse_leak(&self, start: &Start, request: &GenerationRequest<'_>, generation: &mut Generation) {
        let (_, keys) = self.secrets(&start.found);
        let (Some(worktree), Ok(before)) = (request.worktree, start.place.made()) else { return };
        if keys.is_empty() {
            return;
        }
        let worktree = worktree.to_owned();
        let look = move || leak::find(&worktree, &before, &keys);
        let found = tokio::task::spawn_blocking(look).await.expect("looking at files does not panic");
        if let Some(path) = found {
            let (secrets, _) = self.secrets(&start.found);
            let path = secrets.redacted(&path.to_string_lossy());
            generation.outcome = failed(format!("{path} holds a secret of the environment or of a login"));
        }
    }

    /// Finds the program and makes its surroundings.
    async fn prepared(&self, request: &GenerationRequest<'_>) -> Result<Start, GenerationOutcome> {
        if self.settings.prompt == PromptBy::Argument && request.prompt.len() > PROMPT_ARGUMENT_BYTES_MAX {
            return Err(setup(format!(
                "the prompt has {} bytes, and an argument at most {PROMPT_ARGUMENT_BYTES_MAX}; give provider {} its \
                 prompt by stdin or by file",
                request.prompt.len(),
                self.settings.name
            )));
        }
        let path = azolla_process::find(&self.program, &self.settings.path).ok_or_else(|| {
            let named = Path::new(&self.program);
            if named.is_absolute() && named.is_file() {
                return setup(format!(
                    "the program {} is not executable; make it so, or correct `argv` of provider {}",
                    named.display(),
                    self.settings.name
                ));
            }
            setup(format!(
                "the program {} was not found; install it, or correct `argv` of provider {}",
                self.program.display(),
                self.settings.name
            ))
        })?;
        let worktree = match (self.settings.result, request.worktree) {
            (ResultBy::Worktree, Some(worktree)) => Some(worktree.to_owned()),
            (ResultBy::Worktree, None) => {
                return Err(setup(format!(
                    "provider {} answers by editing files, and this work has none; give it result = \"stdout\", or use \
                     another provider for triage and orientation",
                    self.settings.name
                )));
            }
            (ResultBy::Stdout(_), _) => None,
        };
        let settings = self.settings.clone();
        let name = format!("{}-{}", request.work_order_id, request.claim_version);
        let prompt = (settings.prompt == PromptBy::File).then(|| request.prompt.to_owned());
        let made = move || surroundings(&settings, path, worktree, &name, prompt.as_deref());
        let made = tokio::task::spawn_blocking(made).await.expect("making directories does not panic")?;
        let program = self.program(&made, request);
        Ok(Start { program, sandbox: made.sandbox, place: made.place, found: made.found })
    }

    fn program(&self, made: &Made, request: &GenerationRequest<'_>) -> Program {
        let prompt_file = made.place.prompt_file();
        let words = Words { prompt: request.prompt, prompt_file: &prompt_file, worktree: &made.directory };
        let input = match self.settings.prompt {
            PromptBy::Stdin => request.prompt.as_bytes().to_vec(),
            PromptBy::File | PromptBy::Argument => Vec::new(),
        };
        Program {
            path: made.path.clone(),
            arguments: self.arguments.iter().map(|template| template.fill(&words)).collect(),
            environment: self.environment(&made.place, request),
            directory: made.directory.clone(),
            input,
        }
    }

    /// All that the program sees: a fresh home, where to find programs, and what is listed.
    fn environment(&self, place: &Place, request: &GenerationRequest<'_>) -> BTreeMap<OsString, OsString> {
        let locale = || OsString::from("C.UTF-8");
        let mut environment = BTreeMap::from([
            ("LANG".into(), locale()),
            ("LC_ALL".into(), locale()),
            ("TERM".into(), "dumb".into()),
            // So that a time that it prints can be read.
            ("TZ".into(), "UTC".into()),
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

    fn is_utc(&self) -> bool {
        self.settings.environment.get(&OsString::from("TZ")).is_none_or(|zone| zone == "UTC")
    }

    fn bounds(&self, remaining: Duration, sandbox: Sandbox) -> Bounds {
        Bounds {
            time: Some(remaining),
            grace: GRACE,
            stdout: match (self.settings.output, self.settings.result) {
                (OutputKind::Plain, ResultBy::Worktree) => Capture::Tail(QUOTED_BYTES_MAX),
                (OutputKind::Plain, ResultBy::Stdout(_)) => Capture::All(ANSWER_BYTES_MAX),
                _ => Capture::Tail(REPORT_BYTES_MAX),
            },
            stderr: Capture::Tail(QUOTED_BYTES_MAX),
            containment: Containment::Tree,
            limits: self.settings.limits,
            sandbox,
        }
    }

    /// Returns what must not be repeated, and what must not be in an answer either (T29).
    fn secrets(&self, found: &Found) -> (Secrets, Secrets) {
        let environment = &self.settings.environment;
        let listed = environment.iter().filter(|(name, _)| is_named_as_a_secret(&name.to_string_lossy()));
        let listed = listed.map(|(_, value)| value.as_os_str());
        // What is said where a secret is, and is none itself: no part of a path is to be hidden.
        let (paths, values): (Vec<_>, Vec<_>) =
            listed.partition(|value| Path::new(value).is_absolute() && Path::new(value).exists());
        let named = found.named.iter().map(OsString::as_os_str);
        let keys = Secrets::new(values.into_iter().chain(named)).and(paths.into_iter());
        let others = environment.values().chain(&found.alike).map(OsString::as_os_str);
        (keys.clone().and(others), keys)
    }
}

impl Diazotroph for CommandProvider {
    fn provider(&self) -> &str {
        &self.settings.name
    }

    fn answer_form(&self) -> AnswerForm {
        match self.settings.result {
            ResultBy::Worktree => AnswerForm::Files,
            ResultBy::Stdout(form) => form,
        }
    }

    fn generate<'a>(
        &'a self,
        request: GenerationRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Generation> + Send + 'a>> {
        Box::pin(self.run(request))
    }
}

/// All that a start needs.
struct Start {
    program: Program,
    sandbox: Sandbox,
    place: Place,
    found: Found,
}

/// What was made or found on disk for a start.
struct Made {
    path: PathBuf,
    directory: PathBuf,
    place: Place,
    found: Found,
    sandbox: Sandbox,
}

/// Makes the directories of the run and puts into its home what belongs there.
fn surroundings(
    settings: &CommandSettings,
    path: PathBuf,
    worktree: Option<PathBuf>,
    name: &str,
    prompt: Option<&str>,
) -> Result<Made, GenerationOutcome> {
    if let Some(worktree) = &worktree {
        refuse_settings(settings, worktree)?;
    }
    let place = Place::make(&settings.state_dir, name, prompt).map_err(|error| {
        let state_dir = settings.state_dir.display();
        setup(format!("no directory for the run can be made in {state_dir}: {error}"))
    })?;
    let found = home::copy(&settings.home, &settings.home_files, &place.home())
        .map_err(|error| setup(format!("{error}; correct `home_files` of provider {}", settings.name)))?;
    let directory = worktree.unwrap_or_else(|| place.work());
    let around = Surroundings {
        program: &path,
        directory: &directory,
        place: &place,
        path: &settings.path,
        home: &settings.home,
        // It adds each new file to the index before it writes to it, and leaves it empty otherwise.
        writes_git: settings.output == OutputKind::Aider,
    };
    let sandbox = confine::sandbox(&settings.sandbox, &around);
    Ok(Made { path, directory, place, found, sandbox })
}

/// Nothing inside a repository configures an agent that has a key (R13). The others are told so by their arguments.
fn refuse_settings(settings: &CommandSettings, worktree: &Path) -> Result<(), GenerationOutcome> {
    if settings.output != OutputKind::Aider {
        return Ok(());
    }
    let found = AIDER_SETTINGS.iter().find(|name| worktree.join(name).symlink_metadata().is_ok());
    match found {
        Some(name) => Err(setup(format!(
            "the repository has a file {name}, from which aider would take settings, such as where the key is sent; \
             remove the file, or use another provider"
        ))),
        None => Ok(()),
    }
}

/// A program was started, however many requests it made.
fn used(reported: Usage) -> Usage {
    Usage { requests: reported.requests.max(1), ..reported }
}

fn spent(usage: &Usage) -> Spending {
    let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
    Spending { tokens, cost_microusd: usage.cost_microusd }
}

fn withheld(withheld: Withheld) -> GenerationOutcome {
    match withheld {
        Withheld::Wait(wait) => GenerationOutcome::Wait(wait),
        Withheld::Cap(reason) => GenerationOutcome::Failed { kind: FailureKind::Cap, reason },
    }
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
