//! The ways to the operator: the desktop, and a command of the operator's own. Each is a program that is started for one
//! notification, bounded in time and ended with everything that it started.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::Duration,
};

use azolla_process::{Bounds, Capture, Containment, Exit, Finished, Program, ResourceLimits, Sandbox};

use super::message::Message;
use crate::{config::NotifyConfig, screen::plain};

/// How long a program may take; what it is sent by ends with it.
const TIME_MAX: Duration = Duration::from_secs(10);

/// All that such a program sees of the environment: enough to find the operator's session, and no secret.
const VARIABLES: [&str; 16] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_TYPE",
    "XDG_CURRENT_DESKTOP",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// Any of these says that there is a desktop.
const SESSION: [&str; 3] = ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"];

/// The environment that channels are found in.
pub(crate) type Environment = BTreeMap<OsString, OsString>;

/// A way to the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// A pop-up by `notify-send`.
    NotifySend(PathBuf),
    /// A pop-up by `osascript`, on macOS.
    OsaScript(PathBuf),
    /// A program of the operator's, with its arguments.
    Command(Vec<String>),
}

/// Returns the part of this process's environment that channels see.
pub(crate) fn environment() -> Environment {
    VARIABLES.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect()
}

impl Channel {
    /// Returns the channels that are configured and there.
    pub(crate) fn all(config: &NotifyConfig, environment: &Environment) -> Vec<Self> {
        let desktop = if config.desktop { desktop(environment) } else { None };
        let command = (!config.command.is_empty()).then(|| Self::Command(config.command.clone()));
        desktop.into_iter().chain(command).collect()
    }

    /// Returns the name under which it is on record.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::NotifySend(_) | Self::OsaScript(_) => DESKTOP,
            Self::Command(_) => COMMAND,
        }
    }

    /// Sends a message. Returns within a bounded time, with why it did not work if it did not.
    pub(crate) async fn send(
        &self,
        message: &Message,
        environment: &Environment,
        directory: &Path,
    ) -> Result<(), String> {
        let program = self.program(message, environment, directory)?;
        let finished = azolla_process::run(&program, &bounds()).await.map_err(|error| error.to_string())?;
        judged(&program, &finished)
    }

    fn program(
        &self,
        message: &Message,
        environment: &Environment,
        directory: &Path,
    ) -> Result<Program, String> {
        let (path, arguments, input) = match self {
            Self::NotifySend(path) => (path.clone(), notify_send(message), Vec::new()),
            Self::OsaScript(path) => (path.clone(), osascript(message), Vec::new()),
            Self::Command(argv) => {
                let name = argv.first().map_or("", String::as_str);
                let path = found(name, environment).ok_or_else(|| format!("{name} was not found on PATH"))?;
                let arguments = argv.iter().skip(1).map(OsString::from).collect();
                (path, arguments, format!("{}\n", message.document).into_bytes())
            }
        };
        let (environment, directory) = (environment.clone(), directory.to_owned());
        Ok(Program { path, arguments, directory, environment, input })
    }
}

/// The names of the channels on record.
pub(crate) const DESKTOP: &str = "desktop";
pub(crate) const COMMAND: &str = "command";

/// Finds a program as the channels do.
pub(crate) fn found(name: &str, environment: &Environment) -> Option<PathBuf> {
    let path = environment.get(OsStr::new("PATH")).map_or(OsStr::new(""), OsString::as_os_str);
    azolla_process::find(name.as_ref(), path)
}

/// Tells whether there is a desktop to show anything on.
pub(crate) fn has_session(environment: &Environment) -> bool {
    let is_set = |name: &&str| environment.get(OsStr::new(name)).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || SESSION.iter().any(is_set)
}

fn desktop(environment: &Environment) -> Option<Channel> {
    if !has_session(environment) {
        return None;
    }
    if cfg!(target_os = "macos") {
        return found("osascript", environment).map(Channel::OsaScript);
    }
    found("notify-send", environment).map(Channel::NotifySend)
}

/// The texts come last and behind `--`, and nothing in them means anything to the program or the desktop.
fn notify_send(message: &Message) -> Vec<OsString> {
    let texts = [&message.heading, &message.body].map(|text| OsString::from(literal(text)));
    ["--app-name=azolla", "--"].map(OsString::from).into_iter().chain(texts).collect()
}

/// The script is always the same; the texts are its arguments.
fn osascript(message: &Message) -> Vec<OsString> {
    let script = [
        "-e",
        "on run texts",
        "-e",
        "display notification (item 2 of texts) with title (item 1 of texts)",
        "-e",
        "end run",
        "--",
    ];
    let texts = [&message.heading, &message.body].map(OsString::from);
    script.map(OsString::from).into_iter().chain(texts).collect()
}

/// Replaces what a desktop reads as markup, and the backslash, which notify-send reads as an escape. Not every desktop
/// knows markup, so an entity could be shown as it stands: these characters look the same everywhere.
fn literal(text: &str) -> String {
    let alike = |c: char| match c {
        '<' => '‹',
        '>' => '›',
        '&' => '＆',
        '\\' => '＼',
        c => c,
    };
    text.chars().map(alike).collect()
}

fn bounds() -> Bounds {
    Bounds {
        time: Some(TIME_MAX),
        grace: Duration::from_secs(1),
        stdout: Capture::Head(0),
        stderr: Capture::Head(4_096),
        containment: Containment::Tree,
        limits: ResourceLimits::default(),
        sandbox: Sandbox::Off,
    }
}

fn judged(program: &Program, finished: &Finished) -> Result<(), String> {
    let name = program.path.display();
    let ended = match finished.exit {
        Exit::Code(0) => return Ok(()),
        Exit::Code(code) => format!("{name} ended with exit code {code}"),
        Exit::Signal(signal) => format!("{name} was ended by signal {signal}"),
        Exit::TimedOut => format!("{name} took longer than {} s and was ended", TIME_MAX.as_secs()),
        Exit::TooMuchOutput => format!("{name} printed too much"),
    };
    let said = String::from_utf8_lossy(&finished.stderr.bytes);
    match said.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(said) => Err(plain(&format!("{ended}: {said}"))),
        None => Err(plain(&ended)),
    }
}

#[cfg(test)]
mod tests;
