//! Completions, sourced in the shells themselves, and manual pages as groff reads them.

use std::{
    fs,
    process::{Command, Output, Stdio},
};

use crate::world::World;

/// Runs a program of the system; `scripts/check` installs it where it is missing.
fn run(program: &str, arguments: &[&str], world: &World) -> Output {
    #[expect(clippy::disallowed_methods, reason = "a shell that reads what the program under test wrote")]
    let mut command = Command::new(program);
    let path = std::env::var_os("PATH").unwrap();
    command
        .args(arguments)
        .current_dir(world.path(""))
        .env_clear()
        .env("PATH", path)
        .env("HOME", world.path(""));
    command.stdin(Stdio::null());
    command
        .output()
        .unwrap_or_else(|error| panic!("{program} is needed (scripts/check installs it): {error}"))
}

/// Returns what it printed, if it ended well and complained of nothing.
fn printed(output: Output, of: &str) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{of}");
    text(&output.stdout)
}

fn script(world: &World, shell: &str) -> String {
    let text = world.azolla(&["completions", shell]).ok();
    world.script(&format!("completions.{shell}"), &text).display().to_string()
}

/// What is typed, and what completes it.
const CASES: [(&str, &[&str]); 6] = [
    ("azolla obj", &["objective"]),
    ("azolla objective con", &["confirm"]),
    ("azolla triage pr", &["process", "promote"]),
    ("azolla review --no", &["--no-pager"]),
    ("azolla objective list --status B", &["BLOCKED"]),
    ("azolla peer r", &["remove", "rotate"]),
];

#[test]
fn bash_completes_what_is_typed() {
    let world = World::new();
    let file = script(&world, "bash");
    for (typed, expected) in CASES {
        let ask = "source \"$1\"; line=$2; read -ra COMP_WORDS <<< \"$line\"; [[ $line == *\" \" ]] && COMP_WORDS+=(\"\"); \
                   COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE=$line; COMP_POINT=${#line}; \
                   function=$(complete -p azolla | sed 's/.*-F \\([^ ]*\\) .*/\\1/'); \
                   \"$function\" azolla \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; \
                   printf '%s\\n' \"${COMPREPLY[@]}\"";
        let shown = printed(run("bash", &["--norc", "-c", ask, "bash", &file, typed], &world), typed);
        let mut found: Vec<_> = shown.split_whitespace().collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{typed}");
    }
}

#[test]
fn fish_completes_what_is_typed() {
    let world = World::new();
    let file = script(&world, "fish");
    for (typed, expected) in CASES {
        let ask = "source $argv[1]; complete --do-complete $argv[2]";
        let shown = printed(run("fish", &["--no-config", "-c", ask, &file, typed], &world), typed);
        let mut found: Vec<_> = shown.lines().filter_map(|line| line.split('\t').next()).collect();
        found.sort_unstable();
        found.retain(|word| !word.starts_with('-') || typed.contains("--"));
        assert_eq!(found, expected, "{typed}");
    }
}

#[test]
fn zsh_takes_the_completions_as_those_of_azolla() {
    let world = World::new();
    let file = script(&world, "zsh");
    printed(run("zsh", &["-f", "-n", &file], &world), "it can be parsed");
    // As a file of fpath, the way that the help names.
    fs::create_dir(world.path("zfunc")).unwrap();
    fs::copy(&file, world.path("zfunc/_azolla")).unwrap();
    let ask = "fpath=(~/zfunc $fpath); autoload -Uz compinit && compinit -u -D; print $_comps[azolla]; \
               autoload -Uz +X _azolla && whence -w _azolla";
    let shown = printed(run("zsh", &["-f", "-c", ask], &world), "it is loaded");
    assert_eq!(shown, "_azolla\n_azolla: function\n");
    let text = fs::read_to_string(&file).unwrap();
    for (_, expected) in CASES {
        for word in expected {
            assert!(text.contains(word), "{word}");
        }
    }
}

#[test]
fn every_manual_page_is_read_without_a_warning() {
    let world = World::new();
    let told = world.azolla(&["man", &world.path("man/man1").display().to_string()]);
    let mut pages: Vec<_> =
        fs::read_dir(world.path("man/man1")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    assert!(told.stderr.starts_with(&format!("{} pages are in ", pages.len())), "{told:?}");
    assert!(pages.len() > 45, "{pages:?}");
    for page in &pages {
        let page = page.display().to_string();
        let text =
            printed(run("groff", &["-man", "-ww", "-Kutf8", "-Tutf8", "-P-cbou", &page], &world), &page);
        assert!(text.contains("EXAMPLES") && text.contains("azolla"), "{page}: {text}");
    }
    let first = world.azolla(&["man"]).ok();
    assert_eq!(first, fs::read_to_string(world.path("man/man1/azolla.1")).unwrap());
    assert!(
        fs::read_to_string(world.path("man/man1/azolla-objective-approve.1"))
            .unwrap()
            .contains("approve 4k2")
    );
}

#[test]
fn a_shell_that_is_not_known_is_refused_with_those_that_are() {
    let world = World::new();
    let refused = world.azolla(&["completions", "tcsh"]).refused(2);
    assert!(refused.contains("possible values: bash, zsh, fish"), "{refused}");
}
