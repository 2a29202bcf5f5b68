//! What `azolla log`, "since you last looked" and the end of a run say about notes and what came of them.

use super::{assert_clean, called, capture, office};
use crate::world::World;

/// The log without its times.
fn log(world: &World, arguments: &[&str]) -> Vec<String> {
    let text = world.azolla(&[&["log"], arguments].concat()).ok();
    text.lines().map(|line| line.split_once("  ").unwrap().1.to_owned()).collect()
}

#[test]
fn the_log_tells_what_became_of_notes_in_plain_words() {
    let world = office();
    world.azolla(&[]).ok();
    let first = capture(&world, "- Paint the fence\n- Order new tyres");
    let second = capture(&world, "call Kim");
    world.azolla(&["triage", "process", &second, "--reason", "done"]).ok();
    world.azolla(&["run", "--until-idle"]).ok();
    let (fence, tyres) = (called(&world, "fence"), called(&world, "tyres"));
    let (output, _) = fence.split_once('/').unwrap();
    let id = world.azolla(&["triage", "promote", &fence]).ok().trim_end().to_owned();
    world.azolla(&["triage", "discard", &tyres]).ok();
    world.azolla(&["triage", "undo", &tyres]).ok();
    world.azolla(&["triage", "duplicate", &tyres, &id]).ok();
    world.azolla(&["manifest"]).ok();
    let last = world.azolla(&["manifest", "--last", "--json"]).json("session_manifest");
    world.azolla(&["snooze", &id, "--until", "2999-12-24"]).ok();
    let lines = log(&world, &["--azolla", "az-taskmgmt"]);
    let expected = [
        "obj-ctx-continuity was opened".to_owned(),
        format!("note {first} was captured, by you"),
        format!("note {second} was captured, by you"),
        format!("note {second} was dealt with by hand, by you"),
        format!("{output} has 2 candidates for you"),
        format!("candidate {fence} became {id}, by you"),
        format!("candidate {tyres} was discarded, by you"),
        format!("candidate {tyres} is open again, by you"),
        format!("candidate {tyres} is a duplicate of {id}, by you"),
        format!("orientation {} was made", last["manifest_id"].as_str().unwrap()),
        format!("{id} is left alone until 2999-12-24 00:00 UTC, by you"),
    ];
    assert_eq!(lines, expected);
    // The same words where one looks first; notes are counted.
    let page = world.azolla(&[]).ok();
    let (_, since) = page.split_once("Since you last looked").unwrap_or_else(|| panic!("{page}"));
    assert!(since.contains("  2 notes were captured\n"), "{page}");
    assert!(since.contains(&format!("  {output} has 2 candidates for you\n")), "{page}");
    assert!(since.contains("orientation man-"), "{page}");
    assert!(!since.contains("worker's output") && !since.contains(&first), "{page}");
    assert!(!world.azolla(&[]).ok().contains("Since you last looked"));
    capture(&world, "one more");
    assert!(world.azolla(&[]).ok().contains(" was captured, by you\n"));
    // No objective is named that there is not.
    for line in log(&world, &["--all"]) {
        for word in line.split([' ', ',']).filter(|word| word.starts_with("obj-")) {
            world.azolla(&["objective", "show", word]).ok();
        }
    }
    assert_clean(&world);
}

#[test]
fn a_run_says_how_triage_and_the_rest_ended() {
    let world = World::with_worker("cat > /dev/null; echo two >> a.txt\n");
    assert_eq!(world.azolla(&["run", "--until-idle"]).ok(), "");
    capture(&world, "Paint the fence");
    world.approved("Add a line");
    let ran = world.azolla(&["run", "--until-idle"]).ok();
    let id = called(&world, "fence");
    assert!(ran.contains("passed: Add a line\n"), "{ran}");
    assert!(
        ran.contains(&format!(
            "done: Continuity of context\n  Review triage output for obj-ctx-continuity: azolla triage\n  \
             Promote candidate to objective or discard: azolla triage promote {id}\n"
        )),
        "{ran}"
    );
    // One azolla alone.
    capture(&world, "Order new tyres");
    world.approved("Add another");
    let ran = world.azolla(&["run", "--until-idle", "--azolla", "az-app"]).ok();
    assert!(ran.starts_with("passed: Add another\n") && !ran.contains("Continuity"), "{ran}");
    assert_eq!(super::pending(&world), (1, 0));
    // A gate that failed there decides over the exit code, and a triage that went well is told all the same.
    world.script("worker.sh", "cat > /dev/null; exit 3\n");
    world.configure("[limits]\nattempts_max = 1");
    world.approved("Add a third");
    let ran = world.azolla(&["run", "--until-idle"]);
    assert_eq!(ran.code, 5, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("done: Continuity of context\n"), "{}", ran.stdout);
    assert_clean(&world);
}

#[test]
fn a_home_whose_notes_cannot_be_triaged_still_runs_the_rest() {
    let world = World::with_worker("cat > /dev/null; echo two >> a.txt\n");
    capture(&world, "Paint the fence");
    world.approved("Add a line");
    std::fs::rename(world.home().join("azollas/az-taskmgmt.sqlite"), world.path("kept")).unwrap();
    let ran = world.azolla(&["run", "--until-idle"]);
    assert!(ran.stdout.starts_with("passed: Add a line\n"), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("az-taskmgmt is left out: "), "{}", ran.stderr);
}
