//! `azolla objective edit` (S-3, S-l).

use std::path::Path;

use azolla_control_plane::{
    operator::Changes,
    repo::{RepoRef, check_repo_ref},
};
use azolla_protocol::ObjectiveStatus;
use clap::Args;

use super::{Target, check_base, check_title, step};
use crate::{cli::text::given, config::AzollaConfig, failure::Failure, screen::remark};

/// Change an objective; a change of what was approved has to be approved again
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla objective edit 4k2 --urgency 1\n  azolla objective edit 4k2 --criteria - < criteria.txt"
)]
pub(super) struct Edit {
    #[command(flatten)]
    target: Target,

    /// One line that says what it is.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,

    /// What has to hold when it is done; - reads stdin.
    #[arg(long, short, value_name = "TEXT|-", allow_hyphen_values = true)]
    criteria: Option<String>,

    /// The branch that work starts from.
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,

    /// The repository, where it has moved: that of its azolla, a path or a URL.
    #[arg(long, value_name = "PATH|URL")]
    repo: Option<String>,

    /// 0 to 4, 0 is most important.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=4))]
    importance: Option<u8>,

    /// 0 to 4: 0 now, 1 a day, 2 a week, 3 a month, 4 no deadline.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=4))]
    urgency: Option<u8>,
}

impl Edit {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let given_any = self.title.is_some()
            || self.criteria.is_some()
            || self.base.is_some()
            || self.repo.is_some()
            || self.importance.is_some()
            || self.urgency.is_some();
        if !given_any {
            let hint = "name what changes: --title, --criteria, --base, --repo, --importance, --urgency";
            return Err(Failure::usage("there is nothing to change").hint(hint).into());
        }
        if let Some(title) = &self.title {
            check_title(title)?;
        }
        if let Some(base) = &self.base {
            check_base(base)?;
        }
        let found = self.target.find(home).await?;
        let repo_ref = self.repo.map(|repo| repo_ref(repo, &found.azolla)).transpose()?;
        let changes = Changes {
            title: self.title,
            acceptance_criteria: self.criteria.map(given).transpose()?,
            base_branch: self.base,
            repo_ref,
            importance: self.importance,
            urgency: self.urgency,
        };
        step(&found, async |operator| operator.edit(found.id(), changes).await).await?;
        let after = found.read().objective(found.id()).await?;
        let withdrawn = found.stored.objective.status == ObjectiveStatus::Todo
            && after.is_some_and(|after| after.objective.status == ObjectiveStatus::New);
        if withdrawn {
            remark(&format!("its approval is withdrawn; next: azolla objective approve {}", found.id()));
        }
        Ok(())
    }
}

/// Returns the repository as an objective names it: by an absolute path, and in the very words of the configuration if
/// that is what is meant, as the two are compared.
fn repo_ref(given: String, azolla: &AzollaConfig) -> anyhow::Result<String> {
    let path = match check_repo_ref(&given).map_err(Failure::misnamed)? {
        RepoRef::Url { url, .. } => return Ok(url),
        RepoRef::Path(path) => std::path::absolute(path)?,
    };
    let is_configured = |configured: &Path| match (configured.canonicalize(), path.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => configured == path,
    };
    if let (Some(repo), true) = (&azolla.repo, azolla.repo_path().is_some_and(is_configured)) {
        return Ok(repo.clone());
    }
    let path = path.to_str().ok_or_else(|| Failure::usage("the repository's path is not UTF-8"))?.to_owned();
    if azolla.repo.as_ref() != Some(&path) {
        let configured = azolla.repo.as_deref().unwrap_or("no repository");
        remark(&format!(
            "{} works on {configured}: nothing runs for {path} until its repo is that too",
            azolla.id
        ));
    }
    Ok(path)
}
