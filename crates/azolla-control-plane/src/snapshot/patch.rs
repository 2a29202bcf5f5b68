//! The snapshot of a patch (PF-4): the objective, what went wrong before, and the repository as it is at one commit.

use std::fmt::Write;

use azolla_protocol::{
    AnswerForm, ContextSnapshot, EventId, GateResult, JsonObject, OutputBundle, OutputId, RunRecord,
    SnapshotId, Timestamp, Workorder,
};
use azolla_substrate::StoredObjective;

use super::{
    contents::{Contents, contents, cut, fenced},
    form::answer_part,
    relevance::{Query, Texts},
    survey::Survey,
};
use crate::repo::{Attempt, paths_of};

/// What a snapshot is built from.
pub struct PatchInputs<'a> {
    /// The event that it answers.
    pub event_id: &'a EventId,
    /// The objective, as approved.
    pub stored: &'a StoredObjective,
    /// The base branch's commit.
    pub commit: &'a str,
    /// The base branch.
    pub base_branch: &'a str,
    /// What the repository is at that commit, seen with [`query`].
    pub survey: &'a Survey,
    /// Earlier attempts, oldest first: their runs, and their bundles where the run failed.
    pub earlier: &'a [EarlierAttempt],
    /// How the answer changes files.
    pub form: AnswerForm,
    /// Bytes of the whole prompt at most.
    pub prompt_bytes: u64,
    /// Bytes of the repository's part at most.
    pub repository_bytes: u64,
}

/// An attempt before this one.
pub struct EarlierAttempt {
    /// Its verdict.
    pub run: RunRecord,
    /// What it returned.
    pub output: OutputBundle,
}

/// A prompt that is larger than it may be, though everything that can be cut was (O-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the prompt has {bytes} bytes; {bytes_max} are allowed")]
pub struct PromptTooLarge {
    /// Its size.
    pub bytes: u64,
    /// The limit.
    pub bytes_max: u64,
}

/// Returns what an objective names, its earlier attempts included: what to look for in its repository.
pub fn query(stored: &StoredObjective, earlier: &[EarlierAttempt]) -> Query {
    let objective = &stored.objective;
    let said: Vec<String> = earlier.iter().map(|attempt| feedback_on(stored, attempt)).collect();
    let feedback: Vec<&str> = said.iter().map(String::as_str).collect();
    let failed = earlier.iter().filter(|attempt| attempt.run.gate_result == GateResult::Fail);
    let failures: Vec<&str> = failed.map(|attempt| attempt.run.gate_reason.as_str()).collect();
    let paths = earlier.iter().flat_map(|attempt| paths_of(&attempt.output.content)).collect();
    let texts = Texts {
        title: &objective.title,
        criteria: &objective.acceptance_criteria,
        feedback: &feedback,
        failures: &failures,
    };
    Query::new(&texts, paths)
}

/// Builds the snapshot. Pure: the same inputs give the same bytes.
pub fn build(inputs: &PatchInputs<'_>, now: Timestamp) -> Result<ContextSnapshot, PromptTooLarge> {
    let (objective, answer) =
        (objective_part(inputs), answer_part(inputs.form, &inputs.stored.objective.title));
    let bytes_max = usize::try_from(inputs.prompt_bytes).unwrap_or(usize::MAX);
    let repository_max = usize::try_from(inputs.repository_bytes).unwrap_or(usize::MAX);
    let left = bytes_max.saturating_sub(objective.len() + answer.len());
    // The repository keeps half of what is left even after many attempts: without it none gets better.
    let history = history_part(inputs, left - repository_max.min(left / 2));
    let repository_max = repository_max.min(left.saturating_sub(history.len()));
    let Contents { text: repository, included } =
        contents(inputs.survey, inputs.commit, inputs.base_branch, repository_max);
    let prompt = format!("{objective}{history}{repository}{answer}");
    if prompt.len() > bytes_max {
        return Err(PromptTooLarge { bytes: prompt.len() as u64, bytes_max: inputs.prompt_bytes });
    }
    let mut metadata = JsonObject::new();
    metadata.insert("commit_sha".into(), inputs.commit.into());
    metadata.insert("base_branch".into(), inputs.base_branch.into());
    metadata.insert("objective_version".into(), inputs.stored.version.into());
    metadata.insert("answer_form".into(), inputs.form.as_str().into());
    metadata.insert("included".into(), included.into());
    Ok(ContextSnapshot {
        snapshot_id: SnapshotId::of(inputs.event_id),
        objective_id: inputs.stored.objective.objective_id.clone(),
        metadata: Some(metadata),
        repo_commit_sha: Some(inputs.commit.to_owned()),
        related_yield_refs: related(inputs.earlier),
        full_prompt_text: prompt,
        created_at: now,
    })
}

/// Returns the attempt that a workorder is, as every machine that reads its artifacts sees it (G-1); none if its
/// snapshot is of no commit. `title` is the objective's, as the snapshot had it.
pub fn attempt(workorder: &Workorder, snapshot: &ContextSnapshot, title: &str) -> Option<Attempt> {
    Some(Attempt {
        objective_id: workorder.objective_id.clone(),
        work_order_id: workorder.work_order_id.clone(),
        claim_version: 0,
        base: snapshot.repo_commit_sha.clone()?,
        title: title.to_owned(),
        created_at: workorder.created_at,
    })
}

/// Returns the base branch that a snapshot was built from.
pub fn base_branch(snapshot: &ContextSnapshot) -> &str {
    let metadata = snapshot.metadata.as_ref();
    metadata.and_then(|metadata| metadata.get("base_branch")?.as_str()).unwrap_or_default()
}

fn objective_part(inputs: &PatchInputs<'_>) -> String {
    let objective = &inputs.stored.objective;
    format!(
        "# Objective\n\n{}\n\n# Acceptance criteria\n\n{}\n",
        objective.title.trim(),
        objective.acceptance_criteria.trim()
    )
}

/// What earlier attempts failed on, and what the operator said about them (PF-4). The oldest give way if they are too
/// large together.
fn history_part(inputs: &PatchInputs<'_>, bytes_max: usize) -> String {
    const HEADING: &str = "\n# Earlier attempts\n";
    /// Room for the line that says how many are left out.
    const NOTE_BYTES: usize = 64;
    let attempts: Vec<String> =
        inputs.earlier.iter().map(|attempt| attempt_part(inputs.stored, attempt)).collect();
    let mut left = bytes_max.saturating_sub(HEADING.len() + NOTE_BYTES);
    let fits = |attempt: &&String| {
        let fits = attempt.len() <= left;
        left = left.saturating_sub(attempt.len());
        fits
    };
    let shown = attempts.iter().rev().take_while(fits).count();
    let (cut, shown) = attempts.split_at(attempts.len() - shown);
    match (cut.len(), shown) {
        (0, []) => String::new(),
        // Nothing has room: the limit is of the size of the objective.
        (_, _) if bytes_max < HEADING.len() + NOTE_BYTES => String::new(),
        (0, shown) => format!("{HEADING}{}", shown.concat()),
        (cut, shown) => format!("{HEADING}\n({cut} left out: too large)\n{}", shown.concat()),
    }
}

fn attempt_part(stored: &StoredObjective, attempt: &EarlierAttempt) -> String {
    let mut text = String::new();
    let result = match attempt.run.gate_result {
        GateResult::Pass => "passed its checks and was not accepted",
        GateResult::Fail => "failed",
    };
    let number = attempt.run.run_id.as_str().rsplit('-').next().unwrap_or_default();
    // A reason can carry what a worker or a check printed.
    let reason = fenced(cut(&attempt.run.gate_reason, 4_000));
    let _ = writeln!(text, "\n## Attempt {number} {result}\n\n{reason}");
    let feedback = feedback_on(stored, attempt);
    if !feedback.is_empty() {
        let _ = writeln!(text, "\nThe operator said:\n\n{}", cut(&feedback, 8_000));
    }
    if !attempt.output.content.is_empty() {
        let _ = writeln!(text, "\nIts patch was:\n\n{}", fenced(cut(&attempt.output.content, 16_000)));
    } else if !attempt.output.notes.is_empty() {
        let _ = writeln!(text, "\nNotes:\n\n{}", fenced(cut(&attempt.output.notes, 4_000)));
    }
    text
}

fn feedback_on(stored: &StoredObjective, attempt: &EarlierAttempt) -> String {
    let said = stored.objective.metadata.get("feedback").and_then(|value| value.as_array());
    let texts = said.into_iter().flatten().filter(|entry| entry["run_id"] == attempt.run.run_id.as_str());
    texts.filter_map(|entry| entry["text"].as_str()).collect::<Vec<_>>().join("\n\n")
}

fn related(earlier: &[EarlierAttempt]) -> Vec<OutputId> {
    earlier.iter().map(|attempt| attempt.output.output_id.clone()).collect()
}

#[cfg(test)]
mod tests;
