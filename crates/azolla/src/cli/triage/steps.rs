//! The operator's steps on a candidate, except promotion (TF-8).

use std::path::Path;

use azolla_control_plane::operator::Operator;
use azolla_protocol::AzollaType;
use azolla_substrate::{Identity, Substrate, SystemIds};
use clap::Args;

use super::{Target, candidate::Found};
use crate::{
    cli::{
        id::{self, IdPart},
        text::who,
    },
    deployment::{Deployment, identity},
    screen::{plain, remark},
};

/// Set a candidate aside for good
#[derive(Args)]
#[command(after_help = "Example:\n  azolla triage discard 2")]
pub(super) struct Discard {
    #[command(flatten)]
    target: Target,
}

impl Discard {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (_, found) = self.target.find(home).await?;
        step(&found, async |operator| operator.discard(&found.listed.id).await).await?;
        told(&found, "discarded");
        Ok(())
    }
}

/// Leave a candidate for later
#[derive(Args)]
#[command(after_help = "Example:\n  azolla triage defer 2")]
pub(super) struct Defer {
    #[command(flatten)]
    target: Target,
}

impl Defer {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (_, found) = self.target.find(home).await?;
        step(&found, async |operator| operator.defer(&found.listed.id).await).await?;
        remark(&format!("deferred: {}; azolla triage --all lists it", plain(&found.listed.candidate.title)));
        Ok(())
    }
}

/// Say that an objective for it is there already
#[derive(Args)]
#[command(after_help = "Example:\n  azolla triage duplicate 2 4k2")]
pub(super) struct Duplicate {
    #[command(flatten)]
    target: Target,

    /// The objective that is about it already.
    #[arg(value_name = "OBJECTIVE")]
    objective: IdPart,
}

impl Duplicate {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (deployment, found) = self.target.find(home).await?;
        let of = id::objective(&deployment, None, &self.objective).await?;
        step(&found, async |operator| operator.duplicate(&found.listed.id, of.id(), of.read()).await).await?;
        told(&found, &format!("a duplicate of {}", of.id()));
        Ok(())
    }
}

/// Take back what was done with a candidate
#[derive(Args)]
#[command(after_help = "Example:\n  azolla triage undo 2\n\n\
                        The candidate is open again. What it became is archived; that can be undone as long as it is \
                        not approved.")]
pub(super) struct Undo {
    #[command(flatten)]
    target: Target,
}

impl Undo {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let (deployment, found) = self.target.find(home).await?;
        let targets = Targets::open(&deployment).await?;
        let (ids, who) = (SystemIds::default(), who());
        let operators = targets.operators(&ids, &who);
        step(&found, async |operator| operator.undo(&found.listed.id, &operators).await).await?;
        let title = plain(&found.listed.candidate.title);
        remark(&format!("undone: {title}; next: azolla triage promote {}", found.listed.id));
        Ok(())
    }
}

fn told(found: &Found, what: &str) {
    let (title, id) = (plain(&found.listed.candidate.title), &found.listed.id);
    remark(&format!("{what}: {title}; to take it back: azolla triage undo {id}"));
}

/// Takes one step of the operator on what was found.
pub(super) async fn step<T, E: Into<anyhow::Error>>(
    found: &Found,
    take: impl AsyncFnOnce(&Operator<'_>) -> Result<T, E>,
) -> anyhow::Result<T> {
    let (identity, ids, who) = (identity(&found.azolla), SystemIds::default(), who());
    let operator = Operator { substrate: &*found.store, identity: &identity, ids: &ids, who: &who };
    take(&operator).await.map_err(Into::into)
}

/// Every azolla of this machine that takes tickets.
pub(super) struct Targets(pub(super) Vec<(Identity, std::sync::Arc<dyn Substrate>)>);

impl Targets {
    /// Opens their stores: an objective may be in any of them, so all have to be there.
    pub(super) async fn open(deployment: &Deployment) -> anyhow::Result<Self> {
        let mut targets = Vec::new();
        for azolla in &deployment.config.azollas {
            if azolla.azolla_type == AzollaType::CodePatch {
                targets.push((identity(azolla), deployment.open(azolla).await?));
            }
        }
        Ok(Self(targets))
    }

    fn operators<'a>(&'a self, ids: &'a SystemIds, who: &'a str) -> Vec<Operator<'a>> {
        let operator = |(identity, store): &'a (Identity, std::sync::Arc<dyn Substrate>)| Operator {
            substrate: &**store,
            identity,
            ids,
            who,
        };
        self.0.iter().map(operator).collect()
    }
}
