//! Which Substrate a command works on: that of a configured azolla, or one by its address.

use std::{path::Path, sync::Arc};

use anyhow::Context;
use azolla_protocol::AzollaId;
use azolla_substrate::{
    Identity, Opening, PostgresSubstrate, SqliteSubstrate, Substrate, SubstrateRead, SystemClock,
};
use clap::Args;

use crate::{
    config::AzollaConfig,
    deployment::{Deployment, identity},
    failure::Failure,
};

/// The store that a command works on.
#[derive(Args)]
pub(crate) struct StoreAddress {
    /// A SQLite file or postgres://user@host/database, instead of a configured azolla.
    #[arg(long, value_name = "PATH|URL", env = "AZOLLA_STORE")]
    store: Option<String>,

    /// The azolla.
    #[arg(long, value_name = "ID", env = "AZOLLA_ID")]
    azolla: Option<AzollaId>,
}

impl StoreAddress {
    /// Opens a Substrate that is there already.
    pub(crate) async fn open(&self, home: Option<&Path>) -> anyhow::Result<Arc<dyn Substrate>> {
        let Some(address) = &self.store else {
            let deployment = Deployment::load(home)?;
            return deployment.open(self.configured(&deployment)?).await;
        };
        let store = self.open_as(address, Opening::Existing).await?;
        if let Some(expected) = &self.azolla {
            let read: &dyn SubstrateRead = &*store;
            let found = read.identity().await?.azolla_id;
            anyhow::ensure!(found == *expected, "the store belongs to {found}, not to {expected}");
        }
        Ok(store)
    }

    /// Opens a Substrate, or makes a new one for `found`, which has to be the azolla that was named, if one was.
    pub(crate) async fn open_or_create(
        &self,
        home: Option<&Path>,
        found: Identity,
    ) -> anyhow::Result<Arc<dyn Substrate>> {
        if let Some(expected) = &self.azolla {
            let found = &found.azolla_id;
            anyhow::ensure!(found == expected, "this is about {found}, not {expected}");
        }
        if let Some(address) = &self.store {
            return self.open_as(address, Opening::OrCreate(found)).await;
        }
        let deployment = Deployment::load(home)?;
        let azolla = deployment.named(&found.azolla_id)?;
        anyhow::ensure!(
            identity(azolla) == found,
            "{} is configured as {}, and this is about a {}",
            azolla.id,
            azolla.azolla_type,
            found.azolla_type
        );
        deployment.open_or_create(azolla).await
    }

    /// The azolla that is meant where no address is given: any type will do.
    fn configured<'a>(&self, deployment: &'a Deployment) -> Result<&'a AzollaConfig, Failure> {
        let candidates = deployment.candidates(self.azolla.as_ref())?;
        match candidates[..] {
            [only] => Ok(only),
            [] => Err(Failure::not_found("no azolla is configured").hint("azolla init")),
            _ => {
                let ids: Vec<_> = candidates.iter().map(|azolla| azolla.id.as_str()).collect();
                let hint = format!("add --azolla ID; configured: {}", ids.join(", "));
                Err(Failure::usage("there is more than one azolla").hint(hint))
            }
        }
    }

    async fn open_as(&self, address: &str, opening: Opening) -> anyhow::Result<Arc<dyn Substrate>> {
        if address.starts_with("postgres://") || address.starts_with("postgresql://") {
            let named = match &opening {
                Opening::OrCreate(identity) => Some(&identity.azolla_id),
                Opening::Existing => self.azolla.as_ref(),
            };
            let azolla_id = named.context("a PostgreSQL store needs --azolla ID")?.clone();
            return Ok(Arc::new(PostgresSubstrate::open(address, &azolla_id, opening).await?));
        }
        let clock = Arc::new(SystemClock);
        Ok(Arc::new(SqliteSubstrate::open(Path::new(address), opening, clock).await?))
    }
}
