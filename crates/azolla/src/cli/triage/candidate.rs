//! One candidate of a triage, as it is named and shown.

use std::{fmt, str::FromStr, sync::Arc};

use azolla_control_plane::operator::CandidateRef;
use azolla_protocol::{
    AzollaId, AzollaType, CandidateOutcome, CandidateResolution, OutputBundle, OutputId, Timestamp,
    content::{Candidate, NoAction, TriageContent},
};
use azolla_substrate::{Substrate, SubstrateRead, TriageOutput};

use crate::{
    cli::id::{IdPart, NoId, ambiguous},
    config::AzollaConfig,
    deployment::Deployment,
    failure::Failure,
    screen::{FAINT, PLAIN, Page, STRONG, plain},
};

/// A candidate, as typed: its number, behind any unique part of its triage's id. The number alone is enough where only
/// one triage waits.
#[derive(Clone, Debug)]
pub(super) struct CandidatePart {
    output: Option<IdPart>,
    number: u64,
}

/// A text that can be no candidate.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoCandidate {
    /// The number is missing.
    #[error("a candidate is written as azolla triage lists it: out-…/1, or 1 where only one triage waits")]
    NoNumber,
    /// The part before it is no part of an id.
    #[error(transparent)]
    NoId(#[from] NoId),
}

impl FromStr for CandidatePart {
    type Err = NoCandidate;

    fn from_str(text: &str) -> Result<Self, NoCandidate> {
        let (output, number) = match text.rsplit_once('/') {
            Some((output, number)) => (Some(output.parse()?), number),
            None => (None, text),
        };
        let number = number.parse().ok().filter(|number| *number > 0).ok_or(NoCandidate::NoNumber)?;
        Ok(Self { output, number })
    }
}

impl fmt::Display for CandidatePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.output {
            Some(output) => write!(f, "{}/{}", output.as_str(), self.number),
            None => write!(f, "{}", self.number),
        }
    }
}

impl CandidatePart {
    fn is_of(&self, listed: &Listed) -> bool {
        let id = &listed.id.output_id;
        listed.id.index + 1 == self.number
            && self.output.as_ref().is_none_or(|part| {
                let part = part.as_str();
                id.as_str().starts_with(part) || id.as_str().ends_with(part) || id.body().starts_with(part)
            })
    }
}

/// A candidate, with what became of it.
pub(super) struct Listed {
    /// How it is called.
    pub(super) id: CandidateRef,
    /// What it says.
    pub(super) candidate: Candidate,
    /// What became of it; none if it is open.
    pub(super) resolution: Option<CandidateResolution>,
}

impl Listed {
    /// Tells whether nothing was done with it yet.
    pub(super) fn is_open(&self) -> bool {
        self.resolution.is_none()
    }

    /// Adds it to a page, with the command that goes on from here.
    pub(super) fn add_to(&self, page: &mut Page) {
        let candidate = &self.candidate;
        page.add(STRONG, &candidate.title).line(FAINT, &format!("  {}", self.id));
        let mut facts = vec![format!("confidence {}", candidate.confidence.as_str().to_lowercase())];
        facts.extend(candidate.suggested_azolla_id.as_ref().map(|id| format!("for {id}")));
        facts.extend(candidate.urgency.map(|urgency| format!("urgency {urgency}")));
        facts.extend(candidate.due.as_ref().map(|due| format!("due {due}")));
        facts.extend(self.resolution.as_ref().map(outcome));
        page.line(FAINT, &format!("  {}", facts.join(", ")));
        page.block("  ", PLAIN, &candidate.acceptance_criteria);
        for ambiguity in &candidate.ambiguities {
            page.line(FAINT, &format!("  not clear: {ambiguity}"));
        }
    }
}

/// Returns what became of a candidate, in words.
pub(in crate::cli) fn outcome(resolution: &CandidateResolution) -> String {
    let objective = resolution.objective_id.as_ref().map_or("", |id| id.as_str());
    match resolution.outcome {
        CandidateOutcome::Promoted => format!("became {objective}"),
        CandidateOutcome::Duplicate => format!("a duplicate of {objective}"),
        CandidateOutcome::Discarded => "discarded".to_owned(),
        CandidateOutcome::Deferred => "deferred".to_owned(),
    }
}

/// A triage, taken apart.
pub(super) struct Triaged {
    /// Its bundle.
    pub(super) output_id: OutputId,
    /// When it was made.
    pub(super) created_at: Timestamp,
    /// Its candidates, or those of them that were asked for.
    pub(super) candidates: Vec<Listed>,
    /// The notes that needed nothing, and why.
    pub(super) no_action: Vec<NoAction>,
    /// What it could not tell, over all of it.
    pub(super) notes: String,
}

impl From<TriageOutput> for Triaged {
    fn from(found: TriageOutput) -> Self {
        let TriageOutput { output: bundle, resolutions } = found;
        let content: Option<TriageContent> = serde_json::from_str(&bundle.content).ok();
        let (candidates, no_action, notes) =
            content.map(|content| (content.candidates, content.no_action, content.notes)).unwrap_or_default();
        let listed = (0..).zip(candidates).map(|(index, candidate)| Listed {
            id: CandidateRef { output_id: bundle.output_id.clone(), index },
            candidate,
            resolution: resolutions.iter().find(|resolution| resolution.candidate_index == index).cloned(),
        });
        let (output_id, created_at) = (bundle.output_id.clone(), bundle.created_at);
        Self { output_id, created_at, candidates: listed.collect(), no_action, notes }
    }
}

/// A candidate, and where it was found.
pub(super) struct Found {
    /// The azolla.
    pub(super) azolla: AzollaConfig,
    /// Its store.
    pub(super) store: Arc<dyn Substrate>,
    /// The candidate.
    pub(super) listed: Listed,
}

/// Finds the one candidate that was typed. Open ones are looked at first: they are what one means.
pub(super) async fn find(
    deployment: &Deployment,
    azolla: Option<&AzollaId>,
    part: &CandidatePart,
) -> anyhow::Result<Found> {
    let azolla = deployment.one(azolla, AzollaType::TaskMgmt)?;
    let store = deployment.open(azolla).await?;
    let candidates = |triages: Vec<Triaged>| -> Vec<Listed> {
        let all = triages.into_iter().flat_map(|triaged| triaged.candidates);
        all.filter(|listed| part.is_of(listed)).collect()
    };
    let mut matches = candidates(open(store.read()).await?);
    if matches.is_empty() {
        matches = candidates(all(store.read()).await?);
    }
    match matches.len() {
        1 => Ok(Found { azolla: azolla.clone(), listed: matches.remove(0), store }),
        0 => {
            let what = format!("there is no candidate {part}");
            Err(Failure::not_found(what).hint("azolla triage --all").into())
        }
        count => {
            let lines =
                matches.iter().map(|listed| format!("{}  {}", listed.id, plain(&listed.candidate.title)));
            Err(ambiguous(&part.to_string(), count, lines).into())
        }
    }
}

/// Returns the triages with open candidates, and these alone of theirs, oldest first.
pub(super) async fn open(read: &dyn SubstrateRead) -> anyhow::Result<Vec<Triaged>> {
    /// More than anybody looks through; O-3 keeps it far below.
    const OUTPUTS_MAX: u64 = 1_000;
    let outputs = read.open_candidates(OUTPUTS_MAX).await?;
    let mut open: Vec<Triaged> = outputs.into_iter().map(Triaged::from).collect();
    open.iter_mut().for_each(|triaged| triaged.candidates.retain(Listed::is_open));
    Ok(open)
}

/// Returns every triage that passed its gate, the newest first.
pub(super) async fn all(read: &dyn SubstrateRead) -> anyhow::Result<Vec<Triaged>> {
    const PAGE: u64 = 200;
    let mut found: Vec<Triaged> = Vec::new();
    let mut after: Option<OutputBundle> = None;
    loop {
        let page = read.triage_outputs(after.as_ref(), PAGE).await?;
        after = page.last().map(|found| found.output.clone());
        let is_last = (page.len() as u64) < PAGE;
        found.extend(page.into_iter().map(Triaged::from));
        if is_last {
            return Ok(found);
        }
    }
}
