//! One note, taken apart: its tasks, or why it has none. Code, quoted mail and stack traces are never taken apart, and
//! prose with one subject stays one task.

use super::{
    text::{has_phrase, head, phrase_at, words},
    title::{is_bare, starts_task},
};
use crate::said::sanitised;

/// Something to do, as far as it was written down.
#[derive(Clone, Debug, Default)]
pub(super) struct Item {
    /// What it says, sentence by sentence.
    pub(super) text: String,
    /// What has to hold, point by point.
    pub(super) points: Vec<String>,
    /// What stands over or below it and concerns it too.
    pub(super) context: String,
    /// Code or a stack trace that goes with it.
    pub(super) code: String,
}

/// Longer headings are sentences, longer paragraphs are no tasks among others, and longer contexts are not kept.
const HEADING_BYTES_MAX: usize = 70;
const PARAGRAPH_BYTES_MAX: usize = 300;
const CONTEXT_BYTES_MAX: usize = 600;

/// Paragraphs, line by line, and the points that follow them, each with how far in it stands.
#[derive(Default)]
struct Section {
    heading: String,
    paragraphs: Vec<Vec<String>>,
    points: Vec<(usize, String)>,
}

/// Returns the tasks of a note, or the reason why there is nothing to do.
pub(super) fn read(raw: &str) -> Result<Vec<Item>, &'static str> {
    let clean = sanitised(raw);
    let odd = raw.chars().filter(|c| *c == '\u{fffd}' || (c.is_control() && !c.is_whitespace())).count();
    let start = words(head(&clean, PARAGRAPH_BYTES_MAX));
    let is_polite = clean.len() < PARAGRAPH_BYTES_MAX
        && start.iter().all(|word| word.lower.is_empty() || word.is("nothing"));
    let is_marked = start.first().is_some_and(|first| first.lower == "fyi")
        && !starts_task(&clean)
        && !has_phrase(&start, "problems");
    let reasons = [
        (odd * 3 > raw.chars().count(), "The text cannot be read: much of it is no text."),
        (clean.trim().is_empty(), "The note is empty."),
        (!clean.contains(char::is_alphanumeric), "The note has no words."),
        (
            clean.split_whitespace().all(|word| word.contains("://")),
            "A link alone: nothing says what to do with it.",
        ),
        (is_polite, "It thanks or agrees, and asks for nothing."),
        (is_marked, "It is marked as information and asks for nothing."),
    ];
    if let Some((_, reason)) = reasons.into_iter().find(|(applies, _)| *applies) {
        return Err(reason);
    }
    let Read { sections, code, has_ticked } = sections(&clean);
    let mut items = tasks(sections);
    items.retain(|item| item.text.contains(char::is_alphanumeric));
    match items.as_mut_slice() {
        [] if has_ticked => return Err("Every box of the list is ticked."),
        // Code or a quotation alone: what it is about, its first line tells.
        [] => items.push(Item { text: clean.trim().to_owned(), code, ..Item::default() }),
        [one] => one.code = code,
        _ => {}
    }
    Ok(items)
}

/// Returns the one task that is left of a note that has none: to look at it.
pub(super) fn as_it_is(raw: &str) -> Item {
    let clean = sanitised(raw);
    let clean = clean.trim();
    let text = match clean.contains(char::is_alphanumeric) {
        true => clean.to_owned(),
        false => "Look at the note".to_owned(),
    };
    Item { text, ..Item::default() }
}

struct Read {
    sections: Vec<Section>,
    code: String,
    has_ticked: bool,
}

/// Sorts the lines into sections.
fn sections(text: &str) -> Read {
    let is_quoted = |line: &str| line.trim_start().starts_with('>');
    let is_all_quoted = text.lines().all(|line| line.trim().is_empty() || is_quoted(line));
    let mut read = Read { sections: vec![Section::default()], code: String::new(), has_ticked: false };
    let (mut fence, mut is_trace, mut is_new) = (None, false, true);
    for line in mail(text) {
        let line = if is_all_quoted { line.trim_start_matches(['>', ' ']) } else { line };
        let trimmed = line.trim();
        let section = read.sections.last_mut().expect("there is always one");
        if trimmed.is_empty() && fence.is_none() {
            (is_new, is_trace) = (true, false);
            continue;
        }
        let opened = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        if fence.is_some() || opened.is_some() || is_trace || is_stamped(trimmed) || is_machine_made(trimmed)
        {
            // The first line of a trace says what happened, where nothing else does.
            if fence.or(opened).is_none() && !is_trace && section.paragraphs.is_empty() {
                section.paragraphs.push(vec![trimmed.to_owned()]);
            }
            // A trace goes on to the next empty line; a line of a log is one.
            is_trace = fence.or(opened).is_none() && (is_trace || !is_stamped(trimmed));
            fence = if fence.is_some() && fence == opened { None } else { fence.or(opened) };
            read.code += &format!("{trimmed}\n");
        } else if is_quoted(line) || (trimmed.len() > 2 && trimmed.chars().all(|c| "-*_= ".contains(c))) {
            is_new = true;
        } else if trimmed.starts_with('#') && trimmed.trim_start_matches('#').starts_with(' ') {
            let heading = head(trimmed.trim_start_matches(['#', ' ']), CONTEXT_BYTES_MAX).to_owned();
            read.sections.push(Section { heading, ..Section::default() });
        } else if let Some((indent, is_ticked, text)) = point(line) {
            read.has_ticked |= is_ticked;
            section.points.extend((!is_ticked).then(|| (indent, text.to_owned())));
            is_new = false;
        } else if let Some(last) =
            section.points.last_mut().filter(|_| !is_new && line.starts_with([' ', '\t']))
        {
            join(&mut last.1, trimmed);
        } else if !section.points.is_empty() {
            read.sections.push(Section { paragraphs: vec![vec![trimmed.to_owned()]], ..Section::default() });
            is_new = false;
        } else {
            match section.paragraphs.last_mut().filter(|_| !is_new) {
                Some(paragraph) => paragraph.push(trimmed.to_owned()),
                None => section.paragraphs.push(vec![trimmed.to_owned()]),
            }
            is_new = false;
        }
    }
    read
}

/// Returns the tasks of all sections.
fn tasks(sections: Vec<Section>) -> Vec<Item> {
    let size: usize = sections.iter().map(|section| section.paragraphs.len() + section.points.len()).sum();
    let mut items: Vec<Item> = Vec::new();
    // Where the last list of tasks began: what stands below it concerns all of them.
    let mut list_from = None;
    for mut section in sections {
        section.paragraphs.retain(|lines| size < 2 || !is_polite(lines));
        if !section.points.is_empty() {
            let before = items.len();
            list_from = listed(section, &mut items).then_some(before);
            continue;
        }
        let is_own = section.paragraphs.first().is_some_and(|lines| starts_task(&lines[0]));
        let found = prose(&section);
        match (list_from.take(), items.last_mut()) {
            (Some(from), Some(_)) if !is_own => {
                let context = found.first().map_or("", |item| head(&item.text, CONTEXT_BYTES_MAX));
                super::triage::step(items.len() - from);
                items[from..].iter_mut().for_each(|item| join(&mut item.context, context));
            }
            (None, Some(last)) if !is_own && section.heading.is_empty() => {
                found.iter().for_each(|item| join(&mut last.text, &item.text));
            }
            _ => items.extend(found),
        }
    }
    items
}

/// Adds the tasks of a section with points, and tells whether the points are tasks of their own.
fn listed(mut section: Section, items: &mut Vec<Item>) -> bool {
    let points = nested(std::mem::take(&mut section.points));
    let lead = section.paragraphs.last().and_then(|lines| lines.last()).unwrap_or(&section.heading).clone();
    let lead_words = words(head(&lead, CONTEXT_BYTES_MAX));
    let all_tasks = points.iter().all(|point| starts_task(&point.text));
    let is_steps = phrase_at(&lead_words, 0, "step headings").is_some();
    let is_detail = is_steps || phrase_at(&lead_words, 0, "detail headings").is_some();
    let is_order = starts_task(&lead) && !(all_tasks && lead_words[0].is("nouns"));
    let is_short = lead.len() <= HEADING_BYTES_MAX && !lead.ends_with(['.', '!']);
    let is_heading = is_short && !is_order && !is_detail && !has_phrase(&lead_words, "problems");
    // A verb alone belongs to every point below it.
    let verb = lead.strip_suffix(':').filter(|verb| is_order && is_short && is_bare(verb));
    if verb.is_none() && !is_heading && (is_order || is_detail || !all_tasks) {
        let found: Vec<String> =
            points.into_iter().flat_map(|point| std::iter::once(point.text).chain(point.points)).collect();
        let (points, context) =
            if is_steps { (Vec::new(), found.join("\n")) } else { (found, String::new()) };
        // A heading such as `Steps to reproduce` is no task: it goes on with the one before.
        if !is_detail || items.is_empty() {
            let mut whole = Item::default();
            prose(&section).iter().for_each(|item| join(&mut whole.text, &item.text));
            items.push(whole);
        }
        if let Some(last) = items.last_mut() {
            last.points.extend(points);
            join(&mut last.context, head(&context, CONTEXT_BYTES_MAX));
        }
        return false;
    }
    if let Some(lines) = section.paragraphs.last_mut().filter(|_| is_heading || verb.is_some()) {
        lines.pop();
    }
    section.paragraphs.retain(|lines| !lines.is_empty());
    let mut context = section.heading.clone();
    for above in prose(&section) {
        let is_own = starts_task(&above.text) || has_phrase(&words(&above.text), "problems");
        if is_own { items.push(above) } else { join(&mut context, &above.text) }
    }
    if verb.is_none() && lead != section.heading {
        join(&mut context, &lead);
    }
    let context = head(&context, CONTEXT_BYTES_MAX);
    items.extend(points.into_iter().map(|point| Item {
        text: verb.map_or_else(|| point.text.clone(), |verb| format!("{verb} {}", point.text)),
        context: context.to_owned(),
        ..point
    }));
    true
}

/// Returns the tasks among paragraphs: one, unless every paragraph, line or part begins as a task.
fn prose(section: &Section) -> Vec<Item> {
    let mut texts = Vec::new();
    let mut are_tasks = true;
    for lines in &section.paragraphs {
        let mut whole = String::new();
        lines.iter().for_each(|line| join(&mut whole, line));
        are_tasks &= whole.len() <= PARAGRAPH_BYTES_MAX && starts_task(&whole);
        texts.push(whole);
    }
    if texts.len() == 1 || are_tasks {
        texts =
            section.paragraphs.iter().zip(texts).flat_map(|(lines, whole)| pieces(lines, whole)).collect();
    } else {
        texts = vec![texts.join("\n")];
    }
    let item = |text| Item { text, context: section.heading.clone(), ..Item::default() };
    texts.into_iter().filter(|text| !text.is_empty()).map(item).collect()
}

fn pieces(lines: &[String], whole: String) -> Vec<String> {
    let parts = |parts: Vec<&str>| {
        let are_tasks = parts.iter().all(|part| part.len() <= PARAGRAPH_BYTES_MAX && starts_task(part));
        (parts.len() > 1 && are_tasks).then(|| parts.into_iter().map(str::to_owned).collect())
    };
    let by_line = parts(lines.iter().map(String::as_str).collect());
    by_line.or_else(|| parts(whole.split("; ").collect())).unwrap_or_else(|| vec![whole.clone()])
}

/// Makes points of points: what is further in belongs to the one above.
fn nested(points: Vec<(usize, String)>) -> Vec<Item> {
    let outer = points.iter().map(|(indent, _)| *indent).min().unwrap_or(0);
    let mut items: Vec<Item> = Vec::new();
    for (indent, text) in points {
        match items.last_mut().filter(|_| indent > outer + 1) {
            Some(last) => last.points.push(text),
            None => items.push(Item { text, ..Item::default() }),
        }
    }
    items
}

/// Adds a line: to the same sentence where it goes on in lower case, else as another one.
fn join(text: &mut String, line: &str) {
    let goes_on = line.starts_with(char::is_lowercase) && !text.ends_with([':', '.', '!', '?']);
    if !text.is_empty() && !line.is_empty() {
        text.push(if goes_on { ' ' } else { '\n' });
    }
    text.push_str(line);
}

/// Reads a point of a list: how far in it stands, whether it is ticked, and its text.
fn point(line: &str) -> Option<(usize, bool, &str)> {
    const MARKS: [&str; 8] = ["-", "*", "•", "–", "—", "◦", "☐", "☑"];
    const BOXES: [&str; 4] = ["[ ]", "[]", "[x]", "[X]"];
    let text = line.trim_start();
    let indent = line[..line.len() - text.len()].chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[digits..].strip_prefix(['.', ')']).filter(|_| (1..=3).contains(&digits));
    let marked = number.or_else(|| MARKS.iter().find_map(|mark| text.strip_prefix(mark)));
    let rest = marked.filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t'])).map(str::trim);
    let boxed = BOXES.iter().find_map(|mark| Some((*mark, rest.unwrap_or(text).strip_prefix(mark)?)));
    let is_ticked = text.starts_with('☑') || boxed.is_some_and(|(mark, _)| mark.eq_ignore_ascii_case("[x]"));
    Some((indent, is_ticked, boxed.map(|(_, text)| text.trim()).or(rest)?))
}

/// Tells whether a line begins a stack trace or a diff.
fn is_machine_made(line: &str) -> bool {
    const STARTS: [&str; 7] = [
        "Traceback (most recent",
        "File \"",
        "diff --git ",
        "--- a/",
        "@@ ",
        "Caused by:",
        "stack backtrace:",
    ];
    let is_call = line.starts_with("at ") && line.ends_with(')');
    is_call || line.contains("' panicked at ") || STARTS.iter().any(|start| line.starts_with(start))
}

/// Tells whether a line begins with a time, as in a log.
fn is_stamped(line: &str) -> bool {
    let is_stamp =
        |stamp: &[u8; 14]| stamp[..4].iter().all(u8::is_ascii_digit) && stamp[4] == b'-' && stamp[13] == b':';
    line.as_bytes().first_chunk().is_some_and(is_stamp)
}

/// Tells whether a paragraph only greets or takes leave.
fn is_polite(lines: &[String]) -> bool {
    let text = lines.join(" ");
    let words = words(head(&text, PARAGRAPH_BYTES_MAX));
    let is = |list, most| words.len() <= most && phrase_at(&words, 0, list).is_some();
    is("greetings", 4) || is("closings", 6)
}

/// Returns the lines of a note; of a mail, its subject and what comes after the other headers.
fn mail(text: &str) -> impl Iterator<Item = &str> {
    const HEADERS: [&str; 7] = ["subject", "betreff", "from", "to", "cc", "date", "sent"];
    let header = |line: &str, of: &[&str]| {
        line.split_once(':')
            .is_some_and(|(name, _)| of.iter().any(|header| header.eq_ignore_ascii_case(name.trim())))
    };
    let headers = text.lines().take_while(|line| header(line, &HEADERS)).count();
    let subject = text.lines().take(headers).find(|line| header(line, &HEADERS[..2]));
    let subject = subject.map(|mut line| {
        while let Some((_, rest)) = line
            .split_once(':')
            .filter(|_| header(line, &["subject", "betreff", "re", "fwd", "fw", "aw", "wg"]))
        {
            line = rest.trim();
        }
        line
    });
    let skipped = if subject.is_some() { headers } else { 0 };
    subject.into_iter().chain(text.lines().skip(skipped))
}
