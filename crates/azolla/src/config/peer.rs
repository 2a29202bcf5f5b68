//! What `[peer.<id>]` and `[http]` say: the azollas of other machines (Y-1), and how this one answers them.

use std::{net::SocketAddr, path::PathBuf};

use azolla_protocol::{AzollaId, AzollaType};

use super::KeyFrom;

/// Where the program listens if nothing else is said: on this machine alone.
pub(crate) const LISTEN_DEFAULT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7517);

/// One azolla of another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PeerConfig {
    /// Its id.
    pub(crate) id: AzollaId,
    /// Its blueprint, which says what it may read here (M-2).
    pub(crate) azolla_type: AzollaType,
    /// Where it is asked; none for one that only asks.
    pub(crate) url: Option<String>,
    /// Where the token comes from that it is asked with; always there with a URL.
    pub(crate) token: Option<KeyFrom>,
    /// The certificates that its server is known by, if not those that the system trusts.
    pub(crate) ca_file: Option<PathBuf>,
}

/// How this machine answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpConfig {
    /// Where it listens.
    pub(crate) listen: SocketAddr,
    /// Its certificate and key; without them nothing is encrypted.
    pub(crate) tls: Option<TlsFiles>,
    /// Whether it may listen to other machines without encryption.
    pub(crate) allow_insecure: bool,
    /// Names that it is reached by, besides those of this machine itself.
    pub(crate) hosts: Vec<String>,
}

/// The files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// The certificate and those above it, in PEM.
    pub(crate) cert: PathBuf,
    /// Its key, in PEM.
    pub(crate) key: PathBuf,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self { listen: LISTEN_DEFAULT, tls: None, allow_insecure: false, hosts: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
