//! The stores of this machine's azollas, each opened once and at its first use.

use std::{collections::HashMap, sync::Arc};

use azolla_protocol::AzollaId;
use azolla_substrate::{Substrate, SubstrateRead};
use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;

use crate::{config::AzollaConfig, deployment::Deployment};

/// Opened stores. One that could not be opened is tried again at the next use.
pub(crate) struct Stores {
    deployment: Arc<Deployment>,
    whole: HashMap<AzollaId, OnceCell<Arc<dyn Substrate>>>,
    reading: HashMap<AzollaId, OnceCell<Arc<dyn SubstrateRead>>>,
}

/// Where the stores of this machine are opened: anew for a command, once for a server.
pub(crate) trait Opens: Sync {
    /// Returns the configuration.
    fn registry(&self) -> &Deployment;

    /// Returns the store of an azolla.
    fn opened<'a>(&'a self, azolla: &'a AzollaConfig) -> BoxFuture<'a, anyhow::Result<Arc<dyn Substrate>>>;
}

impl Opens for Deployment {
    fn registry(&self) -> &Deployment {
        self
    }

    fn opened<'a>(&'a self, azolla: &'a AzollaConfig) -> BoxFuture<'a, anyhow::Result<Arc<dyn Substrate>>> {
        Box::pin(self.open(azolla))
    }
}

impl Opens for Stores {
    fn registry(&self) -> &Deployment {
        &self.deployment
    }

    fn opened<'a>(&'a self, azolla: &'a AzollaConfig) -> BoxFuture<'a, anyhow::Result<Arc<dyn Substrate>>> {
        Box::pin(self.whole(azolla))
    }
}

impl Stores {
    /// Opens nothing yet.
    pub(crate) fn new(deployment: Arc<Deployment>) -> Self {
        fn cells<T>(deployment: &Deployment) -> HashMap<AzollaId, OnceCell<T>> {
            deployment.config.azollas.iter().map(|azolla| (azolla.id.clone(), OnceCell::new())).collect()
        }
        Self { whole: cells(&deployment), reading: cells(&deployment), deployment }
    }

    /// Returns the configuration.
    pub(crate) fn deployment(&self) -> &Arc<Deployment> {
        &self.deployment
    }

    /// Takes a store that is open already.
    pub(crate) fn keep(&self, id: &AzollaId, store: Arc<dyn Substrate>) {
        if let Some(cell) = self.whole.get(id) {
            // One that was opened meanwhile is as good.
            let _ = cell.set(store);
        }
    }

    /// Returns the azolla of this id.
    pub(crate) fn azolla(&self, id: &AzollaId) -> Option<&AzollaConfig> {
        self.deployment.config.azolla(id)
    }

    /// Returns the store of an azolla.
    pub(crate) async fn whole(&self, azolla: &AzollaConfig) -> anyhow::Result<Arc<dyn Substrate>> {
        let open = || self.deployment.open(azolla);
        match self.whole.get(&azolla.id) {
            Some(cell) => cell.get_or_try_init(open).await.cloned(),
            None => open().await,
        }
    }

    /// Returns the store of an azolla for the operator's own looks.
    pub(crate) async fn looking(&self, azolla: &AzollaConfig) -> anyhow::Result<Arc<dyn SubstrateRead>> {
        let whole: Arc<dyn SubstrateRead> = self.whole(azolla).await?;
        Ok(whole)
    }

    /// Returns the store of an azolla for reading alone (M-4).
    pub(crate) async fn reading(&self, azolla: &AzollaConfig) -> anyhow::Result<Arc<dyn SubstrateRead>> {
        let open = || self.deployment.open_to_read(azolla);
        match self.reading.get(&azolla.id) {
            Some(cell) => cell.get_or_try_init(open).await.cloned(),
            None => open().await,
        }
    }
}
