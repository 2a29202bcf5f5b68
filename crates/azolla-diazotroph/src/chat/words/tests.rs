//! Errors in the forms that servers give them.

use std::{ffi::OsStr, time::Duration};

use azolla_protocol::Wait;

use super::*;
use crate::chat::{Trouble, trouble::Sort};

fn words(body: &str) -> ErrorWords {
    ErrorWords::read(body.as_bytes(), &Secrets::default())
}

/// Says in short what comes next.
fn next(status: u16, body: &str, after: Option<u64>) -> String {
    let status = StatusCode::from_u16(status).unwrap();
    shown(Trouble::of_status(status, words(body), after.map(Duration::from_secs)))
}

fn shown(trouble: Trouble) -> String {
    match trouble {
        Trouble::Passing(passing) if passing.sort == Sort::Server => format!("again, {}", passing.cause),
        Trouble::Passing(passing) => format!("{:?}", passing.sort),
        Trouble::Wait(Wait { time, .. }) => format!("wait {}", time.as_secs()),
        Trouble::Rejected { status, .. } => format!("rejected {}", status.as_u16()),
        Trouble::NoModel(_) => "no model".to_owned(),
        Trouble::Final(failure) => format!("{:?}: {}", failure.kind, failure.what),
    }
}

#[test]
fn b4_what_passes_is_asked_again() {
    for status in [408, 409, 425, 429, 500, 502, 503, 504, 520, 529] {
        assert_eq!(next(status, "", None), format!("again, the server answers {status}"));
    }
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert_eq!(next(529, overloaded, None), "again, the server answers 529: Overloaded");
    let limited = r#"{"error":{"code":429,"message":"Slow down","type":null}}"#;
    assert_eq!(next(429, limited, Some(3)), "again, the server answers 429: Slow down");
}

#[test]
fn b4_what_is_for_good_is_not() {
    for status in [400, 401, 403, 404, 405, 406, 411, 415, 418, 422, 431, 451] {
        assert_eq!(next(status, "{}", None), format!("rejected {status}"));
    }
    assert_eq!(next(501, "", None), "Other: the server answers 501");
}

#[test]
fn quota_that_is_used_up_is_waited_for() {
    let bodies = [
        (
            429,
            r#"{"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"You exceeded your current quota"}}"#,
        ),
        (
            400,
            r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#,
        ),
        (
            400,
            r#"{"error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits."}}"#,
        ),
        (403, r#"{"error":{"type":"billing_error","message":"Spend limit reached"}}"#),
        (402, r#"{"error":{"message":"Insufficient Balance"}}"#),
    ];
    for (status, body) in bodies {
        assert_eq!(next(status, body, None), "wait 900", "{body}");
        assert_eq!(next(status, body, Some(77)), "wait 77", "{body}");
        assert_eq!(next(status, body, Some(0)), "wait 60", "{body}");
    }
}

#[test]
fn an_account_without_money_is_said_to_need_attention() {
    for (status, body, needs) in [
        (
            429,
            r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#,
            false,
        ),
        (400, r#"{"error":{"message":"You have reached your specified API usage limits."}}"#, false),
        (400, r#"{"error":{"message":"Your credit balance is too low to access the API."}}"#, true),
        (403, r#"{"error":{"type":"billing_error","message":"no"}}"#, true),
        (402, "{}", true),
    ] {
        let Trouble::Wait(wait) =
            Trouble::of_status(StatusCode::from_u16(status).unwrap(), words(body), None)
        else {
            panic!("{body} is not waited for")
        };
        let says =
            wait.reason.starts_with("the account at the provider needs attention (credit or billing): ");
        assert_eq!(says, needs, "{}", wait.reason);
    }
}

#[test]
fn a_model_that_is_not_there_is_told_from_a_wrong_address() {
    for (status, body) in [
        (404, r#"{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}"#),
        (404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#),
        (404, r#"{"error":"model 'x' not found"}"#),
        (400, r#"{"error":{"message":"unknown model x"}}"#),
    ] {
        assert_eq!(next(status, body, None), "no model", "{body}");
    }
    for body in ["", "404 page not found", r#"{"detail":"Not Found"}"#, "<html><h1>Not Found</h1></html>"] {
        assert_eq!(next(404, body, None), "rejected 404", "{body}");
    }
}

#[test]
fn a_prompt_that_is_too_large_is_said_to_be() {
    for (status, body) in [
        (413, "{}"),
        (400, r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#),
        (400, r#"{"error":{"code":"context_length_exceeded","message":"too much"}}"#),
        (
            400,
            r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"request exceeds the available context size"}}"#,
        ),
    ] {
        let told = next(status, body, None);
        assert!(told.starts_with("PromptTooLarge: the prompt is too large for the model"), "{body}: {told}");
    }
}

#[test]
fn an_error_inside_of_a_stream_is_like_its_status() {
    let inside = |error: &str| {
        let error: Box<RawValue> = serde_json::from_str(error).unwrap();
        shown(Trouble::in_stream(ErrorWords::raw(&error, &Secrets::default())))
    };
    let told = "again, the server answers 529 (an error in the answer): busy";
    assert_eq!(inside(r#"{"type":"overloaded_error","message":"busy"}"#), told);
    assert_eq!(inside(r#"{"code":502,"message":"busy"}"#), told.replace("529", "502"));
    assert_eq!(inside(r#"{"message":"busy"}"#), told.replace("529", "500"));
    assert_eq!(inside(r#""busy""#), told.replace("529", "500"));
    assert_eq!(inside(r#"{"type":"authentication_error"}"#), "rejected 401");
    assert_eq!(inside(r#"{"type":"invalid_request_error"}"#), "rejected 400");
    assert_eq!(inside(r#"{"code":"insufficient_quota"}"#), "wait 900");
    let huge = format!(r#"{{"message":"{}"}}"#, "x".repeat(READ_BYTES_MAX));
    assert_eq!(inside(&huge), "again, the server answers 500 (an error in the answer)");
}

#[test]
fn t22_t29_what_a_server_says_is_short_clean_and_without_the_key() {
    let secrets = Secrets::new([OsStr::new("sk-canary-0123")].into_iter());
    for body in [
        r#"{"error":{"message":"bad key sk-canary-0123\u001b[31m","type":"sk-canary-0123","param":"sk-canary-0123"}}"#,
        "no JSON: sk-canary-0123",
        "<p>sk-canary-0123</p>",
        "{\"error\":\"sk-can\\u001b[0mary-0123\"}",
    ] {
        let words = ErrorWords::read(body.as_bytes(), &secrets);
        let all = format!("{words:?}");
        assert!(!all.contains("canary") && !all.contains('\u{1b}'), "{all}");
    }
    let long = words(&format!(r#"{{"message":"{}"}}"#, "é \\n".repeat(1_000))).message;
    assert!(long.len() <= QUOTED_BYTES_MAX + '…'.len_utf8() && !long.contains('\n'), "{long}");
    assert_eq!(words("<html><body><h1>502 Bad</h1>gateway</body></html>").message, "502 Bad gateway");
}

#[test]
fn t31_bodies_of_any_kind_are_read_without_harm() {
    for body in [
        "null",
        "[]",
        "7",
        "\"x\"",
        "{\"error\":null}",
        "{\"error\":[1]}",
        "[{\"error\":{\"message\":\"m\"}}]",
        "\u{feff}{}",
    ] {
        words(body);
    }
    words(&"[".repeat(READ_BYTES_MAX));
    assert_eq!(ErrorWords::read(&[0xff; 9], &Secrets::default()).message, "\u{fffd}".repeat(9));
    assert_eq!(words("[{\"error\":{\"message\":\"m\"}}]").message, "m");
}
