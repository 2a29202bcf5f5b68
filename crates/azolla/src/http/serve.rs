//! Accepts connections and answers what comes over them, each within its limits (T23 to T27).

use std::{
    convert::Infallible,
    future::pending,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    Extension, Router,
    body::{Body, HttpBody},
    extract::{RawPathParams, Request, State, rejection::RawPathParamsRejection},
    http::{HeaderMap, Method, header},
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::{MethodFilter, on, post},
};
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::{OwnedSemaphorePermit, watch},
    time::timeout,
};

use super::{
    access::{self, Caller},
    answer::{ApiError, Reply},
    app::App,
    front,
    listen::Listening,
    log::Kind,
    mcp, openapi,
    operation::{BodyFacts, Operation},
    operator, peer,
    places::{Places, Share},
    waiting::{Answering, Asking},
};
use crate::dashboard;

/// How long the head of a request may take, also of the next one on a connection that was kept.
const HEAD_LIMIT: Duration = Duration::from_secs(10);
/// The most bytes and lines of a head.
const HEAD_BYTES_MAX: usize = 32 * 1024;
const HEAD_LINES_MAX: usize = 64;
/// How long an encrypted connection may take to come about.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// How long a connection is kept, and then has for the answer that is under way: one that reads slowly ends too.
const CONNECTION_LIMIT: Duration = Duration::from_secs(120);
const LAST_ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// How long the server waits at its end for answers that are under way.
const END_LIMIT: Duration = Duration::from_secs(5);
/// How long it waits after a connection could not be accepted: the system is short of something.
const ACCEPT_AGAIN: Duration = Duration::from_millis(200);

/// Where a request comes from.
#[derive(Clone, Copy)]
pub(crate) struct Remote(pub(crate) IpAddr);

/// Answers until it is asked to stop; what is under way then is answered still.
pub(crate) async fn serve(listening: Listening, app: Arc<App>, mut stopping: watch::Receiver<bool>) {
    let router = router(&app);
    let graceful = GracefulShutdown::new();
    let places = Places::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listening, &places) => accepted,
            _ = stopping.wait_for(|stopping| *stopping) => break,
        };
        match accepted {
            Ok((place, stream, remote)) => {
                let (router, tls) = (router.clone(), listening.tls.clone());
                let router = router.layer(Extension(Remote(remote.ip())));
                let watcher = graceful.watcher();
                tokio::spawn(async move {
                    let (room, share) = place;
                    let share = Arc::new(share);
                    let served = async {
                        match tls {
                            // One that does not come about has nobody to be told.
                            Some(tls) => {
                                if let Ok(Ok(stream)) = timeout(HANDSHAKE_LIMIT, tls.accept(stream)).await {
                                    connection(stream, router, watcher, &share).await;
                                }
                            }
                            None => connection(stream, router, watcher, &share).await,
                        }
                    };
                    tokio::select! {
                        () = served => {}
                        () = share.given_up() => {}
                    }
                    drop(room);
                });
            }
            Err(error) => {
                app.log.line(Kind::Failed, &format!("a connection could not be accepted: {error}"));
                let _ = timeout(ACCEPT_AGAIN, stopping.wait_for(|stopping| *stopping)).await;
            }
        }
    }
    drop(listening);
    app.live.end();
    let _ = timeout(END_LIMIT, graceful.shutdown()).await;
}

/// Returns the next connection, once there is room for it.
async fn accept(
    listening: &Listening,
    places: &Places,
) -> std::io::Result<((OwnedSemaphorePermit, Share), TcpStream, SocketAddr)> {
    loop {
        let (stream, remote) = listening.listener.accept().await?;
        if let Some(share) = places.share(remote.ip()) {
            stream.set_nodelay(true)?;
            let room = places.room(&share).await?;
            return Ok(((room, share), stream, remote));
        }
    }
}

/// Answers the requests of one connection.
async fn connection<S>(stream: S, router: Router, watcher: Watcher, share: &Arc<Share>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = TowerToHyperService::new(router);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (service, share) = (service.clone(), share.clone());
        async move {
            let (head, body) = request.into_parts();
            let Some(body) = Asking::of(body, share.clone()) else { return pending().await };
            let answer = service.call(hyper::Request::from_parts(head, body)).await?;
            Ok::<_, Infallible>(answer.map(|body| Answering::of(body, share)))
        }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEAD_LINES_MAX);
    let served = builder.serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(watcher.watch(served));
    // What breaks a connection is the other side's business.
    if timeout(CONNECTION_LIMIT, served.as_mut()).await.is_err() {
        let _ = timeout(LAST_ANSWER_LIMIT, served).await;
    }
}

/// Makes the router: the table of operations, the one path that speaks MCP, and the dashboard.
fn router(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    for operation in Operation::ALL {
        let facts = operation.facts();
        let filter = MethodFilter::try_from(facts.method).expect("the table has methods of HTTP");
        let answer = move |State(app): State<Arc<App>>,
                           Extension(remote): Extension<Remote>,
                           parameters: Result<RawPathParams, RawPathParamsRejection>,
                           request: Request| async move {
            match handle(operation, &app, remote, parameters, request).await {
                Ok(reply) => reply.into_response(),
                Err(error) => error.into_response(),
            }
        };
        router = router.route(facts.path, on(filter, answer));
    }
    router
        .route(mcp::PATH, post(mcp::answer))
        .merge(dashboard::routes())
        .fallback(missing)
        .method_not_allowed_fallback(no_such_method)
        .layer(from_fn_with_state(app.clone(), front::pass))
        .with_state(app.clone())
}

/// Answers for a path that there is none of: a person with a page, a program with JSON.
async fn missing(State(app): State<Arc<App>>, request: Request) -> Response {
    let path = request.uri().path();
    if is_for_a_person(&request) {
        return dashboard::missing(&app, request.headers(), path).await;
    }
    ApiError::not_found("there is no such path; see /openapi.json").into_response()
}

/// Answers for a path that is asked for in another way, in the same manner.
async fn no_such_method(State(app): State<Arc<App>>, request: Request) -> Response {
    if is_for_a_person(&request) {
        return dashboard::not_to_look_at(&app, request.headers(), request.uri().path()).await;
    }
    ApiError::method().into_response()
}

fn is_for_a_person(request: &Request) -> bool {
    !request.uri().path().starts_with("/v1/") && dashboard::is_for_a_person(request.headers())
}

/// A request that has been let in.
pub(super) struct Call {
    /// Who asks.
    pub(super) caller: Caller,
    /// The parts of the path that have names.
    parameters: Vec<(String, String)>,
    /// What stands behind the `?`.
    pub(super) query: Vec<(String, String)>,
    /// The body.
    pub(super) body: Vec<u8>,
}

impl Call {
    /// Returns a part of the path that is an id.
    pub(super) fn id<T: std::str::FromStr<Err: std::fmt::Display>>(&self, name: &str) -> Result<T, ApiError> {
        let found = self.parameters.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str());
        found.unwrap_or_default().parse().map_err(|error: T::Err| ApiError::invalid(error.to_string()))
    }
}

async fn handle(
    operation: Operation,
    app: &App,
    remote: Remote,
    parameters: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
) -> Result<Reply, ApiError> {
    let facts = operation.facts();
    let (head, body) = request.into_parts();
    let caller = access::check(app, facts.access, &head.headers, remote.0).await?;
    let parameters = parameters.map_err(|_| ApiError::invalid("the path is not UTF-8"))?;
    let call = Call {
        caller,
        parameters: parameters.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        query: query(head.uri.query().unwrap_or_default(), facts.query)?,
        body: read_body(&head.headers, &head.method, body, facts.body.as_ref()).await?,
    };
    match operation {
        Operation::QuerySubstrate => peer::query(app, &call).await,
        Operation::Capture => operator::capture(app, &call).await,
        Operation::Resume => operator::resume(app).await,
        Operation::Azollas => Ok(operator::azollas(app)),
        Operation::Objectives => operator::objectives(app, &call).await,
        Operation::Objective => operator::objective(app, &call).await,
        Operation::Candidates => operator::candidates(app, &call).await,
        Operation::RequestManifest => operator::request_manifest(app, &call).await,
        Operation::LatestManifest => operator::latest_manifest(app, &call).await,
        Operation::Health => Ok(operator::health()),
        Operation::OpenApi => Ok(Reply::document(openapi::text())),
        Operation::Metrics => Ok(operator::metrics(app).await),
    }
}

/// Reads the keys of a query string, each known and at most once.
fn query(text: &str, known: &[(&str, &str, &str)]) -> Result<Vec<(String, String)>, ApiError> {
    let mut found: Vec<(String, String)> = Vec::new();
    for (key, value) in form_urlencoded::parse(text.as_bytes()) {
        if !known.iter().any(|(name, ..)| *name == key) {
            return Err(ApiError::invalid(format!("there is no parameter {}", key.escape_default())));
        }
        if found.iter().any(|(name, _)| *name == key) {
            return Err(ApiError::invalid(format!("{key} is there twice")));
        }
        found.push((key.into_owned(), value.into_owned()));
    }
    Ok(found)
}

/// Reads the body up to its limit, which holds for what is announced too.
async fn read_body(
    headers: &HeaderMap,
    method: &Method,
    body: Body,
    facts: Option<&BodyFacts>,
) -> Result<Vec<u8>, ApiError> {
    let Some(facts) = facts else {
        // An empty one is none, with whatever it says that it is.
        let announced = HttpBody::size_hint(&body).lower();
        return if announced > 0 && *method != Method::GET {
            Err(ApiError::invalid("this path takes no body"))
        } else {
            Ok(Vec::new())
        };
    };
    if HttpBody::size_hint(&body).lower() > facts.bytes_max as u64 {
        return Err(ApiError::too_large(facts.bytes_max));
    }
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = content_type.and_then(|value| value.split(';').next()).unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case("application/json") {
        return Err(ApiError::media_type());
    }
    match axum::body::to_bytes(body, facts.bytes_max).await {
        Ok(bytes) => Ok(bytes.into()),
        Err(_) => Err(ApiError::too_large(facts.bytes_max)),
    }
}
