//! A fault in a file, shown with its line, underlined, with the nearest known key.

use std::{
    fmt::Write as _,
    ops::Range,
    path::{Path, PathBuf},
};

use crate::{nearest::nearest, screen::plain};

/// A fault in a text: where, what, and what helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) span: Option<Range<usize>>,
    pub(super) what: String,
    pub(super) help: Option<String>,
    /// Whether what stands behind the span must not be shown: it may be a secret (T29).
    pub(super) is_secret: bool,
}

/// A fault in a file, ready to be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n{shown}")]
pub(crate) struct Problem {
    /// The file.
    pub(crate) path: PathBuf,
    /// What is wrong, in a line.
    pub(crate) what: String,
    shown: String,
}

impl Fault {
    pub(super) fn new(span: Range<usize>, what: impl Into<String>) -> Self {
        Self { span: Some(span), what: what.into(), help: None, is_secret: false }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// A fault in a whole text.
    pub(super) fn whole(span: Option<Range<usize>>, what: impl Into<String>) -> Self {
        Self { span, what: what.into(), help: None, is_secret: false }
    }

    /// Shows the line up to the span alone (T29).
    pub(super) fn secret(mut self) -> Self {
        self.is_secret = true;
        self
    }

    /// An unknown key, with the nearest of those that are known.
    pub(super) fn unknown(span: Range<usize>, key: &str, place: &str, known: &[&str]) -> Self {
        let help = match nearest(key, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", known.join(", ")),
        };
        Self::new(span, format!("unknown key `{key}` in {place}")).help(help)
    }

    pub(super) fn at(self, text: &str, path: &Path) -> Problem {
        // A name that is not known may be a key in the wrong place.
        let help = self.help.as_deref().map(masked);
        let shown = match self.span {
            Some(span) if self.is_secret => {
                // The rest of the text is cut off, and so is the line.
                let end = floor(text, span.end);
                snippet(&format!("{} …", &text[..end]), path, &span, help.as_deref())
            }
            Some(span) => snippet(text, path, &span, help.as_deref()),
            None => format!(" --> {}", path.display()),
        };
        Problem { path: path.to_owned(), what: masked(&self.what), shown }
    }
}

/// The most characters of a line that are shown, and of those the most before the fault.
const LINE_CHARS_MAX: usize = 160;
const BEFORE_CHARS: usize = 40;

/// Shows the line of a span, with the span underlined and a remark behind it.
fn snippet(text: &str, path: &Path, span: &Range<usize>, help: Option<&str>) -> String {
    let begin = floor(text, span.start);
    let line_begin = text[..begin].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[begin..].find('\n').map_or(text.len(), |at| begin + at);
    let end = floor(text, span.end).clamp(begin, line_end.max(begin));
    let number = text[..begin].matches('\n').count() + 1;
    let column = text[line_begin..begin].chars().count();
    let width = text[begin..end].chars().count().max(1);
    let gutter = " ".repeat(number.to_string().len());
    let line = masked(&plain(text[line_begin..line_end].trim_end()));
    // Of a line that goes on and on, what is around the fault.
    let skipped = if line.chars().count() > LINE_CHARS_MAX { column.saturating_sub(BEFORE_CHARS) } else { 0 };
    let line: String = line.chars().skip(skipped).take(LINE_CHARS_MAX).collect();
    let width = width.min(LINE_CHARS_MAX - (column - skipped).min(LINE_CHARS_MAX - 1));
    let mut shown = format!("{gutter}--> {}:{number}:{}\n", path.display(), column + 1);
    let _ = writeln!(shown, "{gutter} |\n{number} | {line}");
    let _ = write!(shown, "{gutter} | {}{}", " ".repeat(column - skipped), "^".repeat(width));
    if let Some(help) = help {
        let _ = write!(shown, " {help}");
    }
    shown
}

/// Covers what looks like a key, wherever in the file somebody put it (T29). Every character keeps its place.
fn masked(line: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(begin) = rest.find(is_part) {
        let length = rest[begin..].find(|c| !is_part(c)).unwrap_or(rest.len() - begin);
        let (before, word) = (&rest[..begin], &rest[begin..begin + length]);
        shown.push_str(before);
        shown.push_str(&if looks_like_a_key(word) { "*".repeat(word.len()) } else { word.to_owned() });
        rest = &rest[begin + length..];
    }
    shown.push_str(rest);
    shown
}

/// Tells a key from a name: long, with digits and small letters mixed.
pub(super) fn looks_like_a_key(word: &str) -> bool {
    const CHARS_MIN: usize = 20;
    word.len() >= CHARS_MIN
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_lowercase())
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
