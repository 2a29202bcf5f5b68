//! What changed inside of a line: a removed line and the added one that took its place are compared word by word.

use super::{Line, Sign};

/// A piece of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    /// Its text.
    pub(crate) text: &'a str,
    /// Whether the other line does not have it.
    pub(crate) differs: bool,
}

/// The most characters of a line that are shown. A longer one is cut, and not compared.
pub(crate) const LINE_CHARS_MAX: usize = 1_000;

/// Comparisons of words for one pair of lines, and for a whole page. Beyond them, only the ends that are the same are
/// told apart.
const COMPARED_MAX: usize = 40_000;
const COMPARED_ON_A_PAGE_MAX: usize = 2_000_000;

/// How many words may still be compared on a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Left(usize);

impl Default for Left {
    fn default() -> Self {
        Self(COMPARED_ON_A_PAGE_MAX)
    }
}

impl Left {
    /// Takes the comparisons of two rows of words, if there is room for them.
    fn take(&mut self, compared: usize) -> bool {
        let is_room = compared <= COMPARED_MAX.min(self.0);
        if is_room {
            self.0 -= compared;
        }
        is_room
    }
}

/// Tells whether a line is longer than what is shown of it.
pub(crate) fn is_long(text: &str) -> bool {
    text.len() > LINE_CHARS_MAX && text.chars().nth(LINE_CHARS_MAX).is_some()
}

/// Returns the lines of a hunk in pieces, in their order. A line that has no counterpart, one that is long, or one that is
/// all different, is one piece and differs nowhere: its sign says enough.
pub(crate) fn pieces<'a>(lines: &[Line<'a>], left: &mut Left) -> Vec<Vec<Piece<'a>>> {
    let mut found: Vec<Vec<Piece<'a>>> =
        lines.iter().map(|line| vec![Piece { text: line.text, differs: false }]).collect();
    let mut at = 0;
    while at < lines.len() {
        let removed = run(lines, at, Sign::Removed);
        let added = run(lines, at + removed, Sign::Added);
        for pair in 0..removed.min(added) {
            let (old, new) = (at + pair, at + removed + pair);
            if let Some((before, after)) = compare(lines[old].text, lines[new].text, left) {
                (found[old], found[new]) = (before, after);
            }
        }
        at += (removed + added).max(1);
    }
    found
}

/// Counts the lines from `at` on that have a sign.
fn run(lines: &[Line<'_>], at: usize, sign: Sign) -> usize {
    lines.iter().skip(at).take_while(|line| line.sign == sign).count()
}

/// The pieces of the line before and of the line after.
type Both<'a> = (Vec<Piece<'a>>, Vec<Piece<'a>>);

/// Compares two lines; none if one is long, or so little is the same that pieces would say nothing.
fn compare<'a>(old: &'a str, new: &'a str, left: &mut Left) -> Option<Both<'a>> {
    if is_long(old) || is_long(new) {
        return None;
    }
    let (before, after) = (words(old), words(new));
    let kept = kept(&before, &after, left);
    let same: usize = kept.iter().map(|(at, _)| before[*at].trim().len()).sum();
    let most = old.trim().len().max(new.trim().len());
    if same * 3 < most {
        return None;
    }
    let (mut is_before, mut is_after) = (vec![false; before.len()], vec![false; after.len()]);
    for (old, new) in kept {
        (is_before[old], is_after[new]) = (true, true);
    }
    Some((joined(old, &before, &is_before), joined(new, &after, &is_after)))
}

/// Splits a line into words, runs of blanks and single other characters.
fn words(text: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut words = Vec::new();
    let (mut from, mut last) = (0, None);
    for (at, c) in text.char_indices() {
        let is_one = last.is_some_and(|last| last == kind(c) && last != 2);
        if at > 0 && !is_one {
            words.push(&text[from..at]);
            from = at;
        }
        last = Some(kind(c));
    }
    if from < text.len() {
        words.push(&text[from..]);
    }
    words
}

/// Returns which words both lines have in the same order, as positions before and after.
fn kept(before: &[&str], after: &[&str], left: &mut Left) -> Vec<(usize, usize)> {
    let same = |(old, new): (&&str, &&str)| old == new;
    let head = before.iter().zip(after).take_while(|pair| same(*pair)).count();
    let (before_rest, after_rest) = (&before[head..], &after[head..]);
    let tail = before_rest.iter().rev().zip(after_rest.iter().rev()).take_while(|pair| same(*pair)).count();
    let (old, new) = (&before_rest[..before_rest.len() - tail], &after_rest[..after_rest.len() - tail]);
    let mut kept: Vec<_> = (0..head).map(|at| (at, at)).collect();
    if left.take(old.len() * new.len()) {
        kept.extend(longest(old, new).into_iter().map(|(old, new)| (head + old, head + new)));
    }
    kept.extend((0..tail).rev().map(|at| (before.len() - 1 - at, after.len() - 1 - at)));
    kept
}

/// Returns a longest common subsequence.
fn longest(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i * width + j] = match old[i] == new[j] {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            found.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}

/// Joins neighbouring words that are both kept or both not.
fn joined<'a>(text: &'a str, words: &[&str], is_kept: &[bool]) -> Vec<Piece<'a>> {
    let mut pieces: Vec<(bool, usize, usize)> = Vec::new();
    let mut from = 0;
    for (word, is_kept) in words.iter().zip(is_kept) {
        let (differs, to) = (!is_kept, from + word.len());
        match pieces.last_mut() {
            Some(last) if last.0 == differs => last.2 = to,
            _ => pieces.push((differs, from, to)),
        }
        from = to;
    }
    pieces.into_iter().map(|(differs, from, to)| Piece { text: &text[from..to], differs }).collect()
}
