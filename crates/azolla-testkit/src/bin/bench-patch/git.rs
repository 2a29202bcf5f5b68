//! git, called as plainly as it can be: the yardstick, and what makes the repositories.
//!
//! Its settings are those of the repository engine that cost or save time (what is synced, no maintenance, nobody's
//! configuration), so that both sides do the same work.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, ensure};

const SETTINGS: [(&str, &str); 6] = [
    ("core.fsync", "committed,reference"),
    ("core.fsyncMethod", "batch"),
    ("core.hooksPath", "/dev/null"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("safe.directory", "*"),
];

/// The git program.
pub(crate) struct Git {
    program: PathBuf,
}

impl Git {
    /// Finds git on the PATH, once.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let path = std::env::var_os("PATH").context("there is no PATH")?;
        let mut places = std::env::split_paths(&path).map(|place| place.join("git"));
        let program = places.find(|place| place.is_file()).context("git is not on the PATH")?;
        Ok(Self { program })
    }

    /// Returns where it is.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Runs git in a directory with this on stdin; returns what it printed.
    pub(crate) fn run<A: AsRef<std::ffi::OsStr>>(
        &self,
        directory: &Path,
        arguments: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> anyhow::Result<String> {
        let mut command = self.command(directory);
        command.args(arguments);
        finish(command, input)
    }

    /// The same with an index of its own.
    pub(crate) fn run_on_index<A: AsRef<std::ffi::OsStr>>(
        &self,
        directory: &Path,
        index: &Path,
        arguments: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> anyhow::Result<String> {
        let mut command = self.command(directory);
        command.env("GIT_INDEX_FILE", index).args(arguments);
        finish(command, input)
    }

    /// Returns the shortest call that there is.
    pub(crate) fn version(&self) -> Command {
        let mut command = self.command(Path::new("/"));
        command.arg("--version");
        command
    }

    #[expect(clippy::disallowed_methods, reason = "the yardstick has nothing of azolla around it")]
    fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(directory).env_clear();
        for (name, value) in [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", "/nonexistent"),
            ("LC_ALL", "C"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_AUTHOR_NAME", "bench"),
            ("GIT_AUTHOR_EMAIL", "bench@localhost.invalid"),
            ("GIT_COMMITTER_NAME", "bench"),
            ("GIT_COMMITTER_EMAIL", "bench@localhost.invalid"),
        ] {
            command.env(name, value);
        }
        command.env("GIT_CONFIG_COUNT", SETTINGS.len().to_string());
        for (n, (key, value)) in SETTINGS.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{n}"), key).env(format!("GIT_CONFIG_VALUE_{n}"), value);
        }
        command
    }
}

fn finish(mut command: Command, input: &[u8]) -> anyhow::Result<String> {
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    let mut child = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input)?;
    }
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
