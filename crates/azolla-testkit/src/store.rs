//! A store of either backend whose clock, ids and raw tables a test controls.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use azolla_protocol::{AzollaId, AzollaType, Clock};
use azolla_substrate::{
    Identity, Opening, PostgresSubstrate, SqliteSubstrate, Substrate, SubstrateError, SubstrateRead,
};
use tempfile::TempDir;
use tokio_postgres::NoTls;

use crate::{
    clock::ManualClock,
    ids::SequentialIds,
    postgres::{TestDatabase, fresh_database},
};

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// One file in a temporary directory.
    Sqlite,
    /// One schema in a database of the test's own.
    Postgres,
}

/// A new Substrate, with its time in the test's hand.
pub struct TestStore {
    /// The store itself.
    pub store: Arc<dyn Substrate>,
    /// Fixed ids.
    pub ids: SequentialIds,
    /// Where it is.
    pub place: Place,
    clock: ManualClock,
}

/// Where a test's store is.
pub enum Place {
    /// A file, and the directory that goes with the test.
    File(PathBuf, TempDir),
    /// A database.
    Database(TestDatabase),
}

impl TestStore {
    /// Makes an empty Substrate of a CODE_PATCH azolla.
    pub async fn new(backend: Backend) -> Self {
        Self::of_type(backend, AzollaType::CodePatch).await
    }

    /// Makes an empty Substrate.
    pub async fn of_type(backend: Backend, azolla_type: AzollaType) -> Self {
        let place = match backend {
            Backend::Sqlite => file_in(TempDir::new().expect("a temporary directory")),
            Backend::Postgres => Place::Database(fresh_database().await.expect("a database")),
        };
        Self::at(place, azolla_type).await
    }

    /// Makes an empty Substrate of a CODE_PATCH azolla in a file that no disk has to sync, where the system has
    /// such a place: for a test that needs many.
    pub async fn without_disk() -> Self {
        Self::without_disk_of(AzollaType::CodePatch).await
    }

    /// The same for an azolla of a type.
    pub async fn without_disk_of(azolla_type: AzollaType) -> Self {
        let directory = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new());
        Self::at(file_in(directory.expect("a temporary directory")), azolla_type).await
    }

    async fn at(place: Place, azolla_type: AzollaType) -> Self {
        let clock = ManualClock::default();
        let opening = Opening::OrCreate(identity(azolla_type));
        let store = open(&place, opening, Arc::new(clock.clone())).await.expect("a new store opens");
        let made = Self { store, ids: SequentialIds::default(), place, clock };
        made.take_clock().await;
        made
    }

    /// Returns the clock of a store on SQLite; on PostgreSQL only `advance` moves the server's.
    pub fn clock(&self) -> ManualClock {
        self.clock.clone()
    }

    /// Returns the read half.
    pub fn read(&self) -> &dyn SubstrateRead {
        &*self.store
    }

    /// Opens the same store once more, as another process would.
    pub async fn open_again(&self) -> Result<Arc<dyn Substrate>, SubstrateError> {
        open(&self.place, Opening::Existing, Arc::new(self.clock.clone())).await
    }

    /// Moves the store's clock.
    pub async fn advance(&self, ms: i64) {
        self.clock.advance(ms);
        if let Place::Database(_) = self.place {
            self.raw(&format!("UPDATE test_clock SET at = '{}'", self.clock.now()))
                .await
                .expect("the clock moves");
        }
    }

    /// Runs SQL behind the Substrate's back, on a connection of its own with the database's default settings.
    /// The error is the database's own text, with the constraint's name where it has one.
    pub async fn raw(&self, sql: &str) -> Result<(), String> {
        match &self.place {
            Place::File(path, _) => raw_sqlite(path, sql),
            Place::Database(database) => raw_postgres(database.url(), sql).await,
        }
    }

    /// Gives PostgreSQL its own clock back, for processes that run on real time.
    pub async fn give_back_clock(&self) {
        if let Place::Database(_) = self.place {
            self.raw("UPDATE test_clock SET at = ''; CREATE OR REPLACE FUNCTION azolla_now() RETURNS TEXT LANGUAGE sql
                VOLATILE AS $$ SELECT to_char(date_trunc('milliseconds', clock_timestamp() AT TIME ZONE 'UTC'),
                'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') $$").await.expect("the clock is given back");
        }
    }

    /// Empties a store of PostgreSQL behind its back and sets its clock to the start: a test that needs many
    /// stores would spend its time making schemas. A store of SQLite is made faster than it is emptied.
    pub async fn clear(&self) {
        let Place::Database(_) = self.place else { panic!("a file is made anew") };
        self.clock.advance(ManualClock::default().now().as_millisecond() - self.clock.now().as_millisecond());
        let tables = "claim_record, candidate_resolution, candidate, session_manifest, snooze, pause_state, usage_record, \
             gate_evidence, run_record, output_bundle, workorder, context_snapshot, event, capture_buffer, \
             objective_version, objective, journal";
        let delete: String = tables.split(", ").map(|table| format!("DELETE FROM {table};")).collect();
        // As a replica, the session fires no trigger and checks no link.
        let sql = format!(
            "SET session_replication_role = replica; {delete} UPDATE azolla SET stream_lock = 0;
             ALTER TABLE journal ALTER COLUMN seq RESTART; UPDATE test_clock SET at = '{}'",
            self.clock.now()
        );
        self.raw(&sql).await.expect("the store is emptied");
    }

    /// PostgreSQL judges leases by `azolla_now()`: in a test it reads the test's clock.
    async fn take_clock(&self) {
        if let Place::Database(_) = self.place {
            let now = self.clock.now();
            let replace = format!(
                "CREATE TABLE test_clock (at TEXT NOT NULL); INSERT INTO test_clock VALUES ('{now}');
                 CREATE OR REPLACE FUNCTION azolla_now() RETURNS TEXT LANGUAGE sql VOLATILE AS
                     'SELECT at FROM \"{AZOLLA}\".test_clock'"
            );
            self.raw(&replace).await.expect("the clock is replaced");
        }
    }
}

fn file_in(directory: TempDir) -> Place {
    Place::File(directory.path().join("substrate.sqlite"), directory)
}

/// The id of every test's azolla.
pub const AZOLLA: &str = "az-test";

/// Returns the id of every test's azolla.
pub fn azolla_id() -> AzollaId {
    AzollaId::new(AZOLLA).expect("an azolla id")
}

/// Returns whose Substrate a test's store is.
pub fn identity(azolla_type: AzollaType) -> Identity {
    Identity { azolla_id: azolla_id(), azolla_type }
}

/// Opens a store at a place.
pub async fn open(
    place: &Place,
    opening: Opening,
    clock: Arc<dyn Clock>,
) -> Result<Arc<dyn Substrate>, SubstrateError> {
    Ok(match place {
        Place::File(path, _) => Arc::new(SqliteSubstrate::open(path, opening, clock).await?),
        Place::Database(database) => {
            Arc::new(PostgresSubstrate::open(database.url(), &azolla_id(), opening).await?)
        }
    })
}

fn raw_sqlite(path: &Path, sql: &str) -> Result<(), String> {
    let connection = rusqlite::Connection::open(path).map_err(|error| error.to_string())?;
    connection.busy_timeout(std::time::Duration::from_secs(10)).map_err(|error| error.to_string())?;
    connection.execute_batch(sql).map_err(|error| error.to_string())
}

async fn raw_postgres(url: &str, sql: &str) -> Result<(), String> {
    let (client, connection) =
        tokio_postgres::connect(url, NoTls).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    client
        .batch_execute(&format!("SET search_path TO \"{AZOLLA}\""))
        .await
        .map_err(|error| error.to_string())?;
    client.batch_execute(sql).await.map_err(|error| match error.as_db_error() {
        Some(answer) => format!("{} [{}]", answer.message(), answer.constraint().unwrap_or_default()),
        None => error.to_string(),
    })
}
