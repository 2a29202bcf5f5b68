//! What a program printed, as it may be shown and kept: no secrets, no control characters, and not too much of it.

use std::{collections::HashSet, ffi::OsStr, ops::Range};

use azolla_process::Captured;

/// The most bytes of what was said.
pub(crate) const SAID_BYTES_MAX: usize = 4_096;

/// Stands where a secret stood.
const REDACTED: &str = "[redacted]";

/// Shorter values are in every other word, and hide nothing.
const SECRET_BYTES_MIN: usize = 4;

/// So many bytes of a key tell enough of it: a part of this length is redacted like the whole, in any case of letters.
const PART_BYTES: usize = 12;

/// Values that must not be repeated (T29).
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    /// The longest first.
    texts: Vec<String>,
    /// Every part of a key of [`PART_BYTES`], in lower case.
    parts: HashSet<[u8; PART_BYTES]>,
}

impl Secrets {
    /// Takes keys, of which no part may be repeated either; those that are too short to hide anything are left out.
    pub(crate) fn new<'a>(keys: impl Iterator<Item = &'a OsStr>) -> Self {
        let texts: Vec<_> = keys.flat_map(lines).collect();
        let lower = texts.iter().map(|text| text.to_ascii_lowercase().into_bytes());
        let parts = lower.flat_map(|text| text.array_windows().copied().collect::<Vec<_>>()).collect();
        Self { texts: Vec::new(), parts }.with(texts)
    }

    /// Adds values that are redacted where they stand whole, such as what is in the environment and no key.
    pub(crate) fn and<'a>(self, values: impl Iterator<Item = &'a OsStr>) -> Self {
        self.with(values.flat_map(lines))
    }

    fn with(mut self, texts: impl IntoIterator<Item = String>) -> Self {
        self.texts.extend(texts);
        self.texts.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.texts.dedup();
        self
    }

    /// Tells whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Tells whether a text has one of them in it, whole; one that is long enough, in any case of letters.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        let lower = text.to_ascii_lowercase();
        self.texts.iter().any(|secret| match secret.len() {
            PART_BYTES.. => lower.contains(&secret.to_ascii_lowercase()),
            _ => text.contains(secret.as_str()),
        })
    }

    /// Tells whether a text has one of them in it, or so much of a key that it is redacted.
    pub(crate) fn show_in(&self, text: &str) -> bool {
        !self.places(text).is_empty()
    }

    /// Returns the text without them.
    pub(crate) fn redacted(&self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut end = 0;
        for place in self.places(text) {
            clean.push_str(&text[end..place.start]);
            clean.push_str(REDACTED);
            end = place.end;
        }
        clean.push_str(&text[end..]);
        clean
    }

    /// Returns where they stand, in order, what overlaps as one.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        let whole = |secret: &String| -> Vec<_> {
            text.match_indices(secret.as_str()).map(|(start, found)| start..start + found.len()).collect()
        };
        let mut places: Vec<_> = self.texts.iter().flat_map(whole).collect();
        if !self.parts.is_empty() {
            let lower = text.to_ascii_lowercase().into_bytes();
            let found = lower.array_windows().enumerate().filter(|(_, part)| self.parts.contains(*part));
            // A part may begin or end inside a character.
            places.extend(found.map(|(start, _)| {
                text.floor_char_boundary(start)..text.ceil_char_boundary(start + PART_BYTES)
            }));
        }
        places.sort_unstable_by_key(|place| (place.start, place.end));
        places.into_iter().fold(Vec::new(), |mut merged: Vec<Range<usize>>, place| {
            match merged.last_mut() {
                Some(last) if place.start < last.end => last.end = last.end.max(place.end),
                _ => merged.push(place),
            }
            merged
        })
    }

    /// Returns the text without the end of one that was cut off before it.
    fn without_cut<'a>(&self, text: &'a str) -> &'a str {
        let cut = |secret: &String| {
            (1..secret.len())
                .filter_map(|start| secret.get(start..))
                .filter(|end| text.get(..end.len()).is_some_and(|text| text.eq_ignore_ascii_case(end)))
                .map(str::len)
                .max()
        };
        &text[self.texts.iter().filter_map(cut).max().unwrap_or(0)..]
    }
}

/// Returns a value and each of its lines: one of several, such as a private key, is told by any of them.
fn lines(value: &OsStr) -> Vec<String> {
    let text = value.to_string_lossy().into_owned();
    let parts: Vec<_> = text.lines().map(|line| line.trim().to_owned()).collect();
    parts.into_iter().chain([text]).filter(|text| text.len() >= SECRET_BYTES_MIN).collect()
}

/// Returns the end of what a program printed on both streams, at most [`SAID_BYTES_MAX`].
pub(crate) fn said(stdout: &Captured, stderr: &Captured, secrets: &Secrets) -> String {
    let (printed, beside) = (shown(stdout, secrets), shown(stderr, secrets));
    match (printed.is_empty(), beside.is_empty()) {
        (_, true) => tail(&printed, SAID_BYTES_MAX),
        (true, false) => tail(&beside, SAID_BYTES_MAX),
        (false, false) => {
            let half = SAID_BYTES_MAX / 2 - 1;
            format!("{}\n{}", tail(&printed, half), tail(&beside, half))
        }
    }
}

/// Returns the kept part of a stream, sanitised and redacted.
pub(crate) fn shown(captured: &Captured, secrets: &Secrets) -> String {
    let text = String::from_utf8_lossy(&captured.bytes);
    let is_cut = captured.total > captured.bytes.len() as u64;
    // The half of a character at the cut would hide the half of a secret behind it.
    let whole = if is_cut { text.trim_start_matches('\u{fffd}') } else { &text };
    let whole = if is_cut { secrets.without_cut(whole) } else { whole };
    // Before, as sanitising changes a secret with a control character in it; after, as it can put one together.
    let clean = sanitised(&secrets.redacted(whole));
    secrets.redacted(clean.trim())
}

/// Returns the text without anything that a terminal would obey: escape sequences, control characters but line feed
/// and tab, and marks that turn the direction of text (T22).
pub(crate) fn sanitised(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => clean.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' | '\u{2028}' | '\u{2029}' => clean.push('\n'),
            '\u{1b}' => skip_escape(&mut chars),
            c if c.is_control() || turns_text(c) => {}
            c => clean.push(c),
        }
    }
    clean
}

/// Passes over the rest of an escape sequence: CSI to its final byte, strings (OSC and the like) to their end.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next_if(|c| ('\u{20}'..'\u{7f}').contains(c)) {
        Some('[') => {
            while chars.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)).is_some() {}
            chars.next_if(|c| ('\u{40}'..='\u{7e}').contains(c));
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            // One that never ends stops with its line, so that it hides no more than that.
            while chars.next_if(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\u{9c}' | '\n')).is_some() {}
            if chars.next_if_eq(&'\u{1b}').is_some() {
                chars.next_if_eq(&'\\');
            }
        }
        Some('\u{20}'..='\u{2f}') => drop(chars.next_if(|c| ('\u{20}'..'\u{7f}').contains(c))),
        _ => {}
    }
}

fn turns_text(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the end of a text, marked where it was cut.
pub(crate) fn tail(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let start = text.ceil_char_boundary(text.len() - (bytes_max - '…'.len_utf8()));
    format!("…{}", &text[start..])
}

#[cfg(test)]
mod tests;
