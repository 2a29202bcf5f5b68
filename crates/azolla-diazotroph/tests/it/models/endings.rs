//! How a model can end its answer.

use azolla_protocol::FailureKind;
use serde_json::json;

use super::{
    desk::{CANARY, Desk, KINDS, Kind},
    server::{Server, stream},
};

async fn ended(kind: Kind, text: &str, reason: &str, expected: FailureKind) -> String {
    let server = Server::start(vec![stream(format!("{}{}", kind.begin(text), kind.end(reason)))]).await;
    let ran = Desk::new(kind, &server).run().await;
    assert_eq!(ran.counts(), (1, 0), "it is not asked again");
    ran.failed(expected)
}

#[tokio::test]
async fn a_refusal_is_one() {
    let reason = ended(Kind::Anthropic, "I won't.", "refusal", FailureKind::Refused).await;
    assert_eq!(reason, "the model refused: I won't.");
    ended(Kind::OpenAi, "", "content_filter", FailureKind::Refused).await;
    let refusal = json!({"choices": [{"delta": {"refusal": "I won't."}}]});
    let server =
        Server::start(vec![stream(format!("data: {refusal}\n\n{}", Kind::OpenAi.end("stop")))]).await;
    let reason = Desk::new(Kind::OpenAi, &server).run().await.failed(FailureKind::Refused);
    assert_eq!(reason, "the model refused: I won't.");
}

#[tokio::test]
async fn an_answer_that_was_cut_off_is_not_used() {
    for (kind, word) in [
        (Kind::Anthropic, "max_tokens"),
        (Kind::Anthropic, "model_context_window_exceeded"),
        (Kind::OpenAi, "length"),
    ] {
        let reason = ended(kind, "half", word, FailureKind::Truncated).await;
        let text =
            format!("the answer was cut off ({word}) after 4 bytes; max_tokens is 16384; raise max_tokens");
        assert!(reason.starts_with(&text), "{reason}");
    }
}

#[tokio::test]
async fn an_ending_that_ends_no_answer_is_named() {
    for (kind, word) in [
        (Kind::Anthropic, "pause_turn"),
        (Kind::Anthropic, "tool_use"),
        (Kind::Anthropic, "moon_phase"),
        (Kind::OpenAi, "tool_calls"),
        (Kind::OpenAi, "function_call"),
        (Kind::OpenAi, "moon_phase"),
    ] {
        let reason = ended(kind, "text", word, FailureKind::Other).await;
        assert_eq!(reason, format!("the model stopped with {word:?}, which ends no answer"));
    }
    ended(Kind::Anthropic, "a whole", "stop_sequence\u{1b}[31m", FailureKind::Other).await;
}

#[tokio::test]
async fn an_empty_answer_is_none() {
    for kind in KINDS {
        for text in ["", " \n\t"] {
            assert_eq!(ended(kind, text, "whole", FailureKind::Other).await, "the answer is empty");
        }
    }
}

#[tokio::test]
async fn t29_an_answer_with_the_key_in_it_is_not_used() {
    for kind in KINDS {
        let reason = ended(kind, &format!("key = {CANARY}"), "whole", FailureKind::Other).await;
        assert_eq!(reason, "the answer holds the provider's key");
    }
}
