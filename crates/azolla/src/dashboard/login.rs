//! Where a session begins and ends. The operator shows the token, or a link that `azolla up` printed: its code counts
//! once, for a quarter of an hour. Looking at the link spends nothing, for programs that show previews look too; the
//! button on the page that it leads to does.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Extension,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};

use super::{
    again,
    form::{Fields, path_of_ours},
    frame, html, in_frame,
    session::{self, Session, is_from_here},
};
use crate::{
    failure::sentence,
    http::{App, Remote, one_address},
    token::{Token, TokenHash},
};

/// How long a link counts.
const CODE_LASTS: Duration = Duration::from_mins(15);

/// Wrong tokens and codes of one address in a minute; more are not looked at.
const WRONG_MAX: u32 = 20;
const MINUTE: Duration = Duration::from_secs(60);

/// Addresses that are remembered for it.
const ADDRESSES_MAX: usize = 1_024;

/// What somebody who logs in is asked and told.
#[derive(Default)]
pub(super) struct LogIn<'a> {
    /// What is wrong, if something is.
    pub(super) said: Option<&'a str>,
    /// The code of a link.
    pub(super) code: Option<&'a str>,
    /// Where to go on.
    pub(super) next: Option<&'a str>,
    /// What was typed into a form when the session was over: it comes back after the log in.
    pub(super) kept: Option<&'a Fields>,
}

/// Links that are out, and who tried something else.
#[derive(Default)]
pub(crate) struct Door {
    code: Mutex<Option<(TokenHash, Instant)>>,
    wrong: Mutex<HashMap<IpAddr, (Instant, u32)>>,
}

impl Door {
    /// Makes the code of a link. The one before is worth nothing from now on.
    pub(crate) fn code(&self, now: Instant) -> anyhow::Result<Token> {
        let code = Token::fresh()?;
        *self.code.lock().unwrap_or_else(PoisonError::into_inner) = Some((code.hash(), now + CODE_LASTS));
        Ok(code)
    }

    /// Tells whether a code counts, which it does once.
    fn spend(&self, code: &str, now: Instant) -> bool {
        let mut kept = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = kept.as_ref().is_some_and(|(hash, until)| hash.is(&TokenHash::of(code)) && now < *until);
        if counts {
            *kept = None;
        }
        counts
    }

    /// Tells whether somebody may try.
    fn is_open(&self, remote: IpAddr, now: Instant) -> bool {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.retain(|_, (since, _)| now.duration_since(*since) < MINUTE);
        match wrong.get(&one_address(remote)) {
            Some((_, count)) => *count < WRONG_MAX,
            // Whoever is on this machine is not held up by a crowd elsewhere.
            None => wrong.len() < ADDRESSES_MAX || remote.to_canonical().is_loopback(),
        }
    }

    /// Counts what was wrong.
    fn was_wrong(&self, remote: IpAddr, now: Instant) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.entry(one_address(remote)).or_insert((now, 0)).1 += 1;
    }
}

/// Sends a browser without a session to the page where one begins. A script that looks again is told at once.
pub(super) fn to_log_in(request: &Request) -> Response {
    if is_live(request.headers()) {
        return html(StatusCode::UNAUTHORIZED, frame::log_in(&LogIn::default()));
    }
    match request.uri().path_and_query().map(|path| path_of_ours(Some(path.as_str()))) {
        None | Some("/") => see("/login"),
        Some(path) => {
            let next: String = form_urlencoded::byte_serialize(path.as_bytes()).collect();
            see(&format!("/login?next={next}"))
        }
    }
}

/// Tells whether a script looks at a page again that a person has before them.
pub(super) fn is_live(headers: &HeaderMap) -> bool {
    headers.contains_key("azolla-live")
}

/// Shows where a session begins.
pub(super) async fn ask(State(app): State<Arc<App>>, request: Request) -> Response {
    let query = Fields::of(request.uri().query().unwrap_or_default().as_bytes());
    let next = query.get("next").map(|next| path_of_ours(Some(next)));
    let code = query.get("code").filter(|code| is_code(code));
    if let (None, Ok(Some(session))) = (code, session::of(&app, request.headers()).await) {
        let mut response = see(next.unwrap_or("/"));
        session.renew(response.headers_mut());
        return response;
    }
    html(StatusCode::OK, frame::log_in(&LogIn { code, next, ..LogIn::default() }))
}

/// Begins a session.
pub(super) async fn begin(
    State(app): State<Arc<App>>,
    Extension(remote): Extension<Remote>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    // Without a cookie there is nothing that another site could use; with one, the request has to be ours.
    if app.sessions.cookie_of(&head.headers).is_some() && !is_from_here(&head.headers) {
        return again::not_from_here();
    }
    let fields = match Fields::read(&head.headers, body).await {
        Ok(fields) => fields,
        Err(unread) => return again::unread(&unread),
    };
    let kept = fields.below(KEPT);
    let next = fields.get("next").map(|next| path_of_ours(Some(next)));
    let refused = |status: StatusCode, said: &str, code: Option<&str>| {
        let kept = kept.get("act").is_some().then_some(&kept);
        html(status, frame::log_in(&LogIn { said: Some(said), code, next, kept }))
    };
    let now = Instant::now();
    if !app.door.is_open(remote.0, now) {
        let mut response =
            refused(StatusCode::TOO_MANY_REQUESTS, "There were too many tries. Wait a minute.", None);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
        return response;
    }
    let (token, code) = (fields.get("token").map(str::trim), fields.get("code"));
    let proved = token.is_some_and(|token| app.operator.is(&TokenHash::of(token)))
        || code.is_some_and(|code| app.door.spend(code, now));
    if !proved {
        app.door.was_wrong(remote.0, now);
        app.refused_log_in(remote.0);
        let said = match code {
            Some(_) => {
                "The link has been used, or is older than 15 minutes. Log in with the operator's token; azolla up names its file when it starts."
            }
            None => "That is not the operator's token.",
        };
        return refused(StatusCode::UNAUTHORIZED, said, None);
    }
    match session::begin(&app).await {
        Ok(session) => {
            let mut response = match kept.get("act") {
                Some(_) => again::send(&session, &kept),
                None => see(next.unwrap_or("/")),
            };
            session.renew(response.headers_mut());
            response
        }
        Err(error) => {
            app.log_failure(&format!("no session could begin: {}", sentence(&error)));
            refused(
                StatusCode::SERVICE_UNAVAILABLE,
                "No session can begin now. The server's own output says why.",
                None,
            )
        }
    }
}

/// What was typed stands behind this in the form that logs in.
pub(super) const KEPT: &str = "keep.";

/// Ends a session.
pub(super) async fn end(State(app): State<Arc<App>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if !is_from_here(&head.headers) {
        return again::not_from_here();
    }
    let session = match session::of(&app, &head.headers).await {
        Ok(Some(session)) => session,
        Ok(None) => return see("/login"),
        Err(error) => return again::away(&app, &error),
    };
    let word = Fields::read(&head.headers, body).await;
    if !word.is_ok_and(|fields| fields.get("csrf").is_some_and(|word| session.is_word(word))) {
        return out_of_date(&session);
    }
    if let Err(error) = session::end(&app, &session).await {
        return again::away(&app, &error);
    }
    let mut response = see("/login");
    if let Some(cookie) = app.sessions.no_cookie() {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

fn out_of_date(session: &Session) -> Response {
    in_frame(session, StatusCode::FORBIDDEN, "/", again::out_of_date())
}

/// Tells a script that there is no session.
pub(super) fn denied() -> Response {
    let mut response = Response::new(Body::from("log in first"));
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response
}

fn is_code(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Sends the browser on to a path of ours.
pub(super) fn see(path: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let path = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(header::LOCATION, path);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_counts_once_and_for_a_quarter_of_an_hour() {
        let (door, now) = (Door::default(), Instant::now());
        let code = door.code(now).unwrap();
        assert!(!door.spend("", now) && !door.spend(&"0".repeat(64), now));
        assert!(!door.spend(code.text(), now + CODE_LASTS));
        assert!(door.spend(code.text(), now + CODE_LASTS - Duration::from_secs(1)));
        assert!(!door.spend(code.text(), now));
        let (first, second) = (door.code(now).unwrap(), door.code(now).unwrap());
        assert!(!door.spend(first.text(), now), "the newer one is the one that counts");
        assert!(door.spend(second.text(), now));
    }

    #[test]
    fn a_code_is_as_long_as_a_token_and_has_its_digits() {
        assert!(is_code(&"0f".repeat(32)));
        for odd in ["", &"0".repeat(63), &"0".repeat(65), &"x".repeat(64)] {
            assert!(!is_code(odd), "{odd}");
        }
    }

    #[test]
    fn t24_a_crowd_cannot_guess() {
        let (door, now) = (Door::default(), Instant::now());
        let address = |n: u32| IpAddr::from(n.to_be_bytes());
        for _ in 0..WRONG_MAX {
            assert!(door.is_open(address(1), now));
            door.was_wrong(address(1), now);
        }
        assert!(!door.is_open(address(1), now));
        assert!(door.is_open(address(2), now), "another address is not held up");
        assert!(door.is_open(address(1), now + MINUTE));
        for n in 0..ADDRESSES_MAX as u32 {
            door.was_wrong(address(n), now);
        }
        assert!(!door.is_open(address(u32::MAX), now), "no more is remembered than there is room for");
        assert!(door.is_open([127, 0, 0, 1].into(), now), "a crowd elsewhere does not hold this machine up");
    }
}
