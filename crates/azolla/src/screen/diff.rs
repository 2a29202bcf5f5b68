//! A diff on a page, coloured by line.

use anstyle::{AnsiColor, Style};

use super::{BAD, GOOD, PLAIN, Page, STRONG};

const HUNK: Style = AnsiColor::Cyan.on_default();

/// Adds every line of `text` in the colour of what it says.
pub(super) fn add(page: &mut Page, text: &str) {
    let mut in_hunk = false;
    for line in text.lines() {
        in_hunk = line.starts_with("@@ ") || (in_hunk && !line.starts_with("diff --git "));
        page.verbatim("", style(line, in_hunk), if line.is_empty() { " " } else { line });
    }
}

fn style(line: &str, in_hunk: bool) -> Style {
    match line.as_bytes().first() {
        Some(b'@') if in_hunk => HUNK,
        Some(b'+') if in_hunk => GOOD,
        Some(b'-') if in_hunk => BAD,
        _ if in_hunk => PLAIN,
        _ => STRONG,
    }
}
