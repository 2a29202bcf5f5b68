//! A schema opened for reading alone: what answers other azollas (M-4). The server itself refuses to write on its
//! connections, where no transaction ever begins that says it will, and nothing is migrated or made.

use azolla_protocol::{JournalEntry, Timestamp};
use tokio::sync::{mpsc, watch};

use super::{OPEN_LIMIT, PostgresSubstrate, address::read_address, late, open::check_readable};
use crate::{
    error::SubstrateError,
    migration::MIGRATIONS,
    read::Identity,
    statement::{Row, Statement},
    substrate::{BoxFuture, JournalCursor, SubstrateRead},
};

/// The Substrate of one azolla in one schema, without its write half.
pub struct PostgresReader(PostgresSubstrate);

impl PostgresReader {
    /// Opens the schema of this azolla, which has to be there, at this program's version.
    pub async fn open(address: &str, identity: &Identity) -> Result<Self, SubstrateError> {
        let address = read_address(address)?;
        let checked = tokio::time::timeout(OPEN_LIMIT, check_readable(&address, identity, MIGRATIONS));
        checked.await.map_err(|_| late())??;
        PostgresSubstrate::with_pool(address, identity.clone(), MIGRATIONS).map(Self)
    }
}

impl SubstrateRead for PostgresReader {
    fn now(&self) -> BoxFuture<'_, Result<Timestamp, SubstrateError>> {
        self.0.now()
    }

    fn rows(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>> {
        self.0.rows(statement)
    }

    fn scan(&self, statements: Vec<Statement>) -> mpsc::Receiver<Result<(usize, Row), SubstrateError>> {
        self.0.scan(statements)
    }

    fn journal_after(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        self.0.journal_after(after, limit)
    }

    fn journal_latest(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        self.0.journal_latest(after, limit)
    }

    fn journal_told(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        self.0.journal_told(after, limit)
    }

    fn integrity(&self) -> BoxFuture<'_, Result<Vec<String>, SubstrateError>> {
        self.0.integrity()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes()
    }
}
