//! A canary key is found nowhere (T29).

use std::time::Duration;

use super::{
    desk::{CANARY, Desk, KINDS},
    server::{Server, Step, status, stream, stream_then},
};

#[tokio::test]
async fn t29_a_server_that_repeats_the_key_does_not_get_it_shown() {
    let split = CANARY.replace("canary", "can\\u001b[0mary");
    let padded = format!("{}{CANARY}", " ".repeat(64 * 1024 - 8));
    for kind in KINDS {
        let error = |text: &str| {
            format!("{{\"error\":{{\"message\":\"key {text} \\n{text}\",\"type\":\"{text}\"}}}}")
        };
        let answers = [
            status(400, "", &error(CANARY)),
            status(403, "", &error(&split)),
            status(404, "", &error(CANARY)),
            status(404, "", &error(&format!("model {CANARY}"))),
            status(429, "", &error(CANARY)),
            status(500, "", CANARY),
            status(500, "", &format!("<html><b>{CANARY}</b></html>")),
            status(418, "", &padded),
            status(302, &format!("location: https://{CANARY}.example.com/{CANARY}\r\n"), CANARY),
            status(429, "retry-after: 900\r\n", &error(CANARY)),
            status(402, "", &error(CANARY)),
            stream(format!("data: {{\"error\":{{\"message\":\"{CANARY}\"}}}}\n\n")),
            stream(format!("event: error\ndata: {{\"message\":\"{CANARY}\"}}\n\n")),
            stream(format!("data: {CANARY}\n\n")),
            stream(format!("{}{}", kind.begin(CANARY), kind.end(CANARY))),
            stream(format!("{}{}", kind.begin(CANARY), kind.end("refusal"))),
            stream(format!("{}{}", kind.begin(CANARY), kind.end("content_filter"))),
            stream(kind.answer(CANARY)),
            stream_then(kind.begin(CANARY), Step::Hang),
            vec![Step::Send(CANARY.into())],
        ];
        for (number, answer) in answers.into_iter().enumerate() {
            let server = Server::start(vec![answer]).await;
            let desk =
                Desk { retries_max: 1, remaining: Duration::from_millis(1_500), ..Desk::new(kind, &server) };
            let ran = desk.run().await;
            let all = format!("{ran:?}");
            // Whole, or in pieces that a reader would know.
            assert!(!all.contains("canary") && !all.contains(&CANARY[3..]), "{number}: {all}");
            let probed = format!("{:?}", desk.provider().probe(desk.remaining).await);
            assert!(!probed.contains("canary"), "{number}: {probed}");
        }
    }
}

#[tokio::test]
async fn t29_no_debug_text_has_the_key_in_it() {
    for kind in KINDS {
        let server = Server::start(vec![stream(kind.answer("x"))]).await;
        let desk = Desk::new(kind, &server);
        assert_eq!(format!("{:?}", desk.key), "Some(Secret(from MODEL_KEY))");
        let provider = desk.provider();
        let text = match &provider {
            super::desk::Provider::Anthropic(provider) => format!("{provider:?}"),
            super::desk::Provider::OpenAi(provider) => format!("{provider:?}"),
        };
        assert!(text.contains("models") && !text.contains(CANARY), "{text}");
        // The key is in a header and nowhere else of the request.
        desk.run_with(&provider, &super::desk::Open).await;
        let asked = server.asked().remove(0);
        assert_eq!(asked.head.matches(CANARY).count(), 1);
        assert!(
            !asked.head.lines().next().unwrap().contains(CANARY) && !asked.body.to_string().contains(CANARY)
        );
    }
}
