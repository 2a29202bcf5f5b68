//! The tokens that peers prove themselves with, as hashes, and where the program listened without encryption.

use azolla_protocol::{AzollaId, Timestamp};

use super::{Home, HomeError, sql};
use crate::token::TokenHash;

/// What a peer proves itself with.
pub(crate) struct PeerToken {
    /// The peer.
    pub(crate) azolla_id: AzollaId,
    /// The token's hash.
    pub(crate) hash: TokenHash,
    /// When it was made.
    pub(crate) made_at: Timestamp,
}

/// An address that other machines could reach without encryption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exposure {
    /// The address.
    pub(crate) listen: String,
    /// When the program first listened there.
    pub(crate) first_at: Timestamp,
    /// When it last began to.
    pub(crate) last_at: Timestamp,
}

impl Home {
    /// Returns what every peer proves itself with. A row that does not read proves nobody.
    pub(crate) fn peer_tokens(&self) -> Result<Vec<PeerToken>, HomeError> {
        let mut statement = self.connection.prepare_cached(sql::PEER_TOKENS)?;
        let rows = statement.query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, [u8; 32]>(1)?, row.get::<_, String>(2)?))
        })?;
        let mut tokens = Vec::new();
        for row in rows {
            let (id, hash, made_at) = row?;
            if let (Ok(azolla_id), Ok(made_at)) = (AzollaId::new(id), made_at.parse()) {
                tokens.push(PeerToken { azolla_id, hash: TokenHash::from(hash), made_at });
            }
        }
        Ok(tokens)
    }

    /// Gives a peer a token; the one that it had is worth nothing from now on.
    pub(crate) fn set_peer_token(
        &self,
        id: &AzollaId,
        hash: &TokenHash,
        at: Timestamp,
    ) -> Result<(), HomeError> {
        self.connection.execute(sql::SET_PEER_TOKEN, (id.as_str(), hash.as_bytes(), at.to_string()))?;
        Ok(())
    }

    /// Takes a peer's token away.
    pub(crate) fn drop_peer_token(&self, id: &AzollaId) -> Result<(), HomeError> {
        self.connection.execute(sql::DROP_PEER_TOKEN, [id.as_str()])?;
        Ok(())
    }

    /// Records that the program listens to other machines without encryption.
    pub(crate) fn expose(&self, listen: &str, at: Timestamp) -> Result<(), HomeError> {
        self.connection.execute(sql::EXPOSE, (listen, at.to_string()))?;
        Ok(())
    }

    /// Returns where it did, ever.
    pub(crate) fn exposures(&self) -> Result<Vec<Exposure>, HomeError> {
        let mut statement = self.connection.prepare(sql::EXPOSURES)?;
        let rows = statement
            .query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?)))?;
        let mut exposures = Vec::new();
        for row in rows {
            let (listen, first_at, last_at) = row?;
            if let (Ok(first_at), Ok(last_at)) = (first_at.parse(), last_at.parse()) {
                exposures.push(Exposure { listen, first_at, last_at });
            }
        }
        Ok(exposures)
    }
}

#[cfg(test)]
mod tests;
