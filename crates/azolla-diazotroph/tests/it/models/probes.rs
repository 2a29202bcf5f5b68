//! `doctor --probe`: one tiny request, and words that somebody can act on.

use std::time::Duration;

use azolla_diazotroph::provider::{Probe, ProbeFailure};
use serde_json::json;

use super::{
    desk::{Desk, KINDS, Kind, LONG, nobody},
    server::{Server, Step, status, stream},
};

async fn failure(desk: &Desk) -> ProbeFailure {
    desk.provider().probe(LONG).await.unwrap_err()
}

#[tokio::test]
async fn a_provider_that_answers_works() {
    for kind in KINDS {
        for reason in ["whole", "max_tokens", "length", "refusal"] {
            let server = Server::start(vec![stream(format!("{}{}", kind.begin(""), kind.end(reason)))]).await;
            let Probe { model, input_tokens, output_tokens, .. } =
                Desk::new(kind, &server).provider().probe(LONG).await.unwrap();
            assert_eq!((model.as_str(), input_tokens, output_tokens), ("m-1", 35, 7));
            assert_eq!(server.asked()[0].body["max_tokens"], json!(16));
        }
    }
}

#[tokio::test]
async fn b4_a_probe_is_not_repeated() {
    for kind in KINDS {
        let server = Server::start(vec![status(529, "", "{\"error\":{\"message\":\"busy\"}}")]).await;
        let failure = failure(&Desk::new(kind, &server)).await;
        assert_eq!(failure.what, "the server answers 529: busy");
        assert_eq!(failure.next, "try again later, or check base_url of provider models");
        assert_eq!(server.asked().len(), 1);
    }
}

#[tokio::test]
async fn every_failure_has_a_next_step() {
    for kind in KINDS {
        let model = "{\"error\":{\"message\":\"model m-1 not found\"}}";
        let list = json!({"data": [{"id": "small"}, {"id": "large\u{1b}[31m", "owned_by": "x"}]}).to_string();
        let server = Server::start(vec![status(404, "", model), status(200, "", &list)]).await;
        let told = failure(&Desk::new(kind, &server)).await;
        assert_eq!(told.next, "set model of provider models to one of: small, large");
        assert!(server.asked()[1].head.starts_with("GET /v1/models HTTP/1.1"));
        let server = Server::start(vec![status(404, "", model), status(500, "", "")]).await;
        let told = failure(&Desk::new(kind, &server)).await;
        assert!(told.next.ends_with("/v1/models lists what there is"), "{told}");

        let server = Server::start(vec![status(401, "", "{}")]).await;
        let told = failure(&Desk::new(kind, &server)).await;
        assert_eq!(told.what, format!("the key from MODEL_KEY is refused by {} (401)", server.address()));

        let desk = Desk::at(kind, nobody().await);
        let told = failure(&desk).await;
        assert_eq!(told.next, "start it, or correct base_url of provider models");

        let server = Server::start(vec![status(402, "", "{}")]).await;
        let told = failure(&Desk::new(kind, &server)).await;
        assert_eq!(told.next, "try again in 15 min, or see to the account");

        let server = Server::start(vec![vec![Step::Hang]]).await;
        let told = Desk::new(kind, &server).provider().probe(Duration::from_millis(200)).await.unwrap_err();
        assert_eq!(told.what, format!("the server at {} did not answer within 0.2 s", server.address()));
    }
}

#[tokio::test]
async fn a_probe_finds_out_what_the_server_understands() {
    let refuse =
        status(400, "", "{\"error\":{\"message\":\"use max_completion_tokens\",\"param\":\"max_tokens\"}}");
    let server = Server::start(vec![refuse, stream(Kind::OpenAi.answer("ready"))]).await;
    assert!(Desk::new(Kind::OpenAi, &server).provider().probe(LONG).await.is_ok());
    assert_eq!(server.asked()[1].body["max_completion_tokens"], json!(16));
}
