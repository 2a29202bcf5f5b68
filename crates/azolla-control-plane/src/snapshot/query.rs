//! What an objective names: words, identifiers, paths, modules. Pure, and the same for the same texts.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::words::{key, parts, push_key, words};

/// The words of a title count more than those of the text below it.
const TITLE: f64 = 2.0;
/// `parser: …`, `[parser] …`: what a title begins with names the place, so it counts so much more than the rest of it.
const PLACE: f64 = 2.0;
/// A longer beginning is a sentence.
const PLACE_BYTES_MAX: usize = 32;
/// Acceptance criteria are the yardstick.
const CRITERIA: f64 = 1.0;
/// What the operator said about an attempt is about what is still missing.
const FEEDBACK: f64 = 1.5;
/// What a check or a worker printed has a lot of noise in it; the paths that it names are what helps.
const FAILURE: f64 = 0.3;
/// A word in backticks was written as a name.
const BACKTICKED: f64 = 2.0;
/// An identifier of several parts, as a whole, is rarer than its parts and says more.
const IDENTIFIER: f64 = 2.0;
/// Two words of prose side by side may be one identifier: `rate limiter` is `RateLimiter` in code.
const PAIR: f64 = 1.5;
/// What one more occurrence of a term adds to its weight, as a share of it.
const AGAIN: f64 = 0.25;
/// Occurrences of a term that count.
const OCCURRENCES_MAX: u32 = 4;
/// Terms of a query: the heaviest ones. More cost time and say nothing more.
const TERMS_MAX: usize = 256;
/// Paths of a query, and modules: each is compared with the whole tree. The output of a check names the same few often.
const NAMES_MAX: usize = 200;
/// Bytes of a text that are looked at.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Words of a title that is about documents.
const PROSE: [&str; 7] = ["changelog", "doc", "docs", "documentation", "guide", "manual", "readme"];

/// What an objective names.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Sorted by key.
    pub(super) terms: Vec<Term>,
    /// Where each key is in `terms`.
    places: HashMap<String, usize>,
    /// First bytes of all keys: most words of a file are told apart by theirs.
    beginnings: HashSet<[u8; 2]>,
    /// Paths and file names, with the line where one was given.
    pub(super) mentions: Vec<Mention>,
    /// `module::item`, `package.module`, `Type.method()`: the parts of each.
    pub(super) modules: Vec<Vec<String>>,
    /// Paths that earlier attempts changed.
    pub(super) earlier: Vec<String>,
    /// Whether documents are what is to change.
    pub(super) is_about_prose: bool,
}

/// A word to look for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Term {
    pub(super) key: String,
    pub(super) weight: f64,
}

/// A path or the end of one, as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// Its components, the file name last.
    pub(super) components: Vec<String>,
    pub(super) line: Option<usize>,
}

/// The texts that a query is made from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Texts<'a> {
    /// The objective's title.
    pub title: &'a str,
    /// Its acceptance criteria.
    pub criteria: &'a str,
    /// What the operator said about earlier attempts.
    pub feedback: &'a [&'a str],
    /// Why earlier attempts failed.
    pub failures: &'a [&'a str],
}

impl Query {
    /// Reads the texts. `earlier` are the paths that earlier attempts changed.
    pub fn new(texts: &Texts<'_>, earlier: Vec<String>) -> Self {
        let mut reader = Reader::default();
        reader.read(texts.title, TITLE);
        reader.read(place_in(texts.title), TITLE * PLACE);
        reader.read(texts.criteria, CRITERIA);
        texts.feedback.iter().for_each(|text| reader.read(text, FEEDBACK));
        texts.failures.iter().for_each(|text| reader.read(text, FAILURE));
        let mut terms = reader.terms();
        terms.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.key.cmp(&b.key)));
        terms.truncate(TERMS_MAX);
        terms.sort_by(|a, b| a.key.cmp(&b.key));
        let places = terms.iter().enumerate().map(|(place, term)| (term.key.clone(), place)).collect();
        let beginnings = terms.iter().filter_map(|term| beginning(&term.key)).collect();
        let is_about_prose =
            words(texts.title).any(|word| PROSE.contains(&word.to_ascii_lowercase().as_str()));
        let Reader { mentions, modules, .. } = reader;
        Self { terms, places, beginnings, mentions, modules, earlier, is_about_prose }
    }

    /// Returns the place of a key among the terms.
    pub(super) fn place(&self, key: &str) -> Option<usize> {
        beginning(key).filter(|bytes| self.beginnings.contains(bytes))?;
        self.places.get(key).copied()
    }

    /// Calls `found` with the place of every term in a word: its parts, pairs of them, and all of them together.
    /// Returns how many parts it has that count. `scratch` is only there to be used again.
    pub(super) fn terms_of(
        &self,
        word: &str,
        scratch: &mut Vec<String>,
        mut found: impl FnMut(usize),
    ) -> usize {
        let mut count = 0;
        for part in parts(word) {
            if scratch.len() == count {
                scratch.push(String::new());
            }
            scratch[count].clear();
            if push_key(part, &mut scratch[count]) {
                count += 1;
            }
        }
        scratch[..count].iter().filter_map(|key| self.place(key)).for_each(&mut found);
        // Only if a part is known can a pair be: most words end here.
        if count > 1 {
            let known = |key: &String| beginning(key).is_some_and(|bytes| self.beginnings.contains(&bytes));
            for pair in scratch[..count].windows(2).filter(|pair| known(&pair[0])) {
                self.place(&pair.concat()).into_iter().for_each(&mut found);
            }
            if count > 2 && known(&scratch[0]) {
                self.place(&scratch[..count].concat()).into_iter().for_each(&mut found);
            }
        }
        count
    }
}

/// Returns what a title says about the place before it says anything else; empty if it does not.
fn place_in(title: &str) -> &str {
    let title = title.trim_start();
    let place = match title.strip_prefix('[') {
        Some(rest) => rest.split_once(']'),
        None => title.split_once(": "),
    };
    place.map_or("", |(place, _)| if place.len() <= PLACE_BYTES_MAX { place } else { "" })
}

fn beginning(key: &str) -> Option<[u8; 2]> {
    key.as_bytes().first_chunk().copied()
}

/// Collects what texts name.
#[derive(Default)]
struct Reader {
    /// The greatest weight of a key, and how often it occurs.
    weights: BTreeMap<String, (f64, u32)>,
    mentions: Vec<Mention>,
    modules: Vec<Vec<String>>,
}

impl Reader {
    fn read(&mut self, text: &str, weight: f64) {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        // Text between backticks is every second piece.
        for (n, piece) in text.split('`').enumerate() {
            self.piece(piece, if n % 2 == 1 { weight * BACKTICKED } else { weight });
        }
    }

    fn piece(&mut self, text: &str, weight: f64) {
        let mut previous: Option<String> = None;
        let mut is_line_number = false;
        for chunk in text.split(|c: char| c.is_whitespace() || "()[]{}<>\"',;|=*".contains(c)) {
            let chunk = chunk.trim_matches(|c: char| ".:!?#-".contains(c));
            if chunk.is_empty() || chunk.contains("://") {
                previous = None;
                continue;
            }
            // `File "a/b.py", line 12`: the number belongs to the path before it.
            if is_line_number && let (Ok(line), Some(mention)) = (chunk.parse(), self.mentions.last_mut()) {
                mention.line = mention.line.or(Some(line));
            }
            is_line_number = chunk == "line";
            self.names(chunk);
            for word in words(chunk) {
                previous = self.word(word, previous, weight);
            }
        }
    }

    /// Takes a chunk for a path or a module, where it looks like one.
    fn names(&mut self, chunk: &str) {
        if let Some(mention) = mention(chunk).filter(|_| self.mentions.len() < NAMES_MAX)
            && !self.mentions.contains(&mention)
        {
            self.mentions.push(mention);
        }
        let separator = if chunk.contains("::") { "::" } else { "." };
        let names: Vec<String> =
            chunk.split(separator).map(squashed).filter(|name| !name.is_empty()).collect();
        if names.len() > 1 && self.modules.len() < NAMES_MAX && !self.modules.contains(&names) {
            self.modules.push(names);
        }
    }

    /// Counts a word, its parts, and the pair with the word before it. Returns its key for the next pair.
    fn word(&mut self, word: &str, previous: Option<String>, weight: f64) -> Option<String> {
        let keys: Vec<String> = parts(word).filter_map(key).collect();
        for key in &keys {
            self.add(key.clone(), weight);
        }
        match keys.as_slice() {
            [] => previous.filter(|_| word.len() == 1),
            [key] => {
                if let Some(previous) = previous {
                    self.add(previous + key, weight * PAIR);
                }
                Some(key.clone())
            }
            [.., last] => {
                for pair in keys.windows(2).filter(|_| keys.len() > 2) {
                    self.add(pair.concat(), weight * PAIR);
                }
                self.add(keys.concat(), weight * IDENTIFIER);
                Some(last.clone())
            }
        }
    }

    fn add(&mut self, key: String, weight: f64) {
        let entry = self.weights.entry(key).or_default();
        entry.0 = entry.0.max(weight);
        entry.1 += 1;
    }

    fn terms(&mut self) -> Vec<Term> {
        let weights = std::mem::take(&mut self.weights).into_iter();
        let weighed =
            |weight: f64, count: u32| weight * (1.0 + AGAIN * f64::from(count.min(OCCURRENCES_MAX) - 1));
        weights.map(|(key, (weight, count))| Term { key, weight: weighed(weight, count) }).collect()
    }
}

/// Returns the path that a chunk is: it has a slash, or a name with an extension. `:12` or `:12:5` at its end is a line.
fn mention(chunk: &str) -> Option<Mention> {
    let mut pieces = chunk.splitn(3, ':');
    let path = pieces.next().unwrap_or_default();
    let line = pieces.next().and_then(|line| line.parse().ok());
    if chunk.contains(':') && line.is_none() {
        return None;
    }
    let components: Vec<String> =
        path.split(['/', '\\']).filter(|part| !matches!(*part, "" | "." | "..")).map(str::to_owned).collect();
    let name = components.last()?;
    let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && matches!(extension.len(), 1..=8)
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    (has_extension || components.len() > 1).then_some(Mention { components, line })
}

/// Returns a name in lower case without what only separates its parts, so that `FooBar`, `foo_bar` and `foo-bar` are one.
pub(super) fn squashed(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests;
