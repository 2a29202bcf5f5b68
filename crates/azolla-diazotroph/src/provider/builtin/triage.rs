//! Triage: the tasks of all notes of a batch, what is the same once, and every note accounted for.

use std::collections::{HashMap, HashSet};

use azolla_protocol::{
    AzollaType,
    content::{ASKED_AGAIN, Candidate, Confidence, NoAction, TriageContent, TriageInput},
};
use jiff::civil::Date;

use super::{
    alike::About,
    note::{self, Item},
    place::{Places, is_code},
    text::{cut, has_phrase, head, one_line, sentences, words},
    title::{self, Title},
    when::{self, When},
};

/// What an answer can hold.
const CANDIDATES_MAX: usize = 100;
const CRITERIA_CHARS_MAX: usize = 19_000;
const AMBIGUITIES_MAX: usize = 20;
const NOTES_CHARS_MAX: usize = 5_000;

/// How much of one task is read, how much of it is quoted, and the longest criterion.
const READ_BYTES_MAX: usize = 16 * 1024;
const QUOTE_CHARS_MAX: usize = 200;
const POINT_CHARS_MAX: usize = 500;

/// A task, and the notes that name it, by their place in the batch.
struct Entry {
    item: Item,
    captures: Vec<usize>,
}

/// Returns the candidates of a batch, and the notes that need nothing.
pub(super) fn triage(input: &TriageInput) -> TriageContent {
    let (mut no_action, mut entries) = (Vec::new(), Vec::new());
    let mut notes = Vec::new();
    let mut known = HashMap::new();
    for (at, capture) in input.captures.iter().enumerate() {
        let capture_id = capture.capture_id.clone();
        if capture.bytes_left_out > 0 {
            notes.push(format!(
                "{capture_id} goes on for {} bytes that were not read.",
                capture.bytes_left_out
            ));
        }
        match note::read(&capture.text) {
            Ok(items) => items.into_iter().for_each(|item| add(&mut entries, &mut known, item, at)),
            Err(reason) if capture.source_label.starts_with(ASKED_AGAIN) => {
                notes.push(format!("{capture_id} was asked for again. {reason}"));
                add(&mut entries, &mut known, note::as_it_is(&capture.text), at);
            }
            Err(reason) => no_action.push(NoAction { capture_id, reason: reason.to_owned() }),
        }
    }
    let mut drafts: Vec<Draft> = Vec::new();
    for entry in folded(entries, input, &mut notes) {
        let draft = Draft::new(entry, input);
        match drafts.iter_mut().find(|other| other.is_same(&draft)) {
            Some(same) => same.take(draft),
            None => drafts.push(draft),
        }
    }
    let places = Places::new(&input.azollas);
    let candidates: Vec<Candidate> =
        drafts.into_iter().map(|draft| draft.candidate(input, &places)).collect();
    let vague = candidates.iter().filter(|candidate| candidate.confidence == Confidence::Low).count();
    if vague > 0 {
        notes.push(format!("{vague} of {} candidates do not say what to do.", candidates.len()));
    }
    TriageContent { candidates, no_action, notes: cut(&notes.join(" "), NOTES_CHARS_MAX) }
}

/// Adds a task, or its note to the one that says the same in the same words.
fn add(entries: &mut Vec<Entry>, known: &mut HashMap<String, usize>, item: Item, capture: usize) {
    let key = words(&item.text).into_iter().map(|word| word.lower).collect::<Vec<_>>().join(" ");
    let at = *known.entry(key).or_insert(entries.len());
    match entries.get_mut(at) {
        Some(entry) => {
            entry.captures.extend((!entry.captures.contains(&capture)).then_some(capture));
            entry.item.points.extend(item.points);
        }
        None => entries.push(Entry { item, captures: vec![capture] }),
    }
}

/// Keeps to the most candidates: what a long list has beyond its share goes into the last of its tasks, as points.
fn folded(entries: Vec<Entry>, input: &TriageInput, notes: &mut Vec<String>) -> Vec<Entry> {
    let mut sizes = vec![0_usize; input.captures.len()];
    entries.iter().for_each(|entry| sizes[entry.captures[0]] += 1);
    let fits = |share: &usize| sizes.iter().map(|size| size.min(share)).sum::<usize>() <= CANDIDATES_MAX;
    let share = (1..=CANDIDATES_MAX).rev().find(fits).unwrap_or(1);
    let mut kept: Vec<Entry> = Vec::new();
    // Of every note: how many were kept, and which the last.
    let mut taken = vec![(0_usize, 0_usize); sizes.len()];
    for entry in entries {
        let (count, last) = &mut taken[entry.captures[0]];
        *count += 1;
        if *count <= share {
            *last = kept.len();
            kept.push(entry);
            continue;
        }
        let into = &mut kept[*last];
        into.item.points.push(entry.item.text);
        let others: Vec<usize> =
            entry.captures.into_iter().filter(|other| !into.captures.contains(other)).collect();
        into.captures.extend(others);
    }
    for (capture, size) in input.captures.iter().zip(sizes).filter(|(_, size)| *size > share) {
        let (id, rest) = (&capture.capture_id, size - share);
        notes.push(format!("{id} lists {size} tasks; the last {rest} of them are points of the one before."));
    }
    kept
}

/// A task with all that its words tell.
struct Draft {
    entry: Entry,
    title: Title,
    about: About,
    criteria: Vec<String>,
    when: When,
    quotes: Vec<String>,
}

impl Draft {
    fn new(entry: Entry, input: &TriageInput) -> Self {
        let item = &entry.item;
        let (text, context) = (head(&item.text, READ_BYTES_MAX), one_line(&item.context));
        let today = input.captures[entry.captures[0]].created_at.to_string();
        let today: Date = today[..10].parse().expect("a timestamp begins with a day");
        let read = |sentence: &str, is_order: bool| {
            let words = words(sentence);
            let is_order = is_order || title::start(&words, &[]).is_order;
            when::read(&words, today, is_order, has_phrase(&words, "problems"))
        };
        let all = sentences(text);
        let first = words(all[0]);
        let mut when = read(all[0], false);
        let title = title::title(all[0], &format!("{text}\n{}", item.context), &first, &when.marks);
        let about = About::new(&first, &when.marks, title::start(&first, &when.marks).begin);
        all[1..].iter().for_each(|sentence| when.take(read(sentence, false)));
        sentences(&item.context).into_iter().for_each(|sentence| when.take(read(sentence, true)));
        let mut criteria: Vec<String> = item.points.iter().map(|point| title::point(point)).collect();
        criteria.extend(title::criteria(text));
        criteria.retain(|line| line.contains(char::is_alphanumeric));
        let above =
            if context.is_empty() { context } else { format!("{}: ", context.trim_end_matches([':', '.'])) };
        let quote = cut(&format!("{above}{}", one_line(text)), QUOTE_CHARS_MAX);
        Self { title, about, criteria, when, quotes: vec![quote], entry }
    }

    /// Tells whether another is the same in other words. Tasks of one note were written side by side on purpose.
    fn is_same(&self, other: &Self) -> bool {
        let is_one_note = other.entry.captures.iter().any(|capture| self.entry.captures.contains(capture));
        !is_one_note && self.about.is_like(&other.about)
    }

    fn take(&mut self, other: Self) {
        if other.title.is_order && !self.title.is_order {
            self.title = other.title;
        }
        self.entry.captures.extend(other.entry.captures);
        self.entry.item.text += &format!("\n{}", other.entry.item.text);
        self.entry.item.code += &other.entry.item.code;
        self.criteria.extend(other.criteria);
        self.quotes.extend(other.quotes);
        self.when.take(other.when);
    }

    fn candidate(mut self, input: &TriageInput, places: &Places<'_>) -> Candidate {
        let Entry { item, captures } = &self.entry;
        let text = head(&item.text, READ_BYTES_MAX);
        let is_told = !self.criteria.is_empty();
        if !is_told {
            self.criteria.push(format!("{}: {}", self.title.done, one_line(sentences(text)[0])));
        }
        let code = head(&item.code, READ_BYTES_MAX);
        let inside = format!("{text}\n{code}\n{}", head(&item.points.join("\n"), READ_BYTES_MAX));
        let (inside, around) = (words(&inside), words(&item.context));
        let named = Some(places.find(&inside)).filter(|named| !named.is_empty());
        let named = named.unwrap_or_else(|| places.find(&around));
        let azolla = if let [one] = named.as_slice() { Some(*one) } else { None };
        let is_code = !code.is_empty() || is_code(&inside);
        let is_patch = is_code || azolla.is_some_and(|azolla| azolla.azolla_type == AzollaType::CodePatch);
        let ids: Vec<&str> = named.iter().map(|azolla| azolla.azolla_id.as_str()).collect();
        let doubts = [
            (self.title.is_vague, "The note does not say what to do.".to_owned()),
            (!is_told, "The note does not say how to tell that it is done.".to_owned()),
            (ids.len() > 1, format!("It can belong to {}.", ids.join(" or "))),
            (
                is_code && ids.is_empty(),
                "It is about code, and names no repository that is known here.".to_owned(),
            ),
        ];
        let doubts = doubts.into_iter().filter(|(applies, _)| *applies).map(|(_, doubt)| doubt);
        let mut ambiguities: Vec<String> = self.when.unclear.into_iter().chain(doubts).collect();
        ambiguities.dedup();
        Candidate {
            title: self.title.text,
            acceptance_criteria: lines(&self.criteria),
            rationale: rationale(&self.quotes),
            capture_ids: captures.iter().map(|at| input.captures[*at].capture_id.clone()).collect(),
            suggested_target_azolla_type: is_patch.then_some(AzollaType::CodePatch),
            suggested_azolla_id: azolla.map(|azolla| azolla.azolla_id.clone()),
            urgency: self.when.urgency,
            importance: self.when.importance,
            due: self.when.due.map(|due| due.to_string()),
            confidence: match (self.title.is_vague, is_told && self.title.is_order) {
                (true, _) => Confidence::Low,
                (false, true) => Confidence::High,
                (false, false) => Confidence::Medium,
            },
            ambiguities: ambiguities
                .iter()
                .map(|doubt| cut(doubt, POINT_CHARS_MAX))
                .take(AMBIGUITIES_MAX)
                .collect(),
        }
    }
}

/// Returns criteria one to a line, each once, as many as there is room for.
fn lines(criteria: &[String]) -> String {
    let mut seen = HashSet::new();
    let (mut text, mut left_out) = (String::new(), 0_usize);
    let mut room = CRITERIA_CHARS_MAX;
    for line in criteria.iter().filter(|line| seen.insert(*line)) {
        let line = cut(line, POINT_CHARS_MAX);
        match room.checked_sub(line.chars().count() + 1) {
            Some(rest) => (room, text) = (rest, text + &line + "\n"),
            None => left_out += 1,
        }
    }
    if left_out > 0 {
        format!("{text}… and {left_out} more in the note")
    } else {
        text.trim_end().to_owned()
    }
}

fn rationale(quotes: &[String]) -> String {
    let shown: Vec<String> = quotes.iter().take(3).map(|quote| format!("\"{quote}\"")).collect();
    match quotes.len() {
        1 => format!("The note says: {}", shown[0]),
        n => format!("{n} notes say it: {}{}", shown.join("; "), if n > 3 { "; …" } else { "" }),
    }
}

/// Counts work, so that a test can tell how it grows with the input; nothing else does anything with it.
#[cfg(not(test))]
pub(super) fn step(_work: usize) {}

#[cfg(test)]
pub(super) use super::tests::step;
