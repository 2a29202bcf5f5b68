//! A change, file by file: what a reviewer looks at first comes first, and a huge one is shown in parts.

use std::collections::HashMap;

use maud::{Markup, html};

use crate::{
    cli::review::paths::protected_paths,
    dashboard::{
        Ask,
        diff::{
            self, FileDiff, Hunk, Line, Sign,
            intraline::{self, LINE_CHARS_MAX, Left, Piece, is_long},
        },
        part,
    },
};

/// Lines of a page, and those of one file on it. A file that is asked for by itself may have more.
const LINES_MAX: usize = 300;
const FILE_LINES_MAX: usize = 80;
const LINES_ALONE_MAX: usize = 5_000;
/// Bytes of text on a page, and of one file that is asked for by itself.
const BYTES_MAX: usize = 32 * 1024;
const BYTES_ALONE_MAX: usize = 1024 * 1024;
/// Files in the list of a page.
const FILES_MAX: usize = 200;

/// Which part of a change is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// What fits on a page.
    Beginning,
    /// One file, by its number from 1 on.
    File(usize),
}

impl Part {
    /// Reads it from the query.
    pub(super) fn of(ask: &Ask<'_>) -> Self {
        match ask.query("file").and_then(|number| number.parse().ok()) {
            Some(number) if number > 0 => Self::File(number),
            _ => Self::Beginning,
        }
    }
}

/// What may still be shown.
struct Room {
    lines: usize,
    bytes: usize,
    /// And compared inside of lines.
    compared: Left,
}

impl Room {
    fn new(part: Part) -> Self {
        let (lines, bytes) = match part {
            Part::Beginning => (LINES_MAX, BYTES_MAX),
            Part::File(_) => (LINES_ALONE_MAX, BYTES_ALONE_MAX),
        };
        Self { lines, bytes, compared: Left::default() }
    }
}

/// Shows a change. `path` is that of the page, for links to a part of it, and `all` the command that shows all of it.
pub(super) fn view(content: &str, path: &str, part: Part, all: &str) -> Markup {
    let files = diff::read(content);
    if files.is_empty() {
        return html! { @if content.trim().is_empty() { p { "There is no change." } } @else { (part::beginning(content, all)) } };
    }
    let names: Vec<String> = files.iter().map(|file| file.path().to_owned()).collect();
    // There may be as many of them as there are files: each is looked up, never searched for.
    let protected: HashMap<&str, &'static str> = protected_paths(&names).into_iter().collect();
    let why = |file: &FileDiff<'_>| protected.get(file.path()).copied();
    // By their number in the change, so that a link to one stays the same whatever comes first.
    let mut order: Vec<(usize, &FileDiff<'_>)> = (1..).zip(&files).collect();
    order.sort_by_key(|(_, file)| why(file).is_none());
    let mut room = Room::new(part);
    let asked = order.iter().filter(|(number, _)| part == Part::Beginning || part == Part::File(*number));
    // A file that there is no room left for is in the list alone, which leads to it.
    let mut shown: Vec<(usize, Markup)> = Vec::new();
    for (number, file) in asked.take(FILES_MAX) {
        if file.lines() == 0 || (room.lines > 0 && room.bytes > LINE_CHARS_MAX) {
            let about = About { number: *number, why: why(file), path, part, all };
            shown.push((*number, file_view(&about, file, &mut room)));
        }
    }
    let is_here = |number: usize| shown.iter().any(|(here, _)| *here == number);
    html! {
        (list(&order, path, &why, &is_here, all))
        @if let Part::File(number) = part {
            p { "One file of " (part::counted(files.len(), "file", "files")) ". " a href={ (path) "#change" } { "Show the whole change" } }
            @if number > files.len() { p { "The change has no file with this number." } }
        }
        @for (_, file) in &shown { (file) }
        @if part == Part::Beginning && shown.len() < files.len() {
            p { (part::counted(files.len() - shown.len(), "more file", "more files")) ": the list above leads to each." }
        }
    }
}

/// The files with their counts; each leads to its part of the page.
fn list(
    order: &[(usize, &FileDiff<'_>)],
    path: &str,
    why: &dyn Fn(&FileDiff<'_>) -> Option<&'static str>,
    is_here: &dyn Fn(usize) -> bool,
    all: &str,
) -> Markup {
    let (added, removed): (usize, usize) =
        (order.iter().map(|(_, file)| file.added).sum(), order.iter().map(|(_, file)| file.removed).sum());
    html! {
        p.faint { (part::counted(order.len(), "file", "files")) ", " (counts(added, removed)) }
        @if order.len() > 1 {
            ul.files {
                @for (number, file) in order.iter().take(FILES_MAX) {
                    @let here = if is_here(*number) { format!("#file-{number}") } else { format!("{path}?file={number}#change") };
                    li {
                        a href=(here) { (part::words(file.path())) }
                        (counts(file.added, file.removed))
                        @if let Some(why) = why(file) { span.first-look { (why) } }
                    }
                }
                @if order.len() > FILES_MAX { li.faint { "and " (order.len() - FILES_MAX) " more: " (part::command(all)) } }
            }
        }
    }
}

fn counts(added: usize, removed: usize) -> Markup {
    html! { span.counts { span.plus { "+" (added) } " " span.minus { "−" (removed) } } }
}

/// What is said about a file, and where.
struct About<'a> {
    number: usize,
    /// Why it is looked at first, if it is.
    why: Option<&'static str>,
    path: &'a str,
    part: Part,
    all: &'a str,
}

fn file_view(about: &About<'_>, file: &FileDiff<'_>, room: &mut Room) -> Markup {
    let About { number, why, path, part, all } = *about;
    let most = if part == Part::Beginning { FILE_LINES_MAX.min(room.lines) } else { room.lines };
    let mut left = most;
    let mut shown = Vec::new();
    for hunk in &file.hunks {
        let mut lines = 0;
        for line in &hunk.lines {
            if left == 0 || room.bytes < line.text.len().min(LINE_CHARS_MAX) {
                break;
            }
            (left, lines) = (left - 1, lines + 1);
            // What a line costs besides its text.
            room.bytes = room.bytes.saturating_sub(line.text.len().min(LINE_CHARS_MAX) + 20);
        }
        if lines > 0 {
            shown.push((hunk, lines));
        }
        if lines < hunk.lines.len() {
            break;
        }
    }
    let drawn = most - left;
    room.lines -= drawn;
    let rest = file.lines() - drawn;
    html! {
        details.file id={ "file-" (number) } data-keep=(part::words(file.path())) open[drawn > 0 || file.lines() == 0] {
            summary {
                span.path { (part::words(file.path())) }
                @if file.word() != "changed" { span.fact { (file.word()) } }
                @for remark in &file.remarks { span.fact { (part::words(remark)) } }
                (counts(file.added, file.removed))
                @if let Some(why) = why { span.first-look { (why) } }
            }
            @if file.hunks.is_empty() { p.faint { (nothing(file)) } }
            @else {
                @if drawn > 0 {
                    div.lines-box tabindex="0" role="region" aria-label={ "Change of " (part::words(file.path())) } {
                        table.diff { @for (at, (hunk, lines)) in shown.iter().enumerate() { (hunk_view(hunk, *lines, at == 0, &mut room.compared)) } }
                    }
                }
                @if rest > 0 {
                    p.rest {
                        @match part {
                            Part::Beginning => a href={ (path) "?file=" (number) "#change" } { "Show " (part::counted(rest, "more line", "more lines")) },
                            Part::File(_) => { (part::counted(rest, "more line is", "more lines are")) " not shown here: " (part::command(all)) },
                        }
                    }
                }
            }
        }
    }
}

/// Says why there are no lines.
fn nothing(file: &FileDiff<'_>) -> &'static str {
    match (file.remarks.is_empty(), file.word()) {
        (true, "new" | "removed") => "The file is empty.",
        (false, "new" | "removed") => "It has no lines that can be shown.",
        _ => "No line changed.",
    }
}

fn hunk_view(hunk: &Hunk<'_>, lines: usize, is_first: bool, compared: &mut Left) -> Markup {
    let lines = &hunk.lines[..lines];
    html! {
        tbody {
            @if !hunk.place.is_empty() {
                tr.place { td colspan="3" { (part::words(&cut(hunk.place))) } }
            } @else if !is_first {
                tr.place { td colspan="3" { "⋯" } }
            }
            @for (line, pieces) in lines.iter().zip(intraline::pieces(lines, compared)) { (line_view(line, &pieces)) }
        }
    }
}

fn line_view(line: &Line<'_>, pieces: &[Piece<'_>]) -> Markup {
    let (class, sign) = match line.sign {
        Sign::Same => (None, " "),
        Sign::Added => (Some("add"), "+"),
        Sign::Removed => (Some("del"), "-"),
    };
    html! {
        tr class=[class] {
            td data-n=[line.old] {}
            td data-n=[line.new] {}
            td {
                (sign)
                @if is_long(line.text) { (shown(&cut(line.text))) span.fact { "cut" } }
                @else {
                    @for piece in pieces {
                        @if piece.differs { mark { (shown(piece.text)) } } @else { (shown(piece.text)) }
                    }
                }
                @if line.is_unended { span.fact { "no end of line" } }
            }
        }
    }
}

/// A line of a file, whose tabs stay what they are.
fn shown(text: &str) -> String {
    crate::screen::plain_lines(text)
}

fn cut(text: &str) -> String {
    text.chars().take(LINE_CHARS_MAX).collect()
}
