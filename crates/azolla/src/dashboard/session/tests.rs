//! The cookie, and the word that forms carry.

use super::*;

fn with(cookies: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for cookie in cookies {
        headers.append(header::COOKIE, HeaderValue::from_str(cookie).unwrap());
    }
    headers
}

#[test]
fn t24_only_one_whole_cookie_counts() {
    let sessions = Sessions::new(false, 7517).unwrap();
    let value = "0123456789abcdef".repeat(4);
    let ours = format!("azolla_session_7517={value}");
    assert_eq!(sessions.cookie_of(&with(&[&format!("a=b; {ours}; c=d")])), Some(value.as_str()));
    for odd in [
        vec![],
        vec!["azolla_session_7517="],
        vec!["azolla_session_7517=0123"],
        vec![&ours[..ours.len() - 1]],
        vec![ours.as_str(), ours.as_str()],
    ] {
        assert_eq!(sessions.cookie_of(&with(&odd)), None, "{odd:?}");
    }
    let other = Sessions::new(false, 7518).unwrap();
    assert_eq!(other.cookie_of(&with(&[&ours])), None, "another program of the same host");
    let odd = format!("{ours}; {ours}");
    assert_eq!(sessions.cookie_of(&with(&[&odd])), None);
    let encrypted = Sessions::new(true, 7517).unwrap();
    assert_eq!(encrypted.cookie_of(&with(&[&ours])), None, "another host may have set it");
    assert_eq!(encrypted.cookie_of(&with(&[&format!("__Host-{ours}")])), Some(value.as_str()));
}

#[test]
fn t24_the_cookie_is_for_this_server_alone() {
    let text = |sessions: Sessions| sessions.cookie("x", 5).unwrap().to_str().unwrap().to_owned();
    let plain = "azolla_session_7517=x; Path=/; Max-Age=5; HttpOnly; SameSite=Strict";
    assert_eq!(text(Sessions::new(false, 7517).unwrap()), plain);
    assert_eq!(text(Sessions::new(true, 7517).unwrap()), format!("__Host-{plain}; Secure"));
}

#[test]
fn t24_every_session_has_a_word_of_its_own() {
    let sessions = Sessions::new(false, 7517).unwrap();
    let (one, other) = (sessions.session(&"1".repeat(64), false), sessions.session(&"2".repeat(64), false));
    assert!(one.is_word(&one.csrf) && !one.is_word(&other.csrf));
    assert!(!one.is_word("") && !one.is_word(&one.csrf[..63]));
    assert_eq!(one.csrf, sessions.session(&"1".repeat(64), true).csrf, "it is there after a restart too");
    assert_ne!(one.once(), one.once());
}

#[test]
fn t24_a_number_of_another_process_is_told_apart() {
    let session = || Sessions::new(false, 7517).unwrap().session(&"1".repeat(64), false);
    let (one, other) = (session(), session());
    assert!(one.is_number_of_ours(&one.once()) && !one.is_number_of_ours(&other.once()));
    assert!(!one.is_number_of_ours("a-1") && !one.is_number_of_ours("1"));
}

#[test]
fn t24_without_an_origin_the_browser_says_where_it_comes_from() {
    let mut headers = HeaderMap::new();
    assert!(!is_from_here(&headers));
    for (site, here) in [("same-origin", true), ("same-site", false), ("none", false), ("cross-site", false)]
    {
        headers.insert("sec-fetch-site", HeaderValue::from_static(site));
        assert_eq!(is_from_here(&headers), here, "{site}");
    }
    headers.insert(header::ORIGIN, HeaderValue::from_static("http://127.0.0.1:7517"));
    assert!(is_from_here(&headers), "that it is ours was checked before");
}

#[test]
fn what_was_done_is_told_once() {
    let sessions = Sessions::new(false, 7517).unwrap();
    let (one, other) = (sessions.session(&"1".repeat(64), false), sessions.session(&"2".repeat(64), false));
    let done = |what: &str| Done { made: None, what: what.to_owned(), next: None, remarks: Vec::new() };
    sessions.keep(&one, done("first"));
    sessions.keep(&one, done("second"));
    assert_eq!(sessions.untold(&other), None);
    assert_eq!(sessions.untold(&one), Some(done("second")));
    assert_eq!(sessions.untold(&one), None);
}

/// What was done is told to its own session, and what is remembered of sessions has a bound.
#[test]
fn what_is_remembered_of_sessions_is_bounded() {
    let sessions = Sessions::new(false, 7517).unwrap();
    let session = |n: usize| sessions.session(&format!("cookie {n}"), false);
    let done = |n: usize| Done { made: None, what: n.to_string(), next: None, remarks: Vec::new() };
    let room = 2 * SESSIONS_MAX;
    for n in 0..room {
        sessions.keep(&session(n), done(n));
    }
    sessions.keep(&session(0), done(100));
    assert_eq!(sessions.untold(&session(0)), Some(done(100)));
    assert_eq!(sessions.untold(&session(1)), Some(done(1)), "there was room for all of them");
    assert_eq!(sessions.untold(&session(1)), None, "it is told once");
    sessions.keep(&session(room), done(room));
    assert_eq!(sessions.remembered.lock().unwrap().len(), 1);
    assert_eq!(sessions.untold(&session(room)), Some(done(room)));
}
