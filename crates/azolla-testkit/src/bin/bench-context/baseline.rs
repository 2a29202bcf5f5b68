//! Rankings that use less, to compare with.

/// Returns the places of paths in alphabetical order.
pub(crate) fn alphabetical(paths: &[&str]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_by_key(|&n| paths[n]);
    order
}

/// Returns the places of paths in the order of how many words of a text they have; ties by path.
pub(crate) fn path_names(text: &str, paths: &[&str]) -> Vec<usize> {
    let looked_for: Vec<String> = words(text).filter(|word| word.len() > 2).collect();
    let count =
        |path: &str| words(path).filter(|word| looked_for.iter().any(|other| is_same(other, word))).count();
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_by_cached_key(|&n| (std::cmp::Reverse(count(paths[n])), paths[n]));
    order
}

/// Words in lower case, split at humps too.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut split = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            split.push(' ');
        }
        split.extend(c.to_lowercase());
        before = c;
    }
    let words: Vec<String> = split.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect();
    words.into_iter().filter(|word| !word.is_empty())
}

/// A plural is the same word.
fn is_same(a: &str, b: &str) -> bool {
    a.trim_end_matches('s') == b.trim_end_matches('s')
}
