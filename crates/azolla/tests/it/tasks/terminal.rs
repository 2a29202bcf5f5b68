//! The operator's editor, on a real terminal: a note is written there, and so is the objective of a candidate.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

use super::{capture, captures, desk, files, office, texts};
use crate::world::{Answer, World};

/// Runs the program on a terminal of its own; what it prints comes as the terminal has it.
fn on_terminal(world: &World, arguments: &[&str], variables: &[(&str, &str)]) -> Answer {
    let words = arguments.iter().map(|word| format!(" '{word}'")).collect::<String>();
    #[expect(clippy::disallowed_methods, reason = "a terminal for the program under test")]
    let mut command = Command::new("script");
    command
        .args(["--quiet", "--return", "--command"])
        .arg(format!("{}{words}", env!("CARGO_BIN_EXE_azolla")));
    command.arg("/dev/null").current_dir(world.path("")).env_clear().envs(variables.iter().copied());
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("SHELL", "/bin/sh").env("TERM", "xterm");
    let output = command.env("AZOLLA_HOME", world.home()).stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
    Answer {
        code: output.status.code().unwrap(),
        stdout: printed,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// An editor that runs these lines with the file as its last argument, `$file`.
fn editor(world: &World, name: &str, lines: &str) -> String {
    let path = world.script(name, &format!("#!/bin/sh\nfor file; do :; done\n{lines}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn drafts(world: &World) -> Vec<String> {
    files(&world.home().join("state"))
}

#[test]
fn a2_on_a_terminal_an_editor_takes_the_note() {
    let world = desk();
    let writes =
        editor(&world, "writes", "test ! -s \"$file\" || exit 9\nprintf 'one\\r\\ntwo\\n\\n' > \"$file\"");
    let counts = editor(&world, "counts", "echo \"$# $1\" > \"$file\"");
    // VISUAL comes first; EDITOR may have arguments.
    let with_arguments = format!("{counts} -w  --nofork");
    let told = on_terminal(&world, &["capture"], &[("VISUAL", &writes), ("EDITOR", &with_arguments)]);
    assert_eq!(told.code, 0, "{told:?}");
    let told = on_terminal(&world, &["capture", "--label", "desk"], &[("EDITOR", &with_arguments)]);
    assert_eq!(told.code, 0, "{told:?}");
    // An empty variable is as good as none.
    let told = on_terminal(&world, &["capture"], &[("VISUAL", " "), ("EDITOR", &counts)]);
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(texts(&world)[0], "one\r\ntwo\n\n");
    assert_eq!(texts(&world)[1], "3 -w\n");
    assert!(texts(&world)[2].starts_with("1 "), "{:?}", texts(&world));
    assert_eq!(captures(&world)[1]["capture"]["source_label"], "desk");
    assert_eq!(drafts(&world), Vec::<String>::new(), "what is stored needs no draft");
    // With a text, no editor is opened; `-` reads even there.
    on_terminal(&world, &["capture", "typed"], &[("EDITOR", &writes)]).ok();
    assert_eq!(texts(&world)[3], "typed");
}

#[test]
fn a2_what_was_typed_is_kept_when_the_editor_fails_or_the_store_does() {
    let world = desk();
    let fails = editor(&world, "fails", "echo half a thought > \"$file\"; exit 3");
    let told = on_terminal(&world, &["capture"], &[("EDITOR", &fails)]);
    assert_eq!(told.code, 1, "{told:?}");
    let (_, path) = told.stdout.split_once("what you wrote is in ").unwrap_or_else(|| panic!("{told:?}"));
    assert_eq!(fs::read_to_string(path.trim()).unwrap(), "half a thought\n");
    assert_eq!(captures(&world).len(), 0);
    // One that cannot be started says so, and leaves no empty draft behind.
    let told = on_terminal(&world, &["capture"], &[("EDITOR", "/no/such/editor -w")]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.stdout.contains("the editor /no/such/editor cannot be started"), "{told:?}");
    assert!(told.stdout.contains("hint: set EDITOR, or give the text as an argument"), "{told:?}");
    assert_eq!(drafts(&world).len(), 1, "{:?}", drafts(&world));
    // Nothing written is nothing to keep.
    let told = on_terminal(&world, &["capture"], &[("EDITOR", "true")]);
    assert_eq!(told.code, 4, "{told:?}");
    assert!(told.stdout.contains("a note cannot be empty"), "{told:?}");
    assert_eq!(drafts(&world).len(), 1, "{:?}", drafts(&world));

    let writes = editor(&world, "writes", "echo a whole thought > \"$file\"");
    fs::remove_file(world.home().join("azollas/az-taskmgmt.sqlite")).unwrap();
    let told = on_terminal(&world, &["capture"], &[("EDITOR", &writes)]);
    assert_eq!(told.code, 3, "{told:?}");
    let (_, command) =
        told.stdout.split_once("; later: azolla capture - < ").unwrap_or_else(|| panic!("{told:?}"));
    assert_eq!(fs::read_to_string(command.lines().next().unwrap()).unwrap(), "a whole thought\n");
}

#[test]
fn tf8_a_candidate_is_looked_at_in_an_editor_before_it_is_work() {
    let world = office();
    capture(&world, "Shorten the README of app so that it fits a page");
    world.azolla(&["triage", "--now"]).ok();
    let promote = |editor: &str| {
        let variables = [("EDITOR", editor)];
        world.azolla_env(&["triage", "promote", "1", "--edit"], &variables)
    };
    let fails = editor(&world, "fails", "echo mine > \"$file\"; exit 1");
    let told = promote(&fails).refused(1);
    let (_, path) = told.split_once("what you wrote is in ").unwrap_or_else(|| panic!("{told}"));
    assert_eq!(fs::read_to_string(path.trim()).unwrap(), "mine\n");
    // No title is no objective; what was typed stays, if anything was.
    let empties = editor(&world, "empties", ": > \"$file\"");
    let told = promote(&empties).refused(4);
    assert!(told.contains("the text is empty, so it stays a candidate"), "{told}");
    let long = editor(&world, "long", "seq -s x 500 > \"$file\"");
    let told = promote(&long).refused(2);
    assert!(told.contains("what you wrote is in ") && told.contains("more than 500 characters"), "{told}");
    assert_eq!(world.azolla(&["objective", "list", "--json"]).json("objectives"), serde_json::json!([]));
    let edits = editor(
        &world,
        "edits",
        "grep -q README \"$file\" || exit 9\nprintf 'A short README\\n\\nIt has one page.\\n\\nAnd a picture.\\n' > \"$file\"",
    );
    let promoted = promote(&edits);
    let id = promoted.ok().trim_end().to_owned();
    let objective = world.azolla(&["objective", "show", &id, "--json"]).json("objective");
    assert_eq!(
        (objective["title"].as_str(), objective["acceptance_criteria"].as_str()),
        (Some("A short README"), Some("It has one page.\n\nAnd a picture."))
    );
    let refused = world.azolla(&["triage", "promote", "1", "--edit", "--title", "x"]).refused(2);
    assert!(refused.contains("--title"), "{refused}");
}
