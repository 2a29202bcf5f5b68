//! Which Substrate a command means, by its address.

use std::{path::Path, sync::Arc};

use anyhow::Context;
use azolla_protocol::AzollaId;
use azolla_substrate::{
    Identity, Opening, PostgresSubstrate, SqliteSubstrate, Substrate, SubstrateRead, SystemClock,
};
use clap::Args;

/// The store that a command works on.
#[derive(Args)]
pub(crate) struct StoreAddress {
    /// A SQLite file, or postgres://user@host/database.
    #[arg(long, value_name = "PATH|URL", env = "AZOLLA_STORE")]
    store: String,

    /// The azolla, whose schema it is on PostgreSQL.
    #[arg(long, value_name = "ID")]
    azolla: Option<AzollaId>,
}

impl StoreAddress {
    /// Opens a Substrate that is there already.
    pub(crate) async fn open(&self) -> anyhow::Result<Arc<dyn Substrate>> {
        let store = self.open_as(Opening::Existing).await?;
        if let Some(expected) = &self.azolla {
            let read: &dyn SubstrateRead = &*store;
            let found = read.identity().await?.azolla_id;
            anyhow::ensure!(found == *expected, "the store belongs to {found}, not to {expected}");
        }
        Ok(store)
    }

    /// Opens a Substrate, or makes a new one for `identity`, which has to be the azolla that was named, if one was.
    pub(crate) async fn open_or_create(&self, identity: Identity) -> anyhow::Result<Arc<dyn Substrate>> {
        if let Some(expected) = &self.azolla {
            let found = &identity.azolla_id;
            anyhow::ensure!(found == expected, "this is about {found}, not {expected}");
        }
        self.open_as(Opening::OrCreate(identity)).await
    }

    async fn open_as(&self, opening: Opening) -> anyhow::Result<Arc<dyn Substrate>> {
        if self.store.starts_with("postgres://") || self.store.starts_with("postgresql://") {
            let named = match &opening {
                Opening::OrCreate(identity) => Some(&identity.azolla_id),
                Opening::Existing => self.azolla.as_ref(),
            };
            let azolla_id = named.context("a PostgreSQL store needs --azolla ID")?.clone();
            return Ok(Arc::new(PostgresSubstrate::open(&self.store, &azolla_id, opening).await?));
        }
        let clock = Arc::new(SystemClock);
        Ok(Arc::new(SqliteSubstrate::open(Path::new(&self.store), opening, clock).await?))
    }
}
