//! The ways to break a store, as a table: the finding that each has to lead to, and the SQL that does it.

use azolla_protocol::{EventId, ManifestId, OutputId, RunId, SnapshotId, Timestamp, WorkOrderId};
use azolla_testkit::{TestStore, store::azolla_id};

use crate::everything::Everything;

/// One thing that is wrong.
#[derive(Debug)]
pub(super) struct Break {
    pub(super) invariant: u8,
    pub(super) resource: String,
    /// What the finding says, or a part of it.
    pub(super) what: &'static str,
    pub(super) sql: String,
}

fn broken(invariant: u8, resource: impl ToString, what: &'static str, sql: String) -> Break {
    Break { invariant, resource: resource.to_string(), what, sql }
}

pub(super) async fn breaks(world: &TestStore, made: &Everything) -> Vec<Break> {
    let names = Names {
        event: event_of(&made.confirmed),
        snapshot: SnapshotId::of(&event_of(&made.confirmed)),
        output: OutputId::of(&made.confirmed),
        run: RunId::of(&made.confirmed),
        objective: objective_of(world, &made.confirmed).await,
        open_event: event_of(&made.open),
        waits: objective_of(world, &made.retried).await,
    };
    let mut all = between_tables(made, &names);
    all.extend(in_documents(made, &names));
    all.extend(in_columns(made, &names));
    all.extend(in_pause_keys(made));
    all.extend(of_objectives(made, &names));
    all.extend(in_the_journal(made, &names));
    all.extend(of_claims(made, &names));
    all.extend(of_candidates(made));
    all.extend(of_deadlines(made));
    all
}

struct Names {
    event: EventId,
    snapshot: SnapshotId,
    output: OutputId,
    run: RunId,
    objective: String,
    open_event: EventId,
    /// The objective of the second attempt, which passed.
    waits: String,
}

async fn objective_of(world: &TestStore, work_order_id: &WorkOrderId) -> String {
    let stored = world.read().workorder(work_order_id).await.expect("a read").expect("a workorder");
    stored.workorder.objective_id.to_string()
}

fn event_of(work_order_id: &WorkOrderId) -> EventId {
    EventId::new(format!("evt-{}", work_order_id.body())).expect("an event's id")
}

/// Invariants 1, 3, 4, and the links of 10. Each `what` is a whole entry of the list of relations.
fn between_tables(made: &Everything, names: &Names) -> Vec<Break> {
    let Names { event, snapshot, output, run, objective, open_event, .. } = names;
    let (gated, open) = (&made.confirmed, &made.open);
    let twice =
        |table: &str| format!("INSERT INTO {table} SELECT * FROM {table} WHERE work_order_id = '{gated}'");
    let gone = |table: &str| format!("DELETE FROM {table} WHERE work_order_id = '{gated}'");
    let pause = format!("workorder:{gated}");
    vec![
        broken(
            1,
            open_event,
            "is SCHEDULED and has no workorder",
            format!("DELETE FROM workorder WHERE work_order_id = '{open}'"),
        ),
        broken(
            1,
            open,
            "answers an event that is not SCHEDULED",
            format!(
                "UPDATE event SET processed = 0, processed_reason = NULL, processed_at = NULL
                     WHERE event_id = '{open_event}'"
            ),
        ),
        broken(1, event, "has more than one workorder", twice("workorder")),
        broken(3, gated, "is EXECUTED and has no output_bundle", gone("output_bundle")),
        broken(
            3,
            output,
            "belongs to no EXECUTED workorder of its objective",
            format!("UPDATE workorder SET status = 'CREATED' WHERE work_order_id = '{gated}'"),
        ),
        broken(3, gated, "has more than one output_bundle", twice("output_bundle")),
        broken(4, gated, "left the work stream without a run_record", gone("run_record")),
        broken(
            4,
            run,
            "has no gated workorder with its output_bundle",
            format!("UPDATE workorder SET stream_slot = 2 WHERE work_order_id = '{gated}'"),
        ),
        broken(4, gated, "has more than one run_record", twice("run_record")),
        broken(4, run, "has no pause_state", gone("pause_state")),
        broken(4, gated, "has more than one pause_state", twice("pause_state")),
        broken(4, &pause, "ends a workorder that has no run_record", gone("run_record")),
        broken(
            10,
            snapshot,
            "names a version of its objective that is not kept",
            format!("UPDATE context_snapshot SET objective_version = 99 WHERE snapshot_id = '{snapshot}'"),
        ),
        broken(
            10,
            gated,
            "links to no objective, or to no snapshot of it",
            format!("DELETE FROM context_snapshot WHERE snapshot_id = '{snapshot}'"),
        ),
        broken(
            10,
            format!("event:{}", made.blocked_event),
            "links to no objective, or to no event",
            format!("DELETE FROM event WHERE event_id = '{}'", made.blocked_event),
        ),
        broken(
            10,
            &pause,
            "links to no objective, or to no event",
            format!("DELETE FROM objective WHERE objective_id = '{objective}'"),
        ),
        broken(
            10,
            &pause,
            "names another objective than its workorder",
            format!("UPDATE pause_state SET objective_id = '{}' WHERE pause_key = '{pause}'", made.standing),
        ),
        broken(
            10,
            &made.archived,
            "points to no pause_state of its own",
            format!("UPDATE objective SET pause_key = '{pause}' WHERE objective_id = '{}'", made.archived),
        ),
        broken(
            10,
            RunId::of(&made.retried),
            "links to no run_record",
            format!("UPDATE gate_evidence SET work_order_id = '{gated}'"),
        ),
        broken(
            10,
            "wo-none",
            "has usage but does not exist",
            "UPDATE usage_record SET work_order_id = 'wo-none'".into(),
        ),
        broken(
            10,
            ManifestId::of(&made.manifest),
            "belongs to no gated workorder",
            format!("UPDATE session_manifest SET work_order_id = '{open}'"),
        ),
        broken(
            10,
            "out-none",
            "has a resolution of a candidate that does not exist",
            "UPDATE candidate_resolution SET output_id = 'out-none'".into(),
        ),
        broken(
            10,
            "out-none",
            "has candidates but is no triage output that passed",
            "UPDATE candidate SET output_id = 'out-none'".into(),
        ),
        broken(
            10,
            OutputId::of(&made.triage),
            "has candidates but is no triage output that passed",
            format!(
                "UPDATE workorder SET diazotroph_type = 'PATCH_DIAZOTROPH' WHERE work_order_id = '{}'",
                made.triage
            ),
        ),
        broken(
            10,
            OutputId::of(&made.triage),
            "has a candidate that is open and resolved, or neither",
            "UPDATE candidate SET open = 1 WHERE candidate_index = 0".into(),
        ),
        broken(
            10,
            OutputId::of(&made.triage),
            "has a candidate that is open and resolved, or neither",
            "UPDATE candidate SET open = 0".into(),
        ),
        broken(
            10,
            "evt-none",
            "is claimed but does not exist",
            format!("UPDATE claim_record SET resource_id = 'evt-none' WHERE resource_id = '{event}'"),
        ),
        broken(
            10,
            &made.archived,
            "does not have all its versions",
            format!("DELETE FROM objective_version WHERE objective_id = '{}' AND version = 1", made.archived),
        ),
        broken(
            10,
            "obj-none",
            "has a version that it never reached",
            format!(
                "UPDATE objective_version SET objective_id = 'obj-none' WHERE objective_id = '{objective}'"
            ),
        ),
        broken(
            10,
            &made.archived,
            "has a version that it never reached",
            format!("UPDATE objective SET version = 1 WHERE objective_id = '{}'", made.archived),
        ),
    ]
}

/// Invariants 9 and 10: documents, what their key columns say of them, and the links inside them.
fn in_documents(made: &Everything, names: &Names) -> Vec<Break> {
    let Names { snapshot, output, run, objective, .. } = names;
    let pause = format!("workorder:{}", made.confirmed);
    let mut all = Vec::new();
    for (table, key, id) in [
        ("objective_version", "objective_id", objective.clone()),
        ("context_snapshot", "snapshot_id", snapshot.to_string()),
        ("output_bundle", "output_id", output.to_string()),
        ("run_record", "run_id", run.to_string()),
        ("gate_evidence", "run_id", RunId::of(&made.retried).to_string()),
        ("usage_record", "work_order_id", made.retried.to_string()),
        ("pause_state", "pause_key", pause.clone()),
        ("session_manifest", "manifest_id", ManifestId::of(&made.manifest).to_string()),
    ] {
        let set = |to: &str| format!("UPDATE {table} SET document = {to} WHERE {key} = '{id}'");
        all.push(broken(10, &id, "surprise", set("'{\"a_surprise\":1,' || substr(document, 2)")));
        all.push(broken(10, &id, "canonical form", set("document || ' '")));
    }
    for (table, key, id, column) in [
        ("context_snapshot", "snapshot_id", snapshot.to_string(), "objective_id"),
        ("output_bundle", "output_id", output.to_string(), "objective_id"),
        ("output_bundle", "output_id", output.to_string(), "work_order_id"),
        ("run_record", "run_id", run.to_string(), "work_order_id"),
        ("run_record", "run_id", run.to_string(), "objective_id"),
        ("run_record", "run_id", run.to_string(), "output_id"),
        ("run_record", "run_id", run.to_string(), "gate_result"),
        ("gate_evidence", "run_id", RunId::of(&made.retried).to_string(), "work_order_id"),
        ("pause_state", "pause_key", pause.clone(), "objective_id"),
        ("pause_state", "pause_key", pause.clone(), "azolla_id"),
        ("pause_state", "pause_key", pause.clone(), "reason"),
        ("context_snapshot", "snapshot_id", snapshot.to_string(), "created_at"),
        ("output_bundle", "output_id", output.to_string(), "created_at"),
        ("run_record", "run_id", run.to_string(), "created_at"),
        ("gate_evidence", "run_id", RunId::of(&made.retried).to_string(), "created_at"),
        ("usage_record", "work_order_id", made.retried.to_string(), "created_at"),
        ("pause_state", "pause_key", pause, "created_at"),
        ("session_manifest", "manifest_id", ManifestId::of(&made.manifest).to_string(), "created_at"),
        ("session_manifest", "manifest_id", ManifestId::of(&made.manifest).to_string(), "azolla_id"),
    ] {
        let sql = format!("UPDATE {table} SET {column} = 'other' WHERE {key} = '{id}'");
        all.push(broken(10, id, "its column other", sql));
    }
    all.push(broken(
        10,
        &made.retried,
        "usage_record says 1, its column 7",
        format!("UPDATE usage_record SET claim_version = 7 WHERE work_order_id = '{}'", made.retried),
    ));
    let related = SnapshotId::of(&event_of(&made.retried));
    let (triaged, manifest) = (OutputId::of(&made.triage), OutputId::of(&made.manifest));
    let [by_triage, _, pending] = &made.captures;
    all.extend([
        broken(
            10,
            &related,
            "names out-none, which does not exist",
            format!(
                "UPDATE context_snapshot SET document = replace(document, '{}', 'out-none')
                     WHERE snapshot_id = '{related}'",
                OutputId::of(&made.failed)
            ),
        ),
        broken(
            10,
            &triaged,
            "names cap-none, which does not exist",
            format!(
                "UPDATE output_bundle SET document = replace(document, '{by_triage}', 'cap-none')
                     WHERE output_id = '{triaged}'"
            ),
        ),
        broken(
            9,
            pending,
            "named by 0 passed triage bundles",
            format!("UPDATE capture_buffer SET status = 'PROCESSED' WHERE capture_id = '{pending}'"),
        ),
        broken(
            9,
            by_triage,
            "named by 0 passed triage bundles",
            format!(
                "UPDATE run_record SET gate_result = 'FAIL', document = replace(document, 'PASS', 'FAIL')
                     WHERE work_order_id = '{}'",
                made.triage
            ),
        ),
        broken(
            9,
            by_triage,
            "named by 2 passed triage bundles",
            format!(
                "UPDATE workorder SET diazotroph_type = 'TRIAGE_DIAZOTROPH' WHERE work_order_id = '{}';
                     UPDATE output_bundle SET document = replace(document, '\"elapsed_ms\"',
                         '\"capture_ids\":[\"{by_triage}\"],\"elapsed_ms\"')
                     WHERE output_id = '{manifest}'",
                made.manifest
            ),
        ),
    ]);
    all
}

/// Invariant 10: artifacts that are kept column by column.
fn in_columns(made: &Everything, names: &Names) -> Vec<Break> {
    let Names { event, objective, .. } = names;
    let (gated, capture) = (&made.confirmed, &made.captures[0]);
    vec![
        broken(
            10,
            objective,
            "objective.urgency",
            format!("UPDATE objective SET urgency = 9 WHERE objective_id = '{objective}'"),
        ),
        broken(
            10,
            objective,
            "LATER",
            format!("UPDATE objective SET status = 'LATER' WHERE objective_id = '{objective}'"),
        ),
        broken(
            10,
            &made.archived,
            "is not what the objective says",
            format!("UPDATE objective SET title = 'other' WHERE objective_id = '{}'", made.archived),
        ),
        broken(
            10,
            capture,
            "LATER",
            format!("UPDATE capture_buffer SET status = 'LATER' WHERE capture_id = '{capture}'"),
        ),
        broken(
            10,
            capture,
            "capture_buffer.raw_content",
            format!("UPDATE capture_buffer SET raw_content = '' WHERE capture_id = '{capture}'"),
        ),
        broken(
            10,
            event,
            "SOME_EVENT",
            format!("UPDATE event SET type = 'SOME_EVENT' WHERE event_id = '{event}'"),
        ),
        broken(
            10,
            gated,
            "workorder.budget_ms",
            format!("UPDATE workorder SET budget_ms = 0 WHERE work_order_id = '{gated}'"),
        ),
        broken(
            10,
            OutputId::of(&made.triage),
            "candidate_resolution.resolved_by",
            "UPDATE candidate_resolution SET resolved_by = ''".into(),
        ),
        broken(
            10,
            &made.open,
            "column 2",
            format!("UPDATE claim_record SET owner_id = 'nobody' WHERE resource_id = '{}'", made.open),
        ),
        broken(10, "journal Some(Int(1))", "S-z", "UPDATE journal SET step = 'S-z' WHERE seq = 1".into()),
    ]
}

/// Invariant 10: the key of a pause_state, and the columns that it is made of.
fn in_pause_keys(made: &Everything) -> Vec<Break> {
    let (gated, event) = (&made.confirmed, &made.blocked_event);
    let (of_gated, of_event) = (format!("workorder:{gated}"), format!("event:{event}"));
    let what = "the pause_key is not that of what it ends";
    let set = |set: &str, key: &str| format!("UPDATE pause_state SET {set} WHERE pause_key = '{key}'");
    let renamed = |to: &str, key: &str| broken(10, to, what, set(&format!("pause_key = '{to}'"), key));
    let deadline = |to: &str| {
        let local = format!("deadline:{}:{}:", azolla_id(), made.archived);
        let sql = format!("UPDATE pause_state SET pause_key = '{to}' WHERE pause_key LIKE '{local}%'");
        broken(10, to, what, sql)
    };
    vec![
        renamed("workorder:wo-none", &of_gated),
        renamed("event:evt-none", &of_event),
        renamed(&format!("event:{gated}"), &of_gated),
        deadline(&format!("deadline:az-none:{}:2026-01-01T00:00:00.000Z", made.archived)),
        deadline(&format!("deadline:{}:obj-none:2026-01-01T00:00:00.000Z", azolla_id())),
        deadline(&format!("deadline:{}:{}:soon", azolla_id(), made.archived)),
        broken(10, &of_event, what, set(&format!("work_order_id = '{gated}'"), &of_event)),
        broken(10, &of_event, what, set("local_objective_id = NULL", &of_event)),
        broken(10, &of_gated, what, set(&format!("local_objective_id = '{}'", made.standing), &of_gated)),
    ]
}

/// Invariant 10: deadlines and what moves them (D-1).
fn of_deadlines(made: &Everything) -> Vec<Break> {
    let key = |at: Timestamp| format!("deadline:{}:{}:{at}", azolla_id(), made.archived);
    let (first, second) = (key(made.deadline), key(made.deadline.plus_ms(-1)));
    let of_gated = format!("workorder:{}", made.confirmed);
    let set = |key: &str, urgency: &str| {
        format!("UPDATE pause_state SET urgency = {urgency} WHERE pause_key = '{key}'")
    };
    vec![
        broken(10, &of_gated, "its urgency is Some(2)", set(&of_gated, "2")),
        broken(10, &first, "its urgency is Some(7)", set(&first, "7")),
        broken(10, &first, "its urgency is None", set(&first, "NULL")),
        broken(10, &second, "at urgency 3 after 2", set(&second, "3")),
        broken(10, &second, "at urgency 2 after 2", set(&second, "2")),
        broken(10, azolla_id(), "column 2", "UPDATE snooze SET until = 'soon'".into()),
        broken(10, "nobody", "column 0", "UPDATE snooze SET azolla_id = 'nobody'".into()),
    ]
}

/// Invariants 8 and 10: what the store keeps of an objective beside its document, and its earlier versions.
fn of_objectives(made: &Everything, names: &Names) -> Vec<Break> {
    let (objective, archived) = (&names.objective, &made.archived);
    let set = |set: &str, id: &dyn ToString| {
        format!("UPDATE objective SET {set} WHERE objective_id = '{}'", id.to_string())
    };
    let version = |set: &str, version: u64| {
        format!(
            "UPDATE objective_version SET {set} WHERE objective_id = '{objective}' AND version = {version}"
        )
    };
    let confirmed = "confirmed does not agree with metadata.completion";
    let hidden = "archived does not agree with metadata.archived_at";
    vec![
        broken(10, objective, confirmed, set("confirmed = 0", objective)),
        broken(10, archived, confirmed, set("confirmed = 1", archived)),
        broken(10, archived, hidden, set("archived = 0", archived)),
        broken(10, objective, hidden, set("archived = 1", objective)),
        broken(8, objective, "has waiting 1, the journal 0", set("waiting = 1", objective)),
        broken(8, objective, "has waiting 2, the journal 0", set("waiting = 2", objective)),
        broken(8, &names.waits, "has waiting 0, the journal 1", set("waiting = 0", &names.waits)),
        broken(8, &names.waits, "has todo_entry 1, the journal 2", set("todo_entry = 1", &names.waits)),
        broken(8, archived, "has todo_entry 1, the journal 0", set("todo_entry = 1", archived)),
        broken(
            8,
            objective,
            "version 2 is NEW, the journal led to Some(Todo)",
            version("document = replace(document, '\"TODO\"', '\"NEW\"')", 2),
        ),
        broken(
            10,
            objective,
            "surprise",
            version("document = '{\"a_surprise\":1,' || substr(document, 2)", 2),
        ),
        broken(10, objective, "canonical form", version("document = document || ' '", 2)),
        broken(
            10,
            objective,
            "objective says obj-none",
            version(&format!("document = replace(document, '{objective}', 'obj-none')"), 2),
        ),
        broken(
            8,
            archived,
            "has version 3, the journal 2 rows of it",
            format!("DELETE FROM journal WHERE step = 'EDIT' AND resource_id = '{archived}'"),
        ),
    ]
}

/// Invariants 2, 7 and 8: what happened, in its order.
fn in_the_journal(made: &Everything, names: &Names) -> Vec<Break> {
    let Names { event, objective, .. } = names;
    let (open, standing) = (&made.open, &made.standing);
    let of_event = format!("step = 'PROCESS' AND resource_id = '{event}'");
    let limits = |limits: &str| {
        format!("UPDATE journal SET detail = {limits} WHERE step = 'INSERT' AND resource_id = '{open}'")
    };
    let step = |set: &str, step: &str| {
        format!("UPDATE journal SET {set} WHERE step = '{step}' AND resource_id = '{objective}'")
    };
    vec![
        broken(2, event, "the journal does not say so", format!("DELETE FROM journal WHERE {of_event}")),
        broken(
            2,
            event,
            "was processed 2 times",
            format!("INSERT INTO journal SELECT * FROM journal WHERE {of_event}"),
        ),
        broken(
            2,
            &made.blocked_event,
            "was processed 1 times",
            format!(
                "UPDATE event SET processed = 0, processed_reason = NULL, processed_at = NULL
                     WHERE event_id = '{}'",
                made.blocked_event
            ),
        ),
        broken(7, open, "was created without its limits", limits("NULL")),
        broken(7, open, "is open workorder 1 of 0", limits("'{\"max_concurrent\":0,\"review_limit\":0}'")),
        broken(
            7,
            open,
            "1 open and 3 waiting exceed 2",
            limits("'{\"max_concurrent\":3,\"review_limit\":2}'"),
        ),
        broken(8, objective, "is not in the table", step("to_status = 'DONE'", "S-b")),
        broken(8, objective, "by RUNNER is not in the table", step("actor = 'RUNNER'", "S-e")),
        broken(
            8,
            objective,
            "goes on from",
            format!("DELETE FROM journal WHERE step = 'S-b' AND resource_id = '{objective}'"),
        ),
        broken(
            8,
            objective,
            "the journal ends at",
            format!("UPDATE objective SET status = 'BLOCKED' WHERE objective_id = '{objective}'"),
        ),
        broken(
            8,
            standing,
            "is STANDING, and took a step",
            format!(
                "UPDATE journal SET resource_id = '{standing}'
                     WHERE step = 'S-o' AND resource_id = '{}'",
                made.archived
            ),
        ),
    ]
}

/// Invariants 7, 8 and 10: candidates, and what the journal says of them.
fn of_candidates(made: &Everything) -> Vec<Break> {
    let (output, open) = (OutputId::of(&made.triage), &made.open);
    let opened = format!("step = 'INSERT' AND resource_type = 'candidate' AND resource_id = '{output}'");
    let resolved =
        |index: u64| format!("resource_type = 'candidate_resolution' AND resource_id = '{output}#{index}'");
    vec![
        broken(
            7,
            open,
            "1 open and 3 waiting exceed 3",
            format!(
                "UPDATE journal SET detail = '{{\"max_concurrent\":3,\"review_limit\":3}}'
                     WHERE step = 'INSERT' AND resource_id = '{open}'"
            ),
        ),
        broken(
            7,
            &output,
            "without a gate or a count",
            format!("UPDATE journal SET detail = NULL WHERE {opened}"),
        ),
        broken(
            7,
            &output,
            "without a gate or a count",
            format!("UPDATE journal SET actor = 'OPERATOR', owner_id = NULL WHERE {opened}"),
        ),
        broken(
            7,
            &output,
            "opened its candidates twice",
            format!("INSERT INTO journal SELECT * FROM journal WHERE {opened}"),
        ),
        broken(
            7,
            &output,
            "the journal opened 9",
            format!("UPDATE journal SET detail = '{{\"count\":9}}' WHERE {opened}"),
        ),
        broken(7, &output, "the journal opened 8", "DELETE FROM candidate WHERE candidate_index = 7".into()),
        broken(
            7,
            &output,
            "the journal opened 8",
            "UPDATE candidate SET candidate_index = 9 WHERE candidate_index = 7".into(),
        ),
        broken(
            8,
            format!("{output}#0"),
            "was resolved before it was opened",
            format!("UPDATE journal SET seq = 0 WHERE {}", resolved(0)),
        ),
        broken(
            8,
            format!("{output}#9"),
            "was resolved before it was opened",
            format!("UPDATE journal SET resource_id = '{output}#9' WHERE {}", resolved(0)),
        ),
        broken(
            8,
            format!("{output}#0"),
            "by nobody, or to nothing",
            format!("UPDATE journal SET actor = 'GATE' WHERE {}", resolved(0)),
        ),
        broken(
            8,
            format!("{output}#4"),
            "went from DUPLICATE to DEFERRED",
            format!("DELETE FROM journal WHERE step = 'UNDO' AND {}", resolved(4)),
        ),
        broken(
            8,
            format!("{output}#6"),
            "was taken back from Some(Promoted), it was None",
            format!("DELETE FROM journal WHERE step = 'INSERT' AND {}", resolved(6)),
        ),
        broken(
            8,
            format!("{output}#6"),
            "was taken back from Some(Promoted)",
            format!("UPDATE journal SET actor = 'GATE' WHERE step = 'UNDO' AND {}", resolved(6)),
        ),
        broken(
            8,
            format!("{output}#6"),
            "is Some(Promoted), the journal ends at None",
            "UPDATE candidate_resolution SET taken_back = 0 WHERE candidate_index = 6".into(),
        ),
        broken(
            8,
            format!("{output}#1"),
            "is None, the journal ends at Some(Discarded)",
            "UPDATE candidate_resolution SET taken_back = 1 WHERE candidate_index = 1".into(),
        ),
        broken(
            8,
            format!("{output}#1"),
            "is Some(Deferred), the journal ends at Some(Discarded)",
            "UPDATE candidate_resolution SET outcome = 'DEFERRED' WHERE candidate_index = 1".into(),
        ),
        broken(
            10,
            &output,
            "has 7 candidates, its content 8",
            "DELETE FROM candidate WHERE candidate_index = 7".into(),
        ),
        broken(
            10,
            &output,
            "its candidates: unknown field",
            format!(
                "UPDATE output_bundle SET document = replace(document, 'candidates', 'chances')
                     WHERE output_id = '{output}'"
            ),
        ),
    ]
}

/// Invariants 5 and 6: who held what, and what was written under it.
fn of_claims(made: &Everything, names: &Names) -> Vec<Break> {
    let (gated, open) = (&made.confirmed, &made.open);
    let of_open = format!("step = 'GRANT' AND resource_id = '{open}' AND claim_version = 2");
    vec![
        broken(
            5,
            open,
            "version 1 was granted after version 1",
            format!("UPDATE journal SET claim_version = 1 WHERE {of_open}"),
        ),
        broken(
            5,
            open,
            "a grant names no owner",
            format!("UPDATE journal SET owner_id = NULL WHERE {of_open}"),
        ),
        broken(
            5,
            gated,
            "released by somebody who did not hold it",
            format!(
                "UPDATE journal SET owner_id = 'own-none' WHERE step = 'RELEASE' AND resource_id = '{gated}'"
            ),
        ),
        broken(
            5,
            open,
            "the journal says otherwise",
            format!("UPDATE claim_record SET claim_version = 7 WHERE resource_id = '{open}'"),
        ),
        broken(
            5,
            open,
            "the journal says otherwise",
            format!("UPDATE claim_record SET released_at = granted_at WHERE resource_id = '{open}'"),
        ),
        broken(
            6,
            gated,
            "after its claim 1 had ended",
            format!("UPDATE journal SET seq = 1000000 WHERE step = 'EXECUTE' AND resource_id = '{gated}'"),
        ),
        broken(
            6,
            gated,
            "GATE was written under no claim",
            format!(
                "UPDATE journal SET owner_id = NULL, claim_version = NULL \
                 WHERE step = 'GATE' AND resource_id = '{gated}'"
            ),
        ),
        broken(
            6,
            &names.output,
            "wrote after its claim 9 had ended",
            format!("UPDATE journal SET claim_version = 9 WHERE resource_id = '{}'", names.output),
        ),
    ]
}
