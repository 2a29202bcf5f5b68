//! The repository and the diazotrophs of a simulation: they take their time, fail, and answer well or badly.

use std::{pin::Pin, sync::Arc, time::Duration};

use azolla_control_plane::repo::{
    Attempt, Candidate, Description, Pick, Published, Repository, RepositoryError, TakeError, Taken, Worktree,
};
use azolla_protocol::{
    AnswerForm, Diazotroph, FailureKind, Generation, GenerationOutcome, GenerationRequest, ObjectiveId,
    Usage, Wait, WaitSource,
};
use azolla_substrate::BoxFuture;

use super::board::{Board, Point, Verdict};
use crate::{
    diazotroph::PATCH,
    repository::{BROKEN_PATCH, MemoryRepository},
};

/// The repository in memory, behind gates.
pub(super) struct SimRepository {
    pub(super) inner: Arc<MemoryRepository>,
    pub(super) board: Arc<Board>,
}

impl SimRepository {
    /// Waits at a gate; the repository may be away.
    async fn gate(&self) -> Result<(), RepositoryError> {
        match self.board.gate(Point::Repository).await {
            Verdict::Go | Verdict::GoSlowly => Ok(()),
            Verdict::Refuse | Verdict::LoseAnswer | Verdict::LandLater => {
                Err(RepositoryError::Unavailable("the simulation took it away".into()))
            }
        }
    }
}

impl Repository for SimRepository {
    fn base<'a>(&'a self, branch: &'a str) -> BoxFuture<'a, Result<String, RepositoryError>> {
        Box::pin(async move {
            self.gate().await?;
            self.inner.base(branch).await
        })
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
        self.inner.worktree(attempt)
    }

    fn take<'a>(
        &'a self,
        attempt: &'a Attempt,
        candidate: Candidate<'a>,
    ) -> BoxFuture<'a, Result<Taken, TakeError>> {
        Box::pin(async move {
            self.gate().await?;
            self.inner.take(attempt, candidate).await
        })
    }

    fn rebuild<'a>(
        &'a self,
        attempt: &'a Attempt,
        content: &'a str,
    ) -> BoxFuture<'a, Result<Taken, TakeError>> {
        Box::pin(async move {
            self.gate().await?;
            self.inner.rebuild(attempt, content).await
        })
    }

    fn project<'a>(
        &'a self,
        attempt: &'a Attempt,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<(), RepositoryError>> {
        Box::pin(async move {
            self.gate().await?;
            self.inner.project(attempt, commit).await
        })
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
        self.inner.checkout(attempt, commit)
    }

    fn publish<'a>(
        &'a self,
        attempt: &'a Attempt,
        commit: &'a str,
        earlier: &'a [String],
    ) -> BoxFuture<'a, Result<Published, RepositoryError>> {
        // It waits before the branch, so that one who is late comes after the next attempt; and between the branch and
        // the record of it, where being cut off leaves the one without the other.
        Box::pin(async move {
            self.gate().await?;
            let published = self.inner.publish(attempt, commit, earlier).await?;
            self.gate().await?;
            Ok(published)
        })
    }

    fn withdraw<'a>(
        &'a self,
        objective: &'a ObjectiveId,
        failed: &'a [String],
        passed: &'a [String],
    ) -> BoxFuture<'a, Result<bool, RepositoryError>> {
        Box::pin(async move {
            self.gate().await?;
            self.inner.withdraw(objective, failed, passed).await
        })
    }

    fn branches(&self) -> BoxFuture<'_, Result<Vec<(ObjectiveId, String)>, RepositoryError>> {
        self.inner.branches()
    }
}

/// Somebody who does the work, well or badly.
pub(super) struct SimDiazotroph {
    pub(super) board: Arc<Board>,
    /// What a good answer is.
    pub(super) good: fn(&str) -> GenerationOutcome,
}

impl Diazotroph for SimDiazotroph {
    fn provider(&self) -> &str {
        "simulated"
    }

    fn answer_form(&self) -> AnswerForm {
        AnswerForm::Diff
    }

    fn generate<'a>(
        &'a self,
        request: GenerationRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Generation> + Send + 'a>> {
        Box::pin(async move {
            let outcome = match self.board.gate(Point::Diazotroph).await {
                Verdict::Go => (self.good)(request.prompt),
                // It never answers: its budget ends it.
                Verdict::GoSlowly => std::future::pending().await,
                Verdict::Refuse | Verdict::LoseAnswer | Verdict::LandLater => {
                    self.board.draw(|chance| bad(chance.below(7)))
                }
            };
            Generation { outcome, usage: Usage { requests: 1, ..Usage::default() }, sandbox_mode: None }
        })
    }
}

/// A good patch.
pub(super) fn patch(_prompt: &str) -> GenerationOutcome {
    GenerationOutcome::Text(PATCH.to_owned())
}

fn bad(which: usize) -> GenerationOutcome {
    let failed = |kind| GenerationOutcome::Failed { kind, reason: "so it was drawn".into() };
    match which {
        0 => GenerationOutcome::Text(format!("{BROKEN_PATCH} and more")),
        1 => GenerationOutcome::Text("Prose, {\"and\": [braces".into()),
        2 => GenerationOutcome::Text(String::new()),
        3 => failed(FailureKind::Setup),
        4 => failed(FailureKind::Unfinished),
        5 => GenerationOutcome::OverBudget { said: String::new() },
        _ => GenerationOutcome::Wait(Wait {
            reason: "quota".into(),
            time: Duration::from_secs(90),
            source: WaitSource::Provider,
        }),
    }
}
