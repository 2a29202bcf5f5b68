//! How wide text is on a terminal, and how a line that does not fit goes on: by columns, not by characters, because CJK
//! and emoji take two and combining marks none.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the columns that a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Returns the columns of the terminal that stdout is; none if it is none, and then nothing is cut or folded.
pub(crate) fn terminal() -> Option<usize> {
    of(std::io::stdout())
}

/// Returns the columns of the terminal that stderr is.
pub(crate) fn terminal_of_stderr() -> Option<usize> {
    of(std::io::stderr())
}

fn of(stream: impl std::os::fd::AsFd) -> Option<usize> {
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(stream)?;
    // A terminal that does not say how wide it is says 0; below this nothing could be read anyway.
    (columns >= 10).then_some(columns.into())
}

/// Returns a text that takes at most this many columns, with `…` where it was cut.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        // The whole is measured each time: what is joined to an emoji takes no columns of its own.
        if columns(&kept) > most.saturating_sub(1) {
            kept.pop();
            break;
        }
    }
    format!("{}…", kept.trim_end())
}

/// Returns a text filled up with spaces to this many columns.
pub(crate) fn padded(text: &str, to: usize) -> String {
    format!("{text}{}", " ".repeat(to.saturating_sub(columns(text))))
}

/// A piece of a line, in its style.
pub(super) type Piece = (Style, String);

/// Folds a line at its spaces so that no line is wider than `width`; all but the first begin at column `hang`. A command of
/// ours stays in one piece, so that it can be copied, and so does a word that is wider than the terminal.
pub(super) fn folded(pieces: &[Piece], width: usize, hang: usize) -> Vec<Vec<Piece>> {
    let whole: usize = pieces.iter().map(|(_, text)| columns(text)).sum();
    if whole <= width {
        return vec![pieces.to_vec()];
    }
    // A deep indent leaves no room for text.
    let hang = if hang * 2 > width { 4.min(width / 4) } else { hang };
    let mut lines = vec![Vec::new()];
    let mut column = 0;
    // Where nothing but the indent stands, another line would have no more room. A word may take no column.
    let mut has_word = false;
    for word in words(pieces) {
        let fits = column + word.spaces + word.columns <= width;
        if !fits && has_word {
            lines.push(vec![(Style::new(), " ".repeat(hang))]);
            column = hang;
        } else {
            push(&mut lines, Style::new(), &" ".repeat(word.spaces));
            column += word.spaces;
        }
        column += word.columns;
        has_word = true;
        for (style, text) in word.pieces {
            push(&mut lines, style, &text);
        }
    }
    lines
}

fn push(lines: &mut [Vec<Piece>], style: Style, text: &str) {
    let Some(line) = lines.last_mut().filter(|_| !text.is_empty()) else { return };
    match line.last_mut() {
        Some((last, kept)) if *last == style => kept.push_str(text),
        _ => line.push((style, text.to_owned())),
    }
}

/// What is not parted, with the spaces in front of it.
struct Word {
    spaces: usize,
    columns: usize,
    pieces: Vec<Piece>,
}

fn words(pieces: &[Piece]) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut spaces = 0;
    let mut last = ' ';
    for (style, text) in pieces {
        for c in text.chars() {
            if c == ' ' {
                spaces += 1;
            } else {
                if last == ' ' || parts(last, c) {
                    words.push(Word { spaces, columns: 0, pieces: Vec::new() });
                    spaces = 0;
                }
                let Some(word) = words.last_mut() else { continue };
                match word.pieces.last_mut() {
                    Some((last, kept)) if last == style => kept.push(c),
                    _ => word.pieces.push((*style, c.to_string())),
                }
            }
            last = c;
        }
    }
    for word in &mut words {
        word.columns = word.pieces.iter().map(|(_, text)| columns(text)).sum();
    }
    glued(words)
}

/// Tells whether a line may go on between two characters without a space: Chinese and Japanese have none. What belongs to
/// the character before it stays there: marks, and the parts of an emoji.
fn parts(last: char, next: char) -> bool {
    let is_wide = |c: char| c.width().unwrap_or(0) > 1;
    let is_joined =
        last == '\u{200d}' || next.width().unwrap_or(0) == 0 || matches!(next, '\u{1f3fb}'..='\u{1f3ff}');
    (is_wide(last) || is_wide(next)) && !is_joined
}

/// Joins the words of a command of ours, which ends with its line or at a mark of punctuation.
fn glued(words: Vec<Word>) -> Vec<Word> {
    let mut joined: Vec<Word> = Vec::new();
    let mut in_command = false;
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let text: String = word.pieces.iter().map(|(_, text)| text.as_str()).collect();
        match joined.last_mut().filter(|_| in_command && word.spaces <= 1) {
            Some(command) => {
                let style = command.pieces.last().map_or(Style::new(), |(style, _)| *style);
                command.pieces.push((style, " ".repeat(word.spaces)));
                command.pieces.extend(word.pieces);
                command.columns += word.spaces + word.columns;
            }
            None => {
                // Without a space behind it the name is part of a text.
                in_command = text == "azolla" && words.peek().is_some_and(|next| next.spaces == 1);
                joined.push(word);
            }
        }
        in_command = in_command && !text.ends_with([',', ';', ')', '.']);
    }
    joined
}

#[cfg(test)]
mod tests;
