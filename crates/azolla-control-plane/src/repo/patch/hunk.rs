//! Hunks: every line is counted against the header.

use super::{Binary, Lines, Refusal};

/// One hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hunk<'a> {
    header: [u32; 4],
    lines: &'a str,
    /// Bytes that it puts into the file.
    pub(crate) added_bytes: u64,
    /// Whether it adds or removes a line at all.
    pub(crate) changes: bool,
}

impl<'a> Hunk<'a> {
    /// Returns its lines, each with the character that says what it is.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'a str> {
        let mut lines = Lines::new(self.lines);
        std::iter::from_fn(move || lines.next())
    }

    pub(super) fn render(&self, text: &mut String) {
        let [old_start, old_count, new_start, new_count] = self.header;
        text.push_str(&format!("@@ -{old_start},{old_count} +{new_start},{new_count} @@\n"));
        for line in self.lines() {
            // An empty line stands for an empty line of context whose blank was lost.
            text.push_str(if line.is_empty() { " " } else { line });
            text.push('\n');
        }
    }
}

/// Reads hunks for as long as there are any.
pub(super) fn read_all<'a>(lines: &mut Lines<'a>, path: &str) -> Result<Vec<Hunk<'a>>, Refusal> {
    let mut hunks = Vec::new();
    while let Some(line) = lines.peek().filter(|line| line.starts_with("@@ ")) {
        let Some(header) = read_header(line) else {
            return Err(Refusal::of(path, "has a hunk whose header is not @@ -a,b +c,d @@"));
        };
        lines.next();
        hunks.push(read_one(lines, path, header)?);
    }
    Ok(hunks)
}

/// Returns the text of a binary patch: the change, and the way back.
pub(super) fn read_binary<'a>(lines: &mut Lines<'a>, path: &str, binary: Binary) -> Result<&'a str, Refusal> {
    if binary == Binary::Refused {
        return Err(Refusal::of(path, "is binary; a patch in text may only have text"));
    }
    lines.next();
    let begin = lines.rest();
    for _ in 0..2 {
        if !lines.peek().is_some_and(|line| line.starts_with("literal ") || line.starts_with("delta ")) {
            break;
        }
        while lines.next().is_some_and(|line| !line.is_empty()) {}
    }
    Ok(&begin[..begin.len() - lines.rest().len()])
}

/// Returns the change of a binary patch, without the way back: they end with an empty line each.
pub(super) fn way_there(text: &str) -> &str {
    text.find("\n\n").map_or(text, |end| &text[..end + 2])
}

/// Returns the size that a binary patch says its result has, if it says so.
pub(super) fn literal_bytes(text: &str) -> u64 {
    text.lines()
        .next()
        .and_then(|line| line.strip_prefix("literal "))
        .and_then(|n| n.parse().ok())
        .unwrap_or(0)
}

fn read_one<'a>(lines: &mut Lines<'a>, path: &str, header: [u32; 4]) -> Result<Hunk<'a>, Refusal> {
    let short = || Refusal::of(path, "has a hunk with fewer lines than its header says");
    let begin = lines.rest();
    let [_, mut old, _, mut new] = header;
    let (mut added_bytes, mut changes) = (0, false);
    while old > 0 || new > 0 || lines.peek().is_some_and(|line| line.starts_with('\\')) {
        let line = lines.next().ok_or_else(short)?;
        let (minus, plus) = match line.as_bytes().first() {
            Some(b' ') | None => (1, 1),
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            Some(b'\\') => (0, 0),
            Some(_) => return Err(short()),
        };
        old = old.checked_sub(minus).ok_or_else(short)?;
        new = new.checked_sub(plus).ok_or_else(short)?;
        changes |= minus != plus;
        added_bytes += if minus < plus { line.len() as u64 } else { 0 };
    }
    Ok(Hunk { header, lines: &begin[..begin.len() - lines.rest().len()], added_bytes, changes })
}

fn read_header(line: &str) -> Option<[u32; 4]> {
    let (ranges, _) = line.strip_prefix("@@ ")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(' ')?;
    let (old_start, old_count) = range(old.strip_prefix('-')?)?;
    let (new_start, new_count) = range(new.strip_prefix('+')?)?;
    Some([old_start, old_count, new_start, new_count])
}

fn range(text: &str) -> Option<(u32, u32)> {
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    match text.split_once(',') {
        Some((start, count)) => Some((number(start)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}
