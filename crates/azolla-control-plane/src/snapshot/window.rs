//! The parts of a large file that an objective is about, by line.

use super::{query::Query, words::words};

/// Lines around a match, each way: about a screen in all, so that a function is seen whole.
const AROUND: usize = 20;
/// Lines at the beginning, with what the file refers to.
const HEAD: usize = 12;
/// A hole of so few lines is closed rather than marked.
const HOLE: usize = 4;
/// What the words around a window cost, its fences included.
const FRAME_BYTES: usize = 64;
/// A line that is named, by a trace for instance, comes before any match of words.
const NAMED_LINE: f64 = 1e6;

/// Lines of a file, both included, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) first: usize,
    pub(super) last: usize,
}

impl Window {
    /// Returns these lines of a text.
    pub(super) fn of(self, text: &str) -> String {
        text.split_inclusive('\n').skip(self.first - 1).take(self.last + 1 - self.first).collect()
    }
}

/// Returns windows of at most `bytes_max` bytes together, their frames included: the lines with the most and rarest
/// words of the query first. `worth` is that of each term, `named` are lines that were named. None if nothing fits.
pub(super) fn windows(
    text: &str,
    query: &Query,
    worth: &[f64],
    named: &[usize],
    bytes_max: usize,
) -> Vec<Window> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut shown = vec![false; lines.len()];
    let mut left = bytes_max;
    for at in best_lines(&lines, query, worth, named) {
        let range = at.saturating_sub(AROUND)..lines.len().min(at + AROUND + 1);
        let fits = show(range, &lines, &mut shown, &mut left);
        // The best line is shown even if there is no room for a screen around it; lines alone beside it say little.
        if !fits && left == bytes_max {
            show(at..at + 1, &lines, &mut shown, &mut left);
        }
    }
    if shown.iter().any(|shown| *shown) {
        show(0..lines.len().min(HEAD), &lines, &mut shown, &mut left);
        close_holes(&lines, &mut shown, &mut left);
    }
    runs(&shown)
}

/// Returns the lines that have something of the query, the best first.
fn best_lines(lines: &[&str], query: &Query, worth: &[f64], named: &[usize]) -> Vec<usize> {
    let mut scratch = Vec::new();
    let mut seen = vec![usize::MAX; worth.len()];
    let mut scored: Vec<(i64, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let mut score = if named.contains(&(at + 1)) { NAMED_LINE } else { 0.0 };
        for word in words(line) {
            query.terms_of(word, &mut scratch, |term| {
                // Each word counts once in a line.
                if seen[term] != at {
                    seen[term] = at;
                    score += worth[term];
                }
            });
        }
        if score > 0.0 {
            scored.push(((score * 1_000.0).round() as i64, at));
        }
    }
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, at)| at).collect()
}

/// Shows lines if they fit; tells whether they do.
fn show(range: std::ops::Range<usize>, lines: &[&str], shown: &mut [bool], left: &mut usize) -> bool {
    let fresh: usize = range.clone().filter(|&at| !shown[at]).map(|at| lines[at].len()).sum();
    let touches = range.start.checked_sub(1).is_some_and(|before| shown[before])
        || shown.get(range.end).is_some_and(|after| *after)
        || range.clone().any(|at| shown[at]);
    let cost = fresh + if touches { 0 } else { FRAME_BYTES };
    if fresh > 0 && cost > *left {
        return false;
    }
    *left -= if fresh > 0 { cost } else { 0 };
    shown[range].fill(true);
    true
}

fn close_holes(lines: &[&str], shown: &mut [bool], left: &mut usize) {
    for pair in runs(shown).windows(2) {
        let hole = pair[0].last..pair[1].first - 1;
        if hole.len() <= HOLE {
            show(hole, lines, shown, left);
        }
    }
}

fn runs(shown: &[bool]) -> Vec<Window> {
    let mut runs: Vec<Window> = Vec::new();
    for line in (1..=shown.len()).filter(|line| shown[line - 1]) {
        match runs.last_mut() {
            Some(run) if run.last + 1 == line => run.last = line,
            _ => runs.push(Window { first: line, last: line }),
        }
    }
    runs
}

#[cfg(test)]
mod tests;
