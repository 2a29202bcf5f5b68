//! MCP over HTTP: one path, one answer to each request. There are no sessions and no streams here, so nothing is held for
//! a client between two requests, and nothing that it left open keeps the server from ending.

use std::sync::Arc;

use axum::{
    Extension,
    body::Body,
    extract::{Request, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use azolla_protocol::IdSource;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};
use tokio::sync::Mutex;

use super::{
    access,
    answer::{ApiError, Reply},
    app::App,
    log::{Kind, Log},
    serve::Remote,
};
use crate::{
    deployment::Deployment,
    home::Home,
    mcp::{Faults, Kept, Named, Server, Source, no_message},
    stores::Stores,
    token::{Token, TokenHash},
};

/// Where it is. It is in no OpenAPI document: MCP describes itself.
pub(super) const PATH: &str = "/mcp";

/// A note of 1 MiB, each of whose bytes may be written as `\u00xx`, and the rest of the document.
const BODY_BYTES_MAX: usize = 6 * 1024 * 1024 + 16 * 1024;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Answers MCP clients.
pub(super) struct Mcp {
    /// What they show.
    pub(super) token: TokenHash,
    service: StreamableHttpService<Server, NeverSessionManager>,
}

impl Mcp {
    /// Answers from the open stores. The token is made if there is none.
    pub(super) fn new(
        deployment: &Arc<Deployment>,
        stores: &Arc<Stores>,
        home: &Arc<Mutex<Home>>,
        log: &Arc<Log>,
    ) -> anyhow::Result<Self> {
        let token = Token::in_file(&deployment.place.mcp_token())?.hash();
        let log = log.clone();
        let faults: Faults = Arc::new(move |text| log.line(Kind::Failed, &format!("mcp: {text}")));
        let kept = Kept { stores: stores.clone(), home: home.clone(), faults };
        let source = Source::Kept { deployment: deployment.clone(), kept };
        let server = Server::new(source);
        // Host and Origin have been checked by then, by the rules of all paths.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(BODY_BYTES_MAX);
        let service = StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config);
        Ok(Self { token, service })
    }
}

/// Answers one request.
pub(super) async fn answer(
    State(app): State<Arc<App>>,
    Extension(remote): Extension<Remote>,
    request: Request,
) -> Response {
    if let Err(refused) = access::check_mcp(&app, request.headers(), remote.0) {
        return refused.into_response();
    }
    let (head, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, BODY_BYTES_MAX).await else {
        return ApiError::too_large(BODY_BYTES_MAX).into_response();
    };
    let content_type = head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let says_json = content_type.is_some_and(|kind| kind.trim_start().starts_with("application/json"));
    let (named, text) = (Named::default(), body.clone());
    let mut request = Request::from_parts(head, Body::from(body));
    request.extensions_mut().insert(named.clone());
    let mut response = app.mcp.service.handle(request).await.map(Body::new);
    // What says that it is JSON and cannot be taken is answered in the terms of JSON-RPC, not as another media type.
    if says_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return Reply::json(StatusCode::BAD_REQUEST, &no_message(&text)).into_response();
    }
    // The id of a session carries the name that the client began with, and nothing else rests on it.
    let session = named.session(app.ids.body().as_str());
    if let Some(session) = session.and_then(|session| HeaderValue::try_from(session).ok()) {
        response.headers_mut().insert(SESSION, session);
    }
    response
}
