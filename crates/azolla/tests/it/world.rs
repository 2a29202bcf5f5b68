//! A home and repositories of a test's own, and the real program in them.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// A new home, empty.
pub(crate) struct World {
    directory: TempDir,
}

/// How the program answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Answer {
    /// Returns stdout, if the program says that all is well.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.stdout, self.stderr);
        self.stdout
    }

    /// Returns stderr, if the program ended with `code` and printed nothing else.
    pub(crate) fn refused(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (code, ""), "{}", self.stderr);
        self.stderr
    }

    /// Returns the data of the one JSON document.
    pub(crate) fn json(self, kind: &str) -> Value {
        let document: Value = serde_json::from_str(&self.ok()).unwrap();
        assert_eq!((&document["schema_version"], &document["kind"]), (&1.into(), &kind.into()));
        document["data"].clone()
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self { directory: TempDir::new().unwrap() }
    }

    /// A home that is set up for a repository with a worker that runs `script`.
    pub(crate) fn with_worker(script: &str) -> Self {
        let world = Self::new();
        let app = world.repository("app");
        let command = format!("sh {}", world.script("worker.sh", script).display());
        world.azolla_in(&app, &["init", "--provider-command", &command]).ok();
        world
    }

    /// A home that is set up for a repository whose work is done by the provider of this section.
    pub(crate) fn with_provider(name: &str, section: &str) -> Self {
        let world = Self::new();
        let app = world.repository("app");
        world.azolla_in(&app, &["init"]).ok();
        world.set_for_app(&format!("provider = {name:?}"));
        world.configure(section);
        world
    }

    /// Adds a line to the section of the repository's azolla.
    pub(crate) fn set_for_app(&self, line: &str) {
        let all = fs::read_to_string(self.config()).unwrap();
        let (before, after) = all.split_once("[azolla.az-app]\n").unwrap();
        fs::write(self.config(), format!("{before}[azolla.az-app]\n{line}\n{after}")).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.home().join("config.toml")
    }

    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// Adds text to the end of the configuration.
    pub(crate) fn configure(&self, text: &str) {
        let all = fs::read_to_string(self.config()).unwrap();
        fs::write(self.config(), format!("{all}\n{text}\n")).unwrap();
    }

    /// Lets workers and checks write anywhere in this world, so that they can leave a mark outside of their worktree.
    pub(crate) fn open_to_workers(&self) {
        self.configure(&format!("[sandbox]\nwrite = [{:?}]", self.path("")));
    }

    /// Makes a repository with one commit on `main`.
    pub(crate) fn repository(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("a.txt"), "one\n").unwrap();
        git(&path, &["init", "--quiet", "--initial-branch=main"]);
        self.commit(&path);
        path
    }

    pub(crate) fn commit(&self, repository: &Path) {
        git(repository, &["add", "--all"]);
        git(repository, &["commit", "--quiet", "--allow-empty", "--message=x"]);
    }

    /// Runs the program outside of any repository.
    pub(crate) fn azolla(&self, arguments: &[&str]) -> Answer {
        self.azolla_in(self.directory.path(), arguments)
    }

    pub(crate) fn azolla_in(&self, directory: &Path, arguments: &[&str]) -> Answer {
        self.azolla_with(directory, arguments, "")
    }

    pub(crate) fn azolla_with(&self, directory: &Path, arguments: &[&str], input: &str) -> Answer {
        self.azolla_bytes(directory, arguments, input.as_bytes())
    }

    /// Runs the program with anything on its stdin.
    pub(crate) fn azolla_bytes(&self, directory: &Path, arguments: &[&str], input: &[u8]) -> Answer {
        let mut command = self.command(directory, arguments);
        command.env("AZOLLA_HOME", self.home());
        answer(command, input)
    }

    /// Runs the program with these variables too.
    pub(crate) fn azolla_env(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Answer {
        let mut command = self.command(self.directory.path(), arguments);
        command.env("AZOLLA_HOME", self.home()).envs(variables.iter().copied());
        answer(command, b"")
    }

    /// Runs a line as a person types it into a shell, outside of any repository.
    #[expect(clippy::disallowed_methods, reason = "the shell of a person")]
    pub(crate) fn typed(&self, line: &str) -> Answer {
        let program = Path::new(env!("CARGO_BIN_EXE_azolla"));
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.directory.path()).env_clear();
        command.env("PATH", format!("{}:{path}", program.parent().unwrap().display()));
        command.env("HOME", self.path("person")).env("USER", "tester").env("AZOLLA_HOME", self.home());
        answer(command, b"")
    }

    /// Runs the program with the XDG directories of a fresh `$HOME`.
    pub(crate) fn azolla_xdg(&self, arguments: &[&str]) -> Answer {
        answer(self.command(self.directory.path(), arguments), b"")
    }

    #[expect(clippy::disallowed_methods, reason = "the program under test is started here")]
    pub(crate) fn command(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_azolla"));
        command.args(arguments).current_dir(directory).env_clear().env("HOME", self.path("person"));
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("USER", "tester");
        command
    }

    /// Makes an objective and returns its id.
    pub(crate) fn objective(&self, title: &str, criteria: &str) -> String {
        self.azolla(&["objective", "new", title, "--criteria", criteria]).ok().trim_end().to_owned()
    }

    /// Makes and approves an objective.
    pub(crate) fn approved(&self, title: &str) -> String {
        let id = self.objective(title, "it is done");
        self.azolla(&["objective", "approve", &id]).ok();
        id
    }
}

pub(crate) fn answer(mut command: Command, input: &[u8]) -> Answer {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that does not read has closed its end: that is its business.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Answer { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs git as a person would, and returns the text that it printed.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    String::from_utf8(git_bytes(directory, arguments)).unwrap()
}

/// Runs git as a person would, and returns what it printed.
#[expect(clippy::disallowed_methods, reason = "a person's own git")]
pub(crate) fn git_bytes(directory: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .args(["-c", "user.name=P", "-c", "user.email=p@localhost.invalid"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
