//! One generation, from the prompt to a commit that nothing points to yet (PF-6): what the Runner records, and what a
//! replay compares.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use azolla_protocol::{
    Allowance, AnswerForm, ContextSnapshot, Diazotroph, FailureKind, Generation, GenerationOutcome,
    GenerationRequest, JsonObject, RunnerStatus, Usage, Wait,
};
use serde_json::json;
use tokio::time::Instant;

use crate::{
    repo::{
        Attempt, Attempted, Candidate, Repository, RepositoryError, TakeError, Taken, edit_schema, protected,
    },
    snapshot::form::asked_for,
};

/// How long after its budget a diazotroph may take to stop before it is dropped (B-2).
pub const GRACE: Duration = Duration::from_secs(2);

/// The step that takes long.
const RUNNING: &str = "the worker is running";

/// Bytes of the names that are kept of a change of which only the beginning is.
const PATHS_BYTES_MAX: usize = 200_000;

/// Takes a step, how far it is, and how long it may take.
pub type Show<'a> = dyn Fn(&str, Option<&str>, Option<Duration>) + Send + Sync + 'a;

/// What the generation of a patch works with.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// Where the base is, and where the commit will be.
    pub repository: &'a dyn Repository,
    /// What the commit is made of.
    pub attempt: &'a Attempt,
    /// Who is asked, and on what terms.
    pub asking: Asking<'a>,
}

/// Who is asked, for what, and on what terms.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// Who is asked.
    pub diazotroph: &'a dyn Diazotroph,
    /// The task, as it is on record.
    pub snapshot: &'a ContextSnapshot,
    /// The whole budget, for words only.
    pub budget_ms: u64,
    /// What is left of it.
    pub remaining: Duration,
    /// Retries under earlier claims.
    pub retries_before: u64,
    /// What may be spent.
    pub allowance: &'a dyn Allowance,
    /// Told what is under way.
    pub show: &'a Show<'a>,
    /// Set once the diazotroph was asked: that may have cost something (B-3).
    pub is_asked: &'a AtomicBool,
}

/// What came of it.
pub enum Worked {
    /// All that a bundle says.
    Done(Box<Yield>),
    /// Nothing yet: the provider asks for time.
    Wait(Wait, Usage),
}

/// What a bundle is made from.
pub struct Yield {
    /// How it ended.
    pub status: RunnerStatus,
    /// The commit, where there is one.
    pub taken: Option<(Attempt, Taken)>,
    /// The bundle's title, where it is not the objective's.
    pub title: Option<String>,
    /// What came back, where it did not become a commit.
    pub content: String,
    /// What the type of the work adds to the bundle's metadata.
    pub more: JsonObject,
    /// Why it failed, or what the worker said.
    pub notes: String,
    /// Why it failed, where what comes next depends on it: `metadata.failure`.
    pub failure: Option<&'static str>,
    /// What it cost; none if nobody was asked.
    pub usage: Option<Usage>,
    /// How the worker's program was really confined, where there was one.
    pub sandbox_mode: Option<String>,
    /// The form in which the answer was asked for, where it is not the snapshot's.
    pub answer_form: Option<AnswerForm>,
}

impl Yield {
    /// Nothing came of it (PF-6d).
    pub(crate) fn failed(failure: Option<&'static str>, notes: impl Into<String>) -> Self {
        Self {
            status: RunnerStatus::GenerationFailed,
            taken: None,
            title: None,
            content: String::new(),
            more: JsonObject::new(),
            notes: notes.into(),
            failure,
            usage: None,
            sandbox_mode: None,
            answer_form: None,
        }
    }

    /// The time was over first (PF-6a).
    pub(crate) fn over_budget(budget_ms: u64, said: &str) -> Self {
        let notes = format!("The budget of {budget_ms} ms was over before the work was complete.\n{said}");
        Self { status: RunnerStatus::BudgetExhausted, ..Self::failed(None, notes.trim_end()) }
    }

    /// What came back does not apply (PF-6b).
    fn refused(attempted: &Attempted, reason: String) -> Self {
        Self {
            status: RunnerStatus::PatchApplyFailed,
            content: storable(&attempted.text, Attempted::BYTES_MAX),
            more: if attempted.is_cut { left_out(attempted) } else { JsonObject::new() },
            ..Self::failed(None, reason)
        }
    }

    /// It applies (PF-6c).
    fn completed(attempt: &Attempt, taken: Taken, said: &str) -> Self {
        let notes = match &taken.left_out {
            Some(left_out) => format!("{said}\n{left_out}").trim_start().to_owned(),
            None => said.to_owned(),
        };
        let taken = Some((attempt.clone(), taken));
        Self { status: RunnerStatus::Completed, taken, ..Self::failed(None, notes) }
    }
}

/// Generates and takes, within what is left of the budget.
pub async fn generate(work: Work<'_>) -> Result<Worked, RepositoryError> {
    let (began, asking) = (Instant::now(), work.asking);
    (asking.show)("preparing the work", None, Some(asking.remaining));
    let form = asking.diazotroph.answer_form();
    let worktree = match form {
        AnswerForm::Files => Some(work.repository.worktree(work.attempt).await?),
        _ => None,
    };
    let left = asking.remaining.saturating_sub(began.elapsed());
    if left.is_zero() {
        let over = Yield::over_budget(asking.budget_ms, "Preparing the repository took all of it.");
        return Ok(Worked::Done(Box::new(over)));
    }
    let asked = asked_for(asking.snapshot, form, &work.attempt.title);
    (asking.show)(RUNNING, None, Some(left));
    let progress = |detail: &str| (asking.show)(RUNNING, Some(detail), Some(left));
    let request = GenerationRequest {
        work_order_id: &work.attempt.work_order_id,
        claim_version: work.attempt.claim_version,
        prompt: &asked.prompt,
        remaining: left,
        retries_before: asking.retries_before,
        worktree: worktree.as_ref().map(|worktree| worktree.path()),
        schema: (form == AnswerForm::Json).then(edit_schema),
        allowance: asking.allowance,
        progress: &progress,
    };
    asking.is_asked.store(true, Ordering::Relaxed);
    let Generation { outcome, usage, sandbox_mode } = asking.diazotroph.generate(request).await;
    let (candidate, said) = match &outcome {
        GenerationOutcome::Text(text) => (Ok(Candidate::Text(text)), ""),
        GenerationOutcome::Edited { said } => match &worktree {
            Some(worktree) => (Ok(Candidate::Edits(worktree)), said.as_str()),
            None => (Err(Yield::failed(None, "The worker returned edits and had no files.")), ""),
        },
        GenerationOutcome::Failed { kind, reason } => {
            let failure = (*kind != FailureKind::Other).then_some(kind.as_str());
            (Err(Yield::failed(failure, reason.as_str())), "")
        }
        GenerationOutcome::OverBudget { said } => (Err(Yield::over_budget(asking.budget_ms, said)), ""),
        GenerationOutcome::Wait(wait) => return Ok(Worked::Wait(wait.clone(), usage)),
    };
    let result = match candidate {
        Ok(candidate) => {
            (asking.show)("applying the patch", None, None);
            take(work, candidate, said).await?
        }
        Err(failed) => failed,
    };
    Ok(Worked::Done(Box::new(Yield {
        usage: Some(usage),
        sandbox_mode,
        answer_form: asked.exchanged,
        ..result
    })))
}

async fn take(work: Work<'_>, candidate: Candidate<'_>, said: &str) -> Result<Yield, RepositoryError> {
    Ok(match work.repository.take(work.attempt, candidate).await {
        Ok(taken) => Yield::completed(work.attempt, taken, said),
        Err(TakeError::Refused { reason, attempted }) => match candidate {
            Candidate::Text(text) => Yield::refused(&Attempted::of(text), reason),
            Candidate::Edits(_) => Yield::refused(&attempted, reason),
        },
        Err(TakeError::NoChange) => {
            Yield::failed(None, format!("The worker changed nothing.\n{said}").trim_end())
        }
        Err(TakeError::Repository(error)) => return Err(error),
    })
}

/// What a bundle says about a change of which only the beginning is kept: that it is so, how many files it touches, and
/// which, those that a reviewer looks at first before the others (T17).
fn left_out(attempted: &Attempted) -> JsonObject {
    let mut paths: Vec<&String> = attempted.paths.iter().collect();
    paths.sort_by_key(|path| protected(path).is_none());
    let mut bytes = 0;
    let kept = paths.iter().take_while(|path| {
        bytes += path.len();
        bytes <= PATHS_BYTES_MAX
    });
    let kept: Vec<String> = kept.map(|path| storable(path, PATHS_BYTES_MAX)).collect();
    let said = json!({"content_is_cut": true, "files": paths.len(), "paths": kept});
    said.as_object().cloned().unwrap_or_default()
}

/// Text from outside as a store can keep it: bounded, and without NUL.
pub(crate) fn storable(text: &str, bytes_max: usize) -> String {
    text[..text.floor_char_boundary(bytes_max)].replace('\0', "\u{fffd}")
}
