//! The operator's desk: what lies on it over all azollas, from stored artifacts alone. The resume page, the dashboard's
//! first page and the HTTP interface say the same because they are made from this.

mod content;
mod next;
mod notes;
mod objective;
mod said;
mod spending;

use std::{collections::HashMap, sync::Arc};

use azolla_protocol::AzollaId;
use azolla_substrate::SubstrateRead;
use futures_util::future::{BoxFuture, join_all};
use serde_json::{Value, json};
use tokio::{sync::Mutex, task::spawn_blocking};

use self::content::Mark;
pub(crate) use self::{
    content::{Content, Desk},
    next::{Action, actions},
    objective::objective_page,
    said::{Changes, Remark, changes, waiting},
    spending::{NextStep, Spending},
};
use crate::{config::AzollaConfig, deployment::Deployment, home::Home, stores::Stores};

/// Everything that was read, at one time.
pub(crate) struct Look {
    /// Each azolla of this machine.
    pub(crate) desks: Vec<Desk>,
    /// What was spent today, and what that holds back.
    pub(crate) spending: Spending,
}

/// How a store is opened for a look at it.
pub(crate) type Open<'a> =
    dyn Fn(&'a AzollaConfig) -> BoxFuture<'a, anyhow::Result<Arc<dyn SubstrateRead>>> + Sync + 'a;

/// What the home store knows about the desk. Without a home store nothing is known about earlier looks and spending.
#[derive(Default)]
pub(crate) struct Remembered {
    marks: HashMap<AzollaId, Mark>,
    spending: Spending,
}

impl Remembered {
    /// Reads it.
    pub(crate) fn read(deployment: &Deployment, home: &Home) -> Self {
        let mark = |azolla: &AzollaConfig| Mark {
            look: home.look(&azolla.id).ok().flatten(),
            trusted_at: home.pins(azolla.repo.as_deref().unwrap_or_default()).unwrap_or_default(),
        };
        let marks = deployment.config.azollas.iter().map(|azolla| (azolla.id.clone(), mark(azolla)));
        Self { marks: marks.collect(), spending: Spending::read(home, deployment) }
    }
}

impl Look {
    /// Reads everything.
    pub(crate) async fn read<'a>(
        deployment: &'a Deployment,
        remembered: Remembered,
        open: &Open<'a>,
    ) -> Self {
        let Remembered { mut marks, spending } = remembered;
        let loads = deployment.config.azollas.iter().map(|azolla| {
            let mark = marks.remove(&azolla.id).unwrap_or_default();
            Desk::load(azolla, open(azolla), mark)
        });
        let desks = join_all(loads.collect::<Vec<_>>()).await;
        Self { desks, spending }
    }

    /// Reads everything through what is open already.
    pub(crate) async fn kept(deployment: &Arc<Deployment>, stores: &Stores, home: &Arc<Mutex<Home>>) -> Self {
        let (home, configured) = (home.clone().lock_owned().await, deployment.clone());
        let remembered = spawn_blocking(move || Remembered::read(&configured, &home)).await;
        let open = |azolla| -> BoxFuture<'_, _> { Box::pin(stores.looking(azolla)) };
        Self::read(deployment, remembered.unwrap_or_default(), &open).await
    }

    /// Notes in the home store that all of this was seen.
    pub(crate) fn seen(&self, home: &mut Home) -> anyhow::Result<()> {
        let looks = self.desks.iter().filter_map(|desk| Some((&desk.azolla_id, desk.new_look()?)));
        home.looked(&looks.collect::<Vec<_>>())?;
        Ok(())
    }

    /// Returns it for a program.
    pub(crate) fn document(&self) -> Value {
        let actions: Vec<_> = actions(&self.desks).iter().map(Action::document).collect();
        let azollas: Vec<_> = self.desks.iter().map(Desk::document).collect();
        json!({"next_actions": actions, "azollas": azollas, "spending": self.spending.document()})
    }
}
