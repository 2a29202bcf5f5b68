//! The command line as clap has it, with its commands in groups, and hints for what was typed instead of a command.

use clap::{
    Command, CommandFactory, FromArgMatches, error::ContextKind, error::ContextValue, error::ErrorKind,
};

use super::Arguments;
use crate::screen;

/// The commands as `azolla --help` lists them: what one does every day first.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Every day",
        &["resume", "capture", "triage", "objective", "review", "pr", "run", "up", "manifest", "snooze"],
    ),
    ("Look closer", &["log", "explain", "replay", "limits"]),
    ("Set up", &["init", "doctor", "config", "trust", "peer", "mcp", "completions", "man", "demo"]),
    ("Stores", &["verify", "export", "import", "schema"]),
];

/// Returns the whole command line.
pub(crate) fn command() -> Command {
    let command = Arguments::command();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}",
        listed(&command)
    );
    command.help_template(template)
}

/// Reads the arguments that the program was started with.
pub(crate) fn parse() -> Result<Arguments, clap::Error> {
    let mut matches = command().try_get_matches()?;
    Arguments::from_arg_matches_mut(&mut matches)
}

/// Returns what may have been meant by a word that is no command, if it looks like an id.
pub(crate) fn instead_of_command(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let is_near_a_command = error.get(ContextKind::SuggestedSubcommand).is_some();
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let id = word.parse::<crate::find::IdPart>().ok()?;
    let id = id.as_str();
    let hint = match id.split_once('-').map(|(kind, _)| kind) {
        Some("obj") => format!("azolla objective show {id}"),
        Some("run" | "wo" | "evt" | "snap") => format!("azolla explain {id}"),
        Some("out") => "azolla triage".to_owned(),
        Some("cap") => "azolla triage captures".to_owned(),
        Some("man") => "azolla manifest --last".to_owned(),
        Some("az") => format!("azolla objective list --azolla {id}"),
        // Any end of an id will do, and those have digits in them; a command has none.
        _ if !is_near_a_command && id.bytes().any(|byte| byte.is_ascii_digit()) => {
            format!("azolla objective show {id}, or azolla explain {id} if it is a run")
        }
        _ => return None,
    };
    Some(format!("a command comes before an id: {hint}"))
}

/// What clap has for the rest of the help where there is no terminal.
const COLUMNS_DEFAULT: usize = 100;

/// Lists the commands of every group, and behind them what is in none.
fn listed(command: &Command) -> String {
    let visible: Vec<&Command> = command.get_subcommands().filter(|command| !command.is_hide_set()).collect();
    let widest = visible.iter().map(|command| name(command).len()).max().unwrap_or_default();
    let columns = screen::terminal().unwrap_or(COLUMNS_DEFAULT);
    let line = |command: &Command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        screen::folded(&format!("  {:<widest$}  {about}", name(command)), columns, widest + 4)
    };
    let mut text = String::new();
    for (group, names) in GROUPS {
        let mut members = names.iter().filter_map(|name| find(&visible, name)).peekable();
        if members.peek().is_some() {
            text.push_str(&format!("{group}:\n{}\n", members.map(line).collect::<String>()));
        }
    }
    let is_grouped = |command: &Command| GROUPS.iter().any(|(_, names)| names.contains(&command.get_name()));
    let others: String = visible.iter().copied().filter(|command| !is_grouped(command)).map(line).collect();
    if others.is_empty() { text } else { format!("{text}More:\n{others}\n") }
}

fn find<'a>(commands: &[&'a Command], name: &str) -> Option<&'a Command> {
    commands.iter().copied().find(|command| command.get_name() == name)
}

/// Returns a command's name with its short form.
fn name(command: &Command) -> String {
    let short: Vec<_> = command.get_all_aliases().collect();
    match &short[..] {
        [] => command.get_name().to_owned(),
        short => format!("{}, {}", command.get_name(), short.join(", ")),
    }
}

#[cfg(test)]
mod tests;
