//! The forms that servers use.

use super::*;

type Headers = [(&'static str, &'static str)];

fn read(headers: &Headers) -> Option<Duration> {
    let pairs = headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
    retry_after(&pairs.collect())
}

#[test]
fn b4_every_form_of_retry_after_is_read() {
    let (date, later) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:51:07 GMT");
    let cases: [(&Headers, Option<Duration>); 12] = [
        (&[], None),
        (&[("retry-after", "2")], Some(Duration::from_secs(2))),
        (&[("retry-after", " 0.25 ")], Some(Duration::from_millis(250))),
        (&[("retry-after", "0")], Some(Duration::ZERO)),
        (&[("retry-after", "9"), ("retry-after-ms", "40")], Some(Duration::from_millis(40))),
        (&[("retry-after", "9"), ("retry-after-ms", "soon")], Some(Duration::from_secs(9))),
        (&[("retry-after", later), ("date", date)], Some(Duration::from_secs(90))),
        (&[("retry-after", date), ("date", later)], Some(Duration::ZERO)),
        (&[("retry-after", later)], None),
        (&[("retry-after", "-3")], None),
        (&[("retry-after", "NaN")], None),
        (&[("retry-after", "1e300")], Some(LONGEST)),
    ];
    for (headers, after) in cases {
        assert_eq!(read(headers), after, "{headers:?}");
    }
}
