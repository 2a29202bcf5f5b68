//! Where a key may go, and all the ways to write where it may not.

use super::*;

#[test]
fn t28_https_anywhere_and_http_to_this_machine() {
    for (url, host) in [
        ("https://api.example.org", Host::Elsewhere),
        ("https://api.example.org:8443/v1/", Host::Elsewhere),
        ("https://10.0.0.7/v1", Host::Elsewhere),
        ("https://[2001:db8::7]:8443/v1", Host::Elsewhere),
        ("https://localhost/v1", Host::Local),
        ("http://localhost:11434/v1", Host::Local),
        ("http://127.0.0.1:8080/v1", Host::Local),
        ("http://127.1.2.3", Host::Local),
        ("http://[::1]:8080/v1", Host::Local),
        ("http://[::ffff:127.0.0.1]/v1", Host::Local),
    ] {
        assert_eq!(check(url), Ok(host), "{url}");
    }
}

#[test]
fn t28_everything_else_is_refused_however_it_is_written() {
    for (url, refused) in [
        ("http://api.example.org/v1", Refused::Plain),
        ("http://10.0.0.7/v1", Refused::Plain),
        ("http://127.0.0.1.example.org/v1", Refused::Plain),
        ("http://localhost.example.org/v1", Refused::Plain),
        ("https://me:word@api.example.org", Refused::Password),
        ("https://me@api.example.org", Refused::Password),
        ("http://127.0.0.1:80@api.example.org", Refused::Password),
        ("https://169.254.169.254/latest", Refused::LinkLocal),
        ("https://[fe80::1]/v1", Refused::LinkLocal),
        ("https://[::ffff:169.254.169.254]/", Refused::LinkLocal),
        ("https://[fd00:ec2::254]/", Refused::LinkLocal),
        ("https://metadata.google.internal/x", Refused::LinkLocal),
        // One number for an address, in several bases, and other disguises.
        ("https://2852039166/", Refused::Malformed),
        ("https://0xa9fea9fe/", Refused::Malformed),
        ("https://0251.0376.0251.0376/", Refused::Malformed),
        ("https://169.254.43518/", Refused::Malformed),
        ("https://169.254.169.254./", Refused::Malformed),
        ("https://1%36%39.254.169.254/", Refused::Malformed),
        ("http://127.1/", Refused::Malformed),
        ("https://[fe80::1%25eth0]/", Refused::Malformed),
        ("https://ⓛocalhost/", Refused::Malformed),
        ("https://api.example.org\\@127.0.0.1/", Refused::Malformed),
        ("https://api.example.org/?key=1", Refused::Malformed),
        ("https://api.example.org/#x", Refused::Malformed),
        ("https://api.example.org:99999/", Refused::Malformed),
        ("https://api.example.org:+80/", Refused::Malformed),
        ("https://api example.org/", Refused::Malformed),
        ("https:///v1", Refused::Malformed),
        ("https://0.0.0.0/", Refused::Malformed),
        ("https://[::]/", Refused::Malformed),
        ("ftp://api.example.org/", Refused::Malformed),
        ("HTTP://api.example.org/", Refused::Malformed),
        ("file:///etc/passwd", Refused::Malformed),
        ("api.example.org", Refused::Malformed),
        ("", Refused::Malformed),
    ] {
        assert_eq!(check(url), Err(refused), "{url}");
    }
}
