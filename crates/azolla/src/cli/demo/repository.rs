//! A small real repository with a real bug and a real check, made with git as a person would.

use std::{ffi::OsString, path::Path};

use anyhow::Context;
use azolla_process::Exit;

use crate::git;

const FILES: [(&str, &str); 3] = [
    ("share.sh", include_str!("share.sh.txt")),
    ("check.sh", include_str!("check.sh.txt")),
    (".azolla.toml", "checks = [{ name = \"shares\", command = [\"sh\", \"check.sh\"] }]\n"),
];

/// Makes the repository, with one commit on `main`.
pub(super) async fn make(repo: &Path) -> anyhow::Result<()> {
    std::fs::create_dir(repo).with_context(|| format!("{} cannot be made", repo.display()))?;
    for (name, text) in FILES {
        std::fs::write(repo.join(name), text)?;
    }
    run(repo, &["init", "--quiet", "--initial-branch=main"]).await?;
    run(repo, &["add", "--all"]).await?;
    run(repo, &["commit", "--quiet", "--message", "Share a sum"]).await
}

async fn run(repo: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let person = [
        ("GIT_AUTHOR_NAME", "Demo"),
        ("GIT_AUTHOR_EMAIL", "demo@localhost.invalid"),
        ("GIT_COMMITTER_NAME", "Demo"),
        ("GIT_COMMITTER_EMAIL", "demo@localhost.invalid"),
    ];
    let finished = git::run(repo, arguments.iter().map(OsString::from).collect(), &person).await?;
    let said = String::from_utf8_lossy(&finished.stderr.bytes);
    anyhow::ensure!(finished.exit == Exit::Code(0), "git {} failed: {}", arguments.join(" "), said.trim());
    Ok(())
}
