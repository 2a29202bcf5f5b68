//! The text of a file while it is changed: a list of lines in which places stay what they are while others change.
//!
//! Every line keeps the end that it has in the file; a line that comes gets that of its neighbours (T14).

use std::borrow::Cow;

/// Which line: those of the base are numbered from 1 as in the file; 0 is the place before the first and after the last.
pub(super) type Place = usize;

/// A text in lines.
#[derive(Clone, Debug)]
pub(super) struct Document<'a> {
    nodes: Vec<Node<'a>>,
    /// How many lines there were in the beginning.
    originals: usize,
    has_final_newline: bool,
}

#[derive(Clone, Debug)]
struct Node<'a> {
    text: Cow<'a, [u8]>,
    end: End,
    before: u32,
    after: u32,
    is_there: bool,
}

/// How a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Lf,
    CrLf,
}

/// Lines that a document may have.
pub(super) const LINES_MAX: usize = 1_000_000;

impl<'a> Document<'a> {
    /// Returns a text in lines; none if it has more of them than may be.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let mut nodes =
            vec![Node { text: Cow::Borrowed(b""), end: End::Lf, before: 0, after: 0, is_there: true }];
        let mut end = End::Lf;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if nodes.len() > LINES_MAX {
                return None;
            }
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let text = if text.len() < line.len() {
                let bare = text.strip_suffix(b"\r");
                end = if bare.is_some() { End::CrLf } else { End::Lf };
                bare.unwrap_or(text)
            } else {
                // The last line, without an end: if it gets one, then that of the line before it.
                text
            };
            let n = nodes.len() as u32;
            nodes.push(Node { text: Cow::Borrowed(text), end, before: n - 1, after: n + 1, is_there: true });
        }
        let last = nodes.len() - 1;
        nodes[last].after = 0;
        (nodes[0].before, nodes[0].after) = (last as u32, u32::from(last > 0));
        let has_final_newline = bytes.is_empty() || bytes.ends_with(b"\n");
        Some(Self { nodes, originals: last, has_final_newline })
    }

    /// Returns the same, holding on to nothing else.
    pub(super) fn into_owned(self) -> Document<'static> {
        let owned = |node: Node<'a>| {
            let Node { text, end, before, after, is_there } = node;
            Node { text: Cow::Owned(text.into_owned()), end, before, after, is_there }
        };
        Document {
            nodes: self.nodes.into_iter().map(owned).collect(),
            originals: self.originals,
            has_final_newline: self.has_final_newline,
        }
    }

    /// Returns the text.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for place in self.places() {
            bytes.extend_from_slice(&self.nodes[place].text);
            if self.after(place) != 0 || self.has_final_newline {
                bytes.extend_from_slice(match self.nodes[place].end {
                    End::Lf => b"\n",
                    End::CrLf => b"\r\n",
                });
            }
        }
        bytes
    }

    /// Returns the places from the first to the last.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        std::iter::successors(Some(self.after(0)), |place| Some(self.after(*place)))
            .take_while(|place| *place != 0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.after(0) == 0
    }

    /// Returns how many places there ever were, that before the first included.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn text(&self, place: Place) -> &[u8] {
        &self.nodes[place].text
    }

    pub(super) fn after(&self, place: Place) -> Place {
        self.nodes[place].after as usize
    }

    pub(super) fn before(&self, place: Place) -> Place {
        self.nodes[place].before as usize
    }

    /// Tells whether the line of a place is in the text now.
    pub(super) fn is_there(&self, place: Place) -> bool {
        place != 0 && self.nodes.get(place).is_some_and(|node| node.is_there)
    }

    /// Returns the number of a line: that of the base if it was there, else that of now.
    pub(super) fn number(&self, place: Place) -> usize {
        if place <= self.originals {
            return place;
        }
        self.places().position(|other| other == place).map_or(0, |n| n + 1)
    }

    /// Returns how a line that comes after this place ends.
    pub(super) fn end_at(&self, place: Place) -> End {
        let neighbour = if place == 0 { self.after(0) } else { place };
        self.nodes[neighbour].end
    }

    /// Takes a line out.
    pub(super) fn remove(&mut self, place: Place) {
        let (before, after) = (self.nodes[place].before, self.nodes[place].after);
        self.nodes[before as usize].after = after;
        self.nodes[after as usize].before = before;
        self.nodes[place].is_there = false;
    }

    /// Puts a line after a place and returns its own.
    pub(super) fn insert(&mut self, before: Place, text: Cow<'a, [u8]>, end: End) -> Place {
        let after = self.nodes[before].after;
        let place = self.nodes.len();
        self.nodes.push(Node { text, end, before: before as u32, after, is_there: true });
        self.nodes[before].after = place as u32;
        self.nodes[after as usize].before = place as u32;
        place
    }

    pub(super) fn set_final_newline(&mut self, has: bool) {
        self.has_final_newline = has;
    }
}
