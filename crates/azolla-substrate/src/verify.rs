//! The invariants that hold on any Substrate at rest, checked from outside the constraints that keep them:
//! in SQL where two tables must agree, in the journal's own order for what happened over time.

mod candidates;
mod deadlines;
mod documents;
mod timeline;

use self::{documents::Documents, timeline::Timeline};
use crate::{error::SubstrateError, rows, sql, statement::Statement, substrate::SubstrateRead, tasks};

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The number of the invariant, as `docs/invariants.md` lists them.
    pub invariant: u8,
    /// The id of what breaks it.
    pub resource: String,
    /// What is wrong.
    pub what: String,
}

/// Checks everything that needs no git repository, from one instant of the store. Empty means: all of it holds.
pub async fn verify(store: &dyn SubstrateRead) -> Result<Vec<Finding>, SubstrateError> {
    let mut findings: Vec<Finding> =
        store.integrity().await?.into_iter().map(|what| finding(10, "database", what)).collect();
    findings.extend(verify_rows(store).await?);
    Ok(findings)
}

/// The same without what the database says of its own files: for whoever looks after every change.
pub async fn verify_rows(store: &dyn SubstrateRead) -> Result<Vec<Finding>, SubstrateError> {
    let mut findings = Vec::new();
    let relations = RELATIONS.iter().map(|(_, _, sql)| *sql);
    let statements =
        relations.chain(documents::SCANS.iter().copied()).chain([sql::ALL_CLAIMS, sql::ALL_JOURNAL]);
    let mut found = store.scan(statements.map(|sql| Statement::new(sql, [])).collect());
    let (mut documents, mut timeline) = (Documents::default(), Timeline::default());
    while let Some(next) = found.recv().await {
        let (position, row) = next?;
        if let Some((invariant, what, _)) = RELATIONS.get(position) {
            findings.push(finding(*invariant, row.text(0)?, *what));
        } else if let Some(scan) = documents::SCANS.get(position - RELATIONS.len()) {
            documents.check(scan, &row);
        } else if position == RELATIONS.len() + documents::SCANS.len() {
            match rows::read_claim(&row).and_then(|claim| Ok((claim, row.text_or_null(6)?.is_some()))) {
                Ok((claim, released)) => timeline.claim(claim, released),
                Err(error) => findings.push(finding(10, row.text(1)?, error.to_string())),
            }
        } else {
            match rows::read_journal(&row) {
                Ok(entry) => timeline.follow(&entry),
                Err(error) => {
                    findings.push(finding(10, format!("journal {:?}", row.0.first()), error.to_string()))
                }
            }
        }
    }
    documents.processed_captures.retain(|capture| !timeline.by_hand().contains(capture));
    findings.extend(timeline.finish(&documents));
    findings.extend(documents.finish());
    Ok(findings)
}

/// Returns what is checked between tables: the invariant, and what a finding says.
pub fn relations() -> impl Iterator<Item = (u8, &'static str)> {
    RELATIONS.iter().map(|(invariant, what, _)| (*invariant, *what))
}

pub(crate) fn finding(invariant: u8, resource: impl Into<String>, what: impl Into<String>) -> Finding {
    Finding { invariant, resource: resource.into(), what: what.into() }
}

/// (invariant, what is wrong, the statement that finds the ids).
const RELATIONS: &[(u8, &str, &str)] = &[
    (1, "is SCHEDULED and has no workorder", sql::SCHEDULED_WITHOUT_WORKORDER),
    (1, "answers an event that is not SCHEDULED", sql::WORKORDER_OF_UNSCHEDULED),
    (1, "has more than one workorder", sql::SEVERAL_WORKORDERS),
    (3, "is EXECUTED and has no output_bundle", sql::EXECUTED_WITHOUT_OUTPUT),
    (3, "belongs to no EXECUTED workorder of its objective", sql::OUTPUT_OF_UNEXECUTED),
    (3, "has more than one output_bundle", sql::SEVERAL_OUTPUTS),
    (4, "left the work stream without a run_record", sql::GATED_WITHOUT_RUN),
    (4, "has no gated workorder with its output_bundle", sql::RUN_OF_UNGATED),
    (4, "has more than one run_record", sql::SEVERAL_RUNS),
    (4, "has no pause_state", sql::RUN_WITHOUT_PAUSE),
    (4, "has more than one pause_state", sql::SEVERAL_PAUSES),
    (4, "ends a workorder that has no run_record", sql::PAUSE_OF_UNGATED),
    (10, "names a version of its objective that is not kept", sql::SNAPSHOT_OF_NOTHING),
    (10, "links to no objective, or to no snapshot of it", sql::WORKORDER_OF_NOTHING),
    (10, "links to no objective, or to no event", sql::PAUSE_OF_NOTHING),
    (10, "names another objective than its workorder", sql::PAUSE_OF_OTHER),
    (10, "points to no pause_state of its own", sql::POINTER_TO_NOTHING),
    (10, "links to no run_record", sql::EVIDENCE_OF_NOTHING),
    (10, "has usage but does not exist", sql::USAGE_OF_NOTHING),
    (10, "belongs to no gated workorder", tasks::sql::MANIFEST_OF_NOTHING),
    (10, "has candidates but is no triage output that passed", tasks::sql::CANDIDATE_OF_NOTHING),
    (10, "has a resolution of a candidate that does not exist", tasks::sql::RESOLUTION_OF_NOTHING),
    (10, "has a candidate that is open and resolved, or neither", tasks::sql::CANDIDATE_OPEN_OTHERWISE),
    (10, "is claimed but does not exist", sql::CLAIM_OF_NOTHING),
    (10, "does not have all its versions", sql::OBJECTIVE_WITHOUT_VERSION),
    (10, "has a version that it never reached", sql::VERSION_OF_NOTHING),
];
