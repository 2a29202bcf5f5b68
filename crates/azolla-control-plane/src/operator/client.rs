//! What a program that asks on somebody's behalf may write: a note, and what is in the way of an objective. No step of
//! the transition table is among it, so it approves, promotes and confirms nothing; what it writes is on record as a
//! client's and ends no pause_state.

use azolla_protocol::{Actor, BlockerId, BlockerKind, BlockerRef, CaptureId, Objective, ObjectiveId};

use super::{Operator, OperatorError, next};

/// A client, at one azolla.
#[derive(Clone, Copy)]
pub struct Client<'a>(Operator<'a>);

impl<'a> Client<'a> {
    /// Asks at the same store, with the same ids.
    pub fn of(operator: Operator<'a>) -> Self {
        Self(operator)
    }

    /// Stores a note, through the door that the operator's notes come through.
    pub async fn capture(&self, note: &[u8], label: &str) -> Result<CaptureId, OperatorError> {
        self.0.capture_as(Actor::Client, note, label).await
    }

    /// Adds an unresolved blocker to an objective and returns both. The status stays as it is. What is open for the same
    /// reason already is returned instead.
    pub async fn report_blocker(
        &self,
        id: &ObjectiveId,
        reason: &str,
        kind: BlockerKind,
    ) -> Result<(Objective, BlockerRef), OperatorError> {
        let blocker_id = BlockerId::from_body(&self.0.ids.body());
        let report = self.0.change_as(Actor::Client, id, |stored, by| {
            next::report(&stored.objective, &blocker_id, reason, kind, by)
        });
        let objective = report.await?;
        let is_it = |blocker: &&BlockerRef| {
            !blocker.resolved && blocker.description == reason && blocker.kind == kind
        };
        let blocker = objective.blocked_on.iter().find(is_it).cloned();
        let blocker = blocker.expect("it was open already, or has just been added");
        Ok((objective, blocker))
    }
}
