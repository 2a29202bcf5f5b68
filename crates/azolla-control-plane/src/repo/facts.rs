//! What nearly every run asks of a commit: the list of its paths, and a few files.
//!
//! A commit never changes, so both are read once, at the same time, and kept together. The list also tells a path that
//! is not there from one that is there and cannot be read, which `git cat-file` does not.

use std::sync::Arc;

use azolla_process::Capture;

use super::{
    Description, GitRepository, Guide, RepositoryError,
    cat_file::{self, Blob, Found},
    git::Call,
    refusal::{escaped, visible},
};

/// Paths that [`Description`] lists.
const PATHS_MAX: usize = 10_000;
/// Bytes of all paths of a commit that are read to count them.
const PATHS_BYTES: usize = 64 << 20;
/// Bytes of a guide that a prompt may get.
const GUIDE_BYTES: usize = 64 << 10;
/// Files that nearly every run asks for, so that one call reads them all.
const KNOWN_FILES: [&str; 3] = [".azolla.toml", "AGENTS.md", "CLAUDE.md"];
/// Commits whose facts are kept.
const KEPT: usize = 4;

/// What is known of a commit.
#[derive(Debug)]
pub(super) struct Facts {
    paths: Vec<String>,
    files: u64,
    /// One for each of the known files.
    known: Vec<Found>,
}

impl GitRepository {
    pub(super) async fn describe_commit(&self, commit: &str) -> Result<Description, RepositoryError> {
        let facts = self.facts(commit).await?;
        let guides = KNOWN_FILES.into_iter().zip(&facts.known).skip(1);
        let guide = guides.into_iter().find_map(|(path, found)| match found {
            Found::File(blob) => {
                Some(Guide { path: path.to_owned(), blob: blob.id.clone(), text: blob.text(GUIDE_BYTES) })
            }
            Found::Nothing | Found::Other(_) => None,
        });
        Ok(Description { paths: facts.paths.clone(), files: facts.files, guide })
    }

    pub(super) async fn read_file(
        &self,
        commit: &str,
        path: &str,
        bytes_max: usize,
    ) -> Result<Option<Vec<u8>>, RepositoryError> {
        let found = match KNOWN_FILES.iter().position(|known| *known == path) {
            Some(n) => match self.facts(commit).await?.known[n].clone() {
                // Only its beginning is kept.
                Found::File(blob) if !blob.is_whole() && blob.size <= bytes_max as u64 => {
                    self.look_up(commit, path, bytes_max).await?
                }
                found => found,
            },
            None => self.look_up(commit, path, bytes_max).await?,
        };
        match found {
            Found::Nothing => Ok(None),
            Found::File(blob) => whole(blob, bytes_max).map(Some).ok_or_else(|| {
                unreadable(commit, path, bytes_max, &format!("is larger than {bytes_max} bytes"))
            }),
            Found::Other(what) => Err(unreadable(commit, path, bytes_max, what)),
        }
    }

    /// Returns what is at a path that is asked for seldom.
    async fn look_up(&self, commit: &str, path: &str, keep: usize) -> Result<Found, RepositoryError> {
        self.mirror.prepare()?;
        let found = cat_file::read(&self.git, self.mirror.git_dir(), commit, &[path], keep).await?.remove(0);
        if found != Found::Nothing {
            return Ok(found);
        }
        // A commit that is not in the mirror is an error here, not a commit without the path.
        let arguments = ["ls-tree", "-z", "--name-only", "--end-of-options", commit, "--", path];
        let names = self.git.answer(Call::new(self.mirror.git_dir(), arguments)).await?;
        Ok(or_hidden(found, !names.is_empty()))
    }

    async fn facts(&self, commit: &str) -> Result<Arc<Facts>, RepositoryError> {
        if let Some(facts) = self.facts.lock().expect("no holder of this lock panics").get(commit) {
            return Ok(Arc::clone(facts));
        }
        self.mirror.prepare()?;
        let git_dir = self.mirror.git_dir();
        let names = Call::new(git_dir, ["ls-tree", "-r", "-z", "--name-only", "--end-of-options", commit])
            .stdout(Capture::Head(PATHS_BYTES));
        let (names, known) = tokio::join!(
            self.git.answer(names),
            cat_file::read(&self.git, git_dir, commit, &KNOWN_FILES, GUIDE_BYTES)
        );
        let facts = Arc::new(Facts::new(&names?, known?));
        let mut kept = self.facts.lock().expect("no holder of this lock panics");
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(commit.to_owned(), Arc::clone(&facts));
        Ok(facts)
    }
}

impl Facts {
    /// Puts together what `git ls-tree` listed and what is at the known paths.
    fn new(names: &[u8], known: Vec<Found>) -> Self {
        let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let is_listed = |path: &str| names.clone().any(|name| name == path.as_bytes());
        let known = KNOWN_FILES.iter().zip(known).map(|(path, found)| match found {
            Found::Nothing => or_hidden(found, is_listed(path)),
            found => found,
        });
        let known = known.collect();
        // T21: a path cannot forge a line of a prompt.
        let paths = names.clone().take(PATHS_MAX).map(|name| escaped(&String::from_utf8_lossy(name)));
        Self { paths: paths.collect(), files: names.clone().count() as u64, known }
    }
}

/// Returns what a path is that cannot be read, once it is known whether the tree lists it.
fn or_hidden(found: Found, is_listed: bool) -> Found {
    if is_listed { Found::Other("is a submodule, or an object that the mirror does not have") } else { found }
}

fn whole(blob: Blob, bytes_max: usize) -> Option<Vec<u8>> {
    (blob.size <= bytes_max as u64 && blob.is_whole()).then_some(blob.bytes)
}

/// Fails closed: the operator is told what is in the way.
fn unreadable(commit: &str, path: &str, bytes_max: usize, what: &str) -> RepositoryError {
    let short = commit.get(..12).unwrap_or(commit);
    RepositoryError::Unusable {
        what: format!("{} at {short} {what}", visible(path)),
        action: format!("Make {} a file of at most {bytes_max} bytes", visible(path)),
    }
}
