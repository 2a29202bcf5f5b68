//! Which Substrate a command works on: that of a configured azolla, or one by its address.

use std::{path::Path, sync::Arc};

use anyhow::Context;
use azolla_protocol::AzollaId;
use azolla_substrate::{Identity, Opening, PostgresSubstrate, SqliteSubstrate, Substrate, SystemClock};
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

    /// The azolla; otherwise that of this directory's repository, or the only one.
    #[arg(long, value_name = "ID", env = "AZOLLA_ID")]
    azolla: Option<AzollaId>,
}

impl StoreAddress {
    /// Opens a Substrate that is there already.
    pub(crate) async fn open(&self, home: Option<&Path>) -> anyhow::Result<Arc<dyn Substrate>> {
        if let Some(store) = self.open_address().await? {
            return Ok(store);
        }
        let deployment = Deployment::load(home)?;
        let azollas = self.configured(&deployment)?;
        match azollas[..] {
            [only] => deployment.open(only).await,
            _ => {
                let ids: Vec<_> = azollas.iter().map(|azolla| azolla.id.as_str()).collect();
                let hint = format!("add --azolla ID; configured: {}", ids.join(", "));
                Err(Failure::usage("there is more than one azolla").hint(hint).into())
            }
        }
    }

    /// Opens the Substrate at the address, if one was given.
    pub(crate) async fn open_address(&self) -> anyhow::Result<Option<Arc<dyn Substrate>>> {
        let Some(address) = &self.store else { return Ok(None) };
        let store = self.open_as(address, Opening::Existing).await?;
        if let Some(expected) = &self.azolla {
            let found = store.read().identity().await?.azolla_id;
            anyhow::ensure!(found == *expected, "the store belongs to {found}, not to {expected}");
        }
        Ok(Some(store))
    }

    /// Returns the azollas that may be meant where no address is given, of any type: the named one, else that of this
    /// directory's repository, else all of them.
    pub(crate) fn configured<'a>(
        &self,
        deployment: &'a Deployment,
    ) -> Result<Vec<&'a AzollaConfig>, Failure> {
        if let (None, Some(here)) = (&self.azolla, deployment.here()) {
            return Ok(vec![here]);
        }
        match deployment.candidates(self.azolla.as_ref())? {
            none if none.is_empty() => Err(Failure::not_found("no azolla is configured").hint("azolla init")),
            azollas => Ok(azollas),
        }
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
        if let (None, Some(here)) = (&self.azolla, deployment.here())
            && here.id != azolla.id
        {
            let what = format!("this is about {}, and the repository here is that of {}", azolla.id, here.id);
            return Err(Failure::usage(what).hint(format!("add --azolla {}", azolla.id)).into());
        }
        anyhow::ensure!(
            identity(azolla) == found,
            "{} is configured as {}, and this is about a {}",
            azolla.id,
            azolla.azolla_type,
            found.azolla_type
        );
        deployment.open_or_create(azolla).await
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
        if matches!(opening, Opening::Existing) && !Path::new(address).exists() {
            let what = format!("there is no store at {address}");
            return Err(Failure::not_found(what).hint("check the path").into());
        }
        let clock = Arc::new(SystemClock);
        Ok(Arc::new(SqliteSubstrate::open(Path::new(address), opening, clock).await?))
    }
}
