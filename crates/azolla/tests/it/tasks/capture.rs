//! `azolla capture`: what is taken, what is refused and how, and that nothing typed is lost (issue: capture; A-2, T22).

use std::{fs, os::unix::fs::PermissionsExt, thread};

use super::{capture, captures, desk, files, id_of, office, texts};
use crate::world::{World, answer};

const MIB: usize = 1024 * 1024;

#[test]
fn a2_a_note_is_kept_byte_for_byte_however_it_comes() {
    let world = desk();
    let typed = world.azolla(&["capture", "ask", "Kim", "about", "the  invoices"]).ok();
    let quoted = world.azolla(&["cap", "  spaces stay\n\ttabs too \n"]).ok();
    let read = [
        "Windows lines\r\nand more\r\n",
        "ends with three\n\n\n",
        "many lines\n- one\n- two\n\n  indented\n",
        "🌱 Grüße, 世界 — e\u{301} and \u{200d}👩\u{200d}🚀",
        "no newline at the end",
        "-",
        "a\u{1b}[31mb\u{7}\u{9b}2J",
    ];
    let mut ids = vec![id_of(&typed), id_of(&quoted)];
    for (at, text) in read.iter().enumerate() {
        let arguments: &[&str] = if at % 2 == 0 { &["capture"] } else { &["capture", "-"] };
        ids.push(id_of(&world.azolla_with(&world.path(""), arguments, text).ok()));
    }
    let mut expected = vec!["ask Kim about the  invoices", "  spaces stay\n\ttabs too \n"];
    expected.extend(read);
    let stored = captures(&world);
    assert_eq!(texts(&world), expected);
    let kept: Vec<_> = stored.iter().map(|found| found["capture"]["capture_id"].as_str().unwrap()).collect();
    assert_eq!(kept, ids);
}

/// A list begins like an option.
#[test]
fn a_note_may_begin_with_a_dash_and_a_mistyped_option_is_none() {
    let world = desk();
    let list = "- paint the fence\n- order tyres";
    capture(&world, list);
    id_of(&world.azolla(&["capture", "-", "is", "a", "dash"]).ok());
    id_of(&world.azolla(&["capture", "--label", "x", "--", "--force", "is", "dangerous"]).ok());
    assert_eq!(texts(&world), [list, "- is a dash", "--force is dangerous"]);
    for mistyped in [vec!["--lable", "x", "note"], vec!["note", "--later"], vec!["-x", "note"]] {
        let told = world.azolla(&[vec!["capture"], mistyped].concat()).refused(2);
        assert!(told.contains("behind --") || told.contains("use '-- --later'"), "{told}");
    }
    assert_eq!(captures(&world).len(), 3);
}

#[test]
fn a_label_says_where_a_note_comes_from() {
    let world = desk();
    capture(&world, "without one");
    let long = "x".repeat(300);
    for label in ["git", "two words", "line\nbreak\u{1b}[0m", &long, ""] {
        world.azolla(&["capture", "--label", label, "with one"]).ok();
    }
    let labels: Vec<_> =
        captures(&world).iter().map(|found| found["capture"]["source_label"].clone()).collect();
    assert_eq!(labels, ["cli", "git", "two words", "line break [0m", &long[..200], ""]);
}

#[test]
fn a_mebibyte_is_taken_and_one_byte_more_is_refused_in_words() {
    let world = desk();
    let whole = "ä".repeat(MIB / 2);
    id_of(&world.azolla_with(&world.path(""), &["capture"], &whole).ok());
    assert_eq!(texts(&world), std::slice::from_ref(&whole));
    for more in [format!("{whole}x"), "x".repeat(5 * MIB)] {
        let told = world.azolla_with(&world.path(""), &["capture", "-"], &more).refused(4);
        assert!(told.contains("a note has at most 1 MiB (1048576 bytes)"), "{told}");
        assert!(told.contains("hint: capture a shorter note"), "{told}");
    }
    assert_eq!(captures(&world).len(), 1);
}

#[test]
fn what_is_no_text_is_refused_and_nothing_is_stored() {
    let world = desk();
    let blank: [&[u8]; 4] = [b"", b"   ", b"\n\r\n\t", "\u{a0}\u{2003}".as_bytes()];
    for input in blank {
        let told = world.azolla_bytes(&world.path(""), &["capture"], input).refused(4);
        assert_eq!(told, "error: a note cannot be empty\nhint: azolla capture TEXT\n", "{input:?}");
    }
    world.azolla(&["capture", ""]).refused(4);
    let png = b"\x89PNG\r\n\x1a\n\0\0\0";
    let told = world.azolla_bytes(&world.path(""), &["capture"], png).refused(4);
    assert!(told.contains("a note is text in UTF-8; byte 0 of this one is not"), "{told}");
    let told = world.azolla_bytes(&world.path(""), &["capture"], b"half of \xe2\x82").refused(4);
    assert!(told.contains("byte 8 of this one is not"), "{told}");
    let told = world.azolla_bytes(&world.path(""), &["capture"], b"a\0b").refused(4);
    assert!(told.contains("NUL") && told.contains("byte 1"), "{told}");
    assert_eq!(captures(&world).len(), 0);
    assert_eq!(files(&world.home().join("state")), Vec::<String>::new(), "what is refused is not kept");
}

/// T22: what a note does to a terminal it does not do on any screen of ours.
#[test]
fn t22_escapes_in_a_note_are_shown_harmlessly() {
    let world = office();
    let attack =
        "Fix \u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}the app\u{2066} README should be short\u{8}";
    let id = capture(&world, attack);
    let mut pages = vec![world.azolla(&["triage", "captures"]).ok()];
    world.azolla(&["triage", "--now"]).ok();
    pages.push(world.azolla(&["triage"]).ok());
    let promoted = world.azolla(&["triage", "promote", "1"]);
    pages.extend([promoted.stdout.clone(), promoted.stderr.clone()]);
    let objective = promoted.stdout.trim_end();
    for arguments in [
        vec!["triage", "--all"],
        vec!["triage", "captures", "--all"],
        vec!["objective", "list"],
        vec!["objective", "show", objective],
        vec!["explain", objective],
        vec!["manifest"],
        vec!["manifest", "--last"],
        vec!["log", "--all"],
        vec!["resume"],
    ] {
        let answer = world.azolla(&arguments);
        assert_eq!(answer.code, 0, "{arguments:?}: {}", answer.stderr);
        pages.extend([answer.stdout, answer.stderr]);
    }
    assert!(pages.iter().filter(|page| page.contains("the app")).count() >= 6, "{pages:#?}");
    for page in pages {
        let is_odd = |c: char| {
            (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!page.contains(is_odd), "{page:?}");
    }
    // In JSON it is all there, escaped.
    let data = captures(&world);
    assert_eq!(
        (&data[0]["capture"]["capture_id"], &data[0]["capture"]["raw_content"]),
        (&id.into(), &attack.into())
    );
}

#[test]
fn a_note_needs_no_repository_no_git_and_no_particular_directory() {
    let world = office();
    let nowhere = world.path("nowhere");
    fs::create_dir(&nowhere).unwrap();
    let bare = |text: &str| {
        let mut command = world.command(&nowhere, &["capture", text]);
        // No git, no shell, no home but ours.
        command.env("AZOLLA_HOME", world.home()).env("PATH", &nowhere).env_remove("HOME").env_remove("USER");
        answer(command, b"").ok()
    };
    id_of(&bare("from nowhere"));
    id_of(&world.azolla_in(&world.path("app"), &["capture", "from a repository"]).ok());
    fs::set_permissions(&nowhere, fs::Permissions::from_mode(0o500)).unwrap();
    id_of(&bare("where nothing can be written"));
    assert_eq!(texts(&world), ["from nowhere", "from a repository", "where nothing can be written"]);
    assert_eq!(files(&nowhere), Vec::<String>::new());
}

#[test]
fn without_a_configuration_the_first_command_is_named() {
    let world = World::new();
    for (arguments, input) in [(vec!["capture", "a note"], ""), (vec!["capture"], "a note")] {
        let told = world.azolla_with(&world.path(""), &arguments, input).refused(1);
        assert!(
            told.contains("there is no configuration at") && told.ends_with("hint: azolla init\n"),
            "{told}"
        );
    }
    assert!(!world.home().exists(), "a note made a home");
    let world = World::new();
    world.azolla(&["init"]).ok();
    let told = world.azolla(&["capture", "x", "--azolla", "az-nobody"]).refused(3);
    assert!(told.contains("hint: configured: az-taskmgmt"), "{told}");
    let office = office();
    let told = office.azolla(&["capture", "x", "--azolla", "az-app"]).refused(2);
    assert!(told.contains("az-app is a CODE_PATCH_AZOLLA"), "{told}");
}

/// a store that cannot take a note is no reason to lose it.
#[test]
fn a2_a_note_that_cannot_be_stored_is_kept_in_a_file_with_the_command_for_later() {
    let world = desk();
    let text = "thoughts\r\nof a long walk\n";
    let store = world.home().join("azollas/az-taskmgmt.sqlite");
    let whole = fs::read(&store).unwrap();
    // A file that is no store, and none at all.
    fs::write(&store, "this is no database, and long enough to be looked at as one").unwrap();
    for round in 0..2 {
        let failed = world.azolla_with(&world.path(""), &["capture"], text);
        assert_eq!(
            (failed.code, failed.stdout.as_str()),
            (if round == 0 { 1 } else { 3 }, ""),
            "{}",
            failed.stderr
        );
        let (_, command) =
            failed.stderr.split_once("; later: ").unwrap_or_else(|| panic!("{}", failed.stderr));
        let command = command.lines().next().unwrap();
        let file = command.strip_prefix("azolla capture - < ").unwrap();
        assert_eq!(fs::read_to_string(file).unwrap(), text);
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        let _ = fs::remove_file(&store);
    }
    fs::write(&store, whole).unwrap();
    for file in files(&world.home().join("state")) {
        let kept = fs::read_to_string(world.home().join("state").join(file)).unwrap();
        world.azolla_with(&world.path(""), &["capture", "-"], &kept).ok();
    }
    assert_eq!(texts(&world), [text, text]);
}

#[test]
fn notes_taken_at_once_are_all_there() {
    let world = desk();
    const AT_ONCE: usize = 8;
    let mut ids: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> = (0..AT_ONCE)
            .map(|number| {
                scope.spawn({
                    let world = &world;
                    move || capture(world, &format!("note {number}"))
                })
            })
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), AT_ONCE);
    let mut kept = texts(&world);
    kept.sort();
    assert_eq!(kept, (0..AT_ONCE).map(|number| format!("note {number}")).collect::<Vec<_>>());
}
