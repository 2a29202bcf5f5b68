//! The dashboard in a real Chromium: what an operator clicks, reads and types, and what no page may do. A scenario is a
//! script of `tests/browser`; it takes the operator's steps in the browser and looks at the store by the command line.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    root,
    server::Server,
    world::{World, answer},
};

/// Where `scripts/install-browser` puts its packages: into the target directory, where this test is too.
fn tools() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_owned();
    let tools = target.join("browser");
    for package in ["playwright-core", "axe-core"] {
        let found = tools.join("node_modules").join(package).join("package.json");
        assert!(found.is_file(), "{package} is missing; run: scripts/install-browser");
    }
    tools
}

/// Finds a program that a person would have on the PATH.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let found =
        std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("{name} is missing; run: scripts/install-browser"))
}

/// Runs a script of `tests/browser` to its end.
#[expect(clippy::disallowed_methods, reason = "the browser beside the program under test is started here")]
fn node(world: &World, url: &str, words: &[&str]) {
    let mut command = Command::new(program("node"));
    command.args(words).current_dir(root().join("crates/azolla/tests/browser")).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", world.path("person"));
    command.env("AZOLLA", env!("CARGO_BIN_EXE_azolla")).env("AZOLLA_HOME", world.home());
    command.env("AZOLLA_PLACE", world.path("")).env("AZOLLA_URL", url);
    command.env("AZOLLA_TOOLS", tools()).env("AZOLLA_CHROMIUM", program("chromium"));
    command.env("AZOLLA_SHOTS", tools().join("failures"));
    let answer = answer(command, b"");
    println!("{}", answer.stdout);
    assert_eq!(answer.code, 0, "{}\n{}{}", words.join(" "), answer.stdout, answer.stderr);
}

/// A home that `tests/browser/home.mjs` made.
fn home(kind: &str) -> World {
    let world = World::new();
    std::fs::create_dir_all(world.path("person")).unwrap();
    node(&world, "", &["home.mjs", kind]);
    world
}

/// Runs a scenario against the server of a home, where nothing happens but what the scenario does.
fn scenario(world: &World, words: &[&str]) {
    let server = Server::start(world);
    node(world, &format!("http://{}", server.address), words);
}

#[test]
fn every_act_of_a_page_does_what_the_command_does() {
    scenario(&home("office"), &["actions.mjs", "script"]);
}

#[test]
fn without_a_script_every_page_is_read_and_every_act_works() {
    scenario(&home("office"), &["actions.mjs", "no-script"]);
}

/// Refusals in the command line's words, a double click, two windows, the way back, a session that ends.
#[test]
fn nothing_is_done_twice_or_lost_between_a_person_and_a_page() {
    scenario(&home("office"), &["odds.mjs"]);
}

#[test]
fn a_page_shows_what_others_change_and_needs_no_mouse() {
    scenario(&home("office"), &["live.mjs"]);
}

/// axe-core, 360 pixels, both schemes, the policy, the weight.
#[test]
fn t23_every_page_is_accessible_fits_a_phone_and_asks_nobody_else() {
    scenario(&home("office"), &["looks.mjs"]);
}

#[test]
fn t23_forty_attacks_in_every_text_stay_text() {
    scenario(&home("hostile"), &["hostile.mjs"]);
}
