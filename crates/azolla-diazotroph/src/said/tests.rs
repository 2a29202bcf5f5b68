//! What may be shown, and what may not.

use std::ffi::OsString;

use proptest::prelude::*;

use super::*;

fn secrets(values: &[&str]) -> Secrets {
    let values: Vec<_> = values.iter().map(OsString::from).collect();
    Secrets::new(values.iter().map(OsString::as_os_str))
}

fn whole(bytes: &[u8]) -> Captured {
    Captured { bytes: bytes.to_vec(), total: bytes.len() as u64 }
}

fn cut(bytes: &[u8]) -> Captured {
    Captured { bytes: bytes.to_vec(), total: bytes.len() as u64 + 1 }
}

#[test]
fn t22_nothing_that_a_terminal_obeys_is_left() {
    let cases = [
        ("a\x1b[31mred\x1b[0m b", "ared b"),
        ("a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c", "abc"),
        ("a\x1b]0;never ended\nb", "a\nb"),
        ("a\x1b(Bb\x1bcd\x1b", "abd"),
        ("\u{9b}31mC1\u{85}x", "31mC1x"),
        ("a\x08\x00\x7fb\tc\r\nd\re", "ab\tc\nd\ne"),
        ("a\u{202e}b\u{2066}c\u{200f}d\u{61c}e", "abcde"),
        ("a\u{2028}b", "a\nb"),
        ("né 日本", "né 日本"),
    ];
    for (text, clean) in cases {
        assert_eq!(sanitised(text), clean, "{text:?}");
    }
}

#[test]
fn t29_a_secret_is_replaced_wherever_it_stands() {
    let keys = secrets(&["sk-0123456789", "hunter2"]);
    let printed = shown(&whole(b"key=sk-0123456789;hunter2hunter2"), &keys);
    assert_eq!(printed, "key=[redacted];[redacted][redacted]");
    assert!(keys.are_in("x hunter2 y") && !keys.are_in("hunter"));
}

#[test]
fn t29_a_secret_that_contains_another_is_replaced_whole() {
    let printed = shown(&whole(b"a abcdefgh b abcd"), &secrets(&["abcd", "abcdefgh"]));
    assert_eq!(printed, "a [redacted] b [redacted]");
}

#[test]
fn t29_a_secret_with_escapes_inside_is_replaced() {
    let printed = shown(&whole(b"sk-01\x1b[0m23456789 sk-0123456789"), &secrets(&["sk-0123456789"]));
    assert_eq!(printed, "[redacted] [redacted]");
    assert_eq!(shown(&whole(b"one\x07two"), &secrets(&["one\x07two"])), "[redacted]");
}

#[test]
fn t29_each_line_of_a_secret_is_replaced() {
    let key = secrets(&["-----BEGIN-----\nMIIEvQ\n-----END-----\n"]);
    assert_eq!(shown(&whole(b"got MIIEvQ there"), &key), "got [redacted] there");
}

#[test]
fn t29_the_end_of_a_secret_at_the_cut_is_left_out() {
    let key = secrets(&["sk-0123456789"]);
    assert_eq!(shown(&cut(b"6789 and on"), &key), "and on");
    assert_eq!(shown(&whole(b"6789 and on"), &key), "6789 and on", "nothing was cut");
    // The first byte is the second half of a character.
    assert_eq!(shown(&cut("é-secret".as_bytes().split_at(1).1), &secrets(&["é-secret"])), "");
}

#[test]
fn t29_short_values_hide_nothing() {
    assert_eq!(shown(&whole(b"1 of 3 C"), &secrets(&["1", "C", ""])), "1 of 3 C");
}

#[test]
fn what_was_said_is_its_end_and_bounded() {
    let none = Secrets::default();
    assert_eq!(said(&whole(b" out \n"), &whole(b""), &none), "out");
    assert_eq!(said(&whole(b"\n"), &whole(b"err"), &none), "err");
    assert_eq!(said(&whole(b"out"), &whole(b"err"), &none), "out\nerr");
    let long = "é".repeat(50_000) + "end";
    for (stdout, stderr) in [(&long, &String::new()), (&String::new(), &long), (&long, &long)] {
        let said = said(&whole(stdout.as_bytes()), &whole(stderr.as_bytes()), &none);
        assert!(said.len() <= SAID_BYTES_MAX && said.len() > SAID_BYTES_MAX - 8, "{}", said.len());
        assert!(said.starts_with('…') && said.ends_with("end"));
    }
}

#[test]
fn t31_bytes_that_are_no_text_are_shown_as_such() {
    assert_eq!(shown(&whole(b"a\xff\xfeb"), &Secrets::default()), "a\u{fffd}\u{fffd}b");
}

#[test]
fn t29_a_part_of_a_key_and_another_case_of_it_are_replaced() {
    let key = secrets(&["sk-Proj-0123456789abcdef"]);
    for (text, clean) in [
        ("key: sk-Proj-0123456789ab…", "key: [redacted]…"),
        ("ends in 456789abcdef.", "ends in [redacted]."),
        ("SK-PROJ-0123456789ABCDEF!", "[redacted]!"),
        ("…789abcdef", "…789abcdef"),
        ("two: sk-proj-0123456789abcdefsk-proj-0123456789abcdef", "two: [redacted][redacted]"),
        ("é0123456789abé", "é[redacted]é"),
    ] {
        assert_eq!(shown(&whole(text.as_bytes()), &key), clean, "{text}");
    }
    assert!(key.are_in("x SK-PROJ-0123456789ABCDEF") && !key.are_in("sk-Proj-0123456789ab"));
    assert!(key.show_in("sk-Proj-0123456789ab") && !key.show_in("sk-Proj-012"));
    // What is no key is replaced where it stands whole, and only there.
    let values: Vec<_> = [OsString::from("/home/someone/project")].to_vec();
    let both = key.and(values.iter().map(OsString::as_os_str));
    assert_eq!(both.redacted("/home/someone/other /home/someone/project"), "/home/someone/other [redacted]");
}

proptest! {
    /// However much of a key a text has in it, in whatever case, cut wherever: nothing of twelve bytes is left.
    #[test]
    fn t29_no_part_of_a_key_is_left_in_any_text(
        key in "[!-~]{12,60}",
        pieces in prop::collection::vec(("[ -~é\u{1b}\u{7}]{0,20}", 0..60_usize, 0..60_usize, any::<u64>()), 1..6),
        cut_off in 0..40_usize,
    ) {
        let keys = secrets(&[&key]);
        let mut text = String::new();
        for (before, start, length, flips) in &pieces {
            text.push_str(before);
            let part = key.as_bytes().iter().cycle().skip(*start % key.len()).take(*length);
            text.extend(part.enumerate().map(|(place, byte)| {
                let c = char::from(*byte);
                if flips >> (place % 64) & 1 == 1 { swapped(c) } else { c }
            }));
        }
        let lower = key.to_ascii_lowercase();
        let is_clean = |text: &str| {
            // The mark itself may share letters with a key.
            let text = text.to_ascii_lowercase().replace(REDACTED, "\u{1}");
            lower.as_bytes().windows(PART_BYTES).all(|part| !text.as_bytes().windows(PART_BYTES).any(|found| found == part))
        };
        let bytes = &text.as_bytes()[cut_off.min(text.len())..];
        let captured = Captured { bytes: bytes.to_vec(), total: text.len() as u64 };
        prop_assert!(is_clean(&shown(&captured, &keys)), "{:?}", shown(&captured, &keys));
        prop_assert!(is_clean(&said(&captured, &captured, &keys)));
        prop_assert!(is_clean(&crate::chat::words::quoted(&text, &keys)));
    }
}

fn swapped(c: char) -> char {
    if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
}
