//! The resume page: what it says with nothing, with results that wait, and what changed since the last look.

use std::fs;

use crate::world::World;

#[test]
fn the_page_of_a_new_machine_names_the_first_command() {
    let world = World::new();
    let page = "Nothing is set up yet.\n\nNext: set it up\n  azolla init\n";
    assert_eq!((world.azolla(&[]).ok(), world.azolla(&["resume"]).ok()), (page.into(), page.into()));
    assert!(!world.home().exists(), "a look made a home");
    assert_eq!(world.azolla(&["--json"]).json("resume")["next_actions"][0]["command"], "azolla init");
}

#[test]
fn an_empty_page_says_how_to_begin() {
    let world = World::new();
    let app = world.repository("app");
    world.azolla(&["init"]).ok();
    let page = world.azolla(&[]).ok();
    assert_eq!(
        page,
        "Nothing needs you.\n\nNext: set it up for a repository\n  cd REPOSITORY && azolla init\n"
    );
    world.azolla_in(&app, &["init"]).ok();
    let page = world.azolla(&[]).ok();
    assert!(
        page.ends_with("  azolla objective new \"Title\" --criteria \"what has to hold when it is done\"\n"),
        "{page}"
    );
}

#[test]
fn at_most_three_next_actions_with_their_commands_the_most_important_first() {
    let world = World::new();
    let app = world.repository("app");
    world.azolla_in(&app, &["init"]).ok();
    for (title, importance) in [("Least", "4"), ("Third", "3"), ("First", "0"), ("Second", "1")] {
        world.azolla(&["objective", "new", title, "--criteria", "c", "--importance", importance]).ok();
    }
    let page = world.azolla(&[]).ok();
    let id = |title: &str| {
        let all = world.azolla(&["objective", "list", "--json"]).json("objectives");
        let found = all.as_array().unwrap().iter().find(|objective| objective["title"] == title).unwrap();
        found["objective_id"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        page,
        format!(
            "Waiting for you, first things first\n  1. Let it run: First\n     azolla objective approve {}\n  \
             2. Let it run: Second\n     azolla objective approve {}\n  3. Let it run: Third\n     \
             azolla objective approve {}\n  and 1 more: azolla objective list\n",
            id("First"),
            id("Second"),
            id("Third")
        )
    );
    let all = world.azolla(&["resume", "--json"]).json("resume")["next_actions"].clone();
    assert_eq!(all.as_array().unwrap().len(), 4);
}

/// What one glance has to show stays in sight, however long a title is.
#[test]
fn a_long_title_is_shown_by_its_beginning() {
    let world = World::new();
    let app = world.repository("app");
    world.azolla_in(&app, &["init"]).ok();
    world.azolla(&[]).ok();
    let title = format!("Round {}", "half up and ".repeat(40));
    world.objective(title.trim(), "c");
    let page = world.azolla(&[]).ok();
    assert!(
        page.contains("Let it run: Round half up and") && page.contains("…\n     azolla objective approve "),
        "{page}"
    );
    assert!(page.contains("was described, by you (Round half up") && page.contains("…)\n"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() < 200), "{page}");
}

#[test]
fn o3_results_that_wait_come_first_and_hold_the_rest_back() {
    let world = World::with_worker("cat > /dev/null; echo two >> a.txt\n");
    world.configure("[attention]\nreview_limit = 1");
    let first = world.approved("First");
    world.azolla(&["run", "--until-idle"]).ok();
    world.azolla(&[]).ok();
    world.approved("Second");
    let ran = world.azolla(&["run", "--until-idle"]);
    assert_eq!(ran.ok(), "az-app: nothing new starts while a result waits for you: azolla\n");
    // Everything comes from the store: the repository may be gone.
    fs::rename(world.path("app"), world.path("moved")).unwrap();
    let page = world.azolla(&[]).ok();
    let expected = format!(
        "Waiting for you\n  1. Review PR on azolla/{first}: First  (awaiting confirmation)\n     azolla review {first}\n\n\
         Waiting\n  az-app: 1 approved, held back: 1 result waits for you and the limit is 1\n\n\
         Since you last looked, "
    );
    assert!(page.starts_with(&expected), "{page}");
    assert!(page.contains("was approved, by you (Second)\n"), "{page}");
    // What was shown once is not news.
    assert!(!world.azolla(&[]).ok().contains("Since you last looked"));
    world.azolla(&["objective", "confirm", &first]).ok();
    let page = world.azolla(&[]).ok();
    assert!(
        page.starts_with(
            "Nothing needs you.\n\nWaiting\n  az-app: 1 ready to run\n     azolla run --until-idle\n"
        ),
        "{page}"
    );
    assert!(page.contains(&format!("{first} was confirmed, by you")), "{page}");
}

#[test]
fn json_does_not_move_the_mark_of_what_was_seen() {
    let world = World::new();
    let app = world.repository("app");
    world.azolla_in(&app, &["init"]).ok();
    world.azolla(&[]).ok();
    world.objective("One", "c");
    for _ in 0..2 {
        let data = world.azolla(&["--json"]).json("resume");
        assert_eq!(data["azollas"][0]["changes"].as_array().unwrap().len(), 1, "{data}");
    }
    assert!(world.azolla(&[]).ok().contains("was described, by you (One)"));
}

#[test]
fn a_store_that_is_gone_is_a_line_and_not_the_end_of_the_page() {
    let world = World::new();
    let app = world.repository("app");
    world.azolla_in(&app, &["init"]).ok();
    world.objective("One", "c");
    fs::remove_file(world.home().join("azollas/az-taskmgmt.sqlite")).unwrap();
    let page = world.azolla(&[]).ok();
    assert!(page.starts_with("Waiting for you\n  1. Let it run: One\n"), "{page}");
    assert!(
        page.contains("az-taskmgmt cannot be read\n") && page.ends_with("     azolla doctor\n"),
        "{page}"
    );
}

/// M-4: a look is a read, so whoever holds the write lock does not keep the page waiting.
#[test]
fn m4_a_page_is_there_while_another_program_writes() {
    let world = World::new();
    let app = world.repository("app");
    world.azolla_in(&app, &["init"]).ok();
    world.objective("One", "c");
    let writing = rusqlite::Connection::open(world.home().join("azollas/az-app.sqlite")).unwrap();
    writing.execute_batch("BEGIN IMMEDIATE").unwrap();
    let page = world.azolla(&[]).ok();
    assert!(page.starts_with("Waiting for you\n  1. Let it run: One\n"), "{page}");
    assert!(!page.contains("cannot be read"), "{page}");
}

#[test]
fn a_home_that_takes_no_mark_still_has_its_page() {
    let world = World::new();
    let app = world.repository("app");
    world.azolla_in(&app, &["init"]).ok();
    world.objective("One", "c");
    // Nothing can be written to a directory, whoever asks.
    for file in ["home.sqlite", "home.sqlite-wal", "home.sqlite-shm"] {
        let _ = fs::remove_file(world.home().join(file));
    }
    fs::create_dir(world.home().join("home.sqlite")).unwrap();
    let answer = world.azolla(&[]);
    assert_eq!(answer.stderr, "");
    assert!(answer.ok().starts_with("Waiting for you\n  1. Let it run: One\n"));
    world.azolla(&["--json"]).json("resume");
    let told = world.azolla(&["doctor"]);
    assert!(told.code == 1 && told.stdout.contains("home store"), "{}", told.stdout);
}

/// S-h: whatever blocked it, the page names the command that lets it go on.
#[test]
fn s_h_a_blocked_objective_shows_how_to_look_and_how_to_go_on() {
    let world = World::new();
    let app = world.repository("app");
    world.azolla_in(&app, &["init"]).ok();
    let id = world.objective("One", "c");
    world.azolla(&["objective", "block", &id, "--reason", "waits"]).ok();
    let page = world.azolla(&[]).ok();
    let expected = format!(
        "Waiting for you\n  1. See what it waits for: One\n     azolla objective show {id}\n     then: azolla objective \
         unblock {id}\n"
    );
    assert!(page.starts_with(&expected), "{page}");
    let action = world.azolla(&["--json"]).json("resume")["next_actions"][0].clone();
    assert_eq!(action["then"], format!("azolla objective unblock {id}"));
}
