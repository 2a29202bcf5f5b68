//! The operator's repository of a benchmark: generated, with a base branch that moves on before every round, so that
//! nothing is saved that a real objective would not find saved either.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use crate::git::Git;

/// How many files it has.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) directories: usize,
    pub(crate) files_each: usize,
}

/// A repository with one branch, `main`.
pub(crate) struct Origin {
    path: PathBuf,
    moves: usize,
}

/// Changes one line of the file in the middle of the first directory.
pub(crate) const PATCH: &str = "diff --git a/d000/f0001.txt b/d000/f0001.txt\n--- a/d000/f0001.txt\n\
    +++ b/d000/f0001.txt\n@@ -1,4 +1,4 @@\n file 1 of directory 0\n-line 1\n+line one\n line 2\n line 3\n";

impl Origin {
    /// Generates it.
    pub(crate) fn new(git: &Git, path: &Path, shape: Shape) -> anyhow::Result<Self> {
        std::fs::create_dir_all(path)?;
        git.run(path, ["init", "--quiet", "--initial-branch=main", "."], b"")?;
        git.run(path, ["fast-import", "--quiet"], stream(shape).as_bytes())?;
        Ok(Self { path: path.to_owned(), moves: 0 })
    }

    /// Returns where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the base branch on by one commit.
    pub(crate) fn move_on(&mut self, git: &Git) -> anyhow::Result<()> {
        self.moves += 1;
        let content = format!("{}\n", self.moves);
        let input = format!(
            "commit refs/heads/main\ncommitter bench <bench@localhost.invalid> {at} +0000\ndata 7\nMove on\n\
             from refs/heads/main^0\nM 100644 inline moves.txt\ndata {}\n{content}\n",
            content.len(),
            at = 1_700_000_000 + self.moves,
        );
        git.run(&self.path, ["fast-import", "--quiet", "--force"], input.as_bytes()).map(drop)
    }
}

/// All files in one commit, as `git fast-import` reads it.
fn stream(shape: Shape) -> String {
    let mut text = String::from(
        "commit refs/heads/main\ncommitter bench <bench@localhost.invalid> 1700000000 +0000\ndata 6\nFiles\n",
    );
    for directory in 0..shape.directories {
        for file in 0..shape.files_each {
            let mut content = format!("file {file} of directory {directory}\n");
            for line in 1..20 {
                // Writing to a string cannot fail.
                let _ = writeln!(content, "line {line}");
            }
            let _ = write!(
                text,
                "M 100644 inline d{directory:03}/f{file:04}.txt\ndata {}\n{content}\n",
                content.len()
            );
        }
    }
    text
}
