//! git and gh as the operator would start them: with the operator's own configuration and credentials, without what would
//! point them elsewhere, without anybody to ask, and bounded in time and output.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::Duration,
};

use azolla_process::{Bounds, Capture, Containment, Exit, Program, ResourceLimits, Sandbox};

use crate::{
    cli::progress,
    config::{Config, KeyFrom, ProviderConfig},
    failure::Failure,
    screen::plain,
};

/// What a program said.
pub(super) struct Said {
    /// Its exit code.
    pub(super) code: i32,
    /// What it printed.
    pub(super) stdout: String,
    /// What it complained of, one line, without control sequences.
    pub(super) complaint: String,
}

/// A program with the environment that it gets.
pub(super) struct Caller {
    pub(super) name: &'static str,
    pub(super) path: PathBuf,
    pub(super) directory: PathBuf,
    pub(super) environment: BTreeMap<OsString, OsString>,
}

impl Caller {
    /// Runs it to its end. That it was ended is an error, an exit code is not.
    pub(super) async fn run(
        &self,
        arguments: Vec<OsString>,
        more: &[(String, String)],
        input: &str,
        time: Duration,
    ) -> anyhow::Result<Said> {
        let mut environment = self.environment.clone();
        environment.extend(more.iter().map(|(name, value)| (name.into(), value.into())));
        let program = Program {
            path: self.path.clone(),
            arguments,
            directory: self.directory.clone(),
            environment,
            input: input.as_bytes().to_vec(),
        };
        let bounds = Bounds {
            time: Some(time),
            grace: Duration::from_secs(2),
            stdout: Capture::All(8 << 20),
            stderr: Capture::Head(16 << 10),
            // Whoever stops this stops what it started (T30).
            containment: Containment::Tree,
            limits: ResourceLimits::default(),
            sandbox: Sandbox::Off,
        };
        let finished = azolla_process::run(&program, &bounds).await?;
        let complaint = complaint(&String::from_utf8_lossy(&finished.stderr.bytes));
        let code = match finished.exit {
            Exit::Code(code) => code,
            Exit::TimedOut => {
                let what = format!("{} did not end within {} s", self.name, time.as_secs());
                return Err(Failure::temporary(what).hint("try again").into());
            }
            Exit::Signal(signal) => {
                return Err(Failure::new(format!("{} was ended by signal {signal}", self.name)).into());
            }
            Exit::TooMuchOutput => return Err(Failure::new(format!("{} printed too much", self.name)).into()),
        };
        Ok(Said { code, stdout: String::from_utf8_lossy(&finished.stdout.bytes).into_owned(), complaint })
    }
}

/// A line on a terminal for as long as something is waited for.
pub(super) struct Waiting(bool);

impl Waiting {
    pub(super) fn begin(what: &str) -> Self {
        let is_watched = progress::is_watched();
        if is_watched {
            progress::draw(&format!("{what}…"));
        }
        Self(is_watched)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.0 {
            progress::draw("");
        }
    }
}

impl Said {
    /// Returns the failure that a complaint stands for: one that may pass, or one with this next step.
    pub(super) fn failure(&self, what: &str, hint: &str) -> Failure {
        let text = match self.complaint.as_str() {
            "" => format!("{what}: exit code {}", self.code),
            complaint => format!("{what}: {complaint}"),
        };
        match is_network(&self.complaint) {
            true => Failure::temporary(text).hint("try again when the network is back"),
            false => Failure::new(text).hint(hint),
        }
    }
}

/// Returns the operator's environment, without what points git at another repository and without the workers' keys.
pub(super) fn environment(config: &Config) -> BTreeMap<OsString, OsString> {
    let keys: Vec<&str> = config.providers.values().filter_map(key).collect();
    let is_kept = |name: &OsStr| {
        let name = name.to_string_lossy();
        !keys.contains(&name.as_ref()) && (!name.starts_with("GIT_") || is_kept_of_git(&name))
    };
    let mut environment: BTreeMap<_, _> = std::env::vars_os().filter(|(name, _)| is_kept(name)).collect();
    for (name, value) in [
        ("LC_ALL", "C"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GH_PROMPT_DISABLED", "1"),
        ("GH_NO_UPDATE_NOTIFIER", "1"),
        ("NO_COLOR", "1"),
    ] {
        environment.insert(name.into(), value.into());
    }
    environment.remove(OsStr::new("CLICOLOR_FORCE"));
    environment.remove(OsStr::new("GH_FORCE_TTY"));
    environment
}

/// Variables of git that are about how to reach a server, and whose configuration counts.
fn is_kept_of_git(name: &str) -> bool {
    name.starts_with("GIT_SSL_")
        || name.starts_with("GIT_HTTP_")
        || matches!(
            name,
            "GIT_SSH"
                | "GIT_SSH_COMMAND"
                | "GIT_SSH_VARIANT"
                | "GIT_ASKPASS"
                | "GIT_PROXY_COMMAND"
                | "GIT_ALLOW_PROTOCOL"
                | "GIT_EXEC_PATH"
                | "GIT_CONFIG_GLOBAL"
                | "GIT_CONFIG_SYSTEM"
                | "GIT_CONFIG_NOSYSTEM"
        )
}

fn key(provider: &ProviderConfig) -> Option<&str> {
    match provider {
        ProviderConfig::Anthropic { api, .. } | ProviderConfig::OpenAi { api, .. } => match &api.key {
            Some(KeyFrom::Env(name)) => Some(name),
            Some(KeyFrom::File(_)) | None => None,
        },
        ProviderConfig::Command { .. } | ProviderConfig::Recorded { .. } => None,
    }
}

/// Finds a program of the operator's.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    azolla_process::find(name.as_ref(), &std::env::var_os("PATH").unwrap_or_default())
}

/// Returns a word that a shell reads as it stands.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:@+=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns a path as a shell reads it.
pub(super) fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

fn complaint(stderr: &str) -> String {
    /// The rest is advice.
    const LINES_MAX: usize = 4;
    let lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let lines = lines.map(|line| line.trim_start_matches("fatal: ").trim_start_matches("error: "));
    plain(&lines.take(LINES_MAX).collect::<Vec<_>>().join("; "))
}

/// Tells whether a complaint is about the way to a server, which may be open later.
fn is_network(complaint: &str) -> bool {
    let complaint = complaint.to_ascii_lowercase();
    [
        "could not resolve host",
        "temporary failure in name resolution",
        "name or service not known",
        "no such host",
        "connection refused",
        "connection timed out",
        "connection reset",
        "operation timed out",
        "i/o timeout",
        "network is unreachable",
        "no route to host",
        "error connecting to",
        "failed to connect to",
        "tls handshake timeout",
        "check your internet connection",
    ]
    .iter()
    .any(|sign| complaint.contains(sign))
}

#[cfg(test)]
mod tests;
