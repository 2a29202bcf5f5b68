//! Where a key goes, and where it does not (T28).

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::Arc,
};

use azolla_diazotroph::provider::{
    AnthropicProvider, AnthropicSettings, AnthropicVersion, CONNECT_TIMEOUT, InvalidSettings, MAX_TOKENS,
    ModelSettings, STALL_TIMEOUT, Secret,
};
use azolla_protocol::{AnswerForm, FailureKind};
use rustls::{
    ServerConfig, ServerConnection,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use super::{
    desk::{CANARY, Desk, KINDS},
    server::{Server, status, stream},
};

/// Settings as an operator may write them.
fn settings() -> ModelSettings {
    ModelSettings {
        name: "models".into(),
        base_url: "https://api.example.com".into(),
        model: "m-1".into(),
        key: Some(Secret::new(format!(" {CANARY}\n"), "MODEL_KEY")),
        form: AnswerForm::SearchReplace,
        max_tokens: MAX_TOKENS,
        temperature: None,
        retries_max: 8,
        input_microusd_per_million: None,
        output_microusd_per_million: None,
        stall_timeout: STALL_TIMEOUT,
        connect_timeout: CONNECT_TIMEOUT,
    }
}

fn made(api: ModelSettings, version: AnthropicVersion) -> Result<AnthropicProvider, InvalidSettings> {
    AnthropicProvider::new(AnthropicSettings { api, version })
}

#[test]
fn t28_t29_settings_that_break_a_rule_are_refused_without_the_key() {
    const VERSION: AnthropicVersion = AnthropicVersion::V2023_06_01;
    assert!(made(settings(), VERSION).is_ok());
    let key = |text: &str| Some(Secret::new(text.to_owned(), "MODEL_KEY"));
    let all = settings;
    let cases = [
        (ModelSettings { base_url: "http://api.example.com".into(), ..all() }, "base_url: must be https://"),
        (
            ModelSettings { base_url: "http://169.254.169.254".into(), ..all() },
            "base_url: must not be a link-local",
        ),
        (
            ModelSettings { base_url: format!("https://u:{CANARY}@x"), ..all() },
            "base_url: must not hold a user",
        ),
        (ModelSettings { form: AnswerForm::Files, ..all() }, "form: "),
        (ModelSettings { model: " ".into(), ..all() }, "model: is empty"),
        (ModelSettings { max_tokens: 0, ..all() }, "max_tokens: "),
        (ModelSettings { temperature: Some(-0.1), ..all() }, "temperature: must be from 0 to 2"),
        (ModelSettings { temperature: Some(1.5), ..all() }, "temperature: must be from 0 to 1"),
        (ModelSettings { temperature: Some(f64::NAN), ..all() }, "temperature: must be from 0 to 2"),
        (ModelSettings { input_microusd_per_million: Some(1), ..all() }, "a price for tokens sent"),
        (ModelSettings { key: key(""), ..all() }, "the key from MODEL_KEY is empty"),
        (
            ModelSettings { key: key(&format!("{CANARY}\r\nx-evil: 1")), ..all() },
            "the key from MODEL_KEY holds blanks",
        ),
        (ModelSettings { key: key(&format!("{CANARY}é")), ..all() }, "the key from MODEL_KEY holds blanks"),
    ];
    for (settings, what) in cases {
        assert!(!format!("{settings:?}").contains("x-evil"), "{settings:?}");
        let refused = made(settings, VERSION).unwrap_err();
        assert!(refused.what.starts_with(what), "{refused}");
        assert!(!format!("{refused} {refused:?}").contains(CANARY), "{refused}");
    }
    let cold = ModelSettings { temperature: Some(0.0), ..all() };
    let refused = made(cold, AnthropicVersion::V2026_10_21).unwrap_err();
    assert!(refused.what.starts_with("temperature: version 2026-10-21 takes none"), "{refused}");
}

/// T28: the other server is there and would take the request.
#[tokio::test]
async fn t28_a_redirect_is_not_followed_and_its_host_is_named() {
    for kind in KINDS {
        for code in [301, 302, 303, 307, 308] {
            let other = Server::start(vec![stream(kind.answer("caught"))]).await;
            let location = format!("location: {}/v1/messages?key={CANARY}\r\n", other.url());
            let server = Server::start(vec![status(code, &location, "")]).await;
            let ran = Desk::new(kind, &server).run().await;
            let told = format!(
                "the server at {} redirects ({code}) to {}, which is not followed; if that is right, correct \
                 base_url of provider models",
                server.address(),
                other.address()
            );
            assert_eq!(ran.failed(FailureKind::Setup), told);
            assert_eq!((ran.counts(), other.asked().len()), ((1, 0), 0));
        }
        let server = Server::start(vec![status(302, "location: http://[broken\r\n", "")]).await;
        assert!(Desk::new(kind, &server).run().await.failed(FailureKind::Setup).contains("to nowhere,"));
    }
}

#[tokio::test]
async fn t28_localhost_is_this_machine() {
    for kind in KINDS {
        let server = Server::start(vec![stream(kind.answer("here"))]).await;
        let root = format!("http://localhost:{}", server.address().port());
        assert_eq!(Desk::at(kind, root).run().await.text(), "here");
    }
}

/// T28: nobody vouches for the certificate, so the key is not sent.
#[tokio::test(flavor = "multi_thread")]
async fn t28_a_certificate_that_nobody_vouches_for_ends_it() {
    for kind in KINDS {
        let (port, received) = untrusted();
        let ran = Desk::at(kind, format!("https://localhost:{port}")).run().await;
        let reason = ran.failed(FailureKind::Setup);
        assert!(
            reason.starts_with(&format!(
                "the encrypted connection to localhost:{port} fails: invalid peer certificate"
            )),
            "{reason}"
        );
        assert_eq!(ran.counts(), (1, 0), "it is not tried again");
        let received = received.join().unwrap();
        assert!(!String::from_utf8_lossy(&received).contains(CANARY));
        assert!(received.is_empty(), "nothing was sent to it");
    }
}

/// A server with a certificate of its own making; returns what it was sent inside of the encryption.
fn untrusted() -> (u16, std::thread::JoinHandle<Vec<u8>>) {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("untrusted.crt")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("untrusted.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut tls = rustls::Stream::new(&mut connection, &mut socket);
        let mut received = Vec::new();
        let _ = tls.read_to_end(&mut received);
        let _ = tls.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        received
    });
    (port, serving)
}

/// T28: the same test runs in a process of its own, with a proxy in its environment.
#[tokio::test]
async fn t28_no_proxy_of_the_environment_is_used() {
    const TARGET: &str = "AZOLLA_TEST_TARGET";
    if let Ok(root) = std::env::var(TARGET) {
        for kind in KINDS {
            let text = Desk::at(kind, root.clone()).run().await.failed(FailureKind::Setup);
            assert!(text.contains("is refused by"), "{text}");
        }
        return;
    }
    let server = Server::start(vec![status(401, "", "{}")]).await;
    let proxy = Server::start(vec![status(407, "", "{}")]).await;
    let name = "models::places::t28_no_proxy_of_the_environment_is_used";
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", name, "--test-threads", "1"]).env(TARGET, server.url()).kill_on_drop(true);
    for variable in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        child.env(variable, proxy.url());
    }
    let output = child.env_remove("NO_PROXY").env_remove("no_proxy").output().await.unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    assert_eq!((server.asked().len(), proxy.asked().len()), (2, 0));
}
