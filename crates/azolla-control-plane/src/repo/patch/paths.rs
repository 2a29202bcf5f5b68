//! The paths of a diff that is stored, for those who only show it.

use super::{Binary, Lines, Patch, header};

/// Returns the paths that a stored diff touches, in order and each once.
///
/// A text that is no diff as we store them has those paths that its `diff --git` lines name, so that nothing of what
/// can be told is kept from a reviewer (T17).
pub fn paths_of(diff: &str) -> Vec<String> {
    let mut paths: Vec<String> = match Patch::read(diff, Binary::Allowed, u64::MAX) {
        Ok(patch) => patch.paths().into_iter().map(str::to_owned).collect(),
        Err(_) => from_headers(diff).collect(),
    };
    paths.sort();
    paths.dedup();
    paths
}

/// Inside a hunk every line has a sign before it, so a line that begins like this is a header.
fn from_headers(diff: &str) -> impl Iterator<Item = String> {
    let mut lines = Lines::new(diff);
    let lines = std::iter::from_fn(move || lines.next());
    lines.filter_map(|line| header::same_names(line.strip_prefix("diff --git ")?).ok()?)
}
