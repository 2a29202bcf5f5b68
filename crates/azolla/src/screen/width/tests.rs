//! Columns: what fits, what is cut, where a line goes on.

use super::*;

fn fold(text: &str, width: usize, hang: usize) -> Vec<String> {
    let pieces = [(Style::new(), text.to_owned())];
    let lines = folded(&pieces, width, hang);
    lines.into_iter().map(|line| line.into_iter().map(|(_, text)| text).collect()).collect()
}

#[test]
fn columns_are_those_of_a_terminal() {
    for (text, expected) in [
        ("abc", 3),
        ("日本", 4),
        ("e\u{301}", 1),
        ("👍", 2),
        ("👩\u{200d}🔧", 2),
        ("ﬁ", 1),
        ("…", 1),
        ("", 0),
    ] {
        assert_eq!(columns(text), expected, "{text}");
    }
}

#[test]
fn what_is_cut_never_takes_more_columns() {
    assert_eq!(cut("abcdef", 6), "abcdef");
    assert_eq!(cut("abcdef", 5), "abcd…");
    assert_eq!(cut("日本語です", 5), "日本…");
    assert_eq!(cut("日本語です", 6), "日本…", "half a character is none");
    assert_eq!(cut("one two three", 8), "one two…");
    assert_eq!(cut("e\u{301}e\u{301}e\u{301}e\u{301}", 3), "e\u{301}e\u{301}…");
    for text in ["日本語です", "👩\u{200d}🔧👍🏽👩\u{200d}🔧", "e\u{301}abc", "plain"] {
        for most in 1..12 {
            assert!(columns(&cut(text, most)) <= most, "{text} in {most}");
        }
    }
}

#[test]
fn columns_are_filled_up_by_width() {
    assert_eq!(padded("日本", 6), "日本  ");
    assert_eq!(padded("abc", 2), "abc");
}

#[test]
fn a_word_without_columns_is_a_word() {
    assert_eq!(fold("\u{301}          word and more", 12, 0), ["\u{301}", "word and", "more"]);
    assert_eq!(fold("some text \u{301}      more", 10, 2), ["some text \u{301}", "  more"]);
}

#[test]
fn a_line_goes_on_below_its_text() {
    assert_eq!(fold("12:00  one two three four", 16, 7), ["12:00  one two", "       three", "       four"]);
    assert_eq!(fold("short", 10, 2), ["short"]);
    assert_eq!(fold("12:00 日本語の題名です", 16, 6), ["12:00 日本語の題", "      名です"]);
    assert_eq!(fold("ab 👩\u{200d}🔧👩\u{200d}🔧👍🏽 x", 6, 0), ["ab 👩\u{200d}🔧", "👩\u{200d}🔧👍🏽 x"]);
    assert_eq!(fold("a deep indent is given up", 10, 8), ["a deep", "  indent", "  is given", "  up"]);
}

#[test]
fn what_is_copied_stays_in_one_piece() {
    assert_eq!(
        fold("Confirm completion: azolla objective confirm obj-0snkpkppcghv", 40, 2),
        ["Confirm completion:", "  azolla objective confirm obj-0snkpkppcghv"]
    );
    assert_eq!(
        fold("or by hand: azolla triage process ID --reason TEXT; azolla triage captures lists them", 50, 2),
        ["or by hand:", "  azolla triage process ID --reason TEXT;", "  azolla triage captures lists them"]
    );
    // A name without a space behind it is no command.
    assert_eq!(fold("azolla한 글자 in text", 10, 2), ["azolla한", "  글자 in", "  text"]);
    assert_eq!(
        fold("at /a/very/long/path/that/has/no/spaces here", 16, 2),
        ["at", "  /a/very/long/path/that/has/no/spaces", "  here"]
    );
}

#[test]
fn a_style_ends_with_its_piece() {
    let bold = Style::new().bold();
    let pieces = [(bold, "one two".to_owned()), (Style::new(), ": three four".to_owned())];
    let lines = folded(&pieces, 10, 2);
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0][0], (bold, "one".to_owned()));
    assert_eq!(lines[0].last().unwrap(), &(Style::new(), ":".to_owned()));
}
