//! How a refused text appears in an error: short, on one line, and free of control characters.

/// The most characters of a refused text that an error repeats.
const SHOWN_CHARS_MAX: usize = 60;

/// Returns the beginning of `text`, with everything that a terminal could obey escaped.
pub(crate) fn excerpt(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}
