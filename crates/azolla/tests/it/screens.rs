//! What reaches a terminal or a program: sanitised text, JSON, help, closed pipes.

use std::process::Stdio;

use crate::world::World;

/// Shows whatever a terminal would obey.
const ATTACK: &str = "evil \u{1b}]0;title\u{7} \u{9b}31m \u{202e}txt\u{2069} end";

#[test]
fn t22_no_screen_shows_what_a_terminal_would_obey() {
    let world =
        World::with_worker("cat > /dev/null; printf 'a\\033[2Jb\\n' >> a.txt; printf '\\033]0;x\\007'\n");
    let id = world.objective(ATTACK, ATTACK);
    world.azolla(&["objective", "block", &id, "--reason", ATTACK]).ok();
    let blocked = world.azolla(&["objective", "show", &id]);
    world.azolla(&["objective", "unblock", &id]).ok();
    let ran = world.azolla(&["run", "--until-idle"]);
    let commands: [&[&str]; 7] = [
        &[],
        &["--json"],
        &["objective", "list"],
        &["objective", "show", &id],
        &["review", &id],
        &["explain", &id],
        &["log"],
    ];
    let mut answers: Vec<_> = commands.iter().map(|command| world.azolla(command)).collect();
    answers.extend([blocked, ran, world.azolla(&["objective", "show", ATTACK])]);
    for answer in answers {
        for text in [&answer.stdout, &answer.stderr] {
            let obeyed = |c: char| {
                c != '\n'
                    && (c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
            };
            assert!(!text.chars().any(obeyed), "{text:?}");
        }
    }
    let stored = world.azolla(&["objective", "show", &id, "--json"]).json("objective");
    assert_eq!(stored["title"], ATTACK, "what is stored is what was said");
}

#[test]
fn t42_a_closed_pipe_is_no_error_text() {
    let world = World::new();
    for arguments in [&["limits"][..], &[], &["schema"], &["limits", "--json"]] {
        let mut command = world.command(&world.path(""), arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{arguments:?}");
    }
}

#[test]
fn every_read_has_one_json_document() {
    let world = World::with_worker("cat > /dev/null; echo two >> a.txt\n");
    let id = world.approved("Add a line");
    world.azolla(&["run", "--until-idle"]).ok();
    for (arguments, kind) in [
        (vec![], "resume"),
        (vec!["resume"], "resume"),
        (vec!["doctor"], "doctor"),
        (vec!["limits"], "limits"),
        (vec!["objective", "list"], "objectives"),
        (vec!["objective", "show", &id], "objective"),
        (vec!["review", &id], "review"),
        (vec!["log"], "journal"),
        (vec!["log", &id, "--all"], "journal"),
        (vec!["explain", &id], "explanation"),
        (vec!["verify", "--azolla", "az-app"], "findings"),
        (vec!["schema"], "schemas"),
        (vec!["schema", "objective"], "schema"),
    ] {
        let answer = world.azolla(&[arguments.clone(), vec!["--json"]].concat());
        assert_eq!(answer.stderr, "", "{arguments:?}");
        answer.json(kind);
    }
}

#[test]
fn so_the_log_says_which_of_both_it_was() {
    let world = World::with_worker("true\n");
    let id = world.objective("A title", "x");
    world.azolla(&["objective", "archive", &id]).ok();
    world.azolla(&["objective", "unarchive", &id]).ok();
    let log = world.azolla(&["log", &id]).ok();
    let told: Vec<_> =
        log.lines().filter_map(|line| line.split_once(&format!("{id} "))).map(|(_, what)| what).collect();
    assert_eq!(told[1..], ["was archived, by you", "was brought back from the archive, by you"], "{log}");
}

#[test]
fn a_note_that_is_too_long_is_told_the_limit() {
    let world = World::new();
    world.azolla(&["init"]).ok();
    let note = vec![b'y'; 3 * 1024 * 1024];
    let told = world.azolla_bytes(&world.path(""), &["capture"], &note).refused(4);
    assert!(told.contains("a note has at most 1 MiB (1048576 bytes); this one has more"), "{told}");
}

#[test]
fn nothing_waits_for_a_terminal_that_is_not_there() {
    let world = World::with_worker("true\n");
    let cases: [(&[&str], &str); 3] = [
        (&["capture"], "hint: azolla capture TEXT"),
        (&["peer", "add", "az-x", "--url", "https://x:7517"], "its token goes to stdin here"),
        (&["objective", "new", "Title", "--criteria", "-"], ""),
    ];
    for (arguments, hint) in cases {
        // What does not end is ended by the runner of the tests.
        let answer = world.azolla(arguments);
        assert!(answer.stderr.contains(hint), "{arguments:?}: {answer:?}");
    }
    world.azolla(&["capture", "Shorten the README of app"]).ok();
    world.azolla(&["triage", "--now"]).ok();
    let refused = world.azolla(&["triage", "promote", "1", "--edit"]).refused(2);
    assert!(
        refused.contains("there is no terminal for an editor") && refused.contains("hint: "),
        "{refused}"
    );
    std::fs::write(world.path("app/.azolla.toml"), "budget_ms = 1000\n").unwrap();
    world.commit(&world.path("app"));
    let asked = world.azolla(&["trust"]);
    assert_eq!(asked.code, 2, "{asked:?}");
    assert!(asked.stderr.ends_with("hint: azolla trust --yes\n"), "{asked:?}");
}

/// Returns an id with another last character, whatever it was.
fn slipped(id: &str) -> String {
    let (part, last) = id.split_at(id.len() - 1);
    format!("{part}{}", if last == "0" { "1" } else { "0" })
}

#[test]
fn a_run_and_a_note_that_are_nearly_right_are_answered_too() {
    let world = World::with_worker("cat > /dev/null; echo two >> a.txt\n");
    let id = world.approved("Add a line");
    world.azolla(&["run", "--until-idle"]).ok();
    let body = id.strip_prefix("obj-").unwrap();
    let run = format!("run-{body}-1");
    let refused = world.azolla(&["explain", &format!("run-{}-1", slipped(body))]).refused(3);
    assert!(refused.contains(&format!("did you mean {run} (Add a line)?")), "{refused}");
    let note = world.azolla(&["capture", "call Kim"]).ok().trim_end().to_owned();
    let refused = world.azolla(&["triage", "process", &slipped(&note), "--reason", "x"]).refused(3);
    assert!(refused.contains(&format!("did you mean {note} (call Kim)?")), "{refused}");
}

#[test]
fn config_shows_what_holds_and_from_which_line() {
    let world = World::with_worker("true\n");
    world.configure("[attention]\nreview_limit = 7\n[http]\nlisten = \"127.0.0.1:7999\"");
    let file = std::fs::read_to_string(world.config()).unwrap();
    let line = file.lines().position(|line| line.starts_with("review_limit")).unwrap() + 1;
    let shown = world.azolla(&["config"]).ok();
    assert!(shown.contains(&format!("file  {}  (by AZOLLA_HOME)", world.config().display())), "{shown}");
    assert!(shown.contains(&format!("review_limit  7  (line {line})")), "{shown}");
    assert!(shown.contains("hosts           []  (default)"), "{shown}");
    let said = world.azolla(&["config", "--set"]).ok();
    assert!(said.contains("review_limit") && !said.contains("(default)"), "{said}");
    let document = world.azolla(&["config", "--json"]).json("configuration");
    let settings = document["settings"].as_array().unwrap();
    let setting = |key: &str| settings.iter().find(|setting| setting["key"] == key).unwrap();
    assert_eq!(
        (&setting("review_limit")["source"], &setting("review_limit")["line"]),
        (&"file".into(), &line.into())
    );
    assert_eq!(
        (&setting("lease_ms")["source"], &setting("lease_ms")["value"]),
        (&"default".into(), &"60000".into())
    );
    // A fault is the same here as everywhere; the reference needs no configuration at all.
    world.configure("[htp]");
    let refused = world.azolla(&["config"]).refused(2);
    assert!(refused.contains("unknown key `htp`") && refused.contains("did you mean `http`?"), "{refused}");
    let empty = World::new();
    assert!(empty.azolla(&["config"]).refused(1).contains("hint: azolla init"));
    let reference = empty.azolla(&["config", "--reference"]).ok();
    assert!(reference.contains("review_limit = 5") && reference.contains(".azolla.toml"), "{reference}");
    let document = empty.azolla(&["config", "--reference", "--json"]).json("configuration_reference");
    assert!(document.as_array().unwrap().len() > 80, "{document}");
}

#[test]
fn colour_is_for_those_who_see_it() {
    let world = World::with_worker("true\n");
    world.objective("A title", "x");
    let has_colour = |variables: &[(&str, &str)]| {
        world.azolla_env(&["objective", "list"], variables).ok().contains('\u{1b}')
    };
    assert!(!has_colour(&[]), "a pipe has none");
    assert!(has_colour(&[("CLICOLOR_FORCE", "1")]));
    assert!(!has_colour(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), "NO_COLOR comes first");
    assert!(!has_colour(&[("TERM", "dumb")]));
    let help = world.azolla_env(&["--help"], &[("CLICOLOR_FORCE", "1")]).ok();
    assert!(help.contains("Every day:") && help.contains("objective, obj"), "{help}");
    assert!(world.azolla(&["--version"]).ok().starts_with("azolla 0."));
}

#[test]
fn what_is_nearly_right_is_answered_with_what_is() {
    let world = World::with_worker("true\n");
    let id = world.objective("Round half up", "x");
    let slip = slipped(&id);
    let cases: [(&[&str], i32, &str); 12] = [
        (&["objectve", "list"], 2, "'objective'"),
        (&["objective", "aprove", "4k2"], 2, "'approve'"),
        (&["run", "--until-idl"], 2, "'--until-idle'"),
        (&["objective", "list", "--status", "BLOKED"], 2, "'BLOCKED'"),
        (&["schema", "objectiv"], 2, "'objective'"),
        (&["completions", "bsh"], 2, "'bash'"),
        (&["4k2"], 2, "hint: a command comes before an id: azolla objective show 4k2"),
        (&[&id], 2, &format!("hint: a command comes before an id: azolla objective show {id}\n")),
        (&["objective", "show", &slip], 3, &format!("hint: did you mean {id} (Round half up)?")),
        (
            &["objective", "list", "--azolla", "az-ap"],
            3,
            "hint: did you mean az-app? configured: az-app, az-taskmgmt",
        ),
        (&["replay", &id, "--provider", "s"], 4, "has not run yet"),
        (&["demo", "--provider", "shh"], 3, "hint: did you mean sh?"),
    ];
    for (arguments, code, told) in cases {
        let refused = world.azolla(arguments).refused(code);
        assert!(refused.contains(told), "{arguments:?}: {refused}");
    }
    // Far from everything: the list, and no guess.
    let refused = world.azolla(&["objective", "show", "uuuuuuuu"]).refused(3);
    assert!(refused.ends_with("hint: azolla objective list --all\n"), "{refused}");
    let listed = world.azolla(&["objective", "list", "--status", "new"]).ok();
    assert!(listed.contains("Round half up"), "small letters will do: {listed}");
    // The same in JSON.
    let refused = world.azolla(&["4k2", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&refused.stdout).unwrap();
    assert!(document["data"]["hint"].as_str().unwrap().contains("azolla objective show 4k2"), "{document}");
}
