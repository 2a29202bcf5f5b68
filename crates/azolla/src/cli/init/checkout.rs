//! The repository around a directory, and its default branch, read from git's own files. Where refs are not in files
//! (reftable), git itself is asked; it runs nothing of the repository's for that.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use azolla_process::Exit;

use crate::git;

/// A repository that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Checkout {
    /// Its working tree, or itself if it is bare.
    pub(super) root: PathBuf,
    git: PathBuf,
}

impl Checkout {
    /// Finds the repository that holds `directory`.
    pub(super) fn around(directory: &Path) -> Option<Self> {
        let directory = directory.canonicalize().ok()?;
        directory.ancestors().find_map(Self::at)
    }

    fn at(directory: &Path) -> Option<Self> {
        let root = directory.to_owned();
        let inside = directory.join(".git");
        if inside.join("HEAD").is_file() {
            return Some(Self { root, git: inside });
        }
        if inside.is_file() {
            // A linked working tree or a submodule: its own HEAD is where the file says.
            let text = std::fs::read_to_string(&inside).ok()?;
            let git = directory.join(text.strip_prefix("gitdir:")?.trim());
            return git.join("HEAD").is_file().then_some(Self { root, git });
        }
        let bare = directory.join("HEAD").is_file()
            && directory.join("objects").is_dir()
            && directory.join("refs").is_dir();
        bare.then(|| Self { git: root.clone(), root })
    }

    /// Returns the branch that others start from: that of `origin` if it is here too, else the one checked out.
    pub(super) async fn base_branch(&self) -> anyhow::Result<Option<String>> {
        if self.common().join("reftable").is_dir() {
            return self.base_branch_by_git().await;
        }
        let origin = points_to(&self.common().join("refs/remotes/origin/HEAD"), ORIGIN);
        Ok(origin.filter(|branch| self.has(branch)).or_else(|| points_to(&self.git.join("HEAD"), HEADS)))
    }

    async fn base_branch_by_git(&self) -> anyhow::Result<Option<String>> {
        let origin = self.ask(&["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"]).await?;
        if let Some(branch) = origin.as_deref().and_then(|name| name.strip_prefix(ORIGIN)) {
            let name = format!("{HEADS}{branch}");
            if self.ask(&["rev-parse", "--quiet", "--verify", &name]).await?.is_some() {
                return Ok(Some(branch.to_owned()));
            }
        }
        let head = self.ask(&["symbolic-ref", "--quiet", "HEAD"]).await?;
        Ok(head.and_then(|name| name.strip_prefix(HEADS).map(str::to_owned)))
    }

    /// Lists the branches. git looks at no commit for that, which it might have to fetch.
    pub(super) async fn branches(&self) -> anyhow::Result<Vec<String>> {
        let names = self.ask(&["for-each-ref", "--format=%(refname)", HEADS]).await?.unwrap_or_default();
        Ok(names.lines().filter_map(|name| name.strip_prefix(HEADS)).map(str::to_owned).collect())
    }

    /// Returns what git answers with; none if it has none.
    async fn ask(&self, arguments: &[&str]) -> anyhow::Result<Option<String>> {
        let mut directory = OsString::from("--git-dir=");
        directory.push(&self.git);
        let arguments = std::iter::once(directory).chain(arguments.iter().map(OsString::from)).collect();
        let finished = git::run(&self.root, arguments, &[]).await?;
        let answer = String::from_utf8_lossy(&finished.stdout.bytes).trim().to_owned();
        Ok((finished.exit == Exit::Code(0) && !answer.is_empty()).then_some(answer))
    }

    fn has(&self, branch: &str) -> bool {
        let name = format!("refs/heads/{branch}");
        let packed = std::fs::read_to_string(self.common().join("packed-refs")).unwrap_or_default();
        self.common().join(&name).is_file()
            || packed.lines().any(|line| line.split_once(' ').is_some_and(|(_, found)| found == name))
    }

    /// Returns where the branches are: a linked working tree shares them.
    fn common(&self) -> PathBuf {
        match std::fs::read_to_string(self.git.join("commondir")) {
            Ok(text) => self.git.join(text.trim()),
            Err(_) => self.git.clone(),
        }
    }
}

const HEADS: &str = "refs/heads/";
const ORIGIN: &str = "refs/remotes/origin/";

/// Reads a symbolic ref below `prefix`.
fn points_to(file: &Path, prefix: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    Some(text.strip_prefix("ref:")?.trim().strip_prefix(prefix)?.to_owned())
}
