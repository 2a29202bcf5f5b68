//! Steps of an operator who had the objective on a screen for a while: what is stored is what was seen, or nothing is
//! done (S-3). These are the steps by which words that somebody else could change come to count: an edit writes over
//! them, and each of the others is an approval of them (S-b, S-h). A result is bound to its run instead (S-i, S-j).

use azolla_protocol::{BlockerId, Objective, ObjectiveId};

use super::{Changes, Operator, OperatorError, next};

/// The operator, with an objective as it was at one version.
#[derive(Clone, Copy)]
pub struct AsSeen<'a> {
    operator: Operator<'a>,
    version: u64,
}

impl<'a> Operator<'a> {
    /// Takes steps on an objective as it was at `version`; one that was written since stays as it is.
    pub fn as_seen(self, version: u64) -> AsSeen<'a> {
        AsSeen { operator: self, version }
    }
}

impl AsSeen<'_> {
    /// As [`Operator::edit`].
    pub async fn edit(&self, id: &ObjectiveId, changes: Changes) -> Result<Objective, OperatorError> {
        let step = self
            .operator
            .change(id, |was, by| next::as_seen(was, self.version, next::edit(&was.objective, &changes, by)));
        step.await
    }

    /// As [`Operator::approve`].
    pub async fn approve(&self, id: &ObjectiveId) -> Result<Objective, OperatorError> {
        let step = self
            .operator
            .change(id, |was, by| next::as_seen(was, self.version, next::approve(&was.objective, by)));
        step.await
    }

    /// As [`Operator::unblock`].
    pub async fn unblock(
        &self,
        id: &ObjectiveId,
        blocker: Option<&BlockerId>,
    ) -> Result<Objective, OperatorError> {
        let step = self.operator.change(id, |was, by| {
            next::as_seen(was, self.version, next::unblock(&was.objective, blocker, by))
        });
        step.await
    }

    /// As [`Operator::retry`].
    pub async fn retry(&self, id: &ObjectiveId, budget_ms: Option<u64>) -> Result<Objective, OperatorError> {
        let step = self.operator.change(id, |was, by| {
            next::as_seen(was, self.version, next::retry(&was.objective, budget_ms, by))
        });
        step.await
    }
}
