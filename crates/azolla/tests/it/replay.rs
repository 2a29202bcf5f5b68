//! `azolla replay`: the task of an earlier run on another worker. Nothing but the account changes.

use std::fs;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use crate::{
    model_server::{Kind, Server},
    models::EDIT,
    runs::working,
    world::{World, git},
};

/// Everything that a replay must leave as it is.
fn everything(world: &World, id: &str) -> [String; 5] {
    let refs = |directory: &str| git(&world.path(directory), &["for-each-ref"]);
    [
        world.azolla(&["export", "--azolla", "az-app"]).ok(),
        world.azolla(&["objective", "show", id, "--json"]).ok(),
        refs("app"),
        refs("home/mirrors/az-app.git"),
        git(&world.path("app"), &["status", "--porcelain", "--branch"]),
    ]
}

#[test]
fn a_replay_on_another_model_shows_both_and_changes_nothing() {
    let first = Server::start(vec![Kind::OpenAi.says(EDIT)]);
    let other = Server::start(vec![Kind::Anthropic.says(&EDIT.replace("two", "three"))]);
    let world = World::with_provider("models", &first.section("models", Kind::OpenAi, ""));
    let prices = "input_usd_per_million = 3.0\noutput_usd_per_million = 15.0";
    world.configure(&other.section("other", Kind::Anthropic, prices));
    let id = world.approved("Add a line");
    world.azolla(&["run", "--until-idle"]).ok();
    let before = everything(&world, &id);

    let both = world.azolla(&["replay", &id, "--provider", "other", "--json"]).json("replay");
    assert_eq!(everything(&world, &id), before);
    let of = |side: &str| {
        let keys =
            ["provider", "model", "runner_status", "paths", "requests", "input_tokens", "output_tokens"];
        keys.map(|key| both[side][key].clone())
    };
    let told = |provider| {
        [json!(provider), json!("m-1"), json!("COMPLETED"), json!(["a.txt"]), json!(1), json!(35), json!(7)]
    };
    assert_eq!((of("recorded"), of("replayed")), (told("models"), told("other")));
    assert_eq!(both["replayed"]["cost_microusd"], 210);
    let change = |side: &str| both[side]["content"].as_str().unwrap().to_owned();
    assert!(change("recorded").ends_with("+two\n") && change("replayed").ends_with("+three\n"), "{both}");
    assert_ne!(both["recorded"]["tree"], both["replayed"]["tree"]);
    // The same task, word for word.
    assert!(other.asked()[0].contains("Add a line") && first.asked().len() == 1);

    let page = world.azolla(&["replay", &id, "--provider", "other", "--diff"]).ok();
    for words in ["as recorded", "replayed", "They came to different files.", "+three"] {
        assert!(page.contains(words), "{words}, in:\n{page}");
    }
    assert_eq!(everything(&world, &id), before);
    // What it cost counts all the same (O-2).
    let limits = world.azolla(&["limits", "--json"]).json("limits");
    let used = limits.as_array().unwrap().iter().find(|limit| limit["name"] == "day_usd").unwrap();
    assert_eq!(used["used_today"], 420);
}

#[test]
fn a_replay_that_comes_to_the_same_files_says_so() {
    let server = Server::start(vec![Kind::OpenAi.says(EDIT)]);
    let world = World::with_provider("models", &server.section("models", Kind::OpenAi, ""));
    let id = world.approved("Add a line");
    world.azolla(&["run", "--until-idle"]).ok();
    let page = world.azolla(&["replay", &id, "--provider", "models"]).ok();
    assert!(page.contains("Both came to the same files.\n"), "{page}");
}

#[test]
fn a_worker_that_is_not_configured_is_not_found_and_the_others_are_listed() {
    let world = World::with_worker("cat > /dev/null; echo two >> a.txt\n");
    world.configure("[provider.other]\nkind = \"command\"\nargv = [\"true\"]");
    let id = world.approved("Add a line");
    world.azolla(&["run", "--until-idle"]).ok();
    let refused = world.azolla(&["replay", &id, "--provider", "nosuch"]).refused(3);
    assert_eq!(refused, "error: there is no provider nosuch\nhint: configured: other, sh\n");
}

/// T30: whoever stops a replay stops what it started.
#[test]
fn t30_a_replay_that_is_interrupted_ends_its_worker_and_says_so_with_its_exit_code() {
    let world = World::with_worker("cat > /dev/null; echo two >> a.txt\n");
    let id = world.approved("Add a line");
    world.azolla(&["run", "--until-idle"]).ok();
    let before = everything(&world, &id);
    // Programs of their own sessions, which no signal from a terminal reaches. The last line comes once all are there.
    let stays = "trap '' TERM INT\nsetsid tail -f /dev/null & echo $! > deep\nmv deep \"$MARK\"; exec tail -f /dev/null\n";
    let mark = world.path("mark");
    fs::create_dir(&mark).unwrap();
    let stays = stays.replace("$MARK", &mark.join("pid").display().to_string());
    let script = world.script("stays.sh", &stays);
    world.configure(&format!(
        "[provider.stays]\nkind = \"command\"\nargv = [\"sh\", {script:?}]\nsandbox = \"off\""
    ));
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let (mut child, mut told) = working(&world, &["replay", &id, "--provider", "stays"]);
        let deep = loop {
            if let Ok(pid) = fs::read_to_string(mark.join("pid")) {
                break Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
            }
            std::thread::yield_now();
        };
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert!(told.any(|line| line == "error: the replay was stopped; nothing was changed"));
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal:?}");
        // The keeper kills it when we are gone, if not before.
        while test_kill_process(deep).is_ok() {
            std::thread::yield_now();
        }
        fs::remove_file(mark.join("pid")).unwrap();
        assert_eq!(everything(&world, &id), before, "{signal:?}");
    }
}
