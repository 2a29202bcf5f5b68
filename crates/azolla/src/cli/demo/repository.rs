//! A small real repository with a real bug and a real check, made with git as a person would.

use std::{collections::BTreeMap, ffi::OsString, path::Path, time::Duration};

use anyhow::Context;
use azolla_process::{Bounds, Capture, Containment, Exit, Program, ResourceLimits};

use crate::deployment::git;

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
    let person = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Demo"));
    let address = ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "demo@localhost.invalid"));
    let fixed = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1"), ("LC_ALL", "C")];
    let mut environment: BTreeMap<OsString, OsString> = person
        .into_iter()
        .chain(address)
        .chain(fixed)
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    environment.insert("PATH".into(), std::env::var_os("PATH").unwrap_or_default());
    let program = Program {
        path: git()?,
        arguments: arguments.iter().map(OsString::from).collect(),
        directory: repo.to_owned(),
        environment,
        input: Vec::new(),
    };
    let bounds = Bounds {
        time: Some(Duration::from_secs(30)),
        grace: Duration::from_secs(1),
        stdout: Capture::Head(10_000),
        stderr: Capture::Head(10_000),
        containment: Containment::Group,
        limits: ResourceLimits::default(),
    };
    let finished = azolla_process::run(&program, &bounds).await?;
    let said = String::from_utf8_lossy(&finished.stderr.bytes);
    anyhow::ensure!(finished.exit == Exit::Code(0), "git {} failed: {}", arguments.join(" "), said.trim());
    Ok(())
}
