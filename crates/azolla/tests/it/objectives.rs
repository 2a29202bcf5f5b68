//! The life of an objective by the command line: ids, states, exit codes, and what is said about them.

use crate::world::World;

/// A home with one repository and nobody to do the work.
fn world() -> World {
    let world = World::new();
    let app = world.repository("app");
    world.azolla_in(&app, &["init"]).ok();
    world
}

fn status(world: &World, id: &str) -> String {
    let objective = world.azolla(&["objective", "show", id, "--json"]).json("objective");
    objective["status"].as_str().unwrap().to_owned()
}

#[test]
fn s_a_new_prints_the_id_alone_and_stores_what_was_said() {
    let world = world();
    let app = world.path("app");
    let made = world.azolla_with(
        &app,
        &["objective", "new", "Round", "--criteria", "-", "--urgency", "1", "--base", "dev"],
        "- first\n- second\n",
    );
    assert!(
        made.stderr.starts_with("it is in az-app; next: azolla objective approve obj-"),
        "{}",
        made.stderr
    );
    let id = made.ok();
    let id = id.strip_suffix('\n').unwrap();
    let stored = world.azolla(&["objective", "show", id, "--json"]).json("objective");
    assert_eq!(
        [&stored["objective_id"], &stored["title"], &stored["acceptance_criteria"], &stored["status"]],
        [id, "Round", "- first\n- second", "NEW"]
    );
    assert_eq!((&stored["urgency"], &stored["importance"]), (&1.into(), &2.into()));
    assert_eq!(stored["metadata"]["base_branch"], "dev");
    assert_eq!(stored["metadata"]["repo_ref"], app.display().to_string());
}

#[test]
fn the_operators_steps_go_through_and_the_others_are_refused_with_a_hint() {
    let world = world();
    let id = world.objective("Round", "");
    let run = |arguments: &[&str]| world.azolla(arguments);
    let refused = run(&["objective", "approve", &id]).refused(4);
    assert!(
        refused.contains("acceptance_criteria") && refused.contains("hint: azolla objective edit"),
        "{refused}"
    );
    run(&["objective", "edit", &id, "--criteria", "it rounds"]).ok();
    run(&["objective", "approve", &id]).ok();
    assert_eq!(status(&world, &id), "TODO");
    let refused = run(&["objective", "approve", &id]).refused(4);
    assert!(refused.contains("is TODO; approve needs NEW"), "{refused}");
    let refused = run(&["objective", "confirm", &id]).refused(4);
    assert!(refused.contains("is TODO; confirm needs DONE\nhint: "), "{refused}");
    let edited = run(&["objective", "edit", &id, "--title", "Round up"]);
    assert!(edited.stderr.contains("its approval is withdrawn"), "{}", edited.stderr);
    assert_eq!(status(&world, &id), "NEW");
    run(&["objective", "approve", &id]).ok();
    run(&["objective", "withdraw", &id]).ok();
    run(&["objective", "block", &id, "--reason", "waits for the API", "--kind", "DEPENDENCY_CHANGE"]).ok();
    assert_eq!(status(&world, &id), "BLOCKED");
    let refused = run(&["objective", "retry", &id]).refused(4);
    assert!(refused.contains("unblock"), "{refused}");
    run(&["objective", "unblock", &id]).ok();
    assert_eq!(status(&world, &id), "TODO");
    run(&["objective", "archive", &id]).ok();
    assert_eq!(run(&["objective", "list"]).ok(), "Nothing to list.\n");
    assert!(run(&["objective", "list", "--all"]).ok().contains("archived"));
    run(&["objective", "unarchive", &id]).ok();
    let refused = run(&["objective", "cancel", &id]).refused(4);
    assert!(refused.contains("is TODO"), "{refused}");
    let shown = run(&["objective", "show", &id]).ok();
    assert!(shown.contains("Round up\n") && shown.contains("approved, waiting to run"), "{shown}");
    let log = run(&["log", &id]).ok();
    let steps =
        ["was described", "was approved", "is no longer approved", "was blocked", "goes on", "was archived"];
    let mut rest = log.as_str();
    for step in steps {
        rest = rest.split_once(step).unwrap_or_else(|| panic!("{step} in order in:\n{log}")).1;
    }
}

#[test]
fn a_command_that_says_nothing_is_a_usage_error() {
    let world = world();
    let id = world.objective("Round", "c");
    for (arguments, part) in [
        (vec!["objective", "edit", &id], "there is nothing to change"),
        (vec!["objective", "new", " "], "the title is empty"),
        // T18, T22: what cannot be seen is nothing.
        (vec!["objective", "new", "\u{200b}\u{2060}"], "the title is empty"),
        (vec!["objective", "edit", &id, "--title", "\u{feff} \u{ad}"], "the title is empty"),
        (vec!["objective", "block", &id, "--reason", "\u{200b}"], "a reason is needed"),
        (vec!["objective", "new", &"x".repeat(501)], "the title has more than 500 characters"),
        (vec!["objective", "new", "one\ntwo"], "the title has more than one line"),
        (vec!["objective", "edit", &id, "--title", "one\ntwo"], "the title has more than one line"),
        (vec!["objective", "new", "x", "--base", "a..b"], "reads like a revision"),
        (vec!["objective", "edit", &id, "--base=--x"], "base branch"),
        (vec!["objective", "edit", &id, "--repo=ext::sh -c id"], "transport helper"),
        (vec!["objective", "block", &id, "--reason", " "], "a reason is needed"),
        (vec!["objective", "retry", &id, "--budget-ms", "0"], "budget_patch_ms must be 1 to 86400000"),
        (vec!["objective", "new", "x", "--urgency", "5"], "0..=4"),
        (vec!["objective", "block", &id, "--reason", "r", "--kind", "OTHER"], "USER_INPUT"),
        (vec!["--json", "objective", "list"], "--json goes behind the command"),
    ] {
        let refused = world.azolla(&arguments).refused(2);
        assert!(refused.contains(part), "{arguments:?}: {refused}");
    }
}

#[test]
fn any_unique_part_of_an_id_is_enough() {
    let world = world();
    let (one, two) = (world.objective("One", "c"), world.objective("Two", "c"));
    let (body, end) = (one.strip_prefix("obj-").unwrap(), &one[one.len() - 4..]);
    assert_ne!(end, &two[two.len() - 4..], "random ends differ, but for one in half a million");
    for part in [one.as_str(), body, end] {
        assert!(world.azolla(&["objective", "show", part]).ok().starts_with("One\n"), "{part}");
    }
    // Of the time at which they were made, which changes once in more than a year.
    let refused = world.azolla(&["objective", "show", &one[..5]]).refused(2);
    assert!(
        refused.contains(&one) && refused.contains(&two) && refused.contains("is a part of 2 ids"),
        "{refused}"
    );
    // No id has this letter.
    let refused = world.azolla(&["objective", "show", "uuuu"]).refused(3);
    assert_eq!(refused, "error: there is no objective uuuu\nhint: azolla objective list --all\n");
    let refused = world.azolla(&["explain", &format!("run-{body}-7")]).refused(3);
    assert!(refused.contains(&format!("there is no run run-{body}-7")), "{refused}");
}

#[test]
fn the_azolla_is_the_named_one_or_that_of_the_directory_or_the_only_one() {
    let world = world();
    let other = world.repository("other");
    world.azolla_in(&other, &["init"]).ok();
    let refused = world.azolla(&["objective", "new", "x"]).refused(2);
    assert!(refused.contains("hint: add --azolla ID; configured: az-app, az-other"), "{refused}");
    let id = world.azolla_in(&other, &["objective", "new", "x"]).ok();
    // An id is found wherever one is.
    let found = world
        .azolla_in(&world.path("app"), &["objective", "show", id.trim_end(), "--json"])
        .json("objective");
    assert_eq!(found["azolla_id"], "az-other");
    world.azolla(&["objective", "new", "x", "--azolla", "az-app"]).ok();
    let refused = world.azolla(&["objective", "new", "x", "--azolla", "az-none"]).refused(3);
    assert_eq!(
        refused,
        "error: there is no azolla az-none\nhint: configured: az-app, az-other, az-taskmgmt\n"
    );
    let refused = world.azolla(&["objective", "new", "x", "--azolla", "az-taskmgmt"]).refused(2);
    assert!(refused.contains("az-taskmgmt is a TASK_MGMT_AZOLLA"), "{refused}");
}

#[test]
fn t18_odd_ids_are_refused_at_the_door_and_the_store_is_unchanged() {
    let world = world();
    let id = world.objective("Round", "c");
    world.azolla(&["objective", "approve", &id]).ok();
    let before = world.azolla(&["export", "--azolla", "az-app"]).ok();
    let long = "a".repeat(300);
    for odd in ["--force", "$(id)", ";", "..", "x.lock", "@{-1}", &long, "obj-x/y", "", "OBJ-X", "obj-x\n"] {
        for command in [
            vec!["objective", "show"],
            vec!["objective", "withdraw"],
            vec!["objective", "archive"],
            vec!["objective", "confirm"],
            vec!["review"],
            vec!["explain"],
            vec!["log"],
        ] {
            let arguments = [command, vec![odd]].concat();
            let refused = world.azolla(&arguments).refused(2);
            assert!(!refused.contains("panicked"), "{refused}");
        }
        let refused = world.azolla(&["objective", "confirm", &id, &format!("--run={odd}")]).refused(2);
        assert!(refused.contains("--run"), "{refused}");
        world.azolla(&["objective", "new", "x", &format!("--azolla={odd}")]).refused(2);
    }
    assert_eq!(world.azolla(&["export", "--azolla", "az-app"]).ok(), before);
}

#[test]
fn an_id_that_cannot_be_written_to_stdout_is_told_on_stderr() {
    let world = world();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = world.command(&world.path(""), &["objective", "new", "Once"]);
    let output = command.env("AZOLLA_HOME", world.home()).stdout(full).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let all = world.azolla(&["objective", "list", "--json"]).json("objectives");
    let id = all[0]["objective_id"].as_str().unwrap();
    assert_eq!((output.status.code(), all.as_array().unwrap().len()), (Some(1), 1));
    assert!(told.starts_with(&format!("{id} was created; ")), "{told}");
}

#[test]
fn an_error_is_a_document_too_where_json_is_asked_for() {
    let world = world();
    for (arguments, code, part) in [
        (vec!["objective", "show", "uuuu", "--json"], 3, "there is no objective uuuu"),
        (vec!["review", "uuuu", "--json"], 3, "there is no objective uuuu"),
        (vec!["log", "--json", "--azolla", "az-none"], 3, "there is no azolla az-none"),
        (vec!["review", "--json"], 2, "required arguments"),
    ] {
        let answer = world.azolla(&arguments);
        let document: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
        assert_eq!((&document["schema_version"], &document["kind"]), (&1.into(), &"error".into()));
        let data = &document["data"];
        assert_eq!((answer.code, &data["exit_code"]), (code, &code.into()), "{data}");
        assert!(data["message"].as_str().unwrap().contains(part) && answer.stderr.contains(part), "{data}");
    }
    let answer = world.azolla(&["objective", "show", "uuuu", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(document["data"]["hint"], "azolla objective list --all");
}
