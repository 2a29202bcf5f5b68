//! One address gets its share of the room and leaves the rest; who only waits gives way.

use futures_util::FutureExt;

use super::*;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A connection whose request is being answered.
fn asked(places: &Places, from: &str) -> Share {
    let share = places.share(address(from)).unwrap();
    assert!(share.is_asked());
    share
}

fn is_given_up(share: &Share) -> bool {
    share.given_up().now_or_never().is_some()
}

#[test]
fn t23_one_address_cannot_take_all_the_room() {
    let places = Places::new();
    let mut shares: Vec<Share> = (0..OF_ONE_MAX).map(|_| asked(&places, "192.0.2.1")).collect();
    assert!(places.share(address("192.0.2.1")).is_none());
    assert!(places.share(address("::ffff:192.0.2.1")).is_none(), "the same address, written otherwise");
    assert!(places.share(address("192.0.2.2")).is_some());
    shares.pop();
    assert!(places.share(address("192.0.2.1")).is_some());
}

#[test]
fn t23_a_network_of_ipv6_is_one_address() {
    let places = Places::new();
    let _shares: Vec<Share> = (0..OF_ONE_MAX).map(|n| asked(&places, &format!("2001:db8::{n:x}"))).collect();
    assert!(places.share(address("2001:db8::ffff:1")).is_none());
    assert!(places.share(address("2001:db8:0:1::1")).is_some());
}

#[test]
fn t23_what_waits_longest_for_a_request_gives_way_to_a_new_connection() {
    let places = Places::new();
    let other = places.share(address("192.0.2.2")).unwrap();
    let mut shares: Vec<Share> =
        (0..OF_ONE_MAX).map(|_| places.share(address("192.0.2.1")).unwrap()).collect();
    // The first is answered, the second was and waits again; so the third waits longest.
    assert!(shares[0].is_asked() && shares[1].is_asked());
    shares[1].waits();
    shares.push(places.share(address("192.0.2.1")).unwrap());
    let given_up: Vec<usize> = (0..shares.len()).filter(|n| is_given_up(&shares[*n])).collect();
    assert_eq!(given_up, [2]);
    assert!(!is_given_up(&other), "another address keeps its own");
    assert!(!shares[2].is_asked(), "what comes too late is not answered");
    // Its place is the new one's: dropping it frees none.
    shares.remove(2);
    assert_eq!(lock(&places.taken).connections.len(), OF_ONE_MAX + 1);
}

#[tokio::test]
async fn t23_where_all_the_room_is_taken_what_waits_longest_gives_way() {
    let places = Places::new();
    let mut open = Vec::new();
    for n in 0..CONNECTIONS_MAX {
        let share = places.share(address(&format!("192.0.2.{}", n % 4))).unwrap();
        open.push((places.room(&share).await.unwrap(), share));
    }
    let new = places.share(address("192.0.2.9")).unwrap();
    let mut room = std::pin::pin!(places.room(&new));
    assert!(room.as_mut().now_or_never().is_none(), "it waits until the other has ended");
    assert!(is_given_up(&open[0].1) && !is_given_up(&new));
    drop(open.remove(0));
    assert!(room.now_or_never().is_some());
}

#[test]
fn t23_nothing_is_remembered_of_connections_that_ended() {
    let places = Places::new();
    drop(places.share(address("192.0.2.1")));
    assert!(lock(&places.taken).connections.is_empty());
}
