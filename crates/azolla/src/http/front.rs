//! What every request goes through first and every answer last: the name that the server is asked by (T25), where the
//! request comes from (T24), a time limit, and headers that leave a browser nothing to do (T23).

use std::{net::SocketAddr, panic::resume_unwind, sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tokio::{task::JoinSet, time::timeout};

use super::{answer::ApiError, app::App, metrics::Counter};

/// The longest that a request may take, its body included.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// What is no page of the dashboard may not run, load, frame or be kept.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The names that the server answers to.
pub(super) struct Hosts {
    names: Vec<String>,
    scheme: &'static str,
}

impl Hosts {
    /// Those of this machine itself, the address that it listens at, and the configured ones.
    pub(super) fn new(configured: &[String], address: SocketAddr, encrypted: bool) -> Self {
        let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
        if !address.ip().is_unspecified() {
            names.push(address.ip().to_string());
        }
        names.extend(configured.iter().map(|name| bare(name)));
        Self { names, scheme: if encrypted { "https" } else { "http" } }
    }

    /// Refuses a request by another name, whatever its port is: that may be of a tunnel.
    fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<String, ApiError> {
        let mut values = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (values.next(), values.next()) else { return Err(ApiError::host()) };
        let host = host.to_str().ok().filter(|host| self.knows(host)).ok_or_else(ApiError::host)?;
        // A whole URL in the first line of the request counts for others, so it must not say something else.
        match uri.authority() {
            Some(named) if !named.as_str().eq_ignore_ascii_case(host) => Err(ApiError::host()),
            _ => Ok(host.to_ascii_lowercase()),
        }
    }

    fn knows(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        // What is before an `@` is no part of a Host header.
        !host.contains('@') && self.names.contains(&bare(authority.host()))
    }

    /// Refuses a request from a page of another origin. Without an Origin it goes on: a program needs its token anyway,
    /// and what the dashboard's cookie comes with has to show by more than the cookie that a page of ours sent it.
    fn check_origin(&self, headers: &HeaderMap, host: &str) -> Result<(), ApiError> {
        let own = format!("{}://{host}", self.scheme);
        let is_own =
            |origin: &HeaderValue| origin.to_str().is_ok_and(|origin| origin.eq_ignore_ascii_case(&own));
        if headers.get_all(header::ORIGIN).iter().all(is_own) { Ok(()) } else { Err(ApiError::origin()) }
    }
}

/// Returns a host without brackets, in small letters.
fn bare(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase()
}

/// Lets a request through, or refuses it.
pub(super) async fn pass(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let checked = app
        .hosts
        .check(request.uri(), request.headers())
        .and_then(|host| app.hosts.check_origin(request.headers(), &host));
    let mut response = match checked {
        Ok(()) => within(REQUEST_LIMIT, next.run(request)).await,
        Err(refused) => refused.into_response(),
    };
    app.metrics.count(Counter::Requests, class(response.status()));
    for (name, value) in HEADERS {
        // A page brings its own policy.
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// What a status is counted as.
fn class(status: StatusCode) -> &'static str {
    match status.as_u16() {
        200..=299 => "2xx",
        400..=499 => "4xx",
        500..=599 => "5xx",
        _ => "other",
    }
}

/// Answers, or says that it took too long. In a task of its own: a commit waits for the disk on the thread that asks, and
/// the limit has to be seen all the same. The task ends with this one.
async fn within(limit: Duration, answer: impl Future<Output = Response> + Send + 'static) -> Response {
    let mut task = JoinSet::from_iter([answer]);
    match timeout(limit, task.join_next()).await {
        Ok(Some(Ok(response))) => response,
        Ok(Some(Err(error))) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_ended) => ApiError::timeout().into_response(),
        },
        Ok(None) | Err(_) => ApiError::timeout().into_response(),
    }
}

#[cfg(test)]
mod tests;
