//! What reaches a terminal, through one place: text from outside loses everything that a terminal could obey (T22),
//! colour is ours alone, and JSON is one document.

mod diff;
mod pager;
mod words;

use std::{fmt::Write as _, io::Write as _};

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

pub(crate) use words::{age, ago, day_and_time, duration, status};

/// A title or a name.
pub(crate) const STRONG: Style = Style::new().bold();
/// What matters less.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// What went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
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
    text: String,
}

impl Page {
    /// Adds text to the line.
    pub(crate) fn add(&mut self, style: Style, text: &str) -> &mut Self {
        // Writing to a String cannot fail.
        let _ = write!(self.text, "{style}{}{style:#}", plain(text));
        self
    }

    /// Ends the line.
    pub(crate) fn end(&mut self) -> &mut Self {
        self.text.push('\n');
        self
    }

    /// Adds a whole line.
    pub(crate) fn line(&mut self, style: Style, text: &str) -> &mut Self {
        self.add(style, text).end()
    }

    /// Adds a heading, after an empty line if anything stands above it.
    pub(crate) fn heading(&mut self, text: &str) -> &mut Self {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.line(STRONG, text)
    }

    /// Adds text of any number of lines, each behind `indent`.
    pub(crate) fn block(&mut self, indent: &str, style: Style, text: &str) -> &mut Self {
        for line in plain_lines(text.trim_end()).lines() {
            let _ = writeln!(self.text, "{indent}{style}{line}{style:#}");
        }
        self
    }

    /// Adds a command to type.
    pub(crate) fn command(&mut self, indent: &str, command: &str) -> &mut Self {
        self.text.push_str(indent);
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
        out.write_all(self.text.as_bytes())?;
        out.flush()
    }

    /// Writes the page to stderr, beside data on stdout. That nobody reads it is no failure.
    pub(crate) fn remark(self) {
        let _ = anstream::stderr().write_all(self.text.as_bytes());
    }

    /// Shows the page in the operator's pager if stdout is a terminal, and else as [`Page::show`] does.
    pub(crate) fn show_paged(self) -> std::io::Result<()> {
        match pager::page(&self.text) {
            pager::Paged::Shown => Ok(()),
            pager::Paged::Not => self.show(),
        }
    }
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
