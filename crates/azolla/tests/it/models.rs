//! Models behind a server, from the configuration to the branch: what they answer, what they refuse, what they cost.

use std::{fs, net::TcpListener};

use serde_json::{Value, json};

use crate::{
    model_server::{KINDS, Kind, Reply, Server},
    world::{Answer, World, git},
};

/// An answer that adds a line.
pub(crate) const EDIT: &str =
    "Here it is.\n\na.txt\n<<<<<<< SEARCH\none\n=======\none\ntwo\n>>>>>>> REPLACE\n";

/// A home whose repository is worked on by the model `models` of this server.
fn world(server: &Server, kind: Kind) -> World {
    World::with_provider("models", &server.section("models", kind, PRICES))
}

const PRICES: &str = "input_usd_per_million = 3.0\noutput_usd_per_million = 15.0";

#[test]
fn pf1_a_model_answers_and_its_change_is_on_a_branch() {
    for kind in KINDS {
        let server = Server::start(vec![kind.says(EDIT)]);
        let world = world(&server, kind);
        let id = world.approved("Add a line");
        let ran = world.azolla(&["run", "--until-idle"]).ok();
        assert!(ran.starts_with("passed: Add a line\n"), "{ran}");
        assert_eq!(git(&world.path("app"), &["show", &format!("azolla/{id}:a.txt")]), "one\ntwo\n");
        let asked = server.asked();
        assert_eq!(asked.len(), 1, "{kind:?}");
        let path = if kind == Kind::OpenAi { "/v1/chat/completions" } else { "/v1/messages" };
        assert!(asked[0].starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{}", asked[0]);
        assert!(asked[0].contains("Add a line"));
        let usage = usage(&world, &id);
        let told =
            ["provider", "model", "requests", "retries", "input_tokens", "output_tokens", "cost_microusd"]
                .map(|key| usage[0][key].clone());
        // 35 tokens at $3 and 7 at $15 for a million of them.
        let expected = [json!("models"), json!("m-1"), json!(1), json!(0), json!(35), json!(7), json!(210)];
        assert_eq!(told, expected, "{kind:?}");
    }
}

/// The usage of an objective's latest run.
pub(crate) fn usage(world: &World, id: &str) -> Value {
    let chain = world.azolla(&["explain", id, "--json"]).json("explanation");
    chain["cycles"].as_array().unwrap().last().unwrap()["usage"].clone()
}

/// T28: a key is for one server. Whoever it points to gets nothing, not even a connection.
#[test]
fn t28_a_redirect_is_not_followed() {
    for kind in KINDS {
        for code in [301, 307, 308] {
            let other = TcpListener::bind("127.0.0.1:0").unwrap();
            other.set_nonblocking(true).unwrap();
            let target = other.local_addr().unwrap();
            let location = format!("location: http://{target}/v1/messages\r\n");
            let server = Server::start(vec![Reply::status(code, &location, "{}")]);
            let world = world(&server, kind);
            let id = world.approved("Add a line");
            let ran = world.azolla(&["run", "--until-idle"]);
            assert_ne!(ran.code, 0, "{}", ran.stdout);
            assert_eq!(server.asked().len(), 1, "a redirect is not tried again");
            let shown = world.azolla(&["objective", "show", &id]).ok();
            assert!(shown.contains(&format!("redirects ({code}) to ")), "{shown}");
            let seen = other.accept().map(|_| ()).unwrap_err().kind();
            assert_eq!(seen, std::io::ErrorKind::WouldBlock, "nobody connected there");
        }
    }
}

#[test]
fn a_probe_tells_what_works_and_what_helps() {
    for kind in KINDS {
        let server = Server::start(vec![kind.says("OK")]);
        let world =
            World::with_provider("models", &server.section("models", kind, "key_env = \"MODEL_KEY\""));
        let good = probe(&world);
        assert_eq!(good.code, 0, "{}", good.stdout);
        assert!(good.stdout.contains("m-1 answered after "), "{}", good.stdout);
        assert!(good.stdout.contains("\nEverything works. "), "{}", good.stdout);
        assert_eq!(server.asked().len(), 1, "one tiny request");

        server.reply(vec![Reply::status(401, "", r#"{"error":{"message":"bad key sk-wrong-0123456789"}}"#)]);
        let refused = probe(&world);
        told(&refused, &format!("the key from MODEL_KEY is refused by {} (401)", server.address()));
        assert!(!refused.stdout.contains("sk-wrong-0123456789"), "{}", refused.stdout);

        let models = json!({"data": [{"id": "small"}, {"id": "large"}]}).to_string();
        let missing = Reply::status(404, "", r#"{"error":{"message":"model m-1 not found"}}"#);
        server.reply(vec![missing, Reply::status(200, "", &models)]);
        told(&probe(&world), "do: set model of provider models to one of: small, large");

        let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let moved = fs::read_to_string(world.config())
            .unwrap()
            .replace(&server.address().to_string(), &nobody.to_string());
        fs::write(world.config(), moved).unwrap();
        told(&probe(&world), "do: start it, or correct base_url of provider models");
    }
}

fn probe(world: &World) -> Answer {
    world.azolla_env(&["doctor", "--probe"], &[("MODEL_KEY", "sk-wrong-0123456789")])
}

#[track_caller]
fn told(answer: &Answer, words: &str) {
    assert_eq!(answer.code, 1, "{}", answer.stdout);
    assert!(answer.stdout.contains(words), "{words}, in:\n{}", answer.stdout);
    assert!(answer.stdout.contains("\nOne thing is broken. "), "{}", answer.stdout);
}

/// O-3: a quota that is used up is waited for, and nothing is lost by that.
#[test]
fn o3_a_quota_is_waited_for_and_the_work_goes_on_after_it() {
    for kind in KINDS {
        let spent = r#"{"error":{"type":"rate_limit_error","message":"no quota left"}}"#;
        let server = Server::start(vec![Reply::status(429, "retry-after: 3600\r\n", spent)]);
        let world = world(&server, kind);
        let id = world.approved("Add a line");
        let ran = world.azolla(&["run", "--until-idle"]);
        assert_eq!(ran.code, 75, "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.starts_with("waits: az-app until "), "{}", ran.stdout);
        assert!(ran.stdout.contains("no quota left"), "{}", ran.stdout);
        assert_eq!(server.asked().len(), 1, "asked once, it is left alone");
        let again = world.azolla(&["run", "--until-idle"]);
        assert_eq!((again.code, server.asked().len()), (75, 1), "{}", again.stdout);
        let page = world.azolla(&[]).ok();
        assert!(
            page.contains("held back until 20") && page.contains("worker models asks for time: "),
            "{page}"
        );
        assert!(page.contains("azolla run --until-idle --now\n"), "{page}");
        let exported = world.azolla(&["export", "--azolla", "az-app"]).ok();
        let count = |kind: &str| exported.matches(&format!("\"kind\":\"{kind}\"")).count();
        assert_eq!((count("workorder"), count("run_record")), (1, 0), "it waits and did not fail");

        server.reply(vec![kind.says(EDIT)]);
        let ran = world.azolla(&["run", "--until-idle", "--now"]).ok();
        assert!(ran.starts_with("passed: Add a line\n"), "{ran}");
        assert_eq!(git(&world.path("app"), &["show", &format!("azolla/{id}:a.txt")]), "one\ntwo\n");
    }
}
