//! Task management as an operator meets it: notes, triage, orientation, deadlines, and the way from a note to a commit.

mod candidates;
mod capture;
mod chain;
mod deadlines;
mod log;
mod manifest;
mod models;
mod shared;
mod terminal;
mod triage;

use std::{fs, path::Path};

use serde_json::Value;

use crate::world::World;

/// A home for notes, without a repository.
fn desk() -> World {
    let world = World::new();
    world.azolla(&["init"]).ok();
    world
}

/// A home for notes and for the repository `app`, whose worker changes nothing.
fn office() -> World {
    World::with_worker("cat > /dev/null\n")
}

/// Adds a line to the section of the azolla that takes notes.
fn set_for_notes(world: &World, line: &str) {
    let all = fs::read_to_string(world.config()).unwrap();
    let (before, after) = all.split_once("[azolla.az-taskmgmt]\n").unwrap();
    fs::write(world.config(), format!("{before}[azolla.az-taskmgmt]\n{line}\n{after}")).unwrap();
}

/// Stores a note and returns its id, which is all that is printed.
fn capture(world: &World, text: &str) -> String {
    id_of(&world.azolla(&["capture", text]).ok())
}

/// Returns the one id that was printed.
#[track_caller]
fn id_of(printed: &str) -> String {
    let id = printed.strip_suffix('\n').unwrap();
    assert!(id.starts_with("cap-") && id.len() == 16, "{printed:?}");
    id.to_owned()
}

/// The notes as they are stored, the oldest first.
fn captures(world: &World) -> Vec<Value> {
    let all = world.azolla(&["triage", "captures", "--all", "--limit", "10000", "--json"]).json("captures");
    let mut all: Vec<Value> = all.as_array().unwrap().clone();
    all.reverse();
    all
}

/// The texts of the notes, the oldest first.
fn texts(world: &World) -> Vec<String> {
    captures(world).iter().map(|found| found["capture"]["raw_content"].as_str().unwrap().to_owned()).collect()
}

/// How many notes wait for triage, and how many of them were given up.
fn pending(world: &World) -> (usize, usize) {
    let all = captures(world);
    let pending = all.iter().filter(|found| found["capture"]["status"] == "PENDING");
    (pending.clone().count(), pending.filter(|found| found["held"] == true).count())
}

/// The candidates, open ones or all of them.
fn candidates(world: &World, arguments: &[&str]) -> Vec<Value> {
    let data = world.azolla(&[&["triage", "--json"], arguments].concat()).json("triage");
    data["candidates"].as_array().unwrap().clone()
}

/// How a candidate is called, found by its title.
#[track_caller]
fn called(world: &World, title: &str) -> String {
    let all = candidates(world, &["--all"]);
    let found = all.iter().find(|candidate| candidate["content"]["title"].as_str().unwrap().contains(title));
    let found = found.unwrap_or_else(|| panic!("no candidate is about {title:?}: {all:#?}"));
    found["candidate"].as_str().unwrap().to_owned()
}

/// Everything in a store, as it is exported.
fn exported(world: &World, azolla: &str) -> String {
    world.azolla(&["export", "--azolla", azolla]).ok()
}

/// The documents of one kind in an export.
fn documents(exported: &str, kind: &str) -> Vec<Value> {
    let lines = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["kind"] == kind).collect()
}

/// Both stores hold what they should.
#[track_caller]
fn assert_clean(world: &World) {
    assert_eq!(world.azolla(&["verify", "--json"]).json("findings"), serde_json::json!([]));
}

/// The files in a directory, or none if there is no such directory.
fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
