//! Which URLs a key may go to.

use super::*;

#[test]
fn t28_https_goes_anywhere_and_http_to_this_machine() {
    for url in [
        "https://api.example.com",
        "https://api.example.com:8443/v1/",
        "https://10.0.0.7/v1",
        "http://127.0.0.1:8080/v1",
        "http://127.9.9.9",
        "http://2130706433:11434",
        "http://[::1]:8080",
        "http://localhost:1234/v1",
        "http://LOCALHOST./v1",
        "http://[::ffff:127.0.0.1]/v1",
        "https://[2001:db8::7]:8443/v1",
        // What is read as an address is what a request goes to, however it is written.
        "http://127.1/",
    ] {
        assert!(Endpoint::new(url).is_ok(), "{url}");
    }
    for (url, is_local) in [
        ("https://localhost/v1", true),
        ("http://localhost.:11434", true),
        ("http://127.1.2.3", true),
        ("https://api.example.com", false),
        ("https://10.0.0.7/v1", false),
    ] {
        assert_eq!(check_base_url(url), Ok(is_local), "{url}");
    }
    for url in [
        "http://api.example.com",
        "http://10.0.0.7/v1",
        "http://192.168.1.2:8080",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://[::2]:8080",
        "http://[::ffff:10.0.0.7]/",
    ] {
        let refused = Endpoint::new(url).unwrap_err();
        assert!(refused.starts_with("must be https://"), "{url}: {refused}");
    }
}

#[test]
fn t28_link_local_and_metadata_addresses_are_refused() {
    for url in [
        "http://169.254.169.254/latest",
        "https://169.254.169.254",
        "https://169.254.1.1:8443",
        "https://0xa9fea9fe/",
        "https://2852039166/",
        "https://[fe80::1]/",
        "https://[::ffff:169.254.169.254]/",
        "https://[fd00:ec2::254]/",
        "https://100.100.100.200/",
        "https://0.0.0.0/",
        "https://0.1.2.3/",
        "https://255.255.255.255/",
        "https://0251.0376.0251.0376/",
        "https://169.254.43518/",
        "https://169.254.169.254./",
        "https://1%36%39.254.169.254/",
        "http://0.0.0.0:8080/",
        "https://[::]/",
        "https://224.0.0.1/",
        "https://metadata.google.internal/computeMetadata",
        "https://METADATA.google.internal./",
    ] {
        let refused = Endpoint::new(url).unwrap_err();
        assert_eq!(refused, "must not be a link-local or metadata address", "{url}");
    }
}

#[test]
fn t29_a_password_in_the_url_is_refused_and_not_repeated() {
    for url in [
        "https://me:hunter2@api.example.com",
        "https://hunter2@api.example.com",
        "hunter2",
        "http://127.0.0.1:hunter2@x",
    ] {
        let refused = Endpoint::new(url).unwrap_err();
        assert!(!refused.contains("hunter2"), "{refused}");
    }
}

#[test]
fn t28_what_is_no_base_url_is_refused() {
    for url in [
        "",
        "api.example.com",
        "ftp://x",
        "file:///etc/passwd",
        "https://",
        "https://x/?key=1",
        "https://x/#a",
        "https://[fe80::1%25eth0]/",
        "https://api.example.com:99999/",
        "https://api.example.com:+80/",
        "https://api example.com/",
    ] {
        assert!(Endpoint::new(url).is_err(), "{url}");
    }
}

#[test]
fn a_path_goes_below_the_base() {
    for (base, path, url) in [
        ("https://x", "v1/messages", "https://x/v1/messages"),
        ("https://x/", "v1/messages", "https://x/v1/messages"),
        ("http://localhost:1/a/v1/", "models", "http://localhost:1/a/v1/models"),
    ] {
        assert_eq!(Endpoint::new(base).unwrap().at(path).as_str(), url);
    }
    assert!(Endpoint::new("https://x/v1/").unwrap().ends_with("v1"));
    assert!(!Endpoint::new("https://x").unwrap().ends_with("v1"));
}
