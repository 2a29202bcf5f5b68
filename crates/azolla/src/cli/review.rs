//! `azolla review`: a result with everything that speaks for and against it, and the commands to answer with.

pub(crate) mod paths;

use std::{collections::HashSet, path::Path, process::ExitCode};

use azolla_control_plane::repo::paths_of;
use azolla_protocol::{
    CheckEvidence, CheckSubject, GateEvidence, GateResult, ObjectiveStatus, OutputBundle, PauseState,
    RunRecord, WorkOrderId, lifecycle,
};
use azolla_substrate::SubstrateError;
use clap::Args;
use serde_json::json;

use self::paths::protected_paths;
use super::Which;
use crate::{
    actions,
    deployment::Deployment,
    failure::Failure,
    find::{self, Found, IdPart},
    git,
    ledger::number,
    screen::{self, BAD, FAINT, GOOD, PLAIN, Page, STRONG, duration, status},
};

/// Show a result: the change, the checks, what to look at first
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla review 4k2\n  azolla review run-0snkpkppcghv-2\n  azolla review 4k2 --json\n\n\
                        Everything comes from the store: no repository is needed."
)]
pub(crate) struct Review {
    /// The objective, or one of its runs; otherwise its latest.
    #[arg(value_name = "ID|RUN")]
    id: IdPart,

    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    which: Which,
}

/// A run, as it is reviewed.
pub(crate) struct Reviewed {
    pub(crate) bundle: OutputBundle,
    pub(crate) run: Option<RunRecord>,
    pub(crate) evidence: Option<GateEvidence>,
    /// How this run paused, which may be long over.
    pub(crate) pause: Option<PauseState>,
    /// The paths that the change touches, also those of what is not kept of it.
    pub(crate) paths: Vec<String>,
    /// What is not kept of the change, where that is so.
    pub(crate) left_out: Option<LeftOut>,
}

/// A change that was refused and is too long: its beginning is kept, and which files there were.
pub(crate) struct LeftOut {
    /// How many files it touches.
    pub(crate) files: usize,
    /// Those of them that are not in the beginning, as far as they are known.
    pub(crate) paths: Vec<String>,
}

impl LeftOut {
    /// Returns what is left out of a bundle, and every path that is known, if something is left out.
    fn of(bundle: &OutputBundle) -> Option<(Self, Vec<String>)> {
        let said = |key: &str| bundle.metadata.more.get(key);
        said("content_is_cut").filter(|is_cut| is_cut.as_bool() == Some(true))?;
        let listed = said("paths").and_then(|paths| paths.as_array()).into_iter().flatten();
        let all: Vec<String> = listed.filter_map(|path| path.as_str().map(str::to_owned)).collect();
        let files = said("files").and_then(|files| files.as_u64()).and_then(|files| files.try_into().ok());
        let kept: HashSet<String> = paths_of(&bundle.content).into_iter().collect();
        let paths = all.iter().filter(|path| !kept.contains(*path)).cloned().collect();
        Some((Self { files: files.unwrap_or(all.len()), paths }, all))
    }

    fn document(&self) -> serde_json::Value {
        json!({"files": self.files, "paths": self.paths})
    }

    /// Returns it in a sentence.
    pub(crate) fn words(&self, bundle: &OutputBundle) -> String {
        let kept = number(bundle.content.len() as u64);
        let not_here = match self.paths.len() {
            0 => "and each is here at least in part".to_owned(),
            count => format!("{count} of them not here at all"),
        };
        format!("The beginning alone was kept, {kept} bytes: it touches {} files, {not_here}.", self.files)
    }
}

impl Reviewed {
    /// Returns the command that shows all of it.
    pub(crate) fn command(&self) -> String {
        format!("azolla review run-{} --no-pager", self.bundle.metadata.work_order_id.body())
    }
}

impl Review {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let deployment = Deployment::load(home)?;
        let (found, named) = find::workorder(&deployment, self.which.azolla.as_ref(), &self.id).await?;
        let result = load(&found, named).await?;
        let protected = protected_paths(&result.paths);
        if self.json {
            let protected: Vec<_> =
                protected.iter().map(|(path, why)| json!({"path": path, "why": why})).collect();
            let data = json!({
                "objective": found.stored.objective,
                "run_record": result.run,
                "output_bundle": result.bundle,
                "gate_evidence": result.evidence,
                "pause_state": result.pause,
                "paths": result.paths,
                "left_out": result.left_out.as_ref().map(LeftOut::document),
                "protected_paths": protected,
            });
            screen::show_json("review", data)?;
            return Ok(ExitCode::SUCCESS);
        }
        page(&found, &result, pull_request(&found, &result).await).show_paged()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Loads a run; the latest one that has a result if none is named.
async fn load(found: &Found, named: Option<WorkOrderId>) -> anyhow::Result<Reviewed> {
    if let Some(result) = result(found, named).await? {
        return Ok(result);
    }
    let what = format!("{} has no result yet: it is {}", found.id(), status(&found.stored.objective));
    let hint = match found.stored.objective.status {
        ObjectiveStatus::New => format!("azolla objective approve {}", found.id()),
        ObjectiveStatus::Blocked => format!("azolla objective show {}", found.id()),
        _ => "azolla run --until-idle".to_owned(),
    };
    Err(Failure::refused(what).hint(hint).into())
}

/// Returns a run; the latest one that has a result if none is named, and none if there is no result yet.
pub(crate) async fn result(
    found: &Found,
    named: Option<WorkOrderId>,
) -> Result<Option<Reviewed>, SubstrateError> {
    let read = found.read();
    let candidates = match named {
        Some(id) => vec![id],
        None => {
            let all = read.workorders_of(found.id()).await?;
            all.into_iter().rev().map(|stored| stored.workorder.work_order_id).collect()
        }
    };
    for id in candidates {
        let Some(bundle) = read.output_of(&id).await? else { continue };
        let run = read.run_of(&id).await?;
        let evidence = match &run {
            Some(run) => read.evidence_of(&run.run_id).await?,
            None => None,
        };
        let (left_out, paths) = match LeftOut::of(&bundle) {
            Some((left_out, paths)) => (Some(left_out), paths),
            None => (None, paths_of(&bundle.content)),
        };
        let pause = read.pause_state(&format!("workorder:{id}")).await?;
        return Ok(Some(Reviewed { bundle, run, evidence, pause, paths, left_out }));
    }
    Ok(None)
}

/// Returns the command that makes a pull request of a result, if there is a branch and somewhere to push it to.
async fn pull_request(found: &Found, result: &Reviewed) -> Option<String> {
    let passed = result.run.as_ref().is_some_and(|run| run.gate_result == GateResult::Pass);
    if !passed || found.stored.objective.status != ObjectiveStatus::Done {
        return None;
    }
    // A branch that is not in the operator's repository has to get there first; what has a URL is pushed from the mirror.
    if let Some(path) = found.azolla.repo_path() {
        let is_published = result.pause.as_ref().and_then(actions::by_hand).is_none();
        let remotes = git::run(path, vec!["remote".into()], &[]).await.ok().filter(|_| is_published)?;
        if remotes.stdout.bytes.trim_ascii().is_empty() {
            return None;
        }
    }
    Some(format!("azolla pr {}", found.id()))
}

fn page(found: &Found, result: &Reviewed, pull_request: Option<String>) -> Page {
    let objective = &found.stored.objective;
    let mut page = Page::default();
    page.line(STRONG, &objective.title);
    let metadata = |key: &str| result.bundle.metadata.more.get(key).and_then(|value| value.as_str());
    // What failed is published nowhere.
    let has_failed = result.run.as_ref().is_some_and(|run| run.gate_result == GateResult::Fail);
    let branch = metadata("branch_name").filter(|_| !has_failed).unwrap_or("no branch");
    page.line(FAINT, &format!("{} on {branch}: {}", objective.objective_id, status(objective)));
    add_verdict(&mut page, result);
    let protected = protected_paths(&result.paths);
    if !protected.is_empty() {
        page.heading("Look at these first");
    }
    for (path, why) in &protected {
        page.add(BAD, &format!("  {path}")).line(FAINT, &format!("  {why}"));
    }
    page.heading("Done when").block("  ", PLAIN, &objective.acceptance_criteria);
    add_checks(&mut page, result);
    if !result.bundle.notes.trim().is_empty() {
        page.heading("Notes").block("  ", PLAIN, &result.bundle.notes);
    }
    if let Some(draft) = metadata("pr_description_draft").filter(|draft| !draft.trim().is_empty()) {
        page.heading("Text for a pull request").block("  ", PLAIN, draft);
    }
    add_change(&mut page, result);
    add_answers(&mut page, found, result);
    if let Some(command) = pull_request {
        page.heading("As a pull request").command("  ", &command);
    }
    page
}

fn add_change(page: &mut Page, result: &Reviewed) {
    /// Names of files that are not in it; all are in the JSON document.
    const NAMED_MAX: usize = 20;
    let Some(left_out) = &result.left_out else {
        if result.bundle.content.is_empty() {
            page.heading("There is no change.");
            return;
        }
        page.heading(&format!("The change, in {}", counted(result.paths.len())));
        page.diff(&result.bundle.content);
        return;
    };
    page.heading(&format!("The change, in {}, of which the beginning was kept", counted(left_out.files)));
    page.diff(&result.bundle.content);
    page.heading("Not kept").line(BAD, &format!("  {}", left_out.words(&result.bundle)));
    for path in left_out.paths.iter().take(NAMED_MAX) {
        page.line(PLAIN, &format!("  {path}"));
    }
    if left_out.paths.len() > NAMED_MAX {
        let more = left_out.paths.len() - NAMED_MAX;
        let run = format!("azolla review run-{} --json", result.bundle.metadata.work_order_id.body());
        page.add(FAINT, &format!("  and {more} more: ")).command("", &run);
    }
}

fn counted(files: usize) -> String {
    if files == 1 { "one file".to_owned() } else { format!("{files} files") }
}

fn add_verdict(page: &mut Page, result: &Reviewed) {
    let took = duration(result.bundle.metadata.elapsed_ms);
    match &result.run {
        Some(run) => {
            let (style, word) = match run.gate_result {
                GateResult::Pass => (GOOD, "passed"),
                GateResult::Fail => (BAD, "failed"),
            };
            page.heading("Result")
                .add(style, &format!("  {word}"))
                .line(PLAIN, &format!(": {}", run.gate_reason));
            page.line(FAINT, &format!("  {}, worker took {took}", run.run_id));
            if let Some(by_hand) = result.pause.as_ref().and_then(actions::by_hand) {
                page.line(PLAIN, &format!("  {by_hand}"));
            }
        }
        None => {
            page.heading("Result").line(PLAIN, &format!("  not judged yet; worker took {took}"));
        }
    }
}

fn add_checks(page: &mut Page, result: &Reviewed) {
    let (Some(evidence), Some(run)) = (&result.evidence, &result.run) else { return };
    page.heading("Checks");
    if evidence.checks.is_empty() {
        match run.gate_result {
            GateResult::Pass => page.line(FAINT, "  none are configured"),
            // They may be there and not trusted, or the gate ended before them: the reason says which.
            GateResult::Fail => page.line(BAD, &format!("  none were run: {}", run.gate_reason)),
        };
    }
    for check in &evidence.checks {
        let passed = check.exit_code == Some(0) && !check.timed_out;
        let on = match check.subject {
            CheckSubject::Patched => "with the change",
            CheckSubject::Base => "without it",
        };
        page.add(if passed { GOOD } else { BAD }, if passed { "  passed  " } else { "  failed  " })
            .add(PLAIN, &format!("{} {on}", check.name))
            .line(FAINT, &format!("  {} ({})", check.command.join(" "), outcome(check)));
        if !passed {
            page.verbatim("      ", FAINT, tail(&check.output_tail));
        }
    }
}

/// Returns how a check ended, in words.
pub(crate) fn outcome(check: &CheckEvidence) -> String {
    let took = duration(check.duration_ms);
    match (check.timed_out, check.exit_code) {
        (true, _) => format!("stopped at its time limit, {took}"),
        (false, Some(code)) => format!("exit {code}, {took}"),
        (false, None) if check.output_tail.ends_with("was not found on PATH") => {
            "not found on PATH".to_owned()
        }
        (false, None) if check.output_tail.contains(" cannot be started: ") => {
            "could not be started".to_owned()
        }
        (false, None) => format!("ended by a signal, {took}"),
    }
}

/// The last lines of what a check printed.
pub(crate) fn tail(output: &str) -> &str {
    const LINES_MAX: usize = 20;
    let from = output.trim_end().rmatch_indices('\n').nth(LINES_MAX - 1).map_or(0, |(at, _)| at + 1);
    &output[from..]
}

fn add_answers(page: &mut Page, found: &Found, result: &Reviewed) {
    let (objective, id) = (&found.stored.objective, found.id());
    let waits = objective.status == ObjectiveStatus::Done && !lifecycle::is_confirmed(objective);
    match (&result.run, objective.status) {
        (Some(run), _) if waits => {
            page.heading("Your answer");
            page.command("  ", &format!("azolla objective confirm {id} --run {}", run.run_id));
            page.command(
                "  ",
                &format!("azolla objective reject {id} --run {} --feedback \"what to change\"", run.run_id),
            );
        }
        (_, ObjectiveStatus::Blocked) => {
            page.heading("Your answer");
            // Of an earlier run, or once the operator has taken a step, it says nothing about now.
            let key = format!("workorder:{}", result.bundle.metadata.work_order_id);
            let current = result.pause.as_ref().filter(|_| found.stored.pause_key.as_ref() == Some(&key));
            let continuing = actions::continuing(objective, current);
            let trust = current.filter(|pause| actions::waits_for_trust(pause));
            let first = trust.and_then(|pause| actions::split(pause.prioritized_actions.first()?));
            if let Some((_, command)) = first {
                page.command("  ", command);
            }
            if first.is_none_or(|(_, command)| !command.ends_with(&continuing)) {
                page.command("  ", &continuing);
            }
            page.command(
                "  ",
                &format!("azolla objective edit {id} --criteria \"what has to hold instead\""),
            );
        }
        _ => {}
    }
}
