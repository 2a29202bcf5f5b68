//! The operator's steps as every surface takes them: the command line and the dashboard hand over plain values, and get
//! what was done in words with what leads on, or the failure that the command line shows. What a value has to be is
//! checked here, once; what the state allows is checked below, by `Operator`.

mod allowed;
mod candidate;
mod name;
mod note;
mod objective;
mod snooze;

use std::{path::Path, sync::Arc};

use azolla_control_plane::operator::Operator;
use azolla_protocol::{AzollaId, AzollaType, ObjectiveId};
use azolla_substrate::{Identity, Substrate, SystemIds};

pub(crate) use self::{
    allowed::{allowed, may_reword},
    candidate::{CandidatePart, FoundCandidate, Listed, Triaged, all_triages, open_triages, outcome},
    name::Act,
    note::find as find_capture,
    objective::{CANCELLED, Created, Edits, IMPORTANCE, Seen, TITLE_CHARS_MAX, URGENCY, check_title, level},
    snooze::{DAYS_MAX, Until, days},
};
use crate::{
    config::AzollaConfig,
    deployment::{Deployment, identity},
    failure::Failure,
    find::{self, Found, IdPart},
    stores::Stores,
};

/// What to type where nothing works by itself.
pub(crate) const RUN: &str = "azolla run --until-idle";

/// What to type for what a program that keeps everything going does by itself.
pub(crate) const WORKS: [&str; 2] = [RUN, TRIAGE];
const TRIAGE: &str = "azolla triage --now";

/// Returns who the operator is, for the record.
pub(crate) fn who() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let name: String = named.unwrap_or_default().chars().filter(|c| !c.is_control()).take(100).collect();
    if name.trim().is_empty() { "operator".to_owned() } else { name }
}

/// The operator, over all azollas of this machine.
pub(crate) struct Acts {
    stores: Arc<Stores>,
    ids: SystemIds,
    who: String,
    asked: Asked,
}

/// Where a step is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// In a directory, whose repository may say which azolla is meant.
    InADirectory,
    /// On a page: the server's own directory says nothing.
    OnAPage,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// The id of what was made, if something was.
    pub(crate) made: Option<String>,
    /// What was done, in words.
    pub(crate) what: String,
    /// What leads on.
    pub(crate) next: Option<Lead>,
    /// What else there is to know.
    pub(crate) remarks: Vec<String>,
}

/// A command, and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lead {
    /// In words, such as `to take it back`.
    pub(crate) words: &'static str,
    /// What to type.
    pub(crate) command: String,
}

impl Done {
    fn new(what: impl Into<String>) -> Self {
        Self { made: None, what: what.into(), next: None, remarks: Vec::new() }
    }

    /// Something that was made.
    fn made(id: impl Into<String>, what: impl Into<String>) -> Self {
        Self { made: Some(id.into()), ..Self::new(what) }
    }

    fn leads(self, words: &'static str, command: impl Into<String>) -> Self {
        Self { next: Some(Lead { words, command: command.into() }), ..self }
    }

    fn next(self, command: impl Into<String>) -> Self {
        self.leads("next", command)
    }

    /// Returns what was done and what leads on, in a line.
    pub(crate) fn line(&self) -> String {
        match &self.next {
            Some(Lead { words, command }) => format!("{}; {words}: {command}", self.what),
            None => self.what.clone(),
        }
    }
}

impl Acts {
    /// The operator at a terminal, with the configuration of `home`.
    pub(crate) fn load(home: Option<&Path>) -> anyhow::Result<Self> {
        let stores = Arc::new(Stores::new(Arc::new(Deployment::load(home)?)));
        Ok(Self::new(stores, who(), Asked::InADirectory))
    }

    /// The operator, with stores that others use too.
    pub(crate) fn new(stores: Arc<Stores>, who: String, asked: Asked) -> Self {
        Self { stores, ids: SystemIds::default(), who, asked }
    }

    /// Returns the configuration.
    pub(crate) fn deployment(&self) -> &Deployment {
        self.stores.deployment()
    }

    /// Returns the configuration, for what keeps it.
    pub(crate) fn shared(&self) -> &Arc<Deployment> {
        self.stores.deployment()
    }

    /// Returns the store of an azolla.
    pub(crate) async fn store(&self, azolla: &AzollaConfig) -> anyhow::Result<Arc<dyn Substrate>> {
        self.stores.whole(azolla).await
    }

    /// Returns the azolla of a type that is meant.
    pub(crate) fn one(
        &self,
        named: Option<&AzollaId>,
        azolla_type: AzollaType,
    ) -> Result<&AzollaConfig, Failure> {
        match self.asked {
            Asked::InADirectory => self.deployment().one(named, azolla_type),
            Asked::OnAPage => self.deployment().only(named, azolla_type),
        }
    }

    /// Finds the one objective that a part of an id means, in the named azolla or in all of them.
    pub(crate) async fn find(&self, named: Option<&AzollaId>, part: &IdPart) -> anyhow::Result<Found> {
        find::objective(&*self.stores, named, part).await
    }

    /// Returns an objective by its whole id.
    pub(crate) async fn objective(&self, azolla: &AzollaId, id: &ObjectiveId) -> anyhow::Result<Found> {
        let azolla = self.deployment().named(azolla)?.clone();
        let store = self.store(&azolla).await?;
        let stored = store.read().objective(id).await?;
        let stored = stored.ok_or_else(|| {
            let what = format!("there is no objective {id} in {}", azolla.id);
            Failure::not_found(what).hint("azolla objective list --all")
        })?;
        Ok(Found { azolla, store, stored })
    }

    /// Returns the operator at an azolla.
    fn at<'a>(&'a self, store: &'a dyn Substrate, identity: &'a Identity) -> Operator<'a> {
        Operator { substrate: store, identity, ids: &self.ids, who: &self.who }
    }

    /// Takes one step of the operator at an azolla.
    async fn step<T, E: Into<anyhow::Error>>(
        &self,
        azolla: &AzollaConfig,
        store: &dyn Substrate,
        take: impl AsyncFnOnce(&Operator<'_>) -> Result<T, E>,
    ) -> anyhow::Result<T> {
        let identity = identity(azolla);
        take(&self.at(store, &identity)).await.map_err(Into::into)
    }
}
