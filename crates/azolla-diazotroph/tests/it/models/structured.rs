//! Answers that are JSON documents: asked for as each server understands it, checked, and repaired once.

use azolla_diazotroph::provider::{AnthropicVersion, Structured};
use azolla_protocol::FailureKind;
use serde_json::{Value, json};

use super::{
    desk::{Desk, KINDS, Kind, Open},
    server::{Server, status, stream},
};

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["count"],
        "additionalProperties": false,
        "properties": { "count": { "type": "integer", "minimum": 1 }, "note": { "type": "string" } }
    })
}

fn desk(kind: Kind, server: &Server) -> Desk {
    Desk { schema: Some(schema()), version: AnthropicVersion::V2026_10_21, ..Desk::new(kind, server) }
}

fn shape(body: &Value, kind: Kind) -> Option<&Value> {
    match kind {
        Kind::Anthropic => body.get("output_config"),
        Kind::OpenAi => body.get("response_format"),
    }
}

#[tokio::test]
async fn a_schema_is_given_to_servers_that_take_one() {
    let projected = json!({
        "type": "object",
        "required": ["count", "note"],
        "additionalProperties": false,
        "properties": { "count": { "type": "integer" }, "note": { "anyOf": [{ "type": "string" }, { "type": "null" }] } }
    });
    for kind in KINDS {
        let server = Server::start(vec![stream(kind.answer("{\"count\":2,\"note\":null}"))]).await;
        assert_eq!(desk(kind, &server).run().await.text(), "{\"count\":2}");
        let body = &server.asked()[0].body;
        let expected = match kind {
            Kind::Anthropic => json!({ "format": { "type": "json_schema", "schema": projected } }),
            Kind::OpenAi => json!({
                "type": "json_schema",
                "json_schema": { "name": "answer", "strict": true, "schema": projected }
            }),
        };
        assert_eq!(shape(body, kind), Some(&expected));
        assert!(
            body.to_string().contains("satisfies this JSON Schema"),
            "those that ignore it are told in words"
        );
    }
}

#[tokio::test]
async fn older_or_lesser_servers_are_asked_in_the_prompt_alone() {
    let server = Server::start(vec![stream(Kind::Anthropic.answer("{\"count\":2}"))]).await;
    let old = Desk { version: AnthropicVersion::V2023_06_01, ..desk(Kind::Anthropic, &server) };
    assert_eq!(old.run().await.text(), "{\"count\":2}");
    assert_eq!(shape(&server.asked()[0].body, Kind::Anthropic), None);
    for (structured, expected) in
        [(Structured::JsonObject, Some(json!({ "type": "json_object" }))), (Structured::None, None)]
    {
        let server = Server::start(vec![stream(Kind::OpenAi.answer("{\"count\":2}"))]).await;
        let desk = Desk { structured, ..desk(Kind::OpenAi, &server) };
        assert_eq!(desk.run().await.text(), "{\"count\":2}");
        assert_eq!(shape(&server.asked()[0].body, Kind::OpenAi), expected.as_ref());
    }
}

#[tokio::test]
async fn what_a_server_refuses_is_left_out_and_not_sent_again() {
    let refuse = |name: &str| {
        status(
            400,
            "",
            &json!({"error": {"message": format!("Unsupported: {name}"), "param": name}}).to_string(),
        )
    };
    let fine = stream(Kind::OpenAi.answer("{\"count\":2}"));
    let answers = vec![
        refuse("response_format"),
        refuse("max_tokens"),
        refuse("stream_options"),
        refuse("response_format.type"),
        fine.clone(),
        fine,
    ];
    let server = Server::start(answers).await;
    let desk = desk(Kind::OpenAi, &server);
    let provider = desk.provider();
    let ran = desk.run_with(&provider, &Open).await;
    assert_eq!(ran.counts(), (5, 0), "none of them is a retry: each request is another one");
    assert_eq!(ran.text(), "{\"count\":2}");
    assert_eq!(desk.run_with(&provider, &Open).await.counts(), (1, 0), "the provider has kept it");
    let asked = server.asked();
    let kinds: Vec<_> =
        asked.iter().map(|one| one.body["response_format"]["type"].as_str().unwrap_or("none")).collect();
    assert_eq!(kinds, ["json_schema", "json_object", "json_object", "json_object", "none", "none"]);
    assert_eq!(asked[4].body["max_completion_tokens"], json!(16384));
    assert!(asked[4].body.get("max_tokens").is_none() && asked[4].body.get("stream_options").is_none());

    let server =
        Server::start(vec![refuse("output_config"), stream(Kind::Anthropic.answer("{\"count\":2}"))]).await;
    assert_eq!(self::desk(Kind::Anthropic, &server).run().await.counts(), (2, 0));
}

#[tokio::test]
async fn b4_a_server_that_refuses_whatever_is_sent_is_asked_a_few_times() {
    for kind in KINDS {
        let all = "response_format json_schema output_config max_tokens stream_options";
        let server =
            Server::start(vec![status(400, "", &json!({"error": {"message": all}}).to_string())]).await;
        let ran = desk(kind, &server).run().await;
        ran.failed(FailureKind::Other);
        assert!(ran.generation.usage.requests <= 5, "{:?}", ran.generation.usage);
    }
}

#[tokio::test]
async fn t32_an_answer_that_breaks_the_schema_is_repaired_once() {
    for kind in KINDS {
        let bad = "Sure! {\"count\": 0}";
        let server = Server::start(vec![
            stream(kind.answer(bad)),
            stream(kind.answer("```json\n{\"count\": 3}\n```")),
        ])
        .await;
        let ran = desk(kind, &server).run().await;
        assert_eq!(ran.counts(), (2, 0));
        assert!(
            ran.shown.iter().any(|line| line.starts_with("the answer does not fit its schema: /count: "))
        );
        assert_eq!(ran.text(), "{\"count\": 3}");
        let messages = server.asked()[1].body["messages"].as_array().unwrap().clone();
        let last: Vec<_> =
            messages.iter().rev().take(2).map(|message| message["content"].as_str().unwrap()).collect();
        assert_eq!(last[1], bad);
        assert!(
            last[0].contains("/count: ") && last[0].contains("Give the whole answer again"),
            "{}",
            last[0]
        );
    }
}

#[tokio::test]
async fn t32_an_answer_that_breaks_the_schema_twice_is_a_failure() {
    for kind in KINDS {
        for bad in ["no JSON", "{\"count\":1} {\"count\":2}", "[[[[", "{\"count\":1,\"more\":2}"] {
            let server = Server::start(vec![stream(kind.answer(bad))]).await;
            let ran = desk(kind, &server).run().await;
            let reason = ran.failed(FailureKind::Other);
            assert!(
                reason.starts_with("the answer does not fit its schema, also when asked again: "),
                "{reason}"
            );
            assert_eq!(ran.counts(), (2, 0));
        }
    }
}

#[tokio::test]
async fn without_a_schema_the_text_is_what_was_said() {
    for kind in KINDS {
        let text = "\n```json\n{\"count\": 3}\n```\n";
        let server = Server::start(vec![stream(kind.answer(text))]).await;
        assert_eq!(Desk { schema: None, ..desk(kind, &server) }.run().await.text(), text);
    }
}

#[tokio::test]
async fn t32_a_large_bad_answer_is_not_sent_back_whole() {
    let server = Server::start(vec![stream(Kind::OpenAi.answer(&"é".repeat(1_000_000)))]).await;
    desk(Kind::OpenAi, &server).run().await.failed(FailureKind::Other);
    let sent = server.asked()[1].body.to_string().len();
    assert!(sent < 100_000, "{sent} bytes");
}
