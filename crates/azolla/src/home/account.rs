//! The rows of the account: runs, calls and holds. What may be spent is judged in `ledger.rs`.

use std::ops::Sub;

use azolla_control_plane::spending::RunAccount;
use azolla_protocol::{Reservation, Spending, Timestamp, Unit};
use rusqlite::{OptionalExtension, Row, Transaction, TransactionBehavior};

use super::{Home, HomeError, sql};

/// What was spent, or is set aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// Runs begun.
    pub(crate) runs: u64,
    /// Time of the workers.
    pub(crate) ms: u64,
    /// Tokens sent and received.
    pub(crate) tokens: u64,
    /// Millionths of a US dollar; a cost that nobody could tell counts nothing.
    pub(crate) cost_microusd: u64,
}

impl Spent {
    /// Returns the part that a cap of this unit counts.
    pub(crate) fn of(&self, unit: Unit) -> u64 {
        match unit {
            Unit::Tokens => self.tokens,
            Unit::MicroUsd => self.cost_microusd,
            Unit::Milliseconds => self.ms,
            Unit::Count => self.runs,
            Unit::Bytes => 0,
        }
    }
}

impl Sub for Spent {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            runs: self.runs.saturating_sub(other.runs),
            ms: self.ms.saturating_sub(other.ms),
            tokens: self.tokens.saturating_sub(other.tokens),
            cost_microusd: self.cost_microusd.saturating_sub(other.cost_microusd),
        }
    }
}

/// What a run that was begun before has in the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnRun {
    /// The day on which it was last begun.
    pub(crate) day: String,
    /// What it counts: one run, and its time.
    pub(crate) spent: Spent,
}

/// Why a provider is to be left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    /// The cap of the day that has too little room; none where the provider itself asked for time.
    pub(crate) cap: Option<String>,
    /// How much room the cap has to have.
    pub(crate) need: u64,
    /// Until when.
    pub(crate) until: Timestamp,
    /// Why.
    pub(crate) reason: String,
}

/// One answer of the account, which is a transaction: dropped, it leaves nothing behind.
pub(crate) struct Account<'a>(Transaction<'a>);

impl Home {
    /// Begins an answer that writes: no other process writes between its reads and its writes.
    pub(crate) fn account(&self) -> Result<Account<'_>, HomeError> {
        Ok(Account(Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?))
    }

    /// Begins an answer that only reads.
    pub(crate) fn look_at_account(&self) -> Result<Account<'_>, HomeError> {
        Ok(Account(Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)?))
    }

    /// Drops what a provider said about its quota. What a cap holds back stays.
    pub(crate) fn release_hold(&self, provider: &str) -> Result<(), HomeError> {
        self.connection.execute(sql::RELEASE_HOLD, [provider])?;
        Ok(())
    }
}

impl Account<'_> {
    /// Makes what was written durable.
    pub(crate) fn commit(self) -> Result<(), HomeError> {
        Ok(self.0.commit()?)
    }

    /// Returns what was spent on a day.
    pub(crate) fn spent_on_day(&self, day: &str) -> Result<Spent, HomeError> {
        Ok(self.0.prepare_cached(sql::SPENT_ON_DAY)?.query_row([day], spent)?)
    }

    /// Returns what was spent on the objective of a run, on all days.
    pub(crate) fn spent_on_objective(&self, run: &RunAccount) -> Result<Spent, HomeError> {
        let key = [run.azolla_id.as_str(), run.objective_id.as_str()];
        Ok(self.0.prepare_cached(sql::SPENT_ON_OBJECTIVE)?.query_row(key, spent)?)
    }

    /// Returns what was spent by a run, under all its claims.
    pub(crate) fn spent_by_run(&self, run: &RunAccount) -> Result<Spent, HomeError> {
        Ok(self.0.prepare_cached(sql::SPENT_BY_RUN)?.query_row(key(run), spent)?)
    }

    /// Returns what a run has in the account, if it was begun before.
    pub(crate) fn run(&self, run: &RunAccount) -> Result<Option<OwnRun>, HomeError> {
        let own = |row: &Row<'_>| {
            let spent = Spent { runs: 1, ms: amount(row.get(1)?), ..Spent::default() };
            Ok(OwnRun { day: row.get(0)?, spent })
        };
        Ok(self.0.prepare_cached(sql::RUN)?.query_row(key(run), own).optional()?)
    }

    /// Sets the time of a run aside, today; one that was begun before is still the same run.
    pub(crate) fn begin_run(&self, run: &RunAccount, day: &str, now: Timestamp) -> Result<(), HomeError> {
        let [azolla_id, work_order_id] = key(run);
        self.0.prepare_cached(sql::BEGIN_RUN)?.execute((
            azolla_id,
            work_order_id,
            run.objective_id.as_str(),
            &run.provider,
            day,
            now.to_string(),
            stored(run.budget_ms),
        ))?;
        Ok(())
    }

    /// Replaces the time that was set aside.
    pub(crate) fn end_run(&self, run: &RunAccount, consumed_ms: u64) -> Result<(), HomeError> {
        let [azolla_id, work_order_id] = key(run);
        self.0.prepare_cached(sql::END_RUN)?.execute((azolla_id, work_order_id, stored(consumed_ms)))?;
        Ok(())
    }

    /// Sets aside what a call may cost.
    pub(crate) fn add_call(
        &self,
        run: &RunAccount,
        day: &str,
        most: &Spending,
    ) -> Result<Reservation, HomeError> {
        let [azolla_id, work_order_id] = key(run);
        let id = self.0.prepare_cached(sql::ADD_CALL)?.insert((
            azolla_id,
            run.objective_id.as_str(),
            work_order_id,
            &run.provider,
            day,
            stored(most.tokens),
            most.cost_microusd.map(stored),
        ))?;
        Ok(Reservation(amount(id)))
    }

    /// Replaces what was set aside for a call, once.
    pub(crate) fn settle_call(&self, call: Reservation, spent: &Spending) -> Result<(), HomeError> {
        let Ok(id) = i64::try_from(call.0) else { return Ok(()) };
        let cost = spent.cost_microusd.map(stored);
        self.0.prepare_cached(sql::SETTLE_CALL)?.execute((id, stored(spent.tokens), cost))?;
        Ok(())
    }

    /// Returns why a provider is, or was, to be left alone.
    pub(crate) fn holds(&self, provider: &str) -> Result<Vec<Hold>, HomeError> {
        let mut statement = self.0.prepare_cached(sql::HOLDS)?;
        let rows = statement.query_map([provider], |row| {
            let (cap, until): (String, String) = (row.get(0)?, row.get(2)?);
            Ok(Hold {
                cap: (!cap.is_empty()).then_some(cap),
                need: amount(row.get(1)?),
                // A time that does not read is over.
                until: until.parse().unwrap_or(Timestamp::MIN),
                reason: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Notes why a provider is to be left alone; the last word counts.
    pub(crate) fn hold(&self, provider: &str, hold: &Hold) -> Result<(), HomeError> {
        self.0.prepare_cached(sql::HOLD)?.execute((
            provider,
            hold.cap.as_deref().unwrap_or_default(),
            stored(hold.need),
            hold.until.to_string(),
            &hold.reason,
        ))?;
        Ok(())
    }
}

fn key(run: &RunAccount) -> [&str; 2] {
    [run.azolla_id.as_str(), run.work_order_id.as_str()]
}

fn spent(row: &Row<'_>) -> rusqlite::Result<Spent> {
    Ok(Spent {
        runs: amount(row.get(0)?),
        ms: amount(row.get(1)?),
        tokens: amount(row.get(2)?),
        cost_microusd: amount(row.get(3)?),
    })
}

/// More than any cap, and small enough that millions of them add up to a number.
const AMOUNT_MAX: i64 = 1_000_000_000_001;

fn stored(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(AMOUNT_MAX).min(AMOUNT_MAX)
}

/// No row holds a negative number.
fn amount(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}
