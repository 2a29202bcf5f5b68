//! Who asks: a peer or the operator, by a bearer token, on this machine too (R12). Who it is comes from the token alone.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};
use azolla_exchange_membrane::query::Source;

use super::{answer::ApiError, app::App, log::Kind, metrics::Counter};
use crate::token::TokenHash;

/// Who may ask for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Anybody who reaches the server.
    Open,
    /// A peer of the registry.
    Peer,
    /// The operator.
    Operator,
    /// The operator, and without a token whoever is on this machine.
    OperatorOrHere,
}

/// Who asks.
#[derive(Clone, Debug)]
pub(super) enum Caller {
    /// It was not asked for.
    Anybody,
    /// A peer, proved.
    Peer(Source),
    /// The operator, proved.
    Operator,
}

/// Finds out who asks for something that needs `access`, or refuses.
pub(super) async fn check(
    app: &App,
    access: Access,
    headers: &HeaderMap,
    remote: IpAddr,
) -> Result<Caller, ApiError> {
    let token = bearer(headers);
    let proved = match access {
        Access::Open => Some(Caller::Anybody),
        Access::Peer => match token {
            Some(token) => app.peer_of(&token).await?.map(Caller::Peer),
            None => None,
        },
        Access::Operator => is_operator(app, token).then_some(Caller::Operator),
        Access::OperatorOrHere if token.is_none() && is_here(headers, remote) => Some(Caller::Anybody),
        Access::OperatorOrHere => is_operator(app, token).then_some(Caller::Operator),
    };
    proved.ok_or_else(|| match access {
        Access::Peer => refuse(app, remote, "peer", "a peer"),
        Access::Open | Access::Operator | Access::OperatorOrHere => {
            refuse(app, remote, "operator", "the operator")
        }
    })
}

/// Refuses who is no MCP client. The operator's token is none: an agent has no use for it, and must not hold it.
pub(super) fn check_mcp(app: &App, headers: &HeaderMap, remote: IpAddr) -> Result<(), ApiError> {
    match bearer(headers) {
        Some(token) if app.mcp.token.is(&token) => Ok(()),
        _ => Err(refuse(app, remote, "mcp", "MCP clients")),
    }
}

fn refuse(app: &App, remote: IpAddr, label: &'static str, whose: &str) -> ApiError {
    app.metrics.count(Counter::Unauthorized, label);
    app.log.line(Kind::Unauthorized, &format!("refused {remote}: it showed no token of {whose}"));
    ApiError::unauthorized()
}

fn is_operator(app: &App, token: Option<TokenHash>) -> bool {
    token.is_some_and(|token| app.operator.is(&token))
}

/// Tells whether a request comes from this machine, and not from a proxy on it that asks for somebody else.
fn is_here(headers: &HeaderMap, remote: IpAddr) -> bool {
    const OF_PROXIES: [&str; 6] =
        ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"];
    remote.to_canonical().is_loopback() && !OF_PROXIES.iter().any(|name| headers.contains_key(*name))
}

/// Returns the hash of the one bearer token of a request.
fn bearer(headers: &HeaderMap) -> Option<TokenHash> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (only, None) = (values.next()?, values.next()) else { return None };
    let (scheme, token) = only.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| TokenHash::of(token))
}
