//! Where calls are answered from: for a client's own process, everything is read and opened for each call, so that an
//! idle one holds no store and sees the configuration of the moment; for `azolla up`, the stores that it has open.

use std::{path::PathBuf, sync::Arc};

use azolla_substrate::{Substrate, SubstrateRead};

use crate::{
    config::AzollaConfig,
    deployment::Deployment,
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
        /// Its stores.
        stores: Arc<Stores>,
        /// Where faults of ours go; the caller may be on another machine.
        faults: Faults,
    },
}

/// What one call is answered from.
pub(super) struct Reach {
    pub(super) deployment: Arc<Deployment>,
    /// The stores that are open already, if any are kept.
    stores: Option<Arc<Stores>>,
}

impl Source {
    /// Returns what a call is answered from.
    pub(super) fn reach(&self) -> anyhow::Result<Reach> {
        match self {
            Self::Fresh { home } => {
                let deployment = Arc::new(Deployment::load(home.as_deref())?);
                Ok(Reach { deployment, stores: None })
            }
            Self::Kept { deployment, stores, .. } => {
                Ok(Reach { deployment: deployment.clone(), stores: Some(stores.clone()) })
            }
        }
    }
}

impl Reach {
    /// Returns where stores are opened.
    pub(super) fn opens(&self) -> &dyn Opens {
        match &self.stores {
            Some(stores) => &**stores,
            None => &*self.deployment,
        }
    }

    /// Returns the store of an azolla.
    pub(super) async fn whole(&self, azolla: &AzollaConfig) -> anyhow::Result<Arc<dyn Substrate>> {
        self.opens().opened(azolla).await
    }

    /// Returns the store of an azolla, to be read.
    pub(super) async fn look(&self, azolla: &AzollaConfig) -> anyhow::Result<Arc<dyn SubstrateRead>> {
        match &self.stores {
            Some(stores) => stores.looking(azolla).await,
            None => self.deployment.open_to_look(azolla).await,
        }
    }
}
