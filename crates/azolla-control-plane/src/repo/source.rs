//! Finds the operator's repository on disk and tells what holds one of its branches. Reads a few small files; runs
//! nothing and writes nothing.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use super::RepositoryError;

/// A repository on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// Where its refs and objects are: `.git`, or the directory of a bare repository.
    pub(super) common_dir: PathBuf,
    /// Whether it has no working tree of its own.
    pub(super) bare: bool,
    /// Whether its history is cut off.
    pub(super) shallow: bool,
    /// Whether its refs are in a table, which only git can read.
    pub(super) reftable: bool,
}

/// Returns the repository that contains `path`.
pub(super) fn find(path: &Path) -> Result<Source, RepositoryError> {
    let unusable = |what: String, action: String| RepositoryError::Unusable { what, action };
    let shown = path.display();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => {
            return Err(unusable(
                format!("{shown} is a file"),
                "give the directory of a repository".to_owned(),
            ));
        }
        Err(error) => {
            let action = "mount or restore it, or give the repository's new place in the configuration";
            return Err(unusable(format!("{shown} cannot be read ({error})"), action.to_owned()));
        }
    }
    path.ancestors().find_map(at).ok_or_else(|| {
        unusable(
            format!("{shown} is not in a git repository"),
            format!("make it one (git init {shown}), or give another path"),
        )
    })
}

/// What holds a branch, so that it is not to be moved (G-2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// The working tree.
    pub(super) work_tree: PathBuf,
    /// How.
    pub(super) how: &'static str,
}

/// Returns what holds a branch: a working tree on it, born or not, or a rebase or bisection that began there.
pub(super) fn holder(source: &Source, branch_ref: &str) -> Option<Held> {
    let main = (!source.bare).then(|| source.common_dir.clone());
    let linked = fs::read_dir(source.common_dir.join("worktrees")).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = main.into_iter().chain(linked.map(|entry| entry.path())).collect();
    all.sort();
    all.into_iter().find_map(|git_dir| {
        let how = hold(&git_dir, branch_ref)?;
        Some(Held { work_tree: work_tree_of(source, &git_dir), how })
    })
}

/// Returns what the log of a branch says of its last step; none where there is no log, or git has emptied it, as it does with time.
pub(super) fn last_step(source: &Source, branch_ref: &str) -> io::Result<Option<String>> {
    /// More than a step takes: a name, an address, a time and a line.
    const TAIL_BYTES: u64 = 4096;
    let mut log = match File::open(source.common_dir.join("logs").join(branch_ref)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        log => log?,
    };
    let length = log.metadata()?.len();
    log.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut tail = Vec::new();
    log.take(TAIL_BYTES).read_to_end(&mut tail)?;
    let tail = String::from_utf8_lossy(&tail);
    // A step without a word has no tab in its line.
    let what = |line: &str| line.split_once('\t').map(|(_, what)| what.to_owned()).unwrap_or_default();
    Ok(tail.lines().next_back().map(what))
}

fn at(directory: &Path) -> Option<Source> {
    let dot_git = directory.join(".git");
    if is_git_dir(&dot_git) {
        return Some(source(dot_git, false));
    }
    if let Some(git_dir) =
        small(&dot_git).and_then(|text| Some(text.strip_prefix("gitdir:")?.trim().to_owned()))
    {
        let git_dir = directory.join(git_dir);
        let common = small(&git_dir.join("commondir")).map(|text| git_dir.join(text.trim()));
        let common = common.and_then(|common| common.canonicalize().ok()).unwrap_or(git_dir);
        // A worktree of a bare repository has a bare common directory; a submodule's is below `modules`.
        return own_source(&common);
    }
    // Not bare for its name alone: its working tree may be elsewhere.
    own_source(directory)
}

/// The repository whose directory this is, bare if it says so.
fn own_source(git_dir: &Path) -> Option<Source> {
    let is_bare = || small(&git_dir.join("config")).is_some_and(|text| says_bare(&text));
    is_git_dir(git_dir).then(|| source(git_dir.to_owned(), is_bare()))
}

fn source(common_dir: PathBuf, bare: bool) -> Source {
    let (shallow, reftable) = (common_dir.join("shallow").is_file(), common_dir.join("reftable").is_dir());
    Source { common_dir, bare, shallow, reftable }
}

fn is_git_dir(path: &Path) -> bool {
    path.join("HEAD").symlink_metadata().is_ok()
        && path.join("objects").is_dir()
        && path.join("refs").exists()
}

fn says_bare(config: &str) -> bool {
    config.lines().any(|line| line.split_whitespace().collect::<String>().eq_ignore_ascii_case("bare=true"))
}

fn hold(git_dir: &Path, branch_ref: &str) -> Option<&'static str> {
    let is = |file: &str| small(&git_dir.join(file)).is_some_and(|text| text.trim() == branch_ref);
    if small(&git_dir.join("HEAD"))?.strip_prefix("ref:").is_some_and(|name| name.trim() == branch_ref) {
        return Some("has it checked out");
    }
    if is("rebase-merge/head-name") || is("rebase-apply/head-name") {
        return Some("is rebasing it");
    }
    let moved_along = small(&git_dir.join("rebase-merge/update-refs"));
    if moved_along.is_some_and(|text| text.lines().any(|line| line.trim() == branch_ref)) {
        return Some("is rebasing it along with another branch");
    }
    let bisected = small(&git_dir.join("BISECT_START"));
    let short = branch_ref.trim_start_matches("refs/heads/");
    bisected.is_some_and(|text| [short, branch_ref].contains(&text.trim())).then_some("is bisecting it")
}

fn work_tree_of(source: &Source, git_dir: &Path) -> PathBuf {
    let file = if *git_dir == source.common_dir {
        Some(git_dir.to_owned())
    } else {
        small(&git_dir.join("gitdir")).map(|text| git_dir.join(text.trim()))
    };
    file.as_deref().and_then(Path::parent).unwrap_or(git_dir).to_owned()
}

/// Returns a small text file; none if it is not one.
fn small(path: &Path) -> Option<String> {
    let is_small =
        fs::metadata(path).ok().is_some_and(|metadata| metadata.is_file() && metadata.len() < 1 << 20);
    if is_small { fs::read_to_string(path).ok() } else { None }
}
