//! Export and import as plain JSON lines. The first line says what the rest is, the last one how many there
//! were before it, so that a file that was cut off is noticed wherever it was cut. Every other line is one artifact:
//! `{"document":…,"kind":…,"store":…}`, where `store` holds the store-only columns that idempotence and the flows
//! rest on; what has no document, only columns, has null for one. Claims are not exported: whoever held one holds nothing in the new store.

use std::io::{BufRead, Read};

use azolla_protocol::{
    Artifact, AzollaId, AzollaType, CandidateResolution, CaptureBuffer, ContextSnapshot, DOCUMENT_BYTES_MAX,
    Event, GateEvidence, JournalEntry, Objective, OutputBundle, PauseState, RunRecord, SessionManifest,
    Timestamp, UsageRecord, Validated, Workorder, canonical,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::{
    error::SubstrateError,
    migration::STORE_VERSION,
    read::Identity,
    rows, sql,
    statement::{Expect, Miss, Row, Statement, Step},
    substrate::{LoadError, Substrate, SubstrateRead},
    tasks,
};

/// The form of the lines.
pub const EXPORT_VERSION: u32 = 1;

/// A line may be a document of the largest size with its escapes, and a little around it.
const LINE_BYTES_MAX: usize = 2 * DOCUMENT_BYTES_MAX;

/// What canonical text holds exactly, and every stored number keeps to (2^53 - 1).
const NUMBER_MAX: u64 = (1 << 53) - 1;

/// Why an export or an import stopped. An import that stopped wrote nothing.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The store refused, or did not answer.
    #[error(transparent)]
    Store(#[from] SubstrateError),
    /// The file could not be read or written.
    #[error("the archive cannot be read or written")]
    Io(#[from] std::io::Error),
    /// A line is not what an export writes.
    #[error("line {number}: {problem}")]
    Line {
        /// Counted from 1.
        number: usize,
        /// What is wrong with it.
        problem: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    azolla_id: AzollaId,
    azolla_type: AzollaType,
    export_version: u32,
    store_version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trailer {
    lines: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    kind: String,
    #[serde(borrow)]
    document: &'a RawValue,
    #[serde(borrow, default)]
    store: Option<&'a RawValue>,
}

macro_rules! store_columns {
    ($($name:ident { $($field:ident: $type:ty,)+ })+) => {$(
        #[derive(Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $name { $($field: $type,)+ }
    )+};
}

store_columns! {
    ObjectiveColumns { version: u64, todo_entry: u64, waiting: bool, pause_key: Option<String>, }
    VersionColumns { version: u64, }
    CaptureColumns { attempts: u64, attempts_before: u64, held: bool, }
    EventColumns { entry: Option<u64>, claim_count: u64, }
    SnapshotColumns { objective_version: u64, }
    WorkorderColumns {
        event_id: azolla_protocol::EventId, budget_consumed_ms: u64, claim_count: u64, stream_slot: Option<u64>,
    }
    PauseColumns {
        pause_key: String, work_order_id: Option<String>, event_id: Option<String>,
        local_objective_id: Option<String>, urgency: Option<u64>,
    }
    SnoozeColumns { azolla_id: AzollaId, objective_id: azolla_protocol::ObjectiveId, until: Timestamp, }
    ManifestColumns { work_order_id: azolla_protocol::WorkOrderId, }
    CandidateColumns { output_id: azolla_protocol::OutputId, candidate_index: u64, }
    ResolutionColumns { taken_back: bool, }
    JournalColumns { commit_id: Option<azolla_protocol::CommitId>, }
}

/// Writes the whole Substrate, from one instant of it, one line per call.
pub async fn export(
    store: &dyn SubstrateRead,
    write: &mut (dyn FnMut(&str) -> std::io::Result<()> + Send),
) -> Result<(), ArchiveError> {
    let Identity { azolla_id, azolla_type } = store.identity().await?;
    let header =
        Header { azolla_id, azolla_type, export_version: EXPORT_VERSION, store_version: STORE_VERSION };
    write(&text(&header)?)?;
    let mut lines = 1;
    let statements = SECTIONS.iter().map(|(_, sql, _)| Statement::new(sql, [])).collect();
    let mut found = store.scan(statements);
    while let Some(next) = found.recv().await {
        let (section, row) = next?;
        let (kind, _, line) = SECTIONS[section];
        write(&line(kind, &row)?)?;
        lines += 1;
    }
    write(&text(&Trailer { lines })?)?;
    Ok(())
}

type WriteLine = fn(&str, &Row) -> Result<String, SubstrateError>;

/// Every kind of line, in an order in which links point back.
const SECTIONS: &[(&str, &str, WriteLine)] = &[
    ("objective", sql::ALL_OBJECTIVES, |kind, row| {
        let stored = rows::read_objective(row)?;
        let (version, todo_entry, waiting) = (stored.version, stored.todo_entry, stored.waiting);
        let columns = ObjectiveColumns { version, todo_entry, waiting, pause_key: stored.pause_key };
        line(kind, &text(&stored.objective)?, &columns)
    }),
    ("objective_version", sql::ALL_OBJECTIVE_VERSIONS, |kind, row| {
        line(kind, row.text(2)?, &VersionColumns { version: row.number(1)? })
    }),
    ("capture_buffer", tasks::sql::ALL_CAPTURES, |kind, row| {
        let stored = rows::read_capture(row)?;
        let (attempts, attempts_before) = (stored.attempts, stored.attempts_before);
        let columns = CaptureColumns { attempts, attempts_before, held: stored.held };
        line(kind, &text(&stored.capture)?, &columns)
    }),
    ("event", sql::ALL_EVENTS, |kind, row| {
        let stored = rows::read_event(row)?;
        let columns = EventColumns { entry: stored.entry, claim_count: stored.claim_count };
        line(kind, &text(&stored.event)?, &columns)
    }),
    ("context_snapshot", sql::ALL_SNAPSHOTS, |kind, row| {
        line(kind, row.text(0)?, &SnapshotColumns { objective_version: row.number(3)? })
    }),
    ("workorder", sql::ALL_WORKORDERS, |kind, row| {
        let stored = rows::read_workorder(row)?;
        let columns = WorkorderColumns {
            event_id: stored.event_id,
            budget_consumed_ms: stored.budget_consumed_ms,
            claim_count: stored.claim_count,
            stream_slot: stored.stream_slot,
        };
        line(kind, &text(&stored.workorder)?, &columns)
    }),
    ("output_bundle", sql::ALL_OUTPUT_BUNDLES, |kind, row| line(kind, row.text(0)?, &())),
    ("run_record", sql::ALL_RUN_RECORDS, |kind, row| line(kind, row.text(0)?, &())),
    ("gate_evidence", sql::ALL_EVIDENCE, |kind, row| line(kind, row.text(0)?, &())),
    ("usage_record", sql::ALL_USAGE, |kind, row| line(kind, row.text(0)?, &())),
    ("pause_state", sql::ALL_PAUSES, |kind, row| {
        let owned = |column| row.text_or_null(column).map(|text| text.map(str::to_owned));
        let columns = PauseColumns {
            pause_key: row.text(1)?.into(),
            work_order_id: owned(2)?,
            event_id: owned(3)?,
            local_objective_id: owned(4)?,
            urgency: row.number_or_null(9)?,
        };
        line(kind, row.text(0)?, &columns)
    }),
    ("snooze", tasks::sql::ALL_SNOOZES, |kind, row| {
        let (azolla_id, objective_id) = (row.parsed(0)?, row.parsed(1)?);
        line(kind, "null", &SnoozeColumns { azolla_id, objective_id, until: row.parsed(2)? })
    }),
    ("session_manifest", tasks::sql::ALL_MANIFESTS, |kind, row| {
        line(kind, row.text(0)?, &ManifestColumns { work_order_id: row.parsed(2)? })
    }),
    ("candidate", tasks::sql::ALL_CANDIDATES, |kind, row| {
        line(kind, "null", &CandidateColumns { output_id: row.parsed(0)?, candidate_index: row.number(1)? })
    }),
    ("candidate_resolution", tasks::sql::ALL_RESOLUTIONS, |kind, row| {
        let columns = ResolutionColumns { taken_back: row.number(6)? != 0 };
        line(kind, &text(&rows::read_resolution(row)?)?, &columns)
    }),
    ("journal", sql::ALL_JOURNAL, |kind, row| {
        let commit_id = row.text_or_null(11)?.map(|_| row.parsed(11)).transpose()?;
        line(kind, &text(&rows::read_journal(row)?)?, &JournalColumns { commit_id })
    }),
];

/// The highest claim_version that is imported (T38): the next grant is one more, and has to fit a document. A store that
/// grants a thousand claims a second comes here after thirty thousand years.
const CLAIM_VERSION_MAX: u64 = 1 << 50;

/// Fills an empty Substrate from an export of the same azolla, in one transaction. Every document is checked
/// against its schema on the way.
pub async fn import(store: &dyn Substrate, input: impl BufRead + Send + 'static) -> Result<(), ArchiveError> {
    let read: &dyn SubstrateRead = store;
    let identity = read.identity().await?;
    let (sender, steps) = mpsc::channel(256);
    let reader = tokio::task::spawn_blocking(move || {
        let result = read_lines(input, &identity, &|step| sender.blocking_send(Ok(step)).is_ok());
        if result.is_err() {
            // Ends the transaction; the reader's own error is the one that is reported.
            let _ = sender.blocking_send(Err(SubstrateError::Malformed("the archive is not whole".into())));
        }
        result
    });
    let loaded = store.load(steps).await;
    let lines = reader.await.map_err(|error| SubstrateError::Unavailable(error.into()))??;
    loaded.map_err(|LoadError { step, error }| match (step.and_then(|step| lines.get(step)), &error) {
        (Some(number), SubstrateError::Refused { .. }) => {
            ArchiveError::Line { number: *number, problem: error.to_string() }
        }
        _ => error.into(),
    })
}

/// The refusal of a Substrate that holds something already.
pub(crate) fn not_empty() -> SubstrateError {
    SubstrateError::unusable("the Substrate is not empty", "import into a new one")
}

/// Turns every line into a step, and returns the line of each. `send` answers whether anybody still listens.
fn read_lines(
    mut input: impl BufRead,
    identity: &Identity,
    send: &dyn Fn(Step) -> bool,
) -> Result<Vec<usize>, ArchiveError> {
    let mut pointers = Vec::new();
    let mut buffer = Vec::new();
    let mut whole = false;
    let mut lines = vec![1];
    send(step("azolla", Statement::new(sql::CHECK_EMPTY, []), Expect::Found(Miss::Changed)));
    for number in 1.. {
        buffer.clear();
        let most = LINE_BYTES_MAX as u64 + 1;
        if input.by_ref().take(most).read_until(b'\n', &mut buffer)? == 0 {
            let problem = if number == 1 { "the archive is empty" } else { "the archive is cut off here" };
            if !whole {
                return Err(ArchiveError::Line { number, problem: problem.into() });
            }
            break;
        }
        let bad = |problem: String| ArchiveError::Line { number, problem };
        if buffer.len() > LINE_BYTES_MAX {
            return Err(bad(format!("is longer than {LINE_BYTES_MAX} bytes")));
        }
        if whole {
            return Err(bad("comes after the end of the archive".into()));
        }
        if number == 1 {
            check_header(&buffer, identity).map_err(bad)?;
            continue;
        }
        if let Ok(trailer) = serde_json::from_slice::<Trailer>(&buffer) {
            if trailer.lines != number - 1 {
                return Err(bad(format!("counts {} lines, not {}", trailer.lines, number - 1)));
            }
            whole = true;
            continue;
        }
        let line: Line<'_> = serde_json::from_slice(&buffer).map_err(|error| bad(error.to_string()))?;
        let (statement, pointer) = load_statement(&line, identity).map_err(|error| bad(error.to_string()))?;
        pointers.extend(pointer.map(|pointer| (number, pointer)));
        lines.push(number);
        let kind = SECTIONS.iter().find(|(kind, ..)| *kind == line.kind).map_or("archive", |(kind, ..)| kind);
        if !send(step(kind, statement, Expect::Any)) {
            return Ok(lines);
        }
    }
    // An objective's pointer to its pause_state has to wait for that pause_state.
    for (number, pointer) in pointers {
        lines.push(number);
        send(step("objective", pointer, Expect::Any));
    }
    send(step("claim_record", Statement::new(sql::LOAD_CLAIMS, []), Expect::Any));
    Ok(lines)
}

/// Returns whose Substrate an export is, by its first line.
pub fn exported_identity(line: &[u8]) -> Result<Identity, ArchiveError> {
    read_header(line).map_err(|problem| ArchiveError::Line { number: 1, problem })
}

fn read_header(line: &[u8]) -> Result<Identity, String> {
    let header: Header = serde_json::from_slice(line).map_err(|error| format!("is no export: {error}"))?;
    if header.export_version != EXPORT_VERSION || header.store_version > STORE_VERSION {
        return Err(format!(
            "was written by another version (export {}, store {}); this program reads export {EXPORT_VERSION}, \
             store up to {STORE_VERSION}",
            header.export_version, header.store_version
        ));
    }
    Ok(Identity { azolla_id: header.azolla_id, azolla_type: header.azolla_type })
}

fn check_header(line: &[u8], identity: &Identity) -> Result<(), String> {
    let found = read_header(line)?;
    if found != *identity {
        return Err(format!("is an export of {}, this Substrate is {}", found.azolla_id, identity.azolla_id));
    }
    Ok(())
}

/// Returns what a line writes, and an objective's pointer to its pause_state.
fn load_statement(
    line: &Line<'_>,
    identity: &Identity,
) -> Result<(Statement, Option<Statement>), SubstrateError> {
    let mut pointer = None;
    let statement = match line.kind.as_str() {
        "objective" => {
            let objective = document::<Objective>(line)?;
            own::<Objective>(identity, &objective.azolla_id)?;
            let columns: ObjectiveColumns = columns(line)?;
            if let Some(key) = columns.pause_key {
                let values = [key.into(), objective.objective_id.as_str().into()];
                pointer = Some(Statement::new(sql::POINT_TO_PAUSE, values));
            }
            let values = rows::objective(&objective, columns.version, columns.todo_entry, columns.waiting)?;
            Statement::new(sql::INSERT_OBJECTIVE, values)
        }
        "objective_version" => {
            let objective = document::<Objective>(line)?;
            let columns: VersionColumns = columns(line)?;
            let key = objective.objective_id.as_str().into();
            let values = [key, columns.version.into(), objective.document().into()];
            Statement::new(sql::INSERT_OBJECTIVE_VERSION, values)
        }
        "capture_buffer" => {
            let (capture, columns) = (document::<CaptureBuffer>(line)?, columns::<CaptureColumns>(line)?);
            own::<CaptureBuffer>(identity, &capture.azolla_id)?;
            Statement::new(
                tasks::sql::INSERT_CAPTURE,
                rows::capture(&capture, columns.attempts, columns.attempts_before, columns.held),
            )
        }
        "event" => {
            let (event, columns) = (document::<Event>(line)?, columns::<EventColumns>(line)?);
            own::<Event>(identity, &event.azolla_id)?;
            Statement::new(sql::INSERT_EVENT, rows::event(&event, columns.entry, columns.claim_count))
        }
        "context_snapshot" => {
            let columns: SnapshotColumns = columns(line)?;
            let values = rows::snapshot(&document::<ContextSnapshot>(line)?, columns.objective_version);
            Statement::new(sql::INSERT_SNAPSHOT, values)
        }
        "workorder" => {
            let columns: WorkorderColumns = columns(line)?;
            Statement::new(sql::LOAD_WORKORDER, workorder(&*document::<Workorder>(line)?, &columns))
        }
        "output_bundle" => {
            Statement::new(sql::INSERT_OUTPUT_BUNDLE, rows::output_bundle(&document::<OutputBundle>(line)?))
        }
        "run_record" => {
            Statement::new(sql::INSERT_RUN_RECORD, rows::run_record(&document::<RunRecord>(line)?))
        }
        "gate_evidence" => {
            Statement::new(sql::INSERT_EVIDENCE, rows::evidence(&document::<GateEvidence>(line)?))
        }
        "usage_record" => Statement::new(sql::INSERT_USAGE, rows::usage(&document::<UsageRecord>(line)?)),
        "pause_state" => {
            let columns: PauseColumns = columns(line)?;
            let ends = rows::PauseEnds {
                work_order_id: columns.work_order_id.as_deref(),
                event_id: columns.event_id.as_deref(),
                local_objective_id: columns.local_objective_id.as_deref(),
                urgency: columns.urgency,
            };
            let values = rows::pause_values(&columns.pause_key, &document::<PauseState>(line)?, &ends);
            Statement::new(sql::INSERT_PAUSE, values)
        }
        "snooze" => {
            let columns: SnoozeColumns = bare_columns(line)?;
            let (azolla_id, objective_id) = (columns.azolla_id.as_str(), columns.objective_id.as_str());
            Statement::new(tasks::sql::SNOOZE, [azolla_id.into(), objective_id.into(), columns.until.into()])
        }
        "session_manifest" => {
            let (manifest, columns) = (document::<SessionManifest>(line)?, columns::<ManifestColumns>(line)?);
            own::<SessionManifest>(identity, &manifest.azolla_id)?;
            Statement::new(
                tasks::sql::INSERT_MANIFEST,
                rows::manifest(&manifest, columns.work_order_id.as_str()),
            )
        }
        "candidate" => {
            let columns: CandidateColumns = bare_columns(line)?;
            let values = [columns.output_id.as_str().into(), columns.candidate_index.into()];
            Statement::new(tasks::sql::LOAD_CANDIDATE, values)
        }
        "candidate_resolution" => {
            let columns: ResolutionColumns = columns(line)?;
            let values = rows::resolution(&*document::<CandidateResolution>(line)?, columns.taken_back);
            Statement::new(tasks::sql::RESOLVE_CANDIDATE, values)
        }
        "journal" => {
            let columns: JournalColumns = columns(line)?;
            let entry = document::<JournalEntry>(line)?;
            if let Some(version) = entry.claim_version.filter(|version| *version > CLAIM_VERSION_MAX) {
                return Err(SubstrateError::Malformed(format!(
                    "claim_version is {version}; more than {CLAIM_VERSION_MAX} were never granted"
                )));
            }
            Statement::new(sql::LOAD_JOURNAL, rows::journal(&entry, columns.commit_id)?)
        }
        other => return Err(SubstrateError::Malformed(format!("unknown kind {other:?}"))),
    };
    Ok((statement, pointer))
}

/// Refuses a document of another azolla. A pause_state may name one: the deadline of a remote objective.
fn own<A: Artifact>(identity: &Identity, azolla_id: &AzollaId) -> Result<(), SubstrateError> {
    if *azolla_id == identity.azolla_id {
        Ok(())
    } else {
        Err(SubstrateError::foreign::<A>(azolla_id, &identity.azolla_id))
    }
}

fn workorder(workorder: &Workorder, columns: &WorkorderColumns) -> [crate::statement::Cell; 12] {
    [
        workorder.work_order_id.as_str().into(),
        workorder.objective_id.as_str().into(),
        workorder.diazotroph_type.as_str().into(),
        workorder.context_snapshot_id.as_str().into(),
        workorder.branch_name.as_deref().into(),
        workorder.budget_ms.into(),
        workorder.status.as_str().into(),
        workorder.created_at.into(),
        columns.event_id.as_str().into(),
        columns.budget_consumed_ms.into(),
        columns.claim_count.into(),
        columns.stream_slot.into(),
    ]
}

fn document<A: Artifact>(line: &Line<'_>) -> Result<Validated<A>, SubstrateError> {
    Ok(Validated::parse(line.document.get().as_bytes())?)
}

/// The columns of what has no document.
fn bare_columns<T: DeserializeOwned>(line: &Line<'_>) -> Result<T, SubstrateError> {
    if line.document.get() != "null" {
        return Err(SubstrateError::Malformed(format!("{} has no document", line.kind)));
    }
    columns(line)
}

fn columns<T: DeserializeOwned>(line: &Line<'_>) -> Result<T, SubstrateError> {
    let text = line.store.map_or("null", RawValue::get);
    let bad = |what: String| SubstrateError::Malformed(format!("the store columns of {}: {what}", line.kind));
    let values: serde_json::Value = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
    for (field, value) in values.as_object().into_iter().flatten() {
        if value.is_number() && value.as_u64().is_none_or(|number| number > NUMBER_MAX) {
            return Err(bad(format!("{field} must be a whole number from 0 to {NUMBER_MAX}")));
        }
    }
    serde_json::from_str(text).map_err(|error| bad(error.to_string()))
}

fn step(artifact: &'static str, statement: Statement, expect: Expect) -> Step {
    Step { statement, expect, artifact }
}

/// Keys in the order of canonical text, so that a whole line is canonical.
fn line<T: Serialize>(kind: &str, document: &str, store: &T) -> Result<String, SubstrateError> {
    Ok(format!("{{\"document\":{document},\"kind\":\"{kind}\",\"store\":{}}}", text(store)?))
}

fn text<T: Serialize>(value: &T) -> Result<String, SubstrateError> {
    canonical(value).map_err(|error| SubstrateError::corrupt(error.to_string()))
}
