//! What goes back: JSON or text, and one form for every error.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

/// An answer that is no error.
pub(super) struct Reply {
    status: StatusCode,
    content_type: &'static str,
    body: Vec<u8>,
}

impl Reply {
    /// A JSON document.
    pub(super) fn json(status: StatusCode, document: &Value) -> Self {
        Self { status, content_type: "application/json", body: document.to_string().into_bytes() }
    }

    /// A JSON document that is text already.
    pub(super) fn document(text: String) -> Self {
        Self { status: StatusCode::OK, content_type: "application/json", body: text.into_bytes() }
    }

    /// Text in the form that Prometheus reads.
    pub(super) fn metrics(text: String) -> Self {
        let content_type = "text/plain; version=0.0.4; charset=utf-8";
        Self { status: StatusCode::OK, content_type, body: text.into_bytes() }
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        let content_type = HeaderValue::from_static(self.content_type);
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        response
    }
}

/// Why a request has no other answer.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    /// What helps, if something does.
    hint: Option<String>,
}

/// Every error there is, by its code.
pub(super) const CODES: [(&str, u16); 12] = [
    ("invalid_request", 400),
    ("unauthorized", 401),
    ("host_refused", 403),
    ("origin_refused", 403),
    ("not_found", 404),
    ("method_not_allowed", 405),
    ("timeout", 408),
    ("refused", 409),
    ("too_large", 413),
    ("unsupported_media_type", 415),
    ("internal", 500),
    ("unavailable", 503),
];

impl ApiError {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        let known = CODES.iter().find(|(known, _)| *known == code).map(|(_, status)| *status);
        let status = known.and_then(|status| StatusCode::from_u16(status).ok());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, code, message: message.into(), hint: None }
    }

    /// The request does not read.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new("invalid_request", message)
    }

    /// There is no token, or a wrong one: it is not told which.
    pub(super) fn unauthorized() -> Self {
        Self::new("unauthorized", "a bearer token is needed, and this request has none that counts here")
    }

    /// The request is for a name that this machine is not known by.
    pub(super) fn host() -> Self {
        Self::new("host_refused", "this host name is not one of this server's: add it to hosts of [http]")
    }

    /// The request comes from a page of another origin.
    pub(super) fn origin() -> Self {
        Self::new("origin_refused", "requests from other origins are refused")
    }

    /// There is no such thing.
    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new("not_found", message)
    }

    /// The path has no such method.
    pub(super) fn method() -> Self {
        Self::new("method_not_allowed", "this path has no such method")
    }

    /// It took too long.
    pub(super) fn timeout() -> Self {
        Self::new("timeout", "the request took too long")
    }

    /// The state or a rule does not allow it now; `hint` is what helps.
    pub(super) fn refused(message: impl Into<String>, hint: Option<String>) -> Self {
        Self { hint, ..Self::new("refused", message) }
    }

    /// The body is too large.
    pub(super) fn too_large(bytes_max: usize) -> Self {
        Self::new("too_large", format!("the body has more than {bytes_max} bytes"))
    }

    /// The body is no JSON.
    pub(super) fn media_type() -> Self {
        Self::new("unsupported_media_type", "the body has to be application/json")
    }

    /// A fault of ours; what it is stays in our own log.
    pub(super) fn internal() -> Self {
        Self::new("internal", "something failed here; the server's own output says what")
    }

    /// A store does not answer.
    pub(super) fn unavailable() -> Self {
        Self::new("unavailable", "the store does not answer now; try again")
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut document = json!({"error": {"code": self.code, "message": self.message}});
        if let Some(hint) = self.hint {
            document["error"]["hint"] = json!(hint);
        }
        let mut response = Reply::json(self.status, &document).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

#[cfg(test)]
mod tests;
