//! Where the server listens. To other machines only with encryption, or because the operator said otherwise, which is
//! on record (T26).

use std::{net::SocketAddr, os::unix::fs::MetadataExt, path::Path, sync::Arc};

use anyhow::Context;
use azolla_protocol::Clock;
use azolla_substrate::SystemClock;
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::{config::TlsFiles, deployment::Deployment, failure::Failure, home::Home, screen::remark};

/// A socket that waits for connections.
pub(crate) struct Listening {
    pub(super) listener: TcpListener,
    pub(super) tls: Option<TlsAcceptor>,
    /// Where.
    pub(crate) address: SocketAddr,
}

impl Listening {
    /// Tells whether connections are encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Returns the URL that a browser finds the server by: where it listens to every address, by a name of its own.
    pub(crate) fn link(&self, deployment: &Deployment) -> String {
        link(deployment, self.address, self.is_encrypted())
    }

    /// Returns the URL of the server.
    pub(crate) fn url(&self) -> String {
        format!("{}://{}", scheme(self.is_encrypted()), self.address)
    }
}

fn scheme(encrypted: bool) -> &'static str {
    if encrypted { "https" } else { "http" }
}

fn link(deployment: &Deployment, address: SocketAddr, encrypted: bool) -> String {
    let scheme = scheme(encrypted);
    if !address.ip().is_unspecified() {
        return format!("{scheme}://{address}");
    }
    let name = deployment.config.http.hosts.first().map_or("localhost", String::as_str);
    let name = if name.contains(':') { format!("[{name}]") } else { name.to_owned() };
    format!("{scheme}://{name}:{}", address.port())
}

/// Listens at `listen`, or where the configuration says.
pub(crate) async fn bind(deployment: &Deployment, listen: Option<SocketAddr>) -> anyhow::Result<Listening> {
    let http = &deployment.config.http;
    let address = listen.unwrap_or(http.listen);
    let is_exposed = !address.ip().to_canonical().is_loopback() && http.tls.is_none();
    if is_exposed && !http.allow_insecure {
        let config = deployment.place.config.display();
        let what = format!("other machines reach {address}, and nothing there would be encrypted");
        return Err(Failure::refused(what)
            .hint(format!(
                "set tls_cert and tls_key under [http] in {config}, or listen at 127.0.0.1; \
                 allow_insecure = true there listens all the same, which is recorded"
            ))
            .into());
    }
    let tls = http.tls.as_ref().map(acceptor).transpose()?;
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let failure = Failure::new(format!("nothing can listen at {address}: {error}"));
        if error.kind() != std::io::ErrorKind::AddrInUse {
            return failure.hint("name another address: azolla up --listen 127.0.0.1:0");
        }
        // Who listens there is not asked: to prove anything, the token would have to be shown to whoever it is.
        failure.hint(format!(
            "if that is azolla up already, open {} and log in with the token in {}; otherwise end what listens there, or \
             name another address: azolla up --listen 127.0.0.1:0",
            link(deployment, address, tls.is_some()),
            deployment.place.operator_token().display()
        ))
    })?;
    let address = listener.local_addr()?;
    if is_exposed {
        Home::open(&deployment.place.home_store())?.expose(&address.to_string(), SystemClock.now())?;
        remark(&format!(
            "warning: other machines reach {address}, and nothing is encrypted (allow_insecure)"
        ));
    }
    Ok(Listening { listener, tls, address })
}

fn acceptor(files: &TlsFiles) -> anyhow::Result<TlsAcceptor> {
    let config = server_config(files).map_err(|error| {
        Failure::new(format!("no encrypted connection can be offered: {error:#}"))
            .hint("correct tls_cert and tls_key under [http]; both are PEM files")
    })?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn server_config(files: &TlsFiles) -> anyhow::Result<ServerConfig> {
    let named = |path: &Path| path.display().to_string();
    let certificates = CertificateDer::pem_file_iter(&files.cert)
        .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
        .with_context(|| format!("{} cannot be read", named(&files.cert)))?;
    anyhow::ensure!(!certificates.is_empty(), "{} holds no certificate", named(&files.cert));
    let mode =
        std::fs::metadata(&files.key).with_context(|| format!("{} cannot be read", named(&files.key)))?;
    anyhow::ensure!(mode.mode() & 0o007 == 0, "{} can be read by everybody", named(&files.key));
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|_| anyhow::anyhow!("{} holds no private key", named(&files.key)))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let mut config = builder
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
