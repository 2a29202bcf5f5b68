//! What the roles of several azollas work with, opened together: those that cannot work are left out, or come later.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use azolla_control_plane::WorkerContext;
use azolla_protocol::WorkerRole;
use tokio::{sync::watch, time::timeout};

use super::progress::{self, Drawing};
use crate::{config::AzollaConfig, deployment::Deployment, screen::remark, under_way::UnderWay, workers};

/// The azollas that work.
pub(crate) struct Contexts {
    /// Each of them.
    pub(crate) all: Vec<Arc<WorkerContext>>,
    /// Why one was left out, if one was.
    pub(crate) refused: Option<anyhow::Error>,
    /// Those that were left out.
    pub(crate) left_out: Vec<AzollaConfig>,
    /// What is under way in them.
    pub(crate) under_way: Arc<UnderWay>,
    opener: Opener,
}

/// How an azolla is opened for its roles.
#[derive(Clone)]
pub(crate) struct Opener {
    deployment: Arc<Deployment>,
    roles: Option<Vec<WorkerRole>>,
    stopping: watch::Receiver<bool>,
    under_way: Arc<UnderWay>,
    working: Working,
}

/// The azollas that work, those that came later among them.
#[derive(Clone, Default)]
pub(super) struct Working(Arc<Mutex<Vec<Arc<WorkerContext>>>>);

impl Contexts {
    /// Opens `azollas`, with all of their roles or those of `roles` that they have.
    pub(crate) async fn open(
        deployment: &Arc<Deployment>,
        azollas: Vec<&AzollaConfig>,
        roles: Option<&[WorkerRole]>,
        stopping: &watch::Receiver<bool>,
    ) -> Self {
        let under_way = Arc::new(UnderWay::default());
        let opener = Opener {
            deployment: deployment.clone(),
            roles: roles.map(<[_]>::to_vec),
            stopping: stopping.clone(),
            under_way: under_way.clone(),
            working: Working::default(),
        };
        let (mut all, mut refused, mut left_out) = (Vec::new(), None, Vec::new());
        for azolla in azollas {
            match opener.open(azolla).await {
                Ok(context) => all.push(context),
                Err(error) => {
                    // The others can work all the same.
                    remark(&format!("{} is left out: {error:#}", azolla.id));
                    refused = Some(error);
                    left_out.push(azolla.clone());
                }
            }
        }
        Self { all, refused, left_out, under_way, opener }
    }

    /// Returns how one that was left out is opened later.
    pub(crate) fn opener(&self) -> Opener {
        self.opener.clone()
    }

    /// Shows what is under way until the drawing is ended.
    pub(crate) fn draw(&self) -> Drawing {
        progress::begin(&self.under_way, &self.opener.working)
    }
}

impl Opener {
    /// The first wait for an azolla that cannot work, doubled up to the last.
    const FIRST: Duration = Duration::from_millis(500);
    const LAST: Duration = Duration::from_secs(30);

    async fn open(&self, azolla: &AzollaConfig) -> anyhow::Result<Arc<WorkerContext>> {
        let shown = self.under_way.clone();
        let watcher: workers::Watcher = Arc::new(move |activity| progress::show(&shown, activity));
        let mut context = workers::context(&self.deployment, azolla, watcher, self.stopping.clone()).await?;
        let roles = self.roles.as_ref();
        context.settings.roles.retain(|role| roles.is_none_or(|roles| roles.contains(role)));
        let context = Arc::new(context);
        self.working.0.lock().unwrap_or_else(PoisonError::into_inner).push(context.clone());
        Ok(context)
    }

    /// Tries again until the azolla can work, ever more seldom; none if everything ends before. That it cannot was told
    /// once; that it can is told now.
    pub(crate) async fn open_later(self, azolla: &AzollaConfig) -> Option<Arc<WorkerContext>> {
        let (mut wait, mut stopping) = (Self::FIRST, self.stopping.clone());
        loop {
            if timeout(wait, stopping.wait_for(|stopping| *stopping)).await.is_ok() {
                return None;
            }
            if let Ok(context) = self.open(azolla).await {
                remark(&format!("{} is there now, and works", azolla.id));
                return Some(context);
            }
            wait = wait.saturating_mul(2).min(Self::LAST);
        }
    }
}

impl Working {
    /// Returns them, as of now.
    pub(super) fn all(&self) -> Vec<Arc<WorkerContext>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
