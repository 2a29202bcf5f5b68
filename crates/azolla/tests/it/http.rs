//! `azolla up` over real HTTP: who gets in (T24 to T26, T33), what a peer gets (T34), and what there is no route for
//! (T27).

use std::{io::Write, os::unix::fs::PermissionsExt};

use azolla_protocol::{AzollaType, CandidateOutcome, OutputId};
use azolla_testkit::{Backend, TestStore, TriageCycle, store::Place};
use serde_json::{Value, json};

use crate::{
    root,
    server::{Server, query, read},
    world::World,
};

const OPERATOR_ROUTES: [(&str, &str); 8] = [
    ("POST", "/v1/captures"),
    ("GET", "/v1/resume"),
    ("GET", "/v1/azollas"),
    ("GET", "/v1/azollas/az-app/objectives"),
    ("GET", "/v1/azollas/az-app/objectives/obj-1"),
    ("GET", "/v1/azollas/az-taskmgmt/candidates"),
    ("POST", "/v1/azollas/az-taskmgmt/manifests"),
    ("GET", "/v1/azollas/az-taskmgmt/manifests/latest"),
];

/// A home with a repository and a peer that may ask; returns the peer's token too.
fn world() -> (World, String) {
    let world = World::with_worker("true");
    let token = world.azolla(&["peer", "add", "az-desk"]).ok().trim().to_owned();
    (world, token)
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

#[test]
fn r12_t24_nothing_is_answered_without_the_right_token_on_this_machine_too() {
    let (world, peer) = world();
    let server = Server::start(&world);
    let operator = world.operator_token();
    let mode = std::fs::metadata(world.home().join("operator.token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let refused = (401, "unauthorized".to_owned());
    let wrong = [
        String::new(),
        bearer("x"),
        bearer(&"0".repeat(64)),
        bearer(&operator[..63]),
        bearer(&operator.to_uppercase()),
        bearer(&format!("{operator}0")),
        bearer(&format!("{operator} {operator}")),
        format!("Authorization: Basic {operator}"),
        format!("Authorization: {operator}"),
        format!("Cookie: token={operator}"),
        format!("{}\r\n{}", bearer(&operator), bearer("x")),
        // A peer is no operator.
        bearer(&peer),
    ];
    for (method, path) in OPERATOR_ROUTES {
        for header in &wrong {
            let headers: Vec<&str> = header.split("\r\n").filter(|line| !line.is_empty()).collect();
            let reply = server.send(method, path, &headers, if method == "POST" { "{}" } else { "" });
            assert_eq!(reply.error(), refused, "{method} {path} {header}");
            assert_eq!(reply.header("www-authenticate"), "Bearer");
        }
    }
    // An operator is no peer, and neither is somebody who guesses.
    let asked = query("1", "az-desk", "az-app", "objective", json!({}));
    for token in [operator.as_str(), "x", &"0".repeat(64)] {
        assert_eq!(server.ask(token, &asked).error(), refused);
    }
    assert_eq!(server.operator("GET", "/v1/azollas", "").status, 200);
    assert_eq!(server.ask(&peer, &asked).status, 200);
    assert_eq!(server.metric("azolla_http_unauthorized_total{access=\"peer\"}"), 3);
    assert!(world.log().contains("refused 127.0.0.1: it showed no token of the operator"), "{}", world.log());
}

/// What a proxy on this machine asks for somebody else is not asked from this machine.
#[test]
fn t24_a_proxy_does_not_open_what_this_machine_may_see() {
    let (world, _) = world();
    let server = Server::start(&world);
    assert_eq!(server.send("GET", "/metrics", &[], "").status, 200);
    let token = bearer(&world.operator_token());
    for header in ["X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.1", "Via: 1.1 proxy"] {
        let refused = server.send("GET", "/metrics", &[header], "");
        assert_eq!(refused.error(), (401, "unauthorized".to_owned()), "{header}");
        assert_eq!(server.send("GET", "/metrics", &[header, &token], "").status, 200, "{header}");
    }
}

#[test]
fn t25_t24_other_names_and_other_origins_are_refused() {
    let (world, _) = world();
    let server = Server::start(&world);
    let token = bearer(&world.operator_token());
    for host in ["evil.example", "evil.example:7517", "127.0.0.1.evil.example", "0.0.0.0"] {
        let reply = server.send("GET", "/v1/azollas", &[&token, &format!("Host: {host}")], "");
        assert_eq!(reply.error(), (403, "host_refused".to_owned()), "{host}");
        assert_eq!(server.send("GET", "/healthz", &[&format!("Host: {host}")], "").status, 403, "{host}");
    }
    let no_host = server.raw(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert!(matches!(no_host.status, 400 | 403), "{no_host:?}");
    let body = json!({"text": "a note from a page"}).to_string();
    for origin in ["null", "http://evil.example", "http://localhost:1", "https://127.0.0.1"] {
        let reply = server.send("POST", "/v1/captures", &[&token, &format!("Origin: {origin}")], &body);
        assert_eq!(reply.error(), (403, "origin_refused".to_owned()), "{origin}");
        assert_eq!(reply.header("access-control-allow-origin"), "");
    }
    // What a page can send without being asked carries no token and no JSON.
    let form = server.send("POST", "/v1/captures", &["Content-Type: text/plain"], &body);
    assert_eq!(form.status, 401);
    let plain = server.send("POST", "/v1/captures", &[&token, "Content-Type: text/plain"], &body);
    assert_eq!(plain.error(), (415, "unsupported_media_type".to_owned()));
    let preflight = server.send("OPTIONS", "/v1/captures", &["Origin: http://evil.example"], "");
    assert_eq!(preflight.status, 403);
    let own = format!("Origin: http://{}", server.address);
    assert_eq!(server.send("POST", "/v1/captures", &[&token, &own], &body).status, 201);
    assert_eq!(server.metric("azolla_captures_total"), 1);
}

#[test]
fn t23_what_others_wrote_comes_back_as_data_that_no_browser_runs() {
    let (world, _) = world();
    let attack = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>";
    let id = world.objective(attack, "<svg onload=alert(1)>");
    let server = Server::start(&world);
    let shown = server.operator("GET", &format!("/v1/azollas/az-app/objectives/{id}"), "");
    assert_eq!(shown.json()["objective"]["title"], attack);
    let missing = server.send("GET", "/%3Cscript%3Ealert(1)%3C/script%3E", &[], "");
    assert_eq!(missing.error(), (404, "not_found".to_owned()));
    assert!(!missing.body.contains("script"), "{missing:?}");
    let refused = server.operator("GET", "/v1/azollas/%3Cscript%3E/objectives", "");
    let text = server.send("GET", "/metrics", &[], "");
    for reply in [&shown, &missing, &refused, &text] {
        let html = reply.header("content-type").contains("html");
        assert!(!html, "{reply:?}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("cache-control", "no-store"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
        ] {
            assert_eq!(reply.header(name), value);
        }
        assert!(reply.header("content-security-policy").starts_with("default-src 'none';"));
    }
}

#[test]
fn t26_other_machines_are_listened_to_only_encrypted_or_on_record() {
    let (world, _) = world();
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let told = world.azolla(&["up", "--listen", listen]).refused(4);
        assert!(told.contains("nothing there would be encrypted"), "{told}");
        assert!(told.contains("tls_cert") && told.contains("allow_insecure"), "{told}");
    }
    let doctor = |world: &World| world.azolla(&["doctor"]).stdout;
    assert!(doctor(&world).contains("127.0.0.1:7517, for this machine alone"));
    world.configure("[http]\nlisten = \"0.0.0.0:0\"");
    assert!(doctor(&world).contains("broken     http "), "{}", doctor(&world));
    world.azolla(&["up"]).refused(4);
    let text = std::fs::read_to_string(world.config()).unwrap();
    std::fs::write(world.config(), format!("{text}allow_insecure = true\n")).unwrap();
    assert!(!doctor(&world).contains("http, not encrypted"), "nothing has listened yet");
    let server = Server::start_with(&world, &["up", "--roles", "http"]);
    assert!(world.log().contains("warning: other machines reach 0.0.0.0:"), "{}", world.log());
    drop(server);
    let told = doctor(&world);
    assert!(told.contains("http, not encrypted") && told.contains("listened at 0.0.0.0:"), "{told}");
}

#[test]
fn t27_no_route_runs_approves_promotes_or_confirms() {
    let (world, peer) = world();
    let id = world.objective("Round half up", "it rounds");
    let server = Server::start(&world);
    let operator = world.operator_token();
    let paths = [
        format!("/v1/azollas/az-app/objectives/{id}/approve"),
        format!("/v1/azollas/az-app/objectives/{id}/confirm"),
        "/v1/azollas/az-taskmgmt/candidates/out-1/0/promote".to_owned(),
        "/v1/run".to_owned(),
        "/v1/exec".to_owned(),
        "/v1/shell".to_owned(),
        "/v1/config".to_owned(),
        "/v1/providers".to_owned(),
        "/v1/peers".to_owned(),
    ];
    for token in [&operator, &peer] {
        for path in &paths {
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                let reply = server.send(method, path, &[&bearer(token)], "");
                assert_eq!(reply.error(), (404, "not_found".to_owned()), "{method} {path}");
            }
        }
        for method in ["PUT", "PATCH", "DELETE", "POST"] {
            let path = format!("/v1/azollas/az-app/objectives/{id}");
            let reply = server.send(method, &path, &[&bearer(token)], "");
            assert_eq!(reply.error(), (405, "method_not_allowed".to_owned()), "{method}");
            assert!(reply.header("allow").contains("GET"));
        }
    }
    let shown = server.operator("GET", &format!("/v1/azollas/az-app/objectives/{id}"), "").json();
    assert_eq!((&shown["objective"]["status"], &shown["runs"]), (&json!("NEW"), &json!([])));
}

#[test]
fn t33_m2_a_spoofed_unknown_or_replaying_peer_gets_nothing() {
    let (world, token) = world();
    world.objective("Round half up", "it rounds");
    let other = world.azolla(&["peer", "add", "az-other"]).ok().trim().to_owned();
    let server = Server::start(&world);
    let denied = |token: &str, query: &Value| {
        let reply = server.ask(token, query);
        let answer = reply.json();
        assert_eq!((reply.status, &answer["status"]), (200, &json!("DENIED")), "{query} {reply:?}");
        assert_eq!(answer["results"], json!([]));
        let mut keys: Vec<_> = answer.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        assert_eq!(keys, ["created_at", "query_id", "response_id", "results", "status", "target_azolla_id"]);
    };
    let good = query("good", "az-desk", "az-app", "objective", json!({}));
    let answer = server.ask(&token, &good).json();
    assert_eq!((&answer["status"], answer["results"].as_array().unwrap().len()), (&json!("OK"), 1));
    // The same bytes again, and the same id in another query.
    denied(&token, &good);
    denied(&token, &query("good", "az-desk", "az-app", "pause_state", json!({})));
    assert_eq!(server.metric("azolla_queries_denied_total{reason=\"replay\"}"), 2);
    // Another peer's name in the body, with one's own token.
    denied(&other, &query("1", "az-desk", "az-app", "objective", json!({})));
    denied(&token, &query("2", "az-taskmgmt", "az-app", "objective", json!({})));
    assert_eq!(server.metric("azolla_queries_denied_total{reason=\"source\"}"), 2);
    // An azolla that is there and one that is not are refused alike.
    denied(&token, &query("3", "az-desk", "az-nobody", "objective", json!({})));
    assert_eq!(server.metric("azolla_queries_denied_total{reason=\"target\"}"), 1);
    // Clocks that are too far apart.
    for (id, at) in [("4", "2020-01-01T00:00:00.000Z"), ("5", "9999-12-31T23:59:59.999Z")] {
        let mut skewed = query(id, "az-desk", "az-app", "objective", json!({}));
        skewed["created_at"] = json!(at);
        denied(&token, &skewed);
    }
    assert_eq!(server.metric("azolla_queries_denied_total{reason=\"time\"}"), 2);
    assert_eq!(server.metric("azolla_queries_total{status=\"DENIED\"}"), 7);
    assert_eq!(server.metric("azolla_queries_total{status=\"OK\"}"), 1);
    assert!(
        world
            .log()
            .contains("denied az-desk, which asked az-app for objective: the query was answered before")
    );
    // The path says another azolla than the query.
    let crossed = query("6", "az-desk", "az-app", "objective", json!({})).to_string();
    let path = "/v1/azollas/az-taskmgmt/substrate/query";
    let reply = server.send("POST", path, &[&bearer(&token)], &crossed);
    assert_eq!(reply.json()["status"], "DENIED");
}

#[test]
fn t34_m3_forbidden_types_filters_and_limits_are_denied_or_refused() {
    let (world, token) = world();
    let id = world.objective("Round half up", "it rounds");
    let before = world.azolla(&["export", "--azolla", "az-app"]).ok();
    let server = Server::start(&world);
    let mut n = 0;
    let mut ask = |artifact_type: &str, filter: Value| {
        n += 1;
        let reply = server.ask(&token, &query(&n.to_string(), "az-desk", "az-app", artifact_type, filter));
        assert_eq!(reply.status, 200, "{reply:?}");
        let answer = reply.json();
        (answer["status"].as_str().unwrap().to_owned(), answer["results"].as_array().unwrap().len())
    };
    assert_eq!(ask("objective", json!({"objective_id": id})), ("OK".to_owned(), 1));
    assert_eq!(ask("objective", json!({"limit": 500})), ("OK".to_owned(), 1));
    let denied = ("DENIED".to_owned(), 0);
    assert_eq!(ask("blocker_ref", json!({})), denied);
    for filter in [
        json!({"objective_id": format!("{id}' OR 1=1 --")}),
        json!({"objective_id": "*"}),
        json!({"objective_id": {"$gt": ""}}),
        json!({"status": "NEW'; UPDATE objective SET title = 'x"}),
        json!({"limit": 501}),
        json!({"limit": 9_007_199_254_740_991_u64}),
        json!({"limit": -1}),
        json!({"limit": "1; DROP TABLE objective"}),
        json!({"order_by": "title"}),
        json!({"max_urgency": 99}),
        json!({"__proto__": {}}),
    ] {
        assert_eq!(ask("objective", filter.clone()), denied, "{filter}");
    }
    // What is no query at all is told so, and counts for nothing.
    let path = "/v1/azollas/az-app/substrate/query";
    let no_query = |body: &str| server.send("POST", path, &[&bearer(&token)], body).error();
    let invalid = (400, "invalid_request".to_owned());
    let mut extra = query("x", "az-desk", "az-app", "objective", json!({}));
    extra["write"] = json!({"title": "x"});
    let twice = query("x", "az-desk", "az-app", "objective", json!({})).to_string().replacen(
        '{',
        "{\"filter\":{},",
        1,
    );
    for body in ["{", "[]", "null", "\"x\"", "{}", &extra.to_string(), &twice, &"[".repeat(60_000)] {
        assert_eq!(no_query(body), invalid, "{}", &body[..body.len().min(80)]);
    }
    let (too_large, huge) = ((413, "too_large".to_owned()), " ".repeat(64 * 1024 + 1));
    assert_eq!(no_query(&huge), too_large);
    let odd = server.send("POST", "/v1/azollas/..%2f..%2fetc/substrate/query", &[&bearer(&token)], "{}");
    assert_eq!(odd.error(), invalid);
    drop(server);
    assert_eq!(world.azolla(&["export", "--azolla", "az-app"]).ok(), before, "something was written");
}

#[test]
fn t33_a_blueprint_that_reads_nothing_gets_nothing_and_a_token_ends_at_once() {
    let (world, token) = world();
    // What the registry says counts, not what the token was made for.
    let text = std::fs::read_to_string(world.config()).unwrap();
    let (before, after) = text.split_once("[peer.az-desk]\ntype = \"TASK_MGMT_AZOLLA\"").unwrap();
    let changed = format!("{before}[peer.az-desk]\ntype = \"CODE_PATCH_AZOLLA\"{after}");
    std::fs::write(world.config(), &changed).unwrap();
    let server = Server::start(&world);
    let asked = server.ask(&token, &query("1", "az-desk", "az-app", "objective", json!({}))).json();
    assert_eq!(asked["status"], "DENIED");
    drop(server);
    std::fs::write(world.config(), &text).unwrap();
    let server = Server::start(&world);
    let ask = |token: &str, id: &str| {
        let reply = server.ask(token, &query(id, "az-desk", "az-app", "objective", json!({})));
        (reply.status, reply.json()["status"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(ask(&token, "2"), (200, "OK".to_owned()));
    let fresh = world.azolla(&["peer", "rotate", "az-desk"]).ok().trim().to_owned();
    assert_eq!(ask(&token, "3").0, 401);
    assert_eq!(ask(&fresh, "4"), (200, "OK".to_owned()));
    world.azolla(&["peer", "remove", "az-desk"]).ok();
    assert_eq!(ask(&fresh, "5").0, 401);
    assert_eq!(std::fs::read_to_string(world.config()).unwrap().matches("az-desk").count(), 0);
}

/// M-2, M-4: whoever may not ask is told the same whether the store can be read or not.
#[test]
fn m2_m4_a_store_that_is_away_is_unavailable_to_those_who_may_ask_and_no_hint_to_others() {
    let (world, token) = world();
    let store = world.home().join("azollas/az-app.sqlite");
    std::fs::rename(&store, world.path("away")).unwrap();
    let server = Server::start(&world);
    let status = |id: &str, artifact_type: &str, filter: Value| {
        let asked = query(id, "az-desk", "az-app", artifact_type, filter);
        server.ask(&token, &asked).json()["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status("1", "objective", json!({})), "TARGET_UNAVAILABLE");
    assert_eq!(status("2", "blocker_ref", json!({})), "DENIED");
    assert_eq!(status("3", "objective", json!({"x": 1})), "DENIED");
    assert!(!store.exists(), "a reader makes no store");
    assert_eq!(server.operator("GET", "/v1/azollas/az-app/objectives", "").status, 503);
    // Back again, it is read without a new start.
    std::fs::rename(world.path("away"), &store).unwrap();
    assert_eq!(status("4", "objective", json!({})), "OK");
    assert_eq!(server.operator("GET", "/v1/azollas/az-app/objectives", "").status, 200);
}

#[test]
fn t29_a_token_is_shown_once_and_kept_as_a_hash() {
    let (world, token) = world();
    let outbound = "d".repeat(64);
    let added = ["peer", "add", "az-far", "--url", "https://far.example:7517"];
    let told = world.azolla_with(&world.path(""), &added, &format!("{outbound}\n"));
    // What reads nothing here gets no token.
    assert_eq!((told.code, told.stdout.as_str()), (0, ""), "{}", told.stderr);
    assert!(!told.stderr.contains(&outbound));
    let list = world.azolla(&["peer", "list"]).ok();
    assert!(list.contains("az-desk") && list.contains("asked at https://far.example:7517"), "{list}");
    let peers = world.azolla(&["peer", "list", "--json"]).json("peers");
    assert_eq!((&peers[0]["azolla_id"], &peers[1]["type"]), (&json!("az-desk"), &json!("CODE_PATCH_AZOLLA")));
    let server = Server::start(&world);
    server.ask(&token, &query("1", "az-desk", "az-app", "objective", json!({})));
    server.ask("not-the-token", &query("2", "az-desk", "az-app", "objective", json!({})));
    drop(server);
    let mut kept = Vec::new();
    let mut folders = vec![world.path("")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap_or_default();
            let holds = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
            assert!(!holds(&token), "{}", path.display());
            if holds(&outbound) {
                let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
                kept.push((path.file_name().unwrap().to_str().unwrap().to_owned(), mode));
            }
        }
    }
    assert_eq!(kept, [("az-far.token".to_owned(), 0o600)]);
    world.azolla(&["peer", "remove", "az-far"]).ok();
    assert!(!world.home().join("peers/az-far.token").exists());
}

#[test]
fn peers_that_cannot_be_are_refused_before_anything_is_kept() {
    let (world, _) = world();
    let before = std::fs::read_to_string(world.config()).unwrap();
    let refused = |arguments: &[&str], input: &str, code: i32| {
        world.azolla_with(&world.path(""), arguments, input).refused(code)
    };
    assert!(refused(&["peer", "add", "az-desk"], "", 4).contains("is a peer already"));
    let far = ["peer", "add", "az-far", "--url"];
    let url = |url: &'static str| [&far[..], &[url]].concat();
    assert!(refused(&url("http://far.example"), "t", 2).contains("must be https://"));
    assert!(refused(&url("https://me:secret@far.example"), "t", 2).contains("must not hold a user"));
    assert!(refused(&url("https://169.254.169.254"), "t", 2).contains("link-local"));
    assert!(refused(&url("https://far.example"), "", 2).contains("stdin holds no token"));
    assert!(refused(&url("https://far.example"), "two words", 2).contains("stdin holds no token"));
    assert!(
        refused(&["peer", "add", "az-app", "--url", "https://far.example"], "t", 2)
            .contains("of this machine")
    );
    let no_file = [&url("https://far.example")[..], &["--token-file", "nowhere"]].concat();
    assert!(refused(&no_file, "", 1).contains("cannot be read"));
    assert!(refused(&["peer", "rotate", "az-nobody"], "", 3).contains("no peer az-nobody"));
    assert!(refused(&["peer", "remove", "az-nobody"], "", 3).contains("no peer az-nobody"));
    assert_eq!(std::fs::read_to_string(world.config()).unwrap(), before);
    assert!(!world.home().join("peers/az-far.token").exists());
    // A token in the file itself is refused, and not shown.
    world.configure("[peer.az-x]\ntype = \"CODE_PATCH_AZOLLA\"\ntoken = \"s3cr3ts3cr3ts3cr3ts3cr3t\"");
    let told = world.azolla(&["peer", "list"]).refused(2);
    assert!(told.contains("token") && !told.contains("s3cr3t"), "{told}");
}

#[test]
fn a_capture_is_kept_byte_for_byte() {
    let (world, _) = world();
    let server = Server::start(&world);
    let texts = ["x".to_owned(), "é\u{202e}\u{1b}[31m\r\n\t\"\\ 🦀".to_owned(), "a".repeat(1_048_576)];
    for text in &texts {
        let reply =
            server.operator("POST", "/v1/captures", &json!({"text": text, "label": "phone"}).to_string());
        assert_eq!(reply.status, 201, "{reply:?}");
        assert!(reply.json()["capture_id"].as_str().unwrap().starts_with("cap-"));
    }
    let exported = world.azolla(&["export", "--azolla", "az-taskmgmt"]).ok();
    let captures: Vec<Value> = exported
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line.to_string().contains("\"raw_content\""))
        .collect();
    let kept: Vec<String> = captures.iter().map(|line| find(line, "raw_content").unwrap()).collect();
    let (mut kept, mut expected) = (kept, texts.to_vec());
    kept.sort();
    expected.sort();
    assert_eq!(kept, expected);
    for (body, code) in [
        (json!({"text": "a".repeat(1_048_577)}), 400),
        (json!({"text": "é".repeat(600_000)}), 400),
        (json!({"text": ""}), 400),
        (json!({"text": " \n\u{2003}"}), 400),
        (json!({"text": "nul \u{0} in it"}), 400),
        (json!({"text": 1}), 400),
        (json!({}), 400),
        (json!({"text": "x", "more": 1}), 400),
        (json!({"text": "x", "label": "l".repeat(201)}), 400),
        (json!({"text": "x", "azolla": "../x"}), 400),
        (json!({"text": "x", "azolla": "az-app"}), 404),
        (json!({"text": "x", "azolla": "az-nobody"}), 404),
        (json!({"text": "a".repeat(7 << 20)}), 413),
    ] {
        assert_eq!(server.operator("POST", "/v1/captures", &body.to_string()).status, code);
    }
    // What comes in pieces is counted too.
    let head = format!(
        "POST /v1/captures HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        server.address,
        bearer(&world.operator_token())
    );
    let mut stream = server.connect();
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", "a".repeat(0x10000));
    while stream.write_all(chunk.as_bytes()).is_ok() {}
    let reply = read(&mut stream);
    assert!(matches!(reply.status, 413 | 0), "{reply:?}");
    assert_eq!(server.metric("azolla_captures_total"), 3);
}

fn find(value: &Value, key: &str) -> Option<String> {
    match value {
        Value::Object(object) => match object.get(key) {
            Some(found) => found.as_str().map(str::to_owned),
            None => object.values().find_map(|inner| find(inner, key)),
        },
        Value::Array(items) => items.iter().find_map(|inner| find(inner, key)),
        Value::String(text) if text.starts_with('{') => find(&serde_json::from_str(text).ok()?, key),
        _ => None,
    }
}

#[test]
fn the_operator_sees_the_registry_objectives_and_where_things_stand() {
    let (world, _) = world();
    let ids: Vec<String> = (0..5).map(|n| world.objective(&format!("Number {n}"), "done")).collect();
    world.azolla(&["objective", "approve", &ids[0]]).ok();
    let server = Server::start(&world);
    let get = |path: &str| server.operator("GET", path, "");
    let registry = get("/v1/azollas").json();
    assert_eq!(registry["azollas"][0], json!({"azolla_id": "az-app", "azolla_type": "CODE_PATCH_AZOLLA"}));
    assert_eq!(registry["peers"][0]["azolla_id"], "az-desk");
    let listed = |query: &str| {
        let page = get(&format!("/v1/azollas/az-app/objectives{query}")).json();
        let ids = page["objectives"].as_array().unwrap().iter();
        let ids: Vec<_> =
            ids.map(|objective| objective["objective_id"].as_str().unwrap().to_owned()).collect();
        (ids, page["next"].as_str().map(str::to_owned))
    };
    assert_eq!(listed(""), (ids.clone(), None));
    assert_eq!(listed("?status=TODO"), (ids[..1].to_vec(), None));
    let (first, next) = listed("?limit=2");
    assert_eq!((first.as_slice(), next.as_deref()), (&ids[..2], Some(ids[1].as_str())));
    assert_eq!(listed(&format!("?limit=2&after={}", ids[1])).0, ids[2..4]);
    for query in ["?status=x", "?limit=0", "?limit=501", "?limit=x", "?after=%00", "?x=1", "?limit=1&limit=2"]
    {
        assert_eq!(get(&format!("/v1/azollas/az-app/objectives{query}")).status, 400, "{query}");
    }
    assert_eq!(get("/v1/azollas/az-app/objectives?after=obj-nobody").status, 404);
    assert_eq!(get("/v1/azollas/az-nobody/objectives").status, 404);
    assert_eq!(get("/v1/azollas/az-app/objectives/obj-nobody").status, 404);
    assert_eq!(get("/v1/azollas/az-app/objectives/%FF").status, 400);
    // The document of `azolla --json`, as it is.
    let resume = get("/v1/resume").json();
    let command: Value = serde_json::from_str(&world.azolla(&["--json"]).ok()).unwrap();
    assert_eq!(resume, command);
    assert_eq!(resume["kind"], "resume");
    // Orientation is asked for once, however often.
    let ask = || server.operator("POST", "/v1/azollas/az-taskmgmt/manifests", "");
    let (one, two) = (ask(), ask());
    assert_eq!((one.status, two.status), (202, 202), "{one:?}");
    assert_eq!(one.json(), two.json());
    assert_eq!(server.operator("POST", "/v1/azollas/az-app/manifests", "").status, 404);
    assert_eq!(get("/v1/azollas/az-taskmgmt/manifests/latest").status, 404);
    let metrics = server.send("GET", "/metrics", &[], "").body;
    assert!(metrics.contains("azolla_workorders_open{azolla_id=\"az-app\"} 0"), "{metrics}");
}

/// TF-8: those that nobody has resolved, each with what a promotion names.
#[test]
fn tf8_open_candidates_are_listed_until_they_are_resolved() {
    let (world, _) = world();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let id = runtime.block_on(async {
        let triaged = TestStore::of_type(Backend::Sqlite, AzollaType::TaskMgmt).await;
        let cycle = TriageCycle::new(&triaged).await;
        let (_, work_order_id) = cycle.passed(3).await;
        cycle.resolve(&OutputId::of(&work_order_id), 1, CandidateOutcome::Discarded).await.unwrap();
        let id = azolla_testkit::store::azolla_id();
        let Place::File(path, _directory) = triaged.place else { panic!("SQLite is a file") };
        drop(triaged.store);
        std::fs::copy(path, world.home().join(format!("azollas/{id}.sqlite"))).unwrap();
        id
    });
    world.configure(&format!("[azolla.{id}]\ntype = \"TASK_MGMT_AZOLLA\""));
    let server = Server::start(&world);
    let listed = server.operator("GET", &format!("/v1/azollas/{id}/candidates"), "").json();
    let listed = listed["candidates"].as_array().unwrap();
    let indexes: Vec<_> = listed.iter().map(|open| open["candidate_index"].as_u64().unwrap()).collect();
    assert_eq!(indexes, [0, 2]);
    assert_eq!(listed[0]["candidate"]["title"], "Round half up");
    assert!(listed[0]["output_id"].as_str().unwrap().starts_with("out-"));
    let none = server.operator("GET", "/v1/azollas/az-taskmgmt/candidates", "").json();
    assert_eq!(none, json!({"candidates": [], "next": null}));
    // A full page names the one to go on after.
    let page = |query: &str| server.operator("GET", &format!("/v1/azollas/{id}/candidates{query}"), "");
    let first = page("?limit=1").json();
    let next = first["next"].as_str().unwrap();
    assert_eq!(
        (first["candidates"].as_array().unwrap().len(), &first["candidates"][0]["output_id"]),
        (2, &json!(next))
    );
    let rest = page(&format!("?limit=1&after={next}")).json();
    assert_eq!(rest, json!({"candidates": [], "next": null}));
    for query in ["?limit=0", "?limit=501", "?after=obj-1", "?before=out-1"] {
        assert_eq!(page(query).status, 400, "{query}");
    }
}

#[test]
fn the_document_that_is_served_is_the_one_that_is_checked_in() {
    let (world, _) = world();
    let server = Server::start(&world);
    let served = server.send("GET", "/openapi.json", &[], "");
    let kept = std::fs::read_to_string(root().join("docs/openapi.json")).unwrap();
    assert_eq!(served.body, kept);
}

/// A request that never ends, one that is no HTTP, heads without end: the connection ends, and others go on meanwhile.
#[test]
fn t23_slow_and_broken_connections_hold_nobody_up() {
    let (world, _) = world();
    let server = Server::start(&world);
    let mut slow: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: loc").unwrap();
    }
    assert_eq!(server.send("GET", "/healthz", &[], "").status, 200);
    let long = format!("X: {}", "x".repeat(100_000));
    assert!(matches!(server.send("GET", "/healthz", &[&long], "").status, 431 | 0));
    let many: Vec<String> = (0..200).map(|n| format!("X-{n}: x")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(matches!(server.send("GET", "/healthz", &many, "").status, 431 | 0));
    assert!(matches!(server.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").status, 400 | 0));
    let smuggled = "POST /v1/captures HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\
                    Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\nGET /v1/azollas HTTP/1.1\r\n\r\n";
    let reply = server.raw(smuggled.as_bytes());
    assert!(matches!(reply.status, 400 | 401), "{reply:?}");
    assert_eq!(reply.body.matches("HTTP/1.1").count(), 0, "{reply:?}");
    // Each of the slow ones is ended by the server, not by us.
    for mut stream in slow {
        let reply = read(&mut stream);
        assert!(matches!(reply.status, 408 | 400 | 0), "{reply:?}");
    }
    assert_eq!(server.send("GET", "/healthz", &[], "").status, 200);
}

#[test]
fn up_says_what_it_does_and_ends_in_good_order() {
    let world = World::with_worker("printf two > a.txt");
    let id = world.approved("Write two");
    let server = Server::start_with(&world, &["up", "--listen", "127.0.0.1:0"]);
    let token = world.home().join("operator.token");
    assert!(server.said.contains(&format!("operator's token in {}", token.display())), "{}", server.said);
    assert!(server.said.contains("az-app runs readiness, scheduler, runner, gate"), "{}", server.said);
    // The work goes on by itself.
    let path = format!("/v1/azollas/az-app/objectives/{id}");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
    while server.operator("GET", &path, "").json()["objective"]["status"] != "DONE" {
        assert!(std::time::Instant::now() < deadline, "{}", world.log());
    }
    assert_eq!(server.end(), Some(0));
    let told = world.azolla(&["up", "--roles", "cook"]).refused(2);
    assert!(told.contains("known are http, readiness, scheduler"), "{told}");
    // The roles that were asked for, and no server.
    let roles = Server::start_with(&world, &["up", "--roles", "gate,runner"]);
    assert!(roles.address.is_empty() && roles.said.contains("az-app runs runner, gate"), "{}", roles.said);
    assert_eq!(roles.end(), Some(0));
}
