//! What stands before a file's hunks: names, modes, and that they agree with each other.

use super::{Body, FilePatch, Lines, Refusal, quote};

/// The header of one file, as read.
#[derive(Debug, Default)]
pub(super) struct Header {
    // What `diff --git` names: prefixed, and only as a whole, for it cannot always be split.
    git_line: Option<String>,
    old: Option<Name>,
    new: Option<Name>,
    renamed: Option<(String, String)>,
    old_mode: Option<String>,
    new_mode: Option<String>,
    is_new: bool,
    is_deleted: bool,
    blobs: Option<(String, String)>,
    shown: String,
}

/// The paths before and after.
type Names = (Option<String>, Option<String>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Nothing,
    Path(String),
}

impl Header {
    /// Reads up to the first hunk.
    pub(super) fn read(lines: &mut Lines<'_>) -> Result<Self, Refusal> {
        let mut header = Self::default();
        if let Some(rest) = lines.peek().and_then(|line| line.strip_prefix("diff --git ")) {
            header.git_line = Some(rest.to_owned());
            header.shown = rest.to_owned();
            lines.next();
            header.read_extended(lines)?;
        }
        if super::find::is_file_start(lines) && lines.peek().is_some_and(|line| line.starts_with("--- ")) {
            let mut next =
                |prefix| lines.next().and_then(|line| line.strip_prefix(prefix)).unwrap_or_default();
            header.old = Some(name(next("--- "))?);
            header.new = Some(name(next("+++ "))?);
        } else if lines.peek().is_some_and(|line| line.starts_with("--- ") || line.starts_with("@@ ")) {
            return Err(Refusal::of(&header.shown, "has no --- and +++ lines before its hunks"));
        }
        header.show();
        Ok(header)
    }

    /// Returns the name that messages show.
    pub(super) fn name(&self) -> &str {
        &self.shown
    }

    /// Returns the file with its body, once all names and modes agree.
    pub(super) fn into_file(self, body: Body<'_>) -> Result<FilePatch<'_>, Refusal> {
        let refuse = |reason: &str| Err(Refusal::of(&self.shown, reason));
        let Some((mut old, mut new)) = self.names()? else {
            return refuse("has names that do not agree with each other");
        };
        if [self.is_new, self.is_deleted, self.renamed.is_some()].iter().filter(|is| **is).count() > 1 {
            return refuse("is said to be new, deleted or renamed at once");
        }
        if (self.is_new && matches!(self.old, Some(Name::Path(_))))
            || (self.is_deleted && matches!(self.new, Some(Name::Path(_))))
        {
            return refuse("is said to be new or deleted, but its --- or +++ line names it");
        }
        if self.is_new {
            old = None;
        }
        if self.is_deleted {
            new = None;
        }
        if old.is_none() && new.is_none() {
            return refuse("is /dev/null before and after");
        }
        let has_both = old.is_some() && new.is_some();
        if has_both && self.old_mode.is_some() != self.new_mode.is_some() {
            return refuse("has an old mode or a new mode without the other");
        }
        let is_empty = matches!(&body, Body::Hunks(hunks) if hunks.is_empty());
        let has_names = self.old.is_some();
        if is_empty && (has_names || (has_both && old == new && self.old_mode == self.new_mode)) {
            return refuse("has a header and no hunk");
        }
        let default_mode = (!has_both).then(|| "100644".to_owned());
        let old_mode = if old.is_some() { self.old_mode.or_else(|| default_mode.clone()) } else { None };
        let new_mode = if new.is_some() { self.new_mode.or(default_mode) } else { None };
        Ok(FilePatch { old, new, old_mode, new_mode, blobs: self.blobs, body })
    }

    fn read_extended(&mut self, lines: &mut Lines<'_>) -> Result<(), Refusal> {
        let (mut from, mut to) = (None, None);
        while let Some(line) = lines.peek() {
            let mode = |text: &str| Some(text.trim_end().to_owned());
            if let Some(text) = line.strip_prefix("old mode ") {
                self.old_mode = mode(text);
            } else if let Some(text) = line.strip_prefix("new mode ") {
                self.new_mode = mode(text);
            } else if let Some(text) = line.strip_prefix("new file mode ") {
                (self.is_new, self.new_mode) = (true, mode(text));
            } else if let Some(text) = line.strip_prefix("deleted file mode ") {
                (self.is_deleted, self.old_mode) = (true, mode(text));
            } else if let Some(text) = line.strip_prefix("rename from ") {
                from = Some(quote::unquote_whole(text)?);
            } else if let Some(text) = line.strip_prefix("rename to ") {
                to = Some(quote::unquote_whole(text)?);
            } else if line.starts_with("copy from ") || line.starts_with("copy to ") {
                return Err(Refusal::of(&self.shown, "is a copy; give the new file whole"));
            } else if let Some(text) = line.strip_prefix("index ") {
                self.read_index(text);
            } else if !line.starts_with("similarity index ") && !line.starts_with("dissimilarity index ") {
                break;
            }
            lines.next();
        }
        self.renamed = match (from, to) {
            (Some(from), Some(to)) => Some((from, to)),
            (None, None) => None,
            _ => return Err(Refusal::of(&self.shown, "has half of a rename")),
        };
        Ok(())
    }

    // `index old..new mode`: the mode of a file that keeps it.
    fn read_index(&mut self, text: &str) {
        let (blobs, mode) = text.split_once(' ').map_or((text, None), |(blobs, mode)| (blobs, Some(mode)));
        if let Some(mode) = mode {
            let mode = Some(mode.trim_end().to_owned());
            self.old_mode = self.old_mode.take().or_else(|| mode.clone());
            self.new_mode = self.new_mode.take().or(mode);
        }
        self.blobs = blobs
            .split_once("..")
            .filter(|(before, after)| [before, after].iter().all(|id| crate::repo::mirror::is_object_id(id)))
            .map(|(before, after)| (before.to_owned(), after.to_owned()));
    }

    /// Returns the paths before and after, or nothing if the lines of the header disagree.
    fn names(&self) -> Result<Option<Names>, Refusal> {
        let (old, new) = match (&self.old, &self.new) {
            (Some(old), Some(new)) => match strip_prefixes(old, new) {
                Some(names) => names,
                None => return Ok(None),
            },
            _ => match (&self.renamed, self.git_line.as_deref()) {
                (Some((from, to)), _) => (Some(from.clone()), Some(to.clone())),
                (None, Some(line)) => match same_names(line)? {
                    Some(name) => (Some(name.clone()), Some(name)),
                    None => return Ok(None),
                },
                (None, None) => return Ok(None),
            },
        };
        let agree = self.git_line_agrees(&old, &new)?
            && match (&self.renamed, &old, &new) {
                (Some((from, to)), Some(old), Some(new)) => from == old && to == new && from != to,
                (Some(_), ..) => false,
                (None, Some(old), Some(new)) => old == new,
                (None, ..) => true,
            };
        Ok(agree.then_some((old, new)))
    }

    fn git_line_agrees(&self, old: &Option<String>, new: &Option<String>) -> Result<bool, Refusal> {
        let Some(line) = &self.git_line else { return Ok(true) };
        let old = old.as_ref().or(new.as_ref()).map(String::as_str).unwrap_or_default();
        let new = new.as_deref().unwrap_or(old);
        let line = quote::unquote_pair(line)?;
        Ok(line == format!("a/{old} b/{new}") || line == format!("{old} {new}"))
    }

    fn show(&mut self) {
        let path = |name: &Option<Name>| match name {
            Some(Name::Path(path)) => Some(path.clone()),
            _ => None,
        };
        if let Some(path) = path(&self.new).or_else(|| path(&self.old)) {
            self.shown =
                path.strip_prefix("b/").or_else(|| path.strip_prefix("a/")).unwrap_or(&path).to_owned();
        }
    }
}

/// Reads what follows `--- ` or `+++ `: a name, in quotes or up to a tab.
fn name(text: &str) -> Result<Name, Refusal> {
    let text = if text.starts_with('"') {
        quote::unquote_whole(text.split('\t').next().unwrap_or(text).trim_end_matches(' '))?
    } else {
        text.split('\t').next().unwrap_or(text).to_owned()
    };
    Ok(if text == "/dev/null" { Name::Nothing } else { Name::Path(text) })
}

/// Takes `a/` and `b/` away; both sides have them, or neither.
fn strip_prefixes(old: &Name, new: &Name) -> Option<Names> {
    let path = |name: &Name| match name {
        Name::Nothing => None,
        Name::Path(path) => Some(path.clone()),
    };
    let (old, new) = (path(old), path(new));
    let stripped = |path: &Option<String>, prefix: &str| match path {
        None => Some(None),
        Some(path) => path.strip_prefix(prefix).map(|path| Some(path.to_owned())),
    };
    match (stripped(&old, "a/"), stripped(&new, "b/")) {
        (Some(old), Some(new)) => Some((old, new)),
        (None, None) => Some((old, new)),
        (None, Some(_)) if new.is_none() => Some((old, new)),
        (Some(_), None) if old.is_none() => Some((old, new)),
        _ => None,
    }
}

/// Returns the name of `a/NAME b/NAME`, which has to be the same twice.
pub(crate) fn same_names(line: &str) -> Result<Option<String>, Refusal> {
    let line = quote::unquote_pair(line)?;
    let half = line.len().saturating_sub(1) / 2;
    if line.len() % 2 == 0 || !line.is_char_boundary(half) || line.as_bytes()[half] != b' ' {
        return Ok(None);
    }
    let (old, new) = (&line[..half], &line[half + 1..]);
    let stripped = old.strip_prefix("a/").zip(new.strip_prefix("b/")).unwrap_or((old, new));
    Ok((stripped.0 == stripped.1).then(|| stripped.0.to_owned()))
}
