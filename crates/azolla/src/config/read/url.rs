//! Where a key may be sent (T28): by https, or to this machine. What is written in an unusual way is refused rather
//! than understood: another reader might understand it in another way.

use std::net::{IpAddr, Ipv6Addr};

/// Whose the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// On this machine.
    Local,
    /// Elsewhere.
    Elsewhere,
}

/// Why a URL is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    /// It cannot be one.
    #[error("is not a URL that is understood here")]
    Malformed,
    /// Anybody on the way could read the key.
    #[error("must be https, unless it is of this machine")]
    Plain,
    /// It holds what belongs elsewhere.
    #[error("must not hold a user or a password: use key_env or key_file")]
    Password,
    /// An address at which a network hands out credentials.
    #[error("is a link-local address or one for a machine's metadata")]
    LinkLocal,
}

impl Refused {
    /// Returns what a good one looks like.
    pub(super) fn help(self) -> &'static str {
        match self {
            Self::Malformed => "such as https://host/path, without ? and #",
            Self::Plain => "https://…, or http://127.0.0.1:11434/v1",
            Self::Password | Self::LinkLocal => "https://…",
        }
    }
}

/// Judges the base URL of a server.
pub(super) fn check(text: &str) -> Result<Host, Refused> {
    let (scheme, rest) = text.split_once("://").ok_or(Refused::Malformed)?;
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()));
    if authority.contains('@') {
        return Err(Refused::Password);
    }
    let is_plain_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%:".contains(&byte);
    if !path.bytes().all(is_plain_path) {
        return Err(Refused::Malformed);
    }
    let host = host(authority)?;
    match (scheme, host) {
        ("https", host) | ("http", host @ Host::Local) => Ok(host),
        ("http", Host::Elsewhere) => Err(Refused::Plain),
        _ => Err(Refused::Malformed),
    }
}

fn host(authority: &str) -> Result<Host, Refused> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (address, port) = rest.split_once(']').ok_or(Refused::Malformed)?;
        check_port(port)?;
        let address: Ipv6Addr = address.parse().map_err(|_| Refused::Malformed)?;
        return judge(address.to_canonical());
    }
    let (name, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
    check_port(port)?;
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if !name.split('.').all(is_label) {
        return Err(Refused::Malformed);
    }
    // A name whose last part begins with a digit is a number to some readers, in one of many bases.
    let last = name.rsplit('.').next().unwrap_or_default();
    if last.starts_with(|first: char| first.is_ascii_digit()) {
        return judge(name.parse().map_err(|_| Refused::Malformed)?);
    }
    match name.to_ascii_lowercase().as_str() {
        "localhost" => Ok(Host::Local),
        "metadata" | "metadata.google.internal" | "metadata.goog" | "instance-data" => {
            Err(Refused::LinkLocal)
        }
        _ => Ok(Host::Elsewhere),
    }
}

fn check_port(port: &str) -> Result<(), Refused> {
    let number = port.strip_prefix(':');
    let is_good =
        |number: &str| number.bytes().all(|byte| byte.is_ascii_digit()) && number.parse::<u16>().is_ok();
    if port.is_empty() || number.is_some_and(is_good) { Ok(()) } else { Err(Refused::Malformed) }
}

/// The addresses beside the link-local ones at which clouds serve a machine's metadata.
const METADATA: [IpAddr; 3] = [
    IpAddr::V4(std::net::Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

fn judge(address: IpAddr) -> Result<Host, Refused> {
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    if is_link_local || METADATA.contains(&address) {
        return Err(Refused::LinkLocal);
    }
    if address.is_unspecified() || address.is_multicast() {
        return Err(Refused::Malformed);
    }
    Ok(if address.is_loopback() { Host::Local } else { Host::Elsewhere })
}

#[cfg(test)]
mod tests;
