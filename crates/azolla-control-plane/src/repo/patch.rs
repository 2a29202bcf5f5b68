//! A unified diff, read by ourselves before git sees it, and written again in one form for git to apply.
//!
//! Counts, names and modes are all checked here, so that git and the policy cannot read the same text differently.
//! What is not well-formed is refused with what is wrong; `edit` reads it more loosely, from the files that it changes.

mod find;
mod header;
mod hunk;
mod paths;
pub(super) mod quote;

use std::collections::BTreeSet;

pub(super) use find::find;
use header::Header;
pub(super) use header::same_names;
pub(super) use hunk::Hunk;
pub use paths::paths_of;

use super::refusal::Refusal;

/// Whether binary content may be in a patch: only in one that git made for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    /// It may.
    Allowed,
    /// It may not.
    Refused,
}

/// A patch, file by file, in the order of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Patch<'a> {
    pub(super) files: Vec<FilePatch<'a>>,
}

/// What happens to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilePatch<'a> {
    /// Its path before; none if it is new.
    pub(super) old: Option<String>,
    /// Its path after; none if it is deleted.
    pub(super) new: Option<String>,
    /// Its mode before, where the patch says so.
    pub(super) old_mode: Option<String>,
    /// Its mode after, where the patch says so. A new file has one.
    pub(super) new_mode: Option<String>,
    /// The blobs before and after, if both are named in full.
    pub(super) blobs: Option<(String, String)>,
    /// What changes in it.
    pub(super) body: Body<'a>,
}

/// What changes in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body<'a> {
    /// Lines; none where only the mode or the name changes, or the file is empty.
    Hunks(Vec<Hunk<'a>>),
    /// The text of a `GIT binary patch`, without that line.
    Binary(&'a str),
}

impl<'a> Patch<'a> {
    /// Reads a text that [`find`] returned; at most `files_max` files.
    pub(super) fn read(text: &'a str, binary: Binary, files_max: u64) -> Result<Self, Refusal> {
        let mut lines = Lines::new(text);
        let mut files = Vec::new();
        while find::is_file_start(&lines) {
            if files.len() as u64 == files_max {
                return Err(Refusal::whole(format!("the patch touches more than {files_max} files")));
            }
            files.push(read_file(&mut lines, binary)?);
        }
        find::refuse_rest(lines.rest())?;
        Ok(Self { files })
    }

    /// Returns every path that the patch names.
    pub(super) fn paths(&self) -> BTreeSet<&str> {
        self.files.iter().flat_map(|file| file.old.iter().chain(&file.new)).map(String::as_str).collect()
    }

    /// Tells whether it leaves everything as it is.
    pub(super) fn changes_nothing(&self) -> bool {
        self.files.iter().all(FilePatch::changes_nothing)
    }

    /// Returns the text that git applies: no other names, modes or hunks than those that were checked.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        for file in &self.files {
            file.render(&mut text);
        }
        text
    }
}

impl FilePatch<'_> {
    /// Returns it without the way back of a binary patch, which git unpacks too and has no use for.
    pub(super) fn one_way(self) -> Self {
        let body = match self.body {
            Body::Binary(text) => Body::Binary(hunk::way_there(text)),
            hunks @ Body::Hunks(_) => hunks,
        };
        Self { body, ..self }
    }

    /// Returns the path that the change is known by: the new one, or that of a deleted file.
    pub(super) fn path(&self) -> &str {
        self.new.as_deref().or(self.old.as_deref()).expect("a file has a path before or after")
    }

    /// Returns how many bytes it puts into the file.
    pub(super) fn added_bytes(&self) -> u64 {
        match &self.body {
            Body::Hunks(hunks) => hunks.iter().map(|hunk| hunk.added_bytes).sum(),
            Body::Binary(text) => hunk::literal_bytes(text),
        }
    }

    fn changes_nothing(&self) -> bool {
        let is_same = self.old == self.new && self.old_mode == self.new_mode;
        is_same && matches!(&self.body, Body::Hunks(hunks) if hunks.iter().all(|hunk| !hunk.changes))
    }

    fn render(&self, text: &mut String) {
        let quoted = |prefix: &str, path: &str| quote::quote(&format!("{prefix}{path}"));
        let (old, new) = (self.old.as_deref(), self.new.as_deref());
        let (from, to) = (old.unwrap_or(self.path()), new.unwrap_or(self.path()));
        let mut line = |parts: &[&str]| {
            text.extend(parts.iter().copied());
            text.push('\n');
        };
        line(&["diff --git ", &quoted("a/", from), " ", &quoted("b/", to)]);
        match (old, new, self.old_mode.as_deref(), self.new_mode.as_deref()) {
            (None, _, _, mode) => line(&["new file mode ", mode.unwrap_or("100644")]),
            (_, None, mode, _) => line(&["deleted file mode ", mode.unwrap_or("100644")]),
            (_, _, Some(old_mode), Some(new_mode)) if old_mode != new_mode => {
                line(&["old mode ", old_mode]);
                line(&["new mode ", new_mode]);
            }
            _ => {}
        }
        if old.is_some() && new.is_some() && old != new {
            line(&["rename from ", &quoted("", from)]);
            line(&["rename to ", &quoted("", to)]);
        }
        match &self.body {
            Body::Binary(body) => {
                if let Some((before, after)) = &self.blobs {
                    line(&["index ", before, "..", after]);
                }
                line(&["GIT binary patch"]);
                text.push_str(body);
            }
            Body::Hunks(hunks) if hunks.is_empty() => {}
            Body::Hunks(hunks) => {
                line(&["--- ", &old.map_or("/dev/null".to_owned(), |path| quoted("a/", path))]);
                line(&["+++ ", &new.map_or("/dev/null".to_owned(), |path| quoted("b/", path))]);
                hunks.iter().for_each(|hunk| hunk.render(text));
            }
        }
    }
}

fn read_file<'a>(lines: &mut Lines<'a>, binary: Binary) -> Result<FilePatch<'a>, Refusal> {
    let header = Header::read(lines)?;
    let body = match lines.peek() {
        Some("GIT binary patch") => Body::Binary(hunk::read_binary(lines, header.name(), binary)?),
        Some(line) if line.starts_with("Binary files ") => {
            return Err(Refusal::of(header.name(), "is binary, and the patch does not have its content"));
        }
        _ => Body::Hunks(hunk::read_all(lines, header.name())?),
    };
    header.into_file(body)
}

/// The lines of a text, without their `\n`, one ahead.
#[derive(Clone, Debug)]
pub(super) struct Lines<'a> {
    rest: &'a str,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    pub(super) fn peek(&self) -> Option<&'a str> {
        (!self.rest.is_empty()).then(|| self.rest.split_once('\n').map_or(self.rest, |(line, _)| line))
    }

    pub(super) fn next(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        self.rest = self.rest.get(line.len() + 1..).unwrap_or("");
        Some(line)
    }
}

#[cfg(test)]
mod tests;
