//! Deadlines: what should have moved is pointed at once, in neutral words, until it moves or is put off (7.4, D-1, D-2).

use serde_json::{Value, json};

use super::{assert_clean, desk, documents, exported, office};
use crate::{server::Server, world::World};

/// Runs everything that is due, the look at deadlines included, and returns the page after it.
fn page(world: &World) -> String {
    world.azolla(&["run", "--until-idle", "--azolla", "az-taskmgmt"]).ok();
    world.azolla(&[]).ok()
}

fn overdue(world: &World) -> Value {
    let data = world.azolla(&["--json"]).json("resume");
    let notes = data["azollas"].as_array().unwrap().iter().find(|one| one["azolla_id"] == "az-taskmgmt");
    notes.unwrap()["notes"]["overdue"].clone()
}

/// An objective that is overdue as soon as it is there.
fn urgent(world: &World, title: &str) -> String {
    world.azolla(&["objective", "new", title, "--criteria", "c", "--urgency", "0"]).ok().trim_end().to_owned()
}

const NEUTRAL: &str = "  (its time is over)\n";

#[test]
fn d1_an_objective_left_alone_is_pointed_at_once_and_first() {
    let world = office();
    world.azolla(&["objective", "new", "Important", "--criteria", "c", "--importance", "0"]).ok();
    let id = urgent(&world, "Urgent");
    assert!(!world.azolla(&[]).ok().contains(NEUTRAL), "nobody has looked yet");
    for _ in 0..3 {
        let page = page(&world);
        let expected = format!("  1. Let it run: Urgent{NEUTRAL}     azolla objective approve {id}\n");
        assert!(page.contains(&expected), "{page}");
        let lower = page.to_lowercase();
        assert!(
            !["overdue", "late", "too long", "!"].iter().any(|word| lower.contains(word)),
            "neutral: {page}"
        );
    }
    let pauses = documents(&exported(&world, "az-taskmgmt"), "pause_state");
    assert_eq!(pauses.len(), 1, "one for all looks: {pauses:#?}");
    let found = overdue(&world);
    assert_eq!((&found[0]["objective_id"], &found[0]["azolla_id"]), (&json!(id), &json!("az-app")));
    assert_eq!(
        documents(&exported(&world, "az-app"), "pause_state").len(),
        0,
        "D-2: nothing is written elsewhere"
    );
    // Once approved it waits for the machine, and the page says where to look.
    world.azolla(&["objective", "approve", &id]).ok();
    assert!(!world.azolla(&[]).ok().contains(NEUTRAL), "it has moved");
    assert_clean(&world);
}

#[test]
fn d1_a_snooze_ends_it_for_as_long_as_it_says() {
    let world = office();
    let id = urgent(&world, "Urgent");
    assert!(page(&world).contains(NEUTRAL));
    let told = world.azolla(&["snooze", &id[id.len() - 5..], "--days", "2"]);
    assert!(told.stderr.starts_with(&format!("{id} is left alone until 20")), "{}", told.stderr);
    assert_eq!(told.ok(), "");
    assert!(!page(&world).contains(NEUTRAL) && !page(&world).contains(NEUTRAL));
    assert_eq!(overdue(&world), json!([]));
    world.azolla(&["snooze", &id, "--until", "2999-12-24"]).ok();
    for (arguments, code, words) in [
        (vec![&*id, "--until", "2000-01-01"], 4, "has passed"),
        (vec![&*id, "--until", "tomorrow"], 2, "tomorrow is no day"),
        (vec![&*id, "--days", "0"], 2, "1..=3650"),
        (vec![&*id, "--days", "3", "--until", "2999-01-01"], 2, "cannot be used with"),
        (vec!["uuuu"], 3, "there is no objective uuuu"),
        (vec!["obj-ctx-continuity"], 4, "has no deadline"),
        (vec![&*id, "--azolla", "az-nobody"], 3, "there is no azolla or peer az-nobody"),
    ] {
        let told = world.azolla(&[vec!["snooze"], arguments].concat()).refused(code);
        assert!(told.contains(words), "{told}");
    }
    assert_clean(&world);
}

#[test]
fn d1_the_configuration_says_how_long_things_may_rest() {
    let world = office();
    world.configure("[deadlines]\nurgency_0 = \"1d\"\nurgency_4 = \"0\"");
    urgent(&world, "Urgent");
    assert!(!page(&world).contains(NEUTRAL));
    world.azolla(&["objective", "new", "Some day", "--criteria", "c", "--urgency", "4"]).ok();
    let page = page(&world);
    assert!(page.contains(&format!("  1. Let it run: Some day{NEUTRAL}")), "{page}");
    assert_eq!(overdue(&world).as_array().unwrap().len(), 1);
    let world = office();
    world.configure("[deadlines]\nurgency_0 = \"none\"");
    urgent(&world, "Urgent");
    assert!(!self::page(&world).contains(NEUTRAL));
}

/// D-2, M-4: an objective of another machine is asked for over HTTP, pointed at here, and left as it is there.
#[test]
fn d2_m4_what_rests_on_another_machine_is_pointed_at_here() {
    let shop = World::new();
    let far = shop.repository("far");
    shop.azolla_in(&far, &["init"]).ok();
    let token = shop.azolla(&["peer", "add", "az-taskmgmt"]).ok();
    let id = urgent(&shop, "Far away");
    let before = exported(&shop, "az-far");
    let server = Server::start(&shop);
    let world = desk();
    let url = format!("http://{}", server.address);
    world.azolla_with(&world.path(""), &["peer", "add", "az-far", "--url", &url], token.trim()).ok();
    let page = page(&world);
    let expected = format!(
        "  1. Overdue in az-far, to be settled on its machine (urgency 0): {id}{NEUTRAL}     azolla snooze {id} --azolla az-far\n"
    );
    assert!(page.contains(&expected), "{page}");
    assert_eq!(overdue(&world)[0]["azolla_id"], "az-far");
    // No id has this letter.
    let told = world.azolla(&["snooze", "uuu", "--azolla", "az-far"]).refused(3);
    assert!(told.contains("nothing of az-far that was pointed at is uuu"), "{told}");
    let told = world.azolla(&["snooze", &id[..8], "--azolla", "az-far"]);
    assert!(told.stderr.starts_with(&format!("{id} is left alone until ")), "{}", told.stderr);
    // What was not pointed at yet is named by its whole id.
    world.azolla(&["snooze", "obj-0123456789ab", "--azolla", "az-far"]).ok();
    assert!(!self::page(&world).contains(NEUTRAL));
    assert_eq!(exported(&shop, "az-far"), before);
    assert_clean(&world);
}
