//! Who looks at the dashboard: the operator, by a cookie that was given for the operator's token or for a link that
//! `azolla up` printed. The cookie goes with no request that another site starts, and a form needs the session's own
//! word as well (T24).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::Response,
};

use super::{frame, html};
use crate::{
    http::App,
    token::{Token, TokenHash},
};

/// The name of the cookie.
const COOKIE: &str = "azolla_session";

/// The sessions that there are.
#[derive(Default)]
pub(crate) struct Sessions {
    by_hash: Mutex<HashMap<[u8; 32], Arc<str>>>,
}

/// One that was proved.
pub(crate) struct Session {
    /// What every form of it carries.
    pub(crate) csrf: String,
}

impl Sessions {
    /// Returns the session of a request.
    pub(crate) fn of(&self, headers: &HeaderMap) -> Option<Session> {
        let cookie = cookie(headers)?;
        let hash = TokenHash::of(cookie);
        let sessions = self.by_hash.lock().unwrap_or_else(PoisonError::into_inner);
        let csrf = sessions.get(hash.as_bytes())?.to_string();
        Some(Session { csrf })
    }

    fn begin(&self) -> anyhow::Result<Token> {
        let (token, csrf) = (Token::fresh()?, Token::fresh()?);
        let mut sessions = self.by_hash.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.insert(*token.hash().as_bytes(), csrf.text().into());
        Ok(token)
    }

    fn end(&self, headers: &HeaderMap) {
        if let Some(cookie) = cookie(headers) {
            let mut sessions = self.by_hash.lock().unwrap_or_else(PoisonError::into_inner);
            sessions.remove(TokenHash::of(cookie).as_bytes());
        }
    }
}

/// Returns the one cookie of ours.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut ours = all.flat_map(|line| line.split(';')).filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE).then_some(value)
    });
    ours.next()
}

/// Sends a browser without a session to the page where one begins.
pub(super) fn to_log_in(_wanted: &Uri) -> Response {
    see("/login")
}

/// Shows where a session begins.
pub(super) async fn ask() -> Response {
    html(StatusCode::OK, frame::log_in(None))
}

/// Begins a session for the operator's token.
pub(super) async fn log_in(State(app): State<Arc<App>>, request: Request) -> Response {
    let fields = super::form::read(request).await.unwrap_or_default();
    let token = fields.iter().find(|(name, _)| name == "token").map(|(_, value)| value.trim());
    if !token.is_some_and(|token| app.operator.is(&TokenHash::of(token))) {
        return html(StatusCode::UNAUTHORIZED, frame::log_in(Some("That is not the operator's token.")));
    }
    let Ok(session) = app.sessions.begin() else {
        return html(StatusCode::INTERNAL_SERVER_ERROR, frame::log_in(Some("No session can be made now.")));
    };
    let mut response = see("/");
    let cookie = format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict", session.text());
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// Ends a session.
pub(super) async fn log_out(State(app): State<Arc<App>>, request: Request) -> Response {
    app.sessions.end(request.headers());
    see("/login")
}

/// Sends the browser on to a path of ours.
pub(super) fn see(path: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let path = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(header::LOCATION, path);
    response
}
