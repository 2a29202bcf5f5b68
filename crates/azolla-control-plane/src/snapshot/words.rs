//! Words as code and prose share them: identifiers, their parts, and a short form that forms of one word have in common.

/// Longer words are data, not names.
const WORD_BYTES_MAX: usize = 80;

/// A stem shorter than this says too little, so the ending stays.
const STEM_BYTES_MIN: usize = 4;

/// The same for the endings of verbs, which leave short stems that mean something: `log` of `logging`.
const VERB_STEM_BYTES_MIN: usize = 3;

/// Numbers with fewer digits are everywhere; longer ones are status codes, limits and ports.
const DIGITS_MIN: usize = 3;

/// Words of prose, of issues and of code that tell no file from another. In alphabetical order.
#[rustfmt::skip] // A table.
const STOP_WORDS: &[&str] = &[
    "able", "about", "accept", "acceptance", "actual", "actually", "add", "added", "adds", "after", "again", "against",
    "all", "allow", "already", "also", "although", "always", "an", "and", "another", "any", "are", "as", "at", "be",
    "because", "been", "before", "behavior", "behaviour", "being", "both", "bug", "but", "by", "can", "cannot", "case",
    "cases", "change", "changed", "changes", "come", "comes", "correct", "correctly", "could", "criteria", "currently",
    "did", "do", "does", "doing", "done", "each", "either", "else", "even", "every", "exist", "existing", "exists",
    "expected", "false", "few", "fix", "fixed", "fixes", "for", "from", "get", "gets", "give", "given", "gives", "go",
    "goes", "had", "happen", "happens", "has", "have", "having", "hence", "here", "hold", "holds", "how", "however",
    "if", "in", "inside", "instead", "into", "is", "issue", "it", "its", "itself", "just", "keep", "keeps", "kept",
    "know", "known", "less", "let", "like", "longer", "look", "looks", "made", "make", "makes", "many", "may", "me",
    "mean", "means", "might", "more", "most", "much", "must", "need", "needed", "needs", "never", "new", "no", "none",
    "nor", "not", "nothing", "now", "null", "of", "off", "often", "on", "once", "one", "only", "onto", "or", "other",
    "others", "otherwise", "our", "out", "over", "own", "pass", "passed", "passes", "please", "problem", "put", "rather",
    "really", "same", "say", "says", "see", "seem", "seems", "seen", "shall", "should", "show", "shows", "side", "since",
    "so", "some", "something", "still", "such", "sure", "take", "taken", "takes", "tell", "tells", "test", "tests",
    "than", "that", "the", "their", "them", "then", "there", "these", "they", "thing", "things", "this", "those",
    "though", "three", "through", "to", "together", "too", "true", "try", "two", "under", "until", "up", "us", "use",
    "used", "user", "users", "uses", "using", "very", "via", "was", "way", "we", "well", "were", "what", "when",
    "where", "whether", "which", "while", "who", "whole", "whose", "why", "will", "with", "within", "without", "work",
    "works", "would", "wrong", "yet", "you", "your",
];

/// Tells whether a word, in lower case, tells no file from another.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Returns the words of a text: what one identifier would be in most languages.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| !word.is_empty() && word.len() <= WORD_BYTES_MAX)
}

/// Returns the parts of a word: `max_retries`, `maxRetries` and `MaxRetries` have the same two, up to case.
pub(super) fn parts(word: &str) -> impl Iterator<Item = &str> {
    word.split('_').filter(|piece| !piece.is_empty()).flat_map(humps)
}

/// Splits at the humps of camel case; a run of capitals is one part: `HTTPServer` is `HTTP` and `Server`.
fn humps(piece: &str) -> impl Iterator<Item = &str> {
    let bytes = piece.as_bytes();
    let mut start = 0;
    let mut at = 1;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let (before, here) = (bytes[at - 1], bytes[at]);
            let after = bytes.get(at + 1).copied().unwrap_or_default();
            let hump = here.is_ascii_uppercase()
                && (before.is_ascii_lowercase() || before.is_ascii_digit() || after.is_ascii_lowercase());
            at += 1;
            if hump {
                let part = &piece[start..at - 1];
                start = at - 1;
                return Some(part);
            }
        }
        let rest = &piece[start..];
        start = piece.len();
        (!rest.is_empty()).then_some(rest)
    })
}

/// Appends the key of a part: lower case, without the endings that forms of one word differ in. Tells whether it is
/// worth counting; nothing is appended otherwise.
pub(super) fn push_key(part: &str, into: &mut String) -> bool {
    let start = into.len();
    if part.is_ascii() {
        into.extend(part.bytes().map(|byte| char::from(byte.to_ascii_lowercase())));
    } else {
        into.extend(part.chars().flat_map(char::to_lowercase));
    }
    let word = &into[start..];
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    if word.len() < 2 || (is_number && word.len() < DIGITS_MIN) || is_stop_word(word) {
        into.truncate(start);
        return false;
    }
    if word.is_ascii() && !is_number {
        let length = stem_length(into, start);
        into.truncate(start + length);
    }
    true
}

/// Returns the key of a part, if it is worth counting.
pub(super) fn key(part: &str) -> Option<String> {
    let mut key = String::new();
    push_key(part, &mut key).then_some(key)
}

/// A light stemmer: plurals, the commonest endings of verbs and of nouns made from them. What it makes need not be a
/// word; both sides go through it.
fn stem_length(text: &mut String, start: usize) -> usize {
    let word = &text[start..];
    if let Some(rest) = word.strip_suffix("ies").or_else(|| word.strip_suffix("ied"))
        && rest.len() + 1 >= VERB_STEM_BYTES_MIN
    {
        let length = rest.len();
        text.truncate(start + length);
        text.push('y');
        return length + 1;
    }
    let mut stem = word;
    if stem.len() > VERB_STEM_BYTES_MIN
        && stem.ends_with('s')
        && !["ss", "us", "is"].iter().any(|end| stem.ends_with(end))
    {
        stem = &stem[..stem.len() - 1];
    }
    for (ending, left) in [
        ("ing", VERB_STEM_BYTES_MIN),
        ("ed", VERB_STEM_BYTES_MIN),
        ("ion", STEM_BYTES_MIN),
        ("er", STEM_BYTES_MIN),
        ("or", STEM_BYTES_MIN),
    ] {
        if let Some(rest) = stem.strip_suffix(ending).filter(|rest| rest.len() >= left) {
            stem = rest;
            break;
        }
    }
    for ending in ["e", "at"] {
        stem = stem.strip_suffix(ending).filter(|rest| rest.len() >= STEM_BYTES_MIN - 1).unwrap_or(stem);
    }
    let bytes = stem.as_bytes();
    match bytes {
        [.., before, last] if before == last && bytes.len() > VERB_STEM_BYTES_MIN => stem.len() - 1,
        _ => stem.len(),
    }
}

#[cfg(test)]
mod tests;
