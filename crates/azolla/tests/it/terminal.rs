//! The program on a real terminal: widths, the pager, progress.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

use unicode_width::UnicodeWidthStr;

use crate::world::{Answer, World, git};

/// Runs the program on a terminal of so many columns; what it prints comes as the terminal has it.
fn on_terminal(world: &World, columns: u16, arguments: &[&str], variables: &[(&str, &str)]) -> Answer {
    recorded(world, columns, arguments, variables, "/dev/null", Stdio::null())
}

/// The same, and what the terminal shows is in a file as soon as it does.
fn recorded(
    world: &World,
    columns: u16,
    arguments: &[&str],
    variables: &[(&str, &str)],
    file: &str,
    typed: Stdio,
) -> Answer {
    let words = arguments.iter().map(|word| format!(" '{word}'")).collect::<String>();
    #[expect(clippy::disallowed_methods, reason = "a terminal for the program under test")]
    let mut command = Command::new("script");
    command.args(["--quiet", "--flush", "--return", "--command"]);
    command.arg(format!("stty cols {columns} rows 24; exec {}{words}", env!("CARGO_BIN_EXE_azolla")));
    command.arg(file).current_dir(world.path("")).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("SHELL", "/bin/sh").env("TERM", "xterm");
    command
        .env("AZOLLA_HOME", world.home())
        .env("HOME", world.path("person"))
        .envs(variables.iter().copied());
    let output = command.stdin(typed).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
    Answer {
        code: output.status.code().unwrap(),
        stdout: printed,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Takes colours and the like away.
fn bare(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once("\u{1b}[") {
        bare.push_str(before);
        rest = escape.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, after)| after);
    }
    bare + rest
}

/// A program of the test's own, on no PATH.
fn program(world: &World, name: &str, lines: &str) -> String {
    let path = world.script(name, &format!("#!/bin/sh\n{lines}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

const TITLES: [&str; 5] = [
    "A title of plain words that goes on and on, far beyond what a narrow terminal can show at once",
    "日本語の題名はとても長いので狭い端末では一行に収まりませんがそれでも列は崩れません",
    "👩\u{200d}🔧 👍🏽 emoji of several characters 👩\u{200d}🔧👩\u{200d}🔧👩\u{200d}🔧 and some words behind them to fill it",
    "e\u{301}e\u{301}e\u{301} combining marks e\u{301}e\u{301} take no column of their own, so more of them fits",
    "short",
];

/// A home with something on every screen.
fn full() -> World {
    let world = World::with_worker("cat > /dev/null; echo two >> a.txt\n");
    for title in TITLES {
        world.objective(title, title);
        world.azolla(&["capture", title]).ok();
    }
    let id = world.approved(TITLES[1]);
    world.azolla(&["run", "--until-idle"]).ok();
    world.azolla(&["peer", "add", "az-elsewhere"]).ok();
    world.azolla(&["objective", "show", &id]).ok();
    world
}

#[test]
fn no_screen_is_wider_than_its_terminal() {
    let world = full();
    let screens: [&[&str]; 13] = [
        &[],
        &["objective", "list", "--all"],
        &["triage"],
        &["triage", "captures", "--all"],
        &["log", "--all"],
        &["limits"],
        &["peer", "list"],
        &["doctor"],
        &["config"],
        &["config", "--reference"],
        &["--help"],
        &["objective", "--help"],
        &["run", "--help"],
    ];
    for columns in [40, 80, 132] {
        for screen in screens {
            let shown = on_terminal(&world, columns, screen, &[("PAGER", "cat")]);
            assert_eq!(shown.code, 0, "{screen:?}: {shown:?}");
            for line in bare(&shown.stdout).lines() {
                // What is copied stays in one piece: a command, a path, an example of a file.
                let copied = line.contains("azolla ") || line.contains(" = ");
                let is_one_word = line.split_whitespace().count() <= 1;
                assert!(
                    line.width() <= columns.into() || copied || is_one_word,
                    "{screen:?} in {columns}: {} columns: {line}",
                    line.width()
                );
            }
        }
    }
}

#[test]
fn the_columns_of_a_list_stand_below_each_other() {
    let world = full();
    let shown = bare(&on_terminal(&world, 80, &["objective", "list"], &[("PAGER", "cat")]).stdout);
    let lines: Vec<_> = shown.lines().filter(|line| line.starts_with("obj-")).collect();
    assert_eq!(lines.len(), 6, "{shown}");
    let begins: Vec<_> = lines
        .iter()
        .map(|line| {
            // Behind a space: an id may have the same letters in it.
            let begins = TITLES.iter().map(|title| format!(" {}", title.chars().take(2).collect::<String>()));
            begins.filter_map(|begin| line.split_once(&begin)).next().unwrap().0.width()
        })
        .collect();
    assert!(begins.iter().all(|begin| *begin == begins[0]), "{begins:?}\n{shown}");
    // Too narrow for a column of titles: they stand below.
    let shown = bare(&on_terminal(&world, 40, &["objective", "list"], &[("PAGER", "cat")]).stdout);
    assert!(shown.lines().any(|line| line == "    short"), "{shown}");
    // In a pipe nothing is cut.
    assert!(world.azolla(&["objective", "list"]).ok().contains(TITLES[0]));
}

/// A page that is longer than the terminal.
fn long() -> (World, String) {
    let world = World::with_worker("cat > /dev/null; seq 20000 > b.txt\n");
    let id = world.approved("Add many lines");
    world.azolla(&["run", "--until-idle"]).ok();
    (world, id)
}

#[test]
fn a_long_page_goes_to_the_pager_that_is_named() {
    let (world, id) = long();
    let kept = world.path("kept");
    let keeps =
        |name: &str| program(&world, name, &format!("echo {name} \"$@\" > {0}; cat >> {0}", kept.display()));
    let (ours, theirs) = (keeps("ours"), keeps("theirs"));
    let first = |variables: &[(&str, &str)], arguments: &[&str]| {
        let _ = fs::remove_file(&kept);
        let shown = on_terminal(&world, 80, arguments, variables);
        assert_eq!(shown.code, 0, "{shown:?}");
        let kept = fs::read_to_string(&kept).ok();
        (kept.and_then(|text| Some(text.lines().next()?.to_owned())), shown.stdout)
    };
    let with_argument = format!("{ours} -x");
    let (pager, printed) = first(&[("AZOLLA_PAGER", &with_argument), ("PAGER", &theirs)], &["review", &id]);
    assert_eq!((pager.as_deref(), printed.as_str()), (Some("ours -x"), ""), "the program's own comes first");
    for screen in [&["log"][..], &["explain", &id], &["triage"], &["objective", "list"], &["config"]] {
        assert_eq!(first(&[("PAGER", &theirs)], screen).0.as_deref(), Some("theirs"), "{screen:?}");
    }
    // None is asked for, it is not there, nobody could use it.
    for (name, variables, arguments) in [
        ("cat", vec![("AZOLLA_PAGER", "cat"), ("PAGER", &*theirs)], vec!["review", &id]),
        ("nothing", vec![("PAGER", "")], vec!["review", &id]),
        ("missing", vec![("PAGER", "/no/such/pager -R")], vec!["review", &id]),
        ("dumb", vec![("PAGER", &*theirs), ("TERM", "dumb")], vec!["review", &id]),
        ("a flag", vec![("PAGER", &*theirs)], vec!["review", &id, "--no-pager"]),
        ("a flag before", vec![("PAGER", &*theirs)], vec!["--no-pager", "review", &id]),
    ] {
        let (pager, printed) = first(&variables, &arguments);
        assert_eq!(pager, None, "{name}");
        assert!(printed.contains("20000"), "{name}: all of it is printed");
    }
    let piped = world.azolla_env(&["review", &id], &[("PAGER", &theirs)]).ok();
    assert!(piped.contains("20000") && !piped.contains('\u{1b}'));
}

#[test]
fn less_gets_colours_and_ends_with_a_page_that_fits() {
    let (world, id) = long();
    let (kept, folder) = (world.path("kept"), world.path("programs"));
    fs::create_dir(&folder).unwrap();
    program(&world, "programs/less", &format!("{{ echo \"$LESS $*\"; cat; }} > {}", kept.display()));
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let asked = |variables: &[(&str, &str)]| {
        let variables = [&[("PATH", path.as_str())], variables].concat();
        assert_eq!(on_terminal(&world, 80, &["review", &id], &variables).code, 0);
        let text = fs::read_to_string(&kept).unwrap();
        let (first, page) = text.split_once('\n').unwrap();
        (first.to_owned(), page.contains('\u{1b}'))
    };
    assert_eq!(asked(&[]), ("FRX -R".to_owned(), true));
    assert_eq!(asked(&[("LESS", "i")]), ("i -R".to_owned(), true), "what a person has set stays");
    assert_eq!(asked(&[("NO_COLOR", "1")]), ("FRX -R".to_owned(), false));
}

/// T42: who quits the pager has read enough, and Ctrl-C in it is not for us.
#[test]
fn t42_a_pager_that_is_left_early_is_no_failure() {
    let (world, id) = long();
    for (name, lines) in [
        ("reads-nothing", "exit 0"),
        ("reads-a-line", "head -n 1 > /dev/null"),
        ("fails", "exit 3"),
        ("is-interrupted", "kill -INT $PPID; cat > /dev/null"),
    ] {
        let pager = program(&world, name, lines);
        let shown = on_terminal(&world, 80, &["review", &id], &[("PAGER", &pager)]);
        assert_eq!((shown.code, shown.stdout.as_str()), (0, ""), "{name}");
    }
}

/// The line that is redrawn is one line, says the budget, and is gone at the end.
#[test]
fn progress_stays_in_one_line_and_says_the_budget() {
    // The worker waits until the terminal shows that it runs; its budget ends a wait that is in vain.
    let world = World::new();
    let (app, seen) = (world.repository("app"), world.path("seen"));
    let waits = format!(
        "cat > /dev/null; until grep -q 'the worker is' {}; do :; done; echo two >> a.txt\n",
        seen.display()
    );
    let worker = format!("sh {}", world.script("worker.sh", &waits).display());
    world.azolla_in(&app, &["init", "--provider-command", &worker]).ok();
    world.open_to_workers();
    world.configure("[limits]\nbudget_patch_ms = 60000");
    let run = |columns: u16, variables: &[(&str, &str)]| {
        world.approved("Add a line");
        let shown = seen.display().to_string();
        recorded(&world, columns, &["run", "--until-idle"], variables, &shown, Stdio::null()).stdout
    };
    let shown = run(40, &[]);
    let drawn: Vec<_> = shown.split("\r\u{1b}[K").skip(1).collect();
    let lines: Vec<_> = drawn.iter().map(|line| line.split('\n').next().unwrap()).collect();
    assert!(lines.iter().any(|line| line.starts_with("obj-")), "{shown:?}");
    assert!(lines.iter().filter(|line| line.starts_with("obj-")).all(|line| line.width() < 40), "{lines:?}");
    assert!(drawn.last().unwrap().contains("passed"), "{drawn:?}");
    let wide = run(120, &[]);
    assert!(wide.contains("is running") && wide.contains(" of 1 min"), "{wide:?}");
    // A terminal that can only print gets a line per step, and no escape at all.
    let dumb = run(80, &[("TERM", "dumb")]);
    assert!(!dumb.contains('\u{1b}') && dumb.contains("passed"), "{dumb:?}");
}

#[test]
fn colour_on_a_terminal_unless_somebody_says_no() {
    let world = full();
    let has_colour = |variables: &[(&str, &str)]| {
        on_terminal(&world, 80, &["limits"], variables).stdout.contains('\u{1b}')
    };
    assert!(has_colour(&[]));
    assert!(!has_colour(&[("NO_COLOR", "1")]));
    assert!(!has_colour(&[("TERM", "dumb")]));
}

/// R13: where a file is trusted and the branch has another one pinned, a person is asked, for only a pin of this branch leads on.
#[test]
fn r13_a_file_that_another_branch_has_is_asked_about() {
    let world = World::with_worker("true\n");
    let app = world.path("app");
    let trusted = |branch: &str, budget: &str| {
        git(&app, &["switch", "-q", branch]);
        fs::write(app.join(".azolla.toml"), format!("budget_ms = {budget}\n")).unwrap();
        world.commit(&app);
        world.azolla(&["trust", "--base", branch, "--yes"]).ok();
    };
    git(&app, &["branch", "release-1"]);
    trusted("release-1", "60000");
    trusted("main", "120000");
    git(&app, &["switch", "-q", "release-1"]);
    git(&app, &["checkout", "-q", "main", "--", ".azolla.toml"]);
    world.commit(&app);
    let look = ["trust", "--base", "release-1"];
    let told = on_terminal(&world, 80, &look, &[]);
    assert!(told.stdout.contains("Let it count? [y/N]"), "{told:?}");
    assert!(told.stdout.contains("it is trusted already, as that of another branch"), "{told:?}");
    let yes = world.path("yes");
    fs::write(&yes, "y\n").unwrap();
    let told = recorded(&world, 80, &look, &[], "/dev/null", fs::File::open(yes).unwrap().into());
    assert!(told.stdout.contains("it counts from now on"), "{told:?}");
    assert_eq!(world.azolla(&look).stderr, "it is trusted already\n");
}
