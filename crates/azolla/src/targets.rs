//! The azollas of this machine that take tickets, with some paths of their repositories: where triage looks for the place
//! that a note is about.

use std::time::Duration;

use azolla_control_plane::{
    Targets,
    repo::{GitRepository, Repository, RepositoryError},
};
use azolla_protocol::{AzollaId, AzollaType, content::TargetAzolla};
use azolla_substrate::BoxFuture;
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::deployment::Deployment;

/// Enough for a note that names a file, and little of a prompt.
const PATHS_MAX: usize = 300;

/// A repository that takes longer is left without its paths.
const TIME_MAX: Duration = Duration::from_secs(10);

/// The CODE_PATCH azollas of the registry.
pub(crate) struct LocalTargets(Vec<Target>);

struct Target {
    azolla_id: AzollaId,
    name: String,
    base_branch: String,
    repository: Option<GitRepository>,
}

impl LocalTargets {
    /// Takes them from the registry.
    pub(crate) fn new(deployment: &Deployment) -> Self {
        let all = deployment.config.azollas.iter();
        let targets = all.filter(|azolla| azolla.azolla_type == AzollaType::CodePatch).map(|azolla| Target {
            azolla_id: azolla.id.clone(),
            name: name_of(azolla.repo.as_deref().unwrap_or_default()).to_owned(),
            base_branch: azolla.base_branch.clone().unwrap_or_default(),
            // One that cannot be opened still has a name.
            repository: deployment.repository(azolla).ok(),
        });
        Self(targets.collect())
    }
}

impl Targets for LocalTargets {
    fn targets(&self) -> BoxFuture<'_, Vec<TargetAzolla>> {
        Box::pin(async move {
            join_all(self.0.iter().map(|target| async move {
                let paths = match &target.repository {
                    Some(repository) => timeout(TIME_MAX, paths(repository, &target.base_branch)).await,
                    None => Ok(Ok(Vec::new())),
                };
                TargetAzolla {
                    azolla_id: target.azolla_id.clone(),
                    azolla_type: AzollaType::CodePatch,
                    repository: target.name.clone(),
                    paths: paths.unwrap_or(Ok(Vec::new())).unwrap_or_default(),
                }
            }))
            .await
        })
    }
}

/// Returns the paths of files at a branch, those nearest to the root first.
async fn paths(repository: &GitRepository, branch: &str) -> Result<Vec<String>, RepositoryError> {
    let commit = repository.base(branch).await?;
    let described = repository.describe(&commit, &|_| Vec::new()).await?;
    let files = described.entries.iter().filter(|entry| entry.is_file());
    let mut paths: Vec<String> = files.map(|entry| entry.path.clone()).collect();
    paths.sort_by_key(|path| (path.matches('/').count(), path.clone()));
    paths.truncate(PATHS_MAX);
    Ok(paths)
}

/// Returns what a person calls a repository: the last part of its address.
fn name_of(repo: &str) -> &str {
    let last = repo.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    last.strip_suffix(".git").unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_called_by_the_last_part_of_its_address() {
        for (repo, name) in [
            ("/home/me/app", "app"),
            ("/home/me/app.git/", "app"),
            ("git@host:team/app.git", "app"),
            ("host:app", "app"),
            ("", ""),
        ] {
            assert_eq!(name_of(repo), name);
        }
    }
}
