//! Where calls are answered from: for a client's own process, everything is read and opened for each call, so that an
//! idle one holds no store and sees the configuration of the moment; for `azolla up`, the stores that it has open.

use std::{path::PathBuf, sync::Arc};

use azolla_protocol::{AzollaId, AzollaType};
use azolla_substrate::{Substrate, SubstrateRead};
use futures_util::future::BoxFuture;
use tokio::{sync::Mutex, task::spawn_blocking};

use crate::{
    config::AzollaConfig,
    deployment::Deployment,
    desk::{Look, Remembered},
    failure::Failure,
    home::Home,
    stores::{Opens, Stores},
};

/// Takes what failed here and whoever asked is not told.
pub(crate) type Faults = Arc<dyn Fn(&str) + Send + Sync>;

/// Where calls are answered from.
#[derive(Clone)]
pub(crate) enum Source {
    /// From the configuration of the moment, at this home if one was named.
    Fresh {
        /// The home.
        home: Option<PathBuf>,
    },
    /// From what is open already.
    Kept {
        /// The configuration.
        deployment: Arc<Deployment>,
        /// What is open.
        kept: Kept,
    },
}

/// What a server holds open. Whoever calls it may be on another machine, and in no directory of this one.
#[derive(Clone)]
pub(crate) struct Kept {
    /// The stores.
    pub(crate) stores: Arc<Stores>,
    /// The home store.
    pub(crate) home: Arc<Mutex<Home>>,
    /// Where faults of ours go.
    pub(crate) faults: Faults,
}

/// What one call is answered from.
pub(super) struct Reach {
    pub(super) deployment: Arc<Deployment>,
    /// What is open already, if anything is kept.
    kept: Option<Kept>,
}

impl Source {
    /// Returns what a call is answered from.
    pub(super) fn reach(&self) -> anyhow::Result<Reach> {
        match self {
            Self::Fresh { home } => {
                let deployment = Arc::new(Deployment::load(home.as_deref())?);
                Ok(Reach { deployment, kept: None })
            }
            Self::Kept { deployment, kept } => {
                Ok(Reach { deployment: deployment.clone(), kept: Some(kept.clone()) })
            }
        }
    }
}

impl Reach {
    /// Returns where stores are opened.
    pub(super) fn opens(&self) -> &dyn Opens {
        match &self.kept {
            Some(kept) => &*kept.stores,
            None => &*self.deployment,
        }
    }

    /// Returns the store of an azolla.
    pub(super) async fn whole(&self, azolla: &AzollaConfig) -> anyhow::Result<Arc<dyn Substrate>> {
        self.opens().opened(azolla).await
    }

    /// Returns the store of an azolla, to be read.
    pub(super) async fn look(&self, azolla: &AzollaConfig) -> anyhow::Result<Arc<dyn SubstrateRead>> {
        match &self.kept {
            Some(kept) => kept.stores.looking(azolla).await,
            None => self.deployment.open_to_look(azolla).await,
        }
    }

    /// Returns the azolla of a type that is meant: the named one, else that of the client's directory, else the only one.
    pub(super) fn one(
        &self,
        named: Option<&AzollaId>,
        azolla_type: AzollaType,
    ) -> Result<&AzollaConfig, Failure> {
        match &self.kept {
            Some(_) => self.deployment.only(named, azolla_type),
            None => self.deployment.one(named, azolla_type),
        }
    }

    /// Returns the azolla whose repository the client is in, where that can be known.
    pub(super) fn here(&self) -> Option<&AzollaConfig> {
        match &self.kept {
            Some(_) => None,
            None => self.deployment.here(),
        }
    }

    /// Reads what lies on the operator's desk. The mark of what was seen stays where it is.
    pub(super) async fn desk(&self) -> Look {
        if let Some(kept) = &self.kept {
            return Look::kept(&self.deployment, &kept.stores, &kept.home).await;
        }
        let deployment = self.deployment.clone();
        let remembered = spawn_blocking(move || {
            // It does without a home that cannot be opened.
            let there = deployment.place.data.is_dir();
            let home = there.then(|| Home::open(&deployment.place.home_store()).ok()).flatten();
            home.map(|home| Remembered::read(&deployment, &home)).unwrap_or_default()
        });
        let open = |azolla| -> BoxFuture<'_, _> { Box::pin(self.look(azolla)) };
        Look::read(&self.deployment, remembered.await.unwrap_or_default(), &open).await
    }

    /// Says why an azolla is left out. What is wrong with its store is for the operator, where that is not who asks.
    pub(super) fn away(&self, azolla_id: &str, why: &str) -> String {
        match &self.kept {
            Some(kept) => {
                (kept.faults)(&format!("{azolla_id} cannot be read: {why}"));
                "it cannot be read; the server's own output says why".to_owned()
            }
            None => why.to_owned(),
        }
    }
}
