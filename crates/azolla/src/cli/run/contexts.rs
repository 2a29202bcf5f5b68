//! What the roles of several azollas work with, opened together: those that cannot work are left out.

use std::sync::Arc;

use azolla_control_plane::WorkerContext;
use azolla_protocol::WorkerRole;
use tokio::sync::watch;

use super::progress::{self, Drawing};
use crate::{config::AzollaConfig, deployment::Deployment, screen::remark, under_way::UnderWay, workers};

/// The azollas that work.
pub(crate) struct Contexts {
    /// Each of them.
    pub(crate) all: Vec<Arc<WorkerContext>>,
    /// Why one was left out, if one was.
    pub(crate) refused: Option<anyhow::Error>,
    /// What is under way in them.
    pub(crate) under_way: Arc<UnderWay>,
}

impl Contexts {
    /// Opens `azollas`, with all of their roles or those of `roles` that they have.
    pub(crate) async fn open(
        deployment: &Arc<Deployment>,
        azollas: Vec<&AzollaConfig>,
        roles: Option<&[WorkerRole]>,
        stopping: &watch::Receiver<bool>,
    ) -> Self {
        let under_way = Arc::new(UnderWay::default());
        let (mut all, mut refused) = (Vec::new(), None);
        for azolla in azollas {
            let shown = under_way.clone();
            let watcher: workers::Watcher = Arc::new(move |activity| progress::show(&shown, activity));
            match workers::context(deployment, azolla, watcher, stopping.clone()).await {
                Ok(mut context) => {
                    context.settings.roles.retain(|role| roles.is_none_or(|roles| roles.contains(role)));
                    all.push(Arc::new(context));
                }
                Err(error) => {
                    // The others can work all the same.
                    remark(&format!("{} is left out: {error:#}", azolla.id));
                    refused = Some(error);
                }
            }
        }
        Self { all, refused, under_way }
    }

    /// Shows what is under way until the drawing is ended.
    pub(crate) fn draw(&self) -> Drawing {
        progress::begin(&self.under_way, &self.all)
    }
}
