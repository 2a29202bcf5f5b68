//! `azolla trust`: shows the repository's own settings, as they are in the base commit, and pins them.

use std::{
    io::{IsTerminal, Write},
    path::Path,
    process::ExitCode,
};

use azolla_control_plane::repo::{GitRepository, Repository, check_branch};
use azolla_protocol::{AzollaType, Clock, ObjectiveStatus};
use azolla_substrate::SystemClock;
use clap::Args;
use serde_json::json;

use super::Which;
use crate::{
    actions,
    config::{AzollaConfig, REPOSITORY_FILE, REPOSITORY_FILE_BYTES_MAX, RepositoryFile},
    deployment::Deployment,
    failure::Failure,
    home::{Home, Pin},
    screen::{self, PLAIN, Page, STRONG, quoted, remark},
};

/// Show the repository's .azolla.toml and let it count
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla trust                     shows it, and asks\n  \
                  azolla trust --yes               pins it as it is now\n  \
                  azolla trust --base release-1    that of objectives which start from another branch\n\n\
                  It is read from the base branch. Once it changes there, it counts only after you look again.\n\
                  What you pin for one branch leaves the others as they are.")]
pub(crate) struct Trust {
    /// The branch to read it from, if not the azolla's own base.
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,

    /// Pin it without asking.
    #[arg(long)]
    yes: bool,

    /// Print one JSON document instead of text; pins only with --yes.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    which: Which,
}

impl Trust {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let deployment = Deployment::load(home)?;
        let azolla = deployment.one(self.which.azolla.as_ref(), AzollaType::CodePatch)?;
        let (repo, own) = (azolla.repo.as_deref().unwrap_or(""), azolla.base_branch.as_deref().unwrap_or(""));
        let repository = deployment.repository(azolla)?;
        let branch = match &self.base {
            Some(base) => {
                is_there(&repository, repo, base).await?;
                base
            }
            None => own,
        };
        let commit = repository.base(branch).await?;
        let file = repository.file(&commit, REPOSITORY_FILE, REPOSITORY_FILE_BYTES_MAX).await?;
        let Some(bytes) = file else {
            let what = format!("{repo} has no {REPOSITORY_FILE} on {branch}");
            return Err(Failure::not_found(what).hint("nothing has to be trusted").into());
        };
        let mut store = Home::open(&deployment.place.home_store())?;
        let already = store.is_pinned(repo, &bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        if !self.json {
            let mut page = Page::default();
            let short = commit.get(..12).unwrap_or(&commit);
            page.line(STRONG, &format!("{REPOSITORY_FILE} of {repo}, {branch} at {short}"))
                .verbatim("  ", PLAIN, &text);
            page.show()?;
        }
        // What cannot be read is shown, and never pinned.
        RepositoryFile::parse(&bytes)?;
        // What is trusted already is kept for this branch too: what another one has may be replaced. Where this one has
        // another file, work that began with it still needs that: only the operator replaces it.
        let is_kept = store.pinned(repo, own, branch)?.is_none_or(|pinned| pinned == bytes);
        let is_news = !already || !is_kept;
        let pins = match already {
            _ if self.yes => true,
            _ if self.json => false,
            true if is_kept => true,
            true if !std::io::stdin().is_terminal() => false,
            _ => self.agreed()?,
        };
        if pins {
            let pin = Pin { base_branch: branch, file: &bytes, at: SystemClock.now() };
            store.pin(repo, own, &pin)?;
        }
        let trusted = already || pins;
        let next = if trusted { waiting(&deployment, azolla, branch).await? } else { Vec::new() };
        if self.json {
            let data = json!({"repo": repo, "base_branch": branch, "commit_sha": commit, "file": text,
                              "trusted": trusted, "next": next});
            screen::show_json("trust", data)?;
        } else {
            remark(match (pins, already) {
                (true, _) if is_news => "it counts from now on",
                (true, _) => "it is trusted already",
                (false, true) => {
                    "it is trusted already, as that of another branch; --yes pins it for this one"
                }
                (false, false) => "it does not count",
            });
            for command in &next {
                remark(&format!("next: {command}"));
            }
        }
        Ok(if trusted { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Asks on the terminal; where there is none, nobody has agreed.
    fn agreed(&self) -> anyhow::Result<bool> {
        if !std::io::stdin().is_terminal() {
            let azolla = self.which.azolla.as_ref().map(|id| format!(" --azolla {id}")).unwrap_or_default();
            let base = self.base.as_ref().map(|base| format!(" --base {}", quoted(base))).unwrap_or_default();
            let hint = format!("azolla trust{azolla}{base} --yes");
            return Err(Failure::usage("nobody is here to ask").hint(hint).into());
        }
        write!(std::io::stderr(), "Let it count? [y/N] ")?;
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }
}

/// Refuses a branch that is not there, which would otherwise be put down to the configuration.
async fn is_there(repository: &GitRepository, repo: &str, base: &String) -> anyhow::Result<()> {
    check_branch(base).map_err(Failure::misnamed)?;
    let there = repository.bases().await?;
    match there.first() {
        Some(first) if !there.contains(base) => {
            let hint = format!("azolla trust --base {}", quoted(first));
            Err(Failure::not_found(format!("{repo} has no branch {base}")).hint(hint).into())
        }
        _ => Ok(()),
    }
}

/// Returns the commands that let those objectives go on that only waited for this: each starts from its own base.
async fn waiting(
    deployment: &Deployment,
    azolla: &AzollaConfig,
    branch: &str,
) -> anyhow::Result<Vec<String>> {
    let store = deployment.open(azolla).await?;
    let mut commands = Vec::new();
    for pause in store.read().current_pause_states().await? {
        let Some(stored) = store.read().objective(&pause.objective_id).await? else { continue };
        let is_of_it = actions::base_branch(&stored.objective) == Some(branch);
        if is_of_it && stored.objective.status == ObjectiveStatus::Blocked && actions::waits_for_trust(&pause)
        {
            commands.push(actions::continuing(&stored.objective, Some(&pause)));
        }
    }
    Ok(commands)
}
