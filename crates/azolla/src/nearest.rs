//! "Did you mean": the known word that is nearest to what was typed.

/// Returns the known word that takes the fewest changes, if those are few.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = known.iter().map(|known| (distance(word, known), *known)).min()?;
    let few = (word.chars().count() / 3).max(2);
    (near.0 <= few).then_some(near.1)
}

/// Counts the insertions, deletions, replacements and swaps of neighbours from `a` to `b`.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(rows[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    rows[a.len()][b.len()]
}

/// Returns what stands in a hint about a word that is not known: the nearest one, or all of them.
pub(crate) fn meant(word: &str, known: &[&str], none: &str) -> String {
    match (nearest(word, known), known) {
        (_, []) => none.to_owned(),
        (Some(near), [_]) => format!("did you mean {near}?"),
        (Some(near), _) => format!("did you mean {near}? configured: {}", known.join(", ")),
        (None, _) => format!("configured: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests;
