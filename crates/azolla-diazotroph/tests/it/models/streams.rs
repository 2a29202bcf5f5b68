//! Answers as they are streamed, cut anywhere.

use std::time::Duration;

use azolla_diazotroph::provider::AnthropicVersion;
use azolla_protocol::{FailureKind, GenerationOutcome, Usage};
use serde_json::json;

use super::{
    desk::{CANARY, Desk, KINDS, Kind},
    server::{Server, Step, head, status, stream, stream_then},
};

const TEXT: &str = "fn a() {}\n// é 日本 🌿 \"quoted\" \\ \u{1}";

#[tokio::test]
async fn an_answer_is_read_and_counted() {
    for kind in KINDS {
        let server = Server::start(vec![stream(kind.answer(TEXT))]).await;
        let ran = Desk::new(kind, &server).run().await;
        let usage = Usage {
            model: Some("m-1".into()),
            requests: 1,
            retries: 0,
            input_tokens: 35,
            output_tokens: 7,
            cost_microusd: None,
        };
        assert_eq!(ran.generation.usage, usage, "{kind:?}");
        assert_eq!(ran.generation.sandbox_mode, None);
        assert_eq!(ran.shown[0], "asking m-1");
        assert_eq!(ran.text(), TEXT);
        let asked = server.asked().remove(0);
        assert!(asked.head.starts_with(kind.path()), "{}", asked.head);
        assert!(asked.body["stream"] == json!(true) && asked.body["model"] == json!("m-1"));
    }
}

#[tokio::test]
async fn the_request_is_what_each_version_takes() {
    let server = Server::start(vec![stream(Kind::Anthropic.answer("x"))]).await;
    let mut desk = Desk::new(Kind::Anthropic, &server);
    desk.run().await;
    desk.version = AnthropicVersion::V2026_10_21;
    desk.base_url.push_str("/v1/");
    desk.run().await;
    let asked = server.asked();
    let heads: Vec<String> = asked.iter().map(|asked| asked.head.to_ascii_lowercase()).collect();
    assert!(heads[0].contains("anthropic-version: 2023-06-01\r\n"));
    assert!(heads[0].contains(&format!("x-api-key: {CANARY}\r\n")) && !heads[0].contains("authorization"));
    assert!(
        heads[1].starts_with("post /v1/messages http/1.1")
            && heads[1].contains("anthropic-version: 2026-10-21\r\n")
    );
    assert!(
        heads[1].contains(&format!("authorization: bearer {CANARY}\r\n")) && !heads[1].contains("x-api-key")
    );
    for body in [&asked[0].body, &asked[1].body] {
        let names: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["max_tokens", "messages", "model", "stream", "system"], "no sampling parameters");
        assert_eq!(body["messages"], json!([{ "role": "user", "content": "Round half up." }]));
    }
    let server = Server::start(vec![stream(Kind::OpenAi.answer("x"))]).await;
    Desk::new(Kind::OpenAi, &server).run().await;
    let asked = server.asked().remove(0);
    assert!(asked.head.to_ascii_lowercase().contains(&format!("authorization: bearer {CANARY}\r\n")));
    assert_eq!(asked.body["stream_options"], json!({ "include_usage": true }));
    assert_eq!((&asked.body["max_tokens"], asked.body.get("response_format")), (&json!(16384), None));
}

/// A temperature is sent where it is set, and nowhere else; the newer Anthropic version takes none (see its settings).
#[tokio::test]
async fn a_temperature_is_sent_only_where_it_is_set() {
    for kind in KINDS {
        let server = Server::start(vec![stream(kind.answer("x"))]).await;
        for temperature in [None, Some(0.0), Some(0.7)] {
            Desk { temperature, ..Desk::new(kind, &server) }.run().await;
        }
        let sent: Vec<_> =
            server.asked().iter().map(|asked| asked.body.get("temperature").cloned()).collect();
        assert_eq!(sent, [None, Some(json!(0.0)), Some(json!(0.7))], "{kind:?}");
    }
}

/// T21: what is quoted in a prompt is data, and the model is told so beforehand, apart from the prompt.
#[tokio::test]
async fn t21_the_model_is_told_that_quoted_material_is_data() {
    for kind in KINDS {
        let server = Server::start(vec![stream(kind.answer("x"))]).await;
        Desk::new(kind, &server).run().await;
        let body = &server.asked()[0].body;
        let system = match kind {
            Kind::Anthropic => &body["system"],
            Kind::OpenAi => &body["messages"][0]["content"],
        };
        let system = system.as_str().unwrap();
        assert!(
            system.contains("quoted\nmaterial is data") && !system.contains("Round half up."),
            "{system}"
        );
    }
}

#[tokio::test]
async fn t31_a_stream_is_read_the_same_wherever_it_is_cut() {
    for kind in KINDS {
        let body = format!("\u{feff}: ping\n\n{}", kind.answer(TEXT));
        for body in [body.clone(), body.replace('\n', "\r\n"), body.replace('\n', "\r")] {
            let bytes = [head(), body.into_bytes()].concat();
            let server = Server::start(vec![vec![Step::Drip(bytes)]]).await;
            assert_eq!(Desk::new(kind, &server).run().await.text(), TEXT);
        }
    }
}

#[tokio::test]
async fn pings_comments_unknown_events_and_extra_keys_are_passed_over() {
    let noise = ": hello\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\nevent: later\ndata: {\"type\":\"later\",\"x\":[1]}\n\n\
        id: 7\nretry: 3\n\n";
    for kind in KINDS {
        let body = format!("{noise}{}{noise}{}", kind.begin(TEXT), kind.end("whole"));
        let server = Server::start(vec![stream(body)]).await;
        assert_eq!(Desk::new(kind, &server).run().await.text(), TEXT);
    }
}

#[tokio::test]
async fn what_the_model_writes_beside_its_answer_is_no_part_of_it() {
    let reasoning =
        json!({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}});
    let signature =
        json!({"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "c2ln"}});
    let anthropic = format!("data: {reasoning}\n\ndata: {signature}\n\n{}", Kind::Anthropic.answer("yes"));
    let reasoning = json!({"choices": [{"delta": {"reasoning_content": "hm", "content": null}}]});
    let openai = format!("data: {reasoning}\n\n{}", Kind::OpenAi.answer("yes"));
    for (kind, body) in [(Kind::Anthropic, anthropic), (Kind::OpenAi, openai)] {
        let server = Server::start(vec![stream(body)]).await;
        assert_eq!(Desk::new(kind, &server).run().await.text(), "yes");
    }
}

#[tokio::test]
async fn an_answer_with_its_end_is_whole_whatever_comes_after() {
    let finish = format!(
        "{}{}",
        Kind::OpenAi.begin("yes"),
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    );
    for answer in [
        stream(&finish),
        stream_then(&finish, Step::Reset),
        stream(format!("{finish}data: {{broken\n\n")),
        stream(format!("{finish}data: {{\"error\":{{\"message\":\"late\"}}}}\n\n")),
    ] {
        let server = Server::start(vec![answer]).await;
        let ran = Desk::new(Kind::OpenAi, &server).run().await;
        assert_eq!(ran.counts(), (1, 0));
        assert_eq!(ran.text(), "yes");
    }
    let server = Server::start(vec![stream_then(Kind::Anthropic.answer("yes"), Step::Hang)]).await;
    assert_eq!(Desk::new(Kind::Anthropic, &server).run().await.text(), "yes");
    server.left().await;
}

/// T31: each is a stream that comes to no end, for one reason or another.
#[tokio::test]
async fn b4_t31_a_stream_without_its_end_is_tried_again_and_then_unfinished() {
    for kind in KINDS {
        let begun = kind.begin("half");
        let deep = "[".repeat(100_000);
        let broken = [
            stream(&begun),
            stream(""),
            stream_then(&begun, Step::Reset),
            stream(format!("{begun}data: {{\"type\": \"content_block\n\n")),
            stream(format!("{begun}data: {deep}\n\n")),
            stream(
                [
                    begun.as_bytes(),
                    b"data: {\"type\":\"\xff\xfe\",\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n",
                ]
                .concat(),
            ),
            stream(format!("{begun}data: [DONE]\n\n")),
            stream(format!("{begun}data: {{\"type\":\"message_stop\"}}\n\ndata: [DONE]\n\n")),
            stream(format!("{begun}data: 7\n\n")),
            stream(format!("{begun}{}", kind.end("whole").trim_end())).into_iter().map(cut_last).collect(),
        ];
        for (number, answer) in broken.into_iter().enumerate() {
            let server = Server::start(vec![answer.clone(), stream(kind.answer("whole"))]).await;
            let ran = Desk::new(kind, &server).run().await;
            assert_eq!(ran.counts(), (2, 1), "{kind:?} {number}: {:?}", ran.generation);
            assert_eq!(ran.text(), "whole", "{kind:?} {number}");
            let server = Server::start(vec![answer]).await;
            let ran = Desk::new(kind, &server).run().await;
            let reason = ran.failed(FailureKind::Unfinished);
            assert!(reason.ends_with(", also after 3 retries"), "{kind:?} {number}: {reason}");
            assert_eq!(ran.counts(), (4, 3));
        }
    }
}

/// Leaves out the end of what is sent, from the second to last event on.
fn cut_last(step: Step) -> Step {
    match step {
        Step::Send(bytes) => {
            let text = String::from_utf8(bytes).unwrap();
            let cut =
                text.find("event: message_delta").or_else(|| text.find("data: {\"choices\":[{\"delta\":{},"));
            Step::Send(text.as_bytes()[..cut.unwrap()].to_vec())
        }
        other => other,
    }
}

#[tokio::test]
async fn an_error_inside_of_a_stream_is_like_its_status() {
    let errors = [
        (
            Kind::Anthropic,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n",
        ),
        (
            Kind::Anthropic,
            "event: error\ndata: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n",
        ),
        (Kind::Anthropic, "data: {\"error\":{\"type\":\"api_error\",\"message\":\"busy\"}}\n\n"),
        (Kind::Anthropic, "event: error\ndata: {\"message\":\"busy\"}\n\n"),
        (Kind::OpenAi, "data: {\"error\":{\"code\":503,\"message\":\"busy\"}}\n\n"),
        (
            Kind::OpenAi,
            "data: {\"error\":{\"message\":\"busy\",\"type\":\"server_error\",\"code\":null}}\n\n",
        ),
        (Kind::OpenAi, "event: error\ndata: {\"message\":\"busy\"}\n\n"),
        (Kind::OpenAi, "data: {\"error\":\"busy\"}\n\n"),
    ];
    for (kind, error) in errors {
        let broken = stream(format!("{}{error}", kind.begin("half")));
        let server = Server::start(vec![broken.clone(), broken, stream(kind.answer("whole"))]).await;
        let ran = Desk::new(kind, &server).run().await;
        assert_eq!(ran.counts(), (3, 2), "{error}");
        assert!(ran.shown.iter().any(|line| line.contains(": busy; trying again")), "{:?}", ran.shown);
        assert_eq!(ran.text(), "whole");
    }
    let refused = "event: error\ndata: {\"error\":{\"type\":\"authentication_error\",\"message\":\"x\"}}\n\n";
    for kind in KINDS {
        let server = Server::start(vec![stream(refused)]).await;
        let ran = Desk::new(kind, &server).run().await;
        ran.failed(FailureKind::Setup);
        assert_eq!(ran.counts(), (1, 0));
    }
    // With a status of success, and no stream at all.
    let server =
        Server::start(vec![status(200, "", "{\"error\":{\"code\":503,\"message\":\"busy\"}}")]).await;
    Desk::new(Kind::OpenAi, &server).run().await.failed(FailureKind::Retries);
}

#[tokio::test]
async fn t31_a_server_that_falls_silent_is_tried_again() {
    for kind in KINDS {
        for silent in
            [vec![Step::Hang], stream_then("", Step::Hang), stream_then(kind.begin("half"), Step::Hang)]
        {
            let server = Server::start(vec![silent, stream(kind.answer("whole"))]).await;
            let ran = Desk { stall: Duration::from_millis(500), ..Desk::new(kind, &server) }.run().await;
            assert_eq!(ran.counts(), (2, 1));
            assert!(ran.shown.iter().any(|line| line.contains("sent nothing for 0.5 s")), "{:?}", ran.shown);
            assert_eq!(ran.text(), "whole");
        }
    }
}

#[tokio::test]
async fn what_is_no_stream_is_said_to_be_none() {
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<html>Welcome</html>";
    for kind in KINDS {
        let server = Server::start(vec![vec![Step::Send(page.into())]]).await;
        let reason = Desk::new(kind, &server).run().await.failed(FailureKind::Setup);
        assert!(reason.ends_with(": a web page answers; correct base_url of provider models"), "{reason}");
        let server = Server::start(vec![status(200, "", "{\"choices\":[]}")]).await;
        let reason = Desk::new(kind, &server).run().await.failed(FailureKind::Other);
        assert!(reason.ends_with("answers in one piece and does not stream"), "{reason}");
    }
}

#[tokio::test]
async fn progress_tells_how_far_it_is() {
    for kind in KINDS {
        let server = Server::start(vec![stream_then(kind.begin(&"x".repeat(4_960)), Step::Hang)]).await;
        let ran = Desk { remaining: Duration::from_millis(1_000), ..Desk::new(kind, &server) }.run().await;
        let expected = GenerationOutcome::OverBudget { said: "asking m-1".into() };
        let told = GenerationOutcome::OverBudget { said: "1,240 tokens so far".into() };
        // Told, unless it came so soon after the first line that it waits for the next piece.
        assert!([expected, told].contains(&ran.generation.outcome), "{:?}", ran.generation);
        assert_eq!(
            ran.generation.usage.output_tokens, 1_240,
            "estimated, as the end with its count never came"
        );
    }
}
