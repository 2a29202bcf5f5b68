//! The operator's steps on triage candidates (TF-8): promote, discard, defer, duplicate, and back.

use std::{fmt, str::FromStr};

use azolla_exchange_membrane::gates::triage::content_of;
use azolla_protocol::{
    AzollaId, CandidateOutcome, CandidateResolution, DiazotrophType, GateResult, InvalidId, JournalEntry,
    Objective, ObjectiveId, ObjectiveStatus, ObjectiveStep, ObjectiveType, OutputBundle, OutputId, Validated,
    content::Candidate, is_archived,
};
use azolla_substrate::{StoredObjective, SubstrateError, SubstrateRead, Write};
use serde_json::{Value, json};

use super::{
    Changes, NewObjective, Operator, OperatorError, TRIES_MAX,
    captures::refused,
    next::{self, By, Change},
};

/// What an objective gets where neither the candidate nor the operator says.
const IMPORTANCE: u8 = 2;
const URGENCY: u8 = 3;

/// One candidate of one triage bundle. Written `out-…/1` for the first one, and read back from that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateRef {
    /// The bundle.
    pub output_id: OutputId,
    /// Its place in it, from 0.
    pub index: u64,
}

/// How a candidate becomes an objective.
pub struct Promotion<'a> {
    /// The operator, at the azolla that takes it.
    pub target: Operator<'a>,
    /// Every other azolla of this machine that takes tickets: a promotion that was cut off may have gone there.
    pub elsewhere: &'a [&'a dyn SubstrateRead],
    /// The repository, as configuration names it.
    pub repo_ref: &'a str,
    /// The branch that the work starts from.
    pub base_branch: &'a str,
    /// What differs from the candidate.
    pub edits: Changes,
}

/// A candidate, where it comes from, and what became of it so far.
struct Found {
    candidate: Candidate,
    bundle: OutputBundle,
    resolution: Option<CandidateResolution>,
}

impl fmt::Display for CandidateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.output_id, self.index.saturating_add(1))
    }
}

impl FromStr for CandidateRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text} is no candidate: one is written out-…/1");
        let (output_id, number) = text.split_once('/').ok_or_else(wrong)?;
        let output_id = OutputId::new(output_id).map_err(|error: InvalidId| error.to_string())?;
        let number: u64 = number.parse().map_err(|_| wrong())?;
        Ok(Self { output_id, index: number.checked_sub(1).ok_or_else(wrong)? })
    }
}

impl Operator<'_> {
    /// Makes an objective of a candidate, NEW, in the target azolla, and returns its id. The id derives from the
    /// candidate and the objective is there before the resolution is: cut off anywhere, the same step again completes
    /// it. A promotion that was undone is brought back.
    pub async fn promote(
        &self,
        which: &CandidateRef,
        promotion: &Promotion<'_>,
    ) -> Result<ObjectiveId, OperatorError> {
        let found = self.candidate(which).await?;
        let id = promoted_id(which)?;
        match found.outcome() {
            Some(CandidateOutcome::Promoted) => return self.promoted_before(which, id, promotion).await,
            Some(outcome @ (CandidateOutcome::Discarded | CandidateOutcome::Duplicate)) => {
                return Err(resolved(which, outcome));
            }
            Some(CandidateOutcome::Deferred) | None => {}
        }
        for other in promotion.elsewhere {
            // One that was undone stays there, archived, and counts for nothing.
            if let Some(stored) = other.objective(&id).await?
                && !is_undone(&stored.objective)
            {
                let azolla_id = &stored.objective.azolla_id;
                let what = format!("an earlier promotion of {which} is in {azolla_id}");
                let hint = format!("azolla triage promote {which} --azolla {azolla_id}");
                return Err(refused(what, Some(&hint)));
            }
        }
        self.insert_promoted(which, &found, &id, promotion).await?;
        let target = &promotion.target.identity.azolla_id;
        match self.resolve(which, &found, CandidateOutcome::Promoted, Some((&id, Some(target)))).await {
            Err(OperatorError::Store(error)) if error.is_refused_by("TF-8") => {
                self.lost_race(which, id, promotion).await
            }
            done => done.map(|()| id),
        }
    }

    /// Sets a candidate aside. [`Operator::undo`] takes it back.
    pub async fn discard(&self, which: &CandidateRef) -> Result<(), OperatorError> {
        self.settle(which, CandidateOutcome::Discarded, None).await
    }

    /// Leaves a candidate for later: it no longer counts as waiting (O-3).
    pub async fn defer(&self, which: &CandidateRef) -> Result<(), OperatorError> {
        self.settle(which, CandidateOutcome::Deferred, None).await
    }

    /// Says that a candidate is what an objective is about already; `at` is the store that has it.
    pub async fn duplicate(
        &self,
        which: &CandidateRef,
        of: &ObjectiveId,
        at: &dyn SubstrateRead,
    ) -> Result<(), OperatorError> {
        match at.objective(of).await? {
            None => return Err(OperatorError::NotFound { what: format!("there is no objective {of}") }),
            Some(stored) if stored.objective.objective_type == ObjectiveType::Standing => {
                let what = format!("{of} is the standing objective: nothing is a duplicate of it");
                return Err(refused(what, Some("azolla objective list")));
            }
            Some(_) => {}
        }
        self.settle(which, CandidateOutcome::Duplicate, Some(of)).await
    }

    /// Takes back what was done with a candidate, which is open again, as after its triage. An objective that was promoted
    /// from it is archived before, while it is NEW: cut off in between, the same step again completes it. `targets` is the
    /// operator at every azolla of this machine that takes tickets.
    pub async fn undo(&self, which: &CandidateRef, targets: &[Operator<'_>]) -> Result<(), OperatorError> {
        for _ in 0..TRIES_MAX {
            let found = self.candidate(which).await?;
            let Some(outcome) = found.outcome() else {
                let what = format!("candidate {which} is open: there is nothing to undo");
                return Err(refused(what, Some(&format!("azolla triage promote {which}"))));
            };
            if outcome == CandidateOutcome::Promoted {
                archive_promoted(&promoted_id(which)?, targets).await?;
            }
            let (output_id, candidate_index) = (which.output_id.clone(), which.index);
            let by = self.who.to_owned();
            let write = Write::ReopenCandidate { output_id, candidate_index, outcome, by };
            match self.commit(write).await {
                Err(SubstrateError::Changed { .. }) => {}
                done => return Ok(done?),
            }
        }
        Err(kept_changing(which))
    }

    /// Records an outcome that is not PROMOTED, unless another one is recorded.
    async fn settle(
        &self,
        which: &CandidateRef,
        outcome: CandidateOutcome,
        objective_id: Option<&ObjectiveId>,
    ) -> Result<(), OperatorError> {
        let found = self.candidate(which).await?;
        let recorded = found.resolution.as_ref();
        match found.outcome() {
            // Said twice is said once.
            Some(same)
                if same == outcome && recorded.and_then(|r| r.objective_id.as_ref()) == objective_id =>
            {
                Ok(())
            }
            None | Some(CandidateOutcome::Deferred) => {
                let objective = objective_id.map(|id| (id, None));
                match self.resolve(which, &found, outcome, objective).await {
                    Err(OperatorError::Store(error)) if error.is_refused_by("TF-8") => {
                        let now = self.candidate(which).await?.outcome();
                        Err(now.map_or(OperatorError::Store(error), |outcome| resolved(which, outcome)))
                    }
                    done => done,
                }
            }
            Some(other) => Err(resolved(which, other)),
        }
    }

    /// Records an outcome; with the last open candidate, the pause_state that asked for it is over.
    async fn resolve(
        &self,
        which: &CandidateRef,
        found: &Found,
        outcome: CandidateOutcome,
        objective: Option<(&ObjectiveId, Option<&AzollaId>)>,
    ) -> Result<(), OperatorError> {
        let bundle = &found.bundle;
        let target = objective.and_then(|(_, azolla_id)| azolla_id);
        for _ in 0..TRIES_MAX {
            let resolution = CandidateResolution {
                output_id: which.output_id.clone(),
                candidate_index: which.index,
                outcome,
                objective_id: objective.map(|(id, _)| id.clone()),
                resolved_by: self.who.to_owned(),
                created_at: self.read().now().await?,
            };
            let count = self.others_open(which, bundle).await?;
            let (output_id, candidate_index) = (which.output_id.clone(), which.index);
            let resolution = Validated::new(resolution)?;
            let mut writes = vec![
                Write::OthersOpen { output_id, candidate_index, count },
                Write::ResolveCandidate { resolution, target: target.cloned() },
            ];
            if count == 0 {
                writes.extend(self.end_pause_of(&bundle.metadata.work_order_id).await?);
            }
            match self.commit_all(writes, None).await {
                Err(SubstrateError::Changed { .. }) => {}
                done => return Ok(done?),
            }
        }
        Err(kept_changing(which))
    }

    /// Counts the other candidates of the bundle that are not resolved.
    async fn others_open(&self, which: &CandidateRef, bundle: &OutputBundle) -> Result<u64, OperatorError> {
        let all = content_of(bundle).map_or(0, |content| content.candidates.len());
        let resolutions = self.read().resolutions_of(&which.output_id).await?;
        let others = resolutions.iter().filter(|other| other.candidate_index != which.index).count();
        Ok(all.saturating_sub(others + 1) as u64)
    }

    /// Inserts the objective if it is not there.
    async fn insert_promoted(
        &self,
        which: &CandidateRef,
        found: &Found,
        id: &ObjectiveId,
        promotion: &Promotion<'_>,
    ) -> Result<(), OperatorError> {
        let target = &promotion.target;
        let by = target.by().await?;
        let new = new_objective(&found.candidate, promotion);
        let mut objective = next::create(&new, id.clone(), &target.identity.azolla_id, &by)?;
        let origin = self.origin(which, &found.candidate);
        objective.metadata.insert("promoted_from".into(), origin.clone());
        if let Some(due) = &found.candidate.due {
            objective.metadata.insert("due".into(), due.as_str().into());
        }
        let objective = Validated::new(objective)?;
        let write = Write::InsertObjective { objective, step: ObjectiveStep::Create };
        match target.commit(write).await {
            Ok(()) => Ok(()),
            Err(taken) if taken.is_refused_by("A-2") => {
                let stored = target.stored(id).await?;
                if stored.objective.metadata.get("promoted_from") != Some(&origin) {
                    let what = format!("objective {id} is there already and comes from elsewhere");
                    return Err(refused(what, Some(&format!("azolla objective show {id}"))));
                }
                self.bring_back(&stored, promotion).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A candidate that is PROMOTED: its objective is brought back if it was archived by hand.
    async fn promoted_before(
        &self,
        which: &CandidateRef,
        id: ObjectiveId,
        promotion: &Promotion<'_>,
    ) -> Result<ObjectiveId, OperatorError> {
        let show = format!("azolla objective show {id}");
        let Some(stored) = promotion.target.read().objective(&id).await? else {
            let azolla_id = &promotion.target.identity.azolla_id;
            let what = format!("candidate {which} is PROMOTED: objective {id} is not in {azolla_id}");
            return Err(refused(what, Some(&show)));
        };
        let objective = &stored.objective;
        if is_undone(objective) {
            self.bring_back(&stored, promotion).await?;
            return Ok(id);
        }
        let archived = if is_archived(objective) { " and archived" } else { "" };
        let what = format!("candidate {which} is PROMOTED: objective {id} is {}{archived}", objective.status);
        Err(refused(what, Some(&show)))
    }

    /// An objective that is there already is made what this promotion says, while it is NEW.
    async fn bring_back(
        &self,
        stored: &StoredObjective,
        promotion: &Promotion<'_>,
    ) -> Result<(), OperatorError> {
        let (objective, target) = (&stored.objective, &promotion.target);
        if objective.status != ObjectiveStatus::New {
            return Ok(());
        }
        let (id, edits) = (&objective.objective_id, &promotion.edits);
        if is_archived(objective) {
            target.change(id, |was, by| next::bring_back(&was.objective, edits, by)).await?;
        } else if *edits != Changes::default() {
            target.edit(id, edits.clone()).await?;
        }
        Ok(())
    }

    /// Somebody else resolved the candidate meanwhile. If that was a promotion to this very azolla, this one is done too;
    /// any other outcome leaves no second objective behind.
    async fn lost_race(
        &self,
        which: &CandidateRef,
        id: ObjectiveId,
        promotion: &Promotion<'_>,
    ) -> Result<ObjectiveId, OperatorError> {
        let outcome = self.candidate(which).await?.outcome().unwrap_or(CandidateOutcome::Deferred);
        // Two promotions share one objective here, whoever inserted it: where it went says whether it stays.
        let target = &promotion.target.identity.azolla_id;
        if outcome == CandidateOutcome::Promoted && self.promoted_to(which).await?.as_ref() == Some(target) {
            return Ok(id);
        }
        promotion.target.archive(&id).await?;
        Err(resolved(which, outcome))
    }

    /// The azolla that a candidate was promoted to, as the journal has it.
    async fn promoted_to(&self, which: &CandidateRef) -> Result<Option<AzollaId>, OperatorError> {
        let journal = self.read().journal_of(&format!("{}#{}", which.output_id, which.index)).await?;
        let promoted =
            |entry: &&JournalEntry| entry.to_status.as_deref() == Some(CandidateOutcome::Promoted.as_str());
        let detail = journal.iter().rfind(promoted).and_then(|entry| entry.detail.as_ref());
        let target = detail.and_then(|detail| detail.get("target")?.as_str());
        Ok(target.and_then(|id| AzollaId::new(id).ok()))
    }

    async fn candidate(&self, which: &CandidateRef) -> Result<Found, OperatorError> {
        let CandidateRef { output_id, index } = which;
        let not_found = |what: String| OperatorError::NotFound { what };
        let bundle = self.read().output_bundle(output_id).await?;
        let azolla_id = &self.identity.azolla_id;
        let bundle = bundle.ok_or_else(|| not_found(format!("there is no {output_id} in {azolla_id}")))?;
        let work_order_id = &bundle.metadata.work_order_id;
        let workorder = self.read().workorder(work_order_id).await?;
        let is_triage =
            workorder.is_some_and(|stored| stored.workorder.diazotroph_type == DiazotrophType::Triage);
        let run = self.read().run_of(work_order_id).await?;
        let candidates = match run {
            Some(run) if is_triage && run.gate_result == GateResult::Pass => {
                content_of(&bundle).map_err(not_found)?.candidates
            }
            _ => return Err(not_found(format!("{output_id} is no triage that passed its gate"))),
        };
        let count = candidates.len();
        let place = usize::try_from(*index).unwrap_or(usize::MAX);
        let candidate = candidates.into_iter().nth(place).ok_or_else(|| {
            not_found(format!("{output_id} has {count} candidates, numbered from 1; there is no {which}"))
        })?;
        let resolutions = self.read().resolutions_of(output_id).await?;
        let resolution = resolutions.into_iter().find(|resolution| resolution.candidate_index == *index);
        Ok(Found { candidate, bundle, resolution })
    }

    /// Where a promoted objective comes from: how it is known again.
    fn origin(&self, which: &CandidateRef, candidate: &Candidate) -> Value {
        json!({
            "azolla_id": self.identity.azolla_id, "output_id": which.output_id,
            "candidate_index": which.index, "capture_ids": candidate.capture_ids,
        })
    }
}

impl Found {
    fn outcome(&self) -> Option<CandidateOutcome> {
        self.resolution.as_ref().map(|resolution| resolution.outcome)
    }
}

/// A candidate as an objective, with what the operator changed about it.
fn new_objective(candidate: &Candidate, promotion: &Promotion<'_>) -> NewObjective {
    let edits = &promotion.edits;
    // Whoever wrote the candidate may have broken the line; the operator's own title is checked instead.
    let one_line = || candidate.title.split_whitespace().collect::<Vec<_>>().join(" ");
    NewObjective {
        title: edits.title.clone().unwrap_or_else(one_line),
        acceptance_criteria: edits
            .acceptance_criteria
            .clone()
            .unwrap_or_else(|| candidate.acceptance_criteria.clone()),
        repo_ref: edits.repo_ref.clone().unwrap_or_else(|| promotion.repo_ref.to_owned()),
        base_branch: edits.base_branch.clone().unwrap_or_else(|| promotion.base_branch.to_owned()),
        importance: edits.importance.or(candidate.importance).unwrap_or(IMPORTANCE),
        urgency: edits.urgency.or(candidate.urgency).unwrap_or(URGENCY),
    }
}

/// Archives the objective that a candidate became, wherever it is, unless it is archived.
async fn archive_promoted(id: &ObjectiveId, targets: &[Operator<'_>]) -> Result<(), OperatorError> {
    let mut is_there = false;
    for target in targets {
        if target.read().objective(id).await?.is_some() {
            is_there = true;
            target.change(id, |was, by| archived_while_new(&was.objective, by)).await?;
        }
    }
    if is_there {
        return Ok(());
    }
    Err(OperatorError::NotFound { what: format!("objective {id} is in no azolla of this machine") })
}

fn archived_while_new(was: &Objective, by: &By<'_>) -> Result<Change, OperatorError> {
    let Objective { objective_id: id, status, .. } = was;
    if is_undone(was) {
        return Ok(Change::Nothing);
    }
    if *status != ObjectiveStatus::New {
        let what = format!("objective {id} is {status}; undo needs NEW");
        let verb = if *status == ObjectiveStatus::Todo { "withdraw" } else { "show" };
        return Err(refused(what, Some(&format!("azolla objective {verb} {id}"))));
    }
    next::archive(was, by)
}

/// Tells whether an objective is what an undone promotion leaves: archived before anybody approved it.
fn is_undone(objective: &Objective) -> bool {
    is_archived(objective) && objective.status == ObjectiveStatus::New
}

fn kept_changing(which: &CandidateRef) -> OperatorError {
    refused(format!("candidate {which} kept changing"), Some("azolla triage"))
}

fn promoted_id(which: &CandidateRef) -> Result<ObjectiveId, OperatorError> {
    ObjectiveId::promoted(&which.output_id, which.index)
        .map_err(|error| refused(format!("no objective can be named after {which}: {error}"), None))
}

fn resolved(which: &CandidateRef, outcome: CandidateOutcome) -> OperatorError {
    let hint = match outcome {
        CandidateOutcome::Deferred => format!("azolla triage promote {which}"),
        _ => format!("azolla triage undo {which}"),
    };
    refused(format!("candidate {which} is {outcome}"), Some(&hint))
}
