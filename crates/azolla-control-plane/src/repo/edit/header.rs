//! What stands before the hunks of a file in a diff, in every shape that models write it.

use super::FileEdit;
use crate::repo::{
    patch::{Lines, quote, same_names},
    refusal::Refusal,
};

/// The header of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Header {
    git_line: Option<String>,
    old: Option<Option<String>>,
    new: Option<Option<String>>,
    from: Option<String>,
    to: Option<String>,
    old_mode: Option<String>,
    new_mode: Option<String>,
    is_new: bool,
    is_deleted: bool,
}

/// The paths before and after.
type Names = (Option<String>, Option<String>);

/// What a header says about its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// It is new.
    New,
    /// It goes.
    Deleted,
    /// It changes, and may get another name.
    Changed {
        /// The other name.
        to: Option<String>,
    },
}

impl Header {
    /// Reads up to the first hunk.
    pub(super) fn read(lines: &mut Lines<'_>) -> Result<Self, Refusal> {
        let mut header = Self::default();
        if let Some(rest) = lines.peek().and_then(|line| line.strip_prefix("diff --git ")) {
            header.git_line = Some(rest.trim_end().to_owned());
            lines.next();
            header.read_extended(lines)?;
        }
        if super::diff::has_names(lines) {
            let mut next =
                |prefix| lines.next().and_then(|line| line.strip_prefix(prefix)).unwrap_or_default();
            header.old = Some(name(next("--- "))?);
            header.new = Some(name(next("+++ "))?);
        }
        Ok(header)
    }

    /// Returns the name that messages show.
    pub(super) fn shown(&self) -> &str {
        let named = [&self.new, &self.old].into_iter().find_map(|name| name.as_ref()?.as_deref());
        let in_line =
            || self.git_line.as_deref().map(|line| line.rsplit_once(" b/").map_or(line, |(_, name)| name));
        let named = named.or(self.to.as_deref()).or_else(in_line).unwrap_or_default();
        named.strip_prefix("b/").or_else(|| named.strip_prefix("a/")).unwrap_or(named)
    }

    /// Tells whether the header says something by itself, without hunks.
    pub(super) fn says_something(&self) -> bool {
        self.is_new || self.is_deleted || self.to.is_some() || self.new_mode.is_some()
    }

    /// Returns the path and what happens to it, once all lines agree.
    pub(super) fn what(&self) -> Result<(String, What), Refusal> {
        let disagree = || Refusal::of(self.shown(), "has names that do not agree with each other");
        let (old, new) = self.names()?.ok_or_else(disagree)?;
        if (self.is_new && self.is_deleted) || (self.to.is_some() && (self.is_new || self.is_deleted)) {
            return Err(Refusal::of(self.shown(), "is said to be new, deleted or renamed at once"));
        }
        match (old, new) {
            (None, None) => Err(Refusal::of(self.shown(), "is /dev/null before and after")),
            (None, Some(new)) => Ok((new, What::New)),
            (Some(old), None) => Ok((old, What::Deleted)),
            (Some(_), Some(new)) if self.is_new => Ok((new, What::New)),
            (Some(old), Some(_)) if self.is_deleted => Ok((old, What::Deleted)),
            (Some(old), Some(new)) => {
                let to = (old != new).then_some(new);
                Ok((old, What::Changed { to }))
            }
        }
    }

    /// Gives the edit the mode that the header says.
    pub(super) fn set_mode(&self, edit: &mut FileEdit) {
        edit.mode = self.new_mode.clone().or_else(|| {
            // The mode of something that is no file is refused, also where the file goes.
            self.old_mode.clone().filter(|mode| !mode.starts_with("100"))
        });
    }

    fn read_extended(&mut self, lines: &mut Lines<'_>) -> Result<(), Refusal> {
        while let Some(line) = lines.peek() {
            let mode = |text: &str| Some(text.trim().to_owned());
            if let Some(text) = line.strip_prefix("old mode ") {
                self.old_mode = mode(text);
            } else if let Some(text) = line.strip_prefix("new mode ") {
                self.new_mode = mode(text);
            } else if let Some(text) = line.strip_prefix("new file mode ") {
                (self.is_new, self.new_mode) = (true, mode(text));
            } else if let Some(text) = line.strip_prefix("deleted file mode ") {
                (self.is_deleted, self.old_mode) = (true, mode(text));
            } else if let Some(text) = line.strip_prefix("rename from ") {
                self.from = Some(quote::unquote_whole(text.trim_end())?);
            } else if let Some(text) = line.strip_prefix("rename to ") {
                self.to = Some(quote::unquote_whole(text.trim_end())?);
            } else if line.starts_with("copy from ") || line.starts_with("copy to ") {
                return Err(Refusal::of(self.shown(), "is a copy; give the new file whole"));
            } else if !["index ", "similarity index ", "dissimilarity index "]
                .iter()
                .any(|p| line.starts_with(p))
            {
                break;
            }
            lines.next();
        }
        if self.from.is_some() != self.to.is_some() {
            return Err(Refusal::of(self.shown(), "has half of a rename"));
        }
        Ok(())
    }

    /// Returns the paths before and after, or nothing if the lines disagree.
    fn names(&self) -> Result<Option<Names>, Refusal> {
        let (old, new) = match (&self.old, &self.new) {
            (Some(old), Some(new)) => without_prefixes(old.as_deref(), new.as_deref()),
            _ => match (&self.from, &self.to, &self.git_line) {
                (Some(from), Some(to), _) => (Some(from.clone()), Some(to.clone())),
                (_, _, Some(line)) => match same_names(line)? {
                    Some(name) => (Some(name.clone()), Some(name)),
                    None => return Ok(None),
                },
                _ => return Ok(None),
            },
        };
        let shown = |name: &Option<String>, other: &Option<String>| {
            name.clone().or_else(|| other.clone()).unwrap_or_default()
        };
        let (first, second) = (shown(&old, &new), shown(&new, &old));
        if let Some(line) = &self.git_line {
            let line = quote::unquote_pair(line)?;
            if line != format!("a/{first} b/{second}") && line != format!("{first} {second}") {
                return Ok(None);
            }
        }
        let agrees = match (&self.from, &self.to) {
            (Some(from), Some(to)) => old.as_ref() == Some(from) && new.as_ref() == Some(to),
            // Without the lines of a rename, the two names are one unless `diff --git` says the same two.
            _ => first == second || self.git_line.is_some(),
        };
        Ok(agrees.then_some((old, new)))
    }
}

/// Reads a name: in quotes, up to a tab, or up to a date.
fn name(text: &str) -> Result<Option<String>, Refusal> {
    let text = text.split('\t').next().unwrap_or(text).trim_end_matches(['\r', ' ']);
    let text = without_date(text);
    let text = quote::unquote_whole(text)?;
    let is_nothing = matches!(text.as_str(), "/dev/null" | "a/dev/null" | "b/dev/null" | "dev/null");
    Ok((!is_nothing).then_some(text))
}

fn without_date(text: &str) -> &str {
    let is_date = |rest: &str| {
        let rest = rest.trim_start().as_bytes();
        rest.len() >= 10
            && rest[..10].iter().enumerate().all(|(n, byte)| match n {
                4 | 7 => *byte == b'-',
                _ => byte.is_ascii_digit(),
            })
    };
    let notes = ["(original)", "(modified)", "(updated)", "(old)", "(new)", "(working copy)"];
    let text = notes.iter().find_map(|note| text.strip_suffix(note)).map_or(text, str::trim_end);
    let mut blanks = text.match_indices(' ').map(|(at, _)| at);
    blanks.find(|at| is_date(&text[*at..])).map_or(text, |at| text[..at].trim_end())
}

/// Takes `a/` and `b/` away, also where only one side has it and the rest is the same.
fn without_prefixes(old: Option<&str>, new: Option<&str>) -> Names {
    let owned = |old: Option<&str>, new: Option<&str>| (old.map(str::to_owned), new.map(str::to_owned));
    match (old, new) {
        (Some(old), Some(new)) => match (old.strip_prefix("a/"), new.strip_prefix("b/")) {
            (Some(old), Some(new)) => owned(Some(old), Some(new)),
            (Some(bare), None) if bare == new => owned(Some(bare), Some(new)),
            (None, Some(bare)) if bare == old => owned(Some(old), Some(bare)),
            // What `patch` keeps as the file before.
            _ if old.strip_prefix(new).is_some_and(|rest| matches!(rest, ".orig" | ".old" | ".bak")) => {
                owned(Some(new), Some(new))
            }
            _ => owned(Some(old), Some(new)),
        },
        _ => owned(
            old.map(|old| old.strip_prefix("a/").unwrap_or(old)),
            new.map(|new| new.strip_prefix("b/").unwrap_or(new)),
        ),
    }
}
