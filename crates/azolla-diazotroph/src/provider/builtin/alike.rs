//! Whether two tasks are the same one in other words.

use std::{collections::BTreeSet, ops::Range};

use super::text::Word;

/// What a task is about.
#[derive(Debug, Default)]
pub(super) struct About {
    words: BTreeSet<String>,
    /// Numbers, paths, identifiers and negations: what has other ones is about something else.
    exact: BTreeSet<String>,
    verb: Option<String>,
}

impl About {
    /// Takes the words of a sentence that begins at one of them, without the marks of days and urgency.
    pub(super) fn new(words: &[Word<'_>], marks: &[Range<usize>], begin: usize) -> Self {
        let mut about = Self::default();
        for (at, word) in
            words.iter().enumerate().filter(|(at, _)| !marks.iter().any(|mark| mark.contains(at)))
        {
            // In `module a` the last letter is a name.
            let is_name = at + 1 == words.len() && word.lower.chars().count() == 1;
            if word.is("not") || word.lower.contains(|c: char| c.is_numeric() || "_/.".contains(c)) {
                about.exact.insert(word.lower.clone());
            } else if !word.lower.is_empty() && (is_name || !word.is("stop")) {
                about.words.insert(stem(&word.lower).to_owned());
            }
        }
        let verb = words.get(begin).filter(|word| word.is("verbs") && !word.is("stop") && !word.is("nouns"));
        about.verb = verb.map(|word| word.lower.clone());
        about
    }

    /// Tells whether another is about the same.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        super::triage::step(self.words.len() + other.words.len());
        let is_other_verb = self.verb.is_some() && other.verb.is_some() && self.verb != other.verb;
        let common = self.words.intersection(&other.words).count();
        let all = self.words.len() + other.words.len() - common;
        let is_alike = (common == all && all > 0) || (common >= 2 && common * 10 >= all * 6);
        is_alike && !is_other_verb && self.exact == other.exact
    }
}

fn stem(word: &str) -> &str {
    let word = word.strip_suffix("'s").unwrap_or(word);
    let is_hissing = |rest: &&str| ["sh", "ch", "ss", "x", "z"].iter().any(|end| rest.ends_with(end));
    match word.strip_suffix("es").filter(is_hissing) {
        Some(rest) => rest,
        None if word.len() <= 3 || word.ends_with("ss") => word,
        None => word.strip_suffix('s').unwrap_or(word),
    }
}
