//! A repository of an operator, a mirror of ours, and shorthands.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    io::{Seek, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use azolla_control_plane::repo::{
    Attempt, Candidate, GitRepository, GitSettings, PatchLimits, Repository, TakeError, Taken,
};
use azolla_protocol::{ObjectiveId, Timestamp, WorkOrderId};
use tempfile::TempDir;

/// Every git program that this machine has, of two places; at least one.
pub(crate) fn gits() -> Vec<PathBuf> {
    let places = ["/usr/local/bin/git", "/usr/bin/git"];
    let found: Vec<PathBuf> = places.into_iter().map(PathBuf::from).filter(|path| path.is_file()).collect();
    assert!(!found.is_empty(), "git is needed at one of {places:?}");
    found
}

/// An operator's repository with one commit on `main`, and a place for a mirror.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) git: PathBuf,
    pub(crate) repo: PathBuf,
}

impl World {
    /// Returns a world per git program.
    pub(crate) fn all() -> Vec<Self> {
        gits().into_iter().map(Self::with).collect()
    }

    pub(crate) fn new() -> Self {
        Self::with(gits().remove(0))
    }

    /// Returns a world in memory, where there is room in it, for what makes very many files.
    pub(crate) fn in_memory() -> Self {
        let dir = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
        Self::at(gits().remove(0), dir)
    }

    fn with(git: PathBuf) -> Self {
        Self::at(git, tempfile::tempdir().unwrap())
    }

    fn at(git: PathBuf, dir: TempDir) -> Self {
        let repo = dir.path().join("operator");
        fs::create_dir(&repo).unwrap();
        let world = Self { dir, git, repo };
        world.run(&["init", "-q", "-b", "main"]);
        for (key, value) in
            [("user.name", "Op"), ("user.email", "op@example.org"), ("commit.gpgsign", "false")]
        {
            world.run(&["config", key, value]);
        }
        world.write("a.txt", "one\ntwo\nthree\n");
        world.write("sub/b.txt", "b\n");
        world.commit("begin");
        world
    }

    /// Runs git in the operator's repository.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let (code, out) = self.run_in(&self.repo, arguments);
        assert_eq!(code, 0, "git {arguments:?}: {out}");
        out.trim_end().to_owned()
    }

    pub(crate) fn run_in(&self, directory: &Path, arguments: &[&str]) -> (i32, String) {
        let output = self.git_in(directory, arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
    }

    /// Runs git in a directory with `input`, and returns exactly what it printed.
    pub(crate) fn ask_in(&self, directory: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(input).unwrap();
        file.rewind().unwrap();
        let output = self.git_in(directory, arguments).stdin(file).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Returns what modes and blobs of the repository in a directory stand for, byte by byte.
    pub(crate) fn nodes(&self, directory: &Path, blobs: &[(&str, &str)]) -> Vec<Node> {
        let ids: String = blobs.iter().map(|(_, id)| format!("{id}\n")).collect();
        let answer = self.ask_in(directory, &["cat-file", "--batch=%(objectsize)"], ids.as_bytes());
        let mut rest = answer.as_slice();
        let mut next = || {
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
            let size: usize = std::str::from_utf8(&rest[..end]).unwrap().parse().unwrap();
            let content = rest[end + 1..][..size].to_vec();
            rest = &rest[end + 1 + size + 1..];
            content
        };
        let node = |(mode, _): &(&str, &str)| match *mode {
            "100644" => Node::File(next()),
            "100755" => Node::Executable(next()),
            "120000" => Node::Link(next()),
            mode => panic!("mode {mode}"),
        };
        blobs.iter().map(node).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "the operator's own git, not ours")]
    fn git_in(&self, directory: &Path, arguments: &[&str]) -> std::process::Command {
        let mut git = std::process::Command::new(&self.git);
        git.args(arguments)
            .current_dir(directory)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_EDITOR", "true");
        git
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.repo.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn commit(&self, message: &str) {
        self.run(&["add", "-A"]);
        self.run(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    pub(crate) fn mirror(&self) -> PathBuf {
        self.dir.path().join("mirror.git")
    }

    pub(crate) fn settings(&self) -> GitSettings {
        GitSettings {
            repo: self.repo.to_str().unwrap().to_owned(),
            mirror: self.mirror(),
            scratch: self.dir.path().join("scratch"),
            git: self.git.clone(),
            limits: PatchLimits::default(),
        }
    }

    pub(crate) fn open(&self) -> GitRepository {
        GitRepository::open(self.settings()).unwrap()
    }

    /// Returns the repository and an attempt on its base.
    pub(crate) async fn begin(&self) -> (GitRepository, Attempt) {
        let repository = self.open();
        let base = repository.base("main").await.unwrap();
        (repository, attempt(&base))
    }

    /// Takes a text and returns why it is refused; nothing is made.
    pub(crate) async fn refusal(&self, text: &str) -> String {
        let (repository, attempt) = self.begin().await;
        refused(repository.take(&attempt, Candidate::Text(text)).await)
    }

    /// Returns the objects of the mirror, to see that a refusal leaves none.
    pub(crate) fn mirror_file(&self, commit: &str, path: &str) -> Vec<u8> {
        #[expect(clippy::disallowed_methods, reason = "a look from outside")]
        let output = std::process::Command::new(&self.git)
            .arg(format!("--git-dir={}", self.mirror().display()))
            .args(["cat-file", "blob", &format!("{commit}:{path}")])
            .output()
            .unwrap();
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    pub(crate) fn mirror_run(&self, arguments: &[&str]) -> String {
        let git_dir = format!("--git-dir={}", self.mirror().display());
        let arguments: Vec<&str> =
            std::iter::once(git_dir.as_str()).chain(arguments.iter().copied()).collect();
        let (code, out) = self.run_in(self.dir.path(), &arguments);
        assert_eq!(code, 0, "{out}");
        out.trim_end().to_owned()
    }
}

/// What a tree has at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    File(Vec<u8>),
    Executable(Vec<u8>),
    Link(Vec<u8>),
}

impl Node {
    /// Returns how many bytes it has.
    pub(crate) fn bytes(&self) -> u64 {
        let (Self::File(content) | Self::Executable(content) | Self::Link(content)) = self;
        content.len() as u64
    }

    /// Puts it where nothing is yet.
    pub(crate) fn put(&self, path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match self {
            Self::Link(target) => symlink(OsStr::from_bytes(target), path).unwrap(),
            Self::File(content) => fs::write(path, content).unwrap(),
            Self::Executable(content) => {
                fs::write(path, content).unwrap();
                fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
    }
}

pub(crate) fn attempt(base: &str) -> Attempt {
    Attempt {
        objective_id: ObjectiveId::new("obj-1").unwrap(),
        work_order_id: WorkOrderId::new("wo-1-1").unwrap(),
        claim_version: 1,
        base: base.to_owned(),
        title: "Say two more".to_owned(),
        created_at: "2026-02-03T04:05:06.789Z".parse::<Timestamp>().unwrap(),
    }
}

pub(crate) fn refused(taken: Result<Taken, TakeError>) -> String {
    match taken {
        Err(TakeError::Refused { reason, .. }) => reason,
        other => panic!("not refused: {other:?}"),
    }
}

/// A patch of `a.txt` that applies.
pub(crate) const GOOD: &str = "diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,4 @@
 one
 two
+two and a half
 three
";

/// A patch that makes one new file.
pub(crate) fn new_file(path: &str, mode: &str, content: &str) -> String {
    format!(
        "diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{content}\n"
    )
}

/// A patch that makes one new link.
pub(crate) fn new_link(path: &str, target: &str) -> String {
    format!("{}\\ No newline at end of file\n", new_file(path, "120000", target))
}

/// Returns what every file of a directory is: type, mode and content, by path. New objects are left out, and so is
/// what `but` names.
pub(crate) fn fingerprint(directory: &Path, but: &[&str]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(current) = waiting.pop() {
        for entry in fs::read_dir(&current).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
            if name.contains("objects/") || but.iter().any(|but| name == *but) {
                continue;
            }
            let metadata = fs::symlink_metadata(&path).unwrap();
            let mode = metadata.permissions().mode();
            let what = if metadata.is_dir() {
                waiting.push(path);
                format!("directory {mode:o}")
            } else if metadata.is_symlink() {
                format!("link {:?}", fs::read_link(&path).unwrap())
            } else {
                let content = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
                format!("file {mode:o} {} {} {content:?}", metadata.ino(), metadata.mtime_nsec())
            };
            found.insert(name, what);
        }
    }
    found
}
