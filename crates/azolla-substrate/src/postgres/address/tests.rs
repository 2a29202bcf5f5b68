//! Which addresses are spoken to in the clear, and which words they may hold.

use super::*;

fn mode(address: &str) -> SslMode {
    read_address(address)
        .map(|address| address.config.get_ssl_mode())
        .unwrap_or_else(|error| panic!("{address}: {error}"))
}

fn refusal(address: &str) -> String {
    read_address(address).map(drop).expect_err(address).to_string()
}

#[test]
fn a_server_elsewhere_is_spoken_to_by_tls_unless_the_address_says_otherwise() {
    for address in [
        "postgres://me@db/x",
        "postgres://me@db.example:5433/x?application_name=y",
        "postgres://me@10.0.0.7/x",
        "postgres://me@localhost.example/x",
        "postgres://me@localhost,db/x",
        "postgres://me@localhost/x?hostaddr=10.0.0.7",
        "postgres://me@127.0.0.1.example/x",
        "postgres://me@db/x?sslmode=require",
        "postgres://me@db/x?sslmode=verify-full&connect_timeout=1",
        "postgres://me@127.0.0.1/x?sslmode=require",
    ] {
        assert_eq!(mode(address), SslMode::Require, "{address}");
    }
    for address in [
        "postgres://me@localhost/x",
        "postgres://me@127.0.0.1:5433/x",
        "postgres://me@127.9.9.9/x",
        "postgres://me@[::1]/x",
        "postgres://me@%2Frun%2Fpostgresql/x",
        "postgres:///x?host=/run/postgresql",
        "postgres://me@db/x?hostaddr=127.0.0.1",
        "postgres://me@db/x?sslmode=disable",
        "postgres://me@db/x?application_name=y&sslmode=disable",
    ] {
        assert_eq!(mode(address), SslMode::Disable, "{address}");
    }
    assert_eq!(mode("postgres://me@db/x?sslmode=prefer"), SslMode::Prefer);
}

#[test]
fn a_word_that_would_promise_less_or_nothing_is_refused() {
    for word in ["allow", "verify-ca", "no", ""] {
        let text = refusal(&format!("postgres://me@db/x?sslmode={word}"));
        assert!(text.starts_with(&format!("the store's address says sslmode={word}; ")), "{text}");
        assert!(text.contains("say disable, prefer, require or verify-full"), "{text}");
    }
    for word in ["prefer", "require", "verify-full"] {
        let text = refusal(&format!("postgres://me@%2Frun%2Fpostgresql/x?sslmode={word}"));
        assert!(text.contains("a socket of this machine, which has none; leave out sslmode"), "{text}");
    }
}

#[test]
fn the_file_of_certificates_has_to_hold_one() {
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join("ca file.crt");
    let address =
        format!("postgres://me@db/x?sslrootcert={}", file.display().to_string().replace(' ', "%20"));
    let text = refusal(&address);
    assert!(text.starts_with(&format!("sslrootcert={} cannot be read: ", file.display())), "{text}");
    std::fs::write(&file, "no certificate in here\n").unwrap();
    let text = refusal(&address);
    assert!(text.starts_with(&format!("{} has no certificate to verify", file.display())), "{text}");
}
