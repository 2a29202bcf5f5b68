//! Days, urgency and importance out of words, relative to the day of the note. Days are of UTC, like all times of the
//! store.

use std::ops::Range;

use jiff::{ToSpan, civil::Date};

use super::text::{Word, phrase_at, phrases};

/// What words say about when.
#[derive(Debug, Default)]
pub(super) struct When {
    pub(super) due: Option<Date>,
    pub(super) urgency: Option<u8>,
    pub(super) importance: Option<u8>,
    /// The words that say so and nothing else: a title is better without them.
    pub(super) marks: Vec<Range<usize>>,
    pub(super) unclear: Vec<String>,
}

impl When {
    /// Adds what other words about the same say: the first day and the highest level count.
    pub(super) fn take(&mut self, other: Self) {
        if self.due.is_some() && other.due.is_some() && self.due != other.due {
            self.unclear.push("Several days are named; the first of them is taken.".to_owned());
        }
        self.due = self.due.into_iter().chain(other.due).min();
        self.urgency = self.urgency.into_iter().chain(other.urgency).min();
        self.importance = self.importance.into_iter().chain(other.importance).min();
        self.unclear.extend(other.unclear);
    }
}

/// Reads a sentence of a note from a day. After an order, a day at its end is the day to do it.
pub(super) fn read(words: &[Word<'_>], today: Date, is_order: bool, is_problem: bool) -> When {
    let mut when = When::default();
    let mut at = 0;
    while at < words.len() {
        let Some((date, end)) = date_at(words, at, today) else {
            at += 1;
            continue;
        };
        let start = deadline_start(words, at);
        let before = &words[start..at];
        let is_by = before.iter().any(|word| word.is("by"));
        let is_last = end == words.len() || words[end - 1].raw.ends_with([',', '.', ';', '!', ')', ':']);
        if is_by || (is_order && (is_last || start < at)) || (start == 0 && !is_problem) {
            let is_before =
                before.iter().any(|word| matches!(word.lower.as_str(), "before" | "vor" | "avant"));
            let due = if is_before { date.yesterday().unwrap_or(date) } else { date };
            when.take(When { due: Some(due), ..When::default() });
            when.marks.push(start..end);
        }
        at = end;
    }
    when.urgency = level(words, "urgency ", &mut when.marks);
    when.importance = level(words, "importance ", &mut when.marks);
    if let Some(due) = when.due {
        when.unclear.extend((due < today).then(|| "The day that is named has passed.".to_owned()));
        let soon = match today.until(due).map_or(0, |span| span.get_days()) {
            ..=0 => 0,
            1..=6 => 1,
            7..=13 => 2,
            _ => 3,
        };
        when.urgency = when.urgency.or(Some(soon));
    }
    when
}

/// Returns the highest level that a phrase stands for. What tells of a state, such as an outage, is no mere mark.
fn level(words: &[Word<'_>], name: &str, marks: &mut Vec<Range<usize>>) -> Option<u8> {
    let mut found: Option<u8> = None;
    let mut at = 0;
    while at < words.len() {
        let levels = phrases(words, at).filter_map(|(list, end)| Some((end, list.strip_prefix(name)?)));
        // `not urgent` is longer than `urgent`, which is in it.
        let Some((end, list)) = levels.max_by_key(|(end, _)| *end) else {
            at += 1;
            continue;
        };
        let level = list.trim_end_matches(" state").trim().parse().ok();
        found = found.into_iter().chain(level).min();
        marks.extend((!list.ends_with("state")).then_some(at..end));
        at = end;
    }
    found
}

/// Returns where a deadline begins whose day is at a word: at `by`, `due on the` and the like.
fn deadline_start(words: &[Word<'_>], at: usize) -> usize {
    let mut start = at;
    for begin in (at.saturating_sub(4)..at).rev() {
        if words[begin].is("by") || words[begin].is("on") {
            start = begin;
        } else if !words[begin].is("between") {
            break;
        }
    }
    start
}

/// Returns the day that words name, and where they end.
fn date_at(words: &[Word<'_>], at: usize, today: Date) -> Option<(Date, usize)> {
    let weekday = i64::from(today.weekday().to_monday_zero_offset());
    let plus = |days: i64| today.checked_add(days.days()).ok();
    let relative = |list: &str| match list {
        "today" => Some(today),
        "tomorrow" => plus(1),
        "overmorrow" => plus(2),
        "end of month" => Some(today.last_of_month()),
        "end of year" => Some(today.last_of_year()),
        "end of week" => plus((4 - weekday).rem_euclid(7)),
        _ => None,
    };
    let found = phrases(words, at).find_map(|(list, end)| Some((relative(list)?, end)));
    if found.is_some() {
        return found;
    }
    if let Some(number) = phrase_at(words, at, "within") {
        let (count, unit) = (words.get(number)?, words.get(number + 1)?);
        let count =
            count.number("number ").or_else(|| count.lower.parse().ok().filter(|count| *count < 1_000))?;
        let days = unit.number("unit ")?;
        let date = if days == 30 { today.checked_add(count.months()).ok()? } else { plus(count * days)? };
        return Some((date, number + 2));
    }
    let is_next = matches!(words[at].lower.as_str(), "next" | "nächsten");
    let name = words.get(at + usize::from(is_next))?;
    if let Some(day) = name.number("day ") {
        // `mon`, `sat` and the like are days only after a word that asks for one.
        let is_asked = at > 0 && (words[at - 1].is("by") || words[at - 1].is("on"));
        // The next one is the one of the next week.
        let ahead = if is_next { 7 - weekday + day } else { (day - weekday - 1).rem_euclid(7) + 1 };
        let is_clear = is_asked || name.lower.chars().count() > 4;
        return is_clear.then_some((plus(ahead)?, at + 1 + usize::from(is_next)));
    }
    written_at(words, at, today)
}

/// Returns a day written as `2026-12-01`, `1.12.2026`, `Dec 3`, `December 3rd 2026`, `3 December` or `3rd of December`.
fn written_at(words: &[Word<'_>], at: usize, today: Date) -> Option<(Date, usize)> {
    let number =
        |word: &Word<'_>| word.lower.trim_end_matches(['s', 't', 'n', 'd', 'r', 'h']).parse::<i8>().ok();
    let month = |word: &Word<'_>| i8::try_from(word.number("month ")?).ok();
    let parts: Vec<&str> = words[at].lower.split(['-', '.']).collect();
    if let [first, month, last] = parts.as_slice() {
        let (year, day) = if first.len() == 4 { (first, last) } else { (last, first) };
        let year = year.parse().ok().filter(|_| year.len() == 4)?;
        return Some((Date::new(year, month.parse().ok()?, day.parse().ok()?).ok()?, at + 1));
    }
    let of = usize::from(words.get(at + 1).is_some_and(|word| word.lower == "of"));
    let pairs = [(words.get(at), words.get(at + 1), 2), (words.get(at + 1 + of), words.get(at), 2 + of)];
    pairs.into_iter().find_map(|(first, second, length)| {
        let (month, day) = (month(first?)?, number(second?)?);
        let year = words
            .get(at + length)
            .and_then(|word| word.lower.parse().ok().filter(|year| (2000..3000).contains(year)));
        let coming = || {
            let this = Date::new(today.year(), month, day).ok().filter(|date| *date >= today);
            this.or_else(|| Date::new(today.year().checked_add(1)?, month, day).ok())
        };
        let date = year.map_or_else(coming, |year| Date::new(year, month, day).ok())?;
        Some((date, at + length + usize::from(year.is_some())))
    })
}
