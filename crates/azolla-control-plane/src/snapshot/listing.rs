//! The list of files in a prompt. All paths where they fit; in a large tree directories with counts, and the files beside
//! the most relevant ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use super::relevance::Ranked;
use crate::repo::Entry;

/// Directories are told apart down to this depth at most.
const DEPTH_MAX: usize = 12;

/// Returns the list, in at most `bytes_max` bytes but for one closing line.
pub(super) fn listing(entries: &[Entry], ranked: &[Ranked], bytes_max: usize) -> String {
    let all: usize = entries.iter().map(|entry| entry.path.len() + 1).sum();
    if all <= bytes_max {
        return entries.iter().fold(String::with_capacity(all), |text, entry| text + &entry.path + "\n");
    }
    let directories = directories(entries, bytes_max / 2);
    let beside = beside(entries, ranked, bytes_max.saturating_sub(directories.len()));
    let mut text = directories;
    let listed = beside.len();
    if listed > 0 {
        text.push_str("\nFiles beside the most relevant ones:\n\n");
        beside.iter().for_each(|path| {
            text.push_str(path);
            text.push('\n');
        });
    }
    let _ = writeln!(text, "({} more are not listed)", entries.len() - listed);
    text
}

/// Returns directories with the number of files below them, as deep as it fits.
fn directories(entries: &[Entry], bytes_max: usize) -> String {
    let mut fitting = String::new();
    for depth in 1..=DEPTH_MAX {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for entry in entries {
            *counts.entry(cut(directory(&entry.path), depth)).or_default() += 1;
        }
        let mut text = String::from("Directories, with the number of files in each:\n\n");
        for (directory, count) in &counts {
            let _ = writeln!(text, "{}/ {count}", if directory.is_empty() { "." } else { directory });
        }
        if text.len() > bytes_max || text == fitting {
            break;
        }
        fitting = text;
    }
    fitting
}

/// Returns the files in the directories of the most relevant ones, in order of path, as many as fit.
fn beside<'a>(entries: &'a [Entry], ranked: &[Ranked], bytes_max: usize) -> BTreeSet<&'a str> {
    let mut left = bytes_max.saturating_sub("\nFiles beside the most relevant ones:\n\n".len());
    let mut seen = BTreeSet::new();
    let mut listed = BTreeSet::new();
    let mut by_directory: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in entries {
        by_directory.entry(directory(&entry.path)).or_default().push(&entry.path);
    }
    for ranked in ranked {
        let place = directory(&entries[ranked.entry].path);
        // The file itself first: its directory may be larger than what is left.
        let own = entries[ranked.entry].path.as_str();
        let others = if seen.insert(place) { by_directory[place].as_slice() } else { &[] };
        for path in std::iter::once(own).chain(others.iter().copied()) {
            if path.len() + 1 > left {
                return listed;
            }
            if listed.insert(path) {
                left -= path.len() + 1;
            }
        }
    }
    listed
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Returns the first components of a directory.
fn cut(directory: &str, depth: usize) -> &str {
    directory.match_indices('/').nth(depth - 1).map_or(directory, |(at, _)| &directory[..at])
}

#[cfg(test)]
mod tests;
