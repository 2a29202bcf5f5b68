//! Where requests may go (T28): https anywhere, http to this machine, and never to an address that hands out
//! credentials to whoever asks from inside.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

/// Names under which clouds serve the credentials of a machine.
const METADATA_NAMES: [&str; 4] = ["metadata", "metadata.google.internal", "metadata.goog", "instance-data"];

/// Addresses beside the link-local ones under which they do.
const METADATA_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192)];
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// A base URL that keeps the rules.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    base: Url,
    is_local: bool,
}

impl Endpoint {
    /// Takes a base URL, or says which rule it breaks. The URL itself is not repeated: a password may be in it.
    pub(crate) fn new(base_url: &str) -> Result<Self, String> {
        let base = Url::parse(base_url.trim()).map_err(|error| format!("is no URL: {error}"))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err("must begin with https:// (or http:// for this machine)".to_owned());
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err("must not hold a user or a password; a key comes from key_env or key_file".to_owned());
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err("must not have a `?` or a `#` part".to_owned());
        }
        let is_local = match base.host_str().map(host) {
            Some(Host::Refused) => {
                return Err("must not be a link-local or metadata address".to_owned());
            }
            Some(Host::Local) => true,
            Some(Host::Other) => false,
            None => return Err("names no host".to_owned()),
        };
        if base.scheme() == "http" && !is_local {
            return Err("must be https://; http:// is for 127.0.0.1, [::1] and localhost alone".to_owned());
        }
        Ok(Self { base, is_local })
    }

    /// Returns the URL of a path below the base.
    pub(crate) fn at(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        url
    }

    /// Tells whether the server is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.is_local
    }

    /// Tells whether the connection is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// Tells whether the path of the base ends in this segment.
    pub(crate) fn ends_with(&self, segment: &str) -> bool {
        self.base.path().trim_end_matches('/').rsplit('/').next() == Some(segment)
    }

    /// Returns the host, and the port where it is not the usual one.
    pub(crate) fn host(&self) -> String {
        authority(&self.base)
    }

    /// Returns the base as text.
    pub(crate) fn base(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }
}

/// Tells whether the server of a base URL is on this machine, or which rule the URL breaks (T28). These are the rules
/// that a provider is made by; the URL itself is not repeated.
pub fn check_base_url(base_url: &str) -> Result<bool, String> {
    Endpoint::new(base_url).map(|endpoint| endpoint.is_local())
}

/// Returns the host of a URL, and the port where it is not the usual one.
pub(crate) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Tells whether nothing may be sent to an address, however it was found.
pub(super) fn is_refused(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            v4.is_link_local()
                || v4.octets()[0] == 0
                || v4.is_broadcast()
                || v4.is_multicast()
                || METADATA_V4.contains(&v4)
        }
        IpAddr::V6(v6) => {
            v6.is_unicast_link_local() || v6.is_unspecified() || v6.is_multicast() || v6 == METADATA_V6
        }
    }
}

/// What a host is, as far as the rules go.
enum Host {
    Local,
    Refused,
    Other,
}

fn host(name: &str) -> Host {
    let name = name.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase();
    if let Ok(address) = name.parse::<IpAddr>() {
        return match address.to_canonical() {
            address if address.is_loopback() => Host::Local,
            address if is_refused(address) => Host::Refused,
            _ => Host::Other,
        };
    }
    match name.as_str() {
        "localhost" => Host::Local,
        name if METADATA_NAMES.contains(&name) => Host::Refused,
        _ => Host::Other,
    }
}

#[cfg(test)]
mod tests;
