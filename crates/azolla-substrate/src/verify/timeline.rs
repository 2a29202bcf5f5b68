//! What the journal says happened, step by step in its own order.

use std::collections::{BTreeMap, HashMap, HashSet};

use azolla_protocol::{
    Actor, ClaimRecord, JournalEntry, JournalStep, ObjectiveStatus,
    lifecycle::{TABLE, Target},
};

use super::{Finding, candidates::Candidates, documents::Documents, finding};

/// The claims, statuses and counts at the point that the journal has reached.
#[derive(Default)]
pub(super) struct Timeline {
    /// Per resource: the newest grant.
    granted: HashMap<String, Granted>,
    /// (owner, version) of grants that are neither released nor taken over, and on how many resources.
    live: HashMap<(String, u64), u32>,
    /// Per objective: where each of its rows led to. Every row makes one version.
    led: HashMap<String, Vec<Option<ObjectiveStatus>>>,
    /// Per objective: how often it came into TODO.
    todo_entries: HashMap<String, u64>,
    statuses: HashMap<String, String>,
    /// The objectives that took a step of a TICKET.
    moved: HashSet<String>,
    processed: BTreeMap<String, u32>,
    by_hand: HashSet<String>,
    /// The workorders in the work stream, each with its objective where the journal names it.
    open: HashMap<String, Option<String>>,
    waiting: HashSet<String>,
    candidates: Candidates,
    claims: Vec<(ClaimRecord, bool)>,
    findings: Vec<Finding>,
}

struct Granted {
    owner_id: String,
    claim_version: u64,
    released: bool,
}

impl Timeline {
    /// Keeps a claim record for the end: it must be what the journal granted last.
    pub(super) fn claim(&mut self, claim: ClaimRecord, released: bool) {
        self.claims.push((claim, released));
    }

    /// Goes on by one row.
    pub(super) fn follow(&mut self, entry: &JournalEntry) {
        match entry.step {
            JournalStep::Grant => self.grant(entry),
            JournalStep::Release => self.release(entry),
            _ => self.under_claim(entry),
        }
        match (entry.step, entry.resource_type.as_str()) {
            (JournalStep::Process, "event") => {
                *self.processed.entry(entry.resource_id.clone()).or_default() += 1;
            }
            (JournalStep::Process, "capture_buffer") if entry.actor == Actor::Operator => {
                self.by_hand.insert(entry.resource_id.clone());
            }
            (JournalStep::Insert, "workorder") => self.created(entry),
            (JournalStep::Gate, "workorder") => {
                self.open.remove(&entry.resource_id);
            }
            (_, "objective") => self.transition(entry),
            (JournalStep::Insert, "candidate") => self.findings.extend(self.candidates.opened(entry)),
            (JournalStep::Insert, "candidate_resolution") => {
                self.findings.extend(self.candidates.resolved(entry));
            }
            (JournalStep::Undo, "candidate_resolution") => {
                self.findings.extend(self.candidates.reopened(entry));
            }
            _ => {}
        }
    }

    /// Compares the end of the journal with what is stored, and returns everything found.
    pub(super) fn finish(mut self, documents: &Documents) -> Vec<Finding> {
        for event in documents.processed_events.iter().filter(|event| !self.processed.contains_key(*event)) {
            self.findings.push(finding(2, event, "is processed, but the journal does not say so"));
        }
        for (event, times) in &self.processed {
            if *times != 1 || !documents.processed_events.contains(event) {
                let what = format!("was processed {times} times by the journal");
                self.findings.push(finding(2, event, what));
            }
        }
        self.compare_objectives(documents);
        self.findings.extend(self.candidates.compare(documents));
        for objective in documents.standing.iter().filter(|objective| self.moved.contains(*objective)) {
            self.findings.push(finding(
                8,
                objective,
                "is STANDING, and took a step that only a TICKET takes",
            ));
        }
        for (claim, released) in &self.claims {
            let granted = self.granted.get(&claim.resource_id);
            if granted.map(|granted| (granted.claim_version, granted.released))
                != Some((claim.claim_version, *released))
            {
                let what = format!("has claim_version {}, the journal says otherwise", claim.claim_version);
                self.findings.push(finding(5, &claim.resource_id, what));
            }
        }
        self.findings
    }

    fn compare_objectives(&mut self, documents: &Documents) {
        for (objective, stands) in &documents.objectives {
            let mut add = |invariant, what: String| self.findings.push(finding(invariant, objective, what));
            let status = self.statuses.get(objective);
            if status.map(String::as_str) != Some(stands.status.as_str()) {
                add(8, format!("is {}, the journal ends at {status:?}", stands.status));
            }
            let rows = self.led.get(objective).map_or(0, Vec::len) as u64;
            if rows != stands.version {
                add(8, format!("has version {}, the journal {rows} rows of it", stands.version));
            }
            let entries = self.todo_entries.get(objective).copied().unwrap_or_default();
            if entries != stands.todo_entry {
                add(8, format!("has todo_entry {}, the journal {entries}", stands.todo_entry));
            }
            let waiting = u64::from(self.waiting.contains(objective));
            if waiting != stands.waiting {
                add(8, format!("has waiting {}, the journal {waiting}", stands.waiting));
            }
        }
        for (objective, version, status) in &documents.versions {
            let led = usize::try_from(*version).ok().and_then(|version| version.checked_sub(1));
            let led = led.and_then(|row| *self.led.get(objective)?.get(row)?);
            if led != Some(*status) {
                let what = format!("version {version} is {status}, the journal led to {led:?}");
                self.findings.push(finding(8, objective, what));
            }
        }
    }

    fn grant(&mut self, entry: &JournalEntry) {
        let Some((owner_id, claim_version)) = holder(entry) else {
            self.add(5, entry, "a grant names no owner");
            return;
        };
        if let Some(before) = self.granted.get(&entry.resource_id) {
            let (old, released) = ((before.owner_id.clone(), before.claim_version), before.released);
            if claim_version <= old.1 {
                self.add(5, entry, format!("version {claim_version} was granted after version {}", old.1));
            }
            if !released {
                self.end(&old);
            }
        }
        let granted = Granted { owner_id: owner_id.clone(), claim_version, released: false };
        self.granted.insert(entry.resource_id.clone(), granted);
        *self.live.entry((owner_id, claim_version)).or_default() += 1;
    }

    fn release(&mut self, entry: &JournalEntry) {
        let holder = holder(entry);
        let held = self.granted.get_mut(&entry.resource_id).filter(|granted| !granted.released);
        match held {
            Some(granted) if holder == Some((granted.owner_id.clone(), granted.claim_version)) => {
                granted.released = true;
                self.end(&holder.expect("it equals a grant"));
            }
            _ => self.add(5, entry, "was released by somebody who did not hold it"),
        }
    }

    /// A row under a claim comes before its release, and never after a newer grant.
    fn under_claim(&mut self, entry: &JournalEntry) {
        // What ends something is written by whoever holds just that (C-4).
        let is_ending = matches!(
            (entry.step, entry.resource_type.as_str()),
            (JournalStep::Execute | JournalStep::Gate, _) | (JournalStep::Process, "event")
        );
        let Some(holder) = holder(entry) else {
            if is_ending {
                self.add(6, entry, format!("{} was written under no claim", entry.step));
            }
            return;
        };
        let own = self.granted.get(&entry.resource_id);
        let is_own = own.is_some_and(|own| (&own.owner_id, own.claim_version) == (&holder.0, holder.1));
        if !self.live.contains_key(&holder) {
            self.add(6, entry, format!("{} wrote after its claim {} had ended", holder.0, holder.1));
        } else if is_ending && !is_own {
            self.add(6, entry, format!("{} was written under the claim on something else", entry.step));
        }
    }

    fn created(&mut self, entry: &JournalEntry) {
        let detail = |key: &str| entry.detail.as_ref().and_then(|detail| detail.get(key));
        let limit = |key: &str| detail(key).and_then(|limit| limit.as_u64());
        let objective = detail("objective_id").and_then(|id| id.as_str());
        self.open.insert(entry.resource_id.clone(), objective.map(str::to_owned));
        // Another commit's rows can fall between the row by which an objective waits and the one by which its
        // workorder leaves the work stream: that is one result, not two.
        let at_work: HashSet<_> = self.open.values().flatten().collect();
        let objectives = self.waiting.iter().filter(|objective| !at_work.contains(objective)).count() as u64;
        let waiting = objectives + self.candidates.waiting();
        let open = self.open.len() as u64;
        let (Some(max_concurrent), Some(review_limit)) = (limit("max_concurrent"), limit("review_limit"))
        else {
            self.add(7, entry, "was created without its limits");
            return;
        };
        if open > max_concurrent {
            self.add(7, entry, format!("is open workorder {open} of {max_concurrent}"));
        }
        if review_limit > 0 && open + waiting > review_limit {
            self.add(7, entry, format!("{open} open and {waiting} waiting exceed {review_limit}"));
        }
    }

    fn transition(&mut self, entry: &JournalEntry) {
        let before = self.statuses.get(&entry.resource_id).cloned();
        if entry.from_status != before {
            self.add(8, entry, format!("goes on from {:?}, but stood at {before:?}", entry.from_status));
        }
        if !is_row(entry) {
            let (from, to) = (&entry.from_status, &entry.to_status);
            self.add(
                8,
                entry,
                format!("{} {from:?} -> {to:?} by {} is not in the table", entry.step, entry.actor),
            );
        }
        if !matches!(entry.step, JournalStep::Edit | JournalStep::Sn) {
            self.moved.insert(entry.resource_id.clone());
        }
        match entry.step {
            JournalStep::Edit => {}
            JournalStep::Se | JournalStep::Sf | JournalStep::Sm => {
                self.waiting.insert(entry.resource_id.clone());
            }
            _ => {
                self.waiting.remove(&entry.resource_id);
            }
        }
        let to = entry.to_status.as_deref().and_then(|status| status.parse::<ObjectiveStatus>().ok());
        self.led.entry(entry.resource_id.clone()).or_default().push(to);
        if to == Some(ObjectiveStatus::Todo) && entry.from_status != entry.to_status {
            *self.todo_entries.entry(entry.resource_id.clone()).or_default() += 1;
        }
        if let Some(status) = &entry.to_status {
            self.statuses.insert(entry.resource_id.clone(), status.clone());
        }
    }

    fn end(&mut self, holder: &(String, u64)) {
        if let Some(count) = self.live.get_mut(holder) {
            *count -= 1;
            if *count == 0 {
                self.live.remove(holder);
            }
        }
    }

    fn add(&mut self, invariant: u8, entry: &JournalEntry, what: impl Into<String>) {
        let what = format!("{} (journal {})", what.into(), entry.seq);
        self.findings.push(finding(invariant, &entry.resource_id, what));
    }

    /// Returns the captures that the operator processed by hand.
    pub(super) fn by_hand(&self) -> &HashSet<String> {
        &self.by_hand
    }
}

fn holder(entry: &JournalEntry) -> Option<(String, u64)> {
    Some((entry.owner_id.as_ref()?.to_string(), entry.claim_version?))
}

/// Whether a change of an objective is a line of the transition table, by the party that it names. An edit keeps
/// the status and is nobody's line.
fn is_row(entry: &JournalEntry) -> bool {
    if entry.step == JournalStep::Edit {
        return entry.from_status == entry.to_status;
    }
    let status =
        |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<ObjectiveStatus>().ok());
    let (from, to) = (status(&entry.from_status), status(&entry.to_status));
    TABLE.iter().any(|row| {
        let starts = from.map_or(row.from.is_empty(), |from| row.from.contains(&from));
        let leads = match row.to {
            Target::Status(status) => to == Some(status),
            Target::Same => to == from,
        };
        row.id == entry.step.as_str() && Actor::from(row.party) == entry.actor && starts && leads
    })
}
