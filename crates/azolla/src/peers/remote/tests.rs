//! What a peer is asked with is read when it is needed.

use super::*;

#[test]
fn p16_a_certificate_that_was_put_right_counts_without_a_new_start() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ca.pem");
    let means = Means {
        token: KeyFrom::File(directory.path().join("token")),
        is_encrypted: true,
        ca_file: Some(path.clone()),
        shared: Arc::default(),
    };
    let unusable = || means.client().unwrap_err();
    assert!(unusable().ends_with("holds no certificate that can be used"));
    std::fs::write(&path, "no certificate").unwrap();
    assert!(unusable().ends_with("holds no certificate that can be used"));
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(&path, made.cert.pem()).unwrap();
    assert!(means.client().is_ok());
}

#[test]
fn p16_a_client_that_could_not_be_made_is_tried_again() {
    let place = Mutex::new(None);
    assert_eq!(made_once(&place, || Err("no".to_owned())).unwrap_err(), "no");
    let make =
        || build(|builder| builder.tls_backend_preconfigured(trusting(RootCertStore::empty()).unwrap()));
    assert!(made_once(&place, make).is_ok());
    assert!(made_once(&place, || Err("not made twice".to_owned())).is_ok());
}
