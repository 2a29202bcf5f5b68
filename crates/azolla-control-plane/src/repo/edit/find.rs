//! Which format an answer is in, and its edits.
//!
//! The answer is read once, from its first line to its last. Where a change begins, in whatever format, it is read to
//! its end, and nothing inside it is looked at as anything but content. What is left over is prose. An answer whose
//! changes are in two formats is refused; a fenced block with a path before it counts as a whole file only if the
//! answer has no other change, but one whose fence names a path always counts; one that begins with a change is that
//! change, unless its path is that of a patch. A change that is said twice word for word is made once.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
};

use super::{
    Action, Answer, FileEdit, Format, diff, envelope,
    fence::{Block, Fence},
    json, names,
    parts::Parts,
    search_replace, whole_file,
};
use crate::repo::{
    patch::Lines,
    refusal::{Refusal, visible},
};

/// Names of elements in which models write drafts, one on a line: words of theirs, not of ours.
const DRAFTS: &str = include_str!("drafts.txt");
/// Lines that an answer may have.
const LINES_MAX: usize = 1_000_000;
/// Characters of an answer that a refusal repeats.
const EXCERPT: usize = 80;

/// Returns an answer as it was before it was carried here, without what a model wrote on its way to it.
pub(in crate::repo) fn plain(text: &str) -> Cow<'_, str> {
    let text = without_drafts(text);
    // A text whose every line ends like this was only carried so.
    let is_carried = text.contains("\r\n") && text.matches('\n').count() == text.matches("\r\n").count();
    if is_carried { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

/// Reads an answer that is plain; at most `files_max` files. `known` are paths of the base that look like words, from
/// [`search_replace::bare_names`]. An answer with nothing in it has no edits.
pub(in crate::repo) fn read(text: &str, files_max: u64, known: &BTreeSet<String>) -> Result<Answer, Refusal> {
    if text.bytes().filter(|byte| *byte == b'\n').count() > LINES_MAX {
        return Err(Refusal::whole(format!("the answer has more than {LINES_MAX} lines")));
    }
    let mut walk = Walk::new(files_max, known);
    walk.read(text, None)?;
    walk.finish(text)
}

/// Returns an answer without the elements before it in which a model wrote drafts. One that is not closed is all draft.
fn without_drafts(text: &str) -> &str {
    let after = |text: &'_ str| -> Option<usize> {
        let inside = text.trim_start();
        let tag = DRAFTS.lines().find(|tag| inside.starts_with(&format!("<{tag}>")))?;
        let close = format!("</{tag}>");
        Some(text.find(&close).map_or(text.len(), |at| at + close.len()))
    };
    let mut rest = text;
    while let Some(end) = after(rest) {
        rest = &rest[end..];
    }
    rest
}

/// The walk through an answer.
struct Walk<'a> {
    files_max: u64,
    known: &'a BTreeSet<String>,
    formats: BTreeSet<Format>,
    edits: Vec<FileEdit>,
    said: HashSet<FileEdit>,
    paths: HashSet<String>,
    blocks: search_replace::Blocks,
    parts: Parts,
    wholes: Vec<whole_file::Whole>,
    /// The path that was named last.
    named: Option<String>,
    /// The line before this one, if it names a path and does nothing else.
    titled: Option<String>,
    /// The fence that is open.
    fence: Option<Fence<'a>>,
    /// Whether a diff began since the last fence: then nothing that looks like more of it may be prose.
    is_after_diff: bool,
    has_headless_diff: bool,
}

impl<'a> Walk<'a> {
    fn new(files_max: u64, known: &'a BTreeSet<String>) -> Self {
        Self {
            files_max,
            known,
            formats: BTreeSet::new(),
            edits: Vec::new(),
            said: HashSet::new(),
            paths: HashSet::new(),
            blocks: search_replace::Blocks::default(),
            parts: Parts::default(),
            wholes: Vec::new(),
            named: None,
            titled: None,
            fence: None,
            is_after_diff: false,
            has_headless_diff: false,
        }
    }

    fn read(&mut self, text: &'a str, fence: Option<Fence<'a>>) -> Result<(), Refusal> {
        let mut lines = Lines::new(text);
        self.fence = fence;
        while let Some(line) = lines.peek() {
            if self.read_change(&mut lines)? {
                self.titled = None;
            } else if self.fence.is_some_and(|fence| fence.is_closed_by(line)) {
                lines.next();
                (self.fence, self.is_after_diff, self.titled) = (None, false, None);
            } else if let Some(fence) = Fence::open(line).filter(|_| self.fence.is_none()) {
                lines.next();
                self.enter(fence, &mut lines)?;
            } else {
                lines.next();
                self.read_prose(line)?;
            }
        }
        Ok(())
    }

    /// Reads a change if one begins here.
    fn read_change(&mut self, lines: &mut Lines<'a>) -> Result<bool, Refusal> {
        let is_diff_fence = self.fence.is_some_and(|fence| is_diff_language(fence.language()));
        if envelope::begins(lines) {
            self.formats.insert(Format::Envelope);
            for edit in envelope::read(lines, &mut self.parts)? {
                self.push(edit)?;
            }
        } else if search_replace::begins(lines) {
            self.formats.insert(Format::SearchReplace);
            self.parts.add()?;
            let edit = self.blocks.read(lines, self.named.as_deref(), self.known)?;
            self.named = Some(edit.path.clone());
            self.push_block(edit)?;
        } else if json::begins(lines) {
            self.formats.insert(Format::Json);
            for edit in json::read(lines, &mut self.parts)? {
                self.push_block(edit)?;
            }
        } else if diff::begins(lines) {
            (self.is_after_diff, self.titled) = (true, None);
            self.formats.insert(Format::Diff);
            let edit = diff::read(lines, self.fence.is_some(), &mut self.parts)?;
            self.named = edit.to.clone().or_else(|| Some(edit.path.clone()));
            self.push(edit)?;
        } else if diff::begins_without_names(lines, is_diff_fence && !self.is_after_diff) {
            return self.read_headless(lines);
        } else if diff::is_context_diff(lines) {
            return Err(Refusal::whole("the answer has a context diff; a unified diff is needed"));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Reads hunks without `---` and `+++` lines: of the file that was named before them, if any was.
    fn read_headless(&mut self, lines: &mut Lines<'a>) -> Result<bool, Refusal> {
        let Some(path) = self.named.clone().filter(|_| !self.is_after_diff) else {
            if self.is_after_diff {
                return Err(Refusal::whole(
                    "lines after the diff look like a part of it that its headers do not cover",
                ));
            }
            self.has_headless_diff = true;
            lines.next();
            return Ok(true);
        };
        self.formats.insert(Format::Diff);
        self.is_after_diff = true;
        let edit = diff::read_headless(lines, path, self.fence.is_some(), &mut self.parts)?;
        self.push(edit)?;
        Ok(true)
    }

    /// Reads the line of a fence that opens a block, and the block if it is a file or has blanks before its lines.
    fn enter(&mut self, fence: Fence<'a>, lines: &mut Lines<'a>) -> Result<(), Refusal> {
        self.is_after_diff = false;
        let in_fence = names::of_fence(fence.info);
        let path = in_fence.clone().or_else(|| self.titled.clone());
        self.titled = None;
        if in_fence.is_some() {
            self.named = in_fence.clone();
        }
        let is_change = !path.as_deref().is_some_and(whole_file::is_patch)
            && (is_diff_language(fence.language()) || holds_change(lines.clone(), fence));
        if let Some(path) = path.filter(|_| !is_change) {
            let block = fence.block(lines, whole_file::is_markdown(&path, fence.language()));
            self.parts.add()?;
            self.wholes.push(whole_file::Whole::new(path, in_fence.is_some(), fence, &block));
        } else if fence.indent > 0 {
            let block: Block<'a> = fence.block(lines, false);
            self.read_dedented(fence, &fence.dedent(block.text))?;
        } else {
            self.fence = Some(fence);
        }
        Ok(())
    }

    /// Reads a block of a list: what is in it stands as far to the right as its fence.
    fn read_dedented(&mut self, fence: Fence<'a>, text: &str) -> Result<(), Refusal> {
        let mut inner = Walk::new(self.files_max, self.known);
        inner.named = self.named.clone();
        std::mem::swap(&mut inner.blocks, &mut self.blocks);
        std::mem::swap(&mut inner.parts, &mut self.parts);
        inner.read(text, Some(fence.at_margin()))?;
        std::mem::swap(&mut inner.blocks, &mut self.blocks);
        std::mem::swap(&mut inner.parts, &mut self.parts);
        self.formats.append(&mut inner.formats);
        self.named = inner.named;
        self.has_headless_diff |= inner.has_headless_diff;
        for edit in inner.edits {
            self.push_block(edit)?;
        }
        Ok(())
    }

    fn read_prose(&mut self, line: &str) -> Result<(), Refusal> {
        if self.is_after_diff && line.starts_with('+') {
            return Err(Refusal::whole(
                "lines after the diff look like a part of it that its headers do not cover",
            ));
        }
        if line.trim().is_empty() {
            return Ok(());
        }
        let path = names::of_line_or_known(line, self.known);
        // One of a list of files is not the title of what follows the list.
        let is_listed =
            line.trim_start().starts_with(['-', '*', '+']) && !line.trim_start().starts_with("**");
        self.titled = path.clone().filter(|_| !is_listed || line.trim_end().ends_with(':'));
        if let Some(path) = path.or_else(|| names::of_sentence(line)) {
            self.named = Some(path);
        }
        Ok(())
    }

    fn push(&mut self, edit: FileEdit) -> Result<(), Refusal> {
        if self.said.insert(edit.unlabelled()) {
            self.paths.insert(edit.path.clone());
            if self.paths.len() as u64 > self.files_max {
                let reason = format!("the patch touches more than {} files", self.files_max);
                return Err(Refusal::whole(reason));
            }
            self.edits.push(edit);
        }
        Ok(())
    }

    /// Adds a block to the one before it if both are of one file: matching then goes through the file once.
    fn push_block(&mut self, mut edit: FileEdit) -> Result<(), Refusal> {
        let said = edit.unlabelled();
        if self.said.contains(&said) {
            return Ok(());
        }
        if let (
            Some(FileEdit { path, action: Action::Change(before), to: None, mode: None }),
            Action::Change(more),
        ) = (self.edits.last_mut(), &mut edit.action)
            && *path == edit.path
            && edit.to.is_none()
            && edit.mode.is_none()
            && !self.formats.contains(&Format::Diff)
        {
            before.append(more);
            self.said.insert(said);
            return Ok(());
        }
        self.push(edit)
    }

    fn finish(mut self, text: &str) -> Result<Answer, Refusal> {
        if self.wholes.iter().any(|whole| whole.is_in_fence)
            || self.formats.is_empty() && !self.wholes.is_empty()
        {
            self.formats.insert(Format::WholeFiles);
        }
        let formats: Vec<Format> = self.formats.iter().copied().collect();
        let format = match formats[..] {
            [] if text.trim().is_empty() => Format::Diff,
            [] => return Err(self.nothing(text)),
            [format] => format,
            [one, other, ..] => {
                let reason = format!("the answer has {} and {}; give one format", one.name(), other.name());
                return Err(Refusal::whole(reason));
            }
        };
        if format == Format::WholeFiles {
            for edit in whole_file::edits(std::mem::take(&mut self.wholes))? {
                self.push(edit)?;
            }
        }
        Ok(Answer { format, edits: self.edits })
    }

    fn nothing(&self, text: &str) -> Refusal {
        if self.has_headless_diff {
            return Refusal::whole(
                "the answer has a diff without the names of its files; give --- and +++ lines",
            );
        }
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let excerpt: String = line.chars().take(EXCERPT).collect();
        let more = if excerpt.len() < line.len() { "…" } else { "" };
        Refusal::whole(format!("the answer has no change in it: {}{more}", visible(&excerpt)))
    }
}

fn is_diff_language(language: &str) -> bool {
    matches!(language.to_ascii_lowercase().as_str(), "diff" | "patch" | "udiff")
}

/// Tells whether one of the first lines of a block begins a change.
fn holds_change(mut lines: Lines<'_>, fence: Fence<'_>) -> bool {
    for _ in 0..4 {
        let Some(line) = lines.peek() else { return false };
        if fence.is_closed_by(line) {
            return false;
        }
        let from_here = fence.dedent(first_lines(lines.rest()));
        let from_here = Lines::new(&from_here);
        if envelope::begins(&from_here)
            || search_replace::begins(&from_here)
            || json::begins(&from_here)
            || diff::begins(&from_here)
        {
            return true;
        }
        // A path may stand before it, inside the fence.
        if !line.trim().is_empty() && names::of_line(line).is_none() {
            return false;
        }
        lines.next();
    }
    false
}

/// Returns as much of a text as tells what begins there.
fn first_lines(text: &str) -> &str {
    let end = text.match_indices('\n').nth(2).map_or(text.len(), |(at, _)| at + 1);
    &text[..end]
}
