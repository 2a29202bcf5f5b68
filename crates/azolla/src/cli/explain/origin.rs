//! Where an objective comes from: the notes, their triage, and the candidate that was promoted (TF-8).

use azolla_protocol::{
    AzollaId, CandidateResolution, CaptureBuffer, CaptureId, Objective, OutputBundle, OutputId, RunRecord,
    content::{Candidate, TriageContent},
};
use azolla_substrate::{SubstrateError, SubstrateRead};
use serde_json::{Value, json};

use crate::{
    line,
    screen::{FAINT, PLAIN, Page, STRONG, day_and_time},
};

/// What an objective was promoted from.
pub(crate) struct Origin {
    pub(crate) azolla_id: AzollaId,
    pub(crate) captures: Vec<CaptureBuffer>,
    pub(crate) bundle: OutputBundle,
    pub(crate) run: Option<RunRecord>,
    pub(crate) index: u64,
    pub(crate) candidate: Option<Candidate>,
    pub(crate) resolution: Option<CandidateResolution>,
}

/// Where that is.
pub(crate) struct Place {
    /// The azolla whose notes they were.
    pub(crate) azolla_id: AzollaId,
    output_id: OutputId,
    index: u64,
}

/// Returns what an objective was promoted from; none if it was described by hand.
pub(crate) fn place(objective: &Objective) -> Option<Place> {
    let from = objective.metadata.get("promoted_from")?;
    let text = |key: &str| from.get(key).and_then(Value::as_str).unwrap_or_default();
    let (azolla_id, output_id) =
        (AzollaId::new(text("azolla_id")).ok()?, OutputId::new(text("output_id")).ok()?);
    let index = from.get("candidate_index").and_then(Value::as_u64).unwrap_or_default();
    Some(Place { azolla_id, output_id, index })
}

/// Loads it from the store of its azolla.
pub(crate) async fn load(read: &dyn SubstrateRead, place: Place) -> Result<Option<Origin>, SubstrateError> {
    let Place { azolla_id, output_id, index } = place;
    let Some(bundle) = read.output_bundle(&output_id).await? else { return Ok(None) };
    let content: Option<TriageContent> = serde_json::from_str(&bundle.content).ok();
    let at = usize::try_from(index).unwrap_or(usize::MAX);
    let candidate = content.and_then(|content| content.candidates.into_iter().nth(at));
    let ids: Vec<CaptureId> = candidate.as_ref().map(|found| found.capture_ids.clone()).unwrap_or_default();
    let mut captures = Vec::new();
    for id in &ids {
        captures.extend(read.capture(id).await?.map(|stored| stored.capture));
    }
    let resolutions = read.resolutions_of(&output_id).await?;
    Ok(Some(Origin {
        azolla_id,
        captures,
        run: read.run_of(&bundle.metadata.work_order_id).await?,
        resolution: resolutions.into_iter().find(|resolution| resolution.candidate_index == index),
        bundle,
        index,
        candidate,
    }))
}

impl Origin {
    /// Returns it for a program.
    pub(super) fn document(&self) -> Value {
        json!({
            "azolla_id": self.azolla_id,
            "captures": self.captures,
            "output_bundle": self.bundle,
            "run_record": self.run,
            "candidate_index": self.index,
            "candidate": self.candidate,
            "resolution": self.resolution,
        })
    }

    /// Adds it to a page.
    pub(super) fn add_to(&self, page: &mut Page) {
        page.heading(&format!("From the notes of {}", self.azolla_id));
        let mut row = |name: &str, id: &str, what: &str| {
            page.add(PLAIN, &format!("  {name:<10}")).add(STRONG, id).line(FAINT, &format!("  {what}"));
        };
        for capture in &self.captures {
            let first = line::first_line(&capture.raw_content);
            let what = format!("{} ({}): {first}", day_and_time(capture.created_at), capture.source_label);
            row("note", capture.capture_id.as_str(), &what);
        }
        row("triage", self.bundle.output_id.as_str(), &self.bundle.title);
        if let Some(run) = &self.run {
            row("run", run.run_id.as_str(), &format!("{}: {}", run.gate_result, run.gate_reason));
        }
        if let Some(candidate) = &self.candidate {
            let id = format!("{}/{}", self.bundle.output_id, self.index + 1);
            row("candidate", &id, &candidate.title);
        }
        if let Some(resolution) = &self.resolution {
            let what = format!("by {}, {}", resolution.resolved_by, day_and_time(resolution.created_at));
            row("step", resolution.outcome.as_str(), &what);
        }
    }
}
