//! Which addresses of a name are left (T28).

use super::*;

fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
    texts.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect()
}

/// A name of somebody else's may have any address, and another one at the next look: each look is held to the rule.
#[test]
fn t28_a_name_keeps_the_addresses_that_may_be_sent_to() {
    let mixed = addresses(&[
        "169.254.169.254",
        "203.0.113.7",
        "fe80::1",
        "fd00:ec2::254",
        "2001:db8::7",
        "::ffff:169.254.169.254",
        "10.0.0.7",
        "0.0.0.0",
        "127.0.0.1",
    ]);
    // The operator's own network is the operator's to name, with what comes first still first.
    let left = addresses(&["203.0.113.7", "2001:db8::7", "10.0.0.7", "127.0.0.1"]);
    assert_eq!(allowed("models.example", mixed.into_iter()), Ok(left));
}

#[test]
fn t28_a_name_with_refused_addresses_alone_is_refused() {
    let refused =
        ["169.254.169.254", "169.254.0.1", "fe80::1", "fd00:ec2::254", "100.100.100.200", "::", "224.0.0.1"];
    let told = Err("models.example has only link-local or metadata addresses".to_owned());
    assert_eq!(allowed("models.example", addresses(&refused).into_iter()), told);
    for address in refused {
        assert_eq!(allowed("models.example", addresses(&[address]).into_iter()), told, "{address}");
    }
    // A name without any address is no way out either.
    assert_eq!(allowed("models.example", [].into_iter()), told);
}
