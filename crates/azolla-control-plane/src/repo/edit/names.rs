//! Which lines of an answer name a file: alone, in backticks, bold, as a heading, after `File:`, or in a fence.

use std::collections::BTreeSet;

/// Names of files that have no ending.
const BARE_NAMES: [&str; 24] = [
    "authors",
    "build",
    "caddyfile",
    "changelog",
    "codeowners",
    "configure",
    "containerfile",
    "copying",
    "dockerfile",
    "gemfile",
    "gnumakefile",
    "gradlew",
    "install",
    "jenkinsfile",
    "justfile",
    "license",
    "makefile",
    "notice",
    "procfile",
    "rakefile",
    "readme",
    "vagrantfile",
    "version",
    "workspace",
];
/// Words before a colon that say a path follows.
const LABELS: [&str; 8] =
    ["file", "filename", "file name", "path", "file path", "filepath", "new file", "updated file"];
const NOTES: [&str; 6] = ["(new file)", "(new)", "(created)", "(modified)", "(updated)", "(changed)"];
const ATTRIBUTES: [&str; 6] = ["path=", "file=", "filename=", "title=", "name=", "filepath="];
/// Languages whose name has a dot.
const DOTTED_LANGUAGES: [&str; 4] = ["asp.net", "vb.net", "node.js", "vue.js"];

/// Returns the path that a line is there to name.
pub(super) fn of_line(line: &str) -> Option<String> {
    let Undressed { text, is_labelled, is_quoted } = undressed(line);
    let has_blank = text.contains(char::is_whitespace);
    let is_path = if is_labelled && !has_blank { is_word(text) } else { is_like_path(text) };
    (is_path && (!has_blank || is_quoted || is_labelled)).then(|| text.to_owned())
}

/// Returns the path that a line is there to name, also if it is one of `known`, which look like words.
pub(super) fn of_line_or_known(line: &str, known: &BTreeSet<String>) -> Option<String> {
    of_line(line).or_else(|| known.get(undressed(line).text).cloned())
}

/// Returns the word that stands alone on a line and does not look like a path.
pub(super) fn bare(line: &str) -> Option<&str> {
    let text = undressed(line).text;
    let is_bare = is_word(text) && !text.contains(|c: char| c.is_whitespace() || c == '/');
    (is_bare && of_line(line).is_none()).then_some(text)
}

/// What is left of a line once its marks are gone.
struct Undressed<'a> {
    text: &'a str,
    is_labelled: bool,
    is_quoted: bool,
}

fn undressed(line: &str) -> Undressed<'_> {
    let mut text = without_bullet(line.trim().trim_start_matches('#').trim());
    let (mut is_labelled, mut is_quoted) = (false, false);
    loop {
        let before = text;
        text = text.trim_end_matches(':').trim();
        for note in NOTES {
            text = text.strip_suffix(note).unwrap_or(text).trim_end();
        }
        for mark in ["**", "__", "*", "`", "\"", "'"] {
            if let Some(inner) = text.strip_prefix(mark).and_then(|text| text.strip_suffix(mark))
                && !inner.contains(mark)
            {
                (text, is_quoted) = (inner.trim(), is_quoted || mark == "`");
            }
        }
        if let Some(rest) = after_label(text) {
            (text, is_labelled) = (rest, true);
        }
        if text == before {
            break;
        }
    }
    Undressed { text: text.strip_prefix("./").unwrap_or(text), is_labelled, is_quoted }
}

/// Returns the one path that a sentence has in backticks.
pub(super) fn of_sentence(line: &str) -> Option<String> {
    let quoted = line.split('`').skip(1).step_by(2).filter(|text| is_like_path(text));
    let mut quoted = quoted.map(|text| text.strip_prefix("./").unwrap_or(text));
    let first = quoted.next()?;
    quoted.all(|other| other == first).then(|| first.to_owned())
}

/// Returns the path that the line of a fence names: `rust path=x`, `rust title="x"`, `rust:x`, `rust x` or `x`.
pub(super) fn of_fence(info: &str) -> Option<String> {
    let info = info.trim_matches(|c| matches!(c, '{' | '}' | ' '));
    for attribute in ATTRIBUTES {
        let at = info.match_indices(attribute).map(|(at, _)| at);
        let mut at = at.filter(|at| *at == 0 || info[..*at].ends_with([' ', '{', ',', '\t']));
        if let Some(at) = at.next() {
            let value = &info[at + attribute.len()..];
            let value = match value.chars().next() {
                Some(quote @ ('"' | '\'')) => value[1..].split(quote).next(),
                _ => value.split([' ', '}', ',', '\t']).next(),
            };
            let value = value.unwrap_or_default();
            return is_word(value).then(|| value.strip_prefix("./").unwrap_or(value).to_owned());
        }
    }
    let is_ended = |text: &str| {
        text.contains(['/', '.'])
            && is_like_path(text)
            && !DOTTED_LANGUAGES.contains(&text.to_lowercase().as_str())
    };
    let word = info.split([' ', '\t']).find(|word| !word.is_empty())?;
    let after_language = word.split_once(':').map(|(_, path)| path);
    let second = info.split([' ', '\t']).filter(|word| !word.is_empty()).nth(1);
    let path = after_language.into_iter().chain([word]).chain(second).find(|text| is_ended(text))?;
    Some(path.strip_prefix("./").unwrap_or(path).to_owned())
}

fn without_bullet(text: &str) -> &str {
    let text = ["- ", "* ", "+ "].iter().find_map(|bullet| text.strip_prefix(bullet)).unwrap_or(text);
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = (rest.len() < text.len()).then(|| rest.strip_prefix(". ").or(rest.strip_prefix(") ")));
    numbered.flatten().unwrap_or(text).trim()
}

fn after_label(text: &str) -> Option<&str> {
    let (label, rest) = text.split_once(':')?;
    let label = label.trim_matches(['*', '_', ' ']).to_lowercase();
    LABELS.contains(&label.as_str()).then(|| rest.trim_start_matches('*').trim())
}

/// Tells whether a text could be a path whatever it looks like.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 1_024 && !text.contains(['`', '<', '>', '|'])
}

fn is_like_path(text: &str) -> bool {
    if !is_word(text) || text.contains(['*', '?', '"', ';', '=', '$', ',', '\\']) || text.contains("//") {
        return false;
    }
    let name = text.rsplit('/').next().unwrap_or(text);
    if text.contains('/') {
        return !text.ends_with('/') && !text.contains(": ");
    }
    if text.contains(['(', ')', '[', ']', '{', '}', ':', '\'', '!']) {
        return false;
    }
    let has_ending = name.rsplit_once('.').is_some_and(|(_, ending)| {
        (1..=14).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
            && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
    });
    has_ending || BARE_NAMES.contains(&text.to_lowercase().as_str())
}
