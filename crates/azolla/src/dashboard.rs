//! The dashboard: the operator's desk in a browser. Pages are written here, on the server, and work without a script;
//! what a page lets the operator do goes through the same steps as the command line (`acts`).

mod act;
mod again;
mod asset;
mod diff;
mod form;
mod frame;
mod live;
mod login;
mod once;
mod pages;
mod part;
mod plot;
mod seen;
mod session;

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{RawPathParams, Request, State, rejection::RawPathParamsRejection},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
    routing::{get, post},
};
use maud::Markup;

use self::{
    frame::{Frame, Tab},
    session::Session,
};
pub(crate) use self::{live::Live, login::Door, session::Sessions};
use crate::http::App;

/// What a browser may do with a page: what comes from this server, and nothing inside the page itself (T23).
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// One page: its path, where it stands among the others, and what shows it.
struct PageRoute {
    path: &'static str,
    show: for<'a> fn(&'a Ask<'a>) -> futures_util::future::BoxFuture<'a, Result<Shown, PageError>>,
}

/// Every page.
const PAGES: [PageRoute; 8] = [
    PageRoute { path: "/", show: |ask| Box::pin(pages::home::show(ask)) },
    PageRoute { path: "/objectives", show: |ask| Box::pin(pages::objectives::show(ask)) },
    PageRoute { path: "/objectives/{azolla}/{objective}", show: |ask| Box::pin(pages::objective::show(ask)) },
    PageRoute { path: "/notes", show: |ask| Box::pin(pages::notes::show(ask)) },
    PageRoute { path: "/manifests", show: |ask| Box::pin(pages::manifests::show(ask)) },
    PageRoute { path: "/runs", show: |ask| Box::pin(pages::runs::show(ask)) },
    PageRoute { path: "/runs/{azolla}/{run}", show: |ask| Box::pin(pages::run::show(ask)) },
    PageRoute { path: "/health", show: |ask| Box::pin(pages::health::show(ask)) },
];

/// A request for a page, by the operator.
pub(crate) struct Ask<'a> {
    pub(crate) app: &'a App,
    pub(crate) session: &'a Session,
    parameters: Vec<(String, String)>,
    query: Vec<(String, String)>,
}

impl Ask<'_> {
    /// Returns a part of the path, as an id.
    pub(crate) fn id<T: std::str::FromStr<Err: std::fmt::Display>>(
        &self,
        name: &str,
    ) -> Result<T, PageError> {
        let found = self.parameters.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str());
        found.unwrap_or_default().parse().map_err(|error: T::Err| PageError::Missing(error.to_string()))
    }

    /// Returns a value of the query string.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// A page that was put together.
pub(crate) struct Shown {
    pub(crate) title: String,
    pub(crate) tab: Tab,
    pub(crate) main: Markup,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    /// There is no such thing.
    #[error("{0}")]
    Missing(String),
    /// A store does not answer. Why is for our own log, not for the page.
    #[error("{0}")]
    Away(String),
}

impl PageError {
    fn status(&self) -> StatusCode {
        match self {
            Self::Missing(_) => StatusCode::NOT_FOUND,
            Self::Away(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// Returns the routes of the dashboard.
pub(crate) fn routes() -> Router<Arc<App>> {
    let mut router = Router::new()
        .route("/act", post(act::take))
        .route("/login", get(login::ask).post(login::begin))
        .route("/logout", post(login::end))
        .route("/events", get(live::events))
        .route(asset::ROUTE, get(asset::show));
    for PageRoute { path, show } in PAGES {
        let answer = move |State(app): State<Arc<App>>,
                           parameters: Result<RawPathParams, RawPathParamsRejection>,
                           request: Request| async move {
            // Bytes that are no text name nothing.
            let Ok(parameters) = parameters else {
                return missing(&app, request.headers(), request.uri().path()).await;
            };
            let session = match session::of(&app, request.headers()).await {
                Ok(Some(session)) => session,
                Ok(None) => return login::to_log_in(&request),
                Err(error) => return again::away(&app, &error),
            };
            // Before the page is read: what changes meanwhile is told by the stream.
            let mark = live::mark(&app);
            let path = request.uri().path().to_owned();
            let query = form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
            let ask = Ask {
                app: &app,
                session: &session,
                parameters: parameters
                    .iter()
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .collect(),
                query: query.into_owned().collect(),
            };
            let shown = show(&ask).await;
            let (status, shown) = match shown {
                Ok(shown) => (StatusCode::OK, shown),
                Err(error) => {
                    if let PageError::Away(why) = &error {
                        app.log_failure(&format!("{path}: {why}"));
                    }
                    (error.status(), frame::sorry(&error))
                }
            };
            // A script that looks again, or who looks at the head alone, leaves it to the page that a person looks at.
            let is_told = request.method() == Method::GET && !login::is_live(request.headers());
            let said = if is_told { app.sessions.untold(&session) } else { None };
            let (said, desks) = (said.as_ref(), frame::desks(&app));
            let frame = Frame { session: &session, said, desks, path: &path, mark: &mark };
            let mut response = html(status, frame::page(&frame, shown));
            session.renew(response.headers_mut());
            response
        };
        router = router.route(path, get(answer));
    }
    router
}

/// Answers a browser that asks for a path that there is none of.
pub(crate) async fn missing(app: &Arc<App>, headers: &HeaderMap, path: &str) -> Response {
    let error = PageError::Missing("There is no such page.".to_owned());
    sorry(app, headers, path, &error).await
}

/// Answers a browser that asks to see where forms are sent to.
pub(crate) async fn not_to_look_at(app: &Arc<App>, headers: &HeaderMap, path: &str) -> Response {
    let error = PageError::Missing("There is nothing to look at here; forms are sent to it.".to_owned());
    let mut response = sorry(app, headers, path, &error).await;
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response
}

async fn sorry(app: &Arc<App>, headers: &HeaderMap, path: &str, error: &PageError) -> Response {
    match session::of(app, headers).await {
        Ok(Some(session)) => in_frame(&session, error.status(), path, frame::sorry(error)),
        _ => html(error.status(), frame::alone("Not here", frame::sorry(error).main)),
    }
}

/// Tells whether a browser asks, for a person to look at.
pub(crate) fn is_for_a_person(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok());
    accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

/// Returns a page that is no page of its own, in the frame.
fn in_frame(session: &Session, status: StatusCode, path: &str, shown: Shown) -> Response {
    // Without the box for a note: what was typed elsewhere is what matters here.
    let frame = Frame { session, said: None, desks: Vec::new(), path, mark: "" };
    let mut response = html(status, frame::page(&frame, shown));
    session.renew(response.headers_mut());
    response
}

/// Returns a page as an answer, with what a browser may do with it.
fn html(status: StatusCode, page: Markup) -> Response {
    let mut response = Response::new(Body::from(page.into_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // With no-referrer a browser sends `Origin: null` with a form of our own, which is refused like any other origin.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}
