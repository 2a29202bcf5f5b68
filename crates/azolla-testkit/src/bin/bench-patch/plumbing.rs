//! The same result by hand: the seven calls of git that an attempt cannot do without, and what most programs do
//! instead, a working tree.

use std::path::{Path, PathBuf};

use crate::{
    git::Git,
    origin::{Origin, PATCH},
};

/// A mirror of its own, for the seven calls.
pub(crate) struct Plumbing {
    mirror: PathBuf,
    round: usize,
}

impl Plumbing {
    pub(crate) fn new(git: &Git, mirror: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(mirror)?;
        git.run(mirror, ["init", "--quiet", "--bare", "."], b"")?;
        Ok(Self { mirror: mirror.to_owned(), round: 0 })
    }

    /// Fetches, applies in an index, commits and publishes.
    pub(crate) fn run(&mut self, git: &Git, origin: &Origin) -> anyhow::Result<()> {
        const BASE: &str = "refs/azolla/base/main";
        self.round += 1;
        let mirror = self.mirror.as_path();
        let index = mirror.join("bench-index");
        let branch = format!("refs/heads/bench/{}", self.round);
        let (here, there) = (mirror.to_string_lossy(), origin.path().to_string_lossy());
        git.run(mirror, fetch(&there, &format!("+refs/heads/main:{BASE}")), b"")?;
        git.run_on_index(mirror, &index, ["read-tree", BASE], b"")?;
        git.run_on_index(
            mirror,
            &index,
            ["apply", "--cached", "--whitespace=nowarn", "-"],
            PATCH.as_bytes(),
        )?;
        let tree = git.run_on_index(mirror, &index, ["write-tree"], b"")?;
        let commit = git.run(mirror, ["commit-tree", "-p", BASE, "-F", "-", &tree], b"Round half up\n")?;
        git.run(mirror, ["update-ref", &branch, &commit], b"")?;
        git.run(origin.path(), fetch(&here, &format!("{branch}:{branch}")), b"")?;
        std::fs::remove_file(index)?;
        Ok(())
    }
}

fn fetch<'a>(from: &'a str, refspec: &'a str) -> [&'a str; 8] {
    [
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-auto-maintenance",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        from,
        refspec,
    ]
}

/// Checks a branch out beside the repository, applies and commits there.
pub(crate) fn worktree(git: &Git, origin: &Origin, place: &Path, round: usize) -> anyhow::Result<()> {
    let branch = format!("worktree/{round}");
    let shown = place.to_string_lossy();
    git.run(origin.path(), ["worktree", "add", "--quiet", "-b", &branch, &shown, "main"], b"")?;
    git.run(place, ["apply", "--whitespace=nowarn", "-"], PATCH.as_bytes())?;
    git.run(place, ["commit", "--quiet", "--all", "--message", "Round half up"], b"").map(drop)
}

/// Takes that working tree away again.
pub(crate) fn remove_worktree(git: &Git, origin: &Origin, place: &Path) -> anyhow::Result<()> {
    git.run(origin.path(), ["worktree", "remove", "--force", &place.to_string_lossy()], b"").map(drop)
}
