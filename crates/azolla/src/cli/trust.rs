//! `azolla trust`: shows the repository's own settings, as they are in the base commit, and pins them.

use std::{
    io::{IsTerminal, Write},
    path::Path,
    process::ExitCode,
};

use azolla_control_plane::repo::Repository;
use azolla_protocol::{AzollaType, Clock};
use azolla_substrate::SystemClock;
use clap::Args;
use serde_json::json;

use super::Which;
use crate::{
    config::{REPOSITORY_FILE, REPOSITORY_FILE_BYTES_MAX, RepositoryFile},
    deployment::Deployment,
    failure::Failure,
    home::Home,
    screen::{self, PLAIN, Page, STRONG, remark},
};

/// Show the repository's .azolla.toml and let it count
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla trust          shows it, and asks\n  azolla trust --yes    pins it as it is now\n\n\
                        It is read from the base branch. Once it changes there, it counts only after you look again."
)]
pub(crate) struct Trust {
    /// Pin it without asking.
    #[arg(long)]
    yes: bool,

    /// Print one JSON document instead of text; pins only with --yes.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    which: Which,
}

impl Trust {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let deployment = Deployment::load(home)?;
        let azolla = deployment.one(self.which.azolla.as_ref(), AzollaType::CodePatch)?;
        let (repo, branch) =
            (azolla.repo.as_deref().unwrap_or(""), azolla.base_branch.as_deref().unwrap_or(""));
        let repository = deployment.repository(azolla)?;
        let commit = repository.base(branch).await?;
        let file = repository.file(&commit, REPOSITORY_FILE, REPOSITORY_FILE_BYTES_MAX).await?;
        let Some(bytes) = file else {
            let what = format!("{repo} has no {REPOSITORY_FILE} on {branch}");
            return Err(Failure::not_found(what).hint("nothing has to be trusted").into());
        };
        let store = Home::open(&deployment.place.home_store())?;
        let already = store.pinned(repo)?.as_deref() == Some(&bytes);
        let text = String::from_utf8_lossy(&bytes);
        if !self.json {
            let mut page = Page::default();
            page.line(STRONG, &format!("{REPOSITORY_FILE} of {repo}, {branch} at {commit}"))
                .block("  ", PLAIN, &text);
            page.show()?;
        }
        // What cannot be read is shown, and never pinned.
        RepositoryFile::parse(&bytes)?;
        let pins = !already && (self.yes || (!self.json && agreed()?));
        if pins {
            store.pin(repo, &bytes, SystemClock.now())?;
        }
        if self.json {
            let data = json!({"repo": repo, "base_branch": branch, "commit_sha": commit, "file": text,
                              "trusted": already || pins});
            screen::show_json("trust", data)?;
        } else if already {
            remark("it is trusted already");
        } else if pins {
            remark("it counts from now on");
        } else {
            remark("it does not count");
        }
        Ok(if already || pins { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Asks on the terminal; where there is none, nobody has agreed.
fn agreed() -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage("nobody is here to ask").hint("azolla trust --yes").into());
    }
    write!(std::io::stderr(), "Let it count? [y/N] ")?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
