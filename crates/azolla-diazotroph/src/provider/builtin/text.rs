//! Words, sentences and cuts, and the lists of `words.txt`.

use std::{collections::HashMap, ops::Range, sync::OnceLock};

/// A phrase, and the list that it is in.
type Listed = (&'static str, &'static str);

/// A word as written, where it is, and as it is looked up: in lower case, without the marks around it.
pub(super) struct Word<'a> {
    pub(super) raw: &'a str,
    pub(super) at: Range<usize>,
    pub(super) lower: String,
    /// The phrases of all lists that begin with it.
    known: &'static [Listed],
}

impl Word<'_> {
    pub(super) fn is(&self, list: &str) -> bool {
        self.known.iter().any(|(name, phrase)| *name == list && *phrase == self.lower)
    }

    /// Returns the number in the name of a list, such as `month 3`, that the word is in.
    pub(super) fn number(&self, lists: &str) -> Option<i64> {
        let named = self.known.iter().filter(|(_, phrase)| *phrase == self.lower);
        named.filter_map(|(name, _)| name.strip_prefix(lists)?.parse().ok()).next()
    }
}

/// Returns the words of a text.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    super::triage::step(text.len());
    let word = |raw| {
        let begin = str::as_ptr(raw) as usize - text.as_ptr() as usize;
        let lower = raw.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('’', "'");
        Word { raw, at: begin..begin + raw.len(), known: known(&lower), lower }
    };
    text.split_whitespace().map(word).collect()
}

/// Returns the phrases of all lists that begin with a word.
pub(super) fn known(word: &str) -> &'static [Listed] {
    static LISTS: OnceLock<HashMap<&str, Vec<Listed>>> = OnceLock::new();
    let read = || {
        let mut all: HashMap<&str, Vec<Listed>> = HashMap::new();
        for (name, phrases) in include_str!("words.txt").lines().filter_map(|line| line.split_once(" = ")) {
            for phrase in phrases.split(", ") {
                let first = phrase.split([' ', ':']).next().unwrap_or(phrase);
                all.entry(first).or_default().push((name, phrase));
            }
        }
        all
    };
    LISTS.get_or_init(read).get(word).map_or(&[], Vec::as_slice)
}

/// Returns the lists that have a phrase that begins at a word, and where that ends. A phrase with a colon needs one in
/// the text.
pub(super) fn phrases(words: &[Word<'_>], at: usize) -> impl Iterator<Item = (&'static str, usize)> {
    let known = words.get(at).map_or(&[] as &[Listed], |word| word.known);
    known.iter().filter_map(move |(list, phrase)| {
        let plain = phrase.trim_end_matches(':');
        let found = words.get(at..at + plain.split(' ').count())?;
        let is_same = plain.split(' ').zip(found).all(|(part, word)| part == word.lower);
        let has_colon = plain.len() == phrase.len() || found.last()?.raw.ends_with(':');
        (is_same && has_colon).then_some((*list, at + found.len()))
    })
}

/// Returns the end of the longest phrase of a list that begins at a word.
pub(super) fn phrase_at(words: &[Word<'_>], at: usize, list: &str) -> Option<usize> {
    phrases(words, at).filter(|(name, _)| *name == list).map(|(_, end)| end).max()
}

/// Tells whether a phrase of a list is anywhere among the words.
pub(super) fn has_phrase(words: &[Word<'_>], list: &str) -> bool {
    (0..words.len()).any(|at| phrase_at(words, at, list).is_some())
}

/// Returns the sentences of a text, at least one. A line break ends one too.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut begin = 0;
        for (at, _) in line.match_indices(['.', '!', '?']) {
            let (sentence, rest) = (&line[begin..=at], &line[at + 1..]);
            let last = sentence.rsplit([' ', '(']).next().unwrap_or_default().to_lowercase();
            // `J.` and `3.` end no sentence: an initial, or a day.
            let is_short = last.chars().count() == 2
                || ["e.g.", "i.e.", "z.b.", "etc.", "vs.", "nr."].contains(&last.as_str());
            let goes_on = rest.trim_start().starts_with(char::is_lowercase) || !rest.starts_with(' ');
            if !is_short && !goes_on {
                found.push(sentence.trim());
                begin = at + 1;
            }
        }
        found.push(line[begin..].trim());
    }
    found.retain(|sentence| sentence.contains(char::is_alphanumeric));
    if found.is_empty() { vec![text] } else { found }
}

/// Returns a text in one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns at most so many bytes of a text.
pub(super) fn head(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// Returns at most so many characters of a text, cut at the end of a word where there is one, and marked.
pub(super) fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().nth(chars_max).is_none() {
        return text.to_owned();
    }
    let room = text.char_indices().nth(chars_max - 1).map_or(0, |(at, _)| at);
    let is_between = text[room..].starts_with(' ');
    let word = text[..room].rfind(' ').filter(|at| !is_between && *at > room / 2).unwrap_or(room);
    format!("{}…", text[..word].trim_end_matches([' ', ',', ';', ':', '-']))
}

/// Returns a text with a capital in front, unless its first word is a name, a path or an identifier.
pub(super) fn capital(text: &str) -> String {
    let first = text.split([' ', ',', ':', ';', '.', '!', '?']).next().unwrap_or_default();
    let is_plain = first.chars().all(|c| c.is_lowercase() || matches!(c, '-' | '\'' | '’'));
    let is_path =
        text[first.len()..].starts_with('.') && text[first.len() + 1..].starts_with(char::is_alphanumeric);
    let mut rest = text.chars();
    match rest.next() {
        Some(c) if is_plain && !is_path => c.to_uppercase().chain(rest).collect(),
        _ => text.to_owned(),
    }
}

/// Returns a text without the capital of a sentence, where its first word is no name: a common one, or one that is in
/// lower case elsewhere in the same note.
pub(super) fn uncapital(text: &str, note: &str) -> String {
    let first = words(head(text, text.find(' ').unwrap_or(text.len())));
    let lists = ["stop", "verbs", "asking", "asking with a mark"];
    let is_common = |word: &Word<'_>| {
        let lower = word.raw.to_lowercase();
        word.raw.len() > 1
            && (lists.iter().any(|list| word.is(list)) || note.split_whitespace().any(|other| other == lower))
    };
    let mut rest = text.chars();
    match (first.first(), rest.next()) {
        (Some(word), Some(c)) if is_common(word) => c.to_lowercase().chain(rest).collect(),
        _ => text.to_owned(),
    }
}
