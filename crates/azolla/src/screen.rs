//! What reaches a terminal, through one place: text from outside loses everything that a terminal could obey (T22),
//! colour is ours alone, and JSON is one document.

mod diff;
#[cfg(test)]
mod fuzz;
mod pager;
mod table;
mod width;
mod words;

use std::{fmt::Write as _, io::Write as _};

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use self::width::Piece;
pub(crate) use self::{
    table::Table,
    width::{columns, cut, padded, terminal, terminal_of_stderr},
};
pub(crate) use words::{age, ago, day_and_time, duration, quoted, status};

/// A title or a name.
pub(crate) const STRONG: Style = Style::new().bold();
/// What matters less.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// What went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What is worth a look.
pub(crate) const NOTE: Style = AnsiColor::Yellow.on_default();
/// What needs attention.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// What to type.
pub(crate) const TYPE: Style = AnsiColor::Cyan.on_default();
/// Text like any other.
pub(crate) const PLAIN: Style = Style::new();

/// Returns `text` as one line that a terminal shows and does not obey.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { harmless(c) }).collect()
}

/// Returns `text` with its lines kept, and otherwise as [`plain`] does.
pub(crate) fn plain_lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars().map(|c| if c == '\n' || c == '\t' { c } else { harmless(c) }).collect()
}

fn harmless(c: char) -> char {
    if is_obeyed(c) { char::REPLACEMENT_CHARACTER } else { c }
}

/// Tells whether a character steers a terminal or hides what stands there: C0, C1, bidirectional controls, characters
/// without a width, tags.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A page of text, put together first and shown at once.
#[derive(Default)]
pub(crate) struct Page {
    rows: Vec<Row>,
    /// Whether the last row goes on.
    is_open: bool,
}

/// One line of a page.
#[derive(Default)]
struct Row {
    pieces: Vec<Piece>,
    /// Where it goes on, if it does not fit; otherwise a little behind where it begins.
    hang: Option<usize>,
    /// Whether it is left to the terminal what becomes of it, because somebody may copy it.
    is_verbatim: bool,
}

impl Page {
    /// Adds text to the line.
    pub(crate) fn add(&mut self, style: Style, text: &str) -> &mut Self {
        let text = plain(text);
        self.row().pieces.push((style, text));
        self
    }

    /// Lets the line go on below what comes next, if it does not fit.
    pub(crate) fn hang(&mut self) -> &mut Self {
        let row = self.row();
        row.hang = Some(row.pieces.iter().map(|(_, text)| columns(text)).sum());
        self
    }

    /// Ends the line.
    pub(crate) fn end(&mut self) -> &mut Self {
        self.row();
        self.is_open = false;
        self
    }

    /// Adds a whole line.
    pub(crate) fn line(&mut self, style: Style, text: &str) -> &mut Self {
        self.add(style, text).end()
    }

    /// Adds a heading, after an empty line if anything stands above it.
    pub(crate) fn heading(&mut self, text: &str) -> &mut Self {
        if !self.rows.is_empty() {
            self.line(PLAIN, "");
        }
        self.line(STRONG, text)
    }

    /// Adds text of any number of lines, each behind `indent`.
    pub(crate) fn block(&mut self, indent: &str, style: Style, text: &str) -> &mut Self {
        self.lines(indent, style, text, false)
    }

    /// Adds text as [`Page::block`] does, that is shown exactly as it is: a file, a diff, what a program printed.
    pub(crate) fn verbatim(&mut self, indent: &str, style: Style, text: &str) -> &mut Self {
        self.lines(indent, style, text, true)
    }

    fn lines(&mut self, indent: &str, style: Style, text: &str, is_verbatim: bool) -> &mut Self {
        for line in plain_lines(text.trim_end()).lines() {
            let row = self.row();
            row.is_verbatim = is_verbatim;
            // Text goes on where it began; an item of a list below its text.
            let begin = line.find(|c: char| !matches!(c, ' ' | '-' | '*')).unwrap_or(0);
            row.hang = Some(columns(indent) + begin);
            row.pieces.push((PLAIN, indent.to_owned()));
            row.pieces.push((style, line.to_owned()));
            self.end();
        }
        self
    }

    /// Adds a command to type.
    pub(crate) fn command(&mut self, indent: &str, command: &str) -> &mut Self {
        self.add(PLAIN, indent);
        self.row().is_verbatim = true;
        self.line(TYPE, command)
    }

    /// Adds a diff, coloured by line.
    pub(crate) fn diff(&mut self, text: &str) -> &mut Self {
        diff::add(self, text);
        self
    }

    /// Writes the page to stdout, without colour where nobody would see it (NO_COLOR, a pipe).
    pub(crate) fn show(self) -> std::io::Result<()> {
        let mut out = anstream::stdout().lock();
        out.write_all(self.text(terminal()).as_bytes())?;
        out.flush()
    }

    /// Writes the page to stderr, beside data on stdout. That nobody reads it is no failure.
    pub(crate) fn remark(self) {
        let _ = anstream::stderr().write_all(self.text(width::terminal_of_stderr()).as_bytes());
    }

    /// Shows the page in the operator's pager if stdout is a terminal, and else as [`Page::show`] does.
    pub(crate) fn show_paged(self) -> std::io::Result<()> {
        match pager::page(|| self.text(terminal())) {
            pager::Paged::Shown => Ok(()),
            pager::Paged::Not => self.show(),
        }
    }

    fn row(&mut self) -> &mut Row {
        if !self.is_open {
            self.rows.push(Row::default());
            self.is_open = true;
        }
        self.rows.last_mut().expect("one was just put there")
    }

    /// Returns the page, in lines of at most this many columns.
    fn text(&self, columns: Option<usize>) -> String {
        let mut text = String::new();
        for (at, row) in self.rows.iter().enumerate() {
            let lines = match columns {
                Some(columns) if !row.is_verbatim => row.folded(columns),
                _ => vec![row.pieces.clone()],
            };
            for (of_row, line) in lines.iter().enumerate() {
                for (style, piece) in line.iter().filter(|(_, piece)| !piece.is_empty()) {
                    // Writing to a String cannot fail.
                    let _ = write!(text, "{style}{piece}{style:#}");
                }
                let goes_on = self.is_open && at + 1 == self.rows.len() && of_row + 1 == lines.len();
                text.push_str(if goes_on { "" } else { "\n" });
            }
        }
        text
    }
}

impl Row {
    fn folded(&self, columns: usize) -> Vec<Vec<Piece>> {
        let text: String = self.pieces.iter().map(|(_, text)| text.as_str()).collect();
        let indent = text.len() - text.trim_start_matches(' ').len();
        width::folded(&self.pieces, columns, self.hang.unwrap_or(indent + 2))
    }
}

/// Returns a text in lines of at most this many columns; all but the first begin at column `hang`.
pub(crate) fn folded(text: &str, columns: usize, hang: usize) -> String {
    let lines = width::folded(&[(PLAIN, plain(text))], columns, hang);
    let line =
        |line: &Vec<Piece>| line.iter().map(|(_, piece)| piece.as_str()).chain(["\n"]).collect::<String>();
    lines.iter().map(line).collect()
}

/// Lets no pager start from here on: the operator said so, or a long page is a step of a longer command.
pub(crate) fn page_at_once() {
    pager::turn_off();
}

/// Writes the one document of a read with `--json`.
pub(crate) fn show_json(kind: &str, data: Value) -> std::io::Result<()> {
    let document = json!({"schema_version": 1, "kind": kind, "data": data});
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", harmless_json(&document.to_string()))?;
    out.flush()
}

/// Writes one line of data to stdout, such as the id of what was made.
pub(crate) fn show_line(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", plain(text))?;
    out.flush()
}

/// Writes a remark to stderr. That nobody reads it is no failure.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", plain(text));
}

/// Escapes what JSON may carry as it is and a terminal would obey. The document stays the same.
fn harmless_json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_obeyed(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
