//! `azolla manifest`: orientation over all azollas, what is said where it cannot be made, and the one that comes by
//! itself (7.3).

use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{assert_clean, capture, desk, documents, exported, office, set_for_notes};
use crate::{
    model_server::{Kind, Server as Model},
    server::Server,
    world::World,
};

/// An address where nobody listens.
fn nobody() -> String {
    format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap())
}

fn add_peer(world: &World, id: &str, url: &str) {
    world.azolla_with(&world.path(""), &["peer", "add", id, "--url", url], "token-of-nobody").ok();
}

#[test]
fn mf7_orientation_is_made_shown_and_kept() {
    let world = office();
    let told = world.azolla(&["manifest", "--last"]).refused(3);
    assert_eq!(told, "error: there is no orientation yet\nhint: azolla manifest\n");
    let urgent = world.objective("Round half up", "0.5 rounds to 1");
    world.azolla(&["objective", "edit", &urgent, "--urgency", "1"]).ok();
    world.objective("Paint the fence", "it is green");
    capture(&world, "call Kim");
    let page = world.azolla(&["manifest"]).ok();
    assert!(page.starts_with("Orientation  "), "{page}");
    assert!(page.contains("from 1 azolla: man-"), "{page}");
    let numbered: Vec<_> =
        page.lines().filter(|line| line.contains(". ") && line.starts_with("  ")).collect();
    let at = |words: &str| {
        numbered.iter().position(|line| line.contains(words)).unwrap_or_else(|| panic!("{page}"))
    };
    assert!(at(&urgent) < at("Paint the fence") && at("azolla triage") < 3, "{page}");
    assert!(
        page.contains("Ordered by: overdue, urgency, importance, age."),
        "the order is explained: {page}"
    );
    let last = world.azolla(&["manifest", "--last", "--json"]).json("session_manifest");
    assert_eq!(last["queried_azolla_ids"], json!(["az-app"]));
    let actions = last["prioritized_orientation"].as_array().unwrap();
    assert!((1..=5).contains(&actions.len()) && last.to_string().contains(&urgent), "{last}");
    assert_eq!(documents(&exported(&world, "az-taskmgmt"), "session_manifest").len(), 1, "a look makes none");
    // Every action ends with something to type that this machine understands.
    for action in actions {
        let (_, command) = action.as_str().unwrap().rsplit_once(": azolla ").unwrap();
        world.azolla(&command.split(' ').collect::<Vec<_>>()).ok();
    }
    let made = world.azolla(&["manifest", "--json"]).json("session_manifest");
    assert_ne!(made["manifest_id"], last["manifest_id"]);
    let shown = world.azolla(&["manifest", "--last"]).ok();
    assert!(shown.contains(made["manifest_id"].as_str().unwrap()), "{shown}");
    assert_clean(&world);
}

#[test]
fn mf2_with_nobody_to_ask_the_exit_code_is_four_and_the_action_is_named() {
    let world = desk();
    let told = world.azolla(&["manifest"]).refused(4);
    assert!(told.contains("error: no orientation could be made\n"), "{told}");
    assert!(
        told.contains("No other azolla is registered") && told.contains("azolla init && azolla manifest\n"),
        "{told}"
    );
    assert_eq!(told.matches("No other azolla is registered").count(), 1, "said once: {told}");
    // For a program it is one document.
    let answer = world.azolla(&["manifest", "--json"]);
    let document: Value =
        serde_json::from_str(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stdout));
    assert_eq!(
        (answer.code, &document["kind"], &document["data"]["exit_code"]),
        (4, &json!("error"), &json!(4))
    );
    let page = world.azolla(&[]).ok();
    assert!(
        page.starts_with("Waiting for you\n  1. Notes and orientation: No other azolla is registered"),
        "{page}"
    );
    assert!(page.contains("\n     azolla init && azolla manifest\n"), "{page}");
    // With somebody registered who does not answer, that one is named.
    add_peer(&world, "az-far", &nobody());
    let told = world.azolla(&["manifest"]).refused(4);
    assert!(
        told.contains("No azolla answered (az-far") && told.contains("azolla doctor && azolla manifest"),
        "{told}"
    );
    // As it says: with a repository there is something to give orientation over, and nothing of before is left.
    let app = world.repository("app");
    world.azolla_in(&app, &["init"]).ok();
    let id = world.objective("Round half up", "c");
    let page = world.azolla(&["manifest"]).ok();
    assert!(page.contains(&format!("  1. Round half up (az-app, {id})")), "{page}");
    assert!(!page.contains("obj-ctx-continuity"), "{page}");
    assert_clean(&world);
}

#[test]
fn mf5_m4_an_azolla_that_does_not_answer_is_named_and_stops_nothing() {
    let world = office();
    world.objective("Round half up", "0.5 rounds to 1");
    add_peer(&world, "az-far", &nobody());
    let page = world.azolla(&["manifest"]).ok();
    let (_, sources) = page.split_once("About the sources\n").unwrap_or_else(|| panic!("{page}"));
    assert!(sources.contains("az-far"), "{page}");
    let last = world.azolla(&["manifest", "--last", "--json"]).json("session_manifest");
    assert_eq!(last["queried_azolla_ids"], json!(["az-app"]));
    let page = world.azolla(&[]).ok();
    assert!(page.contains("az-taskmgmt: at the last orientation: az-far"), "{page}");
}

/// MF-6: prose is no orientation, whoever wrote it.
#[test]
fn mf6_a_model_that_answers_prose_ends_with_five_and_the_reason() {
    let model = Model::start(vec![Kind::OpenAi.says("I would begin with the most important thing.")]);
    let world = office();
    world.configure(&model.section("models", Kind::OpenAi, ""));
    set_for_notes(&world, "manifest_provider = \"models\"");
    let id = world.objective("Round half up", "0.5 rounds to 1");
    let told = world.azolla(&["manifest"]).refused(5);
    assert!(told.contains("hint: Review gate failure reason: azolla explain run-"), "{told}");
    assert!(told.contains("azolla manifest"), "{told}");
    assert!(!model.asked().is_empty() && model.asked()[0].contains(&id), "{:?}", model.asked());
    let (_, run) = told.split_once("azolla explain ").unwrap();
    let run = run.split([';', '\n']).next().unwrap();
    let explained = world.azolla(&["explain", run]).ok();
    assert!(explained.contains("FAIL") && explained.contains("models"), "{explained}");
    let page = world.azolla(&[]).ok();
    assert!(page.contains("Notes and orientation: Review gate failure reason\n"), "{page}");
    world.azolla(&["manifest", "--last"]).refused(3);
    // The next one that is of use is taken, and the page is quiet again.
    let action = format!("Look at {id}: azolla objective show {id}");
    let answer = json!({"overview": "One thing is open.", "actions": [action], "notes": ""});
    model.reply(vec![Kind::OpenAi.says(&answer.to_string())]);
    let page = world.azolla(&["manifest"]).ok();
    assert!(page.contains(&format!("  1. Look at {id}")), "{page}");
    assert!(!world.azolla(&[]).ok().contains("gate failure"));
    assert_clean(&world);
}

#[test]
fn b2_an_orientation_over_its_budget_ends_with_six() {
    let model = Model::start(vec![crate::model_server::Reply::Silence]);
    let world = office();
    world.configure(&model.section("models", Kind::OpenAi, ""));
    world.configure("[limits]\nbudget_manifest_ms = 300");
    set_for_notes(&world, "manifest_provider = \"models\"");
    world.objective("Round half up", "0.5 rounds to 1");
    let told = world.azolla(&["manifest"]).refused(6);
    assert!(told.contains("budget_manifest_ms = 600"), "{told}");
}

/// MF-1: a period fires under `azolla up`, once.
#[test]
fn mf1_a_period_gives_orientation_unasked() {
    let world = office();
    set_for_notes(&world, "manifest_every = \"30d\"");
    world.objective("Round half up", "0.5 rounds to 1");
    let roles = "manifest-scheduler,runner,gate";
    let server = Server::start_with(&world, &["up", "--roles", roles]);
    assert!(server.said.contains("az-taskmgmt runs manifest-scheduler, runner, gate\n"), "{}", server.said);
    assert!(!server.said.contains("listens at"), "{}", server.said);
    let begun = Instant::now();
    while world.azolla(&["manifest", "--last"]).code != 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", world.log());
    }
    assert_eq!(server.end(), Some(0));
    // Started again in the same period, it makes no second one.
    world.azolla(&["run", "--until-idle"]).ok();
    let all = documents(&exported(&world, "az-taskmgmt"), "session_manifest");
    assert_eq!(all.len(), 1, "{all:#?}");
    let refused = world.azolla(&["up", "--roles", "nobody"]).refused(2);
    assert!(refused.contains("known are http, readiness, scheduler"), "{refused}");
}
