//! Edits become files: pure, in their order, each on what those before it left, and all or nothing (T5).

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use super::{
    Action, Change, Chunk, FileEdit, Mark, Reach, Tree,
    document::{Document, LINES_MAX},
    placeholder::is_placeholder,
    seek::{Fit, Lost, Numbers, Seeker, Spot, Steps},
};
use crate::repo::{
    policy,
    refusal::{Refusal, visible},
};

const REGULAR: &str = "100644";
const LINK: &str = "120000";
const SUBMODULE: &str = "160000";

/// What becomes of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::repo) struct Outcome {
    pub(in crate::repo) path: String,
    pub(in crate::repo) old: Option<Version>,
    pub(in crate::repo) new: Option<Version>,
}

/// A file at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::repo) struct Version {
    pub(in crate::repo) mode: String,
    pub(in crate::repo) bytes: Vec<u8>,
}

/// Returns what the edits make of the base, path by path; `blobs` has every file of the base that they name.
pub(in crate::repo) fn apply(
    edits: &[FileEdit],
    tree: &Tree,
    blobs: &HashMap<String, Vec<u8>>,
) -> Result<Vec<Outcome>, Refusal> {
    let mut files = Files { tree, blobs, states: BTreeMap::new(), steps: Steps::new() };
    for edit in edits {
        files.apply(edit)?;
    }
    files.finish()
}

/// The base and what has become of it so far.
struct Files<'a> {
    tree: &'a Tree,
    blobs: &'a HashMap<String, Vec<u8>>,
    states: BTreeMap<&'a str, State<'a>>,
    steps: Steps,
}

/// What a path that was edited is now.
#[derive(Debug)]
enum State<'a> {
    Gone,
    There { text: Text<'a>, mode: String },
}

#[derive(Debug)]
enum Text<'a> {
    Whole(Cow<'a, [u8]>),
    Lines(Document<'a>),
}

impl<'a> Files<'a> {
    fn apply(&mut self, edit: &'a FileEdit) -> Result<(), Refusal> {
        let path = edit.path.as_str();
        let mode = |now: Option<String>| edit.mode.clone().or(now).unwrap_or_else(|| REGULAR.to_owned());
        match &edit.action {
            Action::Create(text) => {
                if self.current(path)?.is_some_and(|now| !now.is_empty()) {
                    let reason = "exists and is not empty; give what to replace in it";
                    return Err(Refusal::of(path, reason));
                }
                refuse_placeholders(path, text.lines(), None)?;
                let mode = mode(self.mode(path));
                let text = Text::Whole(Cow::Borrowed(text.as_bytes()));
                self.states.insert(path, State::There { text, mode });
            }
            Action::Write { text, is_fenced } => {
                let now = self.current(path)?;
                let bytes = whole(path, text, *is_fenced, now.as_deref())?;
                let mode = mode(self.mode(path));
                self.states.insert(path, State::There { text: Text::Whole(bytes), mode });
            }
            Action::Delete { shown } => {
                if !matches!(self.states.get(path), Some(State::There { .. })) {
                    self.check_deleted(path)?;
                }
                self.check_shown(path, shown)?;
                self.states.insert(path, State::Gone);
            }
            Action::Change(changes) => self.change(edit, changes)?,
        }
        Ok(())
    }

    fn change(&mut self, edit: &'a FileEdit, changes: &'a [Change]) -> Result<(), Refusal> {
        let path = edit.path.as_str();
        let numbers = if self.states.contains_key(path) { Numbers::Unknown } else { Numbers::OfBase };
        let (mut document, now) = self.take_lines(path)?;
        let chunks = changes.iter().flat_map(|change| &change.readings);
        let mut seeker = Seeker::new(&document, numbers, chunks);
        for change in changes {
            let (chunk, spot) = self.place(path, &mut seeker, &document, change)?;
            if chunk.reach != Reach::LineEnds {
                let old: Vec<&str> = chunk.old().collect();
                refuse_placeholders(
                    path,
                    chunk.added(),
                    Some(&|line| old.iter().any(|old| old.trim() == line)),
                )?;
            }
            splice(&mut document, &mut seeker, chunk, &spot).ok_or_else(|| {
                Refusal::of(
                    path,
                    format!("{} has new lines that are indented less than its old ones", chunk.label),
                )
            })?;
        }
        let mode = edit.mode.clone().unwrap_or(now);
        let state = State::There { text: Text::Lines(document), mode };
        match &edit.to {
            Some(to) => {
                if self.current(to)?.is_some() {
                    return Err(Refusal::of(to, "exists already, and a file would be moved there"));
                }
                self.states.insert(path, State::Gone);
                self.states.insert(to, state);
            }
            None => drop(self.states.insert(path, state)),
        }
        Ok(())
    }

    /// Returns the one reading of a change that fits, and where.
    fn place(
        &mut self,
        path: &str,
        seeker: &mut Seeker,
        document: &Document<'_>,
        change: &'a Change,
    ) -> Result<(&'a Chunk, Spot), Refusal> {
        let (mut fits, mut why) = (Vec::new(), None);
        for chunk in &change.readings {
            match seeker.find(document, chunk, &mut self.steps) {
                Ok(spot) => fits.push((chunk, spot)),
                Err(Lost::Steps(refusal)) => return Err(refusal),
                Err(lost) => why = why.or(Some((chunk, lost))),
            }
        }
        match (fits.len(), why) {
            (0, Some((chunk, lost))) => Err(Refusal::of(path, lost.told(document, chunk))),
            (1, _) => Ok(fits.remove(0)),
            _ => {
                let label = &change.readings[0].label;
                let reason = format!(
                    "{label} has several ======= lines and fits in more than one way; use more signs"
                );
                Err(Refusal::of(path, reason))
            }
        }
    }

    /// Takes a file that is to be changed line by line.
    fn take_lines(&mut self, path: &'a str) -> Result<(Document<'a>, String), Refusal> {
        let too_long = || Refusal::of(path, format!("has more than {LINES_MAX} lines"));
        match self.states.remove(path) {
            Some(State::Gone) => Err(Refusal::of(path, "is changed after the answer deleted or moved it")),
            Some(State::There { text: Text::Lines(document), mode }) => Ok((document, mode)),
            Some(State::There { text: Text::Whole(Cow::Borrowed(bytes)), mode }) => {
                Ok((Document::new(bytes).ok_or_else(too_long)?, mode))
            }
            Some(State::There { text: Text::Whole(Cow::Owned(bytes)), mode }) => {
                Ok((Document::new(&bytes).ok_or_else(too_long)?.into_owned(), mode))
            }
            None => {
                let bytes =
                    self.base_file(path)?.ok_or_else(|| Refusal::of(path, self.tree.missing(path)))?;
                if bytes.contains(&0) {
                    return Err(Refusal::of(path, "is binary; a change in text cannot be made to it"));
                }
                self.steps.take(bytes.len() / 64)?;
                let mode = self.tree.get(path).map(|entry| entry.mode.clone()).unwrap_or_default();
                Ok((Document::new(bytes).ok_or_else(too_long)?, mode))
            }
        }
    }

    /// Refuses the deletion of a file that is not the one that the answer shows.
    fn check_shown(&mut self, path: &'a str, shown: &'a [Change]) -> Result<(), Refusal> {
        if shown.is_empty() {
            return Ok(());
        }
        let (document, _) = self.take_lines(path)?;
        let chunks = shown.iter().flat_map(|change| &change.readings);
        let mut seeker = Seeker::new(&document, Numbers::OfBase, chunks.clone());
        for chunk in chunks {
            match seeker.find(&document, chunk, &mut self.steps) {
                // Where in the file it is makes no difference.
                Ok(_) | Err(Lost::Unclear(_)) => {}
                Err(Lost::Steps(refusal)) => return Err(refusal),
                Err(Lost::Missing) => return Err(Refusal::of(path, Lost::Missing.told(&document, chunk))),
            }
        }
        Ok(())
    }

    /// Refuses the deletion of what is not there.
    fn check_deleted(&self, path: &str) -> Result<(), Refusal> {
        match self.tree.get(path) {
            Some(entry) if entry.mode == SUBMODULE => {
                Err(Refusal::of(path, "is a submodule; those are not changed"))
            }
            Some(_) if self.states.contains_key(path) => Err(Refusal::of(path, "is deleted twice")),
            Some(_) => Ok(()),
            None => Err(Refusal::of(path, self.tree.missing(path))),
        }
    }

    /// Returns what a file holds now; none if there is no such file.
    fn current(&self, path: &str) -> Result<Option<Cow<'_, [u8]>>, Refusal> {
        match self.states.get(path) {
            Some(State::Gone) => Ok(None),
            Some(State::There { text: Text::Whole(bytes), .. }) => Ok(Some(Cow::Borrowed(bytes))),
            Some(State::There { text: Text::Lines(document), .. }) => Ok(Some(Cow::Owned(document.bytes()))),
            None => Ok(self.base_file(path)?.map(Cow::Borrowed)),
        }
    }

    /// Returns a file of the base, or refuses what is no file.
    fn base_file(&self, path: &str) -> Result<Option<&'a [u8]>, Refusal> {
        match self.tree.get(path) {
            None => Ok(None),
            Some(entry) if entry.mode == LINK => {
                Err(Refusal::of(path, "is a link of the base; a link is changed by an exact diff only"))
            }
            Some(entry) if entry.mode == SUBMODULE => {
                Err(Refusal::of(path, "is a submodule; those are not changed"))
            }
            // What is only the aim of a move was not read, and is in the way whatever it holds.
            Some(_) => Ok(Some(self.blobs.get(path).map_or(&[][..], Vec::as_slice))),
        }
    }

    fn mode(&self, path: &str) -> Option<String> {
        match self.states.get(path) {
            Some(State::There { mode, .. }) => Some(mode.clone()),
            Some(State::Gone) => None,
            None => self.tree.get(path).map(|entry| entry.mode.clone()),
        }
    }

    fn finish(self) -> Result<Vec<Outcome>, Refusal> {
        for (path, state) in &self.states {
            if matches!(state, State::There { .. }) && self.tree.get(path).is_none() {
                policy::path::check_created(path).map_err(|reason| Refusal::of(path, reason))?;
                self.check_room(path)?;
            }
        }
        let (tree, blobs) = (self.tree, self.blobs);
        let outcome = |(path, state): (&str, State<'_>)| {
            let old = tree.get(path).map(|entry| Version {
                mode: entry.mode.clone(),
                bytes: blobs.get(path).cloned().unwrap_or_default(),
            });
            let new = match state {
                State::Gone => None,
                State::There { text: Text::Whole(bytes), mode } => {
                    Some(Version { mode, bytes: bytes.into_owned() })
                }
                State::There { text: Text::Lines(document), mode } => {
                    Some(Version { mode, bytes: document.bytes() })
                }
            };
            Outcome { path: path.to_owned(), old, new }
        };
        Ok(self.states.into_iter().map(outcome).filter(|outcome| outcome.old != outcome.new).collect())
    }

    /// Refuses a new file where a directory is, or below what is none (T4).
    fn check_room(&self, path: &str) -> Result<(), Refusal> {
        let is_gone = |path: &str| matches!(self.states.get(path), Some(State::Gone));
        if self.tree.below(path).any(|below| !is_gone(below)) {
            return Err(Refusal::of(path, "is a directory of the base"));
        }
        for above in path.match_indices('/').map(|(at, _)| &path[..at]) {
            let reason = match (self.states.get(above), self.tree.get(above)) {
                (Some(State::Gone), _) | (None, None) => continue,
                (Some(State::There { .. }), _) => {
                    format!("is below {}, which the answer makes a file", visible(above))
                }
                (None, Some(entry)) if entry.mode == LINK => {
                    "is written through a link of the base".to_owned()
                }
                (None, Some(entry)) if entry.mode == SUBMODULE => {
                    format!("is in the submodule {}; those are not changed", visible(above))
                }
                (None, Some(_)) => format!("is below {}, which is a file", visible(above)),
            };
            return Err(Refusal::of(path, reason));
        }
        Ok(())
    }
}

/// Returns a file that was given whole, with the line ends that it has now.
fn whole<'a>(
    path: &str,
    text: &'a str,
    is_fenced: bool,
    now: Option<&[u8]>,
) -> Result<Cow<'a, [u8]>, Refusal> {
    let Some(now) = now.filter(|now| !now.is_empty()) else {
        refuse_placeholders(path, text.lines(), None)?;
        return Ok(Cow::Borrowed(text.as_bytes()));
    };
    if now.contains(&0) {
        return Err(Refusal::of(path, "is binary; a change in text cannot be made to it"));
    }
    if is_fenced && text.is_empty() {
        return Err(Refusal::of(path, "is given as an empty block; nothing says that it goes"));
    }
    let there = |line: &str| now.split(|byte| *byte == b'\n').any(|has| has.trim_ascii() == line.as_bytes());
    refuse_placeholders(path, text.lines(), Some(&there))?;
    let lines = now.split_inclusive(|byte| *byte == b'\n');
    let is_crlf = now.contains(&b'\n')
        && lines.filter(|line| line.ends_with(b"\n")).all(|line| line.ends_with(b"\r\n"));
    let mut bytes: Cow<'_, [u8]> = if is_crlf && !text.contains('\r') {
        Cow::Owned(text.replace('\n', "\r\n").into_bytes())
    } else {
        Cow::Borrowed(text.as_bytes())
    };
    if is_fenced && !now.ends_with(b"\n") {
        let end = if is_crlf { "\r\n".as_bytes() } else { b"\n" };
        if let Some(cut) = bytes.strip_suffix(end).map(<[u8]>::len) {
            bytes = Cow::Owned(bytes[..cut].to_vec());
        }
    }
    Ok(bytes)
}

/// Refuses a line that stands for text which was left out, unless it was there before.
fn refuse_placeholders<'l>(
    path: &str,
    lines: impl Iterator<Item = &'l str>,
    there: Option<&dyn Fn(&str) -> bool>,
) -> Result<(), Refusal> {
    for line in lines.filter(|line| is_placeholder(line)).map(str::trim) {
        if !there.is_some_and(|there| there(line)) {
            let reason = format!("has a placeholder where text belongs: {}", visible(line));
            return Err(Refusal::of(path, reason));
        }
    }
    Ok(())
}

/// Puts a chunk in its place; none if its lines cannot be indented like those around them.
fn splice<'a>(document: &mut Document<'a>, seeker: &mut Seeker, chunk: &'a Chunk, spot: &Spot) -> Option<()> {
    let count = chunk.old().count();
    let first = if count > 0 { document.after(spot.before) } else { spot.before };
    let end = document.end_at(first);
    let mut at = spot.before;
    match &spot.fit {
        Fit::Lines(shift) => {
            let added = chunk.added().map(|line| shift.apply(line.as_bytes()));
            let mut added = added.collect::<Option<Vec<_>>>()?.into_iter();
            for line in &chunk.lines {
                match line.mark {
                    Mark::Keep => at = document.after(at),
                    Mark::Remove => document.remove(document.after(at)),
                    Mark::Add => {
                        at = document.insert(at, added.next()?, end);
                        seeker.note(document, at);
                    }
                }
            }
        }
        Fit::Part(from, to) => {
            let last = (1..count).fold(first, |place, _| document.after(place));
            let head = document.text(first)[..*from].to_vec();
            let tail = document.text(last)[*to..].to_vec();
            (0..count).for_each(|_| document.remove(document.after(at)));
            let mut lines: Vec<Vec<u8>> = chunk.new_lines().map(|line| line.as_bytes().to_vec()).collect();
            if lines.is_empty() {
                lines.push(Vec::new());
            }
            lines[0].splice(0..0, head);
            lines.last_mut()?.extend(tail);
            for line in lines {
                at = document.insert(at, Cow::Owned(line), end);
                seeker.note(document, at);
            }
        }
    }
    if document.after(at) == 0
        && let Some(has) = chunk.final_newline
    {
        document.set_final_newline(has);
    }
    Some(())
}
