//! The gate of a patch: PASS only if every condition of PF-7 is shown to hold; PF-8 says what follows from a FAIL.
//! Evidence that is missing is a FAIL.

use azolla_protocol::{
    CheckEvidence, CheckSubject, ObjectiveId, OutputBundle, RunnerStatus, Validated, Workorder,
};

pub use super::failure::{AfterFailure, Failure};
use super::failure::{brief, cap_of, ended, fail, retry, shortened, text};

/// What the Gate worker found out before it asks for the verdict. Pure data: nothing is looked up from here.
#[derive(Clone, Debug)]
pub struct PatchEvidence {
    /// What base + stored patch came to; none if there was no patch to rebuild.
    pub rebuilt: Option<Rebuilt>,
    /// Whether the patch applies to the base branch as it is now; none if that was not tried.
    pub applies_to_current_base: Option<bool>,
    /// The checks that were run, on the patched tree and on the base.
    pub checks: Vec<CheckEvidence>,
    /// Why the configured checks could not be run at all, with the one action that helps.
    pub checks_refused: Option<ChecksRefused>,
}

/// Base + stored patch, rebuilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rebuilt {
    /// The stored patch applies to its base and gives this commit.
    Commit(String),
    /// It does not apply.
    Refused(String),
}

/// Why checks could not be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChecksRefused {
    /// What is wrong.
    pub reason: String,
    /// The one next action.
    pub action: String,
}

/// The `sandbox_mode` of a check that was not run, because what it starts is not in that tree.
pub const NOT_RUN: &str = "not run";

/// What the gate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every condition of PF-7 holds. The text names what was checked.
    Pass(String),
    /// One does not.
    Fail(Failure),
}

/// Returns PASS, or the first condition of PF-7 that does not hold.
///
/// Reasons carry no times and no durations, so that the same failure twice running reads the same (O-1).
pub fn evaluate(workorder: &Workorder, bundle: &OutputBundle, evidence: &PatchEvidence) -> Verdict {
    match conditions(workorder, bundle, evidence) {
        Ok(passed) => Verdict::Pass(passed),
        Err(failure) => Verdict::Fail(failure),
    }
}

fn conditions(
    workorder: &Workorder,
    bundle: &OutputBundle,
    evidence: &PatchEvidence,
) -> Result<String, Failure> {
    completed(bundle, &workorder.objective_id)?;
    answers(workorder, bundle)?;
    let commit_sha = described(workorder, bundle)?;
    inside_budget(workorder, bundle)?;
    rebuilds(commit_sha, evidence.rebuilt.as_ref())?;
    applies(evidence.applies_to_current_base)?;
    if let Some(refused) = &evidence.checks_refused {
        let next = AfterFailure::Block(Some(refused.action.clone()));
        return Err(Failure {
            reason: format!("the checks cannot be run: {}", brief(&refused.reason)),
            next,
        });
    }
    let names = checked(&evidence.checks, &workorder.objective_id)?;
    Ok(passed(commit_sha, &names))
}

/// The run yielded something to judge. Any other end is the reason, before anything else is looked at.
fn completed(bundle: &OutputBundle, objective_id: &ObjectiveId) -> Result<(), Failure> {
    let blocked = |action| Err(Failure { reason: ended(bundle), next: AfterFailure::Block(action) });
    match bundle.metadata.runner_status {
        RunnerStatus::Completed => Ok(()),
        RunnerStatus::PatchApplyFailed | RunnerStatus::BudgetExhausted => Err(retry(ended(bundle))),
        RunnerStatus::GenerationFailed => match text(bundle, "failure") {
            // A credential or a program is missing: every attempt would end alike (PF-8).
            "SETUP" => {
                blocked(Some(format!("Set up the worker, then run: azolla objective retry {objective_id}")))
            }
            // The repository cannot be used as it is; what helps came with that, from the runner (PF-8).
            "REPOSITORY" => {
                let action = text(bundle, "action");
                blocked((!action.is_empty()).then(|| action.to_owned()))
            }
            // Every call was answered by a fault until the retries were used up (B-4, O-1).
            "RETRIES" => blocked(Some(format!(
                "See whether the worker answers again: azolla doctor --probe && azolla objective retry {objective_id}"
            ))),
            "CAP" => {
                let cap = cap_of(bundle);
                blocked(Some(format!(
                    "Raise {cap} in [caps] of the configuration, then run: azolla objective retry {objective_id}"
                )))
            }
            // The model's window does not grow, and the next prompt is larger by this failure (PF-8).
            "PROMPT_TOO_LARGE" => blocked(Some(format!(
                "Shorten the objective, or lower prompt_repository_bytes in [limits], then run: azolla objective retry {objective_id}"
            ))),
            // Whoever claimed it never came to an end (W-7).
            "POISON" => blocked(None),
            _ => Err(retry(ended(bundle))),
        },
    }
}

/// The bundle satisfies its schema and is the yield of this workorder, with a patch in it.
fn answers(workorder: &Workorder, bundle: &OutputBundle) -> Result<(), Failure> {
    if let Err(broken) = Validated::new(bundle.clone()) {
        return fail(format!("the bundle breaks its schema: {broken}"));
    }
    let found = (&bundle.metadata.work_order_id, &bundle.objective_id);
    if found != (&workorder.work_order_id, &workorder.objective_id) {
        return fail(format!("the bundle is that of {} for {}", found.0, found.1));
    }
    if bundle.content.trim().is_empty() {
        return fail("the patch is empty");
    }
    Ok(())
}

/// Branch, PR text and commit are there; the commit is returned.
fn described<'a>(workorder: &Workorder, bundle: &'a OutputBundle) -> Result<&'a str, Failure> {
    for key in ["branch_name", "pr_description_draft", "commit_sha"] {
        if text(bundle, key).trim().is_empty() {
            return fail(format!("metadata.{key} is empty"));
        }
    }
    if Some(text(bundle, "branch_name")) != workorder.branch_name.as_deref() {
        return fail("metadata.branch_name is not the branch of the workorder");
    }
    Ok(text(bundle, "commit_sha"))
}

fn inside_budget(workorder: &Workorder, bundle: &OutputBundle) -> Result<(), Failure> {
    if bundle.metadata.elapsed_ms > workorder.budget_ms {
        return fail(format!("the patch was produced outside the budget of {} ms", workorder.budget_ms));
    }
    Ok(())
}

/// tree(base + stored patch) = tree of `commit_sha`: commits are deterministic, so the commits are compared (G-1).
fn rebuilds(commit_sha: &str, rebuilt: Option<&Rebuilt>) -> Result<(), Failure> {
    match rebuilt {
        Some(Rebuilt::Commit(commit)) if commit == commit_sha => Ok(()),
        Some(Rebuilt::Commit(commit)) => {
            fail(format!("base + stored patch is commit {commit}, not {commit_sha}"))
        }
        Some(Rebuilt::Refused(reason)) => {
            fail(format!("the stored patch does not apply to its base: {}", brief(reason)))
        }
        None => fail("base + stored patch was not rebuilt"),
    }
}

fn applies(to_current_base: Option<bool>) -> Result<(), Failure> {
    match to_current_base {
        Some(true) => Ok(()),
        Some(false) => fail("the patch does not apply to the base branch as it is now"),
        None => fail("it was not tried whether the patch applies to the base branch as it is now"),
    }
}

/// Every check passed on the one patched tree; their names are returned.
fn checked<'a>(checks: &'a [CheckEvidence], objective_id: &ObjectiveId) -> Result<Vec<&'a str>, Failure> {
    let on = |subject| checks.iter().filter(move |check| check.subject == subject);
    let failed: Vec<_> = on(CheckSubject::Patched).filter(|check| !is_passed(check)).collect();
    // A check that the patch brought along says nothing about the base.
    let fails_on_base = |name: &str| {
        on(CheckSubject::Base)
            .any(|check| check.name == name && check.sandbox_mode != NOT_RUN && !is_passed(check))
    };
    // Before any other failure: while the base fails it, no attempt can pass it (PF-8).
    if let Some(old) = failed.iter().find(|check| fails_on_base(&check.name)) {
        let name = &old.name;
        let action =
            format!("Make check {name} pass on the base, then run: azolla objective retry {objective_id}");
        let next = AfterFailure::Block(Some(action));
        return Err(Failure { reason: format!("check {name} fails on the base too"), next });
    }
    if !failed.is_empty() {
        return fail(failed.iter().map(|check| how_it_failed(check)).collect::<Vec<_>>().join("; "));
    }
    let tree = on(CheckSubject::Patched).next().and_then(|check| check.tree.as_deref());
    for check in on(CheckSubject::Patched) {
        if check.tree.is_none() {
            return fail(format!("check {} names no tree that it ran on", check.name));
        }
        if check.tree.as_deref() != tree {
            return fail(format!("check {} ran on another tree than the first", check.name));
        }
    }
    Ok(on(CheckSubject::Patched).map(|check| check.name.as_str()).collect())
}

fn is_passed(check: &CheckEvidence) -> bool {
    check.exit_code == Some(0) && !check.timed_out
}

fn how_it_failed(check: &CheckEvidence) -> String {
    let name = &check.name;
    if check.timed_out {
        return format!("check {name} ran out of time");
    }
    match check.exit_code {
        Some(code) => format!("check {name} failed with exit code {code}"),
        None if check.sandbox_mode == NOT_RUN => brief(&check.output_tail),
        None => format!("check {name} was ended by a signal"),
    }
}

fn passed(commit_sha: &str, names: &[&str]) -> String {
    let checks = match names {
        [] => "no checks are configured".to_owned(),
        [name] => format!("1 check passed ({name})"),
        _ => format!("{} checks passed ({})", names.len(), names.join(", ")),
    };
    let rest = format!("base + stored patch is commit {commit_sha}; it applies to the base as it is now");
    format!("{}; {rest}", shortened(&checks))
}

#[cfg(test)]
mod tests;
