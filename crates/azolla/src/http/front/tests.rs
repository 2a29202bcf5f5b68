//! Which names and origins are this server's.

use super::*;

fn hosts(encrypted: bool) -> Hosts {
    let configured = ["desk.example".to_owned(), "[2001:db8::5]".to_owned()];
    Hosts::new(&configured, "192.0.2.7:7517".parse().unwrap(), encrypted)
}

fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).fold(
        HeaderMap::new(),
        |mut headers, (name, value)| {
            headers.append(name, value);
            headers
        },
    )
}

#[test]
fn t25_only_own_names_are_answered_to() {
    let is_known = |pairs: &[(HeaderName, &str)], uri: &str| {
        hosts(false).check(&uri.parse().unwrap(), &headers(pairs)).is_ok()
    };
    let by = |host: &str| is_known(&[(header::HOST, host)], "/healthz");
    for own in [
        "localhost",
        "LOCALHOST:7517",
        "127.0.0.1:7517",
        "127.0.0.1:9000",
        "[::1]:7517",
        "192.0.2.7",
        "desk.example:7517",
        "desk.example.",
        "[2001:db8::5]:7517",
    ] {
        assert!(by(own), "{own}");
    }
    for other in [
        "",
        "evil.example",
        "evil.example:7517",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example#localhost",
        "evil.example/localhost",
        "localhost@evil.example",
        "evil.example@localhost",
        "127.0.0.2",
        "0.0.0.0",
        "2130706433",
        "[::1",
        "desk.example evil.example",
    ] {
        assert!(!by(other), "{other}");
    }
    assert!(!is_known(&[], "/healthz"), "no Host");
    assert!(!is_known(&[(header::HOST, "localhost"), (header::HOST, "localhost")], "/"), "two of them");
    assert!(!is_known(&[(header::HOST, "localhost")], "http://evil.example/healthz"));
    assert!(is_known(&[(header::HOST, "localhost:7517")], "http://localhost:7517/healthz"));
}

#[test]
fn t24_a_foreign_origin_is_refused() {
    let passes = |encrypted: bool, origins: &[&str]| {
        let pairs: Vec<_> = origins.iter().map(|origin| (header::ORIGIN, *origin)).collect();
        hosts(encrypted).check_origin(&headers(&pairs), "localhost:7517").is_ok()
    };
    assert!(passes(false, &[]));
    assert!(passes(false, &["http://localhost:7517"]));
    assert!(passes(true, &["https://localhost:7517"]));
    for foreign in [
        "null",
        "",
        "http://evil.example",
        "http://localhost",
        "http://localhost:8080",
        "http://localhost:7517.evil.example",
        "https://localhost:7517",
        "http://127.0.0.1:7517",
        "http://localhost:7517/",
    ] {
        assert!(!passes(false, &[foreign]), "{foreign}");
        assert!(!passes(false, &["http://localhost:7517", foreign]), "{foreign}");
    }
    assert!(!passes(true, &["http://localhost:7517"]));
}

/// A commit waits for the disk on the thread that asks; whoever asked for it hears of the limit all the same.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_stands_still_on_its_thread_is_given_up() {
    let (go_on, goes_on) = std::sync::mpsc::channel::<()>();
    let stuck = async move {
        tokio::task::block_in_place(|| goes_on.recv()).unwrap();
        Response::default()
    };
    let response = within(Duration::from_millis(10), stuck).await;
    assert_eq!(response.status(), ApiError::timeout().into_response().status());
    go_on.send(()).unwrap();
}

#[test]
fn answers_are_counted_by_their_class() {
    for (status, counted) in [
        (199, "other"),
        (200, "2xx"),
        (299, "2xx"),
        (303, "other"),
        (400, "4xx"),
        (499, "4xx"),
        (500, "5xx"),
        (599, "5xx"),
        (600, "other"),
    ] {
        assert_eq!(class(StatusCode::from_u16(status).unwrap()), counted, "{status}");
    }
}
