//! A diff as git writes it, taken apart for the page that shows it: files, hunks, numbered lines. Nothing is refused here:
//! what does not read as a diff is left out, and the whole text stays a click away.

pub(super) mod intraline;

/// What happened to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FileDiff<'a> {
    /// Its path before; none if it is new.
    pub(super) old: Option<String>,
    /// Its path after; none if it is gone.
    pub(super) new: Option<String>,
    /// What else there is to say: a rename, a mode, that it is binary.
    pub(super) remarks: Vec<String>,
    /// The parts that changed.
    pub(super) hunks: Vec<Hunk<'a>>,
    /// Lines that came.
    pub(super) added: usize,
    /// Lines that went.
    pub(super) removed: usize,
}

/// A part of a file that changed, with what is around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hunk<'a> {
    /// The line of the file that it is in, as git found it; may be empty.
    pub(super) place: &'a str,
    /// Its lines.
    pub(super) lines: Vec<Line<'a>>,
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// What happened to it.
    pub(super) sign: Sign,
    /// Its number before.
    pub(super) old: Option<u64>,
    /// Its number after.
    pub(super) new: Option<u64>,
    /// Its text, without the end of the line.
    pub(super) text: &'a str,
    /// Whether the file ends here without an end of the line.
    pub(super) is_unended: bool,
}

/// What happened to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// It is as it was.
    Same,
    /// It came.
    Added,
    /// It went.
    Removed,
}

impl FileDiff<'_> {
    /// Returns the path to show: the one after, or before if the file is gone.
    pub(super) fn path(&self) -> &str {
        self.new.as_deref().or(self.old.as_deref()).unwrap_or_default()
    }

    /// Returns what happened to the file, in a word.
    pub(super) fn word(&self) -> &'static str {
        match (&self.old, &self.new) {
            (None, _) => "new",
            (_, None) => "removed",
            (Some(old), Some(new)) if old != new => "renamed",
            _ => "changed",
        }
    }

    /// Counts the lines that its hunks show.
    pub(super) fn lines(&self) -> usize {
        self.hunks.iter().map(|hunk| hunk.lines.len()).sum()
    }
}

/// Takes a diff apart.
pub(super) fn read(text: &str) -> Vec<FileDiff<'_>> {
    let mut files: Vec<FileDiff<'_>> = Vec::new();
    let mut left = Left::default();
    for line in text.split('\n') {
        if let Some(file) = files.last_mut()
            && left.is_in_hunk()
        {
            left.take(file, line);
        } else if let Some(names) = line.strip_prefix("diff --git ") {
            let (old, new) = names_of(names);
            files.push(FileDiff { old, new, ..FileDiff::default() });
        } else if let Some(file) = files.last_mut() {
            match line.strip_prefix("@@ ") {
                Some(hunk) => left = Left::begin(file, hunk),
                None => header(file, line),
            }
        }
    }
    files
}

/// What a hunk still has to come, and the numbers of its next lines.
#[derive(Default)]
struct Left {
    old: u64,
    new: u64,
    old_at: u64,
    new_at: u64,
}

impl Left {
    fn begin<'a>(file: &mut FileDiff<'a>, header: &'a str) -> Self {
        let (ranges, place) = header.split_once(" @@").unwrap_or((header, ""));
        let mut ranges = ranges.split(' ').map(range);
        let (old_at, old) = ranges.next().flatten().unwrap_or_default();
        let (new_at, new) = ranges.next().flatten().unwrap_or_default();
        file.hunks.push(Hunk { place: place.trim(), lines: Vec::new() });
        Self { old, new, old_at, new_at }
    }

    fn is_in_hunk(&self) -> bool {
        self.old > 0 || self.new > 0
    }

    fn take<'a>(&mut self, file: &mut FileDiff<'a>, line: &'a str) {
        let (sign, text) = match line.as_bytes().first() {
            Some(b'+') => (Sign::Added, &line[1..]),
            Some(b'-') => (Sign::Removed, &line[1..]),
            Some(b' ') => (Sign::Same, &line[1..]),
            Some(b'\\') => return unended(file),
            _ => (Sign::Same, line),
        };
        let (old, new) = (sign != Sign::Added, sign != Sign::Removed);
        let Some(hunk) = file.hunks.last_mut() else { return };
        hunk.lines.push(Line {
            sign,
            old: old.then_some(self.old_at),
            new: new.then_some(self.new_at),
            text,
            is_unended: false,
        });
        file.added += usize::from(sign == Sign::Added);
        file.removed += usize::from(sign == Sign::Removed);
        if old {
            (self.old, self.old_at) = (self.old.saturating_sub(1), self.old_at + 1);
        }
        if new {
            (self.new, self.new_at) = (self.new.saturating_sub(1), self.new_at + 1);
        }
    }
}

/// Reads `-12,3` or `+12`.
fn range(text: &str) -> Option<(u64, u64)> {
    let text = text.strip_prefix(['-', '+'])?;
    match text.split_once(',') {
        Some((at, count)) => Some((at.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

fn unended(file: &mut FileDiff<'_>) {
    let last = file.hunks.last_mut().and_then(|hunk| hunk.lines.last_mut());
    if let Some(last) = last {
        last.is_unended = true;
    }
}

/// Reads a line between the names and the first hunk.
fn header(file: &mut FileDiff<'_>, line: &str) {
    if line.starts_with('\\') {
        return unended(file);
    }
    let rest = |prefix: &str| line.strip_prefix(prefix);
    if let Some(mode) = rest("new file mode ") {
        file.old = None;
        file.remarks.extend(unusual(mode));
    } else if rest("deleted file mode ").is_some() {
        file.new = None;
    } else if let Some(mode) = rest("old mode ") {
        file.remarks.push(format!("mode {mode}"));
    } else if let Some(mode) = rest("new mode ") {
        match file.remarks.iter_mut().find(|remark| remark.starts_with("mode ")) {
            Some(remark) => *remark = format!("{remark} to {mode}"),
            None => file.remarks.push(format!("mode {mode}")),
        }
    } else if let Some(name) = rest("rename from ").or(rest("copy from ")) {
        file.old = Some(unquoted(name));
        let what = if line.starts_with("copy") { "copied" } else { "renamed" };
        file.remarks.push(format!("{what} from {}", unquoted(name)));
    } else if let Some(name) = rest("rename to ").or(rest("copy to ")) {
        file.new = Some(unquoted(name));
    } else if line == "GIT binary patch" || line.starts_with("Binary files ") {
        file.remarks.push("binary, not shown".to_owned());
    }
}

/// Names a mode that is not that of an ordinary file.
fn unusual(mode: &str) -> Option<String> {
    match mode {
        "100644" => None,
        "100755" => Some("can be executed".to_owned()),
        "120000" => Some("a symbolic link".to_owned()),
        mode => Some(format!("mode {mode}")),
    }
}

/// Reads the names of `diff --git`: two quoted ones, or two that are the same. Those of a rename follow on lines of their
/// own.
fn names_of(names: &str) -> (Option<String>, Option<String>) {
    let name = |quoted: &str, side: &str| {
        let name = unquoted(quoted);
        name.strip_prefix(side).map(str::to_owned)
    };
    if names.starts_with('"') || names.ends_with('"') {
        let split = if names.starts_with('"') { quoted_end(names) } else { names.find(" \"") };
        let Some(at) = split else { return (None, None) };
        return (name(&names[..at], "a/"), name(names[at..].trim_start(), "b/"));
    }
    // `a/NAME b/NAME`: both have the same length, whatever blanks are in them.
    let half = names.len() / 2;
    match (names.is_char_boundary(half), names.get(half..half + 1)) {
        (true, Some(" ")) => (name(&names[..half], "a/"), name(&names[half + 1..], "b/")),
        _ => (None, None),
    }
}

/// Returns where a quoted name at the beginning ends: behind the first quote that no backslash stands before.
fn quoted_end(names: &str) -> Option<usize> {
    let mut bytes = names.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Reads a name as git quotes it.
fn unquoted(name: &str) -> String {
    let Some(inside) = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) else {
        return name.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inside.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(digit @ b'0'..=b'7') = rest.peek().copied() {
                        value = value * 8 + u32::from(digit - b'0');
                        rest.next();
                    }
                }
                bytes.push(u8::try_from(value & 0xff).unwrap_or(b'?'));
            }
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(other) => bytes.push(other),
            None => bytes.push(b'\\'),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
