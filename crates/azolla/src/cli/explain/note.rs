//! What became of one note: every triage that it was in, and what came of it (TF-7, TF-8).

use azolla_control_plane::{
    operator::CandidateRef,
    triage::{Attempted, attempts_on},
};
use azolla_protocol::{
    Actor, AzollaId, AzollaType, CandidateResolution, CaptureId, CaptureStatus, JournalEntry, JournalStep,
    content::Candidate,
};
use azolla_substrate::{StoredCapture, SubstrateRead};
use serde_json::{Value, json};

use crate::{
    acts,
    config::AzollaConfig,
    deployment::Deployment,
    failure::Failure,
    find::IdPart,
    line,
    screen::{FAINT, PLAIN, Page, STRONG, day_and_time, plain},
};

/// A note, and what became of it.
pub(super) struct Note {
    azolla_id: AzollaId,
    stored: StoredCapture,
    triages: Vec<Triage>,
    /// The reason of the operator who dealt with it by hand.
    by_hand: Option<String>,
}

/// One triage that it was in.
struct Triage {
    attempted: Attempted,
    candidates: Vec<(CandidateRef, Candidate, Option<CandidateResolution>)>,
    /// Why nothing came of it.
    no_action: Option<String>,
}

/// How much of a note is shown.
const TEXT_CHARS_MAX: usize = 4_000;

impl Note {
    /// Finds the note that a part of an id means, in the named azolla or in all that take notes.
    pub(super) async fn find(
        deployment: &Deployment,
        named: Option<&AzollaId>,
        part: &IdPart,
    ) -> anyhow::Result<Self> {
        let takes_notes = |azolla: &&AzollaConfig| azolla.azolla_type == AzollaType::TaskMgmt;
        let mut missing = None;
        for azolla in deployment.candidates(named)?.into_iter().filter(takes_notes) {
            let store = deployment.open(azolla).await?;
            match acts::find_capture(store.read(), part).await {
                Ok(id) => return Self::load(&azolla.id, store.read(), &id).await,
                Err(error) => missing = Some(error),
            }
        }
        let none = || Failure::not_found(format!("there is no such note: {}", part.as_str()));
        Err(missing.unwrap_or_else(|| none().hint("azolla triage captures --all").into()))
    }

    async fn load(azolla_id: &AzollaId, read: &dyn SubstrateRead, id: &CaptureId) -> anyhow::Result<Self> {
        let stored = read.capture(id).await?.expect("it was found, and nothing is deleted (A-2)");
        let mut triages = Vec::new();
        for attempted in attempts_on(read, id).await? {
            let content = attempted.content();
            let resolutions = read.resolutions_of(&attempted.output.output_id).await?;
            let of = |which: &CandidateRef| {
                resolutions.iter().find(|resolution| resolution.candidate_index == which.index).cloned()
            };
            let candidates = attempted.candidates_of(id).into_iter().filter_map(|which| {
                let at = usize::try_from(which.index).ok()?;
                let candidate = content.as_ref()?.candidates.get(at)?.clone();
                Some((which.clone(), candidate, of(&which)))
            });
            let candidates = candidates.collect();
            let no_action = content.into_iter().flat_map(|content| content.no_action);
            let no_action = no_action.into_iter().find(|entry| entry.capture_id == *id);
            triages.push(Triage { candidates, no_action: no_action.map(|entry| entry.reason), attempted });
        }
        let journal = read.journal_of(id.as_str()).await?;
        let by_hand = journal.iter().rfind(|entry| is_by_hand(entry)).map(reason);
        Ok(Self { azolla_id: azolla_id.clone(), stored, triages, by_hand })
    }

    /// Returns it for a program, with every artifact as it is stored.
    pub(super) fn document(&self) -> Value {
        let triages: Vec<_> = self.triages.iter().map(Triage::document).collect();
        json!({
            "azolla_id": self.azolla_id,
            "capture": self.stored.capture,
            "attempts": self.stored.attempts,
            "held": self.stored.held,
            "processed_by_hand": self.by_hand,
            "triages": triages,
        })
    }

    /// Returns it as a page, with what to type next.
    pub(super) fn page(&self) -> Page {
        let capture = &self.stored.capture;
        let mut page = Page::default();
        page.line(STRONG, &plain(&line::first_line(&capture.raw_content)));
        page.line(FAINT, &format!("{} in {}", capture.capture_id, self.azolla_id));
        let label = &capture.source_label;
        let (at, bytes) = (day_and_time(capture.created_at), capture.raw_content.len());
        page.line(FAINT, &format!("captured {at} ({label}), {bytes} bytes, {}", capture.status));
        let text: String = capture.raw_content.chars().take(TEXT_CHARS_MAX).collect();
        page.block("  ", PLAIN, &text);
        if text.len() < bytes {
            page.line(FAINT, "  … azolla triage captures --all --json has all of it");
        }
        self.triages.iter().for_each(|triage| triage.add_to(&mut page));
        if let Some(reason) = &self.by_hand {
            page.heading("Dealt with by hand").line(PLAIN, &format!("  {}", plain(reason)));
        }
        page.heading("Next").command("  ", &self.next());
        page
    }

    fn next(&self) -> String {
        let id = &self.stored.capture.capture_id;
        let mut candidates = self.triages.iter().rev().flat_map(|triage| &triage.candidates);
        match (self.stored.capture.status, candidates.next()) {
            (CaptureStatus::Pending, _) if self.stored.held => format!("azolla triage retry {id}"),
            (CaptureStatus::Pending, _) => "azolla triage --now".to_owned(),
            (CaptureStatus::Processed, None) => format!("azolla triage retry {id}"),
            (CaptureStatus::Processed, Some((which, _, resolution))) => match resolution {
                // It became that one, or is a duplicate of it.
                Some(CandidateResolution { objective_id: Some(objective_id), .. }) => {
                    format!("azolla explain {objective_id}")
                }
                Some(resolution) if resolution.outcome.is_final() => format!("azolla triage undo {which}"),
                _ => format!("azolla triage promote {which}"),
            },
        }
    }
}

impl Triage {
    fn document(&self) -> Value {
        let candidate = |(which, candidate, resolution): &(CandidateRef, Candidate, _)| json!({"candidate": which.to_string(), "content": candidate, "resolution": resolution});
        json!({
            "output_bundle": self.attempted.output,
            "run_record": self.attempted.run,
            "candidates": self.candidates.iter().map(candidate).collect::<Vec<_>>(),
            "no_action": self.no_action,
        })
    }

    fn add_to(&self, page: &mut Page) {
        let Attempted { run, output } = &self.attempted;
        page.heading(&format!("Triage of {}", day_and_time(run.created_at)));
        let mut row = |name: &str, id: &str, what: &str| {
            page.add(PLAIN, &format!("  {name:<10}"))
                .add(STRONG, id)
                .line(FAINT, &format!("  {}", plain(what)));
        };
        row("triage", output.output_id.as_str(), &output.title);
        row("run", run.run_id.as_str(), &format!("{}: {}", run.gate_result, run.gate_reason));
        for (which, candidate, resolution) in &self.candidates {
            let outcome = resolution.as_ref().map_or_else(|| "open".to_owned(), acts::outcome);
            row("candidate", &which.to_string(), &format!("{} ({outcome})", candidate.title));
        }
        if let Some(reason) = &self.no_action {
            row("result", "needs nothing", reason);
        }
    }
}

fn is_by_hand(entry: &JournalEntry) -> bool {
    entry.step == JournalStep::Process && entry.actor == Actor::Operator
}

/// The reason of a step, as its commit has it.
fn reason(entry: &JournalEntry) -> String {
    let reason = entry.detail.as_ref().and_then(|detail| detail.get("reason")?.as_str());
    reason.unwrap_or_default().to_owned()
}
