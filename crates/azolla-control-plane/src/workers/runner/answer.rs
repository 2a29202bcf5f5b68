//! An answer that is text and changes no files: candidates (TF-5) and orientation (MF-5).

mod manifest;
mod triage;

use std::sync::atomic::Ordering;

use azolla_protocol::{
    ContextSnapshot, DiazotrophType, FailureKind, GenerationOutcome, GenerationRequest, JsonObject,
    RunnerStatus, Workorder,
    content::{manifest_answer_schema, triage_content_schema},
};
use azolla_substrate::{BoxFuture, SubstrateError};
use serde_json::Value;

use crate::{
    context::WorkerContext,
    generation::{Asking, Worked, Yield, storable},
    lease::{self, Claim},
};

/// The step that takes long.
const RUNNING: &str = "the worker is running";

/// What is kept of an answer that cannot be used.
const UNUSABLE_BYTES_MAX: usize = 100_000;

/// An answer that can be used, as its bundle has it.
struct Answer {
    title: String,
    content: String,
    notes: String,
    more: JsonObject,
}

/// Asks, and reads what comes back.
pub(super) async fn generate(asking: Asking<'_>, workorder: &Workorder, claim: &Claim) -> Worked {
    (asking.show)(RUNNING, None, Some(asking.remaining));
    let progress = |detail: &str| (asking.show)(RUNNING, Some(detail), Some(asking.remaining));
    let request = GenerationRequest {
        work_order_id: &workorder.work_order_id,
        claim_version: claim.grant.fence.claim_version,
        prompt: &asking.snapshot.full_prompt_text,
        remaining: asking.remaining,
        retries_before: asking.retries_before,
        worktree: None,
        schema: Some(schema(workorder.diazotroph_type)),
        allowance: asking.allowance,
        progress: &progress,
    };
    asking.is_asked.store(true, Ordering::Relaxed);
    let generation = asking.diazotroph.generate(request).await;
    let result = match generation.outcome {
        GenerationOutcome::Text(text) => read(workorder.diazotroph_type, asking.snapshot, &text),
        GenerationOutcome::Edited { said } => Yield::failed(
            Some(FailureKind::Setup.as_str()),
            format!("The worker edits files; this needs one that answers.\n{said}"),
        ),
        GenerationOutcome::Failed { kind, reason } => {
            Yield::failed((kind != FailureKind::Other).then_some(kind.as_str()), reason)
        }
        GenerationOutcome::OverBudget { said } => Yield::over_budget(asking.budget_ms, &said),
        GenerationOutcome::Wait(wait) => return Worked::Wait(wait, generation.usage),
    };
    Worked::Done(Box::new(Yield {
        usage: Some(generation.usage),
        sandbox_mode: generation.sandbox_mode,
        ..result
    }))
}

/// Puts into a yield what its bundle says however the run ended: what it was about, from the snapshot (TF-5, MF-5). A
/// snapshot that is broken is no reason not to end (B-3); a store that cannot be read is, for the bundle stays as it is made.
pub(super) async fn complete(
    ctx: &WorkerContext,
    claim: &Claim,
    workorder: &Workorder,
    result: &mut Yield,
) -> Result<(), SubstrateError> {
    let (key, title) = match workorder.diazotroph_type {
        DiazotrophType::Patch => return Ok(()),
        DiazotrophType::Triage => ("capture_ids", "Triage"),
        DiazotrophType::ManifestBuilder => ("queried_azolla_ids", "Orientation"),
    };
    result.title.get_or_insert_with(|| title.to_owned());
    if result.more.contains_key(key) {
        return Ok(());
    }
    let snapshot =
        || -> BoxFuture<'_, _> { Box::pin(ctx.read().context_snapshot(&workorder.context_snapshot_id)) };
    match lease::read(claim, snapshot).await {
        Ok(Some(snapshot)) => _ = result.more.insert(key.into(), from_snapshot(&snapshot, key)),
        Ok(None) | Err(SubstrateError::Corrupt(_) | SubstrateError::Invalid(_)) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

fn schema(diazotroph_type: DiazotrophType) -> &'static Value {
    match diazotroph_type {
        DiazotrophType::ManifestBuilder => manifest_answer_schema(),
        DiazotrophType::Triage | DiazotrophType::Patch => triage_content_schema(),
    }
}

/// Takes an answer, or keeps it with the reason why it cannot be used.
fn read(diazotroph_type: DiazotrophType, snapshot: &ContextSnapshot, text: &str) -> Yield {
    let answer = match diazotroph_type {
        DiazotrophType::ManifestBuilder => manifest::read(snapshot, text),
        DiazotrophType::Triage | DiazotrophType::Patch => triage::read(snapshot, text),
    };
    match answer {
        Ok(Answer { title, content, notes, more }) => Yield {
            status: RunnerStatus::Completed,
            title: Some(title),
            content,
            more,
            ..Yield::failed(None, notes)
        },
        Err(reason) => {
            let notes = format!("The answer cannot be used: {reason}");
            Yield { content: storable(text, UNUSABLE_BYTES_MAX), ..Yield::failed(None, notes) }
        }
    }
}

/// Returns the one JSON object in an answer: all of it, what is fenced in it, what its outermost braces hold, or the first
/// one that begins at a brace, among the words around it.
fn object_in(text: &str) -> Option<Value> {
    /// Enough for a sentence with braces in it; each one is read to its end at the most.
    const BRACES_MAX: usize = 20;
    let whole = text.trim();
    let fenced = || whole.split("```").nth(1).map(|block| block.trim_start_matches("json"));
    let braced = || whole.get(whole.find('{')?..=whole.rfind('}')?);
    let read = |text: &str| serde_json::from_str::<Value>(text.trim()).ok().filter(Value::is_object);
    let begun =
        |at: usize| serde_json::Deserializer::from_str(&whole[at..]).into_iter::<Value>().next()?.ok();
    let among = || {
        let objects = whole.match_indices('{').take(BRACES_MAX).filter_map(|(at, _)| begun(at));
        objects.into_iter().find(|found| found.as_object().is_some_and(|object| !object.is_empty()))
    };
    read(whole).or_else(|| read(fenced()?)).or_else(|| read(braced()?)).or_else(among)
}

/// Returns a key of the snapshot's metadata.
fn from_snapshot(snapshot: &ContextSnapshot, key: &str) -> Value {
    snapshot.metadata.as_ref().and_then(|metadata| metadata.get(key)).cloned().unwrap_or_default()
}
