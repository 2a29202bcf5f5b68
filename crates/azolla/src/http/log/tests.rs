//! However often something is refused, the log grows by so many lines in a minute.

use super::*;

#[test]
fn t33_a_flood_of_refusals_is_counted_and_not_written() {
    let mut minutes = Minutes::default();
    let at = |ms| Timestamp::from_millisecond(ms).unwrap();
    let written: usize = (0..1_000).map(|ms| minutes.next(at(ms), Kind::Unauthorized, "refused").len()).sum();
    assert_eq!(written, 30);
    assert_eq!(
        minutes.next(at(60_000), Kind::Unauthorized, "refused"),
        ["http: 970 more requests without a token in the minute before", "http: refused"]
    );
    assert_eq!(minutes.next(at(60_001), Kind::Unauthorized, "again"), ["http: again"]);
    // A clock that was set back does not silence it for ever.
    assert_eq!(minutes.next(at(0), Kind::Unauthorized, "earlier"), ["http: earlier"]);
}

#[test]
fn t33_a_flood_of_strangers_hides_no_refused_peer() {
    let mut minutes = Minutes::default();
    let at = Timestamp::from_millisecond(0).unwrap();
    for _ in 0..1_000 {
        minutes.next(at, Kind::Unauthorized, "refused");
    }
    assert_eq!(minutes.next(at, Kind::Denied, "denied az-desk"), ["http: denied az-desk"]);
    assert_eq!(minutes.next(at, Kind::Failed, "no store"), ["http: no store"]);
    assert!(minutes.next(at, Kind::Unauthorized, "refused").is_empty());
}
