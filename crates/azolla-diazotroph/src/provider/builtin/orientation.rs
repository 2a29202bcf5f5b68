//! Orientation: what is open over all azollas, in an order that is stated, each with the command to type.

use std::collections::BTreeMap;

use azolla_protocol::{
    AzollaId, ObjectiveId, ObjectiveStatus, PauseReason, PauseState, QueryStatus, Timestamp,
    content::{ManifestAnswer, ManifestInput, ObjectiveBrief},
};

use super::text::{cut, head, one_line};
use crate::said::sanitised;

const ACTIONS_MAX: usize = 5;
/// With two ids and the reasons, an action stays below the 500 characters that it may have.
const TITLE_CHARS_MAX: usize = 80;
const COMMAND_BYTES_MAX: usize = 90;
const REMARK_CHARS_MAX: usize = 300;
const NOTES_CHARS_MAX: usize = 5_000;

/// Something that is open.
struct Open<'a> {
    azolla_id: &'a AzollaId,
    objective_id: &'a ObjectiveId,
    brief: Option<&'a ObjectiveBrief>,
    pause: Option<&'a PauseState>,
}

/// Why something stands where it does, from the first that counts to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Overdue,
    Waiting,
    Other,
}

/// Returns one to five next actions, and what the data does not tell.
pub(super) fn orient(input: &ManifestInput) -> ManifestAnswer {
    let mut open = open(input);
    open.sort_by_key(|one| one.order(input.now));
    let count = |class| open.iter().filter(|one| one.class(input.now) == class).count();
    let (overdue, waiting) = (count(Class::Overdue), count(Class::Waiting));
    let actions_of = |is_other: bool| {
        let some = open.iter().filter(move |one| (one.class(input.now) == Class::Other) == is_other);
        some.take(ACTIONS_MAX).map(|one| one.action(input.now))
    };
    let mut actions: Vec<String> = actions_of(false).collect();
    if input.candidates_open > 0 {
        actions.push(format!("Review {}: azolla triage", counted(input.candidates_open, "candidate")));
    }
    if input.captures_pending > 0 {
        actions.push(format!("Triage {}: azolla triage", counted(input.captures_pending, "capture")));
    }
    actions.extend(actions_of(true));
    if actions.is_empty() {
        actions.push("Nothing is open. Note down what comes up: azolla capture".to_owned());
    }
    actions.truncate(ACTIONS_MAX);
    let azollas = input.azollas.iter().filter(|azolla| azolla.status == QueryStatus::Ok).count();
    let overview = format!(
        "{} open in {}: {overdue} overdue, {waiting} waiting for you; {} and {} wait for triage. Ordered by: overdue, \
         urgency, importance, age.",
        counted(open.len() as u64, "objective"),
        counted(azollas as u64, "azolla"),
        counted(input.captures_pending, "capture"),
        counted(input.candidates_open, "candidate"),
    );
    ManifestAnswer { overview, actions, notes: notes(input) }
}

/// Returns all that is open, each once.
fn open(input: &ManifestInput) -> Vec<Open<'_>> {
    let mut found: BTreeMap<(&AzollaId, &ObjectiveId), Open<'_>> = BTreeMap::new();
    for azolla in &input.azollas {
        for brief in &azolla.objectives {
            let (azolla_id, objective_id) = (&azolla.azolla_id, &brief.objective_id);
            found.insert(
                (azolla_id, objective_id),
                Open { azolla_id, objective_id, brief: Some(brief), pause: None },
            );
        }
        for pause in &azolla.pause_states {
            add_pause(&mut found, &azolla.azolla_id, pause);
        }
    }
    // Its own runs that went well left candidates, which are counted, or an orientation, which this one replaces.
    let counts = |pause: &&PauseState| {
        let is_overdue = pause.prioritized_actions.iter().any(|action| action.contains("overdue"));
        pause.reason != PauseReason::RunComplete || is_overdue
    };
    for pause in input.pause_states.iter().filter(counts) {
        // What another azolla told about the same objective is newer.
        if !found.keys().any(|(_, objective_id)| **objective_id == pause.objective_id) {
            add_pause(&mut found, &input.azolla_id, pause);
        }
    }
    found.into_values().collect()
}

fn add_pause<'a>(
    found: &mut BTreeMap<(&'a AzollaId, &'a ObjectiveId), Open<'a>>,
    azolla_id: &'a AzollaId,
    pause: &'a PauseState,
) {
    let objective_id = &pause.objective_id;
    let one = found.entry((azolla_id, objective_id)).or_insert(Open {
        azolla_id,
        objective_id,
        brief: None,
        pause: None,
    });
    if one.pause.is_none_or(|known| known.created_at < pause.created_at) {
        one.pause = Some(pause);
    }
}

impl Open<'_> {
    fn class(&self, now: Timestamp) -> Class {
        match (self.brief, self.pause) {
            (Some(brief), _) if brief.deadline.is_some_and(|deadline| deadline <= now) => Class::Overdue,
            // What runs, or is about to, waits for nobody.
            (Some(brief), _)
                if matches!(brief.status, ObjectiveStatus::Todo | ObjectiveStatus::InProgress) =>
            {
                Class::Other
            }
            (_, Some(_)) => Class::Waiting,
            (Some(brief), None) if brief.status == ObjectiveStatus::Blocked => Class::Waiting,
            (_, None) => Class::Other,
        }
    }

    fn order(&self, now: Timestamp) -> (Class, u8, u8, Timestamp) {
        // What is not said comes in the middle.
        let (urgency, importance) = self.brief.map_or((2, 2), |brief| (brief.urgency, brief.importance));
        (self.class(now), urgency, importance, self.since().unwrap_or(now))
    }

    fn since(&self) -> Option<Timestamp> {
        self.pause.map(|pause| pause.created_at).or(self.brief.map(|brief| brief.updated_at))
    }

    fn action(&self, now: Timestamp) -> String {
        let id = self.objective_id;
        let first = self.pause.and_then(|pause| pause.prioritized_actions.first());
        let first = first.map(|action| clean(action, REMARK_CHARS_MAX)).unwrap_or_default();
        let (what, command) = first.split_once(": azolla ").unwrap_or((&first, ""));
        // What another azolla says is to be typed names its objective and nothing that a shell would act on.
        let is_safe = |c: char| c.is_ascii_alphanumeric() || " -_./=".contains(c);
        let is_plain = command.len() <= COMMAND_BYTES_MAX && command.chars().all(is_safe);
        let is_own = command.split(' ').any(|word| word == id.as_str()) || command.starts_with("triage");
        let command = if is_plain && is_own {
            format!("azolla {command}")
        } else {
            format!("azolla objective show {id}")
        };
        let title = self.brief.map(|brief| clean(&brief.title, TITLE_CHARS_MAX)).unwrap_or_default();
        let what = cut(what, TITLE_CHARS_MAX);
        let name: Vec<&str> =
            [what.as_str(), title.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
        format!("{} ({}, {id}) [{}]: {command}", name.join(": "), self.azolla_id, self.reasons(now))
    }

    fn reasons(&self, now: Timestamp) -> String {
        let mut reasons = Vec::new();
        if let Some(deadline) =
            self.brief.and_then(|brief| brief.deadline).filter(|deadline| *deadline <= now)
        {
            reasons.push(format!("overdue since {}", age(deadline, now)));
        }
        if let Some(brief) = self.brief {
            reasons.push(format!(
                "{}; urgency {}; importance {}",
                brief.status, brief.urgency, brief.importance
            ));
        }
        if let (Class::Overdue | Class::Waiting, Some(since)) = (self.class(now), self.since()) {
            reasons.push(format!("waiting {}", age(since, now)));
        }
        reasons.join("; ")
    }
}

/// Names what was not told: azollas that did not answer, and what others said about their answer.
fn notes(input: &ManifestInput) -> String {
    let mut notes = Vec::new();
    for azolla in &input.azollas {
        let remark = clean(&azolla.remark, REMARK_CHARS_MAX);
        match (azolla.status, remark.is_empty()) {
            (QueryStatus::Ok, true) => {}
            (QueryStatus::Ok, false) => notes.push(format!("{}: {remark}.", azolla.azolla_id)),
            // A remark may begin with it already.
            (status, false) if remark.starts_with(status.as_str()) => {
                notes.push(format!("{}: {remark}.", azolla.azolla_id));
            }
            (status, true) => notes.push(format!("{}: {status}.", azolla.azolla_id)),
            (status, false) => notes.push(format!("{}: {status}: {remark}.", azolla.azolla_id)),
        }
    }
    cut(&notes.join(" "), NOTES_CHARS_MAX)
}

/// Returns text from elsewhere as one line that no terminal obeys.
fn clean(text: &str, chars_max: usize) -> String {
    cut(one_line(&sanitised(head(text, chars_max * 16))).trim_end_matches('.'), chars_max)
}

fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn age(since: Timestamp, now: Timestamp) -> String {
    let minutes = u64::try_from((now.as_millisecond() - since.as_millisecond()) / 60_000).unwrap_or(0);
    match minutes {
        0..60 => "less than an hour".to_owned(),
        60..1_440 => counted(minutes / 60, "hour"),
        _ => counted(minutes / 1_440, "day"),
    }
}
