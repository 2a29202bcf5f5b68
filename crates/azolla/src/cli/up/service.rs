//! A systemd user unit for `azolla up`: what it says, and how words are quoted in it.

use std::{net::SocketAddr, path::Path};

use anyhow::Context;

use crate::config::Place;

/// The command that the unit runs, and what it needs of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    /// The program and its arguments.
    pub(super) words: Vec<String>,
    /// Variables that a service does not have by itself.
    pub(super) environment: Vec<(&'static str, String)>,
}

/// A service gets neither the PATH of a shell, where workers and checks are found, nor moved XDG directories.
const PASSED: [&str; 3] = ["PATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME"];

impl Command {
    /// Returns the command of this program, in this home, with these options.
    pub(super) fn of(
        home: Option<&Path>,
        listen: Option<SocketAddr>,
        roles: &[String],
    ) -> anyhow::Result<Self> {
        let text = |path: &Path| {
            let text = path.to_str().map(str::to_owned);
            text.with_context(|| format!("{} is not UTF-8, and a unit is", path.display()))
        };
        let program = std::env::current_exe().context("the path of this program is not known")?;
        let mut words = vec![text(&program)?];
        if home.is_some() {
            words.extend(["--home".to_owned(), text(&Place::find(home)?.data)?]);
        }
        words.push("up".to_owned());
        if let Some(listen) = listen {
            words.extend(["--listen".to_owned(), listen.to_string()]);
        }
        if !roles.is_empty() {
            words.extend(["--roles".to_owned(), roles.join(",")]);
        }
        let variable =
            |name: &'static str| Some((name, std::env::var(name).ok().filter(|value| !value.is_empty())?));
        Ok(Self { words, environment: PASSED.into_iter().filter_map(variable).collect() })
    }
}

/// Returns the unit.
///
/// What is not in it is left out on purpose. Options that hide parts of the file system need a user namespace in a
/// user's unit, inside of which the sandbox of workers could not be built; filters of system calls would reach into every
/// toolchain. Workers and checks are confined by azolla itself.
pub(super) fn unit(command: &Command) -> String {
    let words: Vec<String> = command.words.iter().map(|word| quoted(word, In::CommandLine)).collect();
    let variables = command
        .environment
        .iter()
        .map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}"), In::Assignment)));
    let (before, after) = UNIT.split_once(COMMAND).expect("the unit has the mark");
    let variables: String = variables.collect();
    format!("{before}ExecStart={}\n{variables}{after}", words.join(" "))
}

/// The unit, with a mark where the command comes.
const UNIT: &str = include_str!("service.txt");
const COMMAND: &str = "@command\n";

/// Where a word stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum In {
    /// There `$` begins a variable.
    CommandLine,
    /// There it does not.
    Assignment,
}

/// Returns a word as systemd reads it back: always in quotes, with specifiers, variables and escapes made plain.
fn quoted(word: &str, place: In) -> String {
    let mut text = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '%' => text.push_str("%%"),
            '$' if place == In::CommandLine => text.push_str("$$"),
            c if c.is_ascii_control() => text.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests;
