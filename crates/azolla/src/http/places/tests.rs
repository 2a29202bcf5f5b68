//! One address gets its share of the room and leaves the rest.

use super::*;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn t23_one_address_cannot_take_all_the_room() {
    let places = Places::new();
    let mut shares: Vec<Share> =
        (0..OF_ONE_MAX).map(|_| places.share(address("192.0.2.1")).unwrap()).collect();
    assert!(places.share(address("192.0.2.1")).is_none());
    assert!(places.share(address("::ffff:192.0.2.1")).is_none(), "the same address, written otherwise");
    assert!(places.share(address("192.0.2.2")).is_some());
    shares.pop();
    assert!(places.share(address("192.0.2.1")).is_some());
}

#[test]
fn t23_a_network_of_ipv6_is_one_address() {
    let places = Places::new();
    let _shares: Vec<Share> =
        (0..OF_ONE_MAX).map(|n| places.share(address(&format!("2001:db8::{n:x}"))).unwrap()).collect();
    assert!(places.share(address("2001:db8::ffff:1")).is_none());
    assert!(places.share(address("2001:db8:0:1::1")).is_some());
}

#[test]
fn t23_nothing_is_remembered_of_connections_that_ended() {
    let places = Places::new();
    drop(places.share(address("192.0.2.1")));
    assert!(places.taken.lock().unwrap().is_empty());
}
