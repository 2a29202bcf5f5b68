//! Edits that git cannot apply by itself: the files of the base are read, changed here, and given to git as an exact
//! diff, so that paths, links and modes go through the same checks as any other patch (T1 to T6).

use std::collections::{BTreeSet, HashMap};

use azolla_process::Capture;

use super::{
    Attempt, GitRepository, RepositoryError, TakeError, Taken,
    edit::{self, FileEdit, Tree},
    git::{Call, unavailable},
    refusal::Refusal,
};

/// Bytes of all paths of a commit.
const PATHS_BYTES: usize = 64 << 20;
/// Bytes of the files that one answer may change.
const FILES_BYTES: usize = 32 << 20;

impl GitRepository {
    /// Turns edits into a commit on the attempt's base, all or nothing.
    pub(super) async fn rewrite(&self, attempt: &Attempt, edits: Vec<FileEdit>) -> Result<Taken, TakeError> {
        let index = self.index_of(&attempt.base).await?;
        let tree = self.tree(&attempt.base).await?;
        let blobs = self.blobs(&tree, &edits).await?;
        // A large file takes a while, and the runtime has leases to renew meanwhile.
        let outcomes = tokio::task::spawn_blocking(move || edit::apply(&edits, &tree, &blobs));
        let outcomes = outcomes.await.map_err(|_| unavailable("the edits could not be applied"))??;
        if outcomes.is_empty() {
            return Err(TakeError::NoChange);
        }
        self.apply(index.path(), edit::render(&outcomes)).await?;
        let said: BTreeSet<&str> = outcomes.iter().map(|outcome| outcome.path.as_str()).collect();
        self.commit_index(attempt, index.path(), Some(&said)).await
    }

    /// Returns those of `names` that are files at the root of a commit.
    pub(super) async fn known_of(
        &self,
        commit: &str,
        names: &BTreeSet<&str>,
    ) -> Result<BTreeSet<String>, RepositoryError> {
        if names.is_empty() {
            return Ok(BTreeSet::new());
        }
        self.mirror.prepare()?;
        let tree = self.tree(commit).await?;
        Ok(names.iter().filter(|name| tree.get(name).is_some()).map(|name| (*name).to_owned()).collect())
    }

    async fn tree(&self, commit: &str) -> Result<Tree, RepositoryError> {
        let arguments = ["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit];
        let call = || Call::new(self.mirror.git_dir(), arguments).stdout(Capture::All(PATHS_BYTES));
        let listed = self.run_on(commit, call).await?.answer("ls-tree")?;
        Tree::read(&listed).ok_or_else(|| unavailable("git ls-tree printed a list that cannot be read"))
    }

    /// Returns the files of the base that the edits name.
    async fn blobs(&self, tree: &Tree, edits: &[FileEdit]) -> Result<HashMap<String, Vec<u8>>, TakeError> {
        let paths: BTreeSet<&str> = edits.iter().map(|edit| edit.path.as_str()).collect();
        let named: Vec<(&str, &str)> = paths
            .into_iter()
            .filter_map(|path| Some((path, tree.get(path)?)))
            // A submodule is an object of another repository.
            .filter(|(_, entry)| entry.mode != "160000")
            .map(|(path, entry)| (path, entry.id.as_str()))
            .collect();
        if named.is_empty() {
            return Ok(HashMap::new());
        }
        let input: String = named.iter().map(|(_, id)| format!("{id}\n")).collect();
        let call = Call::new(self.mirror.git_dir(), ["cat-file", "--batch"]).input(input);
        let output = self.git.run(call.stdout(Capture::All(FILES_BYTES))).await?;
        match output.code {
            Some(0) => split(&output.stdout, &named)
                .ok_or_else(|| unavailable("git cat-file printed something that cannot be read").into()),
            Some(_) => Err(unavailable(format!("git cat-file: {}", output.complaint())).into()),
            None => {
                let reason = format!("the files that the answer changes have more than {FILES_BYTES} bytes");
                Err(Refusal::whole(reason).into())
            }
        }
    }
}

/// Splits `<id> blob <size> LF <bytes> LF …` into the files.
fn split(mut output: &[u8], named: &[(&str, &str)]) -> Option<HashMap<String, Vec<u8>>> {
    let mut blobs = HashMap::new();
    for (path, id) in named {
        let end = output.iter().position(|byte| *byte == b'\n')?;
        let header = std::str::from_utf8(&output[..end]).ok()?;
        let size = header.strip_prefix(id)?.strip_prefix(" blob ")?.parse::<usize>().ok()?;
        let bytes = output.get(end + 1..)?.get(..size)?;
        blobs.insert((*path).to_owned(), bytes.to_vec());
        output = output.get(end + 1 + size + 1..)?;
    }
    Some(blobs)
}
