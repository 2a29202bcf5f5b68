//! Which files of a commit an objective is about: a deterministic ranking, pure.
//!
//! Three signals add up. *Names*: a file that the objective names, or that an earlier attempt changed, comes first.
//! *Words*: BM25 over the words of the objective, with the path and the lines that define something counted as fields of
//! their own (BM25F). *Nearness*: what belongs to the best files gets a share of their score. Ties go by path.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    class::is_machine_made,
    nearness::{self, Stems},
    query::Mention,
    words::words,
};
pub use super::{
    class::{Class, FILE_BYTES_MAX, class},
    query::{Query, Texts},
};
use crate::repo::Entry;

/// Bytes of all files whose text takes part.
pub const READ_BYTES_MAX: u64 = 32 << 20;
/// Files whose text takes part: each costs git a look-up, whatever its size.
pub const READ_FILES_MAX: usize = 8_000;

/// Occurrences soon stop to count: BM25's k1, in its usual range.
const SATURATION: f64 = 1.2;
/// How much a long file has to have more of a word than a short one: BM25's b, less than usual, for large files are
/// where much of the work is.
const LENGTH: f64 = 0.4;
/// A word in a file's name counts like so many in its text.
const IN_NAME: f64 = 8.0;
/// The same for the directories above it.
const IN_DIRECTORY: f64 = 3.0;
/// A word in a line that defines something counts like so many elsewhere.
const IN_DEFINITION: f64 = 3.0;

/// A file of an earlier attempt's patch comes before all others.
const EARLIER: f64 = 1_000.0;
/// A file that is named by its path or name comes before those that only have the words.
const NAMED: f64 = 200.0;
/// A module or type that is named: its file is likely, but the name may be of something in it.
const NAMED_MODULE: f64 = 15.0;
/// A name that so many files have says nothing of each.
const NAMESAKES_MAX: usize = 12;
/// Files, best first, whose neighbours are looked at.
const CENTRES: usize = 8;

/// A file and how relevant it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// Its place in the tree's entries.
    pub entry: usize,
    /// Its score, in thousandths: rounded, so that the last bit of a sum changes no order.
    pub score: i64,
    /// Lines of it that were named.
    pub lines: Vec<usize>,
}

/// Files in order, and what a word is worth in them.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    /// The most relevant first; those without any relevance are left out.
    pub files: Vec<Ranked>,
    /// The worth of each term of the query: its weight times how rare it is.
    pub(super) worth: Vec<f64>,
}

/// Returns the entries whose texts [`rank`] is to be given: all that can be read if they are few, else those whose paths
/// promise most.
pub fn candidates(query: &Query, entries: &[Entry]) -> Vec<usize> {
    let classes: Vec<Class> = entries.iter().map(class).collect();
    let mut readable: Vec<usize> = (0..entries.len()).filter(|&n| classes[n] != Class::Opaque).collect();
    let bytes: u64 = readable.iter().map(|&n| entries[n].size).sum();
    if bytes <= READ_BYTES_MAX && readable.len() <= READ_FILES_MAX {
        return readable;
    }
    let scores = path_scores(query, entries, &classes);
    let order = |n: usize| (-scores[n], classes[n] as u8, entries[n].path.matches('/').count());
    readable.sort_by_cached_key(|&n| (order(n), entries[n].path.as_str()));
    let mut left = READ_BYTES_MAX;
    readable.retain(|&n| {
        let fits = entries[n].size <= left;
        left -= if fits { entries[n].size } else { 0 };
        fits
    });
    readable.truncate(READ_FILES_MAX);
    readable
}

/// Ranks files. `texts` are those of [`candidates`], by their place in `entries`; a file without one has its path only.
pub fn rank(query: &Query, entries: &[Entry], texts: &BTreeMap<usize, String>) -> Ranking {
    let documents = Documents::new(query, entries, texts);
    let worth = documents.worth(query);
    let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
    for (&n, document) in &documents.found {
        let text = texts.get(&n).map(String::as_str);
        let foreign = text.is_some_and(is_machine_made);
        let class = if foreign { Class::Foreign } else { class(&entries[n]) };
        let score = documents.score(document, &worth) * class.factor(query.is_about_prose);
        if score > 0.0 {
            scores.insert(n, score);
        }
    }
    let stems = Stems::new(entries);
    let named = named(query, entries, &stems);
    add_shares(&mut scores, &named, entries, texts, &stems);
    for (&n, name) in &named {
        *scores.entry(n).or_default() += name.bonus;
    }
    let mut files: Vec<Ranked> = scores
        .into_iter()
        .map(|(entry, score)| Ranked {
            entry,
            score: thousandths(score),
            lines: named.get(&entry).map(|name| name.lines.iter().copied().collect()).unwrap_or_default(),
        })
        .filter(|ranked| ranked.score > 0)
        .collect();
    files.sort_by(|a, b| {
        b.score.cmp(&a.score).then_with(|| entries[a.entry].path.cmp(&entries[b.entry].path))
    });
    Ranking { files, worth }
}

/// Ranks by the words of paths alone.
fn path_scores(query: &Query, entries: &[Entry], classes: &[Class]) -> Vec<i64> {
    let documents = Documents::new(query, entries, &BTreeMap::new());
    let worth = documents.worth(query);
    let mut scores = vec![0; entries.len()];
    for (&n, document) in &documents.found {
        let factor = classes[n].factor(query.is_about_prose);
        scores[n] = thousandths(documents.score(document, &worth) * factor);
    }
    for (n, name) in named(query, entries, &Stems::new(entries)) {
        scores[n] += thousandths(name.bonus);
    }
    scores
}

fn thousandths(score: f64) -> i64 {
    (score * 1_000.0).round() as i64
}

/// What files have of the query's words.
struct Documents {
    /// Those that have any, or whose text was read.
    found: BTreeMap<usize, Document>,
    /// Parts of words in a text, on average.
    length: f64,
}

/// How often a file has each word.
#[derive(Default)]
struct Document {
    /// Term and count, by term; fields are weighed.
    counts: BTreeMap<usize, f64>,
    /// Parts of words in its text.
    length: usize,
}

impl Documents {
    fn new(query: &Query, entries: &[Entry], texts: &BTreeMap<usize, String>) -> Self {
        let mut found: BTreeMap<usize, Document> = BTreeMap::new();
        let mut scratch = Vec::new();
        let mut directory: (&str, Vec<usize>) = ("", Vec::new());
        for (n, entry) in entries.iter().enumerate() {
            let (above, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
            if above != directory.0 {
                // Entries are in the order of paths: most have the directory of the one before.
                directory = (above, terms_in(query, above, &mut scratch));
            }
            let stem =
                name.split_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
            let in_name = terms_in(query, stem, &mut scratch);
            let text = texts.get(&n);
            if text.is_none() && in_name.is_empty() && directory.1.is_empty() {
                continue;
            }
            let mut document = Document::default();
            document.add(&directory.1, IN_DIRECTORY);
            document.add(&in_name, IN_NAME);
            if let Some(text) = text {
                document.read(query, text, &mut scratch);
            }
            found.insert(n, document);
        }
        let lengths: usize = found.values().map(|document| document.length).sum();
        let length = lengths as f64 / texts.len().max(1) as f64;
        Self { found, length: length.max(1.0) }
    }

    /// Returns what each term is worth: the rarer, the more.
    fn worth(&self, query: &Query) -> Vec<f64> {
        let mut files = vec![0_usize; query.terms.len()];
        for document in self.found.values() {
            document.counts.keys().for_each(|&term| files[term] += 1);
        }
        let all = self.found.len() as f64;
        let rarity = |with: usize| (1.0 + (all - with as f64 + 0.5) / (with as f64 + 0.5)).ln();
        query.terms.iter().zip(files).map(|(term, with)| term.weight * rarity(with)).collect()
    }

    fn score(&self, document: &Document, worth: &[f64]) -> f64 {
        let norm = 1.0 - LENGTH + LENGTH * document.length as f64 / self.length;
        let part = |(&term, &count): (&usize, &f64)| {
            worth[term] * count * (SATURATION + 1.0) / (count + SATURATION * norm)
        };
        document.counts.iter().map(part).sum()
    }
}

impl Document {
    fn add(&mut self, terms: &[usize], count: f64) {
        for &term in terms {
            *self.counts.entry(term).or_default() += count;
        }
    }

    fn read(&mut self, query: &Query, text: &str, scratch: &mut Vec<String>) {
        let mut counts = vec![0.0; query.terms.len()];
        for line in text.lines() {
            let count = if is_definition(line) { IN_DEFINITION } else { 1.0 };
            for word in words(line) {
                self.length += query.terms_of(word, scratch, |term| counts[term] += count);
            }
        }
        for (term, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0.0) {
            *self.counts.entry(term).or_default() += count;
        }
    }
}

fn terms_in(query: &Query, text: &str, scratch: &mut Vec<String>) -> Vec<usize> {
    let mut terms = Vec::new();
    for word in words(text) {
        query.terms_of(word, scratch, |term| terms.push(term));
    }
    terms
}

/// Tells whether a line defines something that has a name, in most languages.
fn is_definition(line: &str) -> bool {
    /// Words before which there may be others, such as `pub`, `async`, `export default`.
    const KEYWORDS: [&str; 15] = [
        "fn",
        "def",
        "class",
        "struct",
        "enum",
        "trait",
        "impl",
        "interface",
        "type",
        "function",
        "func",
        "module",
        "macro_rules",
        "typedef",
        "namespace",
    ];
    const WORDS_BEFORE_MAX: usize = 4;
    let is_comment = line.trim_start().starts_with(['/', '#', '*', '-', '"', '\'']);
    let has_keyword = || words(line).take(WORDS_BEFORE_MAX).any(|word| KEYWORDS.contains(&word));
    // `int ring_push(struct ring *ring)` in the first column, and no call.
    let is_function_of_c = || {
        line.starts_with(|c: char| c.is_ascii_alphabetic())
            && line.ends_with([')', '{', ','])
            && line.split_once('(').is_some_and(|(head, _)| head.contains(' ') && !head.contains('='))
    };
    !is_comment && (has_keyword() || is_function_of_c())
}

/// A file that is named.
#[derive(Debug, Default)]
struct Name {
    bonus: f64,
    lines: BTreeSet<usize>,
}

fn named(query: &Query, entries: &[Entry], stems: &Stems) -> BTreeMap<usize, Name> {
    let mut names: BTreeMap<usize, Name> = BTreeMap::new();
    let raise = |names: &mut BTreeMap<usize, Name>, n: usize, bonus: f64| {
        let name = names.entry(n).or_default();
        name.bonus = name.bonus.max(bonus);
    };
    for path in &query.earlier {
        if let Some(n) = entries.iter().position(|entry| entry.path == *path) {
            raise(&mut names, n, EARLIER);
        }
    }
    for mention in &query.mentions {
        let found = mentioned(mention, entries);
        if found.len() > NAMESAKES_MAX {
            continue;
        }
        for &n in &found {
            raise(&mut names, n, NAMED / found.len() as f64);
            names.entry(n).or_default().lines.extend(mention.line);
        }
    }
    for module in &query.modules {
        let found = stems.of_module(module, entries);
        if found.len() <= NAMESAKES_MAX {
            found.iter().for_each(|&n| raise(&mut names, n, NAMED_MODULE / found.len() as f64));
        }
    }
    names.retain(|&n, _| class(&entries[n]) != Class::Opaque);
    names
}

/// Returns the entries that a mention can mean: it is the end of their path, or their path is the end of it, as in the
/// output of a check that ran elsewhere. The longest path wins.
fn mentioned(mention: &Mention, entries: &[Entry]) -> Vec<usize> {
    let Some(name) = mention.components.last() else { return Vec::new() };
    let mut best = 0;
    let mut found = Vec::new();
    for (n, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.path.ends_with(name.as_str())) {
        let ours = entry.path.rsplit('/');
        let theirs = mention.components.iter().rev().map(String::as_str);
        let same = ours.clone().zip(theirs).take_while(|(a, b)| a == b).count();
        if same == 0 || same < ours.count().min(mention.components.len()) || same < best {
            continue;
        }
        if same > best {
            best = same;
            found.clear();
        }
        found.push(n);
    }
    found
}

/// Gives the neighbours of the best files a share of their scores.
fn add_shares(
    scores: &mut BTreeMap<usize, f64>,
    named: &BTreeMap<usize, Name>,
    entries: &[Entry],
    texts: &BTreeMap<usize, String>,
    stems: &Stems,
) {
    let best_text = scores.values().copied().fold(0.0, f64::max).max(1.0);
    // A name lifts a file above all others, but what is near to it only to the height of the best text.
    let lift = |n: usize| named.get(&n).map_or(0.0, |name| name.bonus.min(best_text));
    let mut centres: Vec<(i64, usize)> = scores
        .keys()
        .copied()
        .chain(named.keys().copied().filter(|n| !scores.contains_key(n)))
        .map(|n| (thousandths(scores.get(&n).copied().unwrap_or_default() + lift(n)), n))
        .collect();
    centres.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| entries[a.1].path.cmp(&entries[b.1].path)));
    centres.truncate(CENTRES);
    let mut shares: BTreeMap<usize, f64> = BTreeMap::new();
    let importers =
        nearness::importers(&centres.iter().map(|centre| centre.1).collect::<Vec<_>>(), entries, texts);
    for &(score, centre) in &centres {
        let neighbours = nearness::neighbours(centre, entries, texts, stems);
        let importers = importers.get(&centre).into_iter().flatten().map(|&n| (n, nearness::IMPORTER));
        for (n, share) in neighbours.into_iter().chain(importers).filter(|(n, _)| *n != centre) {
            let share = share * score as f64 / 1_000.0 * class(&entries[n]).factor(false);
            let most = shares.entry(n).or_default();
            *most = most.max(share);
        }
    }
    for (n, share) in shares {
        *scores.entry(n).or_default() += share;
    }
}

#[cfg(test)]
mod tests;
