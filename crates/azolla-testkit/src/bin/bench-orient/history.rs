//! Copies a template into a store of the program, as often as needed: the same rows with other ids and another time.

use std::path::Path;

use anyhow::Context;
use azolla_protocol::AzollaId;
use azolla_testkit::store::AZOLLA;
use rusqlite::Connection;

use crate::template::{MINUTE, Template};

/// Where a copy goes.
pub(crate) struct Copies {
    /// How many.
    pub(crate) count: usize,
    /// What ids begin with: `printf` of the copy's number.
    pub(crate) ids: &'static str,
    /// When the first one happened; the others follow every half hour.
    pub(crate) from: &'static str,
}

/// Half a year ago and since.
pub(crate) fn history(count: usize) -> Copies {
    Copies { count, ids: "%08d", from: "2026-03-01T08:00" }
}

/// One copy, after all history.
pub(crate) const OPEN: Copies = Copies { count: 1, ids: "open%04d", from: "2026-11-14T08:00" };

/// The tables that hold artifacts of the protocol; objective versions, claims and the journal come on top.
const ARTIFACTS: [&str; 9] = [
    "objective",
    "capture_buffer",
    "event",
    "context_snapshot",
    "workorder",
    "output_bundle",
    "run_record",
    "pause_state",
    "session_manifest",
];

/// Returns how many artifacts one copy has.
pub(crate) fn artifacts(template: &Template) -> anyhow::Result<usize> {
    let connection = Connection::open(template.path())?;
    let mut found = 0;
    for table in ARTIFACTS {
        let columns = columns(&connection, "main", table)?;
        let sql = format!("SELECT COUNT(*) FROM {table} WHERE {}", is_copied(table, &columns));
        found += connection.query_row(&sql, [], |row| row.get::<_, u32>(0))? as usize;
    }
    Ok(found)
}

/// Copies `template` into the store at `path`. Checking what was just made up would only take time: the triggers come
/// back before anything is measured, and `azolla verify` looks at the small home.
pub(crate) fn copy(
    template: &Template,
    path: &Path,
    azolla_id: &AzollaId,
    copies: &Copies,
) -> anyhow::Result<()> {
    let connection = Connection::open(path)?;
    connection
        .execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -65536")?;
    connection.execute("ATTACH ?1 AS template", [template.path().to_str().context("a path of text")?])?;
    let triggers: Vec<(String, String)> =
        rows(&connection, "SELECT name, sql FROM main.sqlite_master WHERE type = 'trigger'")?;
    let tables: Vec<(String, String)> = rows(
        &connection,
        "SELECT name, name FROM main.sqlite_master WHERE type = 'table' AND name <> 'azolla' AND name NOT LIKE 'sqlite_%'",
    )?;
    connection.execute_batch("BEGIN")?;
    for (name, _) in &triggers {
        connection.execute_batch(&format!("DROP TRIGGER {name}"))?;
    }
    for (table, _) in &tables {
        let sql = copying(&connection, table, azolla_id, copies)?;
        connection.execute_batch(&sql).with_context(|| format!("copying {table}"))?;
    }
    point_standing(&connection, azolla_id, copies)?;
    for (_, sql) in &triggers {
        connection.execute_batch(sql)?;
    }
    connection.execute_batch("COMMIT; DETACH template; PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok(())
}

fn copying(
    connection: &Connection,
    table: &str,
    azolla_id: &AzollaId,
    copies: &Copies,
) -> anyhow::Result<String> {
    let columns = columns(connection, "template", table)?;
    let copied = columns.iter().map(|(name, kind)| match (name.as_str(), kind.as_str()) {
        // The journal goes on where it ends.
        ("seq", _) => "NULL".to_owned(),
        (name, "TEXT") => text(&format!("template.{table}.{name}"), azolla_id, copies),
        (name, _) => format!("template.{table}.{name}"),
    });
    let names: Vec<_> = columns.iter().map(|(name, _)| name.as_str()).collect();
    Ok(format!(
        "INSERT INTO main.{table} ({}) WITH RECURSIVE n (i) AS
            (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {})
         SELECT {} FROM n CROSS JOIN template.{table} WHERE {}",
        names.join(", "),
        copies.count,
        copied.collect::<Vec<_>>().join(", "),
        is_copied(table, &columns)
    ))
}

/// The same text in copy number `n.i`.
fn text(column: &str, azolla_id: &AzollaId, copies: &Copies) -> String {
    let Copies { ids, from, .. } = copies;
    format!(
        "replace(replace(replace({column}, '{}', printf('{ids}', n.i)), '{MINUTE}',
            strftime('%Y-%m-%dT%H:%M', '{from}', (n.i * 30) || ' minutes')), '{AZOLLA}', '{azolla_id}')",
        Template::ids_begin()
    )
}

/// Leaves out the standing objective, which every store has already.
fn is_copied(table: &str, columns: &[(String, String)]) -> String {
    let begin = Template::ids_begin();
    match table {
        "journal" => format!("resource_id LIKE '%{begin}%'"),
        "objective" | "objective_version" => format!("objective_id LIKE '%{begin}%'"),
        _ => {
            let texts = columns.iter().filter(|(_, kind)| kind == "TEXT");
            texts.map(|(name, _)| format!("{name} LIKE '%{begin}%'")).collect::<Vec<_>>().join(" OR ")
        }
    }
}

/// The standing objective's current pause_state is the last one that was copied.
fn point_standing(connection: &Connection, azolla_id: &AzollaId, copies: &Copies) -> anyhow::Result<()> {
    let key = text("pause_key", azolla_id, copies).replace("n.i", &(copies.count.max(1) - 1).to_string());
    connection.execute_batch(&format!(
        "UPDATE main.objective SET pause_key = (SELECT {key} FROM template.objective AS pointing
             WHERE pointing.objective_id = main.objective.objective_id)
         WHERE objective_type = 'STANDING' AND {} > 0",
        copies.count
    ))?;
    Ok(())
}

fn columns(connection: &Connection, schema: &str, table: &str) -> anyhow::Result<Vec<(String, String)>> {
    rows(connection, &format!("SELECT name, type FROM pragma_table_info('{table}', '{schema}')"))
}

fn rows(connection: &Connection, sql: &str) -> anyhow::Result<Vec<(String, String)>> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
