//! What the journal says of triage candidates: opened by a gate, resolved by the operator (TF-8, O-3).

use std::collections::{BTreeMap, BTreeSet};

use azolla_protocol::{Actor, CandidateOutcome, JournalEntry};

use super::{Finding, documents::Documents, finding};

/// The candidates at the point that the journal has reached.
#[derive(Default)]
pub(super) struct Candidates {
    outputs: BTreeMap<String, Opened>,
    /// Per candidate, as `output#index`.
    outcomes: BTreeMap<String, CandidateOutcome>,
}

struct Opened {
    count: u64,
    resolved: BTreeSet<u64>,
}

impl Candidates {
    /// Returns how many outputs have a candidate that is still open: each waits as one result.
    pub(super) fn waiting(&self) -> u64 {
        self.outputs.values().filter(|opened| (opened.resolved.len() as u64) < opened.count).count() as u64
    }

    pub(super) fn opened(&mut self, entry: &JournalEntry) -> Option<Finding> {
        let output = &entry.resource_id;
        let count = entry.detail.as_ref().and_then(|detail| detail.get("count")?.as_u64());
        let Some(count) = count.filter(|_| entry.actor == Actor::Gate) else {
            return Some(finding(7, output, at(entry, "opened candidates without a gate or a count")));
        };
        let before = self.outputs.insert(output.clone(), Opened { count, resolved: BTreeSet::new() });
        before.map(|_| finding(7, output, at(entry, "opened its candidates twice")))
    }

    pub(super) fn resolved(&mut self, entry: &JournalEntry) -> Option<Finding> {
        let id = &entry.resource_id;
        let candidate = id.rsplit_once('#').and_then(|(output, index)| Some((output, index.parse().ok()?)));
        let opened = candidate.and_then(|(output, index)| Some((self.outputs.get_mut(output)?, index)));
        let Some((opened, index)) = opened.filter(|(opened, index)| *index < opened.count) else {
            return Some(finding(8, id, at(entry, "was resolved before it was opened")));
        };
        opened.resolved.insert(index);
        let to: Option<CandidateOutcome> = entry.to_status.as_deref().and_then(|to| to.parse().ok());
        let (Some(to), Actor::Operator) = (to, entry.actor) else {
            return Some(finding(8, id, at(entry, "was resolved by nobody, or to nothing")));
        };
        let from = self.outcomes.insert(id.clone(), to)?;
        let what = at(entry, &format!("went from {from} to {to}"));
        from.is_final().then(|| finding(8, id, what))
    }

    /// The operator took back what became of a candidate.
    pub(super) fn reopened(&mut self, entry: &JournalEntry) -> Option<Finding> {
        let id = &entry.resource_id;
        let from: Option<CandidateOutcome> = entry.from_status.as_deref().and_then(|from| from.parse().ok());
        let was = self.outcomes.remove(id);
        if let Some((output, index)) = id.rsplit_once('#')
            && let (Some(opened), Ok(index)) = (self.outputs.get_mut(output), index.parse())
        {
            opened.resolved.remove(&index);
        }
        let is_sound = was.is_some() && was == from && entry.actor == Actor::Operator;
        (!is_sound)
            .then(|| finding(8, id, at(entry, &format!("was taken back from {from:?}, it was {was:?}"))))
    }

    /// Compares the end of the journal with what is stored.
    pub(super) fn compare(&self, documents: &Documents) -> Vec<Finding> {
        let mut findings = Vec::new();
        let none = BTreeSet::new();
        let outputs: BTreeSet<_> = self.outputs.keys().chain(documents.candidates.keys()).collect();
        for output in outputs {
            let opened = self.outputs.get(output).map_or(0, |opened| opened.count);
            let stored = documents.candidates.get(output).unwrap_or(&none);
            if stored.len() as u64 != opened || stored.last().is_some_and(|last| *last >= opened) {
                let what = format!("has candidates {stored:?}, the journal opened {opened}");
                findings.push(finding(7, output, what));
            }
        }
        let candidates: BTreeSet<_> = self.outcomes.keys().chain(documents.outcomes.keys()).collect();
        for id in candidates {
            let (told, stored) = (self.outcomes.get(id), documents.outcomes.get(id));
            if told != stored {
                let what = format!("is {stored:?}, the journal ends at {told:?}");
                findings.push(finding(8, id, what));
            }
        }
        findings
    }
}

fn at(entry: &JournalEntry, what: &str) -> String {
    format!("{what} (journal {})", entry.seq)
}
