//! Where the one diff of a text begins and ends.

use super::{Lines, Refusal};

/// Returns the part of a text that begins with its diff: the one fenced block that has one, or from the first line of
/// one. Nothing if there is none.
pub(crate) fn find(text: &str) -> Result<Option<&str>, Refusal> {
    let mut fenced = blocks(text).filter_map(from_first_file);
    if let Some(block) = fenced.next() {
        return match fenced.next() {
            None => Ok(Some(block)),
            Some(_) => Err(Refusal::whole("the answer has more than one fenced diff; one is needed")),
        };
    }
    Ok(from_first_file(text))
}

/// Tells whether a file's part of a diff begins here.
pub(super) fn is_file_start(lines: &Lines<'_>) -> bool {
    let mut lines = lines.clone();
    match lines.next() {
        Some(line) if line.starts_with("diff --git ") => true,
        Some(line) if line.starts_with("--- ") => lines.next().is_some_and(|next| next.starts_with("+++ ")),
        _ => false,
    }
}

/// Refuses what follows a diff if it could be more of it: nothing of a patch is dropped silently.
pub(super) fn refuse_rest(rest: &str) -> Result<(), Refusal> {
    let mut lines = Lines::new(rest);
    match lines.peek() {
        None | Some("-- " | "--") => {}
        Some(line) if line.starts_with(['+', '-', ' ', '\\']) => {
            return Err(Refusal::whole("a hunk has more lines than its header says"));
        }
        Some(_) => {}
    }
    while let Some(line) = lines.peek() {
        if is_file_start(&lines) {
            return Err(Refusal::whole("the answer has more than one diff; one is needed"));
        }
        if line.starts_with("@@ ") || line.starts_with('+') {
            return Err(Refusal::whole(
                "lines after the diff look like a part of it that its headers do not cover",
            ));
        }
        lines.next();
    }
    Ok(())
}

fn from_first_file(text: &str) -> Option<&str> {
    let mut lines = Lines::new(text);
    while !is_file_start(&lines) {
        lines.next()?;
    }
    Some(lines.rest())
}

/// Returns what is between fences. A fence begins its line: inside a diff every line has a character before it.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut lines = Lines::new(text);
    std::iter::from_fn(move || {
        let fence = loop {
            let line = lines.next()?;
            if let Some(fence) = fence(line) {
                break fence;
            }
        };
        let begin = lines.rest();
        loop {
            let end = lines.rest();
            match lines.next() {
                Some(line)
                    if line.starts_with(fence)
                        && line.trim_end().trim_start_matches(&fence[..1]).is_empty() =>
                {
                    return Some(&begin[..begin.len() - end.len()]);
                }
                Some(_) => {}
                // A fence that nothing closes goes to the end.
                None => return Some(begin),
            }
        }
    })
}

fn fence(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    (length >= 3).then(|| &line[..length])
}
