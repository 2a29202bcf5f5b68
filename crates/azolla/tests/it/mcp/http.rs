//! MCP at `/mcp` of `azolla up`: who gets in, and that nothing is left open.

use std::{io::Write, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use super::begin;
use crate::{
    server::{Reply, Server},
    world::World,
};

const ACCEPT: &str = "Accept: application/json, text/event-stream";

fn message(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn token(world: &World) -> String {
    std::fs::read_to_string(world.home().join("mcp.token")).unwrap().trim().to_owned()
}

fn send(server: &Server<'_>, token: &str, headers: &[&str], body: &str) -> Reply {
    let token = format!("Authorization: Bearer {token}");
    let mut all = vec![ACCEPT, token.as_str()];
    all.extend(headers);
    server.send("POST", "/mcp", &all, body)
}

#[test]
fn r12_t25_only_the_token_of_mcp_clients_opens_it_and_it_opens_nothing_else() {
    let world = World::with_worker("true");
    let peer = world.azolla(&["peer", "add", "az-desk"]).ok().trim().to_owned();
    let server = Server::start(&world);
    let own = token(&world);
    let mode = std::fs::metadata(world.home().join("mcp.token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!server.said.contains(&own), "{}", server.said);
    let ping = message(1, "ping", &json!({}));
    assert_eq!(server.send("POST", "/mcp", &[ACCEPT], &ping).error(), (401, "unauthorized".to_owned()));
    for wrong in [world.operator_token().as_str(), &peer, "x", ""] {
        let reply = send(&server, wrong, &[], &ping);
        assert_eq!(reply.error(), (401, "unauthorized".to_owned()), "{wrong}");
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
    let reply = send(&server, &own, &[], &ping);
    assert_eq!((reply.status, &reply.json()["result"]), (200, &json!({})), "{reply:?}");
    for path in ["/v1/azollas", "/v1/resume", "/v1/azollas/az-app/objectives"] {
        let bearer = format!("Authorization: Bearer {own}");
        assert_eq!(
            server.send("GET", path, &[&bearer], "").error(),
            (401, "unauthorized".to_owned()),
            "{path}"
        );
    }
    assert_eq!(server.metric("azolla_http_unauthorized_total{access=\"mcp\"}"), 5);
    assert!(world.log().contains("it showed no token of MCP clients"), "{}", world.log());
    for (header, code) in
        [("Host: evil.example", "host_refused"), ("Origin: http://evil.example", "origin_refused")]
    {
        assert_eq!(send(&server, &own, &[header], &ping).error(), (403, code.to_owned()), "{header}");
    }
    let origin = format!("Origin: http://{}", server.address);
    assert_eq!(send(&server, &own, &[&origin], &ping).status, 200);
    let described = server.send("GET", "/openapi.json", &[], "").body;
    assert!(!described.contains("/mcp"), "MCP describes itself");
}

#[test]
fn there_is_no_session_to_run_out_and_no_stream_to_hold() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let own = token(&world);
    let begun = send(&server, &own, &[], &message(1, "initialize", &begin("My Client~1")));
    assert_eq!(begun.json()["result"]["serverInfo"]["name"], "azolla", "{begun:?}");
    assert_eq!(begun.header("content-type"), "application/json");
    let session = format!("Mcp-Session-Id: {}", begun.header("mcp-session-id"));
    assert!(session.starts_with("Mcp-Session-Id: My-Client-1~"), "{session}");
    let note = json!({"name": "capture_note", "arguments": {"text": "from afar"}});
    let labels = |headers: &[&str]| {
        let reply = send(&server, &own, headers, &message(2, "tools/call", &note));
        assert_eq!(reply.header("mcp-session-id"), "");
        reply.json()["result"]["structuredContent"]["source_label"].clone()
    };
    assert_eq!(labels(&[&session]), "mcp:My-Client-1");
    // The name is the client's own word and nothing rests on it.
    assert_eq!(labels(&["Mcp-Session-Id: other~1"]), "mcp:other");
    assert_eq!(labels(&["Mcp-Session-Id: nonsense"]), "mcp:unknown");
    assert_eq!(labels(&[]), "mcp:unknown");
    let bearer = format!("Authorization: Bearer {own}");
    for method in ["GET", "DELETE", "PUT"] {
        assert_eq!(server.send(method, "/mcp", &[&bearer, ACCEPT], "").status, 405, "{method}");
    }
    let export = world.azolla(&["export", "--azolla", "az-taskmgmt"]).ok();
    assert_eq!(export.matches("\"CLIENT\"").count(), 4, "{export}");
}

#[test]
fn what_is_too_large_or_no_message_is_refused() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let own = token(&world);
    let note = |text: String| json!({"name": "capture_note", "arguments": {"text": text}});
    let whole = send(&server, &own, &[], &message(1, "tools/call", &note("\u{1}".repeat(1024 * 1024))));
    assert_eq!(whole.json()["result"]["isError"], false, "{}", whole.body);
    let long = send(&server, &own, &[], &message(1, "tools/call", &note("x".repeat(1024 * 1024 + 1))));
    let words = long.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(words.starts_with("a note has at most 1 MiB"), "{words}");
    let beyond = send(&server, &own, &[], &message(1, "tools/call", &note("x".repeat(7 * 1024 * 1024))));
    assert!(matches!(beyond.status, 413 | 0), "{beyond:?}");
    for (body, code) in [("not json", -32700), ("{", -32700), ("[]", -32600), ("{}", -32600)] {
        let reply = send(&server, &own, &[], body);
        let told = (reply.status, reply.json()["error"]["code"].as_i64(), reply.json()["id"].clone());
        assert_eq!(told, (400, Some(code), Value::Null), "{body}: {reply:?}");
    }
    assert_eq!(send(&server, &own, &["Content-Type: text/plain"], "{}").status, 415);
    let ids =
        message(1, "tools/call", &json!({"name": "get_objective", "arguments": {"objective_id": "../x"}}));
    let words = send(&server, &own, &[], &ids).json()["result"]["content"][0]["text"].clone();
    assert!(words.as_str().unwrap().starts_with("objective_id: an id has only"), "{words}");
}

/// A fault of ours is told to the operator, who may not be the one who asks.
#[test]
fn a_store_that_is_away_is_told_in_the_servers_own_output() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let own = token(&world);
    let store = world.home().join("azollas/az-taskmgmt.sqlite");
    std::fs::write(&store, "no database").unwrap();
    let note = json!({"name": "capture_note", "arguments": {"text": "x"}});
    let reply = send(&server, &own, &[], &message(1, "tools/call", &note)).json();
    assert_eq!(
        reply["result"]["content"][0]["text"], "something failed here; the server's own output says what",
        "{reply}"
    );
    assert!(world.log().contains("http: mcp: "), "{}", world.log());
    // A look around leaves it out, and names no path either.
    for tool in ["list_objectives", "get_orientation"] {
        let call = json!({"name": tool, "arguments": {}});
        let reply = send(&server, &own, &[], &message(2, "tools/call", &call)).json().to_string();
        assert!(reply.contains("it cannot be read; the server's own output says why"), "{tool}: {reply}");
        assert!(!reply.contains("az-taskmgmt.sqlite"), "{tool}: {reply}");
    }
    assert!(world.log().contains("http: mcp: az-taskmgmt cannot be read: "), "{}", world.log());
}

/// The directory is that of the server, and says nothing about who asks.
#[test]
fn a_proposal_is_about_no_repository_that_it_does_not_name() {
    let world = World::with_worker("true");
    let server = Server::start_in(&world, &world.path("app"));
    let own = token(&world);
    let proposal =
        json!({"name": "propose_objective", "arguments": {"title": "Do it", "criteria": "it is done"}});
    let reply = send(&server, &own, &[], &message(1, "tools/call", &proposal)).json();
    assert_eq!(reply["result"]["isError"], false, "{reply}");
    let export = world.azolla(&["export", "--azolla", "az-taskmgmt"]).ok();
    assert!(export.contains("Do it") && !export.contains("It is about"), "{export}");
}

#[test]
fn the_server_ends_at_once_with_a_client_on_the_line() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let own = token(&world);
    let ping = message(1, "ping", &json!({}));
    let mut kept = server.connect();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\n{ACCEPT}\r\nAuthorization: Bearer {own}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        server.address,
        ping.len()
    );
    // One request answered, the connection kept, and half of the next one sent.
    kept.write_all(format!("{head}{ping}").as_bytes()).unwrap();
    let mut begun = [0; 12];
    std::io::Read::read_exact(&mut kept, &mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200");
    kept.write_all(&head.as_bytes()[..40]).unwrap();
    assert_eq!(server.end(), Some(0));
}
