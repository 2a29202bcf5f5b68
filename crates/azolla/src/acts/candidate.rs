//! One candidate of a triage, as it is named, found and settled (TF-8).

use std::{fmt, str::FromStr, sync::Arc};

use anyhow::Context;
use azolla_control_plane::operator::{CandidateRef, Changes, Operator, OperatorError, Promotion};
use azolla_protocol::{
    AzollaId, AzollaType, CandidateOutcome, CandidateResolution, OutputBundle, OutputId, Timestamp,
    content::{Candidate, NoAction, TriageContent},
};
use azolla_substrate::{Identity, Substrate, SubstrateRead, TriageOutput};

use super::{Acts, Done, objective::check_title};
use crate::{
    config::AzollaConfig,
    deployment::identity,
    failure::Failure,
    find::{Found, IdPart, NoId, ambiguous},
    screen::plain,
};

/// A candidate, as typed: its number, behind any unique part of its triage's id. The number alone is enough where only
/// one triage waits.
#[derive(Clone, Debug)]
pub(crate) struct CandidatePart {
    output: Option<IdPart>,
    number: u64,
}

/// A text that can be no candidate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoCandidate {
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
        listed.id.index + 1 == self.number && self.output.as_ref().is_none_or(|part| part.is_of(id.as_str()))
    }

    /// Returns those of several triages that it can mean.
    fn among(&self, triages: Vec<Triaged>) -> Vec<Listed> {
        let all = triages.into_iter().flat_map(|triaged| triaged.candidates);
        all.filter(|listed| self.is_of(listed)).collect()
    }
}

/// A candidate, with what became of it.
pub(crate) struct Listed {
    /// How it is called.
    pub(crate) id: CandidateRef,
    /// What it says.
    pub(crate) candidate: Candidate,
    /// What became of it; none if it is open.
    pub(crate) resolution: Option<CandidateResolution>,
}

impl Listed {
    /// Tells whether nothing was done with it yet.
    pub(crate) fn is_open(&self) -> bool {
        self.resolution.is_none()
    }
}

/// Returns what became of a candidate, in words.
pub(crate) fn outcome(resolution: &CandidateResolution) -> String {
    let objective = resolution.objective_id.as_ref().map_or("", |id| id.as_str());
    match resolution.outcome {
        CandidateOutcome::Promoted => format!("became {objective}"),
        CandidateOutcome::Duplicate => format!("a duplicate of {objective}"),
        CandidateOutcome::Discarded => "discarded".to_owned(),
        CandidateOutcome::Deferred => "deferred".to_owned(),
    }
}

/// A triage, taken apart.
pub(crate) struct Triaged {
    /// Its bundle.
    pub(crate) output_id: OutputId,
    /// When it was made.
    pub(crate) created_at: Timestamp,
    /// Its candidates, or those of them that were asked for.
    pub(crate) candidates: Vec<Listed>,
    /// The notes that needed nothing, and why.
    pub(crate) no_action: Vec<NoAction>,
    /// What it could not tell, over all of it.
    pub(crate) notes: String,
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
pub(crate) struct FoundCandidate {
    /// The azolla.
    pub(crate) azolla: AzollaConfig,
    /// Its store.
    pub(crate) store: Arc<dyn Substrate>,
    /// The candidate.
    pub(crate) listed: Listed,
}

impl Acts {
    /// Finds the one candidate that is meant. Open ones are looked at first: they are what one means by a part.
    pub(crate) async fn candidate(
        &self,
        azolla: Option<&AzollaId>,
        part: &CandidatePart,
    ) -> anyhow::Result<FoundCandidate> {
        let azolla = self.one(azolla, AzollaType::TaskMgmt)?;
        let store = self.store(azolla).await?;
        let mut matches = whole(store.read(), part).await?;
        if matches.is_empty() {
            matches = part.among(open_triages(store.read()).await?);
        }
        if matches.is_empty() {
            matches = part.among(all_triages(store.read()).await?);
        }
        match matches.len() {
            1 => Ok(FoundCandidate { azolla: azolla.clone(), listed: matches.remove(0), store }),
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

    /// Makes a candidate an objective, in `target`.
    pub(crate) async fn promote(
        &self,
        found: &FoundCandidate,
        target: &AzollaConfig,
        edits: Changes,
    ) -> anyhow::Result<Done> {
        edits.title.as_deref().map(check_title).transpose()?;
        let targets = self.targets().await?;
        let elsewhere: Vec<&dyn SubstrateRead> = targets
            .iter()
            .filter(|(identity, _)| identity.azolla_id != target.id)
            .map(|(_, store)| store.read())
            .collect();
        let (at, store) = targets
            .iter()
            .find(|(identity, _)| identity.azolla_id == target.id)
            .context("the azolla was just opened")?;
        let promotion = Promotion {
            target: self.at(&**store, at),
            elsewhere: &elsewhere,
            repo_ref: target.repo.as_deref().unwrap_or_default(),
            base_branch: target.base_branch.as_deref().unwrap_or_default(),
            edits,
        };
        let id = self.settle(found, async |operator| operator.promote(&found.listed.id, &promotion).await);
        let id = id.await?;
        let made = Done::made(id.as_str(), format!("it is in {}", target.id));
        Ok(made.next(format!("azolla objective approve {id}")))
    }

    /// Returns the azolla that does the work of a candidate: the named one, else the suggested one, else the one that is
    /// meant.
    pub(crate) fn target(
        &self,
        found: &FoundCandidate,
        named: Option<&AzollaId>,
    ) -> Result<&AzollaConfig, Failure> {
        let suggested = found.listed.candidate.suggested_azolla_id.as_ref();
        let suggested = suggested.filter(|id| {
            let azolla = self.deployment().config.azolla(id);
            azolla.is_some_and(|azolla| azolla.azolla_type == AzollaType::CodePatch)
        });
        self.one(named.or(suggested), AzollaType::CodePatch)
    }

    /// Sets a candidate aside for good.
    pub(crate) async fn discard(&self, found: &FoundCandidate) -> anyhow::Result<Done> {
        self.settle(found, async |operator| operator.discard(&found.listed.id).await).await?;
        Ok(settled(found, "discarded"))
    }

    /// Leaves a candidate for later.
    pub(crate) async fn defer(&self, found: &FoundCandidate) -> anyhow::Result<Done> {
        self.settle(found, async |operator| operator.defer(&found.listed.id).await).await?;
        let title = plain(&found.listed.candidate.title);
        Ok(Done::new(format!("deferred: {title}")).leads("listed by", "azolla triage --all"))
    }

    /// Says that an objective for a candidate is there already.
    pub(crate) async fn duplicate(&self, found: &FoundCandidate, of: &Found) -> anyhow::Result<Done> {
        let which = &found.listed.id;
        self.settle(found, async |operator| operator.duplicate(which, of.id(), of.read()).await).await?;
        Ok(settled(found, &format!("a duplicate of {}", of.id())))
    }

    /// Takes back what was done with a candidate.
    pub(crate) async fn undo(&self, found: &FoundCandidate) -> anyhow::Result<Done> {
        let targets = self.targets().await?;
        let operators: Vec<Operator<'_>> =
            targets.iter().map(|(identity, store)| self.at(&**store, identity)).collect();
        let which = &found.listed.id;
        self.settle(found, async |operator| operator.undo(which, &operators).await).await?;
        let title = plain(&found.listed.candidate.title);
        Ok(Done::new(format!("undone: {title}")).next(format!("azolla triage promote {which}")))
    }

    async fn settle<T>(
        &self,
        found: &FoundCandidate,
        take: impl AsyncFnOnce(&Operator<'_>) -> Result<T, OperatorError>,
    ) -> anyhow::Result<T> {
        self.step(&found.azolla, &*found.store, take).await
    }

    /// Opens the stores of every azolla of this machine that takes tickets: an objective may be in any of them, so all
    /// have to be there.
    async fn targets(&self) -> anyhow::Result<Vec<(Identity, Arc<dyn Substrate>)>> {
        let mut targets = Vec::new();
        for azolla in &self.deployment().config.azollas {
            if azolla.azolla_type == AzollaType::CodePatch {
                targets.push((identity(azolla), self.store(azolla).await?));
            }
        }
        Ok(targets)
    }
}

fn settled(found: &FoundCandidate, what: &str) -> Done {
    let (title, id) = (plain(&found.listed.candidate.title), &found.listed.id);
    Done::new(format!("{what}: {title}")).leads("to take it back", format!("azolla triage undo {id}"))
}

/// Looks a candidate up by the whole id of its triage.
async fn whole(read: &dyn SubstrateRead, part: &CandidatePart) -> anyhow::Result<Vec<Listed>> {
    let id = part.output.as_ref().and_then(|output| OutputId::new(output.as_str()).ok());
    let Some(id) = id else { return Ok(Vec::new()) };
    let Some(output) = read.output_bundle(&id).await? else { return Ok(Vec::new()) };
    let resolutions = read.resolutions_of(&id).await?;
    Ok(part.among(vec![TriageOutput { output, resolutions }.into()]))
}

/// Returns the triages with open candidates, and these alone of theirs, oldest first.
pub(crate) async fn open_triages(read: &dyn SubstrateRead) -> anyhow::Result<Vec<Triaged>> {
    /// More than anybody looks through; O-3 keeps it far below.
    const OUTPUTS_MAX: u64 = 1_000;
    let outputs = read.open_candidates(OUTPUTS_MAX).await?;
    let mut open: Vec<Triaged> = outputs.into_iter().map(Triaged::from).collect();
    open.iter_mut().for_each(|triaged| triaged.candidates.retain(Listed::is_open));
    Ok(open)
}

/// Returns every triage that passed its gate, the newest first.
pub(crate) async fn all_triages(read: &dyn SubstrateRead) -> anyhow::Result<Vec<Triaged>> {
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
