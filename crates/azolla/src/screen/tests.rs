//! What reaches a terminal (T22).

use azolla_protocol::Timestamp;

use super::*;

#[test]
fn t22_what_a_terminal_would_obey_is_replaced() {
    let attacks = [
        ("a\u{1b}[2Jb", "a\u{fffd}[2Jb"),
        ("\u{1b}]0;title\u{7}", "\u{fffd}]0;title\u{fffd}"),
        ("c1 \u{9b}31m \u{85}", "c1 \u{fffd}31m \u{fffd}"),
        ("bidi \u{202e}txt\u{2066}\u{2069}\u{200f}", "bidi \u{fffd}txt\u{fffd}\u{fffd}\u{fffd}"),
        ("hidden \u{200b}\u{feff}\u{e0041}", "hidden \u{fffd}\u{fffd}\u{fffd}"),
        ("back\u{8}space\rreturn\u{7f}", "back\u{fffd}space\u{fffd}return\u{fffd}"),
        ("two\nlines\tand ünïcode 日本 👩‍🔧", "two lines and ünïcode 日本 👩‍🔧"),
    ];
    for (text, shown) in attacks {
        assert_eq!(plain(text), shown);
    }
}

#[test]
fn t22_lines_stay_lines_where_they_are_meant() {
    assert_eq!(plain_lines("a\r\nb\tc\n\u{1b}d\re"), "a\nb\tc\n\u{fffd}d\u{fffd}e");
}

#[test]
fn t22_json_means_the_same_and_is_harmless() {
    let value = json!({"text": "\u{9b}31m \u{202e} \u{e0041} \u{7f} ü"});
    let shown = harmless_json(&value.to_string());
    assert!(!shown.chars().any(is_obeyed), "{shown}");
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
}

#[test]
fn t22_a_page_holds_no_escape_but_ours() {
    let mut page = Page::default();
    page.heading("\u{1b}[31mred")
        .line(PLAIN, "x\u{1b}c")
        .block("  ", FAINT, "y\n\u{9b}z")
        .diff("@@ -1 +1 @@\n+\u{1b}[8m");
    let bare = anstream::adapter::strip_str(&page.text(None)).to_string();
    assert_eq!(bare, "\u{fffd}[31mred\nx\u{fffd}c\n  y\n  \u{fffd}z\n@@ -1 +1 @@\n+\u{fffd}[8m\n");
}

#[test]
fn times_are_told_in_their_largest_unit() {
    let at = |ms| Timestamp::from_millisecond(ms).unwrap();
    assert_eq!(ago(at(0), at(119_000)), "1 min ago");
    assert_eq!(ago(at(0), at(3 * 86_400_000)), "3 d ago");
    assert_eq!(ago(at(5_000), at(0)), "just now");
    assert_eq!(day_and_time(at(0)), "1970-01-01 00:00:00");
}

#[test]
fn durations_are_rounded_as_a_person_would() {
    for (ms, shown) in [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1 s"),
        (1_540, "1.5 s"),
        (12_700, "13 s"),
        (59_700, "1 min"),
        (90_000, "1.5 min"),
        (599_600, "10 min"),
        (600_000, "10 min"),
        (3_599_000, "1 h"),
        (5_400_000, "1.5 h"),
        (86_400_000, "1 d"),
    ] {
        assert_eq!(duration(ms), shown);
    }
    assert!(duration(u64::MAX).ends_with(" d"));
}
