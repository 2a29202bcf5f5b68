//! A target of P10: what reaches a terminal. Nothing in it is obeyed, cleaning it twice changes nothing, and lines keep to
//! their columns.

use azolla_fuzz::{Target, Verdict};

use super::*;

const WORDS: &[&str] = &[
    "\u{1b}[31m",
    "\u{1b}]0;title\u{7}",
    "\u{1b}]8;;http://x\u{1b}\\",
    "\u{1b}P",
    "\u{9b}2J",
    "\u{9d}",
    "\r",
    "\r\n",
    "\n",
    "\t",
    "\u{8}",
    "\u{7f}",
    "\u{85}",
    "\u{200b}",
    "\u{200e}",
    "\u{202e}",
    "\u{2066}",
    "\u{2069}",
    "\u{61c}",
    "\u{180e}",
    "\u{2028}",
    "\u{feff}",
    "\u{fff9}",
    "\u{e0041}",
    "azolla ",
    "azolla objective approve obj-7, ",
    "word ",
    "    ",
    "- ",
    "* ",
    "漢字",
    "日本語",
    "👩\u{200d}🔧",
    "🇩🇪",
    "👍🏽",
    "e\u{301}",
    "\u{301}",
    "\u{fe0f}",
    "☁\u{fe0f}",
    "ก็",
    "ﷺ",
    "한글",
    "…",
    "diff --git a/x b/x\n",
    "@@ -1 +1 @@\n",
    "+a\n",
    "-b\n",
    "\"\\u001b\"",
    "{\"a\":\"\u{9b}\"}",
];

#[test]
fn p10_t22_nothing_that_a_terminal_obeys_comes_out_and_lines_keep_to_their_columns() {
    Target { name: "screen", inputs: 1_200, bytes_max: 800, words: WORDS, check }.run();
}

fn check(bytes: &[u8]) -> Verdict {
    let text = &*String::from_utf8_lossy(bytes);
    let line = plain(text);
    assert!(line.chars().all(|c| !obeys(c) && c != '\n' && c != '\t'), "{line:?}");
    assert_eq!(plain(&line), line);
    assert_eq!(line.chars().count(), text.chars().count(), "a character is gone or new");
    let lines = plain_lines(text);
    assert!(lines.chars().all(|c| c == '\n' || c == '\t' || !obeys(c)), "{lines:?}");
    assert_eq!(plain_lines(&lines), lines);
    json_holds(text);
    for width in [10, 33, 80] {
        cut_holds(&line, width);
        folded_holds(&line, width);
        page_holds(text, width);
    }
    // Almost every text is shown; one that was shown as it is had nothing to hold.
    if line == text { Verdict::Refused } else { Verdict::Taken }
}

/// What terminals obey, and what hides or turns text: by code point, from the standards.
fn obeys(c: char) -> bool {
    const RANGES: [(u32, u32); 13] = [
        (0x00, 0x1f),       // C0
        (0x7f, 0x9f),       // DEL, C1
        (0x61c, 0x61c),     // Arabic letter mark
        (0x180e, 0x180e),   // Mongolian vowel separator
        (0x200b, 0x200b),   // zero width space
        (0x200e, 0x200f),   // left-to-right and right-to-left mark
        (0x2028, 0x2029),   // line and paragraph separator
        (0x202a, 0x202e),   // embeddings and overrides
        (0x2060, 0x2064),   // word joiner, invisible operators
        (0x2066, 0x206f),   // isolates, deprecated controls
        (0xfeff, 0xfeff),   // byte order mark
        (0xfff9, 0xfffb),   // interlinear annotation
        (0xe0000, 0xe007f), // tags
    ];
    RANGES.iter().any(|(first, last)| (*first..=*last).contains(&u32::from(c)))
}

fn json_holds(text: &str) {
    let value = serde_json::from_str(text).unwrap_or_else(|_| json!({ "text": text }));
    let shown = harmless_json(&value.to_string());
    assert!(!shown.chars().any(obeys), "{shown:?}");
    let read: Value = serde_json::from_str(&shown).expect("it is still JSON");
    assert_eq!(read, value);
}

fn cut_holds(line: &str, width: usize) {
    let short = cut(line, width);
    assert!(columns(&short) <= width, "{short:?} takes {} columns, not {width}", columns(&short));
    if columns(line) <= width {
        assert_eq!(short, line);
        assert_eq!(columns(&padded(line, width)), width, "{line:?}");
    }
}

/// A line that is too wide holds one word, or one command that is to be copied. Nothing but spaces is lost or added.
fn folded_holds(line: &str, width: usize) {
    for hang in [0, 4, 60] {
        let text = folded(line, width, hang);
        for one in text.lines() {
            let word = one.trim_matches(' ');
            let is_whole = !word.contains(' ') || word.contains("azolla ");
            assert!(columns(one) <= width || is_whole, "{one:?} takes {} columns, not {width}", columns(one));
        }
        let letters = |text: &str| text.chars().filter(|c| !matches!(c, ' ' | '\n')).collect::<String>();
        assert_eq!(letters(&text), letters(line));
    }
}

/// Everything on a page that is not text is a colour of ours.
fn page_holds(text: &str, width: usize) {
    let mut page = Page::default();
    page.heading(text).add(BAD, text).hang().add(FAINT, text).end();
    page.block("  ", NOTE, text).verbatim("  ", PLAIN, text).command("$ ", text).diff(text);
    let mut table = Table::default();
    table.row(&[(STRONG, text), (PLAIN, text)]).row(&[(STRONG, "a"), (PLAIN, "b")]);
    table.add_to(&mut page, Some(width));
    let shown = page.text(Some(width));
    let mut parts = shown.split('\u{1b}');
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| {
        let (colour, rest) = part.split_once('m').expect("a colour ends");
        let numbers = colour.strip_prefix('[').expect("a colour begins");
        assert!(numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{part:?}");
        rest
    });
    for part in std::iter::once(first).chain(rest) {
        assert!(part.chars().all(|c| c == '\n' || c == '\t' || !obeys(c)), "{part:?}");
    }
}
