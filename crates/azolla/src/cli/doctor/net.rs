//! The doctor's looks at the HTTP server and at peers.

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, Ipv6Addr},
    sync::Arc,
    time::Duration,
};

use azolla_exchange_membrane::peers::{Asked, Peers};
use azolla_protocol::{
    AzollaType, Clock, IdSource, QueryId, QueryStatus, QueryableType, SubstrateQuery, Timestamp, limits,
};
use azolla_substrate::{SystemClock, SystemIds};
use futures_util::future::join_all;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::Line;
use crate::{
    config::{AzollaConfig, HttpConfig},
    deployment::Deployment,
    home::{Exposure, Home},
    peers::RegistryPeers,
    screen::day_and_time,
    stores::Stores,
};

/// Where does the server listen, and who could listen in?
pub(super) async fn http(deployment: &Deployment) -> Vec<Line> {
    let http = &deployment.config.http;
    let is_exposed = !http.listen.ip().to_canonical().is_loopback() && http.tls.is_none();
    let mut lines = vec![match (is_exposed, http.allow_insecure) {
        (false, _) => {
            let how = if http.tls.is_some() { ", encrypted" } else { ", for this machine alone" };
            Line::good("http", format!("{}{how}", http.listen))
        }
        (true, true) => Line::attention(
            "http",
            format!("{}, not encrypted: allow_insecure says so", http.listen),
            "set tls_cert and tls_key under [http], or listen at 127.0.0.1",
        ),
        (true, false) => Line::bad(
            "http",
            format!("other machines reach {}, and nothing there would be encrypted", http.listen),
            "set tls_cert and tls_key under [http], or listen at 127.0.0.1",
        ),
    }];
    lines.extend(port(http).await);
    let recorded = Home::open(&deployment.place.home_store()).and_then(|home| home.exposures());
    lines.extend(recorded.unwrap_or_default().into_iter().map(|exposure| {
        let Exposure { listen, first_at, last_at } = exposure;
        let (first, last) = (day_and_time(first_at), day_and_time(last_at));
        let state = format!("listened at {listen} from {first}, last started {last}");
        Line::good("http, not encrypted", state)
    }));
    lines
}

/// Could the server listen there? It is no fault that it does so already.
async fn port(http: &HttpConfig) -> Option<Line> {
    let error = match TcpListener::bind(http.listen).await {
        Ok(_) => return None,
        Err(error) => error,
    };
    let listen = http.listen;
    if error.kind() == ErrorKind::AddrInUse && (http.tls.is_some() || is_ours(http).await) {
        return Some(Line::good("http port", format!("{listen} is in use, by azolla up as it seems")));
    }
    let state = match error.kind() {
        ErrorKind::AddrInUse => format!("another program listens at {listen}"),
        _ => format!("nothing can listen at {listen}: {error}"),
    };
    Some(Line::attention("http port", state, "azolla up --listen 127.0.0.1:0, or set listen under [http]"))
}

/// Asks who listens there.
async fn is_ours(http: &HttpConfig) -> bool {
    const TIME: Duration = Duration::from_secs(2);
    const ANSWER_BYTES_MAX: u64 = 4_096;
    let mut address = http.listen;
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() {
            Ipv4Addr::LOCALHOST.into()
        } else {
            Ipv6Addr::LOCALHOST.into()
        });
    }
    let asked = async {
        let mut stream = TcpStream::connect(address).await?;
        let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await?;
        std::io::Result::Ok(String::from_utf8_lossy(&answer).contains("{\"status\":\"ok\",\"version\":"))
    };
    timeout(TIME, asked).await.is_ok_and(|answer| answer.unwrap_or(false))
}

/// Can every peer that is asked be asked, and can those that ask prove it?
pub(super) fn peers(deployment: &Deployment) -> Vec<Line> {
    let tokens = Home::open(&deployment.place.home_store()).and_then(|home| home.peer_tokens());
    let tokens = tokens.unwrap_or_default();
    let mut lines = Vec::new();
    for peer in &deployment.config.peers {
        let what = format!("peer {}", peer.id);
        if let (Some(url), Some(token)) = (&peer.url, &peer.token) {
            lines.push(match token.read(|name| std::env::var_os(name)) {
                Ok(_) => Line::good(&what, format!("asked at {url}")),
                Err(error) => Line::bad(&what, error.to_string(), error.fix()),
            });
        }
        let reads = !peer.azolla_type.blueprint().cross_azolla_reads.is_empty();
        if reads && !tokens.iter().any(|token| token.azolla_id == peer.id) {
            let fix = format!("azolla peer rotate {}", peer.id);
            lines.push(Line::bad(&what, "it has no token to ask with here", fix));
        }
    }
    lines
}

/// Does every other azolla answer? One small query each, as the first azolla of this machine that may ask.
pub(super) async fn ask(deployment: Arc<Deployment>) -> Vec<Line> {
    let asking = deployment.config.azollas.iter().find(|azolla| azolla.azolla_type == AzollaType::TaskMgmt);
    let Some(asking) = asking else { return Vec::new() };
    let stores = Arc::new(Stores::new(deployment.clone()));
    // The time of a query is that of the store, so that a wrong clock there shows here too.
    let created_at = now(&stores, asking).await;
    let peers = RegistryPeers::new(&deployment, stores, asking);
    let ids = SystemIds::default();
    let filter = json!({"latest_only": true, "limit": 1});
    let queries: Vec<_> = peers
        .registered()
        .into_iter()
        .map(|target_azolla_id| SubstrateQuery {
            query_id: QueryId::from_body(&ids.body()),
            source_azolla_id: asking.id.clone(),
            target_azolla_id,
            artifact_type: QueryableType::PauseState,
            filter: filter.as_object().cloned().unwrap_or_default(),
            created_at,
        })
        .collect();
    let limit = Duration::from_millis(deployment.config.limits.get(&limits::PEER_QUERY_MS));
    let asked = join_all(queries.iter().map(async |query| {
        timeout(limit, peers.ask(query))
            .await
            .unwrap_or_else(|_| Asked::unavailable("it did not answer in time"))
    }))
    .await;
    queries.iter().zip(asked).map(|(query, asked)| line(query, asked)).collect()
}

async fn now(stores: &Stores, azolla: &AzollaConfig) -> Timestamp {
    let of_store = match stores.reading(azolla).await {
        Ok(read) => read.now().await.ok(),
        Err(_) => None,
    };
    of_store.unwrap_or_else(|| SystemClock.now())
}

fn line(query: &SubstrateQuery, asked: Asked) -> Line {
    let (target, source) = (&query.target_azolla_id, &query.source_azolla_id);
    let what = format!("ask {target}");
    let fix = match asked.status {
        QueryStatus::Ok => return Line::good(what, format!("it answers {source}")),
        QueryStatus::Denied => {
            format!(
                "on its machine: azolla peer list; {source} has to be a TASK_MGMT_AZOLLA there, and the clocks of both \
                 machines and of PostgreSQL have to be right"
            )
        }
        QueryStatus::TargetUnavailable => "on its machine: azolla up, azolla doctor".to_owned(),
    };
    Line::bad(what, asked.reason, fix)
}
