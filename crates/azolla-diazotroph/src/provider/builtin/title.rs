//! What a task is called, and how to tell that it is done. Light rules that leave words out and never make any up.

use std::ops::Range;

use super::text::{Word, capital, cut, has_phrase, head, one_line, phrase_at, sentences, uncapital, words};

/// The longest title, and how much of a text tells whether it is a task.
const TITLE_CHARS_MAX: usize = 80;
const START_BYTES_MAX: usize = 400;

/// Where a sentence really begins.
pub(super) struct Start {
    pub(super) begin: usize,
    /// Something before it, or its first word, makes the rest an order.
    pub(super) is_order: bool,
    /// What a label before it calls for.
    label: Option<&'static str>,
}

/// Passes over what is no part of what to do: lead words, labels, signs, and the marks of days and urgency.
pub(super) fn start(words: &[Word<'_>], marks: &[Range<usize>]) -> Start {
    const LABELS: [(&str, &str); 3] =
        [("fix labels", "Fix: "), ("add labels", "Add: "), ("answer labels", "Answer: ")];
    let mut start = Start { begin: 0, is_order: false, label: None };
    let has_mark = words.last().is_some_and(|last| last.raw.ends_with('?'));
    while let Some(word) = words.get(start.begin) {
        let at = start.begin;
        let label = LABELS.iter().find_map(|(list, verb)| Some((phrase_at(words, at, list)?, *verb)));
        // `Should we …?` asks; `could you …?` is an order.
        let order = phrase_at(words, at, "orders").filter(|_| !(has_mark && word.lower == "should"));
        if let Some((end, verb)) = label {
            (start.begin, start.label) = (end, Some(verb));
        } else if let Some(mark) = marks.iter().find(|mark| mark.start == at) {
            start.begin = mark.end;
        } else if let Some(end) = order {
            (start.begin, start.is_order) = (end, true);
        } else if let Some(end) = phrase_at(words, at, "fillers") {
            start.begin = end;
        } else if word.lower.is_empty() {
            start.begin += 1;
        } else {
            break;
        }
    }
    if start.begin >= words.len() {
        return Start { begin: 0, is_order: false, label: None };
    }
    let rest = &words[start.begin..];
    let has_object = rest.get(1).is_some_and(|second| second.is("stop"));
    let is_noun =
        rest[0].is("nouns") && (start.label.is_some() || (!has_object && has_phrase(rest, "problems")));
    start.is_order |= rest[0].is("verbs") && !is_noun;
    start
}

/// Tells whether a text begins by saying what to do.
pub(super) fn starts_task(text: &str) -> bool {
    start(&words(head(text, START_BYTES_MAX)), &[]).is_order
}

/// Tells whether a text is a verb alone.
pub(super) fn is_bare(text: &str) -> bool {
    let words = words(text);
    start(&words, &[]).begin + 1 == words.len()
}

/// What a first sentence comes to.
pub(super) struct Title {
    pub(super) text: String,
    /// It says what to do.
    pub(super) is_order: bool,
    /// It only asks, or only names something.
    pub(super) is_vague: bool,
    /// What makes a criterion of the sentence.
    pub(super) done: &'static str,
}

/// Makes the title from the words of the first sentence, without the marks at its ends.
pub(super) fn title(sentence: &str, note: &str, words: &[Word<'_>], marks: &[Range<usize>]) -> Title {
    let Start { begin, is_order, label } = start(words, marks);
    let is_reason = |at: &usize| words[*at].lower == "because" || is_so_that(words, *at);
    let mut end = (begin + 2..words.len()).find(is_reason).unwrap_or(words.len());
    // `Rent is due on …` is left whole: a sentence needs its end.
    let is_apart = |mark: &&Range<usize>| {
        mark.start > begin && !["is", "are", "was"].contains(&words[mark.start - 1].lower.as_str())
    };
    while let Some(mark) = marks.iter().filter(is_apart).find(|mark| mark.end == end) {
        end = mark.start;
    }
    let kept = &words[begin..end];
    let has_mark = kept.last().is_some_and(|last| last.raw.ends_with('?'));
    let is_question = !is_order && (kept[0].is("asking") || (has_mark && kept[0].is("asking with a mark")));
    let (verb, is_vague) = match label {
        _ if is_order => ("", false),
        Some(verb) => (verb, false),
        None if is_question => ("Answer: ", true),
        None if has_phrase(kept, "problems") => ("Fix: ", false),
        None if has_phrase(kept, "criteria") => ("Ensure: ", false),
        // A fact, and then how it should be.
        None if !criteria(note).is_empty() => ("Fix: ", false),
        None => ("", true),
    };
    let body = sentence[kept[0].at.start..kept[kept.len() - 1].at.end]
        .trim_start_matches(['-', '*', ':', ',', '!', '.', ';']);
    let is_loose = |c: char| " ,;:!-–.🔥".contains(c) || (c == '?' && !is_question);
    let body = one_line(body.trim_end_matches(is_loose));
    let body = if body.contains(char::is_alphanumeric) { body } else { one_line(sentence) };
    let text = if verb.is_empty() { capital(&body) } else { format!("{verb}{}", uncapital(&body, note)) };
    let done = match verb {
        "Fix: " => "Done when this is no longer so",
        "Answer: " => "Done when this is answered",
        _ => "Done when",
    };
    Title { text: cut(&text, TITLE_CHARS_MAX), is_order, is_vague, done }
}

/// Returns what the sentences of a text say about how to tell that it is done.
pub(super) fn criteria(text: &str) -> Vec<String> {
    let criterion = |sentence: &str| {
        let words = words(sentence);
        let label = phrase_at(&words, 0, "criteria labels").filter(|end| words[end - 1].raw.ends_with(':'));
        let so_that = (0..words.len()).find(|at| is_so_that(&words, *at)).map(|at| at + 2);
        let when = words.iter().position(|word| word.lower == "when");
        let is_case = when.is_some_and(|at| words[at..].iter().any(|word| word.lower == "then"));
        let is_said = is_case || has_phrase(&words[start(&words, &[]).begin..], "criteria");
        // What should hold says more with its reason than the reason alone.
        let begin = label.or(is_said.then_some(0)).or(so_that)?;
        Some(point(&sentence[words.get(begin)?.at.start..]))
    };
    sentences(text).into_iter().filter_map(criterion).collect()
}

/// Returns a criterion as one line.
pub(super) fn point(text: &str) -> String {
    capital(one_line(text).trim_end_matches(['.', ';', ',']))
}

fn is_so_that(words: &[Word<'_>], at: usize) -> bool {
    words[at].lower == "so" && words.get(at + 1).is_some_and(|next| next.lower == "that")
}
