//! `azolla mcp`: what a client gets on stdout, byte by byte, and what it can and cannot do.

mod foreign;
mod http;
mod install;

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use serde_json::{Value, json};

use crate::world::World;

/// The most bytes of one answer: its document twice, as text and as structure, and what stands around it.
const ANSWER_BYTES_MAX: usize = 3 * 64 * 1024;

/// A server on pipes, asked line by line.
struct Session {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl Session {
    /// Starts the server of a home, outside of any repository.
    fn start(world: &World) -> Self {
        let mut command = world.command(&world.path(""), &["mcp"]);
        command.env("AZOLLA_HOME", world.home());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, next_id: 1 }
    }

    /// Starts it and begins as a client of this name.
    fn begin(world: &World, client: &str) -> Self {
        let mut session = Self::start(world);
        let begun = session.ask("initialize", begin(client));
        assert_eq!(begun["result"]["serverInfo"]["name"], "azolla", "{begun}");
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        session
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    /// Returns the next line of stdout, which has to be a message.
    fn message(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(line.len() <= ANSWER_BYTES_MAX, "{} bytes", line.len());
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Asks, and returns the answer, which has to be the next message.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        let answer = self.message();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool and returns its document, which is there as text too.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{tool}: {answer}");
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"]);
        text
    }

    /// Calls a tool that refuses, and returns its words.
    fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], true, "{tool}: {answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes stdin and returns the exit code, what else came on stdout, and stderr.
    fn end(mut self) -> (Option<i32>, String, String) {
        drop(self.input.take());
        self.wait()
    }

    fn wait(&mut self) -> (Option<i32>, String, String) {
        let (mut rest, mut told) = (String::new(), String::new());
        self.output.read_to_string(&mut rest).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        (self.child.wait().unwrap().code(), rest, told)
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn begin(client: &str) -> Value {
    json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}})
}

fn ended_well() -> (Option<i32>, String, String) {
    (Some(0), String::new(), String::new())
}

fn world() -> World {
    World::with_worker("true")
}

#[test]
fn nothing_but_the_protocol_is_on_stdout_whatever_comes_in() {
    let world = world();
    let mut session = Session::begin(&world, "raw");
    // What is no JSON is told so, and so is what is JSON and no message; an empty line is nothing.
    session.send("");
    for (nonsense, code) in [
        ("not json", -32700),
        ("{", -32700),
        ("\u{1b}[31m", -32700),
        ("{\"jsonrpc\":\"2.0\"", -32700),
        ("\"text\"", -32600),
    ] {
        session.send(nonsense);
        let refused = session.message();
        let told = (refused["error"]["code"].as_i64(), &refused["id"]);
        assert_eq!(told, (Some(code), &Value::Null), "{nonsense}: {refused}");
    }
    assert_eq!(session.ask("ping", json!({}))["result"], json!({}));
    let unknown = session.ask("tools/call", json!({"name": "approve_objective", "arguments": {}}));
    assert_eq!(unknown["error"]["message"], "there is no tool \"approve_objective\"");
    assert_eq!(session.ask("objectives/approve", json!({}))["error"]["code"], -32601);
    let words = session.refused("capture_note", json!({"text": 1}));
    assert!(words.starts_with("the arguments: invalid type"), "{words}");
    let words = session.refused("capture_note", json!({"text": "x", "label": "cli"}));
    assert!(words.contains("unknown field `label`"), "{words}");
    assert!(session.refused("get_objective", json!({})).contains("missing field `objective_id`"));
    assert_eq!(session.end(), ended_well());
}

#[test]
fn the_end_of_stdin_ends_it_after_the_last_answer() {
    let world = world();
    assert_eq!(Session::start(&world).end(), ended_well());
    // In the middle of a message: that one never came.
    let mut session = Session::begin(&world, "raw");
    session.send(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"}).to_string());
    write!(session.input.as_mut().unwrap(), "{{\"jsonrpc\": \"2.0\", \"id\": 8, \"meth").unwrap();
    drop(session.input.take());
    assert_eq!(session.message()["id"], 7);
    assert_eq!(session.end(), ended_well());
}

#[test]
fn a_signal_ends_it_while_the_client_neither_writes_nor_reads() {
    let world = world();
    let mut session = Session::begin(&world, "raw");
    session.signal(rustix::process::Signal::TERM);
    let (code, rest, _) = session.wait();
    assert_eq!((code, rest.as_str()), (Some(0), ""));
    // More answers than a pipe holds, and nobody who reads them.
    let mut stuck = Session::begin(&world, "raw");
    for id in 100..150 {
        stuck.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}).to_string());
    }
    stuck.message();
    stuck.signal(rustix::process::Signal::TERM);
    assert_eq!(stuck.child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_does_not_begin_as_a_client_does_is_told_on_stderr() {
    let world = world();
    let mut session = Session::start(&world);
    session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
    let (code, rest, told) = session.end();
    assert_eq!((code, rest.as_str()), (Some(2), ""));
    assert!(told.contains("is not how MCP begins") && told.contains("azolla mcp install"), "{told}");
}

#[test]
fn without_a_configuration_every_answer_says_what_to_type() {
    let world = World::new();
    let mut session = Session::begin(&world, "raw");
    let words = session.refused("get_orientation", json!({}));
    assert!(words.contains("there is no configuration") && words.ends_with("hint: azolla init"), "{words}");
    // From then on it is there: nothing has to be restarted.
    world.azolla_in(&world.repository("app"), &["init"]).ok();
    assert_eq!(session.call("list_objectives", json!({}))["objectives"], json!([]));
    assert_eq!(session.end(), ended_well());
}

/// T39: what names something goes through the validators of the command line.
#[test]
fn t39_ids_that_are_paths_refs_or_options_are_refused_in_words() {
    let world = world();
    let mut session = Session::begin(&world, "raw");
    let ids = [
        "../../etc/passwd",
        "/etc/passwd",
        "refs/heads/main",
        "HEAD",
        "main@{1}",
        "--azolla",
        "-x",
        "obj-1;rm -rf /",
        "obj-1\nobj-2",
        "obj-\u{0}",
        "obj-%2e%2e",
        "OBJ-1",
        "",
        "ö",
        &"a".repeat(66),
    ];
    let allowed = "an id has only a-z, 0-9 and -, begins with one of the first two";
    for id in ids {
        for (tool, key) in [("get_objective", "objective_id"), ("get_run", "run_id")] {
            let words = session.refused(tool, json!({key: id}));
            assert!(words.starts_with(&format!("{key}: {allowed}")), "{tool} {id:?}: {words}");
        }
        let words = session.refused("report_blocker", json!({"objective_id": id, "reason": "x"}));
        assert!(words.starts_with(&format!("objective_id: {allowed}")), "{id:?}: {words}");
        let objective = json!({"objective_id": "obj-1", "runs_before": id});
        assert!(session.refused("get_objective", objective).starts_with("runs_before: "), "{id:?}");
        for tool in ["get_orientation", "list_objectives"] {
            assert!(session.refused(tool, json!({"azolla": id})).starts_with("azolla: "), "{tool} {id:?}");
        }
        let note = json!({"text": "x", "azolla": id});
        assert!(session.refused("capture_note", note).starts_with("azolla: "), "{id:?}");
        for key in ["azolla", "target"] {
            let proposal = json!({"title": "t", "criteria": "c", key: id});
            let words = session.refused("propose_objective", proposal);
            assert!(words.starts_with(&format!("{key}: ")), "{key} {id:?}: {words}");
        }
        for after in [id.to_owned(), format!("az-app:{id}"), format!("{id}:obj-1")] {
            let words = session.refused("list_objectives", json!({"after": after}));
            assert!(words.starts_with("after: "), "{after:?}: {words}");
        }
        let answer = session.ask("resources/read", json!({"uri": format!("azolla://objectives/{id}")}));
        assert!(
            answer["error"]["message"].as_str().unwrap().starts_with("objective_id: "),
            "{id:?}: {answer}"
        );
    }
    for (tool, arguments, words) in [
        ("list_objectives", json!({"status": "OPEN"}), "status: "),
        ("list_objectives", json!({"limit": 0}), "limit is 1 to 100"),
        ("list_objectives", json!({"limit": 101}), "limit is 1 to 100"),
        ("list_objectives", json!({"after": "az-app:obj-none"}), "after: there is no objective obj-none"),
        ("list_objectives", json!({"after": "az-none:obj-1"}), "after: there is no azolla az-none here"),
        ("report_blocker", json!({"objective_id": "obj-1", "reason": "x", "kind": "BORED"}), "kind: "),
        ("report_blocker", json!({"objective_id": "obj-1", "reason": " "}), "a reason is needed"),
        ("get_run", json!({"run_id": "run-1", "after": "../1"}), "after: "),
        ("get_objective", json!({"objective_id": "obj-none"}), "there is no objective obj-none"),
        ("get_run", json!({"run_id": "run-none"}), "there is no run run-none"),
        ("get_orientation", json!({"azolla": "az-none"}), "there is no azolla az-none"),
        ("capture_note", json!({"text": "x", "azolla": "az-app"}), "az-app is a CODE_PATCH_AZOLLA"),
        ("capture_note", json!({"text": " \n"}), "a note cannot be empty"),
        ("capture_note", json!({"text": "a\u{0}b"}), "a note cannot hold NUL characters"),
        ("propose_objective", json!({"title": " ", "criteria": "c"}), "the title is empty"),
        ("propose_objective", json!({"title": "a\nb", "criteria": "c"}), "the title has more than one line"),
        ("propose_objective", json!({"title": "t", "criteria": "\n"}), "the criteria are empty"),
    ] {
        let told = session.refused(tool, arguments.clone());
        assert!(told.starts_with(words), "{tool} {arguments}: {told}");
    }
    for uri in ["azolla://", "azolla://objective", "file:///etc/passwd", "azolla://objectivesx", ""] {
        let answer = session.ask("resources/read", json!({"uri": uri}));
        assert_eq!(answer["error"]["message"], "there is nothing at this address", "{uri}");
    }
    assert_eq!(session.end(), ended_well());
}

#[test]
fn there_is_no_tool_that_takes_a_step_of_the_operators() {
    let world = world();
    let mut session = Session::begin(&world, "raw");
    let tools = session.ask("tools/list", json!({}))["result"]["tools"].clone();
    let named: Vec<_> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let looks = |tool: &Value| tool["annotations"]["readOnlyHint"].as_bool().unwrap();
    let says: Vec<_> = tools.as_array().unwrap().iter().filter(|tool| !looks(tool)).collect();
    assert_eq!(
        named,
        [
            "capture_note",
            "get_orientation",
            "list_objectives",
            "get_objective",
            "propose_objective",
            "report_blocker",
            "get_run"
        ]
    );
    for tool in &says {
        assert_eq!(tool["annotations"]["destructiveHint"], false, "{tool}");
    }
    assert_eq!(says.len(), 3);
    let text = tools.to_string();
    assert!(!text.contains("uint"), "{text}");
}

/// What an agent reports is a client's, moves no objective and ends no pause_state; the Scheduler holds the work up by it
/// (S-d), and the operator lets it go on.
#[test]
fn sd_sh_a_reported_blocker_holds_work_up_until_the_operator_settles_it() {
    let world = World::with_worker("echo two > b.txt");
    let id = world.objective("Write b", "b.txt holds two");
    let mut session = Session::begin(&world, "my agent");
    let reported = session.call("report_blocker", json!({"objective_id": &id[4..], "reason": "which b?"}));
    assert_eq!((&reported["status"], &reported["objective_id"]), (&json!("NEW"), &json!(id)));
    let blocker = reported["blocker_id"].as_str().unwrap();
    let unblock = format!("azolla objective unblock {id} --blocker {blocker}");
    assert_eq!(reported["operator_command"], unblock);
    let again = session.call("report_blocker", json!({"objective_id": id, "reason": "which b?"}));
    assert_eq!(again["blocker_id"], blocker);
    let shown = session.call("get_objective", json!({"objective_id": id}));
    let on_record = json!([{"blocker_id": blocker, "kind": "USER_INPUT", "resolved": false,
                            "description": "which b? (reported by my-agent)"}]);
    assert_eq!(shown["objective"]["blocked_on"], on_record);
    assert_eq!(shown["objective"]["status"], "NEW");
    let page = world.azolla(&[]).ok();
    assert!(page.contains(&format!("azolla objective unblock {id}")), "{page}");

    world.azolla(&["objective", "approve", &id]).ok();
    world.azolla(&["run", "--until-idle"]);
    let shown = session.call("get_objective", json!({"objective_id": id}));
    assert_eq!(shown["objective"]["status"], "BLOCKED");
    assert_eq!(shown["runs"], json!([]));
    let pause = shown["pause_state"].clone();
    assert_eq!(pause["reason"], "BLOCKED");
    let more = json!({"objective_id": id, "reason": "no key", "kind": "ENVIRONMENT_ACCESS"});
    assert_eq!(session.call("report_blocker", more)["status"], "BLOCKED");
    let shown = session.call("get_objective", json!({"objective_id": id}));
    assert_eq!(
        (&shown["pause_state"], shown["objective"]["blocked_on"].as_array().unwrap().len()),
        (&pause, 2)
    );

    let retried = world.azolla(&["objective", "retry", &id]);
    assert!(retried.refused(4).contains("has an open blocker"));
    world.azolla(&["objective", "unblock", &id]).ok();
    world.azolla(&["run", "--until-idle"]).ok();
    let run = session.call("get_run", json!({"run_id": id}));
    assert_eq!(run["run_record"]["gate_result"], "PASS", "{run}");
    assert!(run["content"].as_str().unwrap().contains("+two"), "{run}");
    assert_eq!(
        (&run["next"], &run["output"]["metadata"]["runner_status"]),
        (&Value::Null, &json!("COMPLETED"))
    );
    let whole = run["run_record"]["run_id"].as_str().unwrap();
    assert_eq!(session.call("get_run", json!({"run_id": whole})), run);
    let listed = session.call("list_objectives", json!({"status": "DONE"}));
    assert_eq!(listed["objectives"][0]["confirmed"], false);
    let done = session.refused("report_blocker", json!({"objective_id": id, "reason": "late"}));
    assert!(done.contains("is DONE; a blocker needs NEW, TODO, IN_PROGRESS or BLOCKED"), "{done}");
    let standing = json!({"objective_id": "obj-ctx-continuity", "reason": "x"});
    assert!(session.refused("report_blocker", standing).contains("is STANDING"));
    assert_eq!(session.end(), ended_well());
    let export = world.azolla(&["export", "--azolla", "az-app"]).ok();
    let by_client = export.lines().filter(|line| line.contains("\"CLIENT\"")).count();
    assert_eq!(by_client, 2, "{export}");
    let log = world.azolla(&["log", &id]).ok();
    assert_eq!(log.matches("was changed, by an agent").count(), 2, "{log}");
    world.azolla(&["verify"]).ok();
}

#[test]
fn a_proposal_is_a_note_with_the_clients_name_and_one_candidate() {
    let world = world();
    let mut session = Session::begin(&world, "Some Editor\n2");
    let proposal = json!({"title": "Round half up in invoices", "target": "az-app",
        "criteria": "- 0.5 rounds to 1\n- the totals of old invoices stay as they are",
        "rationale": "Customers see totals that are off by a cent.\n- it should be one rule"});
    let kept = session.call("propose_objective", proposal);
    assert_eq!(kept["source_label"], "proposal:Some-Editor-2");
    assert_eq!(session.call("capture_note", json!({"text": "ask Kim"}))["source_label"], "mcp:Some-Editor-2");
    assert_eq!(session.end(), ended_well());
    let mut nameless = Session::begin(&world, " ");
    assert_eq!(nameless.call("capture_note", json!({"text": "thanks"}))["source_label"], "mcp:unknown");
    let export = world.azolla(&["export", "--azolla", "az-taskmgmt"]).ok();
    assert!(export.contains("\"source_label\":\"proposal:Some-Editor-2\""), "{export}");

    world.azolla(&["triage", "--now"]).ok();
    let triaged = world.azolla(&["triage", "--json"]).json("triage");
    let text = triaged.to_string();
    let of = kept["capture_id"].as_str().unwrap();
    let candidates: Vec<&Value> = all(&triaged).into_iter().filter(|one| of_capture(one, of)).collect();
    assert_eq!(candidates.len(), 1, "{text}");
    assert_eq!(candidates[0]["title"], "Round half up in invoices");
    let criteria = candidates[0]["acceptance_criteria"].as_str().unwrap();
    assert!(
        criteria.starts_with("0.5 rounds to 1\nThe totals of old invoices stay as they are"),
        "{criteria}"
    );
    assert_eq!(candidates[0]["suggested_azolla_id"], "az-app", "{text}");
    // Nothing became an objective by it.
    let mut session = Session::begin(&world, "raw");
    assert_eq!(session.call("list_objectives", json!({}))["objectives"], json!([]));
    let there = session.call("get_orientation", json!({}));
    let desk = there["azollas"].as_array().unwrap().iter().find(|desk| desk["azolla_id"] == "az-taskmgmt");
    assert_eq!(desk.unwrap()["candidates_open"].as_u64(), Some(all(&triaged).len() as u64), "{there}");
}

/// Returns the candidates of a document, wherever they stand in it.
fn all(document: &Value) -> Vec<&Value> {
    match document {
        Value::Object(fields) if fields.contains_key("acceptance_criteria") => vec![document],
        Value::Object(fields) => fields.values().flat_map(all).collect(),
        Value::Array(items) => items.iter().flat_map(all).collect(),
        _ => Vec::new(),
    }
}

fn of_capture(candidate: &Value, id: &str) -> bool {
    candidate["capture_ids"].as_array().unwrap().iter().any(|one| one == id)
}

/// A page is full by its number or by its bytes, and the next begins after the last thing of it.
#[test]
fn answers_are_bounded_and_every_thing_is_on_one_page() {
    let world = world();
    let title = "\u{1f642}".repeat(480);
    let mut made: Vec<String> =
        (0..40).map(|number| world.objective(&format!("{title}{number}"), "c")).collect();
    let criteria = "\"\\\n".repeat(33_000);
    made.push(world.objective("Long", &criteria));
    world.azolla(&["objective", "archive", &made[0]]).ok();
    let mut session = Session::begin(&world, "raw");
    for (arguments, expected) in [
        (json!({"limit": 100}), &made[1..]),
        (json!({"limit": 7, "azolla": "az-app"}), &made[1..]),
        (json!({"limit": 100, "all": true, "azolla": "az-app"}), &made[..]),
    ] {
        let (mut seen, mut pages, mut given) = (Vec::new(), 0, arguments.clone());
        loop {
            let page = session.call("list_objectives", given.clone());
            let ids = page["objectives"].as_array().unwrap();
            seen.extend(ids.iter().map(|one| one["objective_id"].as_str().unwrap().to_owned()));
            pages += 1;
            let Some(next) = page["next"].as_str() else { break };
            given["after"] = next.into();
        }
        let mut expected = expected.to_vec();
        seen.sort();
        expected.sort();
        assert_eq!((seen, pages > 1), (expected, true), "{arguments}");
    }
    let page = session.ask("resources/read", json!({"uri": "azolla://objectives"}));
    let page: Value = serde_json::from_str(page["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    let after = page["next"].as_str().unwrap().replace(':', "%3A");
    let next = session.ask("resources/read", json!({"uri": format!("azolla://objectives?after={after}")}));
    assert!(next["result"]["contents"][0]["text"].as_str().unwrap().len() > 1_000, "{next}");

    let long = session.call("get_objective", json!({"objective_id": made[40]}));
    let cut = long["left_out"][0].as_str().unwrap();
    assert!(cut.starts_with("objective.acceptance_criteria: ") && cut.ends_with(" more bytes"), "{cut}");
    let shown = long["objective"]["acceptance_criteria"].as_str().unwrap();
    assert!(criteria.starts_with(shown.trim_end_matches('…')) && shown.len() > 4_000);
    assert_eq!(session.end(), ended_well());
}

#[test]
fn notes_have_the_size_that_they_have_on_the_command_line() {
    let world = world();
    let mut session = Session::begin(&world, "raw");
    let mebibyte = "\u{1}".repeat(1024 * 1024);
    session.call("capture_note", json!({"text": mebibyte}));
    let words = session.refused("capture_note", json!({"text": format!("{mebibyte}x")}));
    assert!(words.starts_with("a note has at most 1 MiB"), "{words}");
    // A message that no note needs is passed over, and the next one answered.
    session
        .send(&format!("{{\"jsonrpc\": \"2.0\", \"id\": 5, \"x\": \"{}\"}}", "x".repeat(17 * 1024 * 1024)));
    assert_eq!(session.ask("ping", json!({}))["result"], json!({}));

    // What came of long notes is read part by part.
    let list: String =
        (0..900).map(|number| format!("- Fix the \"bug\" number {number} in the parser\n")).collect();
    session.call("capture_note", json!({"text": list}));
    world.azolla(&["triage", "--now"]).ok();
    let runs = session.call("get_objective", json!({"objective_id": "obj-ctx-continuity"}));
    let run = runs["runs"].as_array().unwrap().last().unwrap()["run_id"].as_str().unwrap();
    let (mut content, mut given) = (String::new(), json!({"run_id": run}));
    let whole = loop {
        let part = session.call("get_run", given.clone());
        content.push_str(part["content"].as_str().unwrap());
        let Some(next) = part["next"].as_str() else { break part["content_bytes"].as_u64().unwrap() };
        given["after"] = next.into();
    };
    assert_eq!(content.len() as u64, whole);
    assert!(whole > 24 * 1024, "{whole}");
    assert!(serde_json::from_str::<Value>(&content).is_ok());
    let beyond = json!({"run_id": run, "after": (whole + 1).to_string()});
    assert!(session.refused("get_run", beyond).starts_with("after: this is no `next`"));
    assert_eq!(session.end(), ended_well());
}

/// Which azolla is meant without a word is what it is on the command line: that of the current directory's repository.
#[test]
fn a_proposal_from_inside_a_repository_is_about_it() {
    let world = world();
    let mut command = world.command(&world.path("app"), &["mcp"]);
    command.env("AZOLLA_HOME", world.home());
    let ask = |id: u64, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let proposal =
        json!({"name": "propose_objective", "arguments": {"title": "Do it", "criteria": "it is done"}});
    let input = [ask(1, "initialize", begin("here")), ask(2, "tools/call", proposal)].join("\n") + "\n";
    let answer = crate::world::answer(command, input.as_bytes());
    assert_eq!(answer.stdout.lines().count(), 2, "{answer:?}");
    let export = world.azolla(&["export", "--azolla", "az-taskmgmt"]).ok();
    assert!(export.contains("It is about az-app."), "{export}");
}
