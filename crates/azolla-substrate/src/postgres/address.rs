//! The store's address: where the server is, and whether the way to it is encrypted. A server on another machine is
//! spoken to by TLS unless the address says otherwise, and a certificate is always verified: without that, whoever is
//! on the way could be the server.

use std::{net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use percent_encoding::percent_decode_str;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::ring,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};
use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::SubstrateError;

/// How long a connection may take.
pub(super) const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// An address that was read: what every connection of ours is made with.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

/// Reads an address.
pub(super) fn read_address(address: &str) -> Result<Address, SubstrateError> {
    let (rest, words) = take_words(address)?;
    let mut config: Config = rest.parse().map_err(|error: tokio_postgres::Error| {
        let reason = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        SubstrateError::unusable(
            format!("the store's address is not a PostgreSQL address: {reason}"),
            "write it as postgres://user@host/database",
        )
    })?;
    let mode = ssl_mode(&config, words.mode.as_deref())?;
    // Decisions are read from the primary only (R9), and a silent network ends by itself.
    config
        .ssl_mode(mode)
        .application_name("azolla")
        .target_session_attrs(TargetSessionAttrs::ReadWrite)
        .connect_timeout(CONNECT_LIMIT)
        .tcp_user_timeout(Duration::from_secs(15))
        .keepalives_idle(Duration::from_secs(30));
    let tls = match mode {
        SslMode::Disable => client_config(RootCertStore::empty(), Vec::new()),
        _ => trusted(words.root.as_deref())?,
    };
    Ok(Address { config, tls: MakeRustlsConnect::new(tls) })
}

/// What the driver does not know, or knows in another way.
#[derive(Default)]
struct Words {
    mode: Option<String>,
    root: Option<String>,
}

/// Takes `sslmode` and `sslrootcert` out of an address.
fn take_words(address: &str) -> Result<(String, Words), SubstrateError> {
    let mut words = Words::default();
    let Some((place, parameters)) = address.split_once('?') else { return Ok((address.into(), words)) };
    let mut kept = Vec::new();
    for parameter in parameters.split('&') {
        let word = match parameter.split_once('=') {
            Some(("sslmode", value)) => Some((&mut words.mode, value)),
            Some(("sslrootcert", value)) => Some((&mut words.root, value)),
            _ => None,
        };
        let Some((word, value)) = word else {
            kept.push(parameter);
            continue;
        };
        let value = percent_decode_str(value).decode_utf8().map_err(|_| {
            SubstrateError::unusable("the store's address holds bytes that are no text", "correct it")
        })?;
        *word = Some(value.into_owned());
    }
    let mark = if kept.is_empty() { "" } else { "?" };
    Ok((format!("{place}{mark}{}", kept.join("&")), words))
}

fn ssl_mode(config: &Config, word: Option<&str>) -> Result<SslMode, SubstrateError> {
    let over_socket = config.get_hosts().iter().any(|host| matches!(host, Host::Unix(_)));
    match word {
        None if is_near(config) => Ok(SslMode::Disable),
        Some("disable") => Ok(SslMode::Disable),
        Some("prefer" | "require" | "verify-full") if over_socket => Err(SubstrateError::unusable(
            "the store's address asks for TLS through a socket of this machine, which has none",
            "leave out sslmode",
        )),
        Some("prefer") => Ok(SslMode::Prefer),
        None | Some("require" | "verify-full") => Ok(SslMode::Require),
        Some(other) => Err(SubstrateError::unusable(
            format!("the store's address says sslmode={other}"),
            "say disable, prefer, require or verify-full; a certificate is always verified in full",
        )),
    }
}

/// Tells whether no network lies between: a socket, or an address of this machine.
fn is_near(config: &Config) -> bool {
    let is_local = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
    };
    match config.get_hostaddrs() {
        [] => config.get_hosts().iter().all(is_local),
        addresses => addresses.iter().all(IpAddr::is_loopback),
    }
}

/// What the certificate of the server is verified by: the authorities in a file, or those of this system.
fn trusted(file: Option<&str>) -> Result<ClientConfig, SubstrateError> {
    let (certificates, from) = match file {
        Some("system") | None => (rustls_native_certs::load_native_certs().certs, "this system".to_owned()),
        Some(file) => (read_certificates(file)?, file.to_owned()),
    };
    let mut roots = RootCertStore::empty();
    let (known, _) = roots.add_parsable_certificates(certificates.iter().cloned());
    if known == 0 {
        return Err(SubstrateError::unusable(
            format!("{from} has no certificate to verify the server of the store by"),
            "name a file of certificates in the store's address: ?sslrootcert=/path/to/ca.crt",
        ));
    }
    Ok(client_config(roots, if file.is_some() { certificates } else { Vec::new() }))
}

fn read_certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, SubstrateError> {
    let read = || CertificateDer::pem_file_iter(PathBuf::from(file))?.collect::<Result<Vec<_>, _>>();
    read().map_err(|error| {
        SubstrateError::unusable(
            format!("sslrootcert={file} cannot be read: {error}"),
            "name a file of certificates in PEM form",
        )
    })
}

fn client_config(roots: RootCertStore, pinned: Vec<CertificateDer<'static>>) -> ClientConfig {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone());
    let builder = builder.with_safe_default_protocol_versions().expect("ring has the default versions");
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let mut config = match verifier {
        Ok(authorities) => {
            let verifier = Arc::new(Verifier { authorities, pinned });
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
        // Without any authority: nothing is verified, and nothing is trusted.
        Err(_) => builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    config
}

/// Verifies by authorities; and a server's certificate that is itself in the named file needs none. That is how a
/// certificate that the server made for itself is trusted: as an authority it may not stand for a server.
#[derive(Debug)]
struct Verifier {
    authorities: Arc<WebPkiServerVerifier>,
    pinned: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.authorities.verify_server_cert(certificate, intermediates, name, ocsp_response, now);
        match verified {
            Err(Error::InvalidCertificate(CertificateError::Other(why)))
                if why.to_string().contains("CaUsedAsEndEntity")
                    && self.pinned.iter().any(|pinned| pinned.as_ref() == certificate.as_ref()) =>
            {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests;
