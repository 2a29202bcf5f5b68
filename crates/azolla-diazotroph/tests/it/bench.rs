//! A place for a run: a worktree, a state directory, and a program that is a shell script.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use azolla_diazotroph::provider::{CommandProvider, CommandSettings, OutputKind, PromptBy, ResultBy};
use azolla_process::{ResourceLimits, SandboxMode, SandboxSettings};
use azolla_protocol::{
    AnswerForm, Clock, Diazotroph, FailureKind, Generation, GenerationOutcome, GenerationRequest, Timestamp,
    Unlimited, WorkOrderId,
};
use tempfile::TempDir;

/// Longer than any test takes that does not wait for it.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// An answer on stdout, as most of them are.
pub(crate) const STDOUT: ResultBy = ResultBy::Stdout(AnswerForm::SearchReplace);

/// 2026-11-16T03:00:00Z, for ever.
#[derive(Clone, Copy)]
pub(crate) struct Stopped;
pub(crate) const NOW: Stopped = Stopped;

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(1_794_798_000_000).unwrap()
    }
}

pub(crate) struct Bench {
    directory: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let directory = TempDir::new().unwrap();
        std::fs::create_dir(directory.path().join("worktree")).unwrap();
        Self { directory }
    }

    pub(crate) fn worktree(&self) -> PathBuf {
        self.directory.path().join("worktree")
    }

    /// The operator's home, which is not there at first.
    pub(crate) fn home(&self) -> PathBuf {
        self.directory.path().join("operator")
    }

    pub(crate) fn state_dir(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// A path for a file that is no part of the worktree.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Settings for a shell script that gets its prompt on stdin.
    pub(crate) fn settings(&self, result: ResultBy, script: &str) -> CommandSettings {
        CommandSettings {
            name: "agent".into(),
            argv: ["sh", "-c", script, "agent"].map(str::to_owned).to_vec(),
            prompt: PromptBy::Stdin,
            result,
            output: OutputKind::Plain,
            environment: BTreeMap::new(),
            home: self.home(),
            home_files: Vec::new(),
            sandbox: SandboxSettings { mode: SandboxMode::Off, ..SandboxSettings::default() },
            most_microusd: None,
            limits: ResourceLimits::default(),
            state_dir: self.state_dir(),
            path: OsString::from("/usr/local/bin:/usr/bin:/bin"),
            clock: Arc::new(NOW),
        }
    }

    pub(crate) async fn run(&self, settings: CommandSettings) -> Generation {
        self.run_with(settings, "Round half up.", LONG).await
    }

    pub(crate) async fn run_with(
        &self,
        settings: CommandSettings,
        prompt: &str,
        remaining: Duration,
    ) -> Generation {
        let provider = CommandProvider::new(settings).unwrap();
        let worktree = self.worktree();
        let id = work_order_id(1);
        let given = (provider.answer_form() == AnswerForm::Files).then_some(worktree.as_path());
        provider.generate(request(&id, prompt, remaining, given)).await
    }

    /// Runs a script whose answer is what it prints.
    pub(crate) async fn printed(&self, script: &str) -> GenerationOutcome {
        self.run(self.settings(STDOUT, script)).await.outcome
    }

    /// Runs a script whose answer is what it edits.
    pub(crate) async fn edited(&self, script: &str) -> GenerationOutcome {
        self.run(self.settings(ResultBy::Worktree, script)).await.outcome
    }

    /// What is left of earlier runs.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        match std::fs::read_dir(self.state_dir()) {
            Ok(entries) => {
                let paths = entries.map(|entry| entry.unwrap().path());
                paths.filter(|path| !path.ends_with(".lock")).collect()
            }
            Err(_) => Vec::new(),
        }
    }
}

pub(crate) fn work_order_id(entry: u64) -> WorkOrderId {
    WorkOrderId::new(format!("wo-a-{entry}")).unwrap()
}

pub(crate) fn request<'a>(
    work_order_id: &'a WorkOrderId,
    prompt: &'a str,
    remaining: Duration,
    worktree: Option<&'a Path>,
) -> GenerationRequest<'a> {
    GenerationRequest {
        work_order_id,
        claim_version: 7,
        prompt,
        remaining,
        retries_before: 0,
        worktree,
        schema: None,
        allowance: &Unlimited,
        progress: &|_| {},
    }
}

/// The reason of a failure of this kind.
#[track_caller]
pub(crate) fn failed(outcome: GenerationOutcome, expected: FailureKind) -> String {
    match outcome {
        GenerationOutcome::Failed { kind, reason } if kind == expected => reason,
        other => panic!("{other:?} is no failure of kind {expected:?}"),
    }
}

/// Waits until something holds, and fails after a minute.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not come to hold");
        tokio::task::yield_now().await;
    }
}
