//! Who is logged in with a browser. Of a cookie there is its hash alone, so that whoever reads the file is not let in.

use azolla_protocol::Timestamp;
use rusqlite::{OptionalExtension, TransactionBehavior};

use super::{Home, HomeError, sql};
use crate::token::TokenHash;

/// Sessions at once. With one more, the one that was not used for longest ends.
pub(crate) const SESSIONS_MAX: usize = 32;

/// How long a session lasts that nobody uses.
const LASTS_MS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// How often its use is written down: a page is not worth a write each time.
const SEEN_EVERY_MS: i64 = 60 * 60 * 1_000;

/// What a session is worth when it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionUse {
    /// Nothing: there is none, or it is over.
    Over,
    /// It lasts.
    Lasts,
    /// It lasts for longer from now on.
    Renewed,
}

impl Home {
    /// Begins a session, proved by `operator`.
    pub(crate) fn begin_session(
        &mut self,
        session: &TokenHash,
        operator: &TokenHash,
        now: Timestamp,
    ) -> Result<(), HomeError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let over = now.plus_ms(-LASTS_MS).to_string();
        transaction.execute(sql::SESSIONS_OVER, (over, operator.as_bytes()))?;
        transaction
            .execute(sql::SESSION_BEGINS, (session.as_bytes(), operator.as_bytes(), now.to_string()))?;
        transaction.execute(sql::SESSIONS_BEYOND, [SESSIONS_MAX as i64])?;
        Ok(transaction.commit()?)
    }

    /// Tells whether a session lasts, and lets it last for as long again.
    pub(crate) fn use_session(
        &self,
        session: &TokenHash,
        operator: &TokenHash,
        now: Timestamp,
    ) -> Result<SessionUse, HomeError> {
        let mut statement = self.connection.prepare_cached(sql::SESSION)?;
        let keys = (session.as_bytes(), operator.as_bytes());
        let seen: Option<String> = statement.query_row(keys, |row| row.get(0)).optional()?;
        let Some(seen) = seen.and_then(|seen| seen.parse::<Timestamp>().ok()) else {
            return Ok(SessionUse::Over);
        };
        if seen < now.plus_ms(-LASTS_MS) {
            return Ok(SessionUse::Over);
        }
        if seen < now.plus_ms(-SEEN_EVERY_MS) {
            self.connection.execute(sql::SESSION_SEEN, (session.as_bytes(), now.to_string()))?;
            return Ok(SessionUse::Renewed);
        }
        Ok(SessionUse::Lasts)
    }

    /// Ends a session.
    pub(crate) fn end_session(&self, session: &TokenHash) -> Result<(), HomeError> {
        self.connection.execute(sql::SESSION_ENDS, [session.as_bytes()])?;
        Ok(())
    }

    /// Ends every session, and returns how many there were.
    pub(crate) fn end_sessions(&self) -> Result<usize, HomeError> {
        Ok(self.connection.execute(sql::SESSIONS_END, [])?)
    }
}

#[cfg(test)]
mod tests;
