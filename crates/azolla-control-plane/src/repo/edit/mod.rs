//! What an answer changes, read from whichever of five formats it is in (T32): a unified diff, search/replace blocks,
//! a `*** Begin Patch` envelope, whole files, or a JSON document.
//!
//! Reading is pure and all or nothing. [`find`] tells the format, [`apply`] makes the new files, and [`render`] writes
//! them as an exact diff, so that what reaches git went through git's own checks whatever the format was.

mod apply;
mod chunk;
mod diff;
mod document;
mod envelope;
mod fence;
mod find;
mod header;
mod json;
mod names;
mod nearest;
mod parts;
mod placeholder;
mod render;
mod search_replace;
mod seek;
mod tree;
mod whole_file;

pub(super) use apply::apply;
pub(super) use chunk::{Change, Chunk, Line, Mark, Reach, Sight};
pub(super) use find::{plain, read};
pub use json::edit_schema;
pub(super) use render::render;
pub(super) use search_replace::bare_names;
pub(super) use tree::Tree;

/// An answer as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The one format that it is in.
    pub(super) format: Format,
    /// What it changes, in its order.
    pub(super) edits: Vec<FileEdit>,
}

/// The formats that are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Format {
    /// A unified diff.
    Diff,
    /// `<<<<<<< SEARCH` … `>>>>>>> REPLACE`.
    SearchReplace,
    /// `*** Begin Patch`.
    Envelope,
    /// `{"edits": …}`.
    Json,
    /// Fenced blocks that hold whole files.
    WholeFiles,
}

/// One change of one file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileEdit {
    /// Its path before, or that of a new file.
    pub(super) path: String,
    /// Its path after, if it is moved.
    pub(super) to: Option<String>,
    /// Its mode after, where the answer says so.
    pub(super) mode: Option<String>,
    /// What happens to it.
    pub(super) action: Action,
}

/// What happens to a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Action {
    /// It is new; one that is there and not empty is refused.
    Create(String),
    /// It is given whole, new or not.
    Write {
        /// Its text.
        text: String,
        /// Whether the text came from a fenced block, which cannot say that the last line has no end.
        is_fenced: bool,
    },
    /// Parts of it change; none where only its mode or name does.
    Change(Vec<Change>),
    /// It goes.
    Delete {
        /// What the answer shows of it, which has to be in it.
        shown: Vec<Change>,
    },
}

impl Format {
    /// Returns what an operator calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Diff => "a unified diff",
            Self::SearchReplace => "search/replace blocks",
            Self::Envelope => "a *** Begin Patch envelope",
            Self::Json => "a JSON document of edits",
            Self::WholeFiles => "whole files",
        }
    }
}

impl FileEdit {
    /// Returns an edit that leaves name and mode as they are.
    fn new(path: String, action: Action) -> Self {
        Self { path, to: None, mode: None, action }
    }

    /// Returns the same without what messages call its parts, so that what is said twice can be told.
    fn unlabelled(&self) -> Self {
        let mut edit = self.clone();
        if let Action::Change(changes) = &mut edit.action {
            for chunk in changes.iter_mut().flat_map(|change| &mut change.readings) {
                chunk.label.clear();
            }
        }
        edit
    }

    /// Returns how many bytes it puts into the file.
    pub(super) fn added_bytes(&self) -> u64 {
        let bytes = match &self.action {
            Action::Create(text) | Action::Write { text, .. } => text.len(),
            Action::Change(changes) => changes.iter().map(Change::added_bytes).sum(),
            Action::Delete { .. } => 0,
        };
        bytes as u64
    }

    /// Tells whether it puts a NUL into the file.
    pub(super) fn has_nul(&self) -> bool {
        match &self.action {
            Action::Create(text) | Action::Write { text, .. } => text.contains('\0'),
            Action::Change(changes) => changes.iter().any(Change::has_nul),
            Action::Delete { .. } => false,
        }
    }

    /// Returns how many bytes of the answer it holds.
    pub(super) fn bytes(&self) -> u64 {
        match &self.action {
            Action::Change(changes) | Action::Delete { shown: changes } => {
                changes.iter().map(Change::bytes).sum::<usize>() as u64
            }
            Action::Create(_) | Action::Write { .. } => self.added_bytes(),
        }
    }
}

#[cfg(test)]
mod tests;
