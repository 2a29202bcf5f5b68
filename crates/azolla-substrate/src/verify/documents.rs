//! Every stored document against its schema and its own key columns, and the captures against what named them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
};

use azolla_protocol::{
    Artifact, AzollaId, CandidateOutcome, CaptureStatus, ContextSnapshot, DiazotrophType, GateEvidence,
    GateResult, Objective, ObjectiveId, ObjectiveStatus, ObjectiveType, OutputBundle, OutputId, PauseState,
    RunRecord, SessionManifest, Timestamp, UsageRecord, Validated, content::TriageContent,
};

use super::{
    Finding,
    deadlines::{Recorded, too_soon},
    finding,
};
use crate::{
    error::SubstrateError,
    rows, sql,
    statement::{Cell, Row},
    tasks,
};

/// What is scanned, in an order in which later ones can look up earlier ones.
pub(super) const SCANS: &[&str] = &[
    sql::ALL_OBJECTIVES,
    sql::ALL_OBJECTIVE_VERSIONS,
    sql::ALL_EVENTS,
    sql::ALL_SNAPSHOTS,
    sql::ALL_WORKORDERS,
    sql::ALL_RUN_RECORDS,
    sql::ALL_OUTPUT_BUNDLES,
    sql::ALL_EVIDENCE,
    sql::ALL_USAGE,
    sql::ALL_PAUSES,
    tasks::sql::ALL_SNOOZES,
    tasks::sql::ALL_MANIFESTS,
    tasks::sql::ALL_CANDIDATES,
    tasks::sql::ALL_RESOLUTIONS,
    tasks::sql::ALL_CAPTURES,
];

/// What the documents say, as far as the journal is compared with it.
#[derive(Default)]
pub(super) struct Documents {
    pub(super) objectives: HashMap<String, Stands>,
    /// (objective, version, the status that it says).
    pub(super) versions: Vec<(String, u64, ObjectiveStatus)>,
    pub(super) processed_events: BTreeSet<String>,
    triage_workorders: BTreeSet<String>,
    passed: BTreeSet<String>,
    /// How many passed triage bundles name a capture.
    named: BTreeMap<String, u32>,
    pub(super) processed_captures: BTreeSet<String>,
    /// Per triage output: its candidates.
    pub(super) candidates: BTreeMap<String, BTreeSet<u64>>,
    /// Per candidate, as `output#index`: what became of it.
    pub(super) outcomes: BTreeMap<String, CandidateOutcome>,
    /// Per triage output that passed: how many candidates its content has.
    content: BTreeMap<String, usize>,
    deadlines: Vec<Recorded>,
    /// The STANDING objectives.
    pub(super) standing: BTreeSet<String>,
    /// Per objective: its version, and a digest of its document.
    newest: HashMap<String, (u64, u64)>,
    outputs: BTreeSet<String>,
    captures: BTreeSet<String>,
    /// (snapshot, output) and (triage output, capture): the links that are inside documents.
    related: Vec<(String, String)>,
    triaged: Vec<(String, String)>,
    findings: Vec<Finding>,
}

/// Where an objective stands, by its row.
pub(super) struct Stands {
    pub(super) status: ObjectiveStatus,
    pub(super) version: u64,
    pub(super) todo_entry: u64,
    /// As it is stored: anything but 0 and 1 is wrong too.
    pub(super) waiting: u64,
}

impl Documents {
    /// Checks one row of one of the scans.
    pub(super) fn check(&mut self, scan: &str, row: &Row) {
        let result = match scan {
            sql::ALL_OBJECTIVES => self.objective(row),
            sql::ALL_OBJECTIVE_VERSIONS => self.objective_version(row),
            sql::ALL_EVENTS => self.event(row),
            sql::ALL_SNAPSHOTS => self.snapshot(row),
            sql::ALL_WORKORDERS => self.workorder(row),
            sql::ALL_RUN_RECORDS => self.run_record(row),
            sql::ALL_OUTPUT_BUNDLES => self.output_bundle(row),
            sql::ALL_EVIDENCE => stored::<GateEvidence>(row, 0, |evidence| {
                vec![
                    (1, evidence.run_id.as_str().into()),
                    (2, evidence.work_order_id.as_str().into()),
                    (3, evidence.created_at.into()),
                ]
            })
            .map(drop),
            sql::ALL_USAGE => stored::<UsageRecord>(row, 0, |usage| {
                vec![
                    (1, usage.work_order_id.as_str().into()),
                    (2, usage.claim_version.into()),
                    (3, usage.created_at.into()),
                ]
            })
            .map(drop),
            sql::ALL_PAUSES => self.pause(row),
            tasks::sql::ALL_SNOOZES => snooze(row),
            tasks::sql::ALL_MANIFESTS => stored::<SessionManifest>(row, 0, |manifest| {
                vec![
                    (1, manifest.manifest_id.as_str().into()),
                    (3, manifest.created_at.into()),
                    (4, manifest.azolla_id.as_str().into()),
                ]
            })
            .map(drop),
            tasks::sql::ALL_CANDIDATES => self.candidate(row),
            tasks::sql::ALL_RESOLUTIONS => self.resolution(row),
            tasks::sql::ALL_CAPTURES => self.capture(row),
            other => Err(SubstrateError::corrupt(format!("no check for {other}"))),
        };
        if let Err(error) = result {
            let shown = row.0.iter().find_map(|cell| match cell {
                Cell::Text(text) if text.len() < 100 => Some(text.clone()),
                _ => None,
            });
            self.findings.push(finding(10, shown.unwrap_or_default(), error.to_string()));
        }
    }

    /// Returns what was found, the captures included: PROCESSED ones are named by one passed triage bundle, unless
    /// the operator processed them by hand, which `timeline` has taken out.
    pub(super) fn finish(mut self) -> Vec<Finding> {
        for capture in &self.processed_captures {
            let named = self.named.get(capture).copied().unwrap_or_default();
            if named != 1 {
                let what = format!("is PROCESSED and named by {named} passed triage bundles");
                self.findings.push(finding(9, capture, what));
            }
        }
        for (output, count) in &self.content {
            let stored = self.candidates.get(output).map_or(0, BTreeSet::len);
            if stored != *count {
                let what = format!("has {stored} candidates, its content {count}");
                self.findings.push(finding(10, output, what));
            }
        }
        self.findings.extend(too_soon(std::mem::take(&mut self.deadlines)));
        for (links, known) in [(&self.related, &self.outputs), (&self.triaged, &self.captures)] {
            for (from, to) in links.iter().filter(|(_, to)| !known.contains(to)) {
                self.findings.push(finding(10, from, format!("names {to}, which does not exist")));
            }
        }
        self.findings
    }

    fn objective(&mut self, row: &Row) -> Result<(), SubstrateError> {
        let stored = rows::read_objective(row)?;
        let id = stored.objective.objective_id.to_string();
        if stored.objective.objective_type == ObjectiveType::Standing {
            self.standing.insert(id.clone());
        }
        let stands = Stands {
            status: stored.objective.status,
            version: stored.version,
            todo_entry: stored.todo_entry,
            waiting: row.number(15)?,
        };
        self.objectives.insert(id.clone(), stands);
        let validated = Validated::new(stored.objective)?;
        self.newest.insert(id, (stored.version, digest(validated.document())));
        for (column, flag, key) in [(17, "confirmed", "completion"), (18, "archived", "archived_at")] {
            if row.number(column)? != u64::from(validated.metadata.contains_key(key)) {
                return Err(SubstrateError::corrupt(format!("{flag} does not agree with metadata.{key}")));
            }
        }
        Ok(())
    }

    /// The newest version is what the objective says now.
    fn objective_version(&mut self, row: &Row) -> Result<(), SubstrateError> {
        let (id, version) = (row.text(0)?, row.number(1)?);
        if let Some((newest, now)) = self.newest.get(id)
            && (*newest == version && *now != digest(row.text(2)?))
        {
            return Err(SubstrateError::corrupt(format!("version {version} is not what the objective says")));
        }
        let objective =
            stored::<Objective>(row, 2, |objective| vec![(0, objective.objective_id.as_str().into())])?;
        self.versions.push((id.into(), version, objective.status));
        Ok(())
    }

    fn snapshot(&mut self, row: &Row) -> Result<(), SubstrateError> {
        let snapshot: ContextSnapshot = rows::read_document(row)?;
        let id = snapshot.snapshot_id.to_string();
        self.related
            .extend(snapshot.related_yield_refs.iter().map(|output| (id.clone(), output.to_string())));
        stored::<ContextSnapshot>(row, 0, |snapshot| {
            vec![
                (1, snapshot.snapshot_id.as_str().into()),
                (2, snapshot.objective_id.as_str().into()),
                (4, snapshot.created_at.into()),
            ]
        })
        .map(drop)
    }

    fn event(&mut self, row: &Row) -> Result<(), SubstrateError> {
        let stored = rows::read_event(row)?;
        if stored.event.processed {
            self.processed_events.insert(stored.event.event_id.to_string());
        }
        built(stored.event)
    }

    fn workorder(&mut self, row: &Row) -> Result<(), SubstrateError> {
        let stored = rows::read_workorder(row)?;
        if stored.workorder.diazotroph_type == DiazotrophType::Triage {
            self.triage_workorders.insert(stored.workorder.work_order_id.to_string());
        }
        built(stored.workorder)
    }

    fn run_record(&mut self, row: &Row) -> Result<(), SubstrateError> {
        let run: RunRecord = rows::read_document(row)?;
        if run.gate_result == GateResult::Pass {
            self.passed.insert(run.work_order_id.to_string());
        }
        stored::<RunRecord>(row, 0, |run| {
            vec![
                (1, run.run_id.as_str().into()),
                (2, run.work_order_id.as_str().into()),
                (3, run.objective_id.as_str().into()),
                (4, run.output_id.as_str().into()),
                (5, run.gate_result.as_str().into()),
                (6, run.created_at.into()),
            ]
        })
        .map(drop)
    }

    fn output_bundle(&mut self, row: &Row) -> Result<(), SubstrateError> {
        let (output_id, work_order_id) = (row.text(1)?, row.text(3)?);
        self.outputs.insert(output_id.to_owned());
        if self.triage_workorders.contains(work_order_id) {
            let bundle: OutputBundle = rows::read_document(row)?;
            let named = bundle.metadata.more.get("capture_ids").and_then(|ids| ids.as_array());
            for id in named.into_iter().flatten().filter_map(|id| id.as_str()) {
                self.triaged.push((output_id.to_owned(), id.to_owned()));
                if self.passed.contains(work_order_id) {
                    *self.named.entry(id.to_owned()).or_default() += 1;
                }
            }
            if self.passed.contains(work_order_id) {
                let content: TriageContent = serde_json::from_str(&bundle.content)
                    .map_err(|error| SubstrateError::corrupt(format!("its candidates: {error}")))?;
                self.content.insert(output_id.to_owned(), content.candidates.len());
            }
        }
        stored::<OutputBundle>(row, 0, |bundle| {
            vec![
                (1, bundle.output_id.as_str().into()),
                (2, bundle.objective_id.as_str().into()),
                (3, bundle.metadata.work_order_id.as_str().into()),
                (4, bundle.created_at.into()),
            ]
        })
        .map(drop)
    }

    /// Checks a pause_state: its key is made of what it ends, as `rows::pause` makes it.
    fn pause(&mut self, row: &Row) -> Result<(), SubstrateError> {
        let pause = stored::<PauseState>(row, 0, |pause| {
            vec![
                (5, pause.objective_id.as_str().into()),
                (6, pause.azolla_id.as_str().into()),
                (7, pause.reason.as_str().into()),
                (8, pause.created_at.into()),
            ]
        })?;
        let (key, objective_id, local) = (row.text(1)?, row.text(5)?, row.text_or_null(4)?);
        let urgency = row.number_or_null(9)?;
        let fits = match (row.text_or_null(2)?, row.text_or_null(3)?) {
            (Some(id), None) => local.is_some() && key == format!("workorder:{id}"),
            (None, Some(id)) => local.is_some() && key == format!("event:{id}"),
            (None, None) => key
                .strip_prefix(&format!("deadline:{}:{objective_id}:", row.text(6)?))
                .is_some_and(|at| at.parse::<Timestamp>().is_ok()),
            (Some(_), Some(_)) => false,
        };
        if !fits || local.is_some_and(|local| local != objective_id) {
            return Err(SubstrateError::corrupt("the pause_key is not that of what it ends"));
        }
        if urgency.is_some() != key.starts_with("deadline:") || urgency.is_some_and(|urgency| urgency > 4) {
            return Err(SubstrateError::corrupt(format!("its urgency is {urgency:?}")));
        }
        if let Some(urgency) = urgency {
            self.deadlines.push(Recorded {
                azolla_id: pause.azolla_id.to_string(),
                objective_id: objective_id.to_owned(),
                created_at: pause.created_at,
                urgency,
                pause_key: key.to_owned(),
            });
        }
        Ok(())
    }

    fn candidate(&mut self, row: &Row) -> Result<(), SubstrateError> {
        let output_id: OutputId = row.parsed(0)?;
        self.candidates.entry(output_id.to_string()).or_default().insert(row.number(1)?);
        Ok(())
    }

    fn resolution(&mut self, row: &Row) -> Result<(), SubstrateError> {
        let resolution = rows::read_resolution(row)?;
        let id = format!("{}#{}", resolution.output_id, resolution.candidate_index);
        if row.number(6)? == 0 {
            self.outcomes.insert(id, resolution.outcome);
        }
        built(resolution)
    }

    fn capture(&mut self, row: &Row) -> Result<(), SubstrateError> {
        let stored = rows::read_capture(row)?;
        self.captures.insert(stored.capture.capture_id.to_string());
        if stored.capture.status == CaptureStatus::Processed {
            self.processed_captures.insert(stored.capture.capture_id.to_string());
        }
        built(stored.capture)
    }
}

/// Checks a stored document, and returns it: valid, canonical, and the same as its key columns.
fn stored<A: Artifact>(
    row: &Row,
    column: usize,
    keys: impl Fn(&A) -> Vec<(usize, Cell)>,
) -> Result<Validated<A>, SubstrateError> {
    let text = row.text(column)?;
    let validated = Validated::<A>::parse(text.as_bytes())?;
    if validated.document() != text {
        return Err(SubstrateError::corrupt(format!("{} is not in canonical form", A::KIND.as_str())));
    }
    for (column, key) in keys(&validated) {
        let found = row.0.get(column).unwrap_or(&Cell::Null);
        if *found != key {
            let what = format!("{} says {}, its column {}", A::KIND.as_str(), shown(&key), shown(found));
            return Err(SubstrateError::corrupt(what));
        }
    }
    Ok(validated)
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Null => "null".into(),
        Cell::Int(number) => number.to_string(),
        Cell::Text(text) => text.clone(),
    }
}

fn snooze(row: &Row) -> Result<(), SubstrateError> {
    let (_, _): (AzollaId, ObjectiveId) = (row.parsed(0)?, row.parsed(1)?);
    row.parsed::<Timestamp>(2).map(drop)
}

fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Checks an artifact that was read from columns.
fn built<A: Artifact>(artifact: A) -> Result<(), SubstrateError> {
    Ok(Validated::new(artifact).map(drop)?)
}
