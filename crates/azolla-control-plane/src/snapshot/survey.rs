//! A look at a commit with an objective in mind: its tree, and its files in the order of their relevance.

use crate::{
    repo::{Description, Repository, RepositoryError},
    snapshot::relevance::{Query, Ranking, candidates, rank},
};

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// The commit.
    pub description: Description,
    /// What was looked for.
    pub query: Query,
    /// Its files, the most relevant first.
    pub ranking: Ranking,
}

/// What is ranked in less time than another thread takes to wake up.
const SMALL_FILES: usize = 100;
const SMALL_BYTES: usize = 16 * 1024;

/// Looks at a commit that is in the mirror.
pub async fn survey(
    repository: &dyn Repository,
    commit: &str,
    query: Query,
) -> Result<Survey, RepositoryError> {
    let description = repository.describe(commit, &|entries| candidates(&query, entries)).await?;
    let is_small = description.entries.len() <= SMALL_FILES
        && description.texts.values().map(|text| text.len()).sum::<usize>() <= SMALL_BYTES;
    let rank = move || {
        let ranking = rank(&query, &description.entries, &description.texts);
        Survey { description, query, ranking }
    };
    if is_small {
        return Ok(rank());
    }
    // Megabytes of text take tenths of a second, which would hold up every lease on this thread.
    let ranked = tokio::task::spawn_blocking(rank);
    ranked.await.map_err(|error| RepositoryError::Unavailable(error.to_string()))
}
