//! What the stores hold, seen from outside and past everything that is broken on purpose.

use rusqlite::{Connection, OpenFlags};
use tokio_postgres::Client;

use super::site::Site;

/// What the harness goes by.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    /// Workorders that have their run record.
    pub(super) gated: u64,
    /// The same per azolla, with whether it has a workorder that is open.
    pub(super) streams: Vec<(u64, bool)>,
    /// What is not over: unprocessed events, open workorders, objectives that are to be run, notes to be triaged. What the
    /// operator has put away waits for the operator.
    pub(super) open: u64,
    /// Objectives that wait for the operator.
    pub(super) resting: Vec<Resting>,
    /// Candidates that wait for the operator, as they are called.
    pub(super) candidates: Vec<String>,
}

/// An objective that waits for the operator.
#[derive(Clone, Debug)]
pub(super) struct Resting {
    pub(super) azolla: &'static str,
    pub(super) id: String,
    pub(super) status: String,
}

/// The ways into the stores.
pub(super) struct Looker<'a> {
    site: &'a Site,
    way: Way,
}

enum Way {
    Files(Vec<(&'static str, Connection)>),
    Server(Option<Client>),
}

/// Objectives and candidates that are looked at at a time.
const MOST: usize = 60;

impl<'a> Looker<'a> {
    /// Opens every store.
    pub(super) fn new(site: &'a Site) -> anyhow::Result<Self> {
        let way = match &site.database {
            Some(_) => Way::Server(None),
            None => {
                let mut files = Vec::new();
                for azolla in site.azollas() {
                    let path = site.homes()[0].join(format!("azollas/{azolla}.sqlite"));
                    // Not read-only: whoever looks into a log beside the file may have to make its index.
                    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
                    connection.execute_batch("PRAGMA query_only = ON; PRAGMA busy_timeout = 10000")?;
                    files.push((azolla, connection));
                }
                Way::Files(files)
            }
        };
        Ok(Self { site, way })
    }

    /// Looks at all stores. An error is a database that is away.
    pub(super) fn look(&mut self) -> anyhow::Result<Look> {
        let mut look = Look::default();
        for azolla in self.site.azollas() {
            let counts = self.rows(azolla, &|from| {
                format!(
                    "SELECT CAST((SELECT COUNT(*) FROM {from}run_record) AS TEXT),
                         CAST((SELECT COUNT(*) FROM {from}workorder WHERE stream_slot IS NOT NULL) AS TEXT),
                         CAST((SELECT COUNT(*) FROM {from}event WHERE processed = 0 AND resource_id NOT IN
                             (SELECT objective_id FROM {from}objective WHERE archived = 1))
                         + (SELECT COUNT(*) FROM {from}workorder WHERE stream_slot IS NOT NULL)
                         + (SELECT COUNT(*) FROM {from}objective WHERE status = 'TODO' AND archived = 0)
                         + (SELECT COUNT(*) FROM {from}capture_buffer WHERE status = 'PENDING' AND held = 0) AS TEXT)"
                )
            })?;
            for row in counts {
                let gated = row[0].parse::<u64>()?;
                look.gated += gated;
                look.streams.push((gated, row[1] != "0"));
                look.open += row[2].parse::<u64>()?;
            }
            let resting = self.rows(azolla, &|from| {
                format!(
                    "SELECT objective_id, status FROM {from}objective
                     WHERE objective_type = 'TICKET' AND archived = 0
                       AND (status IN ('NEW', 'BLOCKED') OR (status = 'DONE' AND confirmed = 0))
                     ORDER BY updated_at LIMIT {MOST}"
                )
            })?;
            for row in resting {
                if let [id, status] = &row[..] {
                    look.resting.push(Resting { azolla, id: id.clone(), status: status.clone() });
                }
            }
            let candidates = self.rows(azolla, &|from| {
                format!(
                    "SELECT output_id, CAST(candidate_index + 1 AS TEXT) FROM {from}candidate
                     WHERE open = 1 LIMIT {MOST}"
                )
            })?;
            look.candidates.extend(candidates.iter().map(|row| row.join("/")));
        }
        Ok(look)
    }

    /// Returns what is claimed, as `azolla resource owner until`. PostgreSQL may grant what a commit has just closed;
    /// whoever is killed before it gives that back leaves a lease that ends by itself. SQLite never does.
    pub(super) fn claims(&mut self) -> anyhow::Result<Vec<String>> {
        let mut claims = Vec::new();
        for azolla in self.site.azollas() {
            let rows = self.rows(azolla, &|from| {
                let and_held = match from {
                    "" => String::new(),
                    _ => format!("AND lease_expires_at > {from}azolla_now()"),
                };
                format!(
                    "SELECT resource_id, owner_id, lease_expires_at FROM {from}claim_record
                     WHERE released_at IS NULL {and_held}"
                )
            })?;
            claims.extend(rows.iter().map(|row| format!("{azolla} {}", row.join(" "))));
        }
        Ok(claims)
    }

    fn rows(&mut self, azolla: &str, sql: &dyn Fn(&str) -> String) -> anyhow::Result<Vec<Vec<String>>> {
        match &mut self.way {
            Way::Files(files) => match files.iter().find(|(id, _)| *id == azolla) {
                Some((_, connection)) => rows_of(connection, &sql("")),
                None => Ok(Vec::new()),
            },
            Way::Server(client) => {
                let Some(database) = &self.site.database else { return Ok(Vec::new()) };
                let connected = match client.take().filter(|client| !client.is_closed()) {
                    Some(connected) => connected,
                    None => database.connect()?,
                };
                // Kept only if it works.
                let rows = database.rows(&connected, &sql(&format!("\"{azolla}\".")))?;
                *client = Some(connected);
                Ok(rows)
            }
        }
    }
}

fn rows_of(connection: &Connection, sql: &str) -> anyhow::Result<Vec<Vec<String>>> {
    let mut statement = connection.prepare_cached(sql)?;
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|column| row.get(column)).collect())?;
    Ok(rows.collect::<Result<_, _>>()?)
}
