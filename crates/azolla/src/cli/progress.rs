//! One line on a terminal that says how far long work has come. Nothing at all where nobody watches.

use std::io::{BufRead, IsTerminal, Read, Write};

use crate::screen::{cut, plain, terminal_of_stderr};

/// Tells whether somebody watches on a terminal that can replace a line.
pub(crate) fn is_watched() -> bool {
    let is_able = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    std::io::stderr().is_terminal() && is_able
}

/// Replaces the line; nothing leaves it clean for what is printed next. It stays one line, however narrow the terminal: a
/// second one could not be replaced. A terminal that went away is no reason to stop the work.
pub(crate) fn draw(line: &str) {
    const COLUMNS_DEFAULT: usize = 80;
    let most = terminal_of_stderr().unwrap_or(COLUMNS_DEFAULT) - 1;
    let mut out = std::io::stderr();
    let _ = write!(out, "\r\x1b[K{}", cut(&plain(line), most));
    let _ = out.flush();
}

/// Counts bytes and shows them every few megabytes, of how many where that is known.
pub(crate) struct Progress {
    verb: &'static str,
    bytes: u64,
    of: Option<u64>,
    shown: u64,
    watched: bool,
}

const SHOW_EVERY_BYTES: u64 = 4 * 1024 * 1024;

impl Progress {
    pub(crate) fn new(verb: &'static str, of: Option<u64>) -> Self {
        Self { verb, bytes: 0, of, shown: 0, watched: is_watched() }
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        if self.watched && self.bytes - self.shown >= SHOW_EVERY_BYTES {
            self.shown = self.bytes;
            let of = self.of.map_or_else(String::new, |of| format!(" of {}", of.div_ceil(1_000_000)));
            draw(&format!("{} {}{of} MB", self.verb, self.bytes / 1_000_000));
        }
    }
}

impl Drop for Progress {
    /// Leaves the line clean for what is printed next.
    fn drop(&mut self) {
        if self.shown > 0 {
            draw("");
        }
    }
}

/// A reader whose bytes are counted.
pub(crate) struct Watched<R> {
    pub(crate) input: R,
    pub(crate) progress: Progress,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.progress.add(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Watched<R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.input.consume(amount);
        self.progress.add(amount);
    }
}
