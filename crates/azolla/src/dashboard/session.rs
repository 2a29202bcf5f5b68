//! Who looks at the dashboard: the operator, by a cookie that was given for the operator's token or for a link that
//! `azolla up` printed. The cookie goes with no request that another site starts, and a form needs the session's own
//! word as well (T24). The cookie opens pages alone, and no bearer token opens them.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::sync::watch;

use super::once::Answers;
use crate::{
    acts::Done,
    home::{SESSIONS_MAX, SessionUse},
    http::App,
    token::{Token, TokenHash},
};

/// How long a browser keeps the cookie: 30 days. It is given anew while the session is used.
const COOKIE_SECONDS: u32 = 2_592_000;

/// What is known about sessions in this process. That they last is in the home store.
pub(crate) struct Sessions {
    encrypted: bool,
    cookie_name: String,
    forms: Arc<Forms>,
    remembered: Mutex<HashMap<[u8; 32], Remembered>>,
}

/// Numbers for forms, each given once.
struct Forms {
    process: String,
    next: AtomicU64,
}

/// What is remembered of a session.
#[derive(Default)]
struct Remembered {
    untold: Option<Done>,
    answers: Arc<Answers>,
    /// The live pages of the session. What watches it is told when it is gone.
    streams: watch::Sender<()>,
}

/// A session that was proved.
pub(crate) struct Session {
    /// What every form of it carries.
    pub(crate) csrf: String,
    hash: TokenHash,
    forms: Arc<Forms>,
    /// The cookie again, if it has to last for longer.
    renewed: Option<HeaderValue>,
}

impl Session {
    /// One that no browser has.
    #[cfg(test)]
    pub(super) fn for_a_test() -> Self {
        let forms = Arc::new(Forms { process: "test".to_owned(), next: AtomicU64::new(0) });
        Self { csrf: "word".to_owned(), hash: TokenHash::of("test"), forms, renewed: None }
    }

    /// Returns a number for one form: what is sent with it twice is done once.
    pub(crate) fn once(&self) -> String {
        format!("{}-{}", self.forms.process, self.forms.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Tells whether this process gave the number: what came of the forms of another one is not known here.
    pub(super) fn is_number_of_ours(&self, number: &str) -> bool {
        number.rsplit_once('-').is_some_and(|(process, _)| process == self.forms.process)
    }

    /// Tells whether a form carries the word of this session.
    pub(super) fn is_word(&self, given: &str) -> bool {
        self.csrf.as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// Gives the cookie to the browser again, if that is due.
    pub(super) fn renew(&self, headers: &mut HeaderMap) {
        if let Some(cookie) = &self.renewed {
            headers.append(header::SET_COOKIE, cookie.clone());
        }
    }
}

impl Sessions {
    /// Knows nobody yet.
    pub(crate) fn new(encrypted: bool, port: u16) -> anyhow::Result<Self> {
        let process: String = Token::fresh()?.text().chars().take(12).collect();
        let forms = Arc::new(Forms { process, next: AtomicU64::new(1) });
        // Where connections are encrypted, no other host can set one of this name. A browser has the cookies of a host for
        // all of its ports, so each has a name of its own.
        let cookie_name = format!("{}azolla_session_{port}", if encrypted { "__Host-" } else { "" });
        Ok(Self { encrypted, cookie_name, forms, remembered: Mutex::default() })
    }

    fn cookie(&self, value: &str, seconds: u32) -> Option<HeaderValue> {
        let secure = if self.encrypted { "; Secure" } else { "" };
        let name = &self.cookie_name;
        let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
        HeaderValue::from_str(&text).ok()
    }

    /// Returns the cookie that ends a session in the browser.
    pub(super) fn no_cookie(&self) -> Option<HeaderValue> {
        self.cookie("", 0)
    }

    /// Returns the one cookie of ours, if it can be one.
    pub(super) fn cookie_of<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut ours = all.flat_map(|line| line.split(';')).filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.cookie_name).then_some(value)
        });
        // Two are one too many: one of them is not from here.
        let (Some(only), None) = (ours.next(), ours.next()) else { return None };
        (only.len() == 64 && only.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(only)
    }

    /// Keeps what was done until a page tells it.
    pub(super) fn keep(&self, session: &Session, done: Done) {
        self.with(session, |remembered| remembered.untold = Some(done));
    }

    /// Returns what was done last and is not told yet.
    pub(super) fn untold(&self, session: &Session) -> Option<Done> {
        self.with(session, |remembered| remembered.untold.take())
    }

    /// Returns what forms of a session were answered with.
    pub(super) fn answers(&self, session: &Session) -> Arc<Answers> {
        self.with(session, |remembered| remembered.answers.clone())
    }

    /// Returns a place for one more live page, if there is one. It changes for good when the session ends.
    pub(super) fn stream(&self, session: &Session, max: usize) -> Option<watch::Receiver<()>> {
        self.with(session, |remembered| {
            (remembered.streams.receiver_count() < max).then(|| remembered.streams.subscribe())
        })
    }

    fn with<T>(&self, session: &Session, act: impl FnOnce(&mut Remembered) -> T) -> T {
        let mut all = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let key = *session.hash.as_bytes();
        if all.len() >= 2 * SESSIONS_MAX && !all.contains_key(&key) {
            // Most of them are of sessions that are over, and none holds what cannot be lost.
            all.clear();
        }
        act(all.entry(key).or_default())
    }

    fn session(&self, cookie: &str, renewed: bool) -> Session {
        let csrf = Sha256::digest(format!("a form of the session {cookie}"));
        Session {
            csrf: csrf.iter().map(|byte| format!("{byte:02x}")).collect(),
            hash: TokenHash::of(cookie),
            forms: self.forms.clone(),
            renewed: if renewed { self.cookie(cookie, COOKIE_SECONDS) } else { None },
        }
    }
}

/// Returns the session of a request, if it has one that lasts. Whatever is answered then gives the cookie again
/// (`Session::renew`): that it is due is said once.
pub(super) async fn of(app: &App, headers: &HeaderMap) -> anyhow::Result<Option<Session>> {
    let Some(cookie) = app.sessions.cookie_of(headers) else { return Ok(None) };
    let (hash, operator, now) = (TokenHash::of(cookie), app.operator.clone(), app.clock.now());
    let used = app.at_home(move |home| home.use_session(&hash, &operator, now)).await?;
    Ok(match used {
        SessionUse::Over => None,
        SessionUse::Lasts => Some(app.sessions.session(cookie, false)),
        SessionUse::Renewed => Some(app.sessions.session(cookie, true)),
    })
}

/// Begins a session, for somebody who proved to be the operator.
pub(super) async fn begin(app: &App) -> anyhow::Result<Session> {
    let token = Token::fresh()?;
    let (hash, operator, now) = (token.hash(), app.operator.clone(), app.clock.now());
    app.at_home(move |home| home.begin_session(&hash, &operator, now)).await?;
    Ok(app.sessions.session(token.text(), true))
}

/// Ends a session.
pub(super) async fn end(app: &App, session: &Session) -> anyhow::Result<()> {
    let hash = session.hash.clone();
    app.at_home(move |home| home.end_session(&hash)).await?;
    let mut all = app.sessions.remembered.lock().unwrap_or_else(PoisonError::into_inner);
    all.remove(session.hash.as_bytes());
    Ok(())
}

/// Tells whether a page of ours sent a request. That every Origin that is there is ours was checked before (T24); a
/// browser that leaves it out has to say otherwise where the request comes from.
pub(super) fn is_from_here(headers: &HeaderMap) -> bool {
    const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
    headers.contains_key(header::ORIGIN)
        || headers.get(FETCH_SITE).is_some_and(|site| site.as_bytes() == b"same-origin")
}

#[cfg(test)]
mod tests;
