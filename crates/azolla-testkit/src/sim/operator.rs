//! The operator of a simulation: takes a step now and then, often one that the state does not allow.

use std::{collections::BTreeSet, sync::Arc};

use azolla_control_plane::operator::{CandidateRef, Changes, NewObjective, Operator, OperatorError};
use azolla_protocol::{BlockerKind, CaptureId, EventId, IdSource, ObjectiveId, ObjectiveStatus};
use azolla_substrate::{Identity, ObjectiveFilter, Substrate, SubstrateError};

use super::{block::block_on, chance::Chance};
use crate::world::REPO;

/// The operator, with everything that was acknowledged (invariant 13).
pub(super) struct SimOperator {
    pub(super) substrate: Arc<dyn Substrate>,
    pub(super) identity: Identity,
    pub(super) ids: Arc<dyn IdSource>,
    pub(super) objectives: BTreeSet<ObjectiveId>,
    pub(super) captures: BTreeSet<CaptureId>,
    /// Requests for orientation.
    pub(super) events: BTreeSet<EventId>,
}

impl SimOperator {
    fn steps(&self) -> Operator<'_> {
        Operator { substrate: &*self.substrate, identity: &self.identity, ids: &*self.ids, who: "operator" }
    }

    /// Creates an objective and approves it.
    pub(super) fn ask_for_work(&mut self) -> Result<(), OperatorError> {
        let new = NewObjective {
            title: "Round half up".into(),
            acceptance_criteria: "- 0.5 rounds to 1".into(),
            repo_ref: REPO.into(),
            base_branch: "main".into(),
            importance: 2,
            urgency: 3,
        };
        let id = block_on(self.steps().create(new))?;
        self.objectives.insert(id.clone());
        block_on(self.steps().approve(&id))?;
        Ok(())
    }

    /// Takes a step on an objective, and returns its name. One that is refused changes nothing.
    pub(super) fn step_on_work(&mut self, chance: &mut Chance) -> Result<&'static str, SubstrateError> {
        let filter = ObjectiveFilter { status: None, max_urgency: 4, after: None, limit: 100 };
        let all = block_on(self.substrate.read().objectives(&filter))?;
        if all.is_empty() {
            return Ok("nothing");
        }
        let objective = &chance.pick(&all).objective;
        let (id, operator) = (&objective.objective_id, self.steps());
        let which = chance.below(12);
        let (name, taken) = match (which, objective.status) {
            (0, _) => ("edit", {
                let criteria = Some("- and -0.5 rounds to 0".to_owned());
                block_on(operator.edit(id, Changes { acceptance_criteria: criteria, ..Changes::default() }))
            }),
            (1, _) => ("block", block_on(operator.block(id, "for now", BlockerKind::UserInput))),
            (2, _) => ("cancel", block_on(operator.cancel(id, "no longer"))),
            (3, _) => ("archive", block_on(operator.archive(id))),
            (4, _) => ("unarchive", block_on(operator.unarchive(id))),
            (5, _) => ("withdraw", block_on(operator.withdraw(id))),
            (_, ObjectiveStatus::New) => ("approve", block_on(operator.approve(id))),
            (6, ObjectiveStatus::Done) => ("reject", block_on(operator.reject(id, None, "not yet"))),
            (_, ObjectiveStatus::Done) => ("confirm", block_on(operator.confirm(id, None))),
            (6, ObjectiveStatus::Blocked) => ("retry", block_on(operator.retry(id, Some(60_000)))),
            (7..=9, ObjectiveStatus::Blocked) => ("retry", block_on(operator.retry(id, None))),
            (_, _) => ("unblock", block_on(operator.unblock(id, None))),
        };
        refused_is_fine(name, taken)
    }

    /// Stores a note.
    pub(super) fn note(&mut self, chance: &mut Chance) -> Result<(), OperatorError> {
        let text = format!("note {}", chance.below(1_000));
        let id = block_on(self.steps().capture(text.as_bytes(), "sim"))?;
        self.captures.insert(id);
        Ok(())
    }

    /// Takes a step on what came of notes, or asks for orientation.
    pub(super) fn step_on_notes(&mut self, chance: &mut Chance) -> Result<&'static str, SubstrateError> {
        let operator = self.steps();
        match chance.below(10) {
            0 | 1 => {
                let requested = block_on(operator.request_manifest());
                self.events.extend(requested.iter().map(|requested| requested.event_id.clone()));
                refused_is_fine("manifest", requested)
            }
            2 => refused_is_fine("retry held", block_on(operator.retry_held())),
            3 => match self.captures.iter().nth(chance.below(self.captures.len())) {
                Some(id) => refused_is_fine("by hand", block_on(operator.process_capture(id, "known"))),
                None => Ok("nothing"),
            },
            which => {
                let open = block_on(self.substrate.read().open_candidates(20))?;
                if open.is_empty() {
                    return Ok("nothing");
                }
                let output_id = chance.pick(&open).output.output_id.clone();
                let candidate = CandidateRef { output_id, index: chance.below(3) as u64 };
                match which {
                    4 => refused_is_fine("defer", block_on(operator.defer(&candidate))),
                    5 => refused_is_fine("undo", block_on(operator.undo(&candidate, &[]))),
                    _ => refused_is_fine("discard", block_on(operator.discard(&candidate))),
                }
            }
        }
    }
}

fn refused_is_fine<T>(
    name: &'static str,
    taken: Result<T, OperatorError>,
) -> Result<&'static str, SubstrateError> {
    match taken {
        Ok(_) => Ok(name),
        Err(OperatorError::Refused { .. } | OperatorError::NotFound { .. }) => Ok("refused"),
        Err(OperatorError::Store(SubstrateError::Changed { .. })) => Ok("changed"),
        Err(OperatorError::Store(error)) => Err(error),
    }
}
