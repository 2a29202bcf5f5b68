//! What passes is tried again within bounds, and what does not is not (B-4).

use std::time::Duration;

use azolla_protocol::{FailureKind, GenerationOutcome, Wait, WaitSource};

use super::{
    desk::{Desk, KINDS, Kind, nobody},
    server::{Server, Step, status, stream},
};

const OVERLOADED: &str =
    "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}";

#[tokio::test]
async fn b4_failures_in_passing_are_tried_again_and_counted() {
    for kind in KINDS {
        let mut answers: Vec<_> =
            [429, 529, 500, 502, 503, 504, 408, 409].map(|code| status(code, "", OVERLOADED)).to_vec();
        answers.extend([vec![Step::Reset], vec![], stream(kind.answer("done"))]);
        let server = Server::start(answers).await;
        let ran = Desk { retries_max: 10, ..Desk::new(kind, &server) }.run().await;
        assert_eq!(ran.counts(), (11, 10));
        assert!(
            ran.shown
                .iter()
                .any(|line| line.contains("answers 529: Overloaded; trying again in 0.0 s (2 of 10)"))
        );
        let asked = server.asked();
        assert!(asked.iter().all(|one| one.body == asked[0].body), "each is the same request");
        assert_eq!(ran.text(), "done");
    }
}

#[tokio::test]
async fn b4_retries_are_used_up_at_their_limit() {
    for kind in KINDS {
        for (retries_max, told) in [(0, ""), (1, ", also after 1 retry"), (4, ", also after 4 retries")] {
            let server = Server::start(vec![status(529, "", OVERLOADED)]).await;
            let ran = Desk { retries_max, ..Desk::new(kind, &server) }.run().await;
            let reason = ran.failed(FailureKind::Retries);
            assert_eq!(reason, format!("the server answers 529: Overloaded{told}"));
            assert_eq!(ran.counts(), (retries_max + 1, retries_max));
            assert_eq!(server.asked().len() as u64, retries_max + 1);
        }
    }
}

#[tokio::test]
async fn b4_retry_after_is_kept() {
    let forms = [
        "retry-after: 0.4\r\n",
        "retry-after-ms: 400\r\nretry-after: 50\r\n",
        "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:49:38 GMT\r\n",
    ];
    for (kind, form) in KINDS.into_iter().flat_map(|kind| forms.map(|form| (kind, form))) {
        let server = Server::start(vec![status(429, form, "{}"), stream(kind.answer("done"))]).await;
        let ran = Desk::new(kind, &server).run().await;
        assert!(
            ran.took >= Duration::from_millis(400) && ran.took < Duration::from_secs(30),
            "{form}: {:?}",
            ran.took
        );
        assert_eq!(ran.text(), "done");
    }
}

#[tokio::test]
async fn b4_a_long_retry_after_is_waited_for_later() {
    for kind in KINDS {
        // Never sooner than in a minute: a server that asks for less is not asked again and again.
        for (after, remaining, waited) in [(61, 1_000, 61), (7, 5, 60)] {
            let server =
                Server::start(vec![status(429, &format!("retry-after: {after}\r\n"), OVERLOADED)]).await;
            let desk = Desk { remaining: Duration::from_secs(remaining), ..Desk::new(kind, &server) };
            let ran = desk.run().await;
            let reason = format!("the server answers 429: Overloaded; it may be asked again in {waited} s");
            let wait = Wait { reason, time: Duration::from_secs(waited), source: WaitSource::Provider };
            assert_eq!(ran.generation.outcome, GenerationOutcome::Wait(wait));
            assert_eq!(ran.counts(), (1, 0));
        }
    }
}

#[tokio::test]
async fn quota_that_is_used_up_is_waited_for() {
    let quota =
        "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"You exceeded your current quota\"}}";
    for kind in KINDS {
        for (after, waited) in [("", 900), ("retry-after: 0\r\n", 60), ("retry-after: 3600\r\n", 3_600)] {
            let server = Server::start(vec![status(429, after, quota)]).await;
            let ran = Desk::new(kind, &server).run().await;
            let reason =
                "the provider has no quota left: the server answers 429: You exceeded your current quota"
                    .to_owned();
            let wait = Wait { reason, time: Duration::from_secs(waited), source: WaitSource::Provider };
            assert_eq!(ran.generation.outcome, GenerationOutcome::Wait(wait));
            assert_eq!(ran.counts(), (1, 0));
        }
    }
}

/// O-1: the limit is one for the whole run, however many claims it takes.
#[tokio::test]
async fn o1_retries_under_earlier_claims_count() {
    for kind in KINDS {
        for (retries_before, asked) in [(0, 3), (1, 2), (2, 1), (9, 1)] {
            let server = Server::start(vec![status(529, "retry-after: 0\r\n", OVERLOADED)]).await;
            let desk = Desk { retries_max: 2, retries_before, ..Desk::new(kind, &server) };
            let ran = desk.run().await;
            assert_eq!((server.asked().len(), ran.counts()), (asked, (asked as u64, asked as u64 - 1)));
            ran.failed(FailureKind::Retries);
        }
    }
}

#[tokio::test]
async fn b4_what_is_for_good_ends_at_once() {
    let model = "{\"error\":{\"message\":\"The model `m-1` does not exist\",\"code\":\"model_not_found\"}}";
    let long = "{\"error\":{\"message\":\"prompt is too long: 9 tokens > 8 maximum\"}}";
    let odd = "{\"error\":{\"message\":\"no \\u001b[31msuch field\\nhere\",\"code\":7}}";
    for kind in KINDS {
        let cases = [
            (
                401,
                "{}",
                FailureKind::Setup,
                "the key from MODEL_KEY is refused by {host} (401); put a valid key there",
            ),
            (
                403,
                odd,
                FailureKind::Setup,
                "the key from MODEL_KEY has no access at {host} (403): no such field here; take another key, or another model for provider models",
            ),
            (
                404,
                model,
                FailureKind::Setup,
                "the server at {host} has no model m-1: The model `m-1` does not exist; correct model of provider models; http://{host}/v1/models lists what there is",
            ),
            (
                404,
                "nope",
                FailureKind::Setup,
                "there is no model API at {url}: it answers 404; correct base_url of provider models",
            ),
            (
                400,
                long,
                FailureKind::PromptTooLarge,
                "the prompt is too large for the model: the server answers 400: prompt is too long: 9 tokens > 8 maximum; take a model with a larger context, or lower the prompt size limit",
            ),
            (
                422,
                odd,
                FailureKind::Other,
                "the server at {host} refuses the request (422): no such field here",
            ),
        ];
        for (code, body, failure, expected) in cases {
            let server = Server::start(vec![status(code, "retry-after: 1\r\n", body)]).await;
            let ran = Desk::new(kind, &server).run().await;
            let path = kind.path().split(' ').nth(1).unwrap();
            let expected = expected
                .replace("{url}", &format!("{}{path}", server.url()))
                .replace("{host}", &server.address().to_string());
            assert_eq!(ran.failed(failure), expected);
            assert_eq!(ran.counts(), (1, 0));
        }
        let server = Server::start(vec![status(401, "", "{}")]).await;
        let reason = Desk { key: None, ..Desk::new(kind, &server) }.run().await.failed(FailureKind::Setup);
        let told = format!(
            "the server at {} asks for a key (401); set key_env or key_file of provider models",
            server.address()
        );
        assert_eq!(reason, told);
    }
}

#[tokio::test]
async fn a_server_that_was_not_started_is_named() {
    for kind in KINDS {
        let desk = Desk::at(kind, nobody().await);
        let ran = desk.run().await;
        let reason = ran.failed(FailureKind::Setup);
        let told = format!(
            "no server answers at {}, also after 3 retries; start it, or correct base_url of provider models",
            desk.base_url
        );
        assert_eq!(reason, told);
        assert_eq!(ran.counts(), (4, 3));
        assert_eq!(ran.generation.usage.input_tokens, 0, "nothing was sent");
    }
}

#[tokio::test]
async fn b2_the_budget_ends_a_request_a_wait_and_a_stream() {
    let remaining = Duration::from_millis(300);
    for kind in KINDS {
        for silent in [vec![Step::Hang], vec![Step::Send(super::server::head()), Step::Hang]] {
            let server = Server::start(vec![silent]).await;
            let ran = Desk { remaining, ..Desk::new(kind, &server) }.run().await;
            assert_eq!(ran.generation.outcome, GenerationOutcome::OverBudget { said: "asking m-1".into() });
            assert!(ran.took >= remaining && ran.took < remaining + Duration::from_secs(2), "{:?}", ran.took);
            server.left().await;
        }
        let server = Server::start(vec![status(503, "", OVERLOADED)]).await;
        let backoff = Duration::from_secs(20);
        let ran = Desk { remaining, backoff, ..Desk::new(kind, &server) }.run().await;
        let said = "the server answers 503: Overloaded; the next try would come after the end of the budget"
            .to_owned();
        assert_eq!(ran.generation.outcome, GenerationOutcome::OverBudget { said });
        assert_eq!(ran.counts(), (1, 0));
    }
}

#[tokio::test]
async fn b2_without_any_budget_left_nothing_is_sent() {
    for kind in KINDS {
        let server = Server::start(vec![stream(kind.answer("done"))]).await;
        let ran = Desk { remaining: Duration::ZERO, ..Desk::new(kind, &server) }.run().await;
        assert_eq!(ran.generation.outcome, GenerationOutcome::OverBudget { said: String::new() });
        assert_eq!((ran.counts(), server.asked().len()), ((0, 0), 0));
    }
}

#[tokio::test]
async fn b2_dropping_the_future_ends_the_request() {
    for kind in KINDS {
        let server = Server::start(vec![vec![Step::Send(super::server::head()), Step::Hang]]).await;
        let desk = Desk::new(kind, &server);
        let begun = async {
            while server.asked().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            ran = desk.run() => panic!("it ended by itself: {ran:?}"),
            () = begun => {}
        }
        server.left().await;
    }
}

#[tokio::test]
async fn t36_a_budget_without_end_is_one() {
    let server = Server::start(vec![stream(Kind::OpenAi.answer("done"))]).await;
    let desk = Desk { remaining: Duration::MAX, stall: Duration::MAX, ..Desk::new(Kind::OpenAi, &server) };
    assert_eq!(desk.run().await.text(), "done");
}
