//! Search/replace blocks: a path, `<<<<<<< SEARCH`, the old text, `=======`, the new text, `>>>>>>> REPLACE`.
//!
//! Signs number five to nine. Lines of the content that look like a divider are told from it by conflict markers around
//! them and by their number of signs; where that leaves several dividers, the one reading that fits the file is taken.

use std::collections::BTreeSet;

use super::{Action, Change, Chunk, FileEdit, Reach, fence::Fence, names};
use crate::repo::{patch::Lines, refusal::Refusal};

/// Dividers of one block that are tried.
const READINGS_MAX: usize = 8;

/// Returns the words right before blocks, or in their first lines, that are paths only if the base has them.
pub(in crate::repo) fn bare_names(text: &str) -> BTreeSet<&str> {
    let (mut found, mut before) = (BTreeSet::new(), None);
    // Most answers have no block, and some are long.
    if !text.contains("<<<<<") {
        return found;
    }
    for line in text.lines() {
        if let Some((_, path)) = head(line) {
            found.extend([Some(path), before].into_iter().flatten().filter_map(names::bare));
            before = None;
        } else if !line.trim().is_empty() && Fence::open(line).is_none() {
            before = Some(line);
        }
    }
    found
}

/// How many blocks were read.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    count: usize,
}

/// Tells whether a block begins here.
pub(super) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| head(line).is_some())
}

impl Blocks {
    /// Reads one block, of the file that was named last; `known` are paths that look like words.
    pub(super) fn read(
        &mut self,
        lines: &mut Lines<'_>,
        named: Option<&str>,
        known: &BTreeSet<String>,
    ) -> Result<FileEdit, Refusal> {
        self.count += 1;
        let label = format!("block {}", self.count);
        let (signs, path) = lines.next().and_then(head).unwrap_or_default();
        let Some(path) = names::of_line_or_known(path, known).or_else(|| named.map(str::to_owned)) else {
            let reason = format!("{label} has no path before it; give it on the line before <<<<<<< SEARCH");
            return Err(Refusal::whole(reason));
        };
        let Some(text) = content(lines, signs) else {
            return Err(Refusal::of(&path, format!("{label} has no >>>>>>> REPLACE line")));
        };
        let dividers = dividers(text, signs);
        if dividers.is_empty() {
            return Err(Refusal::of(&path, format!("{label} has no ======= line")));
        }
        if dividers.len() > READINGS_MAX {
            return Err(Refusal::of(&path, format!("{label} has too many ======= lines; use more signs")));
        }
        let readings: Vec<(&str, &str)> = dividers
            .iter()
            .map(|at| (&text[..*at], text[*at..].split_once('\n').map_or("", |(_, new)| new)))
            .collect();
        if let [(old, new)] = readings[..]
            && old.trim().is_empty()
        {
            return Ok(FileEdit::new(path, Action::Create(new.to_owned())));
        }
        let readings = readings.iter().filter(|(old, _)| !old.trim().is_empty()).map(|(old, new)| {
            let (old, new): (Vec<&str>, Vec<&str>) = (split(old), split(new));
            Chunk::replacing(label.clone(), &old, &new, Reach::Indentation)
        });
        let change = Change { readings: readings.collect() };
        Ok(FileEdit::new(path, Action::Change(vec![change])))
    }
}

/// Returns the lines of a text, without their ends.
pub(super) fn split(text: &str) -> Vec<&str> {
    text.split_terminator('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect()
}

/// Returns the number of signs of a line that begins a block, and what follows its word.
fn head(line: &str) -> Option<(usize, &str)> {
    let (signs, rest) = marker(line, '<')?;
    let rest = rest.strip_prefix("SEARCH").or_else(|| rest.strip_prefix("ORIGINAL"))?;
    (rest.is_empty() || rest.starts_with([' ', ':'])).then(|| (signs, rest.trim_start_matches(':').trim()))
}

fn is_tail(line: &str) -> Option<usize> {
    let (signs, rest) = marker(line, '>')?;
    matches!(rest, "REPLACE" | "UPDATED").then_some(signs)
}

/// Reads five to nine signs and what follows them.
fn marker(line: &str, sign: char) -> Option<(usize, &str)> {
    let line = line.trim_end();
    let rest = line.trim_start_matches(sign);
    let signs = line.len() - rest.len();
    (5..=9).contains(&signs).then(|| (signs, rest.trim()))
}

/// Reads up to the end of the block: a line with as many signs as its first one, else with any number of them.
fn content<'a>(lines: &mut Lines<'a>, signs: usize) -> Option<&'a str> {
    let begin = lines.rest();
    let mut ahead = lines.clone();
    let mut other = None;
    loop {
        let end = ahead.rest();
        let Some(line) = ahead.next() else { break };
        let text = &begin[..begin.len() - end.len()];
        match is_tail(line) {
            Some(n) if n == signs => {
                *lines = ahead;
                return Some(text);
            }
            Some(_) if other.is_none() => other = Some((text, ahead.clone())),
            _ => {}
        }
        if head(line).is_some_and(|(n, _)| n == signs) {
            break;
        }
    }
    let (text, after) = other?;
    *lines = after;
    Some(text)
}

/// Returns where the lines are that may divide a block.
fn dividers(text: &str, signs: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let (mut at, mut depth) = (0, 0_usize);
    for line in text.split_inclusive('\n') {
        if let Some((_, rest)) = marker(line, '<').filter(|(_, rest)| !rest.is_empty()) {
            depth += usize::from(rest != "SEARCH");
        } else if marker(line, '>').is_some_and(|(_, rest)| !rest.is_empty()) {
            depth = depth.saturating_sub(1);
        } else if let Some((n, "")) = marker(line, '=') {
            found.push((at, n, depth));
        }
        at += line.len();
    }
    // The loosest rule that still finds one: as many signs and outside conflicts, then outside conflicts, then any.
    let rules: [&dyn Fn(usize, usize) -> bool; 3] =
        [&|n, depth| n == signs && depth == 0, &|_, depth| depth == 0, &|_, _| true];
    for rule in rules {
        let fits: Vec<usize> =
            found.iter().filter(|(_, n, depth)| rule(*n, *depth)).map(|(at, ..)| *at).collect();
        if !fits.is_empty() {
            return fits;
        }
    }
    Vec::new()
}
