//! The Substrate in one schema of a PostgreSQL database, for an azolla that several machines share. Claims are
//! judged by the server's clock; a claim is one round trip and a commit is one more.

mod address;
mod fault;
mod flight;
mod open;
mod read_only;
mod sql;
mod wake;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use azolla_protocol::{
    Actor, AzollaId, ClaimRecord, CommitId, JournalEntry, LeaseLength, OwnerId, ResourceRef, ResourceType,
    Timestamp,
};
use deadpool_postgres::Pool;
use futures_util::TryStreamExt;
use tokio::{
    sync::{Notify, mpsc, watch},
    task::AbortHandle,
};
use tokio_postgres::error::SqlState;

pub use read_only::PostgresReader;

use self::{
    address::{Address, read_address},
    fault::{Failure, fault},
    flight::{ANSWER_LIMIT, Connection, fly, query, row},
    open::{make_pool, open_schema},
};
use crate::{
    claim::{ClaimOutcome, Fence, Grant, Release, RenewOutcome, expiry},
    commit::{ClaimUse, Commit, CommitOutcome},
    error::{BoxError, SubstrateError},
    migration::{MIGRATIONS, Migration},
    plan::{plan, plan_release},
    read::Identity,
    rows,
    statement::{Expect, Miss, Row, Statement, Step},
    substrate::{BoxFuture, JournalCursor, LoadError, Opening, Substrate, SubstrateRead},
};

/// How long opening may take, an upgrade with its backup included.
const OPEN_LIMIT: Duration = Duration::from_secs(600);

const LATE: &str = "PostgreSQL did not answer in time";

/// How often a transaction that the server gave up (a deadlock) runs again.
const TRIES_MAX: u32 = 5;

/// The Substrate of one azolla in one schema.
pub struct PostgresSubstrate {
    address: Address,
    identity: Identity,
    pool: Pool,
    changes: watch::Sender<u64>,
    committed: Arc<Notify>,
    notifier: AbortHandle,
    listener: OnceLock<AbortHandle>,
}

impl Drop for PostgresSubstrate {
    fn drop(&mut self) {
        self.notifier.abort();
        if let Some(listener) = self.listener.get() {
            listener.abort();
        }
    }
}

impl PostgresSubstrate {
    /// Opens the schema of `azolla_id` at an address, after bringing it up to this program's version.
    pub async fn open(address: &str, azolla_id: &AzollaId, opening: Opening) -> Result<Self, SubstrateError> {
        Self::open_at(address, azolla_id, opening, MIGRATIONS).await
    }

    async fn open_at(
        address: &str,
        azolla_id: &AzollaId,
        opening: Opening,
        migrations: &[Migration],
    ) -> Result<Self, SubstrateError> {
        let address = read_address(address)?;
        let opened = tokio::time::timeout(OPEN_LIMIT, open_schema(&address, azolla_id, &opening, migrations));
        let identity = opened.await.map_err(|_| late())??;
        Self::with_pool(address, identity, migrations)
    }

    /// Makes the pool of a schema that has been looked at.
    fn with_pool(
        address: Address,
        identity: Identity,
        migrations: &[Migration],
    ) -> Result<Self, SubstrateError> {
        let pool = make_pool(&address, &identity.azolla_id, migrations.len())?;
        let committed = Arc::new(Notify::new());
        let notifier = wake::notify_others(address.clone(), identity.azolla_id.clone(), committed.clone());
        Ok(Self {
            address,
            identity,
            pool,
            changes: watch::channel(0).0,
            committed,
            notifier: tokio::spawn(notifier).abort_handle(),
            listener: OnceLock::new(),
        })
    }

    /// Returns journal rows, each with where it stands.
    async fn journal(
        &self,
        statement: Statement,
    ) -> Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError> {
        let rows = self.ask(&statement).await?;
        let placed = rows.iter().map(|row| {
            let entry = rows::read_journal(row)?;
            Ok((JournalCursor { transaction: row.number(12)?, seq: entry.seq }, entry))
        });
        placed.collect()
    }

    /// Runs one statement that reads. The server refuses any other.
    async fn ask(&self, statement: &Statement) -> Result<Vec<Row>, SubstrateError> {
        let connection = Connection::take(&self.pool).await?;
        let answer = within_limit(query(&connection, statement)).await?;
        let is_good = answer.as_ref().map_or_else(
            // One that is in a failed transaction would refuse everything from here on.
            |error| error.as_db_error().is_some_and(|e| *e.code() != SqlState::IN_FAILED_SQL_TRANSACTION),
            |_| true,
        );
        if is_good {
            connection.keep();
        }
        answer.map_err(fault)
    }

    /// Runs steps as one transaction, and returns the rows of the last of them.
    async fn transact(&self, steps: &[Step]) -> Result<Vec<tokio_postgres::Row>, Failure> {
        let mut tries = 1;
        loop {
            let connection = Connection::take(&self.pool).await.map_err(Failure::Refused)?;
            match tokio::time::timeout(ANSWER_LIMIT, fly(connection, steps)).await {
                Ok(Err(Failure::Again(_))) if tries < TRIES_MAX => tries += 1,
                Ok(answer) => return answer,
                Err(_) => return Err(Failure::Cut(LATE.into())),
            }
        }
    }

    /// Runs one statement that changes a claim, and returns its rows. If the answer is lost, that is an error: the claim
    /// may have changed, but nobody was told so (R5).
    async fn change_claim(&self, statement: Statement) -> Result<Vec<Row>, SubstrateError> {
        let step = Step { statement, expect: Expect::Any, artifact: "claim_record" };
        let rows = self.transact(&[step]).await?;
        rows.iter().map(row).collect::<Result<_, _>>().map_err(fault)
    }

    /// Applies steps as one transaction. `commit_id` is how a lost answer is resolved; without one it is an error.
    async fn apply(
        &self,
        steps: &[Step],
        fence: Option<&Fence>,
        commit_id: Option<&CommitId>,
    ) -> Result<CommitOutcome, SubstrateError> {
        match self.transact(steps).await {
            Ok(_) => {
                self.signal();
                Ok(CommitOutcome::Done)
            }
            Err(Failure::Missed(position)) => missed(&steps[position], fence),
            Err(Failure::Cut(cut)) => self.resolve(commit_id, cut).await,
            Err(failure) => Err(failure.into()),
        }
    }

    /// Finds out by reading what became of a commit whose answer was lost (C-9). "Not there" is no proof: the server
    /// may still be working through what it had received.
    async fn resolve(
        &self,
        commit_id: Option<&CommitId>,
        cut: BoxError,
    ) -> Result<CommitOutcome, SubstrateError> {
        let Some(commit_id) = commit_id else { return Err(SubstrateError::Unavailable(cut)) };
        let store: &dyn SubstrateRead = self;
        for _ in 0..TRIES_MAX {
            match store.is_committed(commit_id).await {
                Ok(true) => {
                    self.signal();
                    return Ok(CommitOutcome::Done);
                }
                Ok(false) => break,
                // Another connection of the pool may have died with the first.
                Err(_) => {}
            }
        }
        Err(SubstrateError::OutcomeUnknown { commit_id: commit_id.clone(), source: cut })
    }

    /// The same for a load, which has no commit_id: the server knows what became of its transaction.
    async fn resolve_load(&self, transaction: String, cut: BoxError) -> Result<(), SubstrateError> {
        let statement = Statement::new(sql::TRANSACTION_STATUS, [transaction.into()]);
        let status = self.ask(&statement).await.ok();
        match status.as_ref().and_then(|rows| rows.first()?.text(0).ok()) {
            Some("committed") => Ok(()),
            Some("aborted") => Err(SubstrateError::Unavailable(cut)),
            _ => Err(SubstrateError::unusable(
                format!("the server did not say whether it kept the import ({cut})"),
                "look with `azolla verify` before you import again",
            )),
        }
    }

    /// Wakes the roles of this process and, soon after, those of others.
    fn signal(&self) {
        self.changes.send_modify(|count| *count += 1);
        self.committed.notify_one();
    }
}

impl SubstrateRead for PostgresSubstrate {
    fn now(&self) -> BoxFuture<'_, Result<Timestamp, SubstrateError>> {
        Box::pin(async {
            let rows = self.ask(&Statement::new(sql::NOW, [])).await?;
            rows.first().ok_or_else(|| SubstrateError::corrupt("no clock"))?.parsed(0)
        })
    }

    fn rows(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Row>, SubstrateError>> {
        Box::pin(async move { self.ask(&statement).await })
    }

    fn scan(&self, statements: Vec<Statement>) -> mpsc::Receiver<Result<(usize, Row), SubstrateError>> {
        let (sender, receiver) = mpsc::channel(256);
        let pool = self.pool.clone();
        tokio::spawn(async move {
            if let Err(error) = stream(&pool, &statements, &sender).await {
                // Nobody listens any more if this fails.
                let _ = sender.send(Err(error)).await;
            }
        });
        receiver
    }

    fn journal_after(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        Box::pin(async move {
            let values = [after.transaction.into(), after.seq.into(), limit.into()];
            self.journal(Statement::new(sql::JOURNAL_AFTER, values)).await
        })
    }

    fn journal_latest(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        let values = [limit.into(), after.transaction.into(), after.seq.into()];
        Box::pin(self.journal(Statement::new(sql::JOURNAL_LATEST, values)))
    }

    fn journal_told(
        &self,
        after: JournalCursor,
        limit: u64,
    ) -> BoxFuture<'_, Result<Vec<(JournalCursor, JournalEntry)>, SubstrateError>> {
        let values = [limit.into(), after.transaction.into(), after.seq.into()];
        Box::pin(self.journal(Statement::new(sql::JOURNAL_TOLD, values)))
    }

    fn integrity(&self) -> BoxFuture<'_, Result<Vec<String>, SubstrateError>> {
        // The server checks its pages as it reads them, and the scan of `verify` reads them all.
        Box::pin(async { Ok(Vec::new()) })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.listener.get_or_init(|| {
            let azolla_id = self.identity.azolla_id.clone();
            let listening = wake::listen_to_others(self.address.clone(), azolla_id, self.changes.clone());
            tokio::spawn(listening).abort_handle()
        });
        self.changes.subscribe()
    }
}

impl Substrate for PostgresSubstrate {
    fn acquire_claim<'a>(
        &'a self,
        resource: &'a ResourceRef,
        owner: &'a OwnerId,
        lease: LeaseLength,
        actor: Actor,
    ) -> BoxFuture<'a, Result<ClaimOutcome, SubstrateError>> {
        Box::pin(async move {
            let text = match resource.resource_type {
                ResourceType::Event => sql::ACQUIRE_EVENT,
                ResourceType::Workorder => sql::ACQUIRE_WORKORDER,
            };
            let values = [
                owner.as_str().into(),
                lease.as_ms().into(),
                resource.resource_id.as_str().into(),
                actor.as_str().into(),
            ];
            let rows = self.change_claim(Statement::new(text, values)).await?;
            let Some(row) = rows.first() else { return Ok(ClaimOutcome::Held) };
            let claim_version = row.number(0)?;
            let fence = Fence { resource: resource.clone(), owner_id: owner.clone(), claim_version };
            Ok(ClaimOutcome::Granted(Grant {
                fence,
                lease_expires_at: row.parsed(1)?,
                granted_at: row.parsed(2)?,
                claim_count: row.number(3)?,
                budget_consumed_ms: row.number(4)?,
            }))
        })
    }

    fn renew_claim<'a>(
        &'a self,
        fence: &'a Fence,
        lease: LeaseLength,
    ) -> BoxFuture<'a, Result<RenewOutcome, SubstrateError>> {
        Box::pin(async move {
            let rows = self.change_claim(fence.renewal(lease)).await?;
            rows.first().map_or(Ok(RenewOutcome::Lost), |row| row.parsed(0).map(RenewOutcome::Renewed))
        })
    }

    fn release_claim<'a>(
        &'a self,
        fence: &'a Fence,
        release: Release,
        actor: Actor,
    ) -> BoxFuture<'a, Result<(), SubstrateError>> {
        Box::pin(async move {
            self.apply(&plan_release(fence, release, actor), Some(fence), None).await.map(drop)
        })
    }

    fn expire_claim<'a>(&'a self, seen: &'a ClaimRecord) -> BoxFuture<'a, Result<(), SubstrateError>> {
        Box::pin(async move { self.change_claim(expiry(seen)).await.map(drop) })
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<CommitOutcome, SubstrateError>> {
        Box::pin(async move {
            let plan = plan(&commit, &self.identity)?;
            let (mut steps, fence) = match &plan.claim {
                ClaimUse::None => (plan.steps, None),
                ClaimUse::Fenced(held) => (plan.steps, Some(held)),
                ClaimUse::Claiming { resource, owner_id } => {
                    (claim_now(resource, owner_id).into_iter().chain(plan.steps).collect(), None)
                }
            };
            if matches!(commit.actor, Actor::Operator | Actor::Client) {
                steps.push(wake::notice(&self.identity.azolla_id));
            }
            self.apply(&steps, fence, Some(&commit.commit_id)).await
        })
    }

    fn load(
        &self,
        steps: mpsc::Receiver<Result<Step, SubstrateError>>,
    ) -> BoxFuture<'_, Result<(), LoadError>> {
        Box::pin(async move {
            let connection = Connection::take(&self.pool).await?;
            let transaction = load_all(&connection, steps).await?;
            match within_limit(connection.client().batch_execute(sql::COMMIT)).await {
                Ok(Ok(())) => connection.keep(),
                cut => {
                    drop(connection);
                    let cut: BoxError = match cut {
                        Ok(Err(error)) => error.into(),
                        _ => late().into(),
                    };
                    self.resolve_load(transaction, cut).await?;
                }
            }
            self.signal();
            Ok(())
        })
    }
}

/// What a commit ends with when the server says that a step hit nothing.
fn missed(step: &Step, fence: Option<&Fence>) -> Result<CommitOutcome, SubstrateError> {
    match step.expect {
        Expect::Written(miss) | Expect::Found(miss) => miss.outcome(step.artifact, fence),
        Expect::Any => Err(SubstrateError::corrupt("a step missed that has nothing to hit")),
    }
}

/// Grants a claim that the same transaction releases: it begins and ends now.
fn claim_now(resource: &ResourceRef, owner_id: &OwnerId) -> [Step; 2] {
    let (claim, open) = match resource.resource_type {
        ResourceType::Event => (sql::CLAIM_EVENT, sql::EVENT_IS_OPEN),
        ResourceType::Workorder => (sql::CLAIM_WORKORDER, sql::WORKORDER_IS_OPEN),
    };
    let resource_id = resource.resource_id.as_str();
    let claim = Statement::new(claim, [owner_id.as_str().into(), resource_id.into()]);
    let open = Statement::new(open, [resource_id.into()]);
    [(claim, Expect::Written(Miss::Held)), (open, Expect::Found(Miss::Held))]
        .map(|(statement, expect)| Step { statement, expect, artifact: "claim_record" })
}

/// Runs every step that arrives, in a transaction that is left open, and returns the transaction's number.
async fn load_all(
    connection: &Connection,
    mut steps: mpsc::Receiver<Result<Step, SubstrateError>>,
) -> Result<String, LoadError> {
    let client = connection.client();
    within_limit(client.batch_execute(sql::BEGIN)).await?.map_err(fault)?;
    let mut position = 0;
    while let Some(step) = steps.recv().await {
        let step = step?;
        let text = sql::required(step.statement.sql, step.expect);
        let statement = within_limit(client.prepare_cached(&text)).await?.map_err(fault)?;
        let done = within_limit(client.execute_raw(&statement, step.statement.values.iter())).await?;
        done.map_err(|error| {
            let error = match fault::failure(error, step.artifact, position) {
                Failure::Missed(_) => crate::archive::not_empty(),
                failure => failure.into(),
            };
            LoadError { step: Some(position), error }
        })?;
        position += 1;
    }
    within_limit(client.batch_execute(sql::NUMBER_JOURNAL)).await?.map_err(fault)?;
    let transaction =
        within_limit(query(connection, &Statement::new(sql::TRANSACTION, []))).await?.map_err(fault)?;
    let row = transaction.first().ok_or_else(|| SubstrateError::corrupt("a transaction without a number"))?;
    Ok(row.text(0)?.to_owned())
}

async fn stream(
    pool: &Pool,
    statements: &[Statement],
    sender: &mpsc::Sender<Result<(usize, Row), SubstrateError>>,
) -> Result<(), SubstrateError> {
    let connection = Connection::take(pool).await?;
    let client = connection.client();
    within_limit(client.batch_execute(sql::BEGIN_READING)).await?.map_err(fault)?;
    for (position, statement) in statements.iter().enumerate() {
        let prepared = within_limit(client.prepare_cached(statement.sql)).await?.map_err(fault)?;
        let found =
            within_limit(client.query_raw(&prepared, statement.values.iter())).await?.map_err(fault)?;
        let mut found = std::pin::pin!(found);
        while let Some(next) = within_limit(found.try_next()).await?.map_err(fault)? {
            if sender.send(Ok((position, row(&next).map_err(fault)?))).await.is_err() {
                return Ok(());
            }
        }
    }
    within_limit(client.batch_execute(sql::ROLLBACK)).await?.map_err(fault)?;
    connection.keep();
    Ok(())
}

/// Gives up an operation that gets no answer.
async fn within_limit<T>(operation: impl Future<Output = T>) -> Result<T, SubstrateError> {
    tokio::time::timeout(ANSWER_LIMIT, operation).await.map_err(|_| late())
}

fn late() -> SubstrateError {
    SubstrateError::Unavailable(LATE.into())
}

#[cfg(test)]
mod tests;
