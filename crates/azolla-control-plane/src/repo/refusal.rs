//! A refusal with its path and reason, made safe to show.

use std::fmt;

use super::{Attempted, TakeError};

/// Why a patch is refused, and which path it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    path: Option<String>,
    reason: String,
}

impl Refusal {
    /// Returns a refusal of the whole patch.
    pub(super) fn whole(reason: impl Into<String>) -> Self {
        Self { path: None, reason: reason.into() }
    }

    /// Returns a refusal because of one path.
    pub(super) fn of(path: &str, reason: impl Into<String>) -> Self {
        Self { path: Some(path.to_owned()), reason: reason.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}: {}", visible(path), self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl From<Refusal> for TakeError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused { reason: refusal.to_string(), attempted: Attempted::default() }
    }
}

/// Returns a text of at most 300 characters with what could steer a terminal or hide text written as escapes.
pub(super) fn visible(text: &str) -> String {
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", escaped(&text[..end])),
        None => escaped(text),
    }
}

/// Returns a text with what could begin a line, steer a terminal or hide text written as escapes.
pub(super) fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) || is_unseen(character) {
            shown.extend(character.escape_unicode())
        } else {
            shown.push(character)
        }
    }
    shown
}

/// Tells whether a character is a control, a line separator or one that reorders text.
pub(super) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Tells whether a character has no width or turns the direction of text: a name with it looks like another one (T22).
pub(super) fn is_unseen(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
