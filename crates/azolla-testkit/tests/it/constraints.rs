//! Every constraint of the store, tried with raw SQL behind the Substrate's back, on a connection with the
//! database's default settings; on SQLite also with the fewest checks that a connection can ask for. Each attempt is refused in words that name `artifact.field RULE`, and the store is
//! afterwards what it was before.

mod immutable;
mod links;
mod once;
mod states;

use std::{collections::BTreeSet, path::Path};

use azolla_testkit::{TestStore, store::Place};

use crate::seed::exported;

/// An attempt: the SQL, and the `artifact.field RULE` that its refusal names.
type Attempt = (String, &'static str);

/// Every table with the columns of an insert.
const TABLES: &[(&str, &str)] = &[
    ("azolla", "one, azolla_id, azolla_type, created_at"),
    (
        "objective",
        "objective_id, azolla_id, title, acceptance_criteria, objective_type, status, importance, urgency, \
         blocked_reason, blocked_on, metadata, created_at, updated_at, version, todo_entry, waiting, confirmed, \
         archived, pause_key",
    ),
    ("objective_version", "objective_id, version, document"),
    (
        "capture_buffer",
        "capture_id, azolla_id, raw_content, source_label, status, created_at, updated_at, attempts, \
         attempts_before, held",
    ),
    (
        "event",
        "event_id, type, resource_id, azolla_id, created_at, processed, processed_reason, processed_at, entry, \
         claim_count",
    ),
    ("context_snapshot", "snapshot_id, objective_id, created_at, document, objective_version"),
    (
        "workorder",
        "work_order_id, objective_id, diazotroph_type, context_snapshot_id, branch_name, budget_ms, status, \
         created_at, event_id, budget_consumed_ms, claim_count, stream_slot",
    ),
    ("output_bundle", "output_id, objective_id, created_at, document, work_order_id"),
    ("run_record", "run_id, work_order_id, objective_id, output_id, gate_result, created_at, document"),
    ("gate_evidence", "run_id, work_order_id, created_at, document"),
    ("usage_record", "work_order_id, claim_version, created_at, document"),
    (
        "pause_state",
        "pause_key, objective_id, azolla_id, reason, created_at, document, work_order_id, event_id, \
         local_objective_id, urgency",
    ),
    ("snooze", "azolla_id, objective_id, until"),
    ("session_manifest", "manifest_id, azolla_id, created_at, document, work_order_id"),
    ("candidate", "output_id, candidate_index, open"),
    (
        "candidate_resolution",
        "output_id, candidate_index, outcome, objective_id, resolved_by, created_at, taken_back",
    ),
    (
        "claim_record",
        "resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at, claim_version, granted_at, \
         released_at, lost_ms",
    ),
    (
        "journal",
        "seq, at, actor, owner_id, claim_version, step, resource_type, resource_id, from_status, to_status, \
         detail, commit_id",
    ),
];

fn columns(table: &str) -> impl Iterator<Item = &'static str> {
    let (_, columns) = TABLES.iter().find(|(name, _)| *name == table).expect("a table of ours");
    columns.split(", ")
}

/// Inserts the rows of `table` for which `key` holds once more, with some columns changed.
fn copy(table: &str, key: &str, changes: &[(&str, &str)]) -> String {
    let changed =
        |column| changes.iter().find(|(name, _)| *name == column).map_or(column, |(_, value)| *value);
    let values: Vec<_> = columns(table).map(changed).collect();
    for (name, _) in changes {
        assert!(columns(table).any(|column| column == *name), "{table} has no column {name}");
    }
    let names: Vec<_> = columns(table).collect();
    format!(
        "INSERT INTO {table} ({}) SELECT {} FROM {table} WHERE {key}",
        names.join(", "),
        values.join(", ")
    )
}

/// Several statements in one transaction that leaves nothing behind.
fn together(statements: impl AsRef<[String]>) -> String {
    format!("BEGIN; {}; ROLLBACK", statements.as_ref().join("; "))
}

fn is_sqlite(world: &TestStore) -> bool {
    matches!(world.place, Place::File(..))
}

/// Where the two databases notice a different rule first.
fn named(world: &TestStore, on_sqlite: &'static str, on_postgres: &'static str) -> &'static str {
    if is_sqlite(world) { on_sqlite } else { on_postgres }
}

/// What SQLite itself does where nobody asks otherwise: no foreign keys, and a REPLACE that removes a row fires no
/// delete trigger. (The SQLite in this program is built with foreign keys on.)
const UNGUARDED: &str = "PRAGMA foreign_keys = OFF; PRAGMA recursive_triggers = OFF; ";

/// The ways to make an attempt. On SQLite the triggers alone have to refuse it, and also where it would remove the
/// rows in its way.
fn ways(world: &TestStore, sql: &str) -> Vec<String> {
    let mut ways = vec![sql.to_owned()];
    if is_sqlite(world) {
        let begins = |word: &str, with: &str, sql: &str| {
            let first = sql.strip_prefix(word).map(|rest| format!("{with}{rest}"));
            first.unwrap_or_else(|| sql.to_owned()).replace(&format!("; {word}"), &format!("; {with}"))
        };
        let replacing = begins("INSERT INTO ", "INSERT OR REPLACE INTO ", sql);
        let replacing = begins("UPDATE ", "UPDATE OR REPLACE ", &replacing);
        ways.push(format!("{UNGUARDED}{sql}"));
        ways.push(format!("{UNGUARDED}{replacing}"));
        ways.dedup();
    }
    ways
}

/// Makes every attempt in every way; none may get through, and none may leave a trace.
async fn refuses(world: &TestStore, attempts: Vec<Attempt>) {
    let before = exported(world).await;
    let mut wrong = Vec::new();
    for (attempt, rule) in &attempts {
        for sql in ways(world, attempt) {
            match world.raw(&sql).await {
                Err(text) if text.contains(rule) => {}
                Err(text) => wrong.push(format!("{sql}\n    says {text:?}, not {rule:?}")),
                Ok(()) => wrong.push(format!("{sql}\n    is allowed; {rule} refuses it")),
            }
        }
    }
    assert!(wrong.is_empty(), "of {} attempts:\n{}", attempts.len(), wrong.join("\n"));
    assert!(exported(world).await == before, "the attempts changed the store");
}

/// What the constraints let through, in a transaction that is rolled back: so that a refusal above is seen to be
/// about the one thing that it changes.
async fn allows(world: &TestStore, sql: String) {
    world.raw(&sql).await.unwrap_or_else(|text| panic!("{sql}\n    is refused: {text}"));
}

/// So that a later constraint cannot be forgotten: every `artifact.field RULE` of the migrations is expected above.
#[test]
fn every_refusal_that_a_migration_names_is_tried() {
    let tried = [
        include_str!("constraints/immutable.rs"),
        include_str!("constraints/links.rs"),
        include_str!("constraints/once.rs"),
        include_str!("constraints/states.rs"),
    ]
    .concat();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../azolla-substrate/migrations");
    let mut refusals = BTreeSet::new();
    for backend in ["sqlite", "postgres"] {
        for file in std::fs::read_dir(folder.join(backend)).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            refusals.extend(text.split(['\'', '"']).filter_map(refusal).map(str::to_owned));
        }
    }
    let named = |refusal: &&String| tried.contains(&format!("\"{refusal}\""));
    let untried: Vec<_> =
        refusals.iter().filter(|refusal| !named(refusal) && !SHADOWED.contains(&refusal.as_str())).collect();
    assert!(refusals.len() > 50, "the migrations do not read as expected: {refusals:?}");
    assert_eq!(untried, [] as [&str; 0]);
}

/// Keys that nothing reaches, because another rule refuses the same row before: the output of a workorder that has a
/// run_record belongs to that workorder alone.
const SHADOWED: [&str; 1] = ["run_record.output_id W-5"];

/// Returns the `artifact.field RULE` that a text begins with.
fn refusal(text: &str) -> Option<&str> {
    let (place, rest) = text.split_once(' ')?;
    let rule = rest.split(' ').next()?;
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let (artifact, field) = place.split_once('.')?;
    let is_rule = rule.contains('-') && rule.starts_with(|first: char| first.is_ascii_uppercase());
    (is_name(artifact) && is_name(field) && is_rule).then(|| &text[..place.len() + 1 + rule.len()])
}
