//! Fenced blocks that hold whole files: the path is in the fence, or alone on the line before it.

use super::{
    Action, FileEdit,
    fence::{Block, Fence},
};
use crate::repo::refusal::Refusal;

/// A block with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    path: String,
    /// Whether the fence itself names the path: then it can be nothing else.
    pub(super) is_in_fence: bool,
    text: String,
    is_closed: bool,
}

impl Whole {
    pub(super) fn new(path: String, is_in_fence: bool, fence: Fence<'_>, block: &Block<'_>) -> Self {
        Self { path, is_in_fence, text: fence.dedent(block.text), is_closed: block.is_closed }
    }
}

/// Returns the edits that blocks are.
pub(super) fn edits(wholes: Vec<Whole>) -> Result<Vec<FileEdit>, Refusal> {
    let mut edits: Vec<FileEdit> = Vec::new();
    for whole in wholes {
        if !whole.is_closed {
            return Err(Refusal::of(&whole.path, "is in a block that has no end; the answer was cut off"));
        }
        let action = Action::Write { text: whole.text, is_fenced: true };
        match edits.iter().find(|edit| edit.path == whole.path) {
            None => edits.push(FileEdit::new(whole.path, action)),
            Some(before) if before.action == action => {}
            Some(_) => return Err(Refusal::of(&whole.path, "is given whole twice, and differently")),
        }
    }
    Ok(edits)
}

/// Tells whether a diff is what this file is expected to hold.
pub(super) fn is_patch(path: &str) -> bool {
    path.ends_with(".patch") || path.ends_with(".diff")
}

/// Tells whether blocks may be inside the block of this file.
pub(super) fn is_markdown(path: &str, language: &str) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    matches!(ending.as_str(), "md" | "mdx" | "markdown" | "mdc")
        || matches!(language.to_ascii_lowercase().as_str(), "md" | "markdown")
}
