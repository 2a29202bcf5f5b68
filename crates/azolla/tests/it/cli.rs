//! The real program on real stores: the wiring of its commands, their exit codes and what they print.

use std::{
    io::{Read, Write},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use azolla_exchange_membrane::gates::manifest::COMMANDS;
use azolla_protocol::GateResult;
use azolla_testkit::{Backend, PatchCycle, TestStore, store::Place};

#[expect(clippy::disallowed_methods, reason = "the program under test is started here")]
fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_azolla"))
        .args(arguments)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn run(arguments: &[&str]) -> Output {
    start(arguments).wait_with_output().unwrap()
}

/// Returns the exit code, stdout and stderr.
fn answer(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn address(world: &TestStore) -> String {
    match &world.place {
        Place::File(path, _) => path.display().to_string(),
        Place::Database(database) => database.url().to_owned(),
    }
}

fn beside(world: &TestStore, name: &str) -> String {
    let Place::File(path, _) = &world.place else { unreachable!("on SQLite") };
    path.with_file_name(name).display().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a4_an_export_goes_through_both_stores_and_comes_back_the_same() {
    let (file, server) = (TestStore::new(Backend::Sqlite).await, TestStore::new(Backend::Postgres).await);
    PatchCycle::todo(&file).await.run(GateResult::Pass).await;
    let exported = run(&["export", "--store", &address(&file)]);
    let archive = beside(&file, "archive.jsonl");
    std::fs::write(&archive, &exported.stdout).unwrap();

    let imported = run(&["import", "--store", &address(&server), "--azolla", "az-test", &archive]);
    assert_eq!(answer(&imported), (0, String::new(), String::new()));
    let again = run(&["export", "--store", &address(&server), "--azolla", "az-test"]);
    assert_eq!(answer(&again), answer(&exported));

    let third = beside(&file, "third.sqlite");
    let mut child = start(&["import", "--store", &third, "-"]);
    child.stdin.take().unwrap().write_all(&again.stdout).unwrap();
    assert_eq!(answer(&child.wait_with_output().unwrap()), (0, String::new(), String::new()));
    assert_eq!(answer(&run(&["export", "--store", &third])), answer(&exported));
    let verified = run(&["verify", "--store", &third]);
    assert_eq!(answer(&verified), (0, "Everything holds.\n".into(), String::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_names_what_does_not_hold_and_exits_with_one() {
    let world = TestStore::new(Backend::Sqlite).await;
    let work_order_id = PatchCycle::todo(&world).await.run(GateResult::Pass).await;
    world
        .raw("DROP TRIGGER pause_state_delete; PRAGMA foreign_keys = OFF; DELETE FROM pause_state")
        .await
        .unwrap();
    let run_id = work_order_id.as_str().replace("wo-", "run-");
    let (code, stdout, stderr) = answer(&run(&["verify", "--store", &address(&world)]));
    assert_eq!((code, stderr.as_str()), (1, ""));
    assert!(stdout.contains(&format!("invariant 4: {run_id} has no pause_state\n")), "{stdout}");

    let (code, stdout, _) = answer(&run(&["verify", "--json", "--store", &address(&world)]));
    let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &document["schema_version"], &document["kind"]), (1, &1.into(), &"findings".into()));
    let missing = serde_json::json!({"azolla_id": "az-test", "invariant": 4, "resource": run_id,
                                     "what": "has no pause_state"});
    assert!(document["data"].as_array().unwrap().contains(&missing), "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_says_what_to_do() {
    let world = TestStore::new(Backend::Sqlite).await;
    let missing = beside(&world, "missing.sqlite");
    let cases = [
        (vec!["verify", "--store", &missing], 3, "there is no store at"),
        (
            vec!["verify", "--store", "postgres://nobody@127.0.0.1:1/x", "--azolla", "az-a"],
            1,
            "start the server",
        ),
        (vec!["verify", "--store", "postgres://h/x"], 1, "needs --azolla ID"),
        (vec!["export", "--store", &missing, "--azolla=$(id)"], 2, "is not an id of the form az-"),
        (vec!["import", "--store", &missing, "/dev/null"], 1, "line 1: is no export"),
        (vec!["import", "--store", &missing, "/no/such/file"], 1, "/no/such/file cannot be read"),
        (vec!["schema", "ticket"], 2, "objective"),
        (vec!["verfy"], 2, "verify"),
    ];
    for (arguments, code, part) in cases {
        let (found, stdout, stderr) = answer(&run(&arguments));
        assert_eq!((found, stdout.as_str()), (code, ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(part), "{arguments:?}: {stderr}");
    }
    assert!(!Path::new(&missing).exists(), "a command that failed made a store");
}

#[test]
fn schema_prints_what_the_program_checks() {
    let (code, stdout, _) = answer(&run(&["schema"]));
    assert_eq!((code, stdout.lines().count()), (0, azolla_protocol::ArtifactKind::ALL.len()));
    for artifact in stdout.lines() {
        let (code, schema, _) = answer(&run(&["schema", artifact]));
        let document: serde_json::Value = serde_json::from_str(&schema).unwrap();
        assert_eq!((code, document["additionalProperties"].as_bool()), (0, Some(false)), "{artifact}");
        let (_, as_read, _) = answer(&run(&["schema", artifact, "--json"]));
        let as_read: serde_json::Value = serde_json::from_str(&as_read).unwrap();
        assert_eq!((&as_read["kind"], &as_read["data"]), (&"schema".into(), &document));
    }
    let (_, listed, _) = answer(&run(&["schema", "--json"]));
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["data"].as_array().unwrap().len(), stdout.lines().count());
}

/// T42: a reader that goes away ends the program quietly.
#[tokio::test(flavor = "multi_thread")]
async fn t42_a_closed_pipe_is_no_error_text() {
    let world = TestStore::new(Backend::Sqlite).await;
    for _ in 0..200 {
        PatchCycle::created(&world).await;
    }
    let mut child = start(&["export", "--store", &address(&world)]);
    let mut first = [0; 10];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    assert_eq!(answer(&child.wait_with_output().unwrap()), (0, String::new(), String::new()));
}

/// MF-6: what an orientation may name is there to be typed. `pr` is not yet.
#[test]
fn mf6_every_command_that_an_orientation_may_name_is_one() {
    for command in COMMANDS.into_iter().filter(|command| *command != "pr") {
        let (code, shown, told) = answer(&run(&[command, "--help"]));
        assert_eq!(code, 0, "{command}: {told}");
        assert!(
            shown
                .contains(&format!("Usage: azolla {}", if command == "obj" { "objective" } else { command })),
            "{shown}"
        );
    }
}
