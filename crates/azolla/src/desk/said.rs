//! The desk in sentences, for every page that shows it.

use azolla_protocol::{AzollaId, JournalEntry, ObjectiveStatus, Timestamp, limits};

use super::{
    Look,
    content::{Content, Desk},
    notes::Notes,
    spending::{Held, NextStep},
};
use crate::{
    deployment::Deployment,
    line,
    screen::{ago, cut},
};

/// Something that waits.
pub(crate) struct Remark {
    /// What, and why.
    pub(crate) text: String,
    /// What the operator can do about it, if anything.
    pub(crate) next: Option<NextStep>,
}

/// What happened since the last look.
pub(crate) struct Changes {
    /// How long ago that was.
    pub(crate) looked: Option<String>,
    /// What is left out, if anything is.
    pub(crate) earlier: Option<String>,
    /// When, and what.
    pub(crate) lines: Vec<(Timestamp, String)>,
}

/// Returns what waits over all desks, and why, with the one thing to do about it.
pub(crate) fn waiting(deployment: &Deployment, look: &Look) -> Vec<Remark> {
    let Look { desks, spending } = look;
    let review_limit = deployment.config.limits.get(&limits::REVIEW_LIMIT);
    let mut lines = Vec::new();
    for (desk, content) in contents(desks) {
        let approved = content.with_status(ObjectiveStatus::Todo).count();
        let idle = content.runs.iter().filter(|run| !run.live).count();
        let busy = content.runs.len() - idle;
        let (waiting, id) = (content.stream.waiting, &desk.azolla_id);
        if approved > 0 && review_limit > 0 && waiting + content.stream.open >= review_limit && waiting > 0 {
            let results = match waiting {
                1 => "1 result waits".to_owned(),
                _ => format!("{waiting} results wait"),
            };
            let text = format!(
                "{id}: {approved} approved, held back: {results} for you and the limit is {review_limit}"
            );
            lines.push(Remark { text, next: None });
        } else if let (1.., Some(held)) = (approved + idle, spending.held(id)) {
            let text = format!("{id}: {} ready to run, held back {}", approved + idle, held.until_and_why());
            lines.push(Remark { text, next: Some(held.action(deployment)) });
        } else if approved + idle > 0 && busy == 0 {
            let text = format!("{id}: {} ready to run", approved + idle);
            lines.push(Remark { text, next: Some(NextStep::Type("azolla run --until-idle".to_owned())) });
        } else if approved > 0 {
            lines.push(Remark { text: format!("{id}: {approved} approved, next in line"), next: None });
        }
        if let Some(notes) = &content.notes {
            add_notes(&mut lines, id, notes, content, review_limit, spending.held(id));
        }
    }
    lines
}

fn add_notes(
    lines: &mut Vec<Remark>,
    id: &AzollaId,
    notes: &Notes,
    content: &Content,
    review_limit: u64,
    held: Option<&Held>,
) {
    let untried = notes.pending.saturating_sub(notes.held);
    let waiting = match untried {
        1 => "1 note to triage".to_owned(),
        _ => format!("{untried} notes to triage"),
    };
    match (untried, held) {
        (0, _) => {}
        _ if review_limit > 0 && content.stream.waiting >= review_limit => {
            lines.push(Remark {
                text: format!("{id}: {waiting}, held back until candidates are settled"),
                next: None,
            });
        }
        (_, Some(held)) => lines.push(Remark {
            text: format!("{id}: {waiting}, held back {}", held.until_and_why()),
            next: None,
        }),
        (_, None) => {
            let command = NextStep::Type("azolla triage --now".to_owned());
            lines.push(Remark { text: format!("{id}: {waiting}"), next: Some(command) });
        }
    }
    for remark in &notes.remarks {
        lines.push(Remark { text: format!("{id}: at the last orientation: {remark}"), next: None });
    }
}

/// Columns of a title behind what happened to it.
const TITLE_COLUMNS_MAX: usize = 100;

/// Returns what happened since the last look, the newest `lines_max` of it; none if nothing did.
pub(crate) fn changes(desks: &[Desk], lines_max: usize) -> Option<Changes> {
    let mut changes: Vec<(Timestamp, Change<'_>)> = Vec::new();
    for (_, content) in contents(desks) {
        let azolla_type = content.azolla_type;
        let entries = content.since.entries.iter();
        let (notes, others): (Vec<_>, Vec<_>) = entries.partition(|entry| line::is_new_note(entry));
        let (nothing, others): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|entry| line::needed_nothing(entry));
        changes.extend(others.into_iter().map(|entry| (entry.at, Change::Row(content, entry))));
        // Many notes are one change.
        if let Some(last) = notes.last() {
            let words = match notes.len() {
                1 => line::words(last, azolla_type),
                count => format!("{count} notes were captured"),
            };
            changes.push((last.at, Change::Words(words)));
        }
        if let Some(last) = nothing.last() {
            let words = match nothing.len() {
                1 => line::words(last, azolla_type),
                count => format!("{count} notes need nothing; azolla triage --all says why"),
            };
            changes.push((last.at, Change::Words(words)));
        }
    }
    if changes.is_empty() {
        return None;
    }
    changes.sort_by_key(|(at, _)| *at);
    let looks = contents(desks).filter_map(|(_, content)| Some((content.since.looked_at?, content.now)));
    let looked = looks.max_by_key(|(looked_at, _)| *looked_at).map(|(at, now)| ago(at, now));
    let skipped = changes.len().saturating_sub(lines_max);
    let more = if contents(desks).any(|(_, content)| content.since.is_cut) { "more than " } else { "" };
    let earlier = (skipped > 0).then(|| format!("{more}{skipped} earlier"));
    let lines = changes.split_off(skipped).into_iter().map(|(at, change)| (at, change.words()));
    Some(Changes { looked, earlier, lines: lines.collect() })
}

/// Something that happened, put into words only where it is shown.
enum Change<'a> {
    Row(&'a Content, &'a JournalEntry),
    Words(String),
}

impl Change<'_> {
    fn words(self) -> String {
        match self {
            Self::Words(words) => words,
            Self::Row(content, entry) => {
                let id = line::objective_id(entry, content.azolla_type);
                let words = line::words(entry, content.azolla_type);
                match id.and_then(|id| content.title(&id)) {
                    Some(title) => format!("{words} ({})", cut(title, TITLE_COLUMNS_MAX)),
                    None => words,
                }
            }
        }
    }
}

fn contents(desks: &[Desk]) -> impl Iterator<Item = (&Desk, &Content)> {
    desks.iter().filter_map(|desk| Some((desk, desk.content.as_ref().ok()?)))
}
