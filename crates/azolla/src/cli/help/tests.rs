//! The help is true: every command has examples, and clap itself takes every one of them.

use clap::{Command, FromArgMatches};

use super::*;
use crate::cli::init::words::split;

/// Every command with its names from the top, hidden ones and `help` left out.
fn commands() -> Vec<(Vec<String>, Command)> {
    fn walk(above: &[String], command: &Command, found: &mut Vec<(Vec<String>, Command)>) {
        let name = command.get_name();
        if command.is_hide_set() || name == "help" {
            return;
        }
        let path = [above, &[name.to_owned()]].concat();
        command.get_subcommands().for_each(|below| walk(&path, below, found));
        found.push((path, command.clone()));
    }
    let mut found = Vec::new();
    let mut command = command();
    command.build();
    command.get_subcommands().for_each(|below| walk(&[], below, &mut found));
    found
}

/// Returns the examples of a command's help: what is behind `azolla` on a line of theirs, as a shell would split it.
fn examples(command: &Command) -> Vec<Vec<String>> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (_, rest) = help.split_once("Examples:\n").unwrap_or_default();
    let lines = rest.lines().take_while(|line| line.starts_with("  "));
    lines.map(|line| words(line).unwrap_or_else(|| panic!("no command: {line}"))).collect()
}

/// Takes the words of our command out of a line: up to a pipe, a file, or two spaces and a remark.
fn words(line: &str) -> Option<Vec<String>> {
    let begin = [line.find(" azolla"), line.find("$ azolla")].into_iter().flatten().min()? + 1;
    let mut rest = line[begin..].trim_start();
    let mut quote = None;
    let end = rest.char_indices().find(|(at, c)| {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(*c),
            (Some(open), c) if open == *c => quote = None,
            _ => {}
        }
        quote.is_none() && (matches!(c, '|' | '<' | '>' | '&') || rest[*at..].starts_with("  "))
    });
    rest = end.map_or(rest, |(at, _)| &rest[..at]);
    Some(split(rest).unwrap())
}

#[test]
fn every_command_has_examples_that_are_its_own() {
    let all = commands();
    assert!(all.len() > 40, "{}", all.len());
    for (path, command) in &all {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        assert!(!about.is_empty() && !about.ends_with('.'), "{path:?}: {about:?}");
        let examples = examples(command);
        assert!(!examples.is_empty(), "azolla {} --help has no `Examples:`", path.join(" "));
        let is_own = |words: &Vec<String>| words.len() > path.len() && words[1..=path.len()] == path[..];
        assert!(examples.iter().any(is_own), "{path:?}: {examples:?}");
    }
}

#[test]
fn every_example_is_a_command_that_can_be_typed() {
    let mut seen = 0;
    let mut all = commands();
    all.push((Vec::new(), command()));
    for (path, command_of) in &all {
        let mut typed = examples(command_of);
        if path.is_empty() {
            let help = command_of.get_after_help().map(ToString::to_string).unwrap_or_default();
            typed.extend(help.lines().filter(|line| line.starts_with("  azolla")).filter_map(words));
        }
        for words in typed {
            let taken = command()
                .try_get_matches_from(&words)
                .and_then(|mut matches| Arguments::from_arg_matches_mut(&mut matches));
            if let Err(error) = taken {
                panic!("azolla {} --help: {words:?}: {error}", path.join(" "));
            }
            seen += 1;
        }
    }
    assert!(seen > 80, "{seen}");
}

#[test]
fn every_command_is_in_one_group_and_every_group_has_commands_alone() {
    let command = command();
    let names: Vec<_> =
        command.get_subcommands().map(Command::get_name).filter(|name| *name != "help").collect();
    let grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    for name in &names {
        let places = grouped.iter().filter(|other| *other == name).count();
        assert_eq!(places, 1, "{name} has to be in one of GROUPS in cli/help.rs");
    }
    for name in grouped {
        assert!(names.contains(&name), "{name} is no command");
    }
    let help = command.clone().render_help().to_string();
    for (group, _) in GROUPS {
        assert!(help.contains(&format!("\n{group}:\n  ")), "{help}");
    }
    assert!(!help.contains("More:"), "{help}");
}

#[test]
fn clap_finds_no_fault_in_the_command_line() {
    command().debug_assert();
}

fn told(word: &str) -> Option<String> {
    instead_of_command(&command().try_get_matches_from(["azolla", word]).unwrap_err())
}

#[test]
fn an_id_instead_of_a_command_leads_to_the_command() {
    for (typed, expected) in [
        ("4k2", Some("azolla objective show 4k2")),
        ("obj-0snkpkppcghv", Some("azolla objective show obj-0snkpkppcghv")),
        ("run-0snkpkppcghv-1", Some("azolla explain run-0snkpkppcghv-1")),
        ("cap-0sp95scwe5f6", Some("azolla triage captures")),
        ("az-app", Some("azolla objective list --azolla az-app")),
        ("objectve", None),
        ("frobnicate", None),
        ("$(id)", None),
    ] {
        let hint = told(typed);
        assert_eq!(hint.is_some(), expected.is_some(), "{typed}: {hint:?}");
        assert!(hint.unwrap_or_default().contains(expected.unwrap_or_default()), "{typed}");
    }
}
