//! Which files belong together, as far as their names and the lines with which they refer to each other tell.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::query::squashed;
use crate::repo::Entry;

/// A file and its test, a header and its source: what changes one usually changes the other.
const SIBLING: f64 = 0.35;
/// What a file refers to: half of the time the place where a fix goes.
const IMPORTED: f64 = 0.25;
/// What refers to a file: it may have to follow.
pub(super) const IMPORTER: f64 = 0.12;
/// Files with one subject beyond which the name is common: `index`, `utils`.
const SIBLINGS_MAX: usize = 8;
/// Files that one reference may mean.
const MEANINGS_MAX: usize = 3;
/// Files that refer to one: more are no neighbourhood.
const IMPORTERS_MAX: usize = 12;

/// Files by what they are about: their name without its endings and what marks a test.
pub(super) struct Stems(HashMap<String, Vec<usize>>);

impl Stems {
    pub(super) fn new(entries: &[Entry]) -> Self {
        let mut stems: HashMap<String, Vec<usize>> = HashMap::new();
        for (n, entry) in entries.iter().enumerate() {
            stems.entry(subject(&entry.path)).or_default().push(n);
        }
        Self(stems)
    }

    /// Returns the files that the parts of a module's name lead to: those with most of the parts in their path.
    pub(super) fn of_module(&self, names: &[String], entries: &[Entry]) -> Vec<usize> {
        let files = names.iter().filter_map(|name| self.0.get(name)).flatten().copied();
        best(files.map(|n| (parts_in(&entries[n].path, names), n)))
    }
}

/// Returns what is near to a file, with the share of its score that goes there.
pub(super) fn neighbours(
    centre: usize,
    entries: &[Entry],
    texts: &BTreeMap<usize, String>,
    stems: &Stems,
) -> Vec<(usize, f64)> {
    let path = &entries[centre].path;
    let mut near = Vec::new();
    let siblings = stems.0.get(&subject(path)).map(Vec::as_slice).unwrap_or_default();
    let is_near =
        |n: &&usize| siblings.len() <= SIBLINGS_MAX || directory(&entries[**n].path) == directory(path);
    near.extend(siblings.iter().filter(is_near).take(SIBLINGS_MAX).map(|&n| (n, SIBLING)));
    for line in texts.get(&centre).into_iter().flat_map(|text| references(text)) {
        near.extend(meant(line, path, entries, stems).into_iter().map(|n| (n, IMPORTED)));
    }
    near
}

/// Returns for each file those that refer to it by its name.
pub(super) fn importers(
    centres: &[usize],
    entries: &[Entry],
    texts: &BTreeMap<usize, String>,
) -> BTreeMap<usize, Vec<usize>> {
    let subjects: HashMap<String, Vec<usize>> =
        centres.iter().fold(HashMap::new(), |mut subjects, &centre| {
            subjects.entry(subject(&entries[centre].path)).or_default().push(centre);
            subjects
        });
    let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (&n, text) in texts {
        let named: BTreeSet<String> = references(text).flat_map(names).collect();
        for &centre in named.iter().filter_map(|name| subjects.get(name)).flatten() {
            if centre != n && is_same_language(&entries[n].path, &entries[centre].path) {
                found.entry(centre).or_default().push(n);
            }
        }
    }
    found.retain(|_, importers| importers.len() <= IMPORTERS_MAX);
    found
}

/// Returns what a file is about: `test_foo.py`, `foo.spec.ts`, `FooTest.java`, `foo.h` and `foo/mod.rs` are all about
/// `foo`.
fn subject(path: &str) -> String {
    const MARKS: [&str; 7] = ["test_", "_test", "_tests", "_spec", "Test", "Tests", "Spec"];
    const OF_THE_DIRECTORY: [&str; 7] = ["mod", "index", "__init__", "lib", "main", "tests", "test"];
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or(name);
    if OF_THE_DIRECTORY.contains(&stem) {
        let mut above =
            directories.rsplit('/').filter(|directory| !matches!(*directory, "src" | "tests" | ""));
        return squashed(above.next().unwrap_or(stem));
    }
    let stripped = MARKS.iter().find_map(|mark| {
        let rest = if mark.ends_with('_') { stem.strip_prefix(mark) } else { stem.strip_suffix(mark) };
        rest.filter(|rest| !rest.is_empty())
    });
    squashed(stripped.unwrap_or(stem))
}

/// Returns the lines of a text that refer to other files.
fn references(text: &str) -> impl Iterator<Item = &str> {
    const BEGINNINGS: [&str; 12] = [
        "import ",
        "from ",
        "use ",
        "pub use ",
        "pub(crate) use ",
        "mod ",
        "pub mod ",
        "pub(crate) mod ",
        "#include ",
        "export ",
        "require",
        "} from ",
    ];
    text.lines().map(str::trim).filter(|line| {
        BEGINNINGS.iter().any(|beginning| line.starts_with(beginning)) || line.contains("require(")
    })
}

/// Returns the names in a line, in the form of subjects.
fn names(line: &str) -> impl Iterator<Item = String> {
    let names = line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'));
    names.filter(|name| name.len() > 1).map(squashed)
}

/// Returns the files that a reference can mean: those with most of its names in their path, and the nearest of them.
fn meant(line: &str, from: &str, entries: &[Entry], stems: &Stems) -> Vec<usize> {
    let names: Vec<String> = names(line).collect();
    let files = names.iter().filter_map(|name| stems.0.get(name)).flatten().copied();
    let files = files.filter(|&n| is_same_language(from, &entries[n].path) && entries[n].path != from);
    let files = best(files.map(|n| (parts_in(&entries[n].path, &names), n)));
    let files = best(files.into_iter().map(|n| (common(from, &entries[n].path), n)));
    if files.len() > MEANINGS_MAX { Vec::new() } else { files }
}

/// Returns those with the highest number, each once and in order.
fn best(numbered: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    let mut top = 0;
    let mut found = BTreeSet::new();
    for (number, n) in numbered {
        if number > top {
            top = number;
            found.clear();
        }
        if number == top {
            found.insert(n);
        }
    }
    found.into_iter().collect()
}

/// Returns how many of a path's components are among the names.
fn parts_in(path: &str, names: &[String]) -> usize {
    let directories = path.rsplit('/').skip(1).map(squashed);
    directories.chain([subject(path)]).filter(|part| names.contains(part)).count()
}

/// Returns how many directories two paths begin with in common, plus one.
fn common(a: &str, b: &str) -> usize {
    1 + directory(a).split('/').zip(directory(b).split('/')).take_while(|(a, b)| a == b).count()
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Files refer to files of their own language; a few extensions are one.
fn is_same_language(a: &str, b: &str) -> bool {
    let family = |path: &str| match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "h" | "hh" | "hpp" | "c" | "cc" | "cpp" | "cxx" => "c".to_owned(),
        "ts" | "tsx" | "js" | "jsx" | "mjs" | "cjs" | "vue" | "svelte" => "js".to_owned(),
        "py" | "pyi" | "pyx" => "py".to_owned(),
        other => other.to_owned(),
    };
    family(a) == family(b)
}
