//! A client that is not ours: the Python SDK's, over stdio and over HTTP, with the old handshake and the newest protocol.
//! It checks every structured answer against the schema that the tool announced.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{root, server::Server, world::World};

/// Returns the Python of the environment that the client is installed in.
fn python() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_azolla"));
    let found =
        program.ancestors().map(|above| above.join("mcp-client/bin/python")).find(|path| path.exists());
    found.expect("the Python MCP client is not installed; to install it: scripts/check-mcp --client")
}

/// Lets the client make the calls, and returns what it saw.
#[expect(clippy::disallowed_methods, reason = "the client is started as it is")]
fn client(world: &World, mode: &str, way: &[&str], calls: &Value) -> Value {
    let mut command = Command::new(python());
    command.arg(root().join("scripts/mcp-client.py")).arg(mode).args(way).current_dir(world.path(""));
    let token = std::fs::read_to_string(world.home().join("mcp.token")).unwrap_or_default();
    command.env("AZOLLA_MCP_TOKEN", token.trim()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(calls.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{mode} {way:?}: {told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_foreign_client_calls_every_tool_both_ways_in_both_protocols() {
    let world = World::with_worker("echo two > b.txt");
    let done = world.approved("Write b");
    world.azolla(&["run", "--until-idle"]).ok();
    let open = world.objective("Write c", "c.txt is there");
    world.azolla(&["manifest"]).ok();
    let calls = json!([
        ["capture_note", {"text": "seen by an agent"}],
        ["get_orientation", {}],
        ["list_objectives", {"limit": 1}],
        ["get_objective", {"objective_id": done}],
        ["propose_objective", {"title": "Write d", "criteria": "d.txt is there"}],
        ["report_blocker", {"objective_id": open, "reason": "which c?"}],
        ["get_run", {"run_id": done}],
        ["get_run", {"run_id": "../x"}],
        ["read", "azolla://manifest"],
        ["read", "azolla://objectives"],
        ["read", format!("azolla://objectives/{done}")],
        ["read", "azolla://nowhere"],
    ]);
    let server = Server::start(&world);
    let url = format!("http://{}/mcp", server.address);
    let home = world.home().display().to_string();
    let ways: [&[&str]; 2] =
        [&["stdio", env!("CARGO_BIN_EXE_azolla"), "--home", &home, "mcp"], &["http", &url]];
    for (way, mode) in ways.into_iter().flat_map(|way| [(way, "legacy"), (way, "auto")]) {
        let saw = client(&world, mode, way, &calls);
        let at = format!("{mode} {}: {saw}", way[0]);
        assert_eq!(saw["server"], "azolla", "{at}");
        let modern = saw["protocol"].as_str().unwrap() >= "2026-07-28";
        assert_eq!(modern, mode == "auto", "{at}");
        assert!(saw["instructions"].as_str().unwrap().contains("Only the operator"), "{at}");
        assert_eq!(saw["tools"].as_array().unwrap().len(), 7, "{at}");
        assert_eq!(saw["resources"], json!(["azolla://manifest", "azolla://objectives"]), "{at}");
        let answers = saw["answers"].as_array().unwrap();
        let given = |index: usize| &answers[index]["structured"];
        let text = |index: usize| answers[index]["text"].as_str().unwrap_or_else(|| panic!("{index}: {at}"));
        assert_eq!(given(0)["source_label"], "mcp:python-sdk", "{at}");
        assert_eq!(given(1)["next_actions"][0]["objective_id"], done, "{at}");
        assert!(given(2)["next"].as_str().unwrap().ends_with(&done), "{at}");
        assert_eq!(given(3)["runs"].as_array().unwrap().len(), 1, "{at}");
        assert_eq!(given(4)["source_label"], "proposal:python-sdk", "{at}");
        assert_eq!(given(5)["status"], "NEW", "{at}");
        assert_eq!(given(6)["run_record"]["gate_result"], "PASS", "{at}");
        assert!(answers[7]["error"].as_str().unwrap().starts_with("run_id: an id has only"), "{at}");
        assert!(text(8).contains("prioritized_orientation"), "{at}");
        assert!(text(9).contains(&open) && text(10).contains("Write b"), "{at}");
        assert_eq!(answers[11]["error"], "there is nothing at this address", "{at}");
    }
    // Four times said, it is there once; and nothing but the operator has moved anything.
    let shown = world.azolla(&["objective", "show", &open, "--json"]).json("objective");
    assert_eq!((&shown["status"], shown["blocked_on"].as_array().unwrap().len()), (&json!("NEW"), 1));
}
