//! What the operator has been told of: each pause_state at most once, whoever finds it first and however often
//! programs are started.

use azolla_protocol::{AzollaId, Timestamp};
use azolla_substrate::JournalCursor;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::{Home, HomeError, sql};
use crate::notify::Notice;

/// What one look at the journal of an azolla found.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    /// Whose journal.
    pub(crate) azolla_id: AzollaId,
    /// How far it was looked through.
    pub(crate) cursor: JournalCursor,
    /// What the operator is to be told of.
    pub(crate) notices: Vec<Notice>,
}

/// When what is claimed is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Now, by whoever claims it.
    Now,
    /// After quiet hours, by whoever releases it.
    Later,
}

/// What was held back, and the azolla whose journal had it.
pub(crate) type Held = (AzollaId, Notice);

impl Home {
    /// Returns how far the journal of an azolla was looked through; none before the first start.
    pub(crate) fn notice_place(&self, id: &AzollaId) -> Result<Option<JournalCursor>, HomeError> {
        Ok(place(&self.connection, id)?)
    }

    /// Claims what was found and notes how far it was looked, all of it or nothing. Returns what nobody had claimed
    /// before: it is the caller's to send, and nobody else's, also if the caller is killed before it did.
    pub(crate) fn claim_notices(
        &mut self,
        claims: &[Claim],
        delivery: Delivery,
        at: Timestamp,
    ) -> Result<Vec<Notice>, HomeError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let fresh = claim(&transaction, claims, delivery, at)?;
        transaction.commit()?;
        Ok(fresh)
    }

    /// Sets how far the journal of an azolla was looked through, also back: the store may be an older one.
    pub(crate) fn set_notice_place(&self, id: &AzollaId, cursor: JournalCursor) -> Result<(), HomeError> {
        self.connection.execute(sql::SET_NOTICE_PLACE, (id.as_str(), cursor.to_string()))?;
        Ok(())
    }

    /// Claims what was found, and takes everything that quiet hours held back, oldest first, each with the azolla whose
    /// journal had it. Both of it or nothing: what was claimed and not returned would never be sent.
    pub(crate) fn claim_and_release_notices(
        &mut self,
        claims: &[Claim],
        delivery: Delivery,
        at: Timestamp,
    ) -> Result<(Vec<Notice>, Vec<Held>), HomeError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let released = release(&transaction)?;
        let fresh = claim(&transaction, claims, delivery, at)?;
        transaction.commit()?;
        Ok((fresh, released))
    }

    /// Returns how many are held back.
    pub(crate) fn held_notices(&self) -> Result<u64, HomeError> {
        let count: i64 = self.connection.query_row(sql::COUNT_HELD_NOTICES, [], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Notes that a channel took a notice.
    pub(crate) fn channel_sent(&self, channel: &str, at: Timestamp) -> Result<(), HomeError> {
        self.connection.execute(sql::CHANNEL_SENT, (channel, at.to_string()))?;
        Ok(())
    }

    /// Notes that a channel did not, and why.
    pub(crate) fn channel_failed(&self, channel: &str, reason: &str, at: Timestamp) -> Result<(), HomeError> {
        self.connection.execute(sql::CHANNEL_FAILED, (channel, at.to_string(), reason))?;
        Ok(())
    }

    /// Returns when and why a channel last failed, unless it has worked since.
    pub(crate) fn channel_failure(&self, channel: &str) -> Result<Option<(Timestamp, String)>, HomeError> {
        type Found = (Option<String>, Option<String>, Option<String>);
        let found: Option<Found> = self
            .connection
            .query_row(sql::CHANNEL, [channel], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((sent_at, Some(failed_at), reason)) = found else { return Ok(None) };
        let works = sent_at.is_some_and(|sent_at| sent_at > failed_at);
        let failed_at = failed_at.parse().ok().filter(|_| !works);
        Ok(failed_at.map(|failed_at| (failed_at, reason.unwrap_or_default())))
    }
}

fn claim(
    transaction: &Transaction<'_>,
    claims: &[Claim],
    delivery: Delivery,
    at: Timestamp,
) -> rusqlite::Result<Vec<Notice>> {
    /// How long a row is kept. A store that is put back to what it was before finds what was told since.
    const KEPT_MS: i64 = 180 * 24 * 60 * 60 * 1_000;
    let mut fresh = Vec::new();
    for claim in claims {
        for notice in &claim.notices {
            let held = match delivery {
                Delivery::Now => None,
                Delivery::Later => Some(notice.stored()),
            };
            let id = claim.azolla_id.as_str();
            let values = (id, &notice.pause_key, at.to_string(), held);
            if transaction.execute(sql::CLAIM_NOTICE, values)? == 1 {
                fresh.push(notice.clone());
            }
        }
        // Two programs look side by side: the slower one does not set it back.
        if place(transaction, &claim.azolla_id)?.is_none_or(|known| known < claim.cursor) {
            let values = (claim.azolla_id.as_str(), claim.cursor.to_string());
            transaction.execute(sql::SET_NOTICE_PLACE, values)?;
        }
    }
    if !fresh.is_empty() {
        transaction.execute(sql::NOTICES_OVER, [at.plus_ms(-KEPT_MS).to_string()])?;
    }
    Ok(fresh)
}

fn release(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<Held>> {
    let mut held = Vec::new();
    let mut statement = transaction.prepare(sql::HELD_NOTICES)?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    for row in rows {
        let (id, notice) = row?;
        // A row that does not read has nothing to tell.
        held.extend(AzollaId::new(id).ok().zip(Notice::read(&notice)));
    }
    transaction.execute(sql::RELEASE_NOTICES, [])?;
    Ok(held)
}

fn place(connection: &Connection, id: &AzollaId) -> rusqlite::Result<Option<JournalCursor>> {
    let found: Option<String> =
        connection.query_row(sql::NOTICE_PLACE, [id.as_str()], |row| row.get(0)).optional()?;
    // One that does not read is as good as none: the next start is then the first.
    Ok(found.and_then(|cursor| cursor.parse().ok()))
}

#[cfg(test)]
mod tests;
