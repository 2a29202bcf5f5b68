//! TLS to PostgreSQL: a real server that takes nothing else, its certificate, and what is refused about it.

use std::{path::Path, sync::Arc, time::Duration};

use azolla_protocol::{Actor, AzollaType};
use azolla_substrate::{
    Commit, CommitOutcome, Opening, PostgresReader, PostgresSubstrate, Substrate, SubstrateError, Write,
};
use azolla_testkit::{
    SequentialIds,
    cycle::valid,
    postgres::PrivateCluster,
    store::{azolla_id, identity},
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::refusal;
use crate::seed::new_capture;

/// Longer than a busy machine takes, far shorter than for ever.
const PATIENCE: Duration = Duration::from_secs(30);

async fn open(address: &str) -> Result<Arc<dyn Substrate>, SubstrateError> {
    let opening = Opening::OrCreate(identity(AzollaType::TaskMgmt));
    Ok(Arc::new(PostgresSubstrate::open(address, &azolla_id(), opening).await?))
}

/// The address of a server here under a name that only its certificate knows.
fn address(host: &str, port: u16, parameters: &str) -> String {
    format!("postgres://postgres@{host}:{port}/postgres?hostaddr=127.0.0.1{parameters}")
}

/// A certificate of an authority, one of a server that it signed, and the server's key; all in PEM form.
fn signed(name: &str) -> [String; 3] {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let (authority_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let certificate = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(authority, authority_key);
    let server = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    [certificate, server.pem(), key.serialize_pem()]
}

/// A certificate that a server made for itself, as the usual command does: it says that it is an authority.
fn self_signed(name: &str) -> [String; 2] {
    let key = KeyPair::generate().unwrap();
    let mut server = CertificateParams::new(vec![name.to_owned()]).unwrap();
    server.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    [server.self_signed(&key).unwrap().pem(), key.serialize_pem()]
}

async fn commits(store: &Arc<dyn Substrate>, ids: &SequentialIds) {
    let note = valid(new_capture(ids, "note", store.now().await.unwrap()));
    let commit = Commit::new(ids.commit_id(), Actor::Operator).with(Write::InsertCapture(note));
    assert_eq!(store.commit(commit).await.unwrap(), CommitOutcome::Done);
}

fn written(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_works_by_tls_and_the_certificate_is_verified() {
    let (cluster, directory) = (PrivateCluster::start().unwrap(), tempfile::TempDir::new().unwrap());
    let [authority, certificate, key] = signed("db.test");
    let root = written(directory.path(), "ca.crt", &authority);
    let port = cluster.listen(Some((&certificate, &key))).unwrap();
    for mode in ["verify-full", "require", "prefer"] {
        let known = address("db.test", port, &format!("&sslmode={mode}&sslrootcert={root}"));
        let (store, ids) = (open(&known).await.unwrap(), SequentialIds::default());
        if mode == "verify-full" {
            commits(&store, &ids).await;
            // Every connection goes that way: the pool, the notices to others, and who listens for them.
            let other = open(&known).await.unwrap();
            let mut changes = other.changes();
            changes.mark_unchanged();
            commits(&store, &ids).await;
            tokio::time::timeout(PATIENCE, changes.changed()).await.expect("it heard of the commit").unwrap();
            PostgresReader::open(&known, &identity(AzollaType::TaskMgmt)).await.map(drop).unwrap();
        }
        assert_eq!(store.read().count_pending_captures().await.unwrap(), 2, "{mode}");
    }

    // The server takes nothing in the clear, so all of that was encrypted.
    let text = refusal(open(&address("db.test", port, "&sslmode=disable")).await);
    assert_eq!(text, "the server refused the user or the password; correct the store's address");
    let other_name = address("other.test", port, &format!("&sslmode=require&sslrootcert={root}"));
    let text = refusal(open(&other_name).await);
    assert!(text.starts_with("the certificate of the store's server is not valid for it: "), "{text}");
    assert!(text.ends_with("in the store's address: ?sslrootcert=/path/to/ca.crt"), "{text}");
    // By the authorities of the system, whichever they are, it is not known. To prefer TLS is not to take any.
    for mode in ["verify-full", "require", "prefer"] {
        let text = refusal(open(&address("db.test", port, &format!("&sslmode={mode}"))).await);
        let unknown = text.contains("UnknownIssuer") || text.contains("has no certificate to verify");
        assert!(unknown, "{mode}: {text}");
    }
    let [stranger, _, _] = signed("db.test");
    let stranger = written(directory.path(), "stranger.crt", &stranger);
    let text =
        refusal(open(&address("db.test", port, &format!("&sslmode=require&sslrootcert={stranger}"))).await);
    assert!(text.starts_with("the certificate of the store's server is not valid for it: "), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_the_server_made_for_itself_is_trusted_by_name() {
    let (cluster, directory) = (PrivateCluster::start().unwrap(), tempfile::TempDir::new().unwrap());
    let [certificate, key] = self_signed("db.test");
    let own = written(directory.path(), "server.crt", &certificate);
    let port = cluster.listen(Some((&certificate, &key))).unwrap();
    let store =
        open(&address("db.test", port, &format!("&sslmode=verify-full&sslrootcert={own}"))).await.unwrap();
    commits(&store, &SequentialIds::default()).await;

    // Not under another name, and not the one that another server made for itself under this one.
    let [stranger, _] = self_signed("db.test");
    let stranger = written(directory.path(), "stranger.crt", &stranger);
    for (host, file) in [("other.test", &own), ("db.test", &stranger)] {
        let text = refusal(open(&address(host, port, &format!("&sslmode=require&sslrootcert={file}"))).await);
        assert!(text.starts_with("the certificate of the store's server is not valid for it: "), "{text}");
    }
}

/// A server without TLS says so in one byte.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_not_spoken_to_in_the_clear() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (heard, mut words) = tokio::sync::mpsc::unbounded_channel();
    let server = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 8];
            if stream.read_exact(&mut request).await.is_ok() && stream.write_all(b"N").await.is_ok() {
                let mut after = Vec::new();
                let _ = stream.read_to_end(&mut after).await;
                let _ = heard.send(after.len());
            }
        }
    });
    let directory = tempfile::TempDir::new().unwrap();
    let root = written(directory.path(), "ca.crt", &signed("db.test")[0]);
    let text =
        refusal(open(&address("db.test", port, &format!("&sslmode=require&sslrootcert={root}"))).await);
    assert!(text.starts_with("the server of the store has no TLS; turn it on there, "), "{text}");
    let after = tokio::time::timeout(PATIENCE, words.recv()).await.expect("the connection ends");
    assert_eq!(after, Some(0), "nothing was said to it");
    server.abort();
}
