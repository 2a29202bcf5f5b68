//! A unified diff as models write it: counts and line numbers may be wrong or missing, blanks may be lost.
//!
//! Nothing here trusts a number: a hunk's lines are those that look like it, and its place is found by its old lines.

use super::{
    Action, Change, Chunk, FileEdit, Line, Mark, Reach, Sight,
    fence::Fence,
    header::{Header, What},
    parts::Parts,
};
use crate::repo::{patch::Lines, refusal::Refusal};

/// Tells whether a file's part of a diff begins here.
pub(super) fn begins(lines: &Lines<'_>) -> bool {
    has_names(lines) || lines.peek().is_some_and(|line| line.starts_with("diff --git "))
}

/// Tells whether hunks begin here without the names of their file; in a block that says it is a diff, any line with a
/// sign does.
pub(super) fn begins_without_names(lines: &Lines<'_>, is_diff_fence: bool) -> bool {
    let Some(line) = lines.peek() else { return false };
    line.starts_with("@@ -") || (is_diff_fence && (line.starts_with("@@") || line.starts_with(['+', '-'])))
}

/// Tells whether a `--- ` line is here with its `+++ ` line.
pub(super) fn has_names(lines: &Lines<'_>) -> bool {
    let mut lines = lines.clone();
    lines.next().is_some_and(|line| line.starts_with("--- "))
        && lines.next().is_some_and(|line| line.starts_with("+++ "))
}

/// Tells whether this is the form of diff that is older than the unified one.
pub(super) fn is_context_diff(lines: &Lines<'_>) -> bool {
    let mut lines = lines.clone();
    lines.next().is_some_and(|line| line.len() >= 15 && line.trim_end().bytes().all(|byte| byte == b'*'))
        && lines.next().is_some_and(|line| line.starts_with("*** ") && line.trim_end().ends_with("****"))
}

/// Reads one file's part.
pub(super) fn read(lines: &mut Lines<'_>, is_fenced: bool, parts: &mut Parts) -> Result<FileEdit, Refusal> {
    let header = Header::read(lines)?;
    if lines
        .peek()
        .is_some_and(|line| line.starts_with("GIT binary patch") || line.starts_with("Binary files "))
    {
        return Err(Refusal::of(header.shown(), "is binary; a patch in text may only have text"));
    }
    let hunks = read_hunks(lines, is_fenced, parts)?;
    let (path, what) = header.what()?;
    if hunks.is_empty() && !header.says_something() {
        return Err(Refusal::of(&path, "has a header and no hunk"));
    }
    if hunks.is_empty() {
        parts.add()?;
    }
    let (action, to) = match what {
        What::New => (Action::Create(content(&path, &hunks)?), None),
        What::Deleted => (Action::Delete { shown: shown(hunks) }, None),
        // A file that had no line is new, whatever the names say.
        What::Changed { to: None } if is_all_new(&hunks) => (Action::Create(content(&path, &hunks)?), None),
        What::Changed { to } => (changes(&path, hunks)?, to),
    };
    let mut edit = FileEdit { path, to, mode: None, action };
    header.set_mode(&mut edit);
    Ok(edit)
}

/// Reads hunks of a file that was named in another way.
pub(super) fn read_headless(
    lines: &mut Lines<'_>,
    path: String,
    is_fenced: bool,
    parts: &mut Parts,
) -> Result<FileEdit, Refusal> {
    let hunks = read_hunks(lines, is_fenced, parts)?;
    if hunks.is_empty() {
        return Err(Refusal::of(&path, "has a header and no hunk"));
    }
    if is_all_new(&hunks) {
        let text = content(&path, &hunks)?;
        return Ok(FileEdit::new(path, Action::Create(text)));
    }
    let action = changes(&path, hunks)?;
    Ok(FileEdit::new(path, action))
}

/// A hunk as it was read.
#[derive(Debug, Default)]
struct Hunk {
    numbers: Numbers,
    lines: Vec<Line>,
    /// Whether a mark says that the last line has no end, before and after.
    is_cut: [bool; 2],
}

/// What a hunk's header says, as far as it can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Numbers {
    old: Option<(usize, usize)>,
    new: Option<(usize, usize)>,
}

/// Returns what a diff shows of a file that it deletes.
fn shown(hunks: Vec<Hunk>) -> Vec<Change> {
    let lines = |hunk: Hunk| hunk.lines.into_iter().filter(|line| line.mark == Mark::Remove).collect();
    let chunks = hunks.into_iter().enumerate().map(|(n, hunk)| {
        let label = format!("hunk {}", n + 1);
        Chunk::new(label, lines(hunk), Reach::LineEnds, Sight::Before)
    });
    chunks.filter(|chunk| !chunk.lines.is_empty()).map(Change::one).collect()
}

fn changes(path: &str, hunks: Vec<Hunk>) -> Result<Action, Refusal> {
    let mut changes = Vec::new();
    for (n, hunk) in hunks.into_iter().enumerate() {
        let label = format!("hunk {}", n + 1);
        if hunk.lines.is_empty() {
            return Err(Refusal::of(path, format!("{label} has no lines")));
        }
        let mut chunk = Chunk::new(label, hunk.lines, Reach::LineEnds, Sight::Before);
        chunk.line = hunk.numbers.old.map(|(line, _)| line).filter(|line| *line > 0);
        chunk.final_newline = match hunk.is_cut {
            [_, true] => Some(false),
            [true, false] => Some(true),
            [false, false] => None,
        };
        changes.push(Change::one(chunk));
    }
    Ok(Action::Change(changes))
}

fn is_all_new(hunks: &[Hunk]) -> bool {
    let is_new = |hunk: &Hunk| hunk.numbers.old == Some((0, 0)) && hunk.lines.iter().all(is_content_of_new);
    !hunks.is_empty() && hunks.iter().all(is_new)
}

/// An empty line whose `+` was lost is one of the new file.
fn is_content_of_new(line: &Line) -> bool {
    line.mark == Mark::Add || line.mark == Mark::Keep && line.text.is_empty()
}

fn content(path: &str, hunks: &[Hunk]) -> Result<String, Refusal> {
    let lines: Vec<&Line> = hunks.iter().flat_map(|hunk| &hunk.lines).collect();
    if lines.iter().any(|line| !is_content_of_new(line)) {
        return Err(Refusal::of(path, "is new, and its hunk has lines without + before them"));
    }
    let mut text: String = lines.iter().flat_map(|line| [line.text.as_str(), "\n"]).collect();
    if hunks.last().is_some_and(|hunk| hunk.is_cut[1]) {
        text.pop();
    }
    Ok(text)
}

fn read_hunks(lines: &mut Lines<'_>, is_fenced: bool, parts: &mut Parts) -> Result<Vec<Hunk>, Refusal> {
    let mut hunks = Vec::new();
    loop {
        let mut ahead = lines.clone();
        while ahead.peek().is_some_and(|line| line.trim().is_empty()) {
            ahead.next();
        }
        match ahead.peek() {
            Some(line) if line.starts_with("@@") => {
                parts.add()?;
                *lines = ahead;
                lines.next();
                hunks.push(read_hunk(lines, numbers(line), is_fenced));
            }
            // The line that says where was left out altogether.
            Some(line) if hunks.is_empty() && line.starts_with([' ', '+', '-']) && !begins(&ahead) => {
                parts.add()?;
                *lines = ahead;
                hunks.push(read_hunk(lines, Numbers::default(), is_fenced));
            }
            _ => return Ok(hunks),
        }
    }
}

fn read_hunk(lines: &mut Lines<'_>, numbers: Numbers, is_fenced: bool) -> Hunk {
    let mut counted = lines.clone();
    if let Some(hunk) = read_counted(&mut counted, numbers)
        && !goes_on(&counted)
    {
        *lines = counted;
        return hunk;
    }
    read_seen(lines, numbers, is_fenced)
}

/// Reads as many lines as the header says, if they are there.
fn read_counted(lines: &mut Lines<'_>, numbers: Numbers) -> Option<Hunk> {
    let ((_, mut old), (_, mut new)) = numbers.old.zip(numbers.new)?;
    let mut hunk = Hunk { numbers, ..Hunk::default() };
    while old > 0 || new > 0 || lines.peek().is_some_and(|line| line.starts_with('\\')) {
        let line = hunk.push(lines.next()?)?;
        old = old.checked_sub(usize::from(matches!(line, Some(Mark::Keep | Mark::Remove))))?;
        new = new.checked_sub(usize::from(matches!(line, Some(Mark::Keep | Mark::Add))))?;
    }
    Some(hunk)
}

/// Tells whether lines follow that the header did not count.
fn goes_on(lines: &Lines<'_>) -> bool {
    let Some(line) = lines.peek() else { return false };
    !is_signature(lines) && !begins(lines) && line.starts_with(['+', '-', ' '])
}

/// Reads every line that looks like one of a hunk.
fn read_seen(lines: &mut Lines<'_>, numbers: Numbers, is_fenced: bool) -> Hunk {
    let mut hunk = Hunk { numbers, ..Hunk::default() };
    // Empty lines at the end separate the diff from what follows it.
    let mut empty = 0;
    while let Some(line) = lines.peek() {
        if line.starts_with("@@") || begins(lines) || is_signature(lines) || is_end(line) {
            break;
        }
        if line.trim_end_matches('\r').is_empty() {
            empty += 1;
            lines.next();
            continue;
        }
        let is_known = line.starts_with([' ', '+', '-', '\\']);
        if !is_known && !is_fenced {
            break;
        }
        for _ in 0..std::mem::take(&mut empty) {
            hunk.lines.push(Line::new(Mark::Keep, ""));
        }
        if hunk.push(line).is_none() {
            // The blank before a line of context was lost; its text still has to be in the file.
            hunk.lines.push(Line::new(Mark::Keep, line));
        }
        lines.next();
    }
    hunk
}

impl Hunk {
    /// Adds a line; none if it has no sign that can be read.
    fn push(&mut self, line: &str) -> Option<Option<Mark>> {
        let line = line.trim_end_matches('\r');
        let mark = match line.as_bytes().first() {
            None | Some(b' ') => Mark::Keep,
            Some(b'-') => Mark::Remove,
            Some(b'+') => Mark::Add,
            Some(b'\\') => {
                match self.lines.last().map(|line| line.mark) {
                    Some(Mark::Keep) => self.is_cut = [true, true],
                    Some(Mark::Remove) => self.is_cut[0] = true,
                    Some(Mark::Add) => self.is_cut[1] = true,
                    None => {}
                }
                return Some(None);
            }
            Some(_) => return None,
        };
        self.lines.push(Line::new(mark, line.get(1..).unwrap_or_default()));
        Some(Some(mark))
    }
}

/// Tells whether a line ends a hunk wherever it stands.
fn is_end(line: &str) -> bool {
    Fence::open(line).is_some_and(|fence| fence.indent == 0)
        || line.starts_with("Index: ")
        || line.starts_with("*** End")
}

/// Tells whether the signature of a mail with a patch is here.
fn is_signature(lines: &Lines<'_>) -> bool {
    let mut lines = lines.clone();
    lines.next().is_some_and(|line| matches!(line, "-- " | "--"))
        && lines.next().is_none_or(|line| line.is_empty() || line.starts_with(|c: char| c.is_ascii_digit()))
}

fn numbers(line: &str) -> Numbers {
    // Behind the second @@ stands a line of the file.
    let ranges = line.trim_start_matches('@').split("@@").next().unwrap_or_default();
    let range = |sign: char| ranges.split(' ').filter_map(|word| word.strip_prefix(sign)).find_map(range);
    Numbers { old: range('-'), new: range('+') }
}

fn range(text: &str) -> Option<(usize, usize)> {
    let number = |text: &str| text.parse::<u32>().ok().map(|n| n as usize);
    match text.split_once(',') {
        Some((start, count)) => Some((number(start)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}
