//! Which azolla a task belongs to: the one whose name, repository or paths it names. One that is named best, or none.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use azolla_protocol::content::TargetAzolla;

use super::text::{Word, has_phrase, known};

/// The names by which azollas are found, with how much each says.
pub(super) struct Places<'a> {
    azollas: &'a [TargetAzolla],
    names: HashMap<String, BTreeMap<usize, u32>>,
}

impl<'a> Places<'a> {
    pub(super) fn new(azollas: &'a [TargetAzolla]) -> Self {
        let mut names: HashMap<String, BTreeMap<usize, u32>> = HashMap::new();
        for (at, azolla) in azollas.iter().enumerate() {
            let mut add = |name: &str, weight: u32| {
                let known = names.entry(name.to_lowercase()).or_default().entry(at).or_default();
                *known = weight.max(*known);
            };
            add(azolla.azolla_id.as_str(), 8);
            add(&azolla.repository, 4);
            for path in &azolla.paths {
                add(path, 6);
                let ends = path.match_indices('/').map(|(slash, _)| &path[slash + 1..]);
                ends.for_each(|end| add(end, if end.contains('/') { 6 } else { 3 }));
                let file = path.rsplit('/').next().unwrap_or(path);
                // An identifier; a plain word would be found in every other note.
                file.split('.')
                    .next()
                    .filter(|stem| stem.contains('_'))
                    .into_iter()
                    .for_each(|stem| add(stem, 2));
            }
        }
        names.remove("");
        Self { azollas, names }
    }

    /// Returns the azollas that words name best: one, or those among which the words do not tell.
    pub(super) fn find(&self, words: &[Word<'_>]) -> Vec<&'a TargetAzolla> {
        let mut scores: BTreeMap<usize, u32> = BTreeMap::new();
        // As it is, and without a line number or a call behind it.
        let bare = |word: &Word<'_>| word.lower.split([':', '(', '`']).next().unwrap_or_default().to_owned();
        let named: BTreeSet<String> =
            words.iter().flat_map(|word| [word.lower.clone(), bare(word)]).collect();
        for (azolla, weight) in named.iter().filter_map(|name| self.names.get(name)).flatten() {
            *scores.entry(*azolla).or_default() += weight;
        }
        let best = scores.values().max().copied();
        scores.iter().filter(|(_, score)| Some(**score) == best).map(|(at, _)| &self.azollas[*at]).collect()
    }
}

/// Tells whether words are clearly about code.
pub(super) fn is_code(words: &[Word<'_>]) -> bool {
    let is_file = |word: &Word<'_>| {
        let end = word.lower.rsplit_once('.').map_or("", |(_, end)| end);
        !word.raw.contains("://") && known(end).iter().any(|(list, _)| *list == "code files")
    };
    let is_name = |word: &Word<'_>| {
        let has_line = word.lower.contains('_') && !word.raw.contains(['@', '/']);
        has_line || word.raw.starts_with('`') || word.raw.contains("::") || word.raw.contains("()")
    };
    words.iter().any(|word| is_file(word) || is_name(word)) || has_phrase(words, "code")
}
