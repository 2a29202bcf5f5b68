//! The repository around a directory, and its default branch, read from git's own files. The program itself is not
//! needed for that, and a repository's configuration is never obeyed here.

use std::path::{Path, PathBuf};

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
    pub(super) fn base_branch(&self) -> Option<String> {
        let origin = points_to(&self.common().join("refs/remotes/origin/HEAD"), "refs/remotes/origin/");
        origin.filter(|branch| self.has(branch)).or_else(|| points_to(&self.git.join("HEAD"), "refs/heads/"))
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

/// Reads a symbolic ref below `prefix`.
fn points_to(file: &Path, prefix: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let branch = text.strip_prefix("ref:")?.trim().strip_prefix(prefix)?;
    // The format without files for refs keeps this in HEAD's place.
    (branch != ".invalid").then(|| branch.to_owned())
}
