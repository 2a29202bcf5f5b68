//! However often something is refused, the log grows by so many lines in a minute.

use super::*;

#[test]
fn t33_a_flood_of_refusals_is_counted_and_not_written() {
    let mut minute = Minute::default();
    let at = |ms| Timestamp::from_millisecond(ms).unwrap();
    let written: usize = (0..1_000).map(|ms| minute.next(at(ms), "refused").len()).sum();
    assert_eq!(written, 30);
    assert_eq!(
        minute.next(at(60_000), "refused"),
        ["http: 970 more lines in the minute before", "http: refused"]
    );
    assert_eq!(minute.next(at(60_001), "again"), ["http: again"]);
    // A clock that was set back does not silence it for ever.
    assert_eq!(minute.next(at(0), "earlier"), ["http: earlier"]);
}
