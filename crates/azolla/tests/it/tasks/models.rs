//! Triage by a model: what it may answer, and what becomes of notes that it answers badly (TF-5 to TF-7, W-2).

use serde_json::{Value, json};

use super::{assert_clean, candidates, capture, captures, desk, pending, set_for_notes, texts};
use crate::{
    model_server::{KINDS, Kind, Server},
    world::World,
};

/// A home whose notes are triaged by this server.
fn world(server: &Server, kind: Kind) -> World {
    let world = desk();
    world.configure(&server.section("models", kind, ""));
    set_for_notes(&world, "triage_provider = \"models\"");
    world
}

fn candidate(title: &str, capture_ids: &[&str]) -> Value {
    json!({"title": title, "acceptance_criteria": "It is done.", "rationale": "The note says so.",
           "capture_ids": capture_ids, "confidence": "HIGH", "ambiguities": []})
}

fn answer(candidates: &[Value]) -> String {
    json!({"candidates": candidates, "no_action": []}).to_string()
}

#[test]
fn tf5_a_model_turns_notes_into_candidates() {
    for kind in KINDS {
        let server = Server::start(vec![kind.says("")]);
        let world = world(&server, kind);
        let id = capture(&world, "the invoices are late again");
        // Words around it are no obstacle.
        let said =
            format!("Here you are:\n```json\n{}\n```\n", answer(&[candidate("Send the invoices", &[&id])]));
        server.reply(vec![kind.says(&said)]);
        world.azolla(&["triage", "--now"]).ok();
        let open = candidates(&world, &[]);
        assert_eq!((open.len(), &open[0]["content"]["title"]), (1, &json!("Send the invoices")), "{kind:?}");
        assert!(server.asked()[0].contains("the invoices are late again"));
        assert_eq!(pending(&world), (0, 0));
    }
}

/// W-2, TF-7: an answer that cannot be used leaves the notes as they were, and says so; nothing storms.
#[test]
fn tf7_w2_an_unusable_answer_holds_the_notes_until_the_operator_retries() {
    let thousand: Vec<Value> =
        (0..1_000).map(|n| candidate(&format!("Candidate {n}"), &["cap-000000000000"])).collect();
    let answers = [
        ("prose", "I cannot do that, but here is a poem about notes.".to_owned()),
        ("broken JSON", "{\"candidates\": [{\"title\": \"Send".to_owned()),
        ("another shape", json!({"tasks": ["Send the invoices"]}).to_string()),
        ("unknown captures", answer(&[candidate("Send the invoices", &["cap-000000000000"])])),
        ("nobody's captures", answer(&[candidate("Send the invoices", &[])])),
        ("nothing at all", answer(&[])),
        ("no criteria", answer(&[json!({"title": "Send", "capture_ids": ["cap-000000000000"]})])),
        ("a thousand candidates", answer(&thousand)),
    ];
    for (name, said) in answers {
        let server = Server::start(vec![Kind::OpenAi.says(&said)]);
        let world = world(&server, Kind::OpenAi);
        let notes = ["the invoices are late again", "water the plants"];
        let ids = notes.map(|note| capture(&world, note));
        let now = world.azolla(&["triage", "--now"]);
        assert_eq!(now.code, 5, "{name}: {}{}", now.stdout, now.stderr);
        assert!(now.stderr.contains("failed its gate: "), "{name}: {}", now.stderr);
        assert_eq!((pending(&world), candidates(&world, &["--all"]).len()), ((2, 2), 0), "{name}");
        assert_eq!(texts(&world), notes, "{name}");
        assert!(
            now.stdout.contains(&format!(
                "2 of your notes could not be triaged\n  the first: {}  the invoices are late again\n  azolla triage retry\n",
                ids[0]
            )),
            "{name}: {}",
            now.stdout
        );
        // However often it is asked for, nothing more is sent.
        let asked = server.asked().len();
        assert!((2..=20).contains(&asked), "{name}: {asked} requests");
        world.azolla(&["run", "--until-idle"]).ok();
        world.azolla(&["triage", "--now"]).ok();
        assert_eq!(server.asked().len(), asked, "{name}");
        let page = world.azolla(&[]).ok();
        assert!(
            page.contains("2 notes could not be triaged, the first (the invoices are late again): ")
                && page.contains("  azolla triage retry\n"),
            "{name}: {page}"
        );
        let listed = world.azolla(&["triage", "captures"]).ok();
        assert!(
            listed.contains(&format!("  triage failed; next: azolla triage retry {}\n", ids[0])),
            "{name}: {listed}"
        );

        let good =
            answer(&[candidate("Send the invoices", &[&ids[0]]), candidate("Water the plants", &[&ids[1]])]);
        server.reply(vec![Kind::OpenAi.says(&good)]);
        let retried = world.azolla(&["triage", "retry"]);
        assert_eq!(retried.stderr, "2 notes are triaged again; next: azolla triage --now\n", "{name}");
        world.azolla(&["triage", "--now"]).ok();
        assert_eq!((pending(&world), candidates(&world, &[]).len()), ((0, 0), 2), "{name}");
        assert_clean(&world);
    }
}

/// TF-2: one note that cannot be triaged does not hold the others.
#[test]
fn tf2_a_bad_note_is_held_alone() {
    let server = Server::start(vec![Kind::OpenAi.says("prose")]);
    let world = world(&server, Kind::OpenAi);
    let ids = ["one", "two"].map(|note| capture(&world, note));
    // The batch fails; alone, the first is answered well and the second is not.
    let first = answer(&[candidate("First", &[&ids[0]])]);
    let prose = || Kind::OpenAi.says("prose");
    world.azolla(&["triage", "--now"]).stdout.clear();
    assert_eq!(pending(&world), (2, 2));
    server.reply(vec![Kind::OpenAi.says(&first), prose()]);
    let retried = world.azolla(&["triage", "retry", &ids[0]]);
    assert_eq!(retried.stderr, "a note is triaged again; next: azolla triage --now\n");
    world.azolla(&["triage", "--now"]).ok();
    let all = captures(&world);
    let states: Vec<_> = all
        .iter()
        .map(|found| (found["capture"]["status"].as_str().unwrap(), found["held"] == true))
        .collect();
    assert_eq!(states, [("PROCESSED", false), ("PENDING", true)]);
    world.azolla(&["triage", "process", &ids[1], "--reason", "by hand"]).ok();
    assert_eq!(pending(&world), (0, 0));
    assert_eq!(world.azolla(&[]).ok().matches("could not be triaged").count(), 0);
    assert_clean(&world);
}

/// O-3, B-4: a quota is waited for; notes and captures go on.
#[test]
fn b4_a_model_without_quota_keeps_nothing_from_being_noted() {
    use crate::model_server::Reply;
    let spent = r#"{"error":{"type":"rate_limit_error","message":"no quota left"}}"#;
    let server = Server::start(vec![Reply::status(429, "retry-after: 3600\r\n", spent)]);
    let world = world(&server, Kind::OpenAi);
    capture(&world, "water the plants");
    let now = world.azolla(&["triage", "--now", "--json"]);
    assert_eq!(now.code, 75, "{}{}", now.stdout, now.stderr);
    assert!(now.stderr.contains("waits: az-taskmgmt until "), "{}", now.stderr);
    let document: Value = serde_json::from_str(&now.stdout).unwrap_or_else(|_| panic!("{}", now.stdout));
    assert_eq!(document["data"]["captures_pending"], 1);
    capture(&world, "call Kim");
    let page = world.azolla(&[]).ok();
    assert!(page.contains("az-taskmgmt: 2 notes to triage, held back until 20"), "{page}");
    assert_eq!(server.asked().len(), 1);
}

/// A worker that is not set up is told before anything runs, and by what runs.
#[test]
fn tf7_a_key_that_is_missing_is_told_by_the_doctor_and_by_the_run() {
    let server = Server::start(vec![Kind::OpenAi.says("")]);
    let world = desk();
    world.configure(&server.section("models", Kind::OpenAi, "key_env = \"NOTES_KEY\""));
    set_for_notes(&world, "triage_provider = \"models\"");
    let told = world.azolla(&["doctor"]);
    assert!(told.code == 1 && told.stdout.contains("NOTES_KEY"), "{}", told.stdout);
    capture(&world, "water the plants");
    let now = world.azolla(&["triage", "--now"]);
    assert_ne!(now.code, 0, "{}{}", now.stdout, now.stderr);
    assert!(now.stderr.contains("NOTES_KEY"), "{}{}", now.stdout, now.stderr);
    assert_eq!((server.asked().len(), pending(&world).0), (0, 1));
    // Whatever the worker lacks, a note is taken.
    capture(&world, "call Kim");
    let told = world.azolla_env(&["doctor"], &[("NOTES_KEY", "sk-test-0123456789")]);
    assert!(told.code == 0, "{}", told.stdout);
}
