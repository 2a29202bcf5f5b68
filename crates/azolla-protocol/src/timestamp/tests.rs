//! The one accepted form of a timestamp, at its edges.

use super::Timestamp;

fn parsed(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

#[test]
fn a5_timestamps_read_back_as_written() {
    for (text, ms) in [
        ("1970-01-01T00:00:00.000Z", 0),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2026-01-01T00:00:00.000Z", 1_767_225_600_000),
        ("2024-02-29T12:30:45.678Z", 1_709_209_845_678),
        ("0000-01-01T00:00:00.000Z", Timestamp::MIN.as_millisecond()),
        ("9999-12-31T23:59:59.999Z", Timestamp::MAX.as_millisecond()),
    ] {
        assert_eq!(parsed(text), Some(ms), "{text}");
        assert_eq!(Timestamp::from_millisecond(ms).map(|at| at.to_string()).as_deref(), Some(text));
    }
}

#[test]
fn a5_every_other_form_of_a_timestamp_is_refused() {
    for text in [
        "",
        "2026-01-01",
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00.00Z",
        "2026-01-01T00:00:00.000000Z",
        "2026-01-01T00:00:00.000z",
        "2026-01-01t00:00:00.000Z",
        "2026-01-01 00:00:00.000Z",
        "2026-01-01T00:00:00.000+00:00",
        "2026-01-01T00:00:00,000Z",
        "2026-01-01T00:00:00.000Z\n",
        " 2026-01-01T00:00:00.000Z",
        "+2026-01-01T00:00:00.000Z",
        "-001-01-01T00:00:00.000Z",
        "2026-00-01T00:00:00.000Z",
        "2026-13-01T00:00:00.000Z",
        "2026-02-29T00:00:00.000Z",
        "2026-04-31T00:00:00.000Z",
        "2026-01-01T24:00:00.000Z",
        "2026-01-01T00:60:00.000Z",
        "2016-12-31T23:59:60.000Z",
        "２026-01-01T00:00:00.00Z",
    ] {
        assert_eq!(parsed(text), None, "{text:?}");
    }
}

#[test]
fn timestamps_stay_in_their_range() {
    let (below, above) = (Timestamp::MIN.as_millisecond() - 1, Timestamp::MAX.as_millisecond() + 1);
    assert_eq!(Timestamp::from_millisecond(below), None);
    assert_eq!(Timestamp::from_millisecond(above), None);
    assert_eq!(Timestamp::MAX.plus_ms(1), Timestamp::MAX);
    assert_eq!(Timestamp::MIN.plus_ms(i64::MIN), Timestamp::MIN);
    assert_eq!(Timestamp::MIN.plus_ms(i64::MAX), Timestamp::MAX);
    let epoch = Timestamp::from_millisecond(0).unwrap();
    assert_eq!(epoch.plus_ms(-1).to_string(), "1969-12-31T23:59:59.999Z");
}

#[test]
fn a_refused_timestamp_is_shown_short_and_without_control_characters() {
    let text = format!("\u{1b}[31m{}", "x".repeat(300));
    let shown = text.parse::<Timestamp>().unwrap_err().to_string();
    assert!(shown.starts_with("\"\\u{1b}[31mxxx"), "{shown}");
    assert!(shown.len() < 200, "{shown}");
}
