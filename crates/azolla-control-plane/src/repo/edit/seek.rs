//! Where a chunk belongs: by its old lines, which have to be in the file at exactly one place.
//!
//! The ladder, each step only if the one before finds nothing: the lines exactly, then but for blanks at line ends, then
//! but for one indentation. On each step the place that the answer states is tried first, then the only place there is.
//! A search looks only where the rarest of its lines is, and all comparisons of an answer together are counted: beyond
//! [`STEPS_MAX`] it is refused (T12, T32).

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
};

use super::{
    Chunk, Reach, Sight,
    document::{Document, Place},
    nearest,
};
use crate::repo::refusal::{Refusal, visible};

/// Comparisons of lines that the matching of one answer may take.
pub(super) const STEPS_MAX: u64 = 20_000_000;
/// Places that a refusal names.
const SHOWN: usize = 5;

/// How many comparisons are left.
#[derive(Debug)]
pub(super) struct Steps(u64);

/// Where a chunk belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// The place before its first line, and the place of its first line, if it has any.
    pub(super) before: Place,
    pub(super) fit: Fit,
}

/// How its old lines fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// As whole lines; those that come get this indentation.
    Lines(Shift),
    /// From this byte of the first line to this byte of the last.
    Part(usize, usize),
}

/// What the file's lines are indented more or less.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Shift {
    #[default]
    None,
    More(Vec<u8>),
    Less(Vec<u8>),
}

/// Why a chunk has no place.
#[derive(Debug)]
pub(super) enum Lost {
    /// Its lines are not there.
    Missing,
    /// It has several, or nothing says which.
    Unclear(String),
    /// Nothing more is tried.
    Steps(Refusal),
}

/// What is known about the lines of one document that chunks ask for.
#[derive(Debug)]
pub(super) struct Seeker {
    /// The lines that chunks have, by step.
    asked: HashMap<Step, HashSet<u64>>,
    found: HashMap<Step, HashMap<u64, Vec<u32>>>,
    /// Places from here on were made by the edit that is being applied.
    made_from: Place,
    numbers: Numbers,
}

/// Whether line numbers of an answer are those of the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// They are: this is the first edit of the file.
    OfBase,
    /// They may be those of the text after an edit before.
    Unknown,
}

/// A step of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Exact,
    Part,
    LineEnds,
    Indentation,
}

impl Steps {
    pub(super) fn new() -> Self {
        Self(STEPS_MAX)
    }

    pub(super) fn take(&mut self, steps: usize) -> Result<(), Refusal> {
        self.0 = self.0.checked_sub(steps as u64).ok_or_else(|| {
            Refusal::whole(format!(
                "finding the places of the answer takes more than {STEPS_MAX} comparisons"
            ))
        })?;
        Ok(())
    }
}

impl From<Refusal> for Lost {
    fn from(refusal: Refusal) -> Self {
        Self::Steps(refusal)
    }
}

impl Lost {
    /// Returns what an operator is told.
    pub(super) fn told(self, document: &Document<'_>, chunk: &Chunk) -> String {
        match self {
            Self::Missing => {
                let old: Vec<&[u8]> = chunk.old().map(str::as_bytes).collect();
                format!("{} is not in the file{}", chunk.label, nearest::line(document, &old))
            }
            Self::Unclear(reason) => reason,
            Self::Steps(refusal) => refusal.to_string(),
        }
    }
}

impl Seeker {
    /// Returns a seeker for chunks of one edit.
    pub(super) fn new<'c>(
        document: &Document<'_>,
        numbers: Numbers,
        chunks: impl Iterator<Item = &'c Chunk>,
    ) -> Self {
        let mut asked: HashMap<Step, HashSet<u64>> = HashMap::new();
        for chunk in chunks {
            for step in steps(chunk.reach) {
                let keys = chunk.old().map(|line| key(*step, line.as_bytes()));
                asked.entry(*step).or_default().extend(keys);
            }
        }
        Self { asked, found: HashMap::new(), made_from: document.len(), numbers }
    }

    /// Returns where a chunk belongs.
    pub(super) fn find(
        &mut self,
        document: &Document<'_>,
        chunk: &Chunk,
        budget: &mut Steps,
    ) -> Result<Spot, Lost> {
        let old: Vec<&[u8]> = chunk.old().map(str::as_bytes).collect();
        if old.is_empty() {
            return self.find_insertion(document, chunk, budget);
        }
        let line = chunk.line.filter(|_| self.numbers == Numbers::OfBase);
        let sights: &[bool] = match chunk.sight {
            Sight::Before => &[true, false],
            Sight::SoFar => &[false],
        };
        for only_before in sights {
            for step in steps(chunk.reach) {
                let mut spots = match step {
                    Step::Part => parts(document, &old, budget)?,
                    step => self.matches(document, *step, &old, budget)?,
                };
                if *only_before {
                    spots.retain(|(place, _)| self.is_before(document, *place, old.len()));
                }
                if let Some(spot) = choose(document, chunk, line, spots, budget)? {
                    return Ok(spot);
                }
            }
        }
        Err(Lost::Missing)
    }

    /// Takes note of a line that came.
    pub(super) fn note(&mut self, document: &Document<'_>, place: Place) {
        for (step, lists) in &mut self.found {
            let key = key(*step, document.text(place));
            if self.asked.get(step).is_some_and(|asked| asked.contains(&key)) {
                lists.entry(key).or_default().push(place as u32);
            }
        }
    }

    /// Finds where lines are put that stand beside none that is there.
    fn find_insertion(
        &mut self,
        document: &Document<'_>,
        chunk: &Chunk,
        budget: &mut Steps,
    ) -> Result<Spot, Lost> {
        let spot = |before| Spot { before, fit: Fit::Lines(Shift::None) };
        if let Some(before) = anchor(document, chunk, budget)? {
            return Ok(spot(before));
        }
        if document.is_empty() || chunk.is_last {
            return Ok(spot(document.before(0)));
        }
        Err(Lost::Unclear(format!("{} has only lines to add, and nothing that says where", chunk.label)))
    }

    /// Returns every place at which the lines are, in the order of the file.
    fn matches(
        &mut self,
        document: &Document<'_>,
        step: Step,
        old: &[&[u8]],
        budget: &mut Steps,
    ) -> Result<Vec<(Place, Fit)>, Refusal> {
        if !self.found.contains_key(&step) {
            budget.take(document.len())?;
            let lists = list(document, step, &self.asked[&step]);
            self.found.insert(step, lists);
        }
        let lists = &self.found[&step];
        let places = |line: &[u8]| lists.get(&key(step, line)).map_or(&[][..], Vec::as_slice);
        let (rarest, places) = old
            .iter()
            .enumerate()
            .map(|(n, line)| (n, places(line)))
            .min_by_key(|(_, places)| places.len())
            .expect("a chunk that is searched has old lines");
        let mut found = Vec::new();
        for place in places.iter().map(|place| *place as usize) {
            if !document.is_there(place) {
                budget.take(1)?;
                continue;
            }
            let (first, steps) = back(document, place, rarest);
            budget.take(steps)?;
            let Some(first) = first else { continue };
            let (shift, steps) = compare(document, step, first, old);
            budget.take(steps)?;
            found.extend(shift.map(|shift| (first, Fit::Lines(shift))));
        }
        Ok(found)
    }

    fn is_before(&self, document: &Document<'_>, first: Place, count: usize) -> bool {
        let places = std::iter::successors(Some(first), |place| Some(document.after(*place)));
        places.take(count).all(|place| place < self.made_from)
    }
}

fn steps(reach: Reach) -> &'static [Step] {
    match reach {
        Reach::LineEnds => &[Step::Exact, Step::LineEnds],
        Reach::Indentation => &[Step::Exact, Step::LineEnds, Step::Indentation],
        Reach::PartOfLine => &[Step::Exact, Step::Part, Step::LineEnds, Step::Indentation],
    }
}

/// Takes one of the places: the one that is stated, the only one, or the first after the anchors.
fn choose(
    document: &Document<'_>,
    chunk: &Chunk,
    line: Option<Place>,
    mut found: Vec<(Place, Fit)>,
    budget: &mut Steps,
) -> Result<Option<Spot>, Lost> {
    let spot = |(place, fit): (Place, Fit)| Spot { before: document.before(place), fit };
    let stated = line.and_then(|line| found.iter().position(|(place, _)| *place == line));
    if let Some(n) = stated {
        return Ok(Some(spot(found.swap_remove(n))));
    }
    if found.len() > 1 && chunk.is_last {
        let count = chunk.old().count();
        budget.take(found.len() * count)?;
        let ends = |place| (0..count).fold(place, |place, _| document.after(place)) == 0;
        if let Some(n) = found.iter().position(|(place, _)| ends(*place)) {
            return Ok(Some(spot(found.swap_remove(n))));
        }
    }
    if found.len() > 1
        && let Some(anchor) = anchor(document, chunk, budget)?
    {
        budget.take(document.len())?;
        let behind = std::iter::successors(Some(anchor), |place| Some(document.after(*place)));
        let mut behind = behind.take_while(|place| *place != 0);
        let first: HashMap<Place, usize> =
            found.iter().enumerate().map(|(n, (place, _))| (*place, n)).collect();
        if let Some(n) = behind.find_map(|place| first.get(&place).copied()) {
            return Ok(Some(spot(found.swap_remove(n))));
        }
    }
    match found.len() {
        0 => Ok(None),
        1 => Ok(found.pop().map(spot)),
        n => {
            let label = &chunk.label;
            Err(Lost::Unclear(format!("{label} matches {n} places: lines {}", numbers(document, &found))))
        }
    }
}

/// Returns the numbers of the first lines at which a chunk could be.
fn numbers(document: &Document<'_>, found: &[(Place, Fit)]) -> String {
    let mut times: HashMap<Place, usize> = HashMap::new();
    for (place, _) in found {
        *times.entry(*place).or_default() += 1;
    }
    let lines = document.places().filter_map(|place| Some((place, *times.get(&place)?)));
    let lines = lines.flat_map(|(place, times)| std::iter::repeat_n(place, times)).take(SHOWN);
    let shown: Vec<String> = lines.map(|place| document.number(place).to_string()).collect();
    let more = if found.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// Returns the place of the innermost anchor; none if the chunk has no anchors.
fn anchor(document: &Document<'_>, chunk: &Chunk, budget: &mut Steps) -> Result<Option<Place>, Lost> {
    let mut at = None;
    for anchor in &chunk.anchors {
        budget.take(document.len())?;
        let text = anchor.trim().as_bytes();
        let from = at.unwrap_or(0);
        let places: Vec<Place> =
            std::iter::successors(Some(document.after(from)), |place| Some(document.after(*place)))
                .take_while(|place| *place != 0)
                .collect();
        let whole = places.iter().filter(|place| document.text(**place).trim_ascii() == text);
        let mut found: Vec<Place> = whole.copied().collect();
        if found.is_empty() {
            let begun = places.iter().filter(|place| document.text(**place).trim_ascii().starts_with(text));
            found = begun.copied().collect();
        }
        let lost =
            |why: &str| Lost::Unclear(format!("{}: its anchor {} {why}", chunk.label, visible(anchor)));
        match found[..] {
            [] => return Err(lost("is not in the file")),
            [place] => at = Some(place),
            // Inside an outer one, the first is meant.
            [place, ..] if at.is_some() => at = Some(place),
            _ => return Err(lost("is in the file more than once")),
        }
    }
    Ok(at)
}

/// Returns the place `count` lines before this one, and how far it went.
fn back(document: &Document<'_>, place: Place, count: usize) -> (Option<Place>, usize) {
    let mut at = place;
    for n in 0..count {
        at = document.before(at);
        if at == 0 {
            return (None, n + 1);
        }
    }
    (Some(at), count)
}

/// Returns how the lines from a place on differ from the old ones in indentation, if in nothing else, and what the
/// comparison took.
fn compare(document: &Document<'_>, step: Step, first: Place, old: &[&[u8]]) -> (Option<Shift>, usize) {
    let mut at = first;
    let (mut shift, mut steps) = (None, 0);
    for line in old {
        if at == 0 {
            return (None, steps + 1);
        }
        let text = document.text(at);
        // Long lines are no way around the count.
        steps += 1 + text.len().min(line.len()) / 64;
        let is_same = match step {
            Step::Exact | Step::Part => text == *line,
            Step::LineEnds => text.trim_ascii_end() == line.trim_ascii_end(),
            Step::Indentation => is_shifted(text, line, &mut shift),
        };
        if !is_same {
            return (None, steps);
        }
        at = document.after(at);
    }
    (Some(shift.unwrap_or_default()), steps)
}

/// Tells whether a line is the same but for the indentation that the lines before it had more or less.
fn is_shifted(text: &[u8], line: &[u8], shift: &mut Option<Shift>) -> bool {
    if text.trim_ascii() != line.trim_ascii() {
        return false;
    }
    if text.trim_ascii().is_empty() {
        return true;
    }
    let indent = |line: &[u8]| line[..line.len() - line.trim_ascii_start().len()].to_vec();
    let (has, says) = (indent(text), indent(line));
    let this = if let Some(more) = has.strip_suffix(says.as_slice()) {
        if more.is_empty() { Shift::None } else { Shift::More(more.to_vec()) }
    } else if let Some(less) = says.strip_suffix(has.as_slice()) {
        Shift::Less(less.to_vec())
    } else {
        return false;
    };
    *shift.get_or_insert_with(|| this.clone()) == this
}

impl Shift {
    /// Returns a line that comes, indented like the lines around it; none if it has less than is taken away.
    pub(super) fn apply<'a>(&self, line: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if line.trim_ascii().is_empty() {
            return Some(Cow::Borrowed(line));
        }
        match self {
            Self::None => Some(Cow::Borrowed(line)),
            Self::More(more) => Some(Cow::Owned([more.as_slice(), line].concat())),
            Self::Less(less) => line.strip_prefix(less.as_slice()).map(Cow::Borrowed),
        }
    }
}

/// Returns every place at which a text is inside lines.
fn parts(document: &Document<'_>, old: &[&[u8]], budget: &mut Steps) -> Result<Vec<(Place, Fit)>, Refusal> {
    let mut found = Vec::new();
    for place in document.places() {
        let text = document.text(place);
        budget.take(1 + text.len() / 64)?;
        match old {
            [one] => {
                let (Ok(text), Ok(one)) = (std::str::from_utf8(text), std::str::from_utf8(one)) else {
                    continue;
                };
                let spots = text.match_indices(one);
                found.extend(spots.map(|(at, one)| (place, Fit::Part(at, at + one.len()))));
            }
            [first, middle @ .., last] if text.ends_with(first) => {
                let mut at = document.after(place);
                let is_same = middle.iter().all(|line| {
                    let is_same = at != 0 && document.text(at) == *line;
                    at = document.after(at);
                    is_same
                });
                budget.take(middle.len())?;
                if is_same && at != 0 && document.text(at).starts_with(last) {
                    found.push((place, Fit::Part(text.len() - first.len(), last.len())));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Returns the places of the lines that are asked for.
fn list(document: &Document<'_>, step: Step, asked: &HashSet<u64>) -> HashMap<u64, Vec<u32>> {
    let mut lists: HashMap<u64, Vec<u32>> = HashMap::new();
    for place in document.places() {
        let key = key(step, document.text(place));
        if asked.contains(&key) {
            lists.entry(key).or_default().push(place as u32);
        }
    }
    lists
}

/// Returns a number that lines have in common which are the same on a step.
fn key(step: Step, line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    match step {
        Step::Exact | Step::Part => line.hash(&mut hasher),
        Step::LineEnds => line.trim_ascii_end().hash(&mut hasher),
        Step::Indentation => line.trim_ascii().hash(&mut hasher),
    }
    hasher.finish()
}
