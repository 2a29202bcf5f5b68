//! One azolla of another machine. Whatever its server does, it costs a bounded answer and a bounded time, and an answer
//! that is not exactly what was asked for is none (P16).

use std::{
    error::Error,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use azolla_exchange_membrane::peers::Asked;
use azolla_protocol::{
    AzollaId, JsonObject, Objective, PauseState, QueryStatus, QueryableType, SubstrateQuery,
    SubstrateQueryResponse, Validated, limits,
};
use reqwest::{
    Client, ClientBuilder, Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    redirect::Policy,
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio::task::spawn_blocking;

use crate::{
    config::{KeyFrom, Limits, PeerConfig},
    http::QUERY_WINDOW_MS,
};

const USER_AGENT: &str = concat!("azolla/", env!("CARGO_PKG_VERSION"));

/// The most results that any filter can ask for.
const RESULTS_MAX: usize = 500;

/// One azolla of another machine.
pub(super) struct Remote {
    id: AzollaId,
    url: String,
    time: Duration,
    bytes_max: u64,
    means: Arc<Means>,
}

/// What a peer is asked with. It is read from files anew for every query, so that what was put right counts at once.
struct Means {
    token: KeyFrom,
    is_encrypted: bool,
    /// The certificates that the peer is known by, if not those of the system.
    ca_file: Option<PathBuf>,
    shared: Arc<Clients>,
}

/// The clients that peers share, each made at its first use. One that could not be made is tried again.
#[derive(Default)]
pub(super) struct Clients {
    system: Mutex<Option<Client>>,
    plain: Mutex<Option<Client>>,
}

impl Remote {
    /// Remembers where and how to ask; none for a peer that is not asked.
    pub(super) fn new(peer: &PeerConfig, configured: &Limits, shared: &Arc<Clients>) -> Option<Self> {
        let (Some(base), Some(token)) = (&peer.url, &peer.token) else { return None };
        let means = Means {
            token: token.clone(),
            is_encrypted: base.starts_with("https:"),
            ca_file: peer.ca_file.clone(),
            shared: shared.clone(),
        };
        Some(Self {
            url: format!("{base}/v1/azollas/{}/substrate/query", peer.id),
            time: Duration::from_millis(configured.get(&limits::PEER_QUERY_MS)),
            bytes_max: configured.get(&limits::PEER_ANSWER_BYTES),
            id: peer.id.clone(),
            means: Arc::new(means),
        })
    }

    /// Returns its id.
    pub(super) fn id(&self) -> &AzollaId {
        &self.id
    }

    /// Asks it.
    pub(super) async fn ask(&self, query: &SubstrateQuery) -> Asked {
        match self.answer(query).await {
            Ok(response) if response.status == QueryStatus::Denied && are_apart(query, &response) => Asked {
                reason: "it refused the query: its clock and ours are more than 5 minutes apart".to_owned(),
                ..super::asked(response)
            },
            Ok(response) => super::asked(response),
            Err(reason) => Asked::unavailable(reason),
        }
    }

    async fn answer(&self, query: &SubstrateQuery) -> Result<SubstrateQueryResponse, String> {
        let query = Validated::new(query.clone()).map_err(|broken| format!("the query is none: {broken}"))?;
        let bytes = tokio::time::timeout(self.time, self.send(&query)).await;
        let bytes = bytes.map_err(|_| format!("it did not answer within {} ms", self.time.as_millis()))??;
        let response = Validated::<SubstrateQueryResponse>::parse(&bytes);
        let response = response.map_err(|_| "its answer is no substrate_query_response".to_owned())?;
        check(&query, &response)?;
        Ok(response.into_inner())
    }

    /// Sends the query and returns the answer's body, up to its limit.
    async fn send(&self, query: &Validated<SubstrateQuery>) -> Result<Vec<u8>, String> {
        let means = self.means.clone();
        let ready = spawn_blocking(move || Ok::<_, String>((means.bearer()?, means.client()?))).await;
        let (bearer, client) = ready.map_err(|_| "nothing could be prepared here".to_owned())??;
        let request = client
            .post(&self.url)
            .header(AUTHORIZATION, bearer)
            .header(CONTENT_TYPE, "application/json")
            .body(query.document().to_owned());
        let response = request.send().await.map_err(|error| unreachable(&error))?;
        match response.status() {
            StatusCode::OK => self.read(response).await,
            StatusCode::UNAUTHORIZED => Err("it does not take our token".to_owned()),
            status => Err(format!("it answered with HTTP {}", status.as_u16())),
        }
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, String> {
        let too_large = || format!("its answer has more than {} bytes", self.bytes_max);
        if response.content_length().is_some_and(|length| length > self.bytes_max) {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if (bytes.len() + chunk.len()) as u64 > self.bytes_max => {
                    return Err(too_large());
                }
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Ok(None) => return Ok(bytes),
                Err(_) => return Err("its answer was cut off".to_owned()),
            }
        }
    }
}

impl Means {
    /// Returns the header that proves who asks.
    fn bearer(&self) -> Result<HeaderValue, String> {
        let token = self.token.read(|name| std::env::var_os(name)).map_err(|error| error.to_string())?;
        let mut bearer = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| format!("{} holds no token", self.token))?;
        bearer.set_sensitive(true);
        Ok(bearer)
    }

    /// Returns the client that the peer is asked with: one for all whose server the system vouches for, and one for all
    /// that are not encrypted. To read the system's certificates takes longer than to ask.
    fn client(&self) -> Result<Client, String> {
        match (&self.ca_file, self.is_encrypted) {
            (Some(path), true) => {
                let trusting_one = trusting_one(path)?;
                build(|builder| builder.tls_backend_preconfigured(trusting_one))
            }
            (None, true) => made_once(&self.shared.system, || {
                // Whoever comes first sets it; every other one is the same.
                let _ = ring::default_provider().install_default();
                build(ClientBuilder::tls_backend_rustls)
            }),
            // Nothing is encrypted here, so a machine without CA certificates is no obstacle.
            (_, false) => made_once(&self.shared.plain, || {
                let nobody = trusting(RootCertStore::empty())?;
                build(|builder| builder.tls_backend_preconfigured(nobody))
            }),
        }
    }
}

fn made_once(
    place: &Mutex<Option<Client>>,
    make: impl FnOnce() -> Result<Client, String>,
) -> Result<Client, String> {
    let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
    match &*place {
        Some(client) => Ok(client.clone()),
        None => Ok(place.insert(make()?).clone()),
    }
}

/// Trusts the certificates of a file, and no others.
fn trusting_one(path: &Path) -> Result<ClientConfig, String> {
    let unusable = || format!("{} holds no certificate that can be used", path.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|_| unusable())? {
        roots.add(certificate.map_err(|_| unusable())?).map_err(|_| unusable())?;
    }
    if roots.is_empty() { Err(unusable()) } else { trusting(roots) }
}

fn build(with_tls: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Result<Client, String> {
    let local = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let builder = ClientBuilder::new()
        .user_agent(USER_AGENT)
        .no_proxy()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        // Queries are minutes apart: a kept connection is mostly a dead one.
        .pool_max_idle_per_host(0)
        // http goes to this name, so it has to be this machine.
        .resolve_to_addrs("localhost", &local.map(|address| SocketAddr::new(address, 0)));
    let made = with_tls(builder).build();
    made.map_err(|error| format!("no connection can be made here: {}", innermost(&error)))
}

fn trusting(roots: RootCertStore) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Tells whether the query cannot count by the clock of the one that answered. It is not told so; the two times tell.
fn are_apart(query: &SubstrateQuery, response: &SubstrateQueryResponse) -> bool {
    let apart = query.created_at.as_millisecond().abs_diff(response.created_at.as_millisecond());
    apart > QUERY_WINDOW_MS.unsigned_abs()
}

/// Refuses an answer to something else, or with results that were not asked for.
fn check(query: &SubstrateQuery, response: &SubstrateQueryResponse) -> Result<(), String> {
    if response.query_id != query.query_id {
        return Err("it answered another query".to_owned());
    }
    if response.target_azolla_id != query.target_azolla_id {
        return Err("another azolla answered".to_owned());
    }
    if response.status != QueryStatus::Ok {
        return Ok(());
    }
    let limit = query.filter.get("limit").and_then(serde_json::Value::as_u64);
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(RESULTS_MAX);
    if response.results.len() > limit {
        return Err("it answered with more than was asked for".to_owned());
    }
    response.results.iter().try_for_each(|result| check_result(query, result))
}

fn check_result(query: &SubstrateQuery, result: &JsonObject) -> Result<(), String> {
    let broken =
        |rule: &dyn std::fmt::Display| format!("it answered with what is no {}: {rule}", query.artifact_type);
    let value = serde_json::Value::Object(result.clone());
    let azolla_id = match query.artifact_type {
        QueryableType::PauseState => {
            Validated::<PauseState>::from_value(value).map_err(|error| broken(&error))?.into_inner().azolla_id
        }
        QueryableType::Objective => {
            Validated::<Objective>::from_value(value).map_err(|error| broken(&error))?.into_inner().azolla_id
        }
        QueryableType::BlockerRef => return Err("it answered what nobody may ask".to_owned()),
    };
    if azolla_id == query.target_azolla_id {
        Ok(())
    } else {
        Err("it answered with what belongs to another azolla".to_owned())
    }
}

fn unreachable(error: &reqwest::Error) -> String {
    let cause = innermost(error);
    match (error.is_connect(), error.is_timeout()) {
        (true, true) => "no connection in time".to_owned(),
        (true, false) => format!("no connection: {cause}"),
        _ => format!("the connection broke: {cause}"),
    }
}

/// Returns the innermost of the causes, without the URL that the outer ones repeat.
fn innermost(error: &dyn Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

#[cfg(test)]
mod tests;
