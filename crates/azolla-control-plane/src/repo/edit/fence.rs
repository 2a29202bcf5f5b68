//! Fences of Markdown: where a block begins and ends.

use crate::repo::patch::Lines;

/// The line that opens a fenced block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    mark: char,
    length: usize,
    /// Blanks before it, which the lines of the block have too.
    pub(super) indent: usize,
    /// What follows the fence.
    pub(super) info: &'a str,
}

/// What is between two fences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    pub(super) text: &'a str,
    /// Whether a fence closes it; otherwise it goes to the end of the text.
    pub(super) is_closed: bool,
}

impl<'a> Fence<'a> {
    /// Reads a line that opens a block.
    pub(super) fn open(line: &'a str) -> Option<Self> {
        let rest = line.trim_start_matches(' ');
        let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let info = rest.trim_start_matches(mark);
        let length = rest.len() - info.len();
        // Three backticks around a word in a sentence open nothing.
        let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
        is_fence.then(|| Self { mark, length, indent: line.len() - rest.len(), info: info.trim() })
    }

    /// Tells whether a line closes the block. One that is indented more is content.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        Fence::open(line).is_some_and(|other| {
            other.mark == self.mark
                && other.length >= self.length
                && other.info.is_empty()
                && other.indent <= self.indent
        })
    }

    /// Returns the language that the block says it is in.
    pub(super) fn language(&self) -> &'a str {
        self.info.split([' ', '\t', ':', '{', ',']).next().unwrap_or_default()
    }

    /// Reads to the end of the block. In a document of Markdown a fence with a language opens a block inside it.
    pub(super) fn block(&self, lines: &mut Lines<'a>, is_markdown: bool) -> Block<'a> {
        let begin = lines.rest();
        let mut depth = 0_usize;
        loop {
            let end = lines.rest();
            let Some(line) = lines.next() else { return Block { text: begin, is_closed: false } };
            if self.is_closed_by(line) {
                match depth.checked_sub(1) {
                    Some(less) => depth = less,
                    None => return Block { text: &begin[..begin.len() - end.len()], is_closed: true },
                }
            } else if is_markdown && self.opens_another(line) {
                depth += 1;
            }
        }
    }

    /// Returns the fence as it is once those blanks are gone.
    pub(super) fn at_margin(self) -> Self {
        Self { indent: 0, ..self }
    }

    /// Returns a text without the blanks that its lines have before them only because the fence has.
    pub(super) fn dedent(&self, text: &str) -> String {
        let mut dedented = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let blanks = line.bytes().take(self.indent).take_while(|byte| *byte == b' ').count();
            dedented.push_str(&line[blanks..]);
        }
        dedented
    }

    fn opens_another(&self, line: &str) -> bool {
        Fence::open(line).is_some_and(|other| {
            other.mark == self.mark && other.length >= self.length && !other.info.is_empty()
        })
    }
}
