//! One place of a file that changes: lines that stay, go and come, and what else tells where it is.

/// One change of a file's text. Where its text can be read in several ways, exactly one of them has to fit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::repo) struct Change {
    /// At least one.
    pub(super) readings: Vec<Chunk>,
}

/// One reading of a change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::repo) struct Chunk {
    /// What messages call it: `hunk 2`.
    pub(super) label: String,
    /// The line of the base at which the answer says that it begins.
    pub(super) line: Option<usize>,
    /// Lines that come somewhere before it, outermost first; they choose among several places.
    pub(super) anchors: Vec<String>,
    /// Whether the answer says that it reaches the end of the file.
    pub(super) is_last: bool,
    /// Its lines.
    pub(super) lines: Vec<Line>,
    /// Whether the file ends with a line end afterwards, where the answer says so.
    pub(super) final_newline: Option<bool>,
    /// How loosely its old lines may match.
    pub(super) reach: Reach,
    /// Which lines it may match.
    pub(super) sight: Sight,
}

/// One line of a chunk, without its end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::repo) struct Line {
    pub(super) mark: Mark,
    pub(super) text: String,
}

/// What happens to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::repo) enum Mark {
    /// It stays, as the file has it.
    Keep,
    /// It goes.
    Remove,
    /// It comes.
    Add,
}

/// How loosely old lines may match, from strict to loose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::repo) enum Reach {
    /// Exactly, then but for blanks at line ends.
    LineEnds,
    /// Then also but for one indentation that all lines have more or less.
    Indentation,
    /// Exactly, then as part of a line, then as the others.
    PartOfLine,
}

/// Which lines a chunk may match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::repo) enum Sight {
    /// Those that were there before the edit it belongs to; those that it made only if there is no such place.
    Before,
    /// The file as the chunks before it left it.
    SoFar,
}

impl Change {
    /// Returns a change that can be read in one way.
    pub(super) fn one(chunk: Chunk) -> Self {
        Self { readings: vec![chunk] }
    }

    pub(super) fn added_bytes(&self) -> usize {
        self.readings.iter().map(Chunk::added_bytes).max().unwrap_or(0)
    }

    pub(super) fn has_nul(&self) -> bool {
        self.readings.iter().flat_map(Chunk::added).any(|line| line.contains('\0'))
    }

    pub(super) fn bytes(&self) -> usize {
        let bytes = |chunk: &Chunk| chunk.lines.iter().map(|line| line.text.len() + 1).sum();
        self.readings.iter().map(bytes).max().unwrap_or(0)
    }
}

impl Chunk {
    /// Returns a chunk without hints.
    pub(super) fn new(label: String, lines: Vec<Line>, reach: Reach, sight: Sight) -> Self {
        let (line, anchors, is_last, final_newline) = (None, Vec::new(), false, None);
        Self { label, line, anchors, is_last, lines, final_newline, reach, sight }
    }

    /// Returns the chunk that replaces one text with another; lines that both begin or end with stay as the file has
    /// them.
    pub(super) fn replacing(label: String, old: &[&str], new: &[&str], reach: Reach) -> Self {
        let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        let (old_rest, new_rest) = (&old[head..], &new[head..]);
        let tail =
            old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
        let keep = |text: &&str| Line::new(Mark::Keep, text);
        let mut lines: Vec<Line> = old[..head].iter().map(keep).collect();
        lines.extend(old_rest[..old_rest.len() - tail].iter().map(|text| Line::new(Mark::Remove, text)));
        lines.extend(new_rest[..new_rest.len() - tail].iter().map(|text| Line::new(Mark::Add, text)));
        lines.extend(old_rest[old_rest.len() - tail..].iter().map(keep));
        Self::new(label, lines, reach, Sight::SoFar)
    }

    /// Returns the lines that have to be there.
    pub(super) fn old(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(|line| line.mark != Mark::Add).map(|line| line.text.as_str())
    }

    /// Returns the lines that are there afterwards.
    pub(super) fn new_lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(|line| line.mark != Mark::Remove).map(|line| line.text.as_str())
    }

    pub(super) fn added(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(|line| line.mark == Mark::Add).map(|line| line.text.as_str())
    }

    fn added_bytes(&self) -> usize {
        self.added().map(|text| text.len() + 1).sum()
    }
}

impl Line {
    /// Returns a line; the `\r` of a line end is no part of it.
    pub(super) fn new(mark: Mark, text: &str) -> Self {
        Self { mark, text: text.strip_suffix('\r').unwrap_or(text).to_owned() }
    }
}
