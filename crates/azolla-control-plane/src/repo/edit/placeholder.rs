//! Comments that stand for text which was left out: `// ... existing code ...`.

/// What such a comment says beside its dots.
const WITH_DOTS: [&str; 15] = [
    "existing",
    "unchanged",
    "the rest",
    "rest of",
    "rest is",
    "remaining",
    "remains",
    "omitted",
    "same as",
    "as before",
    "previous code",
    "other code",
    "other methods",
    "more code",
    "your code",
];
/// What says it without dots.
const WITHOUT_DOTS: [&str; 7] = [
    "rest unchanged",
    "rest of the file",
    "rest of the code",
    "existing code",
    "remains unchanged",
    "remains the same",
    "code unchanged",
];
/// A comment with more words says something of its own.
const WORDS_MAX: usize = 10;

/// Tells whether a line is a comment that stands for lines which are not there.
pub(super) fn is_placeholder(line: &str) -> bool {
    let Some(text) = comment(line.trim()) else { return false };
    let text = text.to_lowercase();
    let has_dots = text.contains("...") || text.contains('…');
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric());
    if bare.is_empty() {
        return has_dots;
    }
    let phrases: &[&str] = if has_dots { &WITH_DOTS } else { &WITHOUT_DOTS };
    bare.split_whitespace().count() <= WORDS_MAX && phrases.iter().any(|phrase| bare.contains(phrase))
}

/// Returns the text of a line that is a comment in one of many languages.
fn comment(line: &str) -> Option<&str> {
    let signs = ["//", "#", "--", "/*", "<!--", "{/*", ";", "%"];
    let text = signs.iter().find_map(|sign| line.strip_prefix(sign))?;
    let text = text.trim_end_matches("*/}").trim_end_matches("*/").trim_end_matches("-->");
    Some(text.trim())
}
