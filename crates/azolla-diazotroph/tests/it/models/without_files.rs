//! Triage and orientation by a model: the answer is a JSON document, whatever form the provider has for patches.

use azolla_diazotroph::provider::{AnthropicVersion, Structured};
use azolla_protocol::{
    FailureKind,
    content::{ManifestAnswer, TriageContent, manifest_answer_schema, triage_content_schema, write_data},
};
use serde_json::{Value, json};

use super::{
    desk::{Desk, KINDS, Kind},
    server::{Server, stream},
};

fn candidate(id: &str) -> Value {
    json!({
        "title": "Round half up", "acceptance_criteria": "0.5 rounds to 1", "rationale": "Said so.",
        "capture_ids": [id], "confidence": "HIGH"
    })
}

fn content(candidates: Vec<Value>) -> String {
    json!({ "candidates": candidates, "no_action": [] }).to_string()
}

fn desk(kind: Kind, server: &Server, schema: &Value) -> Desk {
    Desk {
        schema: Some(schema.clone()),
        version: AnthropicVersion::V2026_10_21,
        structured: Structured::JsonSchema,
        prompt: format!("Sort the captures.\n\n{}", write_data(&json!({ "captures": ["cap-1"] })).unwrap()),
        ..Desk::new(kind, server)
    }
}

/// TF-5, MF-5, T32: what cannot be used is repaired once: prose, broken JSON, no criteria, a thousand candidates.
#[tokio::test]
async fn tf5_mf5_t32_an_answer_that_cannot_be_used_is_repaired_once() {
    let good = content(vec![candidate("cap-1")]);
    let mut empty = candidate("cap-1");
    empty["acceptance_criteria"] = "".into();
    let thousand = content((0..1_000).map(|n| candidate(&format!("cap-{n}"))).collect());
    let bad = [
        ("Here are your candidates: round half up!".to_owned(), "it holds no JSON document"),
        (good[..good.len() - 3].to_owned(), "it is no whole JSON document: EOF while parsing"),
        (content(vec![empty]), "/candidates/0/acceptance_criteria: "),
        (thousand, "/candidates: "),
        (json!({ "candidates": "none" }).to_string(), "/candidates: "),
    ];
    for kind in KINDS {
        for (bad, problem) in &bad {
            let server = Server::start(vec![
                stream(kind.answer(bad)),
                stream(kind.answer(&format!("Sure:\n```json\n{good}\n```"))),
            ])
            .await;
            let ran = desk(kind, &server, triage_content_schema()).run().await;
            assert_eq!(ran.counts(), (2, 0), "{problem}");
            assert_eq!(ran.text(), good, "{problem}");
            let asked = server.asked();
            assert!(asked[1].body["messages"].to_string().contains(problem), "{problem}");
            assert!(asked[1].body.to_string().len() < 120_000, "what was no good is sent back in part");
            let told =
                asked[0].body.get(if kind == Kind::OpenAi { "response_format" } else { "output_config" });
            assert!(told.is_some(), "the schema goes with it, whatever form patches have");

            let server = Server::start(vec![stream(kind.answer(bad))]).await;
            let ran = desk(kind, &server, triage_content_schema()).run().await;
            let reason = ran.failed(FailureKind::Other);
            assert!(
                reason.contains("also when asked again") && reason.contains(problem) && reason.len() < 2_000,
                "{reason}"
            );
            assert_eq!(ran.counts(), (2, 0), "it is asked twice and no more");
        }
    }
}

/// TF-6: ids that are no captures of the batch satisfy the schema of all batches: the answer is passed on, for the gate to
/// refuse. Where the schema lists the batch, they are repaired.
#[tokio::test]
async fn tf6_unknown_captures_are_for_the_gate_unless_the_schema_lists_the_batch() {
    for kind in KINDS {
        let unknown = content(vec![candidate("cap-nobody")]);
        let server = Server::start(vec![stream(kind.answer(&unknown))]).await;
        let ran = desk(kind, &server, triage_content_schema()).run().await;
        assert_eq!(ran.counts(), (1, 0));
        assert_eq!(ran.text(), unknown);

        let mut narrow = triage_content_schema().clone();
        narrow["definitions"]["capture_id"] = json!({ "enum": ["cap-1", "cap-2"] });
        let good = content(vec![candidate("cap-2")]);
        let server = Server::start(vec![stream(kind.answer(&unknown)), stream(kind.answer(&good))]).await;
        let ran = desk(kind, &server, &narrow).run().await;
        assert_eq!(ran.counts(), (2, 0));
        assert_eq!(ran.text(), good);
    }
}

/// TF-5: a server that keeps to the projected schema fills what is left out with null, which is taken out again.
#[tokio::test]
async fn tf5_what_a_strict_server_fills_in_is_a_candidate_all_the_same() {
    for kind in KINDS {
        let mut full = candidate("cap-1");
        for name in [
            "suggested_target_azolla_type",
            "suggested_azolla_id",
            "urgency",
            "importance",
            "due",
            "ambiguities",
        ] {
            full[name] = Value::Null;
        }
        let answer = json!({ "candidates": [full], "no_action": [], "notes": null }).to_string();
        let server = Server::start(vec![stream(kind.answer(&answer))]).await;
        let text = desk(kind, &server, triage_content_schema()).run().await.text();
        let content: TriageContent = serde_json::from_str(&text).unwrap();
        assert_eq!((content.candidates[0].urgency, content.candidates[0].ambiguities.len()), (None, 0));
    }
}

/// MF-5: an orientation without an action, or with too many, is repaired once too.
#[tokio::test]
async fn mf5_an_orientation_is_kept_to_its_schema() {
    for kind in KINDS {
        let good =
            json!({ "overview": "One thing.", "actions": ["Review obj-1: azolla review obj-1"] }).to_string();
        for bad in [
            json!({ "overview": "", "actions": [] }),
            json!({ "overview": "", "actions": vec!["x"; 6] }),
            json!({ "overview": "", "actions": [" "] }),
        ] {
            let server =
                Server::start(vec![stream(kind.answer(&bad.to_string())), stream(kind.answer(&good))]).await;
            let ran = desk(kind, &server, manifest_answer_schema()).run().await;
            assert_eq!(ran.counts(), (2, 0), "{bad}");
            let answer: ManifestAnswer = serde_json::from_str(&ran.text()).unwrap();
            assert_eq!(answer.actions.len(), 1);
        }
    }
}
