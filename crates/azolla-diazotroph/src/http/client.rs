//! The one client of a provider: built at its first use, no proxy, no redirect, no second sending of its own.

use std::{
    error::Error,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{Arc, OnceLock},
    time::Duration,
};

use reqwest::{
    Client, ClientBuilder, Response,
    dns::{Addrs, Name, Resolve, Resolving},
    header::HeaderMap,
    redirect::Policy,
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};

use super::endpoint::{Endpoint, is_refused};

/// What a program is called in the logs of a server.
const USER_AGENT: &str = concat!("azolla/", env!("CARGO_PKG_VERSION"));

/// Sends requests to one server.
#[derive(Debug)]
pub(crate) struct Http {
    endpoint: Endpoint,
    headers: HeaderMap,
    connect: Duration,
    client: OnceLock<Result<Client, String>>,
}

/// Why a request was not answered.
#[derive(Debug)]
pub(crate) enum NotSent {
    /// No client can be made on this machine, or no encrypted connection to this server: somebody acts first.
    Setup(String),
    /// No connection came about, so nothing was sent.
    Unreachable {
        /// What happened.
        cause: String,
        /// Nothing listens there.
        is_refused: bool,
    },
    /// The connection broke; how much the server got is not known.
    Broken(String),
}

/// What a request carries.
pub(crate) enum Body {
    /// Nothing: it asks for a list.
    None,
    /// A JSON document.
    Json(Vec<u8>),
}

impl Http {
    /// Remembers where and how to send. Nothing is opened.
    pub(crate) fn new(endpoint: Endpoint, headers: HeaderMap, connect: Duration) -> Self {
        Self { endpoint, headers, connect, client: OnceLock::new() }
    }

    /// Returns where requests go.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends a request and returns the head of the answer, whatever its status.
    pub(crate) async fn send(&self, path: &str, body: Body) -> Result<Response, NotSent> {
        let client = self.client.get_or_init(|| self.build()).as_ref();
        let client = client.map_err(|cause| NotSent::Setup(cause.clone()))?;
        let url = self.endpoint.at(path);
        let request = match body {
            Body::None => client.get(url),
            Body::Json(document) => {
                client.post(url).header("content-type", "application/json").body(document)
            }
        };
        request.headers(self.headers.clone()).send().await.map_err(|error| self.not_sent(&error))
    }

    fn build(&self) -> Result<Client, String> {
        let builder = ClientBuilder::new()
            .user_agent(USER_AGENT)
            .no_proxy()
            .redirect(Policy::none())
            // Each sending is counted (B-3) and allowed for beforehand, so nothing sends by itself.
            .retry(reqwest::retry::never())
            // Requests are minutes apart: a kept connection is mostly a dead one.
            .pool_max_idle_per_host(0)
            .connect_timeout(self.connect)
            .dns_resolver(Arc::new(Resolver));
        let builder = if self.endpoint.is_encrypted() {
            // Fails where another one is installed already, which then serves as well.
            let _ = ring::default_provider().install_default();
            builder.tls_backend_rustls()
        } else {
            // Nothing is encrypted here, so a machine without CA certificates is no obstacle.
            builder.tls_backend_preconfigured(trusting_nobody()?)
        };
        builder.build().map_err(|error| {
            format!("no encrypted connection can be made on this machine: {}", causes(&error))
        })
    }

    fn not_sent(&self, error: &reqwest::Error) -> NotSent {
        let host = self.endpoint.host();
        if let Some(tls) = source::<rustls::Error>(error) {
            return NotSent::Setup(format!("the encrypted connection to {host} fails: {tls}"));
        }
        let kind = source::<std::io::Error>(error).map(std::io::Error::kind);
        match kind {
            Some(std::io::ErrorKind::ConnectionRefused) if error.is_connect() => {
                NotSent::Unreachable { cause: format!("no server answers at {host}"), is_refused: true }
            }
            _ if error.is_connect() && error.is_timeout() => NotSent::Unreachable {
                cause: format!("no connection to {host} within {} s", self.connect.as_secs_f64()),
                is_refused: false,
            },
            _ if error.is_connect() => NotSent::Unreachable {
                cause: format!("no connection to {host}: {}", causes(error)),
                is_refused: false,
            },
            _ => NotSent::Broken(format!("the connection to {host} broke: {}", causes(error))),
        }
    }
}

/// Returns the innermost of the causes, without the URL that the outer ones repeat.
pub(crate) fn causes(error: &dyn Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// Finds a cause of this type, also inside of errors of the system.
fn source<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => error.source(),
        };
    }
    None
}

fn trusting_nobody() -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

/// Finds the addresses of a name, without those that nothing may be sent to (T28).
struct Resolver;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let name = name.as_str().trim_end_matches('.').to_ascii_lowercase();
            if name == "localhost" {
                // Not asked for: http goes to this name, so it has to be this machine.
                let local = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
                return Ok(Box::new(local.map(|address| SocketAddr::new(address, 0)).into_iter()) as Addrs);
            }
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(allowed(&name, found)?.into_iter()) as Addrs)
        })
    }
}

/// Returns the addresses of a name that something may be sent to; there has to be one.
fn allowed(name: &str, found: impl Iterator<Item = SocketAddr>) -> Result<Vec<SocketAddr>, String> {
    let allowed: Vec<SocketAddr> = found.filter(|address| !is_refused(address.ip())).collect();
    if allowed.is_empty() {
        return Err(format!("{name} has only link-local or metadata addresses"));
    }
    Ok(allowed)
}

#[cfg(test)]
mod tests;
