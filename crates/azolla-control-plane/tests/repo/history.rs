//! P11 on real commits: each change of the project's own history, as edits, as an answer and as rebuilt.

use std::{
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use azolla_control_plane::repo::{
    Attempt, Candidate, GitRepository, PatchLimits, Repository, TakeError, Taken, Worktree,
};

use crate::{
    properties::round_trips,
    support::{Node, World, attempt},
};

/// Commits that a whole clone has at least; fewer are a clone of something else, and no proof.
const COMMITS_MIN: usize = 300;

/// Returns the repository whose history is tried: this one, or a larger one for the long form.
fn source() -> PathBuf {
    env::var_os("AZOLLA_ROUND_TRIPS_OF")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../.."), PathBuf::from)
}

/// One commit that is no merge, and what it stands on.
struct Change {
    commit: String,
    tree: String,
    base: String,
    /// As git shows it to everybody.
    text: Vec<u8>,
    /// What is at each path afterwards; nothing where it is gone.
    files: Vec<(String, Option<Node>)>,
}

/// P11, G-1: a real change is the same tree whichever way it came in, or is refused for a limit that it really exceeds.
#[tokio::test]
async fn p11_real_commits_are_the_same_tree_as_edits_as_text_and_as_rebuilt() {
    let world = World::in_memory();
    let commits = fetch_history(&world);
    let repository = world.open();
    repository.base("history").await.unwrap();
    let nothing = repository.base("nothing").await.unwrap();
    let mut trips = Trips { repository, files: None, exact: 0, refused: Vec::new() };
    for line in &commits {
        let mut ids = line.split(' ').map(str::to_owned);
        let (commit, tree) = (ids.next().unwrap(), ids.next().unwrap());
        let base = ids.next().filter(|base| !base.is_empty()).unwrap_or_else(|| nothing.clone());
        trips.make(Change::read(&world, commit, tree, base)).await;
    }
    println!("{} of {} commits are exact; refused: {:#?}", trips.exact, commits.len(), trips.refused);
    // A shallow clone of one commit has no change that is small enough: that is no proof either.
    assert!(trips.exact > 0, "no commit went round; does the clone have a history? {:#?}", trips.refused);
}

/// Brings the history here, and returns the newest of its commits without the merges, the older first: id, tree, parent.
fn fetch_history(world: &World) -> Vec<String> {
    let source = source();
    let (code, shallow) = world.run_in(&source, &["rev-parse", "--is-shallow-repository"]);
    assert_eq!(
        code,
        0,
        "{} is no clone, and this is tried on the history of one: {shallow}",
        source.display()
    );
    let place = source.to_str().unwrap();
    world.run(&["fetch", "--quiet", "--no-tags", "--update-shallow", place, "HEAD:refs/heads/history"]);
    // What the first commit stands on, and those at which a shallow clone ends.
    let empty = world.run(&["hash-object", "-t", "tree", "-w", "/dev/null"]);
    let nothing = world.run(&["commit-tree", "-m", "nothing", &empty]);
    world.run(&["update-ref", "refs/heads/nothing", &nothing]);
    let count = format!("--max-count={}", round_trips());
    let listed = world.run(&[
        "log",
        "--no-merges",
        "--topo-order",
        "--reverse",
        &count,
        "--format=%H %T %P",
        "history",
    ]);
    let commits: Vec<String> = listed.lines().map(str::to_owned).collect();
    let told = format!("{} has {} commits to try", source.display(), commits.len());
    if shallow.trim() == "true" {
        println!("{told}: it is a shallow clone, and `git fetch --unshallow` brings the others");
    } else {
        assert!(commits.len() >= COMMITS_MIN.min(round_trips()), "{told}, fewer than {COMMITS_MIN}");
    }
    commits
}

/// The round trips of a history, one after another.
struct Trips {
    repository: GitRepository,
    /// The worktree of the last commit whose edits were taken, which has exactly its files.
    files: Option<(String, Worktree)>,
    exact: usize,
    refused: Vec<String>,
}

impl Trips {
    /// Takes a change as edits and as an answer, and rebuilds what was stored.
    async fn make(&mut self, change: Change) {
        let attempt = attempt(&change.base);
        let edits = self.as_edits(&change, &attempt).await;
        let text = match std::str::from_utf8(&change.text) {
            Ok(text) => {
                let taken = self.repository.take(&attempt, Candidate::Text(text)).await;
                change.told(taken, &mut self.refused)
            }
            Err(_) => {
                self.refused.push(format!("{}: no answer can have it, it is no text", change.commit));
                None
            }
        };
        if let Some(taken) = edits.as_ref().or(text.as_ref()) {
            let rebuilt = self.repository.rebuild(&attempt, &taken.diff).await.unwrap();
            assert_eq!(&rebuilt, taken, "{}", change.commit);
        }
        if let (Some(edits), Some(text)) = (&edits, &text) {
            assert_eq!(edits, text, "{}", change.commit);
            self.exact += 1;
        }
    }

    async fn as_edits(&mut self, change: &Change, attempt: &Attempt) -> Option<Taken> {
        let worktree = match self.files.take() {
            // Two thousand files less to write, for most commits.
            Some((commit, worktree)) if commit == change.base => worktree,
            _ => self.repository.worktree(attempt).await.unwrap(),
        };
        change.write(worktree.path());
        let taken = self.repository.take(attempt, Candidate::Edits(&worktree)).await;
        let taken = change.told(taken, &mut self.refused);
        self.files = taken.is_some().then(|| (change.commit.clone(), worktree));
        taken
    }
}

impl Change {
    fn read(world: &World, commit: String, tree: String, base: String) -> Self {
        let text = world.ask_in(&world.repo, &["diff", "--end-of-options", &base, &commit], b"");
        let raw = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--end-of-options", &base, &commit];
        let raw = String::from_utf8(world.ask_in(&world.repo, &raw, b"")).expect("names are text");
        let fields: Vec<&str> = raw.split_terminator('\0').collect();
        let (mut paths, mut blobs) = (Vec::new(), Vec::new());
        for pair in fields.chunks(2) {
            let [_, mode, _, id, _] = pair[0].split(' ').collect::<Vec<_>>()[..] else { panic!("{raw}") };
            let is_there = mode != "000000";
            paths.push((pair[1].to_owned(), is_there));
            if is_there {
                blobs.push((mode, id));
            }
        }
        let mut nodes = world.nodes(&world.repo, &blobs).into_iter();
        let files = paths
            .into_iter()
            .map(|(path, is_there)| (path, is_there.then(|| nodes.next().unwrap())))
            .collect();
        Self { commit, tree, base, text, files }
    }

    /// Writes it into a directory that has the base.
    fn write(&self, files: &Path) {
        // What goes makes room first: a file may be where a directory was.
        for (path, _) in &self.files {
            match fs::remove_file(files.join(path)) {
                Err(error) if error.kind() != ErrorKind::NotFound => panic!("{path}: {error}"),
                _ => {}
            }
        }
        for (path, node) in &self.files {
            if let Some(node) = node {
                node.put(&files.join(path));
            }
        }
    }

    /// Holds what was taken to the commit's tree, and a refusal to what it says.
    fn told(&self, taken: Result<Taken, TakeError>, refused: &mut Vec<String>) -> Option<Taken> {
        match taken {
            Ok(taken) => {
                assert_eq!(taken.tree, self.tree, "{}", self.commit);
                assert_eq!(taken.left_out, None, "{}", self.commit);
                Some(taken)
            }
            Err(TakeError::NoChange) => {
                assert!(self.files.is_empty(), "{} changes something", self.commit);
                None
            }
            Err(TakeError::Refused { reason, .. }) => {
                assert!(self.justifies(&reason), "{}: {reason}", self.commit);
                refused.push(format!("{}: {reason}", self.commit));
                None
            }
            Err(error) => panic!("{}: {error}", self.commit),
        }
    }

    /// Tells whether a refusal is of a limit that the change is beyond, by another count than the repository's own.
    fn justifies(&self, reason: &str) -> bool {
        let limits = PatchLimits::default();
        let largest = self.files.iter().filter_map(|(_, node)| node.as_ref()).map(Node::bytes).max();
        let text = String::from_utf8_lossy(&self.text);
        (reason.contains("is binary") && text.contains("\nBinary files "))
            // An answer that leaves text out says so in such words; a test's own input may have them.
            || (reason.contains("has a placeholder") && text.contains("... existing code ..."))
            || (reason.contains("larger than") && self.text.len() as u64 > limits.bytes)
            || (reason.contains("for one file") && largest.unwrap_or(0) > limits.file_bytes)
            || (reason.contains("500 files") && self.files.len() as u64 > limits.files)
            || (reason.ends_with("is a device on Windows")
                && self.files.iter().any(|(path, _)| is_device(path)))
    }
}

fn is_device(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap().split('.').next().unwrap().to_ascii_lowercase();
    let is_numbered = name.len() == 4 && (name.starts_with("com") || name.starts_with("lpt"));
    ["con", "prn", "aux", "nul"].contains(&name.as_str()) || is_numbered
}
