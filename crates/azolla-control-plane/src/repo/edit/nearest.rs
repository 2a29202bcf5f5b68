//! What was probably meant: the line of a file, or the paths of a tree, that are most like what is not there.

use std::collections::HashMap;

use super::document::Document;
use crate::repo::refusal::visible;

/// Paths that a refusal names.
const PATHS: usize = 3;
/// Characters of a line that a refusal repeats.
const LINE: usize = 80;

/// Returns what to add to a refusal of lines that are not in the file: the line that is most like them.
pub(super) fn line(document: &Document<'_>, old: &[&[u8]]) -> String {
    let places: HashMap<&[u8], usize> =
        document.places().map(|place| (document.text(place).trim_ascii(), place)).collect();
    let old = old.iter().map(|line| line.trim_ascii()).filter(|line| !line.is_empty());
    let missing = old.clone().find(|line| !places.contains_key(line));
    let place = match (missing, old.clone().next()) {
        // Each line is there by itself: they do not follow each other.
        (None, Some(first)) => places.get(first).copied(),
        (Some(missing), _) => most_like(document, missing),
        (None, None) => None,
    };
    let Some(place) = place else { return String::new() };
    let text = String::from_utf8_lossy(document.text(place)).trim().to_owned();
    let shown: String = text.chars().take(LINE).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("; nearest is line {}: {}{more}", document.number(place), visible(&shown))
}

/// Returns the paths that are most like one that is not there.
pub(super) fn paths<'a>(path: &str, all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let (whole, last) = (pairs(&path.to_lowercase()), pairs(&name(path)));
    let mut scored: Vec<(u32, &str)> = all
        .map(|other| {
            let same_name = u32::from(name(other) == name(path)) * 1_000;
            (same_name + likeness(&whole, &other.to_lowercase()) + likeness(&last, &name(other)), other)
        })
        .filter(|(score, _)| *score >= 900)
        .collect();
    scored.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(other.1)));
    scored.into_iter().take(PATHS).map(|(_, path)| path).collect()
}

/// Returns the place of the line that has most of its beginning and end in common with another; none if that is little.
fn most_like(document: &Document<'_>, line: &[u8]) -> Option<usize> {
    let common = |one: &[u8], other: &[u8]| {
        let head = one.iter().zip(other).take_while(|(a, b)| a == b).count();
        let (one, other) = (&one[head..], &other[head..]);
        head + one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count()
    };
    let scored = document.places().map(|place| {
        let text = document.text(place).trim_ascii();
        (common(text, line) * 1_000 / text.len().max(line.len()).max(1), place)
    });
    // The first of those that are equally like it.
    let (score, place) = scored.fold((0, 0), |best, next| if next.0 > best.0 { next } else { best });
    (score >= 300).then_some(place)
}

/// Returns the pairs of neighbouring characters of a text, and how often each is there.
fn pairs(text: &str) -> HashMap<(char, char), u32> {
    let mut pairs = HashMap::new();
    for pair in text.chars().zip(text.chars().skip(1)) {
        *pairs.entry(pair).or_default() += 1;
    }
    pairs
}

/// Returns how much of two texts is the same, in thousandths.
fn likeness(one: &HashMap<(char, char), u32>, other: &str) -> u32 {
    let mut left = one.clone();
    let (mut both, mut count) = (0, 0);
    for pair in other.chars().zip(other.chars().skip(1)) {
        count += 1;
        if let Some(n) = left.get_mut(&pair).filter(|n| **n > 0) {
            *n -= 1;
            both += 1;
        }
    }
    let all = one.values().sum::<u32>() + count;
    u32::checked_div(2_000 * both, all).unwrap_or(0)
}
