//! The repository as a process with a trap sees it: the real one, with a boundary on either side of every call that
//! changes something there.

use std::sync::Arc;

use azolla_control_plane::repo::{
    Attempt, Candidate, Description, Pick, Published, Repository, RepositoryError, TakeError, Taken, Worktree,
};
use azolla_protocol::ObjectiveId;
use azolla_substrate::BoxFuture;

use super::{
    mood::Mood,
    name,
    trap::{Side, Trap, Verdict},
};

/// A repository with boundaries.
pub(super) struct PointRepository {
    pub(super) inner: Arc<dyn Repository>,
    pub(super) trap: Arc<Trap>,
    pub(super) mood: Arc<Mood>,
}

impl PointRepository {
    async fn between<T, E: From<RepositoryError>>(
        &self,
        call: &'static str,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        debug_assert!(name::REPOSITORY.contains(&call));
        let name = name::of_repository(call);
        if self.mood.is_away(call) || self.trap.come_to(Side::Before, &name) == Verdict::Fail {
            return Err(away().into());
        }
        let done = work.await?;
        match self.trap.come_to(Side::After, &name) {
            Verdict::Go => Ok(done),
            Verdict::Fail => Err(away().into()),
        }
    }
}

fn away() -> RepositoryError {
    RepositoryError::Unavailable("nobody answers".to_owned())
}

impl Repository for PointRepository {
    fn base<'a>(&'a self, branch: &'a str) -> BoxFuture<'a, Result<String, RepositoryError>> {
        Box::pin(self.between("base", self.inner.base(branch)))
    }

    fn bases(&self) -> BoxFuture<'_, Result<Vec<String>, RepositoryError>> {
        self.inner.bases()
    }

    fn describe<'a>(
        &'a self,
        commit: &'a str,
        pick: &'a Pick<'a>,
    ) -> BoxFuture<'a, Result<Description, RepositoryError>> {
        self.inner.describe(commit, pick)
    }

    fn file<'a>(
        &'a self,
        commit: &'a str,
        path: &'a str,
        bytes_max: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, RepositoryError>> {
        self.inner.file(commit, path, bytes_max)
    }

    fn worktree<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Result<Worktree, RepositoryError>> {
        Box::pin(self.between("worktree", self.inner.worktree(attempt)))
    }

    fn take<'a>(
        &'a self,
        attempt: &'a Attempt,
        candidate: Candidate<'a>,
    ) -> BoxFuture<'a, Result<Taken, TakeError>> {
        Box::pin(self.between("take", self.inner.take(attempt, candidate)))
    }

    fn rebuild<'a>(
        &'a self,
        attempt: &'a Attempt,
        content: &'a str,
    ) -> BoxFuture<'a, Result<Taken, TakeError>> {
        Box::pin(self.between("rebuild", self.inner.rebuild(attempt, content)))
    }

    fn project<'a>(
        &'a self,
        attempt: &'a Attempt,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<(), RepositoryError>> {
        Box::pin(self.between("project", self.inner.project(attempt, commit)))
    }

    fn applies<'a>(
        &'a self,
        commit: &'a str,
        content: &'a str,
    ) -> BoxFuture<'a, Result<bool, RepositoryError>> {
        self.inner.applies(commit, content)
    }

    fn checkout<'a>(
        &'a self,
        attempt: &'a Attempt,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<Worktree, RepositoryError>> {
        Box::pin(async move {
            self.mood.checks_take_long().await;
            self.between("checkout", self.inner.checkout(attempt, commit)).await
        })
    }

    fn publish<'a>(
        &'a self,
        attempt: &'a Attempt,
        commit: &'a str,
        earlier: &'a [String],
    ) -> BoxFuture<'a, Result<Published, RepositoryError>> {
        Box::pin(self.between("publish", self.inner.publish(attempt, commit, earlier)))
    }

    fn withdraw<'a>(
        &'a self,
        objective: &'a ObjectiveId,
        failed: &'a [String],
        passed: &'a [String],
    ) -> BoxFuture<'a, Result<bool, RepositoryError>> {
        Box::pin(self.between("withdraw", self.inner.withdraw(objective, failed, passed)))
    }

    fn branches(&self) -> BoxFuture<'_, Result<Vec<(ObjectiveId, String)>, RepositoryError>> {
        self.inner.branches()
    }
}
