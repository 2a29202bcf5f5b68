//! `*** Begin Patch` envelopes: files that are added, updated, moved and deleted, with anchors in place of numbers.

use super::{Action, Change, Chunk, FileEdit, Line, Mark, Reach, Sight, fence::Fence, parts::Parts};
use crate::repo::{patch::Lines, refusal::Refusal};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";
const ADD: &str = "*** Add File:";
const UPDATE: &str = "*** Update File:";
const DELETE: &str = "*** Delete File:";
const MOVE: &str = "*** Move to:";

/// Tells whether an envelope begins here, also one whose first line was left out.
pub(super) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| {
        line.trim_end() == BEGIN || [ADD, UPDATE, DELETE].iter().any(|mark| line.starts_with(mark))
    })
}

/// Reads an envelope to its end: its last line, the end of the fenced block that it is in, or that of the text.
pub(super) fn read(lines: &mut Lines<'_>, parts: &mut Parts) -> Result<Vec<FileEdit>, Refusal> {
    let mut edits = Vec::new();
    while let Some(line) = lines.peek() {
        let line = line.trim_end();
        if Fence::open(line).is_some_and(|fence| fence.indent == 0) {
            break;
        }
        lines.next();
        if line == END {
            break;
        } else if let Some(path) = line.strip_prefix(ADD) {
            parts.add()?;
            edits.push(FileEdit::new(name(path), Action::Create(read_added(lines, &name(path))?)));
        } else if let Some(path) = line.strip_prefix(DELETE) {
            parts.add()?;
            edits.push(FileEdit::new(name(path), Action::Delete { shown: Vec::new() }));
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            edits.push(read_update(lines, name(path), parts)?);
        } else if !line.is_empty() && line != BEGIN {
            let reason = format!(
                "the envelope has a line that belongs to no file: {}",
                crate::repo::refusal::visible(line)
            );
            return Err(Refusal::whole(reason));
        }
    }
    Ok(edits)
}

fn name(text: &str) -> String {
    let text = text.trim().trim_matches('`');
    text.strip_prefix("./").unwrap_or(text).to_owned()
}

fn read_added(lines: &mut Lines<'_>, path: &str) -> Result<String, Refusal> {
    let mut text = String::new();
    // Empty lines without their sign belong to the file only if more of it follows.
    let mut empty = 0;
    while let Some(line) = lines.peek().filter(|line| !is_boundary(line)) {
        if line.trim_end() == END_OF_FILE {
            lines.next();
            continue;
        }
        if line.trim().is_empty() {
            empty += 1;
        } else if let Some(added) = line.strip_prefix('+') {
            text.push_str(&"\n".repeat(std::mem::take(&mut empty)));
            text.push_str(added);
            text.push('\n');
        } else {
            return Err(Refusal::of(path, "is added, and has a line without + before it"));
        }
        lines.next();
    }
    Ok(text)
}

fn read_update(lines: &mut Lines<'_>, path: String, parts: &mut Parts) -> Result<FileEdit, Refusal> {
    let to = lines.peek().and_then(|line| line.strip_prefix(MOVE)).map(name);
    if to.is_some() {
        lines.next();
    }
    let mut changes = Vec::new();
    while lines.peek().is_some_and(|line| !is_boundary(line)) {
        let label = format!("chunk {}", changes.len() + 1);
        parts.add()?;
        let chunk = read_chunk(lines, label, parts)?;
        if !chunk.lines.is_empty() {
            changes.push(Change::one(chunk));
        } else if !chunk.anchors.is_empty() {
            return Err(Refusal::of(&path, format!("{} has no lines", chunk.label)));
        }
    }
    if changes.is_empty() && to.is_none() {
        return Err(Refusal::of(&path, "is to be updated, and nothing of it changes"));
    }
    if changes.is_empty() {
        parts.add()?;
    }
    Ok(FileEdit { path, to, mode: None, action: Action::Change(changes) })
}

fn read_chunk(lines: &mut Lines<'_>, label: String, parts: &mut Parts) -> Result<Chunk, Refusal> {
    let mut chunk = Chunk::new(label, Vec::new(), Reach::Indentation, Sight::Before);
    while let Some(anchor) = lines.peek().and_then(|line| line.strip_prefix("@@")) {
        // Numbers and the closing signs of a unified diff say nothing here.
        let anchor = anchor.trim().trim_end_matches('@').trim();
        let is_range = anchor.starts_with('-') && anchor.contains('+');
        if !anchor.is_empty() && anchor != "..." && !is_range {
            // The first is part of its chunk.
            parts.add_all(usize::from(!chunk.anchors.is_empty()))?;
            chunk.anchors.push(anchor.to_owned());
        }
        lines.next();
    }
    let mut empty = 0;
    while let Some(line) = lines.peek().filter(|line| !is_boundary(line) && !line.starts_with("@@")) {
        lines.next();
        if line.trim_end() == END_OF_FILE {
            chunk.is_last = true;
            break;
        }
        if line.trim_end_matches('\r').is_empty() {
            empty += 1;
            continue;
        }
        let blank = Line::new(Mark::Keep, "");
        chunk.lines.extend(std::iter::repeat_n(blank, std::mem::take(&mut empty)));
        chunk.lines.push(match line.as_bytes()[0] {
            b'-' => Line::new(Mark::Remove, &line[1..]),
            b'+' => Line::new(Mark::Add, &line[1..]),
            b' ' => Line::new(Mark::Keep, &line[1..]),
            // The blank before it was lost; its text still has to be in the file.
            _ => Line::new(Mark::Keep, line),
        });
    }
    Ok(chunk)
}

/// Tells whether a line ends the part of a file.
fn is_boundary(line: &str) -> bool {
    let is_part = [ADD, UPDATE, DELETE].iter().any(|mark| line.starts_with(mark));
    is_part || line.trim_end() == END || Fence::open(line).is_some_and(|fence| fence.indent == 0)
}
