//! The paths of the base: what a path is, what is above and below it, and which ones are like it.

use std::{collections::BTreeMap, ops::Bound};

use super::nearest;

/// What a commit has, path by path.
#[derive(Clone, Debug, Default)]
pub(in crate::repo) struct Tree {
    entries: BTreeMap<String, Entry>,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::repo) struct Entry {
    /// Its mode, as git writes it.
    pub(in crate::repo) mode: String,
    /// Its object.
    pub(in crate::repo) id: String,
}

impl Tree {
    /// Reads what `git ls-tree -r -z` lists. A path that is not UTF-8 cannot be named by an answer and is left out.
    pub(in crate::repo) fn read(listed: &[u8]) -> Option<Self> {
        let mut entries = BTreeMap::new();
        for line in listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            let Ok(path) = std::str::from_utf8(&line[tab + 1..]) else { continue };
            let facts = std::str::from_utf8(&line[..tab]).ok()?;
            let mut facts = facts.split(' ');
            let (mode, _, id) = (facts.next()?, facts.next()?, facts.next()?);
            entries.insert(path.to_owned(), Entry { mode: mode.to_owned(), id: id.to_owned() });
        }
        Some(Self { entries })
    }

    pub(in crate::repo) fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// Returns the paths below one.
    pub(super) fn below(&self, path: &str) -> impl Iterator<Item = &str> {
        let prefix = format!("{path}/");
        let from = self.entries.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
        let paths: Vec<&str> =
            from.map(|(path, _)| path.as_str()).take_while(|path| path.starts_with(&prefix)).collect();
        paths.into_iter()
    }

    /// Returns what to say of a path that is not there.
    pub(super) fn missing(&self, path: &str) -> String {
        match nearest::paths(path, self.entries.keys().map(String::as_str))[..] {
            [] => "is not in the base".to_owned(),
            [one] => format!("is not in the base; nearest is {}", crate::repo::refusal::visible(one)),
            ref more => {
                let shown: Vec<String> =
                    more.iter().map(|path| crate::repo::refusal::visible(path)).collect();
                format!("is not in the base; nearest are {}", shown.join(", "))
            }
        }
    }
}
