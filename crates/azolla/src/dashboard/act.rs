//! What a form asks for, done: the same steps as on the command line, refused in the same words.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::Response,
};

use super::{form, frame, html, session};
use crate::{deployment::identity, http::App};

/// Takes one act, then shows the page that it came from.
pub(super) async fn take(State(app): State<Arc<App>>, request: Request) -> Response {
    let Some(session) = app.sessions.of(request.headers()) else { return session::see("/login") };
    let Some(fields) = form::read(request).await else {
        return html(StatusCode::PAYLOAD_TOO_LARGE, frame::log_in(Some("The form is too large.")));
    };
    let field = |name: &str| fields.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str());
    if field("csrf") != Some(session.csrf.as_str()) {
        return html(StatusCode::FORBIDDEN, frame::log_in(Some("The page is out of date.")));
    }
    let desk = app.deployment.config.azollas.iter().find(|azolla| azolla.repo.is_none());
    if let (Some("capture"), Some(text), Some(desk)) = (field("act"), field("text"), desk)
        && let Ok(store) = app.stores.whole(desk).await
    {
        let captured = app.operator_at(&*store, &identity(desk)).capture(text.as_bytes(), "dashboard").await;
        if captured.is_ok() {
            return session::see("/?said=captured");
        }
    }
    html(StatusCode::CONFLICT, frame::log_in(Some("That cannot be done now.")))
}
