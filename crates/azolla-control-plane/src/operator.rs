//! The operator's steps (PROTOCOL.md section 4), in one place for every screen that offers them: each reads the
//! objective, builds its next version by a pure rule of `next.rs`, and commits it once. Steps on captures and candidates
//! (7.2) are in files of their own.

use azolla_protocol::{
    Actor, BlockerId, BlockerKind, CommitId, EventId, IdSource, Objective, ObjectiveId, ObjectiveStep, RunId,
    Validated, ValidationError, WorkOrderId,
};
use azolla_substrate::{
    Commit, CommitOutcome, Identity, ObjectiveMark, StoredObjective, Substrate, SubstrateError,
    SubstrateRead, Write,
};

use self::next::{By, Change};

mod allowed;
mod candidates;
mod captures;
mod client;
mod next;
mod requests;
mod seen;
mod standing;

pub use self::{
    allowed::{OperatorStep, allowed},
    candidates::{CandidateRef, Promotion},
    client::Client,
    requests::Requested,
    seen::AsSeen,
};

/// How often a step is built again after somebody else's commit came in between (S-3).
const TRIES_MAX: usize = 5;

/// The operator, at one azolla.
#[derive(Clone, Copy)]
pub struct Operator<'a> {
    /// The store of the azolla.
    pub substrate: &'a dyn Substrate,
    /// Whose store it is.
    pub identity: &'a Identity,
    /// Fresh ids.
    pub ids: &'a dyn IdSource,
    /// The operator's name, as it is recorded; 1 to 200 characters.
    pub who: &'a str,
}

/// What a new objective says. Texts may be empty until approval (S-b).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewObjective {
    /// One line.
    pub title: String,
    /// Text of any number of lines.
    pub acceptance_criteria: String,
    /// The repository, as configuration names it.
    pub repo_ref: String,
    /// The branch that the work starts from.
    pub base_branch: String,
    /// 0 to 4, 0 first.
    pub importance: u8,
    /// 0 to 4, 0 first.
    pub urgency: u8,
}

/// What an edit changes: the fields that are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// One line.
    pub title: Option<String>,
    /// Text of any number of lines.
    pub acceptance_criteria: Option<String>,
    /// The repository, as configuration names it.
    pub repo_ref: Option<String>,
    /// The branch that the work starts from.
    pub base_branch: Option<String>,
    /// 0 to 4, 0 first.
    pub importance: Option<u8>,
    /// 0 to 4, 0 first.
    pub urgency: Option<u8>,
}

/// Why a step of the operator did not happen. Nothing was written, unless the store's error says that it is unknown.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// There is no such thing.
    #[error("{what}")]
    NotFound {
        /// What is missing.
        what: String,
    },
    /// The state or a rule does not allow it: a fact, and the command that helps if there is one.
    #[error("{what}")]
    Refused {
        /// The fact.
        what: String,
        /// What to type next.
        hint: Option<String>,
    },
    /// The store failed.
    #[error(transparent)]
    Store(SubstrateError),
}

impl From<SubstrateError> for OperatorError {
    fn from(error: SubstrateError) -> Self {
        match error {
            SubstrateError::Invalid(broken) => broken.into(),
            other => Self::Store(other),
        }
    }
}

impl From<ValidationError> for OperatorError {
    fn from(broken: ValidationError) -> Self {
        Self::Refused { what: broken.to_string(), hint: None }
    }
}

/// Tells whether a blocker was recorded by a worker: its id is derived from the objective's, while the operator's
/// blockers have fresh ones, which have no `-` in them.
pub fn is_machine_made(objective: &ObjectiveId, blocker: &BlockerId) -> bool {
    blocker.body().strip_prefix(objective.body()).is_some_and(|rest| rest.starts_with('-'))
}

impl Operator<'_> {
    /// Creates an objective, NEW, and returns its id (S-a).
    pub async fn create(&self, new: NewObjective) -> Result<ObjectiveId, OperatorError> {
        let by = self.by().await?;
        for _ in 0..TRIES_MAX {
            let id = ObjectiveId::from_body(&self.ids.body());
            let objective = next::create(&new, id.clone(), &self.identity.azolla_id, &by)?;
            let write =
                Write::InsertObjective { objective: Validated::new(objective)?, step: ObjectiveStep::Create };
            match self.commit(write).await {
                // Somebody has that id already: an id is never given twice (T37).
                Err(taken) if taken.is_refused_by("A-2") => {}
                done => return Ok(done.map(|()| id)?),
            }
        }
        let what = "no fresh id was found for the objective".to_owned();
        Err(OperatorError::Refused { what, hint: None })
    }

    /// Changes an objective. One that was approved goes back to NEW if title, criteria, repository or base change
    /// (S-3, S-l); an edit that changes nothing writes nothing.
    pub async fn edit(&self, id: &ObjectiveId, changes: Changes) -> Result<Objective, OperatorError> {
        self.change(id, |was, by| next::edit(&was.objective, &changes, by)).await
    }

    /// Approves an objective: it is scheduled from here on (S-b).
    pub async fn approve(&self, id: &ObjectiveId) -> Result<Objective, OperatorError> {
        self.change(id, |was, by| next::approve(&was.objective, by)).await
    }

    /// Withdraws an approval (S-l).
    pub async fn withdraw(&self, id: &ObjectiveId) -> Result<Objective, OperatorError> {
        self.change(id, |was, by| next::withdraw(&was.objective, by)).await
    }

    /// Blocks an objective (S-k). One that is IN_PROGRESS runs to its gate, which blocks it then (S-f).
    pub async fn block(
        &self,
        id: &ObjectiveId,
        reason: &str,
        kind: BlockerKind,
    ) -> Result<Objective, OperatorError> {
        let blocker_id = BlockerId::from_body(&self.ids.body());
        self.change(id, |was, by| next::block(&was.objective, &blocker_id, reason, kind, by)).await
    }

    /// Resolves one blocker, or all of them. With the last one an objective that is BLOCKED goes to TODO (S-h); one that
    /// is not stays where it is.
    pub async fn unblock(
        &self,
        id: &ObjectiveId,
        blocker: Option<&BlockerId>,
    ) -> Result<Objective, OperatorError> {
        self.change(id, |was, by| next::unblock(&was.objective, blocker, by)).await
    }

    /// Runs a BLOCKED objective again, from now on with this budget if one is given (S-h). Refused while a blocker of
    /// the operator's is open; those of the machine are resolved by it.
    pub async fn retry(&self, id: &ObjectiveId, budget_ms: Option<u64>) -> Result<Objective, OperatorError> {
        self.change(id, |was, by| next::retry(&was.objective, budget_ms, by)).await
    }

    /// Rejects the result of the run that was reviewed; the feedback goes into the next snapshot (S-i). Without a
    /// `run_id` it is the latest one: only for a caller that has just shown it.
    pub async fn reject(
        &self,
        id: &ObjectiveId,
        run_id: Option<&RunId>,
        feedback: &str,
    ) -> Result<Objective, OperatorError> {
        let reviewed = self.reviewed(id, run_id).await?;
        self.change(id, |was, by| next::reject(was, reviewed.as_ref(), feedback, by)).await
    }

    /// Confirms the result of the run that was reviewed: final (S-j). `run_id` as in [`Operator::reject`].
    pub async fn confirm(
        &self,
        id: &ObjectiveId,
        run_id: Option<&RunId>,
    ) -> Result<Objective, OperatorError> {
        let reviewed = self.reviewed(id, run_id).await?;
        self.change(id, |was, by| next::confirm(was, reviewed.as_ref(), by)).await
    }

    /// Asks for the end of the run that is under way: the runner sees it at its next renewal, and the gate ends the
    /// objective BLOCKED (S-m). Asked twice, the first request stands.
    pub async fn cancel(&self, id: &ObjectiveId, reason: &str) -> Result<Objective, OperatorError> {
        self.change(id, |was, by| next::cancel(&was.objective, reason, by)).await
    }

    /// Archives an objective: hidden and never scheduled (S-o).
    pub async fn archive(&self, id: &ObjectiveId) -> Result<Objective, OperatorError> {
        self.change(id, |was, by| next::archive(&was.objective, by)).await
    }

    /// Brings an archived objective back, as it was (S-o).
    pub async fn unarchive(&self, id: &ObjectiveId) -> Result<Objective, OperatorError> {
        self.change(id, |was, by| next::unarchive(&was.objective, by)).await
    }

    /// The run that the operator has seen. Where the caller names none it is settled before the first try, so that a
    /// run that ends meanwhile is not taken for it.
    async fn reviewed(
        &self,
        id: &ObjectiveId,
        run_id: Option<&RunId>,
    ) -> Result<Option<RunId>, OperatorError> {
        match run_id {
            Some(run_id) => Ok(Some(run_id.clone())),
            None => Ok(latest_run_id(&self.stored(id).await?)),
        }
    }

    async fn change(
        &self,
        id: &ObjectiveId,
        build: impl Fn(&StoredObjective, &By<'_>) -> Result<Change, OperatorError>,
    ) -> Result<Objective, OperatorError> {
        self.change_as(Actor::Operator, id, build).await
    }

    /// Reads, builds, commits; and again if somebody else's commit came in between.
    async fn change_as(
        &self,
        actor: Actor,
        id: &ObjectiveId,
        build: impl Fn(&StoredObjective, &By<'_>) -> Result<Change, OperatorError>,
    ) -> Result<Objective, OperatorError> {
        let mut tries = 0;
        loop {
            let stored = self.stored(id).await?;
            let was = ObjectiveMark::from(&stored);
            let (write, next) = match build(&stored, &self.by().await?)? {
                Change::Step(step, next) => {
                    let valid = Validated::new(*next)?;
                    (Write::AdvanceObjective { was, step, next: valid.clone() }, valid)
                }
                Change::Edit(next) => {
                    let valid = Validated::new(*next)?;
                    (Write::EditObjective { was, next: valid.clone() }, valid)
                }
                Change::Nothing => return Ok(stored.objective),
            };
            tries += 1;
            match self.commit_as(actor, vec![write], None).await {
                Err(SubstrateError::Changed { .. }) if tries < TRIES_MAX => {}
                done => return Ok(done.map(|()| next.into_inner())?),
            }
        }
    }

    async fn commit(&self, write: Write) -> Result<(), SubstrateError> {
        self.commit_all(vec![write], None).await
    }

    /// Commits writes as one step, with why, where somebody says so.
    async fn commit_all(&self, writes: Vec<Write>, reason: Option<&str>) -> Result<(), SubstrateError> {
        self.commit_as(Actor::Operator, writes, reason).await
    }

    async fn commit_as(
        &self,
        actor: Actor,
        writes: Vec<Write>,
        reason: Option<&str>,
    ) -> Result<(), SubstrateError> {
        let commit_id = CommitId::from_body(&self.ids.body());
        let mut commit = writes.into_iter().fold(Commit::new(commit_id, actor), Commit::with);
        if let Some(reason) = reason {
            commit = commit.because(reason);
        }
        match self.substrate.commit(commit).await? {
            CommitOutcome::Done => Ok(()),
            CommitOutcome::Held | CommitOutcome::StreamFull | CommitOutcome::ReviewLimit => {
                unreachable!("the commit claims nothing and creates no workorder")
            }
        }
    }

    async fn stored(&self, id: &ObjectiveId) -> Result<StoredObjective, OperatorError> {
        let found = self.read().objective(id).await?;
        found.ok_or_else(|| OperatorError::NotFound {
            what: format!("there is no objective {id} in {}", self.identity.azolla_id),
        })
    }

    async fn by(&self) -> Result<By<'_>, OperatorError> {
        let now = self.read().now().await?;
        Ok(By { who: self.who, now, blueprint: self.identity.azolla_type.blueprint() })
    }

    fn read(&self) -> &dyn SubstrateRead {
        self.substrate
    }
}

/// Returns the id that the run of the current entry into TODO has, whether it has ended or not; none if there was no
/// entry. Ids derive from each other (W-5), so no clock is asked which run is the latest.
fn latest_run_id(stored: &StoredObjective) -> Option<RunId> {
    let entry = (stored.todo_entry > 0).then_some(stored.todo_entry)?;
    let event_id = EventId::for_entry(&stored.objective.objective_id, entry).ok()?;
    Some(RunId::of(&WorkOrderId::of(&event_id)))
}

#[cfg(test)]
mod tests;
