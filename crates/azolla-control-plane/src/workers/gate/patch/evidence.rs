//! What the gate finds out before its verdict: the patch rebuilt, the base as it is now, the checks (PF-7).

use azolla_exchange_membrane::gates::patch::{ChecksRefused, NOT_RUN, PatchEvidence, Rebuilt};
use azolla_protocol::{
    CheckEvidence, CheckSubject, DOCUMENT_BYTES_MAX, GateEvidence, RunnerStatus, canonical,
};
use std::time::Duration;

use super::Case;
use crate::{
    checks::{self, Check},
    context::WorkerContext,
    pause::patch::then_retry,
    repo::{RepositoryError, TakeError},
    workers::base_of,
};

/// What was found out, and about which base.
pub(super) struct Evidence {
    pub(super) patch: PatchEvidence,
    /// The base branch when the gate looked; none if it did not look.
    pub(super) base_now: Option<String>,
}

/// Finds everything out that the verdict rests on. A run that failed already needs nothing.
pub(super) async fn collect(
    ctx: &WorkerContext,
    case: &Case<'_>,
    checks: Result<Vec<Check>, ChecksRefused>,
) -> Result<Evidence, RepositoryError> {
    let mut patch = PatchEvidence {
        rebuilt: None,
        applies_to_current_base: None,
        checks: Vec::new(),
        checks_refused: None,
    };
    if case.bundle.metadata.runner_status != RunnerStatus::Completed || case.bundle.content.is_empty() {
        return Ok(Evidence { patch, base_now: None });
    }
    ctx.show(&case.attempt.objective_id, "checking the patch", None);
    let base_now = base_of(case.flow, &case.attempt.objective_id, &case.base_branch).await?;
    let taken = match case.flow.repository.rebuild(&case.attempt, &case.bundle.content).await {
        Ok(taken) => taken,
        Err(TakeError::Repository(error)) => return Err(error),
        Err(error) => {
            patch.rebuilt = Some(Rebuilt::Refused(error.to_string()));
            return Ok(Evidence { patch, base_now: Some(base_now) });
        }
    };
    patch.rebuilt = Some(Rebuilt::Commit(taken.commit.clone()));
    let applies = base_now == case.attempt.base
        || case.flow.repository.applies(&base_now, &case.bundle.content).await?;
    patch.applies_to_current_base = Some(applies);
    // The branch in the mirror: set by the runner, repaired here if that was cut short (G-1).
    case.flow.repository.project(&case.attempt, &taken.commit).await?;
    match checks {
        Err(refused) => patch.checks_refused = Some(refused),
        Ok(checks) if applies => {
            (patch.checks, patch.checks_refused) = run_checks(ctx, case, &taken.commit, &checks).await?;
        }
        Ok(_) => {}
    }
    Ok(Evidence { patch, base_now: Some(base_now) })
}

/// Runs every check on the patched tree, then on the base, so that an old failure is not put down to the patch. Each gets
/// files of its own: what one check writes, the next must not take for the tree. What cannot be started is no
/// failure of either tree, unless the program is a file that only one of them has.
async fn run_checks(
    ctx: &WorkerContext,
    case: &Case<'_>,
    commit: &str,
    checks: &[Check],
) -> Result<(Vec<CheckEvidence>, Option<ChecksRefused>), RepositoryError> {
    let mut evidence: Vec<CheckEvidence> = Vec::new();
    let mut refused = None;
    for (subject, commit) in
        [(CheckSubject::Patched, commit), (CheckSubject::Base, case.attempt.base.as_str())]
    {
        for (n, check) in checks.iter().enumerate() {
            let place = case.flow.repository.checkout(&case.attempt, commit).await?;
            let on = match subject {
                CheckSubject::Patched => "the patch",
                CheckSubject::Base => "the base",
            };
            let limit = Duration::from_millis(check.time_ms);
            ctx.show(&case.attempt.objective_id, format!("check {} on {on}", check.name), Some(limit));
            let (environment, sandbox) = (&ctx.settings.check_environment, &ctx.settings.sandbox);
            let (path, tree) = (place.path(), place.tree());
            match checks::run(check, subject, path, tree, environment, sandbox).await {
                Ok(ran) => evidence.push(ran),
                Err(not) => {
                    let on_neither = subject == CheckSubject::Base && evidence[n].sandbox_mode == NOT_RUN;
                    evidence.push(checks::not_run(check, subject, tree, &not.reason));
                    if !not.is_of_tree || on_neither {
                        let action = then_retry(&not.action, &case.attempt.objective_id);
                        refused.get_or_insert(ChecksRefused { reason: not.reason, action });
                    }
                }
            }
        }
        // The base has nothing to add to that.
        if refused.is_some() {
            break;
        }
    }
    Ok((evidence, refused))
}

/// Cuts what the checks printed to what one document holds, beside all that is not cut: what is short is kept whole, and the rest
/// share what is left, each with its end. A patch that passed is not lost for what its checks said.
pub(super) fn fit(mut evidence: GateEvidence) -> GateEvidence {
    let tails: Vec<String> =
        evidence.checks.iter_mut().map(|check| std::mem::take(&mut check.output_tail)).collect();
    let rest = canonical(&evidence).map_or(DOCUMENT_BYTES_MAX, |text| text.len());
    let mut left = DOCUMENT_BYTES_MAX.saturating_sub(rest);
    let mut by_size: Vec<_> = evidence.checks.iter_mut().zip(tails).collect();
    by_size.sort_by_cached_key(|(_, tail)| tail.chars().map(written).sum::<usize>());
    let mut checks_left = by_size.len();
    for (check, tail) in by_size {
        let (kept, bytes) = end_within(&tail, left / checks_left);
        check.output_tail = kept.to_owned();
        left -= bytes;
        checks_left -= 1;
    }
    evidence
}

/// Returns the end of a text that a document has so many bytes for, and how many it takes.
fn end_within(text: &str, bytes_max: usize) -> (&str, usize) {
    let (mut start, mut bytes) = (text.len(), 0);
    for (at, character) in text.char_indices().rev() {
        if bytes + written(character) > bytes_max {
            break;
        }
        bytes += written(character);
        start = at;
    }
    (&text[start..], bytes)
}

/// The bytes of a character in JSON.
fn written(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..' ' => 6,
        _ => character.len_utf8(),
    }
}

#[cfg(test)]
mod tests;
